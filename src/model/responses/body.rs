//! The body of a request of the Responses API.
//!
//! In: a question and what the service is known to accept. Out: the body. The service keeps nothing: reasoning comes
//! encrypted and goes back with the calls that followed it.

use std::borrow::Cow;

use ptc_core::value::Json;
use ptc_core::value::json::to_json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::event::{JsonText, NativeCall, StructuredBy};
use crate::model::attached_file::{AttachedFile, FileKind};
use crate::model::custom_tools::{definition, input_of, is_custom};
use crate::model::history::{AnsweredCall, ConversationTurn, accepted, arguments_text, conversation_turns};
use crate::model::language::{Draft, RESPOND, RESPOND_ABOUT};
use crate::model::{self, Request};

/// Value of `include` that adds encrypted reasoning to the reply, for a client that keeps the history.
const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

#[skip_serializing_none]
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    instructions: Option<&'a str>,
    input: Vec<Item<'a>>,
    stream: bool,
    store: bool,
    include: Option<[&'static str; 1]>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_output_tokens: Option<u64>,
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    tool_choice: Option<ToolChoice<'a>>,
    text: Option<TextOptions>,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
    summary: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    Function(Function<'a>),
    Custom(Json),
}

/// A function. The service takes every schema for a strict one unless the opposite is stated.
#[skip_serializing_none]
#[derive(Serialize)]
struct Function<'a> {
    r#type: &'static str,
    name: &'a str,
    description: Option<&'a str>,
    parameters: Json,
    strict: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolChoice<'a> {
    Word(&'static str),
    Tool { r#type: &'static str, name: &'a str },
}

#[derive(Serialize)]
struct TextOptions {
    format: Format,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format {
    JsonSchema { name: String, schema: Json, strict: bool },
    JsonObject,
}

/// The content of a message: a text, or parts where files come with it.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Part<'a> {
    #[serde(rename = "input_text")]
    Text { text: String },
    #[serde(rename = "input_image")]
    Image { image_url: String, detail: &'static str },
    #[serde(rename = "input_file")]
    File { filename: &'a str, file_data: String },
}

/// A part of the conversation.
#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
    },
    Call {
        r#type: &'static str,
        call_id: &'a str,
        name: String,
        arguments: &'a str,
    },
    CustomCall {
        r#type: &'static str,
        call_id: &'a str,
        name: &'a str,
        input: String,
    },
    Result {
        r#type: &'static str,
        call_id: &'a str,
        output: Content<'a>,
    },
    /// A reasoning item exactly as the service made it.
    Reasoning(Json),
}

/// Builds the body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let Draft { request, endpoint, dialect } = draft;
    let options = &request.options;
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling);
    let (tools, tool_choice) = tools(draft);
    to_json(&Body {
        model: &endpoint.id,
        instructions: request.system.as_deref().filter(|text| !text.is_empty()),
        input: input(draft),
        stream: endpoint.stream,
        store: false,
        include: dialect.encrypted_reasoning.then_some([ENCRYPTED_REASONING]),
        temperature: sampled(options.temperature),
        top_p: sampled(options.top_p),
        max_output_tokens: options.max_tokens,
        reasoning: draft.effort().map(|effort| Reasoning { effort, summary: "auto" }),
        tools,
        tool_choice,
        text: format(draft).map(|format| TextOptions { format }),
    })
}

