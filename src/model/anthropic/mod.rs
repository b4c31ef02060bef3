//! The protocol `anthropic`: messages, in the version of 2026-10-21 or the older one of 2023-06-01.

mod body;
mod events;

use ptc_core::value::Json;
use reqwest::header::{HeaderMap, HeaderValue};

use super::endpoint::Endpoint;
use super::language::{Draft, Language, Listing, Reader, Root};
use crate::event::StructuredBy;

/// The version that is spoken unless the provider is configured with another.
const VERSION: &str = "2026-10-21";
/// The version whose requests may carry sampling parameters.
const OLDER: &str = "2023-06-01";

/// Messages.
#[derive(Debug)]
pub(super) struct Messages;

impl Language for Messages {
    fn root(&self, last: &str) -> Root {
        if last == "v1" { Root::AsIs } else { Root::Add("v1") }
    }

    fn question(&self, _: &str, _: bool) -> (Vec<String>, Option<(&'static str, &'static str)>) {
        (vec!["messages".to_owned()], None)
    }

    fn list(&self) -> Listing {
        Listing { path: &["models"], query: Some(("limit", "1000")), list: "data", name: "id", prefix: "" }
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self, endpoint: &Endpoint, headers: &mut HeaderMap) {
        if let Ok(version) = HeaderValue::try_from(version(endpoint)) {
            headers.insert("anthropic-version", version);
        }
    }

    fn ways(&self) -> &'static [StructuredBy] {
        &[StructuredBy::JsonSchema, StructuredBy::Tool, StructuredBy::Prompt]
    }

    fn body(&self, draft: &Draft<'_>) -> Json {
        body::build(draft)
    }

    fn left_out(&self, draft: &Draft<'_>) -> Vec<&'static str> {
        let options = &draft.request.options;
        let sampling = takes_sampling(draft.endpoint);
        let asked = [
            (
                "temperature (in this version of the protocol; version = \"2023-06-01\" has it)",
                options.temperature.is_some() && !sampling,
            ),
            ("top_p", options.top_p.is_some() && !sampling),
            ("seed", options.seed.is_some()),
        ];
        asked.into_iter().filter(|(_, is_left)| *is_left).map(|(name, _)| name).collect()
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(events::EventReader::default())
    }
}

fn version(endpoint: &Endpoint) -> &str {
    endpoint.version.as_deref().unwrap_or(VERSION)
}

fn takes_sampling(endpoint: &Endpoint) -> bool {
    version(endpoint) == OLDER
}
