//! Paths into values, as written by users: `items[0].id`, `[*].name`, `a.b`. In a list a number needs no brackets: `items.0.id`.

use ptc_core::signature::underscored;
use ptc_core::value::Value;

/// One step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep<'p> {
    /// An entry of a map.
    Key(&'p str),
    /// An item of a list, from 0.
    Index(usize),
    /// Every item of a list.
    Every,
}

/// Parses a path such as `items[0].id`; an empty path has no steps. Errors contain the position.
pub fn steps(path: &str) -> Result<Vec<PathStep<'_>>, String> {
    let position = |rest: &str| path[..path.len() - rest.len()].chars().count() + 1;
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    while !rest.is_empty() {
        let (step, behind) = if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').filter(|end| !inner[..*end].contains('['));
            let end = end.ok_or_else(|| format!("`[` at character {} is not closed", position(rest)))?;
            let step = parse_brackets(inner[..end].trim())
                .map_err(|problem| format!("{problem} at character {}", position(rest)))?;
            (step, &inner[end + 1..])
        } else {
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("a name is missing at character {}", position(rest)));
            }
            (PathStep::Key(&rest[..end]), &rest[end..])
        };
        steps.push(step);
        rest = match behind.strip_prefix('.') {
            Some("") => return Err(format!("a name is missing at character {}", position(""))),
            Some(next) => next,
            None => behind,
        };
    }
    Ok(steps)
}

/// Returns the index that a name without brackets is in a list.
pub fn index_of(name: &str) -> Option<usize> {
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    name.parse().ok().filter(|_| is_number)
}

/// Parses the content of brackets.
fn parse_brackets(text: &str) -> Result<PathStep<'_>, &'static str> {
    match text.parse() {
        Ok(index) => Ok(PathStep::Index(index)),
        Err(_) if text == "*" => Ok(PathStep::Every),
        Err(_) if text.is_empty() => Err("the brackets are empty"),
        Err(_) if text.parse::<i64>().is_ok() => Err("a negative index"),
        Err(_) => Ok(PathStep::Key(text.trim_matches(['"', '\'']))),
    }
}

/// Returns the value at a path such as `items[0].id`, `items.0.id`, `[*].name` or `a.b`; nil if the path is invalid or leads nowhere.
/// In keys `-` equals `_`.
pub fn at(value: &Value, path: &str) -> Value {
    steps(path).map(|steps| walk(value, &steps)).unwrap_or_default()
}

fn walk(value: &Value, steps: &[PathStep<'_>]) -> Value {
    let Some((step, rest)) = steps.split_first() else { return value.clone() };
    match step {
        PathStep::Key(name) => match (value.as_list(), index_of(name)) {
            (Some(_), Some(index)) => item(value, index).map(|inner| walk(inner, rest)).unwrap_or_default(),
            _ => find(value, name).map(|inner| walk(inner, rest)).unwrap_or_default(),
        },
        PathStep::Index(index) => item(value, *index).map(|inner| walk(inner, rest)).unwrap_or_default(),
        PathStep::Every => match value.as_list() {
            Some(items) => Value::list(items.iter().map(|item| walk(item, rest)).collect::<Vec<_>>()),
            None => Value::Nil,
        },
    }
}

fn item(value: &Value, index: usize) -> Option<&Value> {
    value.as_list().and_then(|items| items.get(index))
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
        assert_eq!(shown(".n"), "3");
        assert_eq!(shown("items[0].id"), "1");
        assert_eq!(shown("items[0].full-name"), "\"a\"");
        assert_eq!(shown("items[*].id"), "[1 2]");
        assert_eq!(shown("items.1.id"), "2");
        assert_eq!(shown("items.0.full-name"), "\"a\"");
        assert_eq!(shown("items.9.id"), "nil");
        assert_eq!(shown("items.+1.id"), "nil");
        assert_eq!(shown("items[9].id"), "nil");
        assert_eq!(shown("n.x"), "nil");
        assert_eq!(shown("items[\"x\"]"), "nil");
        assert_eq!(shown(""), value.to_string());
    }

    #[test]
    fn a_number_without_brackets_is_a_key_of_a_map() {
        let value = json::parse(r#"{"0":{"1":"a"},"l":[["b"]]}"#).unwrap().to_value();
        assert_eq!(at(&value, "0.1"), Value::str("a"));
        assert_eq!(at(&value, "l.0.0"), Value::str("b"));
        assert_eq!(at(&value, "l[0].0"), Value::str("b"));
    }

    #[test]
    fn errors_of_paths_have_a_position() {
        let cases = [
            ("a[[", "`[` at character 2 is not closed"),
            ("é[0", "`[` at character 2 is not closed"),
            ("a[]", "the brackets are empty at character 2"),
            ("a[-1]", "a negative index at character 2"),
            ("a..b", "a name is missing at character 3"),
            ("a.", "a name is missing at character 3"),
            ("a]", "a name is missing at character 2"),
        ];
        for (path, expected) in cases {
            assert_eq!(steps(path).unwrap_err(), expected, "{path}");
            assert_eq!(at(&Value::Nil, path), Value::Nil);
        }
    }
}
