//! Parses exchanges of other programs from their bytes: requests and replies.
//!
//! In: a path, a body, the bytes of a reply as they came. Out: messages, tools and options; pieces, calls and token counts.
//! Nothing here is sent anywhere. It must never fail for a member that it does not know: what is not read is in the bytes.

mod anthropic;
mod body;
mod chat;
mod coding;
mod counts;
mod extra_members;
mod fetched;
mod frame;
mod gemini;
mod generate;
mod media;
mod open_api;
mod parts;
mod pending_calls;
mod reply;
mod responses;

use std::borrow::Cow;

use ptc_core::text::without_mark;
use ptc_core::value::{Json, json};

pub use body::{pack_body, unpack_body};
pub use coding::{Coding, DECODED_MAX_BYTES};
pub use extra_members::{ExtraMembers, extra_members};
pub use frame::{frame_differences, message_differences};
pub use media::{MediaPart, media_of};
pub(crate) use media::{listed_messages, listed_parts};
pub use pending_calls::PendingCalls;
pub use reply::{CapturedReply, Echoes, ReplyOutcome};
pub use responses::CREATE;

use super::custom_tools::parameters as custom_parameters;
use crate::config::Protocol;
use crate::event::{JsonText, MessagePart, Options, Role, ToolSchema};

/// The contents of a captured request to a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CapturedRequest {
    /// The model that it names.
    pub model: String,
    /// Its messages, oldest first, system texts among them.
    pub messages: Vec<CapturedMessage>,
    /// The tools that it offers.
    pub tools: Vec<ToolSchema>,
    /// The schema of the answer.
    pub schema: Option<JsonText>,
    /// Its options, as far as they have a name here.
    pub options: Options,
    /// The body without its messages.
    pub frame: JsonText,
    /// The id of the reply that it continues, when the service keeps the messages before it.
    pub continues: Option<String>,
    /// The id of the conversation that the service adds it to.
    pub thread: Option<String>,
    /// The reply is to come in pieces.
    pub is_streamed: bool,
}

/// A message of a captured request.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedMessage {
    /// Role of the message.
    pub role: Role,
    /// Texts, calls and results, in order.
    pub parts: Vec<MessagePart>,
}

/// Reads a body as JSON. Services skip a byte order mark before it. Errors: the body is not UTF-8 text or not JSON.
pub fn body_json(body: &[u8]) -> Result<Json, String> {
    let text = std::str::from_utf8(body).map_err(|error| format!("the body is not UTF-8 text: {error}"))?;
    json::parse(without_mark(text)).map_err(|error| format!("the body is not JSON: {error}"))
}

/// Returns the protocol of the endpoint that a path names; `None` for non-chat requests.
pub fn protocol_of(path: &str) -> Option<Protocol> {
    let path = endpoint_of(path);
    let ends: [(&str, Protocol); 7] = [
        ("/chat/completions", Protocol::OpenAi),
        ("/responses", Protocol::Responses),
        ("/v1/messages", Protocol::Anthropic),
        (":generateContent", Protocol::Gemini),
        (":streamGenerateContent", Protocol::Gemini),
        ("/api/chat", Protocol::Ollama),
        (GENERATE, Protocol::Ollama),
    ];
    ends.iter().find(|(end, _)| path.ends_with(end)).map(|(_, protocol)| *protocol)
}

/// The path of a path and query, without `/` at its end. Some clients escape the `:` before the method of Gemini.
fn endpoint_of(path: &str) -> Cow<'_, str> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if path.contains('%') { Cow::Owned(path.replace("%3A", ":").replace("%3a", ":")) } else { Cow::Borrowed(path) }
}

/// The path of a request to Ollama with a prompt instead of messages.
const GENERATE: &str = "/api/generate";

/// Returns whether a request with this path has a prompt instead of messages.
pub fn is_generate(path: &str) -> bool {
    endpoint_of(path).ends_with(GENERATE)
}

