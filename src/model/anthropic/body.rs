//! The body of a messages request.
//!
//! In: a question and what the server is known to accept. Out: the body.
//! Text blocks are never empty, results come first in their message, and the roles alternate: the service demands all three.

use std::borrow::Cow;

use ptc_core::value::Json;
use ptc_core::value::json::to_json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::{is_on_vertex, takes_sampling, version};
use crate::event::{JsonText, NativeCall, StructuredBy};
use crate::model;
use crate::model::attached_file::{AttachedFile, FileKind};
use crate::model::dialect::SchemaForm;
use crate::model::history::{AnsweredCall, ConversationTurn, accepted, arguments, conversation_turns};
use crate::model::language::{Draft, RESPOND, RESPOND_ABOUT};
use crate::model::schema::{closed, written};

/// Tokens of an answer without a limit of its own: the service demands one.
const MAX_TOKENS: u64 = 8_192;
/// The text of a block that would be empty.
const NOTHING: &str = "(empty)";

#[skip_serializing_none]
#[derive(Serialize)]
struct Body<'a> {
    model: Option<&'a str>,
    anthropic_version: Option<&'a str>,
    max_tokens: u64,
    system: Option<System<'a>>,
    messages: Vec<Message<'a>>,
    stream: bool,
    temperature: Option<f64>,
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    tool_choice: Option<ToolChoice<'a>>,
    output_config: Option<OutputConfig<'a>>,
}

/// The system text, in the form of a block only where it carries a mark.
#[derive(Serialize)]
#[serde(untagged)]
enum System<'a> {
    Text(&'a str),
    Blocks([MarkedBlock<'a>; 1]),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Disabled,
    Adaptive,
    Enabled { budget_tokens: u64 },
}

#[skip_serializing_none]
#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: Option<&'a str>,
    input_schema: Json,
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToolChoice<'a> {
    Auto,
    Tool { name: &'a str },
    Any,
    None,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct OutputConfig<'a> {
    effort: Option<&'a str>,
    format: Option<OutputFormat>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputFormat {
    JsonSchema { schema: Json },
}

/// One message: its role, and its blocks.
#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<MarkedBlock<'a>>,
}

/// A block; with a mark everything up to here is to be cached.
#[skip_serializing_none]
#[derive(Serialize)]
struct MarkedBlock<'a> {
    #[serde(flatten)]
    block: Block<'a>,
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[skip_serializing_none]
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: String },
    Image { source: Bytes<'a> },
    Document { source: Bytes<'a>, title: Option<&'a str> },
    ToolUse { id: String, name: String, input: Json },
    ToolResult { tool_use_id: String, content: ResultContent<'a> },
    Thinking { thinking: Option<String>, signature: Option<String> },
    RedactedThinking { data: Option<String> },
}

/// The content of a result: a text, or blocks where images come with it.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// A result with its images after the text.
fn result_content<'a>(draft: &Draft<'a>, answer: &AnsweredCall<'a>) -> ResultContent<'a> {
    let (text, files) = draft.result_parts(answer);
    if files.is_empty() {
        return ResultContent::Text(text);
    }
    ResultContent::Blocks([text_block(&text)].into_iter().chain(files.iter().map(file_block)).collect())
}

/// The bytes of a file.
#[derive(Serialize)]
struct Bytes<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: String,
}

/// A file as a block.
fn file_block<'a>(file: &AttachedFile<'a>) -> Block<'a> {
    let source = || Bytes { r#type: "base64", media_type: &file.record.media_type, data: file.base64() };
    match file.kind {
        FileKind::Image => Block::Image { source: source() },
        FileKind::Text => Block::Text { text: file.tagged_text() },
        FileKind::Pdf | FileKind::Audio => Block::Document { source: source(), title: Some(&file.record.name) },
    }
}

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let Draft { request, endpoint, dialect } = draft;
    let options = &request.options;
    let effort = Effort::of(options.reasoning.as_deref(), dialect.effort_word);
    let room = options.max_tokens.or(endpoint.known.max_output).unwrap_or(MAX_TOKENS);
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling && takes_sampling(endpoint));
    let (tools, tool_choice) = tools(draft);
    to_json(&Body {
        model: (!is_on_vertex(endpoint)).then_some(&*endpoint.id),
        anthropic_version: is_on_vertex(endpoint).then(|| version(endpoint)),
        max_tokens: effort.budget().map_or(room, |budget| room.max(budget.saturating_add(room.min(MAX_TOKENS)))),
        system: request
            .system
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .map(|text| system(text, request.cache)),
        messages: messages(draft),
        stream: endpoint.stream,
        temperature: sampled(options.temperature),
        top_p: sampled(options.top_p),
        stop_sequences: &options.stop,
        thinking: effort.thinking(),
        tools,
        tool_choice,
        output_config: output(draft, &effort),
    })
}

