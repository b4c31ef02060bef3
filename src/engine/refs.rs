//! Refs: named parts of the answer, taken by path or expression, and asked for again when they are missing.
//!
//! In: the plan's refs and the answer. Out: their values, or which of them are missing. Source: agent contract §25, decisions K.

use ptc_core::reasons::Reason;
use ptc_core::value::{Bounds, Json, Value};

use crate::agent::{Plan, Ref, RefSource};
use crate::event::{ErrorRecord, MessagePart};
use crate::program::{expression, path};
use crate::prompt::ptc_lisp::readable;
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
    let preview = readable(plan, &result, Bounds { items: Some(3), chars: Some(250) });
    let parts = (*retries > 0).then(|| texts::ask_again(&missing, &preview));
    *retries = retries.saturating_sub(1);
    Found::Missing { record, parts }
}

async fn value_of(one: &Ref, result: &Value) -> Value {
    match &one.source {
        RefSource::Path(place) => path::at(result, place),
        RefSource::Expression(expression) => evaluate(expression, result).await,
    }
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

    #[tokio::test]
    async fn an_expression_sees_the_result_and_a_broken_one_is_nil() {
        let value = json::parse("[1,2,3]").unwrap().to_value();
        assert_eq!(evaluate("(count result)", &value).await, Value::Int(3));
        assert_eq!(evaluate("(count", &value).await, Value::Nil);
        assert_eq!(evaluate("(/ 1 0)", &value).await, Value::Nil);
    }
}
