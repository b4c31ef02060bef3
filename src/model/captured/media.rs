//! The images, sounds and documents of a captured request.
//!
//! In: the body. Out: the parts of the user's messages that are not text, in order, each with its bytes where the body has them. A part
//! that names an address or an id of the service has none.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ptc_core::value::Json;

use super::body_json;
use super::parts::kind_of;
use crate::model::media_type;

/// A part that is not text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaPart {
    /// Its kind, as the protocol names it.
    pub kind: String,
    /// Its bytes, if the body has them.
    pub bytes: Option<Vec<u8>>,
}

/// Lists of messages, by protocol.
const LISTS: [&str; 3] = ["messages", "contents", "input"];
/// Roles of messages that are not the user's; unknown ones count as the user's.
const OTHER_ROLES: [&str; 6] = ["system", "developer", "assistant", "model", "tool", "function"];
/// Parts that are calls and results.
const CALLS: [&str; 6] =
    ["tool_result", "tool_use", "functionResponse", "function_response", "functionCall", "function_call"];
/// Shorter texts hold no file.
const FEWEST_CHARS: usize = 16;

/// Returns the parts of the user's messages that are not text.
pub fn media_of(body: &[u8]) -> Vec<MediaPart> {
    let Ok(body) = body_json(body) else { return Vec::new() };
    let is_user = |message: &&Json| {
        let role = message.get("role").and_then(Json::as_str);
        role.is_none_or(|role| !OTHER_ROLES.contains(&role))
    };
    // The images of a prompt without messages are members of the body.
    listed_messages(&body).iter().filter(is_user).chain([&body]).flat_map(parts).collect()
}

/// The messages of a body.
pub(crate) fn listed_messages(body: &Json) -> &[Json] {
    LISTS.iter().find_map(|key| body.get(key)).and_then(Json::items).unwrap_or_default()
}

/// The parts of a message; none for a text.
pub(crate) fn listed_parts(message: &Json) -> &[Json] {
    message.get("content").or_else(|| message.get("parts")).and_then(Json::items).unwrap_or_default()
}

fn parts(message: &Json) -> Vec<MediaPart> {
    let is_media = |part: &&Json| {
        part.members().is_some()
            && part.get("text").and_then(Json::as_str).is_none()
            && !CALLS.contains(&kind_of(part).as_str())
    };
    let of = |part: &Json| MediaPart { kind: kind_of(part), bytes: bytes_in(part) };
    let images = message.get("images").and_then(Json::items).unwrap_or_default().iter();
    let images = images.map(|image| MediaPart { kind: "image".to_owned(), bytes: bytes_in(image) });
    listed_parts(message).iter().filter(is_media).map(of).chain(images).collect()
}

/// The file in a value, if it is all that the value contains.
fn bytes_in(json: &Json) -> Option<Vec<u8>> {
    let mut files = files_in(json);
    if files.len() == 1 { files.pop().flatten() } else { None }
}

/// The files in a value; `None` for a file among other contents, which would be lost.
fn files_in(json: &Json) -> Vec<Option<Vec<u8>>> {
    if let Some(text) = json.as_str() {
        return decoded(text).map(Some).into_iter().collect();
    }
    let Some(items) = json.items() else {
        return json.members().unwrap_or_default().iter().flat_map(|member| files_in(&member.value)).collect();
    };
    let mut files: Vec<_> = items.iter().flat_map(files_in).collect();
    if items.len() > 1 {
        files.fill(None);
    }
    files
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_with_several_contents_has_no_bytes() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        let image =
            format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{png}"}}}}"#);
        let note = r#"{"type":"text","text":"a note"}"#;
        let has_bytes = |contents: &[&str]| {
            let document =
                format!(r#"{{"type":"document","source":{{"type":"content","content":[{}]}}}}"#, contents.join(","));
            let body = format!(r#"{{"messages":[{{"role":"user","content":[{document}]}}]}}"#);
            let [part] = &media_of(body.as_bytes())[..] else { panic!("{body}") };
            assert_eq!(part.kind, "document");
            part.bytes.is_some()
        };
        assert!(has_bytes(&[&image]));
        assert!(!has_bytes(&[note, &image]) && !has_bytes(&[&image, &image]));
    }
}
