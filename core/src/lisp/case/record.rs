//! Records: the outcome of a case as a JSON object.
//!
//! `{id, ok, value, prn, signal?, …}` or `{id, ok, reason, message, line?, column?, …}`, with `prints`, `memory_out`,
//! `journal_out`, `summaries`, `tool_calls` unless empty.

use super::Case;
use crate::limits::JSON_DEPTH;
use crate::lisp::boundary::{externalize, rounded};
use crate::lisp::{Call, Error, Memory, Outcome, Signal};
use crate::reasons::Reason;
use crate::signature::{Issue, check};
use crate::text::LineCol;
use crate::value::json::{Node, TOO_DEEP};
use crate::value::{Bounds, Json, Map, Value};

/// Integers up to this size are plain JSON numbers: every JSON reader keeps them exact.
const EXACT_IN_DOUBLES: u64 = (1 << 53) - 1;

impl Case {
    /// The outcome of the case. A plain value is checked against the signature; floats of a value are rounded.
    pub fn record(&self, outcome: &Outcome) -> Json {
        let ended = match &outcome.result {
            Ok((Signal::Value, value)) => self.unfit(value).map_or(Ok((Signal::Value, value)), Err),
            Ok((signal, value)) => Ok((*signal, value)),
            Err(error) => Err(error.clone()),
        };
        let mut members = vec![("id", self.id.clone()), ("ok", Node::Bool(ended.is_ok()).into())];
        match ended {
            Ok((signal, value)) => {
                let leaving = self.float_digits.map_or_else(|| value.clone(), |digits| rounded(value, digits));
                members.push(("value", encoded(&leaving)));
                members.push(("prn", self.printed(value)));
                match signal {
                    Signal::Value => {}
                    Signal::Return => members.push(("signal", Json::str("return"))),
                    Signal::Fail => members.push(("signal", Json::str("fail"))),
                }
            }
            Err(error) => members.extend(failure(&error, &self.program)),
        }
        let text = |text: &String| Json::str(text.as_str());
        let summaries = outcome.summaries.iter().map(|(id, summary)| (id.as_str(), text(summary)));
        members.extend(
            [
                ("prints", Json::list(outcome.prints.iter().map(text))),
                ("memory_out", self.memory(&outcome.memory)),
                ("journal_out", outcome.journal.as_ref().map(map).unwrap_or_default()),
                ("summaries", Json::object(summaries)),
                ("tool_calls", Json::list(outcome.calls.iter().map(call))),
                ("warnings", Json::list(outcome.warnings.iter().map(text))),
            ]
            .into_iter()
            .filter(|(_, json)| !is_empty(json)),
        );
        Json::object(members)
    }

    /// A value in readable form.
    fn printed(&self, value: &Value) -> Json {
        let mut text = String::new();
        _ = value.write_floats(&mut text, Bounds::default(), self.dialect.float_digits());
        Json::str(text)
    }

    /// The public view of memory, in readable form.
    fn memory(&self, memory: &Memory) -> Json {
        Json::object(memory.iter().map(|(name, binding)| (name.name(), self.printed(&externalize(&binding.value).0))))
    }

    /// The record of a case that cannot be run.
    pub fn refusal(id: Json, error: &Error) -> Json {
        let members = [("id", id), ("ok", Node::Bool(false).into())];
        Json::object(members.into_iter().chain(failure(error, "")))
    }

    /// The error if the value does not satisfy the signature.
    fn unfit(&self, value: &Value) -> Option<Error> {
        let ty = self.signature.as_ref()?.output.as_ref()?;
        let issues = check(ty, value);
        // A keyword is accepted where its string would be.
        let fits = issues.is_empty() || check(ty, &externalize(value).0).is_empty();
        (!fits).then(|| Error::new(Reason::ValidationError, lines(&issues)))
    }
}

fn lines(issues: &[Issue]) -> String {
    issues.iter().map(Issue::to_program).collect::<Vec<_>>().join("; ")
}

fn failure(error: &Error, source: &str) -> Vec<(&'static str, Json)> {
    let position = error.span.map(|span| span.line_col(source));
    let number = |pick: fn(LineCol) -> usize| {
        position.and_then(|position| i64::try_from(pick(position)).ok()).map(|number| Node::Int(number).into())
    };
    let members = [
        ("reason", Some(Json::str(error.reason.name()))),
        ("message", Some(Json::str(error.message()))),
        ("line", number(|position| position.line)),
        ("column", number(|position| position.column)),
    ];
    members.into_iter().filter_map(|(key, json)| Some((key, json?))).collect()
}

fn is_empty(json: &Json) -> bool {
    match &json.node {
        Node::Null => true,
        Node::List(items) => items.is_empty(),
        Node::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn call(call: &Call) -> Json {
    let (result, error) = match &call.result {
        Ok(value) => (encoded(value), Json::default()),
        Err(message) => (Json::default(), Json::str(message.as_str())),
    };
    let named = Json::empty().with("name", Json::str(call.tool.as_str())).with("args", encoded(&call.args));
    named.with("result", result).with("error", error)
}

/// A value as JSON that distinguishes sets, special floats, large integers and objects: `{"#set": […]}`, `{"#num":
/// "##Inf"}`, `{"#int": "digits"}`, `{"#obj": "printed"}`.
fn encoded(value: &Value) -> Json {
    encoded_at(value, 0)
}

fn encoded_at(value: &Value, depth: u64) -> Json {
    let is_deep = depth >= JSON_DEPTH.max;
    match value {
        Value::List(_) | Value::Set(_) | Value::Map(_) if is_deep => Json::str(TOO_DEEP),
        Value::Int(number) if number.unsigned_abs() > EXACT_IN_DOUBLES => tagged("#int", Json::str(number.to_string())),
        Value::Big(number) => tagged("#int", Json::str(number.to_string())),
        Value::Float(number) if !number.is_finite() => tagged("#num", Json::str(value.to_string())),
        Value::List(items) => Json::list(items.iter().map(|item| encoded_at(item, depth + 1))),
        Value::Set(members) => tagged("#set", Json::list(members.iter().map(|member| encoded_at(member, depth + 1)))),
        Value::Map(entries) => map_at(entries, depth + 1),
        Value::Duration(_) | Value::Function(_) | Value::Regex(_) | Value::Var(_) | Value::Symbol(_) => {
            tagged("#obj", Json::str(value.to_string()))
        }
        scalar => Json::from(scalar),
    }
}

fn tagged(tag: &str, json: Json) -> Json {
    Json::empty().with(tag, json)
}

fn map(entries: &Map) -> Json {
    map_at(entries, 1)
}

/// Of two keys with the same text a string wins, then the first in key order.
fn map_at(entries: &Map, depth: u64) -> Json {
    let (strings, others): (Vec<_>, Vec<_>) = entries.iter().partition(|(key, _)| matches!(key, Value::Str(_)));
    let all = others.into_iter().filter(|(key, _)| entries.get_str(&key_text(key)).is_none()).chain(strings);
    Json::object(all.map(|(key, value)| (key_text(key), encoded_at(value, depth))))
}

fn key_text(key: &Value) -> String {
    match key {
        Value::Str(text) => text.to_string(),
        Value::Keyword(name) => name.name().to_owned(),
        Value::Instant(at) => at.to_string(),
        Value::Date(day) => day.to_string(),
        other => other.to_string(),
    }
}
