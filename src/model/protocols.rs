//! The implementations of the wire protocols, the addresses at which an endpoint speaks its protocol, and replies read from bytes alone.

use reqwest::Url;

use super::assembly::Assembly;
use super::calls::Respond;
use super::language::{Framing, Language, Root};
use super::stream::{LineReader, SseReader};
use super::{Endpoint, ModelError, anthropic, bedrock, gemini, ollama, openai, responses};
use crate::config::Protocol;

/// Returns the implementation of a protocol.
pub(super) fn language(protocol: Protocol) -> &'static dyn Language {
    match protocol {
        Protocol::OpenAi => &openai::Completions,
        Protocol::Responses => &responses::Responses,
        Protocol::Anthropic => &anthropic::Messages,
        Protocol::Gemini => &gemini::Generate,
        Protocol::Ollama => &ollama::Chat,
        Protocol::Bedrock => &bedrock::Converse,
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
    if let Some(host) = url.host_str().and_then(|host| language(endpoint.protocol).list_host(host)) {
        // A host made of a host is one.
        _ = url.set_host(Some(&host));
    }
    if let Some((name, value)) = listing.query {
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}

/// The address of a resource below the root of the protocol, which may be above or below `base_url`.
pub(super) fn resource(endpoint: &Endpoint, path: &[&str]) -> Result<Url, ModelError> {
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

/// Reads a streamed reply from bytes alone, as a connection delivers them in pieces: for fuzzing, with the readers of a live reply. Returns how many pieces of text, reasoning or calls it contained.
#[must_use]
pub fn read_frames(protocol: Protocol, bytes: &[u8], piece_bytes: usize) -> usize {
    let language = language(protocol);
    let (mut reader, mut assembly) = (language.reader(), Assembly::new(Respond::Absent));
    let mut frames: Vec<String> = Vec::new();
    match language.framing() {
        Framing::Events => {
            let mut events = SseReader::default();
            for piece in bytes.chunks(piece_bytes.max(1)) {
                match events.push(piece) {
                    Ok(read) => frames.extend(read.into_iter().map(|event| event.data)),
                    Err(_) => break,
                }
            }
            frames.extend(events.finish().ok().flatten().map(|event| event.data));
        }
        Framing::Lines => {
            let mut lines = LineReader::default();
            for piece in bytes.chunks(piece_bytes.max(1)) {
                match lines.push(piece) {
                    Ok(read) => frames.extend(read),
                    Err(_) => break,
                }
            }
            frames.extend(lines.finish());
        }
        Framing::Frames => {
            let mut events = bedrock::FrameReader::default();
            for piece in bytes.chunks(piece_bytes.max(1)) {
                match events.push(piece) {
                    Ok(read) => frames.extend(read),
                    Err(_) => break,
                }
            }
        }
    }
    frames.iter().filter_map(|frame| reader.take(frame, &mut assembly).ok()).map(|pieces| pieces.len()).sum()
}
