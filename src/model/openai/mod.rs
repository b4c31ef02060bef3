//! The protocol `openai`: chat completions, as the service and its many compatible servers speak it.

mod body;
mod call;
mod chunk;
mod messages;

pub(super) use body::Tool;
use ptc_core::value::Json;

use super::endpoint::Endpoint;
use super::language::{Draft, Language, Listing, Reader};
use crate::event::StructuredBy;

/// Chat completions.
#[derive(Debug)]
pub(super) struct Completions;

impl Language for Completions {
    fn has_custom_tools(&self) -> bool {
        true
    }

    fn question(&self, _: &Endpoint) -> (Vec<String>, Option<(&'static str, &'static str)>) {
        (vec!["chat".to_owned(), "completions".to_owned()], None)
    }

    fn list(&self) -> Listing {
        Listing { path: &["models"], query: None, list: "data", name: "id", prefix: "" }
    }

    fn key_header(&self, _: &Endpoint) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn ways(&self) -> &'static [StructuredBy] {
        &[StructuredBy::JsonSchema, StructuredBy::Tool, StructuredBy::JsonObject, StructuredBy::Prompt]
    }

    fn body(&self, draft: &Draft<'_>) -> Json {
        body::build(draft)
    }

    fn unsupported_fields(&self, draft: &Draft<'_>) -> Vec<&'static str> {
        draft.counts_reasoning().then_some("number of tokens for reasoning").into_iter().collect()
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(chunk::ChunkReader::default())
    }
}