/// Amount of reasoning.
enum Effort<'a> {
    Unsaid,
    Off,
    Word(&'a str),
    Tokens(u64),
}

impl<'a> Effort<'a> {
    /// A number is a number of tokens, anything else a word; where words are refused they become numbers.
    fn of(asked: Option<&'a str>, words: bool) -> Self {
        match asked {
            None => Self::Unsaid,
            Some("none" | "off" | "disabled" | "0") => Self::Off,
            Some(word) => match (word.parse(), words) {
                // Less than this is refused.
                (Ok(tokens), _) => Self::Tokens(u64::max(tokens, 1_024)),
                (Err(_), true) => Self::Word(word),
                (Err(_), false) => Self::Tokens(match word {
                    "minimal" | "low" => 2_048,
                    "high" | "xhigh" | "max" => 16_384,
                    _ => 8_192,
                }),
            },
        }
    }

    fn budget(&self) -> Option<u64> {
        if let Self::Tokens(tokens) = self { Some(*tokens) } else { None }
    }

    fn thinking(&self) -> Option<Thinking> {
        Some(match self {
            Self::Unsaid => return None,
            Self::Off => Thinking::Disabled,
            Self::Word(_) => Thinking::Adaptive,
            Self::Tokens(tokens) => Thinking::Enabled { budget_tokens: *tokens },
        })
    }
}

fn output<'a>(draft: &Draft<'_>, effort: &Effort<'a>) -> Option<OutputConfig<'a>> {
    let effort = if let Effort::Word(word) = effort { Some(*word) } else { None };
    let format = draft.schema(StructuredBy::JsonSchema).map(|schema| OutputFormat::JsonSchema {
        schema: match draft.dialect.form {
            _ if draft.request.options.strict_schema == Some(false) => schema.clone(),
            SchemaForm::Strict => written(schema, SchemaForm::Strict),
            _ => closed(schema),
        },
    });
    (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format })
}

fn text_block<'a>(text: &str) -> Block<'a> {
    Block::Text { text: if text.trim().is_empty() { NOTHING } else { text }.to_owned() }
}

fn marked(block: Block<'_>, cache: bool) -> MarkedBlock<'_> {
    MarkedBlock { block, cache_control: cache.then_some(CacheControl::Ephemeral) }
}

fn system(text: &str, cache: bool) -> System<'_> {
    if cache { System::Blocks([marked(text_block(text), true)]) } else { System::Text(text) }
}

fn tools<'a>(draft: &Draft<'a>) -> (Vec<Tool<'a>>, Option<ToolChoice<'a>>) {
    let tools = draft.request.tools.iter().map(|tool| {
        let (input_schema, is_strict) = draft.parameters(tool);
        let strict = is_strict.then_some(true);
        Tool { name: &tool.name, description: tool.description.as_deref(), input_schema, strict }
    });
    let mut all: Vec<Tool<'a>> = tools.collect();
    let choice = draft.schema(StructuredBy::Tool).map(|schema| {
        let by_name = all.is_empty() && draft.dialect.named;
        let (input_schema, _) = draft.written_schema(schema);
        all.push(Tool { name: RESPOND, description: Some(RESPOND_ABOUT), input_schema, strict: None });
        if by_name { ToolChoice::Tool { name: RESPOND } } else { ToolChoice::Any }
    });
    (all, choice.or_else(|| draft.tool_choice().map(chosen)))
}

