//! Refs: named parts of the answer, taken by path or expression, and asked for again when they are missing.
//!
//! In: the plan's refs and the answer. Out: their values, or which of them are missing. Source: agent contract §25, decisions K.

use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value};

use super::cycle::Cycle;
use crate::agent::{Ref, RefSource};
use crate::event::{ErrorRecord, MessagePart, Notice};
use crate::port::SinkError;
use crate::program::{expression, path};
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

/// Takes the refs from the answer. `retries`: messages that may still be sent. An expression that fails is told where its ref may be nil.
pub(super) async fn extract(cycle: &Cycle<'_>, answer: &Json, retries: &mut u32) -> Result<Found, SinkError> {
    let plan = cycle.plan;
    let refs = &plan.settings.refs;
    if refs.is_empty() {
        return Ok(Found::All(None));
    }
    let result = answer.to_value();
    let mut values: Vec<(String, Json)> = Vec::new();
    let mut missing: Vec<&Ref> = Vec::new();
    let mut lacking: Vec<String> = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    for one in refs {
        let found = value_of(one, &result).await;
        let value = found.as_ref().map_or(Value::Nil, Value::clone);
        if value.is_nil() && !one.optional {
            missing.push(one);
            let why = found.err().map(|problem| format!(" (its expression failed: {problem})"));
            lacking.push(format!("{}{}", one.name, why.unwrap_or_default()));
        } else if let Err(problem) = found {
            failed.push(format!("the ref {} is nil: its expression failed: {problem}", one.name));
        }
        values.push((one.name.clone(), Json::from(&value)));
    }
    if missing.is_empty() {
        for text in failed {
            cycle.emit(&cycle.turn(), Notice { level: "warning".to_owned(), text }).await?;
        }
        return Ok(Found::All(Some(Json::object(values))));
    }
    let record = ErrorRecord::new(Reason::MissingRefs, format!("the answer lacks: {}", lacking.join(", ")));
    let parts = (*retries > 0).then(|| texts::ask_again(plan, &missing, answer));
    *retries = retries.saturating_sub(1);
    Ok(Found::Missing { record, parts })
}

/// The value of a ref; an error says why its expression gives none.
async fn value_of(one: &Ref, result: &Value) -> Result<Value, String> {
    match &one.source {
        RefSource::Path(place) => Ok(path::at(result, place)),
        RefSource::Expression(expression) => evaluate(expression, result).await,
    }
}

/// A PTC-Lisp expression over `result`.
async fn evaluate(source: &str, result: &Value) -> Result<Value, String> {
    let (source, result) = (source.to_owned(), result.clone());
    let task = tokio::task::spawn_blocking(move || expression::evaluate(&source, &result));
    match task.await {
        Ok(value) => value.map_err(|error| error.message()),
        Err(_) => Err("it broke off".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    #[tokio::test]
    async fn an_expression_sees_the_result_and_a_broken_one_says_why() {
        let value = json::parse("[1,2,3]").unwrap().to_value();
        assert_eq!(evaluate("(count result)", &value).await, Ok(Value::Int(3)));
        assert!(evaluate("(count", &value).await.is_err());
        assert!(evaluate("(/ 1 0)", &value).await.unwrap_err().contains("zero"));
    }
}
