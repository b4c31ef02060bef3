//! The body of a Converse request.
//!
//! In: a question and what the server is known to accept. Out: the body; model and streaming are part of the address.
//! Text blocks are never empty, results come first in their message, and the roles alternate: the service demands all three.

use ptc_core::value::Json;
use ptc_core::value::json::to_json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::event::{JsonText, NativeCall, StructuredBy};
use crate::model;
use crate::model::attached_file::{AttachedFile, FileKind};
use crate::model::history::{AnsweredCall, ConversationTurn, accepted, arguments, conversation_turns};
use crate::model::language::{Draft, RESPOND, RESPOND_ABOUT};

/// The text of a block that would be empty.
const NOTHING: &str = "(empty)";

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
    inference_config: Option<Inference<'a>>,
    tool_config: Option<ToolConfig<'a>>,
    additional_model_request_fields: Option<Json>,
}

#[skip_serializing_none]
#[derive(Serialize, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
struct Inference<'a> {
    max_tokens: Option<u64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    tools: Vec<Tool<'a>>,
    tool_choice: Option<ToolChoice<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Tool<'a> {
    ToolSpec(ToolSpec<'a>),
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolSpec<'a> {
    name: &'a str,
    description: Option<&'a str>,
    input_schema: Schema,
}

#[derive(Serialize)]
struct Schema {
    json: Json,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum ToolChoice<'a> {
    Auto {},
    Any {},
    Tool { name: &'a str },
}

/// The bytes of a file in Base64.
#[derive(Serialize)]
struct Source {
    bytes: String,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Block<'a> {
    Text(String),
    Image {
        format: &'a str,
        source: Source,
    },
    Document {
        format: &'a str,
        name: String,
        source: Source,
    },
    #[serde(rename_all = "camelCase")]
    ToolUse {
        tool_use_id: String,
        name: String,
        input: Json,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: String,
        content: Vec<Block<'a>>,
    },
    ReasoningContent(Json),
    CachePoint {
        #[serde(rename = "type")]
        kind: &'static str,
    },
}

/// Everything up to here is cached.
const CACHE_POINT: Block<'static> = Block::CachePoint { kind: "default" };

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let Draft { request, dialect, .. } = draft;
    let options = &request.options;
    let system = request.system.as_deref().filter(|text| !text.trim().is_empty());
    let mut system: Vec<Block<'_>> = system.into_iter().map(text_block).collect();
    if request.cache && !system.is_empty() {
        system.push(CACHE_POINT);
    }
    let inference = Inference {
        max_tokens: options.max_tokens,
        temperature: options.temperature.filter(|_| dialect.sampling),
        top_p: options.top_p.filter(|_| dialect.sampling),
        stop_sequences: &options.stop,
    };
    to_json(&Body {
        system,
        messages: messages(draft),
        inference_config: (inference != Inference::default()).then_some(inference),
        tool_config: tools(draft),
        additional_model_request_fields: reasoning(draft),
    })
}

/// The amount of reasoning, in the form of the model's own service.
fn reasoning(draft: &Draft<'_>) -> Option<Json> {
    let asked = draft.request.options.reasoning.as_deref().filter(|_| draft.dialect.effort_word)?;
    let (id, is_off) = (draft.endpoint.id.as_str(), matches!(asked, "none" | "off" | "disabled" | "0"));
    let tokens = asked.parse::<u64>().unwrap_or(match asked {
        "minimal" | "low" => 2_048,
        "high" | "xhigh" | "max" => 16_384,
        _ => 8_192,
    });
    let object =
        |kind: &str, members: Vec<(&str, Json)>| Json::object([("type", Json::str(kind))].into_iter().chain(members));
    if id.contains("anthropic") {
        // Less than this is refused.
        let budget = i64::try_from(tokens.max(1_024)).unwrap_or(i64::MAX);
        let thinking = if is_off {
            object("disabled", Vec::new())
        } else {
            object("enabled", vec![("budget_tokens", Json::from(budget))])
        };
        return Some(Json::empty().with("thinking", thinking));
    }
    if id.contains("amazon.nova") {
        let config = if is_off {
            object("disabled", Vec::new())
        } else {
            object("enabled", vec![("maxReasoningEffort", Json::str(asked))])
        };
        return Some(Json::empty().with("reasoningConfig", config));
    }
    Some(Json::empty().with("reasoning_effort", Json::str(asked)))
}

