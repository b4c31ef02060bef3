//! The protocol `responses`: `OpenAI`'s Responses API, without state at the service (`store: false`).

mod body;
mod events;
mod items;

pub(super) use items::{client_call, is_service_execution};

use ptc_core::value::Json;

use super::endpoint::Endpoint;
use super::language::{Draft, Language, Listing, Reader};
use crate::event::StructuredBy;

/// The Responses API.
#[derive(Debug)]
pub(super) struct Responses;

impl Language for Responses {
    fn has_custom_tools(&self) -> bool {
        true
    }

    fn question(&self, _: &Endpoint) -> (Vec<String>, Option<(&'static str, &'static str)>) {
        (vec!["responses".to_owned()], None)
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

    fn messages_key(&self) -> &'static str {
        "input"
    }

    fn body(&self, draft: &Draft<'_>) -> Json {
        body::build(draft)
    }

    fn unsupported_fields(&self, draft: &Draft<'_>) -> Vec<&'static str> {
        let options = &draft.request.options;
        let asked = [
            ("stop", !options.stop.is_empty()),
            ("seed", options.seed.is_some()),
            ("number of tokens for reasoning", draft.counts_reasoning()),
        ];
        asked.into_iter().filter(|(_, is_left)| *is_left).map(|(name, _)| name).collect()
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(events::EventReader::default())
    }
}
