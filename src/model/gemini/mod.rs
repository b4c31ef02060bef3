//! The protocol `gemini`: generateContent, streamed as server-sent events.

mod body;
mod chunk;

use ptc_core::value::Json;

use super::endpoint::Endpoint;
use super::language::{Draft, Language, Listing, Reader, Root};
use crate::event::StructuredBy;

/// Returns whether a segment of a path is a version, such as `v1` or `v1beta`.
fn is_version(segment: &str) -> bool {
    let mut letters = segment.chars();
    letters.next() == Some('v') && letters.next().is_some_and(|c| c.is_ascii_digit())
}

/// generateContent.
#[derive(Debug)]
pub(super) struct Generate;

impl Language for Generate {
    fn root(&self, segments: &[&str]) -> Root {
        // On Vertex the version comes before project, location and publisher.
        if segments.iter().any(|segment| is_version(segment)) { Root::AsIs } else { Root::Add("v1beta") }
    }

    fn question(&self, endpoint: &Endpoint) -> (Vec<String>, Option<(&'static str, &'static str)>) {
        let Endpoint { id, stream, .. } = endpoint;
        let verb = if *stream { "streamGenerateContent" } else { "generateContent" };
        // Models of other kinds have a prefix, as in `tunedModels/x`.
        let (kind, name) =
            id.split_once('/').filter(|(kind, _)| *kind == "tunedModels").unwrap_or(("models", id.as_str()));
        let name = name.strip_prefix("models/").unwrap_or(name);
        (vec![kind.to_owned(), format!("{name}:{verb}")], stream.then_some(("alt", "sse")))
    }

    fn list(&self) -> Listing {
        Listing {
            path: &["models"],
            query: Some(("pageSize", "1000")),
            list: "models",
            name: "name",
            prefix: "models/",
        }
    }

    fn key_header(&self, endpoint: &Endpoint) -> (&'static str, &'static str) {
        // Vertex takes the token of an account.
        if endpoint.vertex_publisher().is_some() { ("authorization", "Bearer ") } else { ("x-goog-api-key", "") }
    }

    fn ways(&self) -> &'static [StructuredBy] {
        &[StructuredBy::JsonSchema, StructuredBy::Tool, StructuredBy::JsonObject, StructuredBy::Prompt]
    }

    fn messages_key(&self) -> &'static str {
        "contents"
    }

    fn body(&self, draft: &Draft<'_>) -> Json {
        body::build(draft)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(chunk::ChunkReader::default())
    }
}
