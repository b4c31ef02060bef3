//! The messages of a chat-completions request.

use std::borrow::Cow;

use ptc_core::value::Json;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::event::{JsonText, NativeCall};
use crate::model::Request;
use crate::model::attached_file::{AttachedFile, FileKind};
use crate::model::custom_tools::{input_of, is_custom};
use crate::model::history::{ConversationTurn, accepted, arguments_text, conversation_turns};

/// A message. Reasoning is sent back under the name that the server used.
#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    tool_call_id: Option<&'a str>,
    #[serialize_always]
    content: Option<Body<'a>>,
    reasoning_content: Option<Json>,
    reasoning_details: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

/// The content of a message: a text, or parts where files come with it.
#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
    File { file: FileData<'a> },
    InputAudio { input_audio: AudioData<'a> },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct FileData<'a> {
    filename: &'a str,
    file_data: String,
}

#[derive(Serialize)]
struct AudioData<'a> {
    data: String,
    format: &'a str,
}

/// A file as a part.
fn part<'a>(file: &AttachedFile<'a>) -> Part<'a> {
    match file.kind {
        FileKind::Image => Part::ImageUrl { image_url: ImageUrl { url: file.data_url() } },
        FileKind::Pdf => Part::File { file: FileData { filename: &file.record.name, file_data: file.data_url() } },
        FileKind::Audio => Part::InputAudio { input_audio: AudioData { data: file.base64(), format: file.format() } },
        FileKind::Text => Part::Text { text: file.tagged_text().into() },
    }
}

/// A message of the user; its files come before the text.
fn user<'a>(text: String, files: &[AttachedFile<'a>]) -> Message<'a> {
    if files.is_empty() {
        return message("user", text);
    }
    let parts = files.iter().map(part).chain([Part::Text { text: text.into() }]).collect();
    Message { content: Some(Body::Parts(parts)), ..message("user", "") }
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    #[serde(flatten)]
    called: Called<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Called<'a> {
    Function { function: Function<'a> },
    Custom { custom: Custom<'a> },
}

#[derive(Serialize)]
struct Custom<'a> {
    name: &'a str,
    input: String,
}

#[derive(Serialize)]
struct Function<'a> {
    name: String,
    arguments: &'a str,
}

/// All messages, the system text first.
pub(super) fn messages<'a>(request: &'a Request, provider: &str) -> Vec<Message<'a>> {
    let system = request.system.iter().map(|text| message("system", text.as_str()));
    let mut out: Vec<Message<'a>> = system.collect();
    for turn in conversation_turns(request, provider) {
        match turn {
            ConversationTurn::System(text) => out.push(message("system", text)),
            ConversationTurn::User { text, files } => out.push(user(text, &AttachedFile::all(request, &files))),
            ConversationTurn::Assistant { text, calls, .. } if calls.is_empty() => out.push(message("assistant", text)),
            ConversationTurn::Assistant { text, calls, opaque } => out.push(calling(request, text, &calls, opaque)),
            ConversationTurn::Results(results) => out.extend(results.iter().map(|answer| Message {
                tool_call_id: Some(answer.id),
                ..message("tool", answer.text_without_images().into_owned())
            })),
        }
    }
    out
}

fn message<'a>(role: &'static str, text: impl Into<Cow<'a, str>>) -> Message<'a> {
    Message {
        role,
        tool_call_id: None,
        content: Some(Body::Text(text.into())),
        reasoning_content: None,
        reasoning_details: None,
        tool_calls: Vec::new(),
    }
}

/// A message with calls. Its reasoning goes back with it: servers that reason between calls ask for that, and refuse it in other
/// messages.
fn calling<'a>(request: &Request, text: String, calls: &[&'a NativeCall], opaque: Option<&JsonText>) -> Message<'a> {
    let given = opaque.map(JsonText::json);
    let given = given.as_ref().and_then(|parts| parts.items()?.first());
    let reasoning = |name: &str| given.and_then(|part| part.get(name)).cloned();
    let content = Some(text).filter(|text| !text.is_empty()).map(|text| Body::Text(text.into()));
    Message {
        content,
        reasoning_content: reasoning("reasoning_content"),
        reasoning_details: reasoning("reasoning_details"),
        tool_calls: calls.iter().map(|call| tool_call(request, call)).collect(),
        ..message("assistant", "")
    }
}

fn tool_call<'a>(request: &Request, call: &'a NativeCall) -> ToolCall<'a> {
    let called = if is_custom(request, &call.name) {
        Called::Custom { custom: Custom { name: &call.name, input: input_of(call) } }
    } else {
        let function = Function { name: accepted(&call.name, "unknown"), arguments: arguments_text(call) };
        Called::Function { function }
    };
    ToolCall { id: &call.id, called }
}