impl CapturedRequest {
    /// Reads the body of a request to this path. Errors: the body is not a JSON object.
    pub fn read(protocol: Protocol, path: &str, body: &[u8]) -> Result<Self, String> {
        let body = body_json(body)?;
        if body.members().is_none() {
            return Err("the body is not a JSON object".to_owned());
        }
        let mut read = match protocol {
            Protocol::OpenAi => chat::read(&body),
            Protocol::Ollama if is_generate(path) => generate::read(&body),
            Protocol::Ollama => chat::read_ollama(&body),
            Protocol::Responses => responses::read(&body),
            Protocol::Anthropic => anthropic::read(&body),
            Protocol::Gemini => gemini::read(&body, &endpoint_of(path)),
            Protocol::Bedrock => return Err("requests to Bedrock are signed and not read here".to_owned()),
        };
        if read.model.is_empty() {
            read.model = deployment(path).unwrap_or_default();
        }
        let messages = super::protocols::language(protocol).messages_key();
        let own = [messages];
        let texts: &[&str] = if protocol == Protocol::Ollama && is_generate(path) { &generate::TEXTS } else { &own };
        read.frame = JsonText::of(&texts.iter().fold(body, |frame, key| frame.without(key)));
        parts::name_results(&mut read.messages);
        Ok(read)
    }
}

/// Returns the model that a path of Azure names: `/openai/deployments/NAME/chat/completions`.
fn deployment(path: &str) -> Option<String> {
    let path = endpoint_of(path);
    let (_, rest) = path.split_once("/deployments/")?;
    let (name, _) = rest.split_once('/')?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The text of a member.
fn text_of(json: &Json, key: &str) -> Option<String> {
    json.get(key).and_then(Json::as_str).map(str::to_owned)
}

/// A number of a member.
fn number<N: std::str::FromStr>(json: &Json, key: &str) -> Option<N> {
    json.get(key).and_then(|value| value.to_text().parse().ok())
}

/// Returns whether a member is `true`.
fn is_true(json: &Json, key: &str) -> bool {
    json.get(key).is_some_and(|value| value.to_text() == "true")
}

/// A text, or the texts of a list.
fn texts(json: Option<&Json>) -> Vec<String> {
    let Some(json) = json else { return Vec::new() };
    let one = json.as_str().map(str::to_owned);
    let many = json.items().unwrap_or_default().iter().filter_map(Json::as_str).map(str::to_owned);
    one.into_iter().chain(many).collect()
}

/// A tool with these members: name, description, schema of its arguments.
fn tool(json: &Json, parameters: &[&str]) -> Option<ToolSchema> {
    let schema = parameters.iter().find_map(|key| json.get(key)).cloned().unwrap_or_else(Json::empty);
    let name = text_of(json, "name").or_else(|| text_of(json, "type"))?;
    let parameters = JsonText::of(&schema);
    Some(ToolSchema { name, description: text_of(json, "description"), parameters, custom: None })
}

/// A custom tool, whose argument is a text; `None` for other items. In chat completions its definition is a member.
fn custom_tool(item: &Json) -> Option<ToolSchema> {
    let own =
        item.get("custom").or_else(|| Some(item).filter(|_| text_of(item, "type").as_deref() == Some("custom")))?;
    let further = ["name", "description", "type"].iter().fold(own.clone(), |rest, key| rest.without(key));
    Some(ToolSchema {
        name: text_of(own, "name")?,
        description: text_of(own, "description"),
        parameters: JsonText::of(&custom_parameters()),
        custom: Some(JsonText::of(&further)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_before_a_body_is_skipped() {
        let body = "\u{feff}{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}";
        let read = CapturedRequest::read(Protocol::OpenAi, "/v1/chat/completions", body.as_bytes()).unwrap();
        assert_eq!((read.model.as_str(), read.messages.len()), ("m", 1));
        assert!(body_json("\u{feff}\u{feff}{}".as_bytes()).is_err());
    }

    #[test]
    fn the_colon_in_a_path_of_gemini_may_be_escaped() {
        let rows = [
            ("/v1beta/models/x:generateContent", false),
            ("/v1beta/models/x%3AgenerateContent?alt=json", false),
            ("/v1beta/models/x%3astreamGenerateContent?alt=sse", true),
        ];
        for (path, is_streamed) in rows {
            assert_eq!(protocol_of(path), Some(Protocol::Gemini), "{path}");
            let read = CapturedRequest::read(Protocol::Gemini, path, br#"{"contents": []}"#).unwrap();
            assert_eq!((read.model.as_str(), read.is_streamed), ("x", is_streamed), "{path}");
        }
        assert_eq!(protocol_of("/v1beta/models/x%253AgenerateContent"), None);
    }
}