/// Returns the tools that may be called, and what the model must do with them. The tool that carries the schema is the only one to be
/// called when there is no other.
fn tools<'a>(draft: &Draft<'a>) -> (Vec<Tool<'a>>, Option<ToolChoice<'a>>) {
    let function = |name: &'a str, description: Option<&'a str>, (parameters, strict): (Json, bool)| {
        Tool::Function(Function { r#type: "function", name, description, parameters, strict })
    };
    let tools = draft.request.tools.iter().map(|tool| match definition(tool) {
        Some(definition) => Tool::Custom(definition.with("type", Json::str("custom"))),
        None => function(&tool.name, tool.description.as_deref(), draft.parameters(tool)),
    });
    let mut all: Vec<Tool<'a>> = tools.collect();
    let choice = draft.schema(StructuredBy::Tool).map(|schema| {
        let by_name = all.is_empty() && draft.dialect.named;
        all.push(function(RESPOND, Some(RESPOND_ABOUT), draft.written_schema(schema)));
        if by_name { ToolChoice::Tool { r#type: "function", name: RESPOND } } else { ToolChoice::Word("required") }
    });
    (all, choice.or_else(|| draft.tool_choice().map(|choice| chosen(draft.request, choice))))
}

fn chosen<'a>(request: &Request, choice: &'a model::ToolChoice) -> ToolChoice<'a> {
    ToolChoice::Word(match choice {
        model::ToolChoice::Auto => "auto",
        model::ToolChoice::Required => "required",
        model::ToolChoice::None => "none",
        model::ToolChoice::Tool(name) => {
            let kind = if is_custom(request, name) { "custom" } else { "function" };
            return ToolChoice::Tool { r#type: kind, name };
        }
    })
}

fn format(draft: &Draft<'_>) -> Option<Format> {
    let Some(schema) = draft.schema(StructuredBy::JsonSchema) else {
        return draft.asks_for_object().then_some(Format::JsonObject);
    };
    let (schema, strict) = draft.written_schema(schema);
    Some(Format::JsonSchema { name: accepted(&draft.request.agent, "answer"), schema, strict })
}

fn input<'a>(draft: &Draft<'a>) -> Vec<Item<'a>> {
    let mut out = Vec::new();
    for turn in conversation_turns(draft.request, &draft.endpoint.provider) {
        match turn {
            ConversationTurn::System(text) => out.push(message("developer", text)),
            ConversationTurn::User { text, files } => out.push(user(text, &AttachedFile::all(draft.request, &files))),
            ConversationTurn::Assistant { text, calls, .. } if calls.is_empty() => out.push(message("assistant", text)),
            ConversationTurn::Assistant { text, calls, opaque } => {
                add_calling(draft.request, (text, &calls), opaque, &mut out);
            }
            ConversationTurn::Results(results) => out.extend(results.iter().map(|answer| {
                let is_custom = is_custom(draft.request, answer.name);
                let kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
                Item::Result { r#type: kind, call_id: answer.id, output: output(draft, answer) }
            })),
        }
    }
    out
}

fn message<'a>(role: &'static str, text: impl Into<Cow<'a, str>>) -> Item<'a> {
    Item::Message { role, content: Content::Text(text.into()) }
}

/// A file as a part.
fn part<'a>(file: &AttachedFile<'a>) -> Part<'a> {
    match file.kind {
        FileKind::Image => Part::Image { image_url: file.data_url(), detail: "auto" },
        FileKind::Text => Part::Text { text: file.tagged_text() },
        FileKind::Pdf | FileKind::Audio => Part::File { filename: &file.record.name, file_data: file.data_url() },
    }
}

/// The output of a call: a text, or parts where images come with it.
fn output<'a>(draft: &Draft<'a>, answer: &AnsweredCall<'a>) -> Content<'a> {
    let (text, files) = draft.result_parts(answer);
    if files.is_empty() {
        return Content::Text(text);
    }
    let text = Part::Text { text: text.into_owned() };
    Content::Parts([text].into_iter().chain(files.iter().map(part)).collect())
}

/// A message of the user; its files come before the text.
fn user<'a>(text: String, files: &[AttachedFile<'a>]) -> Item<'a> {
    if files.is_empty() {
        return message("user", text);
    }
    let parts = files.iter().map(part).chain([Part::Text { text }]).collect();
    Item::Message { role: "user", content: Content::Parts(parts) }
}

/// Adds text and calls with the reasoning between them in the recorded order. Reasoning is sent back with calls only: it
/// belongs to the work that is not finished.
fn add_calling<'a>(
    request: &Request,
    (text, calls): (String, &[&'a NativeCall]),
    opaque: Option<&JsonText>,
    out: &mut Vec<Item<'a>>,
) {
    let given = opaque.map(JsonText::json).unwrap_or_default();
    let add_reasoning = |place: usize, out: &mut Vec<Item<'a>>| {
        let here = given.items().unwrap_or_default().iter();
        let here = here.filter(|part| part.get("place") == Some(&Json::from(place)));
        out.extend(here.filter_map(|part| part.get("item")).cloned().map(Item::Reasoning));
    };
    add_reasoning(0, out);
    if !text.is_empty() {
        out.push(message("assistant", text));
    }
    for (number, call) in calls.iter().enumerate() {
        add_reasoning(number + 1, out);
        if is_custom(request, &call.name) {
            let (call_id, name) = (call.id.as_str(), call.name.as_str());
            out.push(Item::CustomCall { r#type: "custom_tool_call", call_id, name, input: input_of(call) });
            continue;
        }
        let (name, arguments) = (accepted(&call.name, "unknown"), arguments_text(call));
        out.push(Item::Call { r#type: "function_call", call_id: &call.id, name, arguments });
    }
}
