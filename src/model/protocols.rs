//! The implementations of the wire protocols, and the addresses at which an endpoint speaks its protocol.

use reqwest::Url;

use super::language::{Language, Root};
use super::{Endpoint, ModelError, anthropic, gemini, ollama, openai, responses};
use crate::config::Protocol;

/// Returns the implementation of a protocol.
pub(super) fn language(protocol: Protocol) -> &'static dyn Language {
    match protocol {
        Protocol::OpenAi => &openai::Completions,
        Protocol::Responses => &responses::Responses,
        Protocol::Anthropic => &anthropic::Messages,
        Protocol::Gemini => &gemini::Generate,
        Protocol::Ollama => &ollama::Chat,
    }
}

/// The address that requests are sent to. Errors are of class `Configuration`.
pub(super) fn request_url(endpoint: &Endpoint) -> Result<Url, ModelError> {
    let (path, query) = language(endpoint.protocol).question(endpoint);
    let mut url = resource(endpoint, &path.iter().map(String::as_str).collect::<Vec<_>>())?;
    if let Some((name, value)) = query {
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}

/// The address that lists the provider's models. Errors are of class `Configuration`.
pub(super) fn list_url(endpoint: &Endpoint) -> Result<Url, ModelError> {
    let listing = language(endpoint.protocol).list();
    let mut url = resource(endpoint, listing.path)?;
    if let Some((name, value)) = listing.query {
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}

/// The address of a resource below the root of the protocol, which may be above or below `base_url`.
fn resource(endpoint: &Endpoint, path: &[&str]) -> Result<Url, ModelError> {
    let base = endpoint.url(&[])?;
    let segments: Vec<&str> = base.path_segments().into_iter().flatten().collect();
    match language(endpoint.protocol).root(&segments) {
        Root::AsIs => endpoint.url(path),
        Root::Add(segment) => endpoint.url(&[&[segment], path].concat()),
        Root::Parent => {
            let mut url = base;
            if let Ok(mut segments) = url.path_segments_mut() {
                segments.pop().extend(path);
            }
            Ok(url)
        }
    }
}
