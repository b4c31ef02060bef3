//! Paths into values, as people write them: `items[0].id`, `[*].name`, `a.b`.

use ptc_core::signature::underscored;
use ptc_core::value::Value;

/// The value at a path such as `items[0].id`, `[*].name` or `a.b`; nil where the path leads nowhere. Keys are flexible: `-` is `_`.
pub fn at(value: &Value, path: &str) -> Value {
    let Some((step, rest)) = next(path) else { return value.clone() };
    match step {
        Step::Key(name) => find(value, name).map(|inner| at(inner, rest)).unwrap_or_default(),
        Step::Index(index) => {
            value.as_list().and_then(|items| items.get(index)).map(|inner| at(inner, rest)).unwrap_or_default()
        }
        Step::Every => match value.as_list() {
            Some(items) => Value::list(items.iter().map(|item| at(item, rest)).collect::<Vec<_>>()),
            None => Value::Nil,
        },
    }
}

enum Step<'p> {
    Key(&'p str),
    Index(usize),
    Every,
}

fn next(path: &str) -> Option<(Step<'_>, &str)> {
    let path = path.trim_start_matches('.');
    if path.is_empty() {
        return None;
    }
    if let Some(inner) = path.strip_prefix('[') {
        let end = inner.find(']').unwrap_or(inner.len());
        let rest = inner.get(end + 1..).unwrap_or_default();
        let index = inner[..end].trim();
        return Some(match index.parse() {
            Ok(index) => (Step::Index(index), rest),
            Err(_) if index == "*" => (Step::Every, rest),
            Err(_) => (Step::Key(index.trim_matches(['"', '\''])), rest),
        });
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    Some((Step::Key(&path[..end]), &path[end..]))
}

fn find<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Map(map) = value else { return None };
    map.lookup(name).or_else(|| {
        let same = |key: &Value| key.as_str().is_some_and(|key| underscored(key) == underscored(name));
        map.iter().find(|(key, _)| same(key)).map(|(_, value)| value)
    })
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[test]
    fn paths_lead_through_maps_and_lists() {
        let value = json::parse(r#"{"items":[{"id":1,"full_name":"a"},{"id":2}],"n":3}"#).unwrap().to_value();
        let shown = |path: &str| at(&value, path).to_string();
        assert_eq!(shown("n"), "3");
        assert_eq!(shown("items[0].id"), "1");
        assert_eq!(shown("items[0].full-name"), "\"a\"");
        assert_eq!(shown("items[*].id"), "[1 2]");
        assert_eq!(shown("items[9].id"), "nil");
        assert_eq!(shown("n.x"), "nil");
        assert_eq!(shown("items[\"x\"]"), "nil");
        assert_eq!(shown(""), value.to_string());
    }
}