/// A file as a block. The name of a document may hold few kinds of characters.
fn file_block<'a>(place: usize, file: &AttachedFile<'a>) -> Block<'a> {
    let source = || Source { bytes: file.base64() };
    match file.kind {
        FileKind::Image => Block::Image { format: file.format(), source: source() },
        FileKind::Text => Block::Text(file.tagged_text()),
        FileKind::Pdf | FileKind::Audio => {
            let name = format!("file-{}-{}", place + 1, accepted(&file.record.name, "document").replace('_', "-"));
            Block::Document { format: file.format(), name, source: source() }
        }
    }
}

fn text_block<'a>(text: &str) -> Block<'a> {
    Block::Text(if text.trim().is_empty() { NOTHING } else { text }.to_owned())
}

fn tools<'a>(draft: &Draft<'a>) -> Option<ToolConfig<'a>> {
    let spec = |name, description, json| Tool::ToolSpec(ToolSpec { name, description, input_schema: Schema { json } });
    let own = draft.request.tools.iter();
    let mut tools: Vec<Tool<'a>> =
        own.map(|tool| spec(tool.name.as_str(), tool.description.as_deref(), tool.parameters.json())).collect();
    let forced = draft.schema(StructuredBy::Tool).map(|schema| {
        let by_name = tools.is_empty() && draft.dialect.named;
        tools.push(spec(RESPOND, Some(RESPOND_ABOUT), draft.written_schema(schema).0));
        if by_name { ToolChoice::Tool { name: RESPOND } } else { ToolChoice::Any {} }
    });
    let tool_choice = forced.or_else(|| draft.tool_choice().and_then(chosen));
    (!tools.is_empty()).then_some(ToolConfig { tools, tool_choice })
}

/// The restriction of calls; the service cannot forbid them.
fn chosen(choice: &model::ToolChoice) -> Option<ToolChoice<'_>> {
    match choice {
        model::ToolChoice::Auto => Some(ToolChoice::Auto {}),
        model::ToolChoice::Required => Some(ToolChoice::Any {}),
        model::ToolChoice::None => None,
        model::ToolChoice::Tool(name) => Some(ToolChoice::Tool { name }),
    }
}

fn messages<'a>(draft: &Draft<'a>) -> Vec<Message<'a>> {
    let mut turns: Vec<Message<'a>> = Vec::new();
    for turn in conversation_turns(draft.request, &draft.endpoint.provider) {
        let (role, content) = match turn {
            ConversationTurn::System(text) => ("user", vec![text_block(&text)]),
            ConversationTurn::User { text, files } => {
                let files = AttachedFile::all(draft.request, &files);
                let blocks = files.iter().enumerate().map(|(place, file)| file_block(place, file));
                ("user", blocks.chain([text_block(&text)]).collect())
            }
            ConversationTurn::Assistant { text, calls, opaque } => ("assistant", assistant(&text, &calls, opaque)),
            ConversationTurn::Results(results) => {
                let block = |answer: &AnsweredCall<'a>| {
                    let (text, files) = draft.result_parts(answer);
                    let images = files.iter().enumerate().map(|(place, file)| file_block(place, file));
                    let content = [text_block(&text)].into_iter().chain(images).collect();
                    Block::ToolResult { tool_use_id: id(answer.id), content }
                };
                ("user", results.iter().map(block).collect())
            }
        };
        match turns.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => turns.push(Message { role, content }),
        }
    }
    // The conversation so far is cached as well: the next turn begins with it.
    if draft.request.cache
        && let Some(last) = turns.last_mut()
    {
        last.content.push(CACHE_POINT);
    }
    turns
}

/// Text, calls, and the reasoning between them in the recorded order.
fn assistant<'a>(text: &str, calls: &[&NativeCall], opaque: Option<&JsonText>) -> Vec<Block<'a>> {
    let own = if text.trim().is_empty() { None } else { Some(text_block(text)) };
    let calls = calls.iter().map(|call| {
        let (tool_use_id, name) = (id(&call.id), accepted(&call.name, "unknown"));
        Some(Block::ToolUse { tool_use_id, name, input: arguments(call) })
    });
    let reasoning = opaque.map(JsonText::json).unwrap_or_default();
    let parts = reasoning.items().unwrap_or_default();
    let mut out = Vec::new();
    for (place, block) in [own].into_iter().chain(calls).enumerate() {
        let here = parts.iter().filter(|part| part.get("place") == Some(&Json::from(place)));
        out.extend(here.filter_map(|part| part.get("block").cloned()).map(Block::ReasoningContent));
        out.extend(block);
    }
    out
}

/// An id as the service accepts it; ids of other services may hold more kinds of characters.
fn id(id: &str) -> String {
    accepted(id, "tool")
}
