//! The body of a generateContent request.
//!
//! In: a request and the server's known features. Out: the body. The model is part of the address.

#![expect(clippy::struct_field_names, reason = "the names of the protocol")]

use ptc_core::value::Json;
use ptc_core::value::json::{self, to_json};
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::event::{JsonText, NativeCall, StructuredBy};
use crate::model::ToolChoice;
use crate::model::attached_file::{AttachedFile, FileKind};
use crate::model::dialect::SchemaForm;
use crate::model::history::{AnsweredCall, ConversationTurn, accepted, arguments, conversation_turns};
use crate::model::language::{Draft, RESPOND, RESPOND_ABOUT};
use crate::model::schema::open_api;

/// The text of a part that would be empty.
const NOTHING: &str = "(empty)";

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    system_instruction: Option<Instruction<'a>>,
    contents: Vec<Content<'a>>,
    tools: Option<[Tools<'a>; 1]>,
    tool_config: Option<ToolConfig<'a>>,
    generation_config: Option<Config<'a>>,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

/// The bytes of a file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'a str,
    data: String,
}

/// A file as a part.
fn file_part<'a>(file: &AttachedFile<'a>) -> Part<'a> {
    match file.kind {
        FileKind::Text => Part { text: Some(file.tagged_text()), ..Part::default() },
        FileKind::Image | FileKind::Pdf | FileKind::Audio => {
            let blob = Blob { mime_type: &file.record.media_type, data: file.base64() };
            Part { inline_data: Some(blob), ..Part::default() }
        }
    }
}

/// Text, a file, a call or a result, with the signature that the service gave it.
#[skip_serializing_none]
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    text: Option<String>,
    inline_data: Option<Blob<'a>>,
    function_call: Option<Call<'a>>,
    function_response: Option<Response<'a>>,
    thought_signature: Option<Json>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct Call<'a> {
    id: Option<&'a str>,
    name: String,
    args: Json,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct Response<'a> {
    id: Option<&'a str>,
    name: String,
    response: Json,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Function<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Function<'a> {
    name: &'a str,
    description: Option<&'a str>,
    parameters: Option<Json>,
    parameters_json_schema: Option<Json>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: FunctionCallingConfig<'a>,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCallingConfig<'a> {
    mode: &'static str,
    allowed_function_names: Option<[&'a str; 1]>,
}

#[skip_serializing_none]
#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    seed: Option<u64>,
    response_mime_type: Option<&'static str>,
    response_schema: Option<Json>,
    response_json_schema: Option<Json>,
    thinking_config: Option<Thinking<'a>>,
}

#[skip_serializing_none]
#[derive(PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking<'a> {
    thinking_level: Option<&'a str>,
    thinking_budget: Option<i32>,
    include_thoughts: bool,
}

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let system = draft.request.system.as_deref().filter(|text| !text.is_empty());
    let (tools, tool_config) = tools(draft);
    to_json(&Body {
        system_instruction: system.map(|text| Instruction { parts: [text_part(text)] }),
        contents: contents(draft),
        tools: (!tools.is_empty()).then_some([Tools { function_declarations: tools }]),
        tool_config,
        generation_config: Some(config(draft)).filter(|config| *config != Config::default()),
    })
}

fn config<'a>(draft: &Draft<'a>) -> Config<'a> {
    let Draft { request, dialect, .. } = draft;
    let options = &request.options;
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling);
    let schema = draft.schema(StructuredBy::JsonSchema);
    let is_json = schema.is_some() || draft.asks_for_object();
    let (response_schema, response_json_schema) = in_form(schema, dialect.form);
    Config {
        temperature: sampled(options.temperature),
        top_p: sampled(options.top_p),
        max_output_tokens: options.max_tokens,
        stop_sequences: &options.stop,
        seed: options.seed,
        response_mime_type: is_json.then_some("application/json"),
        response_schema,
        response_json_schema,
        thinking_config: options.reasoning.as_deref().map(|asked| thinking(asked, dialect.effort_word)),
    }
}

/// A schema in the older form, or unchanged when that form cannot express it.
fn in_form(schema: Option<&Json>, form: SchemaForm) -> (Option<Json>, Option<Json>) {
    match schema.filter(|_| form == SchemaForm::OpenApi).and_then(open_api) {
        Some(older) => (Some(older), None),
        None => (None, schema.cloned()),
    }
}

/// A number is a number of tokens, anything else a word; where words are refused they become numbers.
fn thinking(asked: &str, words: bool) -> Thinking<'_> {
    let budget = match (asked.parse().ok(), asked) {
        (Some(tokens), _) => Some(tokens),
        (None, "none" | "off" | "disabled") => Some(0),
        (None, _) if words => None,
        (None, "minimal" | "low") => Some(1_024),
        (None, "high" | "xhigh" | "max") => Some(16_384),
        (None, _) => Some(8_192),
    };
    let level = budget.is_none().then_some(asked);
    Thinking { thinking_level: level, thinking_budget: budget, include_thoughts: true }
}

