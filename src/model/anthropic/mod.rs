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

/// The version that Vertex AI has.
const ON_VERTEX: &str = "vertex-2023-10-16";

/// Messages.
#[derive(Debug)]
pub(super) struct Messages;

impl Language for Messages {
    fn root(&self, segments: &[&str]) -> Root {
        // On Vertex the version comes before project, location and publisher.
        if segments.contains(&"v1") { Root::AsIs } else { Root::Add("v1") }
    }

    fn question(&self, endpoint: &Endpoint) -> (Vec<String>, Option<(&'static str, &'static str)>) {
        if !is_on_vertex(endpoint) {
            return (vec!["messages".to_owned()], None);
        }
        let verb = if endpoint.stream { "streamRawPredict" } else { "rawPredict" };
        (vec!["models".to_owned(), format!("{}:{verb}", endpoint.id)], None)
    }

    fn list(&self) -> Listing {
        Listing { path: &["models"], query: Some(("limit", "1000")), list: "data", name: "id", prefix: "" }
    }

    fn key_header(&self, endpoint: &Endpoint) -> (&'static str, &'static str) {
        // Vertex takes the token of an account.
        if is_on_vertex(endpoint) { ("authorization", "Bearer ") } else { ("x-api-key", "") }
    }

    fn headers(&self, endpoint: &Endpoint, headers: &mut HeaderMap) {
        // On Vertex the version is part of the body.
        if is_on_vertex(endpoint) {
            return;
        }
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

    fn unsupported_fields(&self, draft: &Draft<'_>) -> Vec<&'static str> {
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
    let usual = if is_on_vertex(endpoint) { ON_VERTEX } else { VERSION };
    endpoint.version.as_deref().unwrap_or(usual)
}

fn takes_sampling(endpoint: &Endpoint) -> bool {
    [OLDER, ON_VERTEX].contains(&version(endpoint))
}

/// Returns whether the endpoint is the publisher's folder on Vertex AI, where the address names the model and the body names the version.
fn is_on_vertex(endpoint: &Endpoint) -> bool {
    endpoint.vertex_publisher().as_deref() == Some("anthropic")
}
