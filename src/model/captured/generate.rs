//! Requests to Ollama's `/api/generate`: a prompt and a system text instead of messages.
//!
//! In: the body. Out: the request. A request with the `context` of a reply continues that reply: Ollama keeps nothing, but the numbers are
//! its conversation.

use ptc_core::value::Json;

use super::chat::{images, of_ollama};
use super::parts::text;
use super::{CapturedMessage, CapturedRequest, text_of};
use crate::event::{Role, hex_sha};

/// The members that are messages of the user, or numbers for messages.
pub(super) const TEXTS: [&str; 4] = ["prompt", "suffix", "images", "context"];

/// Reads a body.
pub(super) fn read(body: &Json) -> CapturedRequest {
    let words = |key: &str| text_of(body, key).filter(|words| !words.is_empty());
    let system =
        words("system").map(|words| CapturedMessage { role: Role::System, parts: vec![text("system", words)] });
    let mut parts = Vec::new();
    parts.extend(words("prompt").map(|words| text("user", words)));
    // What follows the gap that the model fills.
    parts.extend(words("suffix").map(|words| text("user", format!("\n\n[suffix]\n{words}"))));
    parts.extend(images(body));
    let user = (!parts.is_empty()).then_some(CapturedMessage { role: Role::User, parts });
    let read = CapturedRequest {
        model: text_of(body, "model").unwrap_or_default(),
        messages: system.into_iter().chain(user).collect(),
        continues: body.get("context").and_then(context_id),
        ..CapturedRequest::default()
    };
    of_ollama(body, read)
}

/// An id made of the numbers of a conversation; `None` when there are none.
pub(super) fn context_id(context: &Json) -> Option<String> {
    let numbers = context.items().filter(|numbers| !numbers.is_empty())?;
    let words: Vec<String> = numbers.iter().map(Json::to_text).collect();
    Some(format!("context-{}", &hex_sha(words.join(" ").as_bytes())[..16]))
}