fn tools<'a>(draft: &Draft<'a>) -> (Vec<Function<'a>>, Option<ToolConfig<'a>>) {
    let form = draft.dialect.form;
    let function = |name: &'a str, description: Option<&'a str>, schema: &Json| {
        // An object without properties is refused: without parameters the field is omitted.
        let is_empty = schema.get("properties").and_then(Json::members).is_some_and(<[_]>::is_empty);
        let (parameters, parameters_json_schema) = in_form(Some(schema).filter(|_| !is_empty), form);
        Function { name, description, parameters, parameters_json_schema }
    };
    let tools = draft.request.tools.iter();
    let tools = tools.map(|tool| function(&tool.name, tool.description.as_deref(), &tool.parameters.json()));
    let mut all: Vec<Function<'a>> = tools.collect();
    let choice = draft.schema(StructuredBy::Tool).map(|schema| {
        let allowed_function_names = all.is_empty().then_some([RESPOND]);
        all.push(function(RESPOND, Some(RESPOND_ABOUT), schema));
        ToolConfig { function_calling_config: FunctionCallingConfig { mode: "ANY", allowed_function_names } }
    });
    (all, choice.or_else(|| draft.tool_choice().map(chosen)))
}

fn chosen(choice: &ToolChoice) -> ToolConfig<'_> {
    let mode = match choice {
        ToolChoice::Auto => "AUTO",
        ToolChoice::Required | ToolChoice::Tool(_) => "ANY",
        ToolChoice::None => "NONE",
    };
    let allowed_function_names = choice.tool().map(|name| [name]);
    ToolConfig { function_calling_config: FunctionCallingConfig { mode, allowed_function_names } }
}

fn text_part<'a>(text: &str) -> Part<'a> {
    let text = if text.is_empty() { NOTHING } else { text };
    Part { text: Some(text.to_owned()), ..Part::default() }
}

fn contents<'a>(draft: &Draft<'a>) -> Vec<Content<'a>> {
    let turns = conversation_turns(draft.request, &draft.endpoint.provider).into_iter().map(|turn| match turn {
        ConversationTurn::System(text) => Content { role: "user", parts: vec![text_part(&text)] },
        ConversationTurn::User { text, files } => {
            let files = AttachedFile::all(draft.request, &files);
            Content { role: "user", parts: files.iter().map(file_part).chain([text_part(&text)]).collect() }
        }
        ConversationTurn::Assistant { text, calls, opaque } => {
            Content { role: "model", parts: model(text, &calls, opaque) }
        }
        ConversationTurn::Results(results) => {
            let (texts, images): (Vec<_>, Vec<_>) = results.iter().map(|answer| draft.result_parts(answer)).unzip();
            let results = results.iter().zip(&texts).map(|(answer, text)| result(answer, text));
            Content { role: "user", parts: results.chain(images.iter().flatten().map(file_part)).collect() }
        }
    });
    turns.filter(|turn| !turn.parts.is_empty()).collect()
}

/// Text and calls, each with the signature that the service gave it.
fn model<'a>(text: String, calls: &[&'a NativeCall], opaque: Option<&JsonText>) -> Vec<Part<'a>> {
    let given = opaque.map(JsonText::json).unwrap_or_default();
    let signature = |place: usize| {
        let place = Json::from(place);
        let part = given.items().unwrap_or_default().iter().find(|part| part.get("place") == Some(&place));
        part.and_then(|part| part.get("thoughtSignature")).cloned()
    };
    let own = (!text.is_empty()).then(|| Part { text: Some(text), thought_signature: signature(0), ..Part::default() });
    let calls = calls.iter().enumerate().map(|(place, call)| {
        let (name, args) = (accepted(&call.name, "unknown"), arguments(call));
        Part {
            function_call: Some(Call { id: own_id(&call.id), name, args }),
            thought_signature: signature(place + 1),
            ..Part::default()
        }
    });
    own.into_iter().chain(calls).collect()
}

/// Gemini requires results to be objects.
fn result<'a>(answer: &AnsweredCall<'a>, text: &str) -> Part<'a> {
    let value = json::parse(text).unwrap_or_else(|_| Json::str(text));
    let response = if value.members().is_some() { value } else { Json::empty().with("result", value) };
    let name = accepted(answer.name, "unknown");
    Part { function_response: Some(Response { id: own_id(answer.id), name, response }), ..Part::default() }
}

/// Ids that were made up here are none of the service's: without one, calls and results are paired by their order.
fn own_id(id: &str) -> Option<&str> {
    Some(id).filter(|id| !id.starts_with("tc_"))
}
