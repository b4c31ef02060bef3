//! Paths into values, as people write them: `items[0].id`, `[*].name`, `a.b`.

use ptc_core::signature::underscored;
use ptc_core::value::Value;

/// One step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'p> {
    /// Into the entry of a map.
    Key(&'p str),
    /// To an item of a list, counted from 0.
    Index(usize),
    /// To every item of a list.
    Every,
}

/// The steps of a path such as `items[0].id`; none for an empty path. Errors: what is wrong with it, and where.
pub fn steps(path: &str) -> Result<Vec<Step<'_>>, String> {
    let place = |rest: &str| path[..path.len() - rest.len()].chars().count() + 1;
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('.').unwrap_or(path);
    while !rest.is_empty() {
        let (step, behind) = if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').filter(|end| !inner[..*end].contains('['));
            let end = end.ok_or_else(|| format!("`[` at character {} is not closed", place(rest)))?;
            let step = inside(inner[..end].trim()).map_err(|what| format!("{what} at character {}", place(rest)))?;
            (step, &inner[end + 1..])
        } else {
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("a name is missing at character {}", place(rest)));
            }
            (Step::Key(&rest[..end]), &rest[end..])
        };
        steps.push(step);
        rest = match behind.strip_prefix('.') {
            Some("") => return Err(format!("a name is missing at character {}", place(""))),
            Some(next) => next,
            None => behind,
        };
    }
    Ok(steps)
}

/// What stands in brackets.
fn inside(text: &str) -> Result<Step<'_>, &'static str> {
    match text.parse() {
        Ok(index) => Ok(Step::Index(index)),
        Err(_) if text == "*" => Ok(Step::Every),
        Err(_) if text.is_empty() => Err("nothing stands in [ ]"),
        Err(_) if text.parse::<i64>().is_ok() => Err("an index below 0"),
        Err(_) => Ok(Step::Key(text.trim_matches(['"', '\'']))),
    }
}

/// The value at a path such as `items[0].id`, `[*].name` or `a.b`; nil where the path leads nowhere or cannot be read. Keys are
/// flexible: `-` is `_`.
pub fn at(value: &Value, path: &str) -> Value {
    steps(path).map(|steps| walk(value, &steps)).unwrap_or_default()
}

fn walk(value: &Value, steps: &[Step<'_>]) -> Value {
    let Some((step, rest)) = steps.split_first() else { return value.clone() };
    match step {
        Step::Key(name) => find(value, name).map(|inner| walk(inner, rest)).unwrap_or_default(),
        Step::Index(index) => {
            value.as_list().and_then(|items| items.get(*index)).map(|inner| walk(inner, rest)).unwrap_or_default()
        }
        Step::Every => match value.as_list() {
            Some(items) => Value::list(items.iter().map(|item| walk(item, rest)).collect::<Vec<_>>()),
            None => Value::Nil,
        },
    }
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
        assert_eq!(shown("items[9].id"), "nil");
        assert_eq!(shown("n.x"), "nil");
        assert_eq!(shown("items[\"x\"]"), "nil");
        assert_eq!(shown(""), value.to_string());
    }

    #[test]
    fn a_path_that_cannot_be_read_says_where() {
        let cases = [
            ("a[[", "`[` at character 2 is not closed"),
            ("é[0", "`[` at character 2 is not closed"),
            ("a[]", "nothing stands in [ ] at character 2"),
            ("a[-1]", "an index below 0 at character 2"),
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
