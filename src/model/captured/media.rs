//! The images, sounds and documents of a captured request.
//!
//! In: the body. Out: the parts of the user's messages that are no text, in order, each with its bytes where the body has them. A part that names
//! an address or an id of the service has none.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ptc_core::value::{Json, json};

use super::parts::kind_of;
use crate::model::media_type;

/// A part that is no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaPart {
    /// Its kind, as the protocol names it.
    pub kind: String,
    /// Its bytes, if the body has them.
    pub bytes: Option<Vec<u8>>,
}

/// Lists of messages, by protocol.
const LISTS: [&str; 3] = ["messages", "contents", "input"];
/// Parts that are calls and results.
const CALLS: [&str; 6] =
    ["tool_result", "tool_use", "functionResponse", "function_response", "functionCall", "function_call"];
/// Shorter texts hold no file.
const FEWEST_CHARS: usize = 16;

/// Returns the parts of the user's messages that are no text.
pub fn media_of(body: &[u8]) -> Vec<MediaPart> {
    let Some(body) = std::str::from_utf8(body).ok().and_then(|text| json::parse(text).ok()) else { return Vec::new() };
    let messages = LISTS.iter().find_map(|key| body.get(key)).and_then(Json::items).unwrap_or_default().iter();
    let is_user = |message: &&Json| message.get("role").and_then(Json::as_str).is_none_or(|role| role == "user");
    // The images of a prompt without messages are members of the body.
    messages.filter(is_user).chain([&body]).flat_map(parts).collect()
}

fn parts(message: &Json) -> Vec<MediaPart> {
    let content = message.get("content").or_else(|| message.get("parts")).and_then(Json::items).unwrap_or_default();
    let is_media = |part: &&Json| {
        part.members().is_some()
            && part.get("text").and_then(Json::as_str).is_none()
            && !CALLS.contains(&kind_of(part).as_str())
    };
    let of = |part: &Json| MediaPart { kind: kind_of(part), bytes: bytes_in(part) };
    let images = message.get("images").and_then(Json::items).unwrap_or_default().iter();
    let images = images.map(|image| MediaPart { kind: "image".to_owned(), bytes: bytes_in(image) });
    content.iter().filter(is_media).map(of).chain(images).collect()
}

/// The first file in a value.
fn bytes_in(json: &Json) -> Option<Vec<u8>> {
    if let Some(text) = json.as_str() {
        return decoded(text);
    }
    if let Some(items) = json.items() {
        return items.iter().find_map(bytes_in);
    }
    json.members()?.iter().find_map(|member| bytes_in(&member.value))
}

/// The file that a text is in Base64, with or without its type before it. Without a type it must not be a text.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let named = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).map(|(_, data)| data);
    let data = named.unwrap_or(text);
    if data.len() < FEWEST_CHARS {
        return None;
    }
    let bytes = STANDARD.decode(data).or_else(|_| URL_SAFE.decode(data)).ok()?;
    let found = media_type(&bytes)?;
    (named.is_some() || !found.starts_with("text/")).then_some(bytes)
}