fn chosen(choice: &model::ToolChoice) -> ToolChoice<'_> {
    match choice {
        model::ToolChoice::Auto => ToolChoice::Auto,
        model::ToolChoice::Required => ToolChoice::Any,
        model::ToolChoice::None => ToolChoice::None,
        model::ToolChoice::Tool(name) => ToolChoice::Tool { name },
    }
}

fn messages<'a>(draft: &Draft<'a>) -> Vec<Message<'a>> {
    let mut turns: Vec<(&'static str, Vec<Block<'a>>)> = Vec::new();
    for turn in conversation_turns(draft.request, &draft.endpoint.provider) {
        let (role, blocks) = match turn {
            ConversationTurn::System(text) if takes_sampling(draft.endpoint) => ("user", vec![text_block(&text)]),
            ConversationTurn::System(text) => ("system", vec![text_block(&text)]),
            ConversationTurn::User { text, files } => {
                let files = AttachedFile::all(draft.request, &files);
                ("user", files.iter().map(file_block).chain([text_block(&text)]).collect())
            }
            ConversationTurn::Assistant { text, calls, opaque } => ("assistant", assistant(&text, &calls, opaque)),
            ConversationTurn::Results(results) => {
                let block = |answer: &AnsweredCall<'a>| Block::ToolResult {
                    tool_use_id: id(answer.id),
                    content: result_content(draft, answer),
                };
                ("user", results.iter().map(block).collect())
            }
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, before)) if *last == role => before.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let turn_count = turns.len();
    let turns = turns.into_iter().enumerate().map(|(place, (role, blocks))| {
        // The conversation so far is cached as well: the next turn begins with it.
        let cache = draft.request.cache && place + 1 == turn_count;
        let count = blocks.len();
        let blocks = blocks.into_iter().enumerate();
        let content = blocks.map(|(place, block)| marked(block, cache && place + 1 == count)).collect();
        Message { role, content }
    });
    turns.collect()
}

/// Text, calls, and the reasoning between them in the recorded order.
fn assistant<'a>(text: &str, calls: &[&NativeCall], opaque: Option<&JsonText>) -> Vec<Block<'a>> {
    let own = if text.trim().is_empty() { None } else { Some(text_block(text)) };
    let calls = calls.iter().map(|call| {
        let (id, name) = (id(&call.id), accepted(&call.name, "unknown"));
        Some(Block::ToolUse { id, name, input: arguments(call) })
    });
    let reasoning = opaque.map(JsonText::json).unwrap_or_default();
    let mut out = Vec::new();
    for (place, block) in [own].into_iter().chain(calls).enumerate() {
        let here =
            reasoning.items().unwrap_or_default().iter().filter(|part| part.get("place") == Some(&Json::from(place)));
        out.extend(here.filter_map(|part| part.get("block")).map(reasoning_block));
        out.extend(block);
    }
    out
}

/// A reasoning block exactly as the service made it.
fn reasoning_block<'a>(given: &Json) -> Block<'a> {
    let text = |key: &str| given.get(key).and_then(Json::as_str).map(str::to_owned);
    match given.get("type").and_then(Json::as_str) {
        Some("redacted_thinking") => Block::RedactedThinking { data: text("data") },
        _ => Block::Thinking { thinking: text("thinking"), signature: text("signature") },
    }
}

/// An id as the service accepts it; ids of other services may hold more kinds of characters.
fn id(id: &str) -> String {
    accepted(id, "tool")
}
