//! The protocol `ollama`: chat as Ollama itself speaks it, one JSON text a line.

mod body;
mod chunk;

use ptc_core::value::Json;

use super::endpoint::Endpoint;
use super::language::{Draft, Framing, Language, Listing, Reader, Root};
use crate::event::StructuredBy;
use crate::model::ToolChoice;

/// Chat.
#[derive(Debug)]
pub(super) struct Chat;

impl Language for Chat {
    fn root(&self, segments: &[&str]) -> Root {
        // Addresses of its other interfaces are taken as well: the server is the same.
        if matches!(segments.last(), Some(&("api" | "v1"))) { Root::Parent } else { Root::AsIs }
    }

    fn question(&self, _: &Endpoint) -> (Vec<String>, Option<(&'static str, &'static str)>) {
        (vec!["api".to_owned(), "chat".to_owned()], None)
    }

    fn list(&self) -> Listing {
        Listing { path: &["api", "tags"], query: None, list: "models", name: "name", prefix: "" }
    }

    fn key_header(&self, _: &Endpoint) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    /// It has no way to force a tool.
    fn ways(&self) -> &'static [StructuredBy] {
        &[StructuredBy::JsonSchema, StructuredBy::JsonObject, StructuredBy::Prompt]
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn body(&self, draft: &Draft<'_>) -> Json {
        body::build(draft)
    }

    fn unsupported_fields(&self, draft: &Draft<'_>) -> Vec<&'static str> {
        let is_forced = matches!(draft.tool_choice(), Some(ToolChoice::Required | ToolChoice::Tool(_)));
        if is_forced { vec!["tool_choice"] } else { Vec::new() }
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(chunk::LineReader::default())
    }
}
