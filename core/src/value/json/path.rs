//! Paths into JSON trees, as validation errors write them: `items.0.price`.

use super::{Json, Node};

impl Json {
    /// The part at `path`: member names and array indexes (from 0) separated by dots; the empty path is the whole.
    /// `None` when there is no such part. A key that holds a dot cannot be reached; use [`Json::get`].
    pub fn at(&self, path: &str) -> Option<&Self> {
        if path.is_empty() {
            return Some(self);
        }
        path.split('.').try_fold(self, |part, step| match &part.node {
            Node::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => part.get(step),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::value::json::parse;

    #[test]
    fn a_path_leads_through_members_and_indexes() {
        let json = parse(r#"{"items":[{"price":1},{"price":2,"":3}],"0":{"a":4}}"#).unwrap_or_default();
        let cases = [
            ("items.1.price", Some("2")),
            ("items.0", Some(r#"{"price":1}"#)),
            ("items.1.", Some("3")),
            ("0.a", Some("4")),
            ("items.2", None),
            ("items.-1", None),
            ("items.price", None),
            ("nothing", None),
            ("items.0.price.x", None),
        ];
        for (path, expected) in cases {
            assert_eq!(json.at(path).map(super::Json::to_text).as_deref(), expected, "{path}");
        }
        assert_eq!(json.at(""), Some(&json));
    }
}
