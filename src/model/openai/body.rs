//! The body of a chat-completions request.
//!
//! In: a question and what the server is known to accept. Out: the body.
//! It must never send a parameter that was not asked for, except those for streaming.

use ptc_core::value::Json;
use ptc_core::value::json::to_json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::messages::{Message, messages};
use crate::event::StructuredBy;
use crate::model::custom_tools::{definition, is_custom};
use crate::model::dialect::TokensKey;
use crate::model::history::accepted;
use crate::model::language::{Draft, RESPOND, RESPOND_ABOUT};
use crate::model::{self, Request};

#[skip_serializing_none]
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    stream_options: Option<StreamOptions>,
    temperature: Option<f64>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    seed: Option<u64>,
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    tool_choice: Option<ToolChoice<'a>>,
    response_format: Option<ResponseFormat>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// A tool as the protocol describes it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::model) enum Tool<'a> {
    /// A function.
    Function {
        /// Its definition.
        function: Function<'a>,
    },
    /// A tool whose argument is a text.
    Custom {
        /// Its definition.
        custom: Json,
    },
}

/// The definition of a function.
#[skip_serializing_none]
#[derive(Serialize)]
pub(in crate::model) struct Function<'a> {
    name: &'a str,
    description: Option<&'a str>,
    parameters: Option<Json>,
    strict: Option<bool>,
}

impl<'a> Tool<'a> {
    /// A function; without parameters only its name.
    pub(in crate::model) fn function(name: &'a str, description: Option<&'a str>, parameters: Option<Json>) -> Self {
        Self::Function { function: Function { name, description, parameters, strict: None } }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolChoice<'a> {
    Word(&'static str),
    Tool(Tool<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat {
    JsonSchema { json_schema: NamedSchema },
    JsonObject,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct NamedSchema {
    name: String,
    schema: Json,
    strict: Option<bool>,
}

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let Draft { request, endpoint, dialect } = draft;
    let options = &request.options;
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling);
    let tokens = |name: TokensKey| options.max_tokens.filter(|_| dialect.tokens == name);
    let (tools, tool_choice) = tools(draft);
    to_json(&Body {
        model: &endpoint.id,
        messages: messages(request, &endpoint.provider),
        stream: endpoint.stream,
        stream_options: (endpoint.stream && dialect.stream_usage).then_some(StreamOptions { include_usage: true }),
        temperature: sampled(options.temperature),
        max_tokens: tokens(TokensKey::MaxTokens),
        max_completion_tokens: tokens(TokensKey::MaxCompletionTokens),
        top_p: sampled(options.top_p),
        stop: &options.stop,
        seed: options.seed,
        reasoning_effort: draft.effort(),
        tools,
        tool_choice,
        response_format: format(draft),
    })
}

/// The tools that may be called, and what the model must do with them. The tool that carries the schema is the only one to be
/// called when there is no other.
fn tools<'a>(draft: &Draft<'a>) -> (Vec<Tool<'a>>, Option<ToolChoice<'a>>) {
    let tools = draft.request.tools.iter();
    let mut all: Vec<Tool<'_>> = tools
        .map(|tool| {
            if let Some(custom) = definition(tool) {
                return Tool::Custom { custom };
            }
            let (parameters, is_strict) = draft.parameters(tool);
            let description = tool.description.as_deref();
            let (parameters, strict) = (Some(parameters), is_strict.then_some(true));
            Tool::Function { function: Function { name: &tool.name, description, parameters, strict } }
        })
        .collect();
    let choice = draft.schema(StructuredBy::Tool).map(|schema| {
        let by_name = all.is_empty() && draft.dialect.named;
        all.push(Tool::function(RESPOND, Some(RESPOND_ABOUT), Some(draft.written_schema(schema).0)));
        if by_name { ToolChoice::Tool(Tool::function(RESPOND, None, None)) } else { ToolChoice::Word("required") }
    });
    (all, choice.or_else(|| draft.tool_choice().map(|choice| chosen(draft.request, choice))))
}

fn chosen<'a>(request: &Request, choice: &'a model::ToolChoice) -> ToolChoice<'a> {
    ToolChoice::Word(match choice {
        model::ToolChoice::Auto => "auto",
        model::ToolChoice::Required => "required",
        model::ToolChoice::None => "none",
        model::ToolChoice::Tool(name) if is_custom(request, name) => {
            return ToolChoice::Tool(Tool::Custom { custom: Json::empty().with("name", Json::str(name)) });
        }
        model::ToolChoice::Tool(name) => return ToolChoice::Tool(Tool::function(name, None, None)),
    })
}

fn format(draft: &Draft<'_>) -> Option<ResponseFormat> {
    let Some(schema) = draft.schema(StructuredBy::JsonSchema) else {
        return draft.asks_for_object().then_some(ResponseFormat::JsonObject);
    };
    let (schema, is_strict) = draft.written_schema(schema);
    let strict = is_strict.then_some(true);
    let name = accepted(&draft.request.agent, "answer");
    Some(ResponseFormat::JsonSchema { json_schema: NamedSchema { name, schema, strict } })
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
