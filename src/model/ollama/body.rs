//! The body of a chat request.
//!
//! In: a question and what the server is known to accept. Out: the body.

use ptc_core::value::Json;

use crate::event::{JsonText, NativeCall, StructuredBy};
use crate::model::fields::{Fields, flag, real, whole};
use crate::model::history::{Answered, Spoken, accepted, arguments, spoken};
use crate::model::language::Draft;

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let Draft { request, endpoint, dialect } = draft;
    let options = &request.options;
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling).map(real);
    let tools = request.tools.iter().map(|tool| {
        let function = Fields::default().with("name", Json::str(tool.name.as_str()));
        let function =
            function.text("description", tool.description.as_deref()).with("parameters", tool.parameters.json());
        Fields::default().with("type", Json::str("function")).with("function", function).into()
    });
    let own = Fields::default()
        .maybe("temperature", sampled(options.temperature))
        .maybe("top_p", sampled(options.top_p))
        .maybe("num_predict", options.max_tokens.map(whole))
        .list("stop", options.stop.iter().map(|text| Json::str(text.as_str())).collect())
        .maybe("seed", options.seed.map(whole))
        // Without it the server cuts long prompts silently to a small default.
        .maybe("num_ctx", endpoint.context_tokens.map(whole));
    let format = draft.schema(StructuredBy::JsonSchema).cloned();
    let format = format.or_else(|| draft.asks_for_object().then(|| Json::str("json")));
    Fields::default()
        .with("model", Json::str(endpoint.id.as_str()))
        .with("messages", messages(draft))
        .with("stream", flag(endpoint.stream))
        .list("tools", tools.collect())
        .maybe("format", format)
        .maybe("think", options.reasoning.as_deref().filter(|_| dialect.effort_word).map(think))
        .maybe("options", own.filled())
        .into()
}

/// On, off, or one of the words that some models know.
fn think(asked: &str) -> Json {
    match asked {
        "none" | "off" | "disabled" | "false" | "0" => flag(false),
        "low" | "medium" | "high" => Json::str(asked),
        _ => flag(true),
    }
}

fn messages(draft: &Draft<'_>) -> Json {
    let mut out: Vec<Json> = draft.request.system.iter().map(|text| message("system", text).into()).collect();
    for turn in spoken(draft.request, &draft.endpoint.provider) {
        match turn {
            Spoken::System(said) => out.push(message("system", &said).into()),
            Spoken::User(said) => out.push(message("user", &said).into()),
            Spoken::Assistant { text, calls, opaque } => out.push(assistant(&text, &calls, opaque)),
            Spoken::Results(results) => out.extend(results.iter().map(result)),
        }
    }
    Json::list(out)
}

fn message(role: &str, said: &str) -> Fields {
    Fields::default().with("role", Json::str(role)).with("content", Json::str(said))
}

/// Reasoning goes back with calls only: it belongs to the work that is not finished.
fn assistant(said: &str, calls: &[&NativeCall], opaque: Option<&JsonText>) -> Json {
    let given = opaque.filter(|_| !calls.is_empty()).map(JsonText::json);
    let thinking = given.as_ref().and_then(|parts| parts.items()?.first()?.get("thinking")).cloned();
    let calls = calls.iter().map(|call| {
        let function = Fields::default()
            .with("name", Json::str(accepted(&call.name, "unknown")))
            .with("arguments", arguments(call));
        Fields::default().with("id", Json::str(call.id.as_str())).with("function", function).into()
    });
    message("assistant", said).maybe("thinking", thinking).list("tool_calls", calls.collect()).into()
}

fn result(answer: &Answered<'_>) -> Json {
    message("tool", answer.result)
        .with("tool_name", Json::str(accepted(answer.name, "unknown")))
        .with("tool_call_id", Json::str(answer.id))
        .into()
}
