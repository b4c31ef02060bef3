//! Refs: named parts of the answer, taken by path or expression, and asked for again when they are missing.
//!
//! In: the plan's refs and the answer. Out: their values, or which of them are missing. Source: agent contract §25, decisions K.

use ptc_core::reasons::Reason;
use ptc_core::signature::underscored;
use ptc_core::value::{Bounds, Json, Value};

use crate::agent::{Plan, Ref, RefSource};
use crate::event::{ErrorRecord, MessagePart};
use crate::program::expression;
use crate::prompt::refs as texts;

/// What became of the refs.
pub(super) enum Found {
    /// All that are required are there; `None` when the agent has no refs.
    All(Option<Json>),
    /// Some are missing.
    Missing {
        /// The failure.
        record: ErrorRecord,
        /// The message that asks for them, when one may still be sent.
        parts: Option<Vec<MessagePart>>,
    },
}

/// Takes the refs from the answer. `retries`: messages that may still be sent.
pub(super) async fn extract(plan: &Plan, answer: &Json, retries: &mut u32) -> Found {
    let refs = &plan.settings.refs;
    if refs.is_empty() {
        return Found::All(None);
    }
    let result = answer.to_value();
    let mut values: Vec<(String, Value)> = Vec::new();
    for one in refs {
        values.push((one.name.clone(), value_of(one, &result).await));
    }
    let is_missing =
        |one: &&Ref| !one.optional && values.iter().any(|(name, value)| *name == one.name && value.is_nil());
    let missing: Vec<&Ref> = refs.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Found::All(Some(Json::object(values.iter().map(|(name, value)| (name.clone(), Json::from(value))))));
    }
    let names: Vec<&str> = missing.iter().map(|one| one.name.as_str()).collect();
    let record = ErrorRecord::new(Reason::MissingRefs, format!("the answer lacks: {}", names.join(", ")));
    let preview = result.print(Bounds { items: Some(3), chars: Some(250) }).text;
    let parts = (*retries > 0).then(|| texts::ask_again(&missing, &preview));
    *retries = retries.saturating_sub(1);
    Found::Missing { record, parts }
}

async fn value_of(one: &Ref, result: &Value) -> Value {
    match &one.source {
        RefSource::Path(path) => at(result, path),
        RefSource::Expression(expression) => evaluate(expression, result).await,
    }
}

/// The value at a path such as `items[0].id`, `[*].name` or `a.b`; nil where the path leads nowhere. Keys are flexible: `-` is `_`.
pub(super) fn at(value: &Value, path: &str) -> Value {
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

/// A PTC-Lisp expression over `result`; nil when it fails.
async fn evaluate(source: &str, result: &Value) -> Value {
    let (source, result) = (source.to_owned(), result.clone());
    let task = tokio::task::spawn_blocking(move || expression::evaluate(&source, &result).unwrap_or_default());
    task.await.unwrap_or_default()
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

    #[tokio::test]
    async fn an_expression_sees_the_result_and_a_broken_one_is_nil() {
        let value = json::parse("[1,2,3]").unwrap().to_value();
        assert_eq!(evaluate("(count result)", &value).await, Value::Int(3));
        assert_eq!(evaluate("(count", &value).await, Value::Nil);
        assert_eq!(evaluate("(/ 1 0)", &value).await, Value::Nil);
    }
}
