//! The body of a chat request.
//!
//! In: a question and what the server is known to accept. Out: the body.

use std::borrow::Cow;

use ptc_core::value::Json;
use ptc_core::value::json::to_json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::event::{JsonText, NativeCall, StructuredBy};
use crate::model::ToolChoice;
use crate::model::attached_file::{AttachedFile, FileKind};
use crate::model::history::{AnsweredCall, ConversationTurn, accepted, arguments, conversation_turns};
use crate::model::language::Draft;
use crate::model::openai::Tool;

#[skip_serializing_none]
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    format: Option<Json>,
    think: Option<Think<'a>>,
    options: Option<Options<'a>>,
}

/// On, off, or one of the words that some models know.
#[derive(Serialize)]
#[serde(untagged)]
enum Think<'a> {
    Flag(bool),
    Word(&'a str),
}

#[skip_serializing_none]
#[derive(Default, PartialEq, Serialize)]
struct Options<'a> {
    temperature: Option<f64>,
    top_p: Option<f64>,
    num_predict: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    seed: Option<u64>,
    /// Without it the server cuts long prompts silently to a small default.
    num_ctx: Option<u64>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<String>,
    thinking: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
    tool_name: Option<String>,
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    function: Function,
}

#[derive(Serialize)]
struct Function {
    name: String,
    arguments: Json,
}

/// The body of a question.
pub(super) fn build(draft: &Draft<'_>) -> Json {
    let Draft { request, endpoint, dialect } = draft;
    let asked = &request.options;
    let sampled = |number: Option<f64>| number.filter(|_| dialect.sampling);
    // Without tools none can be called, which is the only choice that the protocol can express.
    let tools = request.tools.iter().filter(|_| request.tool_choice != Some(ToolChoice::None));
    let tools = tools.map(|tool| Tool::function(&tool.name, tool.description.as_deref(), Some(tool.parameters.json())));
    let options = Options {
        temperature: sampled(asked.temperature),
        top_p: sampled(asked.top_p),
        num_predict: asked.max_tokens,
        stop: &asked.stop,
        seed: asked.seed,
        num_ctx: endpoint.context_tokens,
    };
    let format = draft.schema(StructuredBy::JsonSchema).cloned();
    to_json(&Body {
        model: &endpoint.id,
        messages: messages(draft),
        stream: endpoint.stream,
        tools: tools.collect(),
        format: format.or_else(|| draft.asks_for_object().then(|| Json::str("json"))),
        think: asked.reasoning.as_deref().filter(|_| dialect.effort_word).map(think),
        options: Some(options).filter(|options| *options != Options::default()),
    })
}

fn think(asked: &str) -> Think<'_> {
    match asked {
        "none" | "off" | "disabled" | "false" | "0" => Think::Flag(false),
        "low" | "medium" | "high" => Think::Word(asked),
        _ => Think::Flag(true),
    }
}

fn messages<'a>(draft: &Draft<'a>) -> Vec<Message<'a>> {
    let system = draft.request.system.iter().map(|text| message("system", text.as_str()));
    let mut out: Vec<Message<'a>> = system.collect();
    for turn in conversation_turns(draft.request, &draft.endpoint.provider) {
        match turn {
            ConversationTurn::System(text) => out.push(message("system", text)),
            ConversationTurn::User { text, files } => out.push(user(&text, &AttachedFile::all(draft.request, &files))),
            ConversationTurn::Assistant { text, calls, opaque } => out.push(assistant(text, &calls, opaque)),
            ConversationTurn::Results(results) => out.extend(results.iter().map(result)),
        }
    }
    out
}

fn message<'a>(role: &'static str, text: impl Into<Cow<'a, str>>) -> Message<'a> {
    Message {
        role,
        content: text.into(),
        images: Vec::new(),
        thinking: None,
        tool_calls: Vec::new(),
        tool_name: None,
        tool_call_id: None,
    }
}

/// A message of the user; the texts among its files come before its own.
fn user<'a>(text: &str, files: &[AttachedFile<'a>]) -> Message<'a> {
    let (texts, images): (Vec<&AttachedFile<'_>>, Vec<_>) = files.iter().partition(|file| file.kind == FileKind::Text);
    let text = texts.iter().map(|file| file.tagged_text()).chain([text.to_owned()]).collect::<String>();
    Message { images: images.iter().map(|file| file.base64()).collect(), ..message("user", text) }
}

/// Reasoning is sent back with calls only: it belongs to an unfinished turn.
fn assistant<'a>(text: String, calls: &[&'a NativeCall], opaque: Option<&JsonText>) -> Message<'a> {
    let given = opaque.filter(|_| !calls.is_empty()).map(JsonText::json);
    let calls = calls.iter().map(|call| ToolCall {
        id: &call.id,
        function: Function { name: accepted(&call.name, "unknown"), arguments: arguments(call) },
    });
    Message {
        thinking: given.as_ref().and_then(|parts| parts.items()?.first()?.get("thinking")).cloned(),
        tool_calls: calls.collect(),
        ..message("assistant", text)
    }
}

fn result<'a>(answer: &AnsweredCall<'a>) -> Message<'a> {
    Message {
        tool_name: Some(accepted(answer.name, "unknown")),
        tool_call_id: Some(answer.id),
        ..message("tool", answer.text_without_images().into_owned())
    }
}
