//! Undeclared fields of an answer: allowed and kept, but shown with an error.
//!
//! In: a type and a value. Out: warnings, outermost first, in key order. It must never reject anything.

use super::issue::{Issue, Segment};
use super::{Field, Path, Severity, Type, names};
use crate::value::{Map, Value};

/// A warning for each field of a record that its type does not declare, at any depth.
pub fn undeclared(ty: &Type, value: &Value) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut open = vec![(Path::default(), ty, value)];
    while let Some((path, ty, value)) = open.pop() {
        match (ty.base(), value) {
            (Type::List(item), Value::List(items)) => {
                let below = items.iter().enumerate().rev();
                open.extend(below.map(|(place, value)| (then(&path, Segment::Index(place)), &**item, value)));
            }
            (Type::Record { fields, .. }, Value::Map(map)) if !fields.is_empty() => {
                found.extend(unknown(fields, map).map(|name| warning(then(&path, Segment::Field(name)))));
                open.extend(fields.iter().rev().filter_map(|field| {
                    let value = map.lookup(&field.name)?;
                    Some((then(&path, Segment::Field(field.name.clone())), &field.ty, value))
                }));
            }
            _ => {}
        }
    }
    found
}

fn unknown<'a>(fields: &'a [Field], map: &'a Map) -> impl Iterator<Item = String> + 'a {
    map.keys().filter_map(|key| {
        let name = match key {
            Value::Str(text) => text.to_string(),
            Value::Keyword(word) => word.name().to_owned(),
            _ => return None,
        };
        fields.iter().all(|field| names::underscored(&field.name) != names::underscored(&name)).then_some(name)
    })
}

fn then(path: &Path, segment: Segment) -> Path {
    let mut segments = path.0.clone();
    segments.push(segment);
    Path(segments)
}

fn warning(path: Path) -> Issue {
    Issue {
        path,
        severity: Severity::Warning,
        expected: String::new(),
        got: "field".to_owned(),
        message: "not in the signature".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::undeclared;
    use crate::signature::parse;
    use crate::value::json;

    fn found(signature: &str, value: &str) -> Vec<String> {
        let output = parse(signature).unwrap().output.unwrap();
        undeclared(&output, &json::parse(value).unwrap().to_value()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_fields_of_declared_records_are_reported() {
        assert_eq!(found("{a :int}", r#"{"a":1,"feeling":2}"#), ["feeling: not in the signature"]);
        assert_eq!(
            found("[{a-b :int, c {d :int}}]", r#"[{"a_b":1,"c":{"d":1,"x":2}}]"#),
            ["0.c.x: not in the signature"]
        );
        assert!(found("{}", r#"{"a":1}"#).is_empty());
        assert!(found("{m :map}", r#"{"m":{"a":1}}"#).is_empty());
    }
}
