//! The messages of a chat-completions request.

use ptc_core::value::Json;

use crate::event::{JsonText, NativeCall};
use crate::model::Request;
use crate::model::fields::Fields;
use crate::model::history::{Spoken, accepted, arguments, spoken};

/// All messages, the system text first.
pub(super) fn messages(request: &Request, provider: &str) -> Json {
    let mut out: Vec<Json> = request.system.iter().map(|text| message("system", text)).collect();
    for turn in spoken(request, provider) {
        match turn {
            Spoken::System(text) => out.push(message("system", &text)),
            Spoken::User(text) => out.push(message("user", &text)),
            Spoken::Assistant { text, calls, .. } if calls.is_empty() => out.push(message("assistant", &text)),
            Spoken::Assistant { text, calls, opaque } => out.push(calling(&text, &calls, opaque)),
            Spoken::Results(results) => out.extend(results.iter().map(|answer| {
                Fields::default()
                    .with("role", Json::str("tool"))
                    .with("tool_call_id", Json::str(answer.id))
                    .with("content", Json::str(answer.result))
                    .into()
            })),
        }
    }
    Json::list(out)
}

/// A message with calls. Reasoning goes back with it under the name that the server gave it: servers that reason between calls ask
/// for that, and refuse it in other messages.
fn calling(text: &str, calls: &[&NativeCall], opaque: Option<&JsonText>) -> Json {
    let content = if text.is_empty() { Json::default() } else { Json::str(text) };
    let mut message = Fields::default().with("role", Json::str("assistant")).with("content", content);
    let given = opaque.map(JsonText::json);
    let given = given.as_ref().and_then(|parts| parts.items()?.first());
    for name in ["reasoning_content", "reasoning_details"] {
        message = message.maybe(name, given.and_then(|part| part.get(name)).cloned());
    }
    message.with("tool_calls", Json::list(calls.iter().map(|call| tool_call(call)))).into()
}

fn tool_call(call: &NativeCall) -> Json {
    let is_object = arguments(call).members().is_some_and(|members| !members.is_empty());
    let function = Fields::default()
        .with("name", Json::str(accepted(&call.name, "unknown")))
        .with("arguments", Json::str(if is_object { call.args.as_str() } else { "{}" }));
    Fields::default()
        .with("id", Json::str(call.id.as_str()))
        .with("type", Json::str("function"))
        .with("function", function)
        .into()
}

fn message(role: &str, text: &str) -> Json {
    Json::object([("role", Json::str(role)), ("content", Json::str(text))])
}
