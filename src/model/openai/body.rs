//! The body of a chat-completions request.
//!
//! In: a question and what the server is known to accept. Out: the body.
//! It must never send a parameter that was not asked for, except those for streaming.

use ptc_core::value::Json;

use super::messages::messages;
use crate::event::StructuredBy;
use crate::model::fields::{Fields, flag, real, whole};
use crate::model::history::accepted;
use crate::model::language::{Draft, RESPOND, RESPOND_ABOUT};
use crate::model::schema::{is_strict, written};

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let Draft { request, endpoint, dialect } = draft;
    let options = &request.options;
    let usage = Fields::default().with("include_usage", flag(true));
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling).map(real);
    let (tools, choice) = tools(draft);
    Fields::default()
        .with("model", Json::str(endpoint.id.as_str()))
        .with("messages", messages(request, &endpoint.provider))
        .with("stream", flag(endpoint.stream))
        .maybe("stream_options", (endpoint.stream && dialect.stream_usage).then(|| usage.into()))
        .maybe("temperature", sampled(options.temperature))
        .maybe(dialect.tokens.name(), options.max_tokens.map(whole))
        .maybe("top_p", sampled(options.top_p))
        .list("stop", options.stop.iter().map(|text| Json::str(text.as_str())).collect())
        .maybe("seed", options.seed.map(whole))
        .text("reasoning_effort", options.reasoning.as_deref().filter(|_| dialect.effort_word))
        .list("tools", tools)
        .maybe("tool_choice", choice)
        .maybe("response_format", format(draft))
        .into()
}

/// The tools that may be called, and what the model must do with them. The tool that carries the schema is the only one to be
/// called when there is no other.
fn tools(draft: &Draft<'_>) -> (Vec<Json>, Option<Json>) {
    let tagged = |inner: Fields| -> Json {
        Fields::default().with("type", Json::str("function")).with("function", inner).into()
    };
    let named = |name: &str| Fields::default().with("name", Json::str(name));
    let mut all: Vec<Json> = draft
        .request
        .tools
        .iter()
        .map(|tool| {
            let function = named(&tool.name).text("description", tool.description.as_deref());
            tagged(function.with("parameters", tool.parameters.json()))
        })
        .collect();
    let choice = draft.schema(StructuredBy::Tool).map(|schema| {
        let by_name = all.is_empty() && draft.dialect.named;
        let choice = if by_name { tagged(named(RESPOND)) } else { Json::str("required") };
        let schema = written(schema, draft.dialect.form);
        all.push(tagged(named(RESPOND).text("description", Some(RESPOND_ABOUT)).with("parameters", schema)));
        choice
    });
    (all, choice)
}

fn format(draft: &Draft<'_>) -> Option<Json> {
    let typed = |name: &str| Fields::default().with("type", Json::str(name));
    if let Some(schema) = draft.schema(StructuredBy::JsonSchema) {
        let schema = written(schema, draft.dialect.form);
        let strict = is_strict(&schema).then(|| flag(true));
        let inner = Fields::default()
            .with("name", Json::str(accepted(&draft.request.agent, "answer")))
            .with("schema", schema)
            .maybe("strict", strict);
        return Some(typed("json_schema").with("json_schema", inner).into());
    }
    draft.asks_for_object().then(|| typed("json_object").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_named_for_its_agent() {
        let cases = [
            ("reviews", "reviews"),
            ("my agent/2", "my_agent_2"),
            ("émoi", "_moi"),
            ("", "answer"),
            ("日本", "answer"),
        ];
        for (agent, expected) in cases {
            assert_eq!(accepted(agent, "answer"), expected);
        }
        assert_eq!(accepted(&"x".repeat(100), "answer").len(), 64);
    }
}
