//! Embeddings: a text as a vector, so that texts of one meaning are near each other.
//!
//! In: an endpoint whose id is that of an embedding model, a text. Out: the vector with the tokens that the provider counted, or why there is
//! none. Without a provider there is [`hashed`]: a vector of the words and their parts, the same everywhere. It must never send anything but the text.

use std::time::Duration;

use futures::FutureExt as _;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use super::endpoint::Endpoint;
use super::gate::Gate;
use super::http::{Response, post};
use super::listing::{aside, with_key};
use super::outlet::Failure;
use super::retry::RETRY_AFTER_MAX_MS;
use super::secret::Secret;
use super::tape::Tape;
use super::{ErrorClass, ModelError, fault, protocols};
use crate::config::Protocol;

/// Dimensions of the vector that the program makes itself.
const DIMENSIONS: usize = 512;
/// Letters of the parts of words that it counts.
const PART: usize = 3;
/// The most numbers that are read of a provider's vector.
const MOST_DIMENSIONS: usize = 65_536;

/// The vector of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// Its numbers.
    pub vector: Vec<f32>,
    /// Tokens of the text, where the provider counts them.
    pub tokens: Option<u64>,
}

/// The path below the protocol's root, the body of a request, and where its answer has vector and tokens (JSON Pointers).
type Form = (Vec<String>, Value, &'static str, &'static str);

/// The request for a text. Errors: the protocol has no embeddings.
fn form(endpoint: &Endpoint, text: &str) -> Result<Form, ModelError> {
    let id = &endpoint.id;
    let path = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
    match endpoint.protocol {
        Protocol::OpenAi | Protocol::Responses => {
            let body = json!({ "model": id, "input": text, "encoding_format": "float" });
            Ok((path(&["embeddings"]), body, "/data/0/embedding", "/usage/prompt_tokens"))
        }
        Protocol::Gemini => {
            let name = id.strip_prefix("models/").unwrap_or(id);
            let body = json!({ "content": { "parts": [{ "text": text }] } });
            Ok((
                path(&["models", &format!("{name}:embedContent")]),
                body,
                "/embedding/values",
                "/usageMetadata/promptTokenCount",
            ))
        }
        Protocol::Ollama => {
            let body = json!({ "model": id, "input": text });
            Ok((path(&["api", "embed"]), body, "/embeddings/0", "/prompt_eval_count"))
        }
        Protocol::Anthropic | Protocol::Bedrock => {
            let message = format!("{} has no embeddings that this program can ask for", endpoint.provider);
            let hint = "name an embedding model of a provider with the protocol openai, gemini or ollama";
            Err(ModelError::new(ErrorClass::Configuration, message).hint(hint))
        }
    }
}

/// Returns whether providers with this protocol have embeddings.
pub fn has_embeddings(protocol: Protocol) -> bool {
    !matches!(protocol, Protocol::Anthropic | Protocol::Bedrock)
}

/// The vector of a text, asked of the endpoint's model. Failures that pass are tried again, as often as the endpoint allows; the gate is that of
/// its provider.
pub async fn embedded(endpoint: &Endpoint, text: &str, gate: &Gate) -> Result<Embedding, ModelError> {
    let mut failures = 0;
    loop {
        let leave = gate.enter().await;
        let asked = with_key(endpoint, |key| once(endpoint, text, key).boxed()).await;
        let Failure { error, retry_after_ms, .. } = match asked {
            Ok(embedding) => return Ok(embedding),
            Err(failure) => failure,
        };
        failures += 1;
        let wait_ms = retry_after_ms.unwrap_or_else(|| endpoint.retry.delay_ms(failures, text.len() as u64));
        let is_last = failures >= endpoint.retry.max_attempts || wait_ms > RETRY_AFTER_MAX_MS;
        if is_last || !error.class.is_retryable() {
            return Err(error);
        }
        if error.class == ErrorClass::RateLimit {
            gate.pause_until(Instant::now() + Duration::from_millis(wait_ms));
        }
        drop(leave);
        sleep(Duration::from_millis(wait_ms)).await;
    }
}

async fn once(endpoint: &Endpoint, text: &str, key: Option<Secret>) -> Result<Embedding, Failure> {
    let (path, body, vector, tokens) = form(endpoint, text)?;
    let body = body.to_string();
    let url = protocols::resource(endpoint, &path.iter().map(String::as_str).collect::<Vec<_>>())?;
    let (target, mut headers, scrub) = aside(endpoint, key.as_ref(), ("POST", url, &body), endpoint.timeouts)?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let clean = |failure: Failure| Failure { error: scrub.error(failure.error), ..failure };
    let mut tape = Tape::start();
    let mut response: Response<'_> = post(&target, headers, body, &mut tape).await.map_err(clean)?;
    if !(200..300).contains(&response.status) {
        let (status, headers) = (response.status, response.headers().clone());
        let body = response.error_body(&mut tape).await;
        return Err(clean(fault::of_status(&target, status, &headers, &body, &scrub, 0)));
    }
    let mut answer = Vec::new();
    while let Some(piece) = response.next(&mut tape).await.map_err(clean)? {
        answer.extend(piece);
    }
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let numbers = answer.pointer(vector).and_then(Value::as_array).filter(|numbers| numbers.len() <= MOST_DIMENSIONS);
    #[expect(clippy::cast_possible_truncation, reason = "vectors are compared by an angle")]
    let number = |number: &Value| number.as_f64().map(|number| number as f32);
    let vector = numbers.and_then(|numbers| numbers.iter().map(number).collect::<Option<Vec<f32>>>());
    let Some(vector) = vector.filter(|vector| !vector.is_empty()) else {
        let message = format!("{} answered, but not with an embedding", target.provider);
        let hint = format!("is {} an embedding model?", endpoint.id);
        return Err(ModelError::new(ErrorClass::Configuration, message).hint(&hint).into());
    };
    Ok(Embedding { vector, tokens: answer.pointer(tokens).and_then(Value::as_u64) })
}

/// A vector of a text's words and of the parts of its words, counted by their hashes: the same on every machine, without a model. Texts with
/// the same words are near each other; it knows no meaning.
pub fn hashed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSIONS];
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut count = |part: &str, weight: f32| {
        let hash = Sha256::digest(part.as_bytes());
        let place = hash.first_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes) as usize) % DIMENSIONS;
        if let Some(number) = vector.get_mut(place) {
            *number += weight;
        }
    };
    for word in words {
        count(word, 1.0);
        let letters: Vec<char> = format!("<{word}>").chars().collect();
        letters.windows(PART).for_each(|part| count(&part.iter().collect::<String>(), 0.5));
    }
    vector
}

/// The cosine of the angle between two vectors, from 0 to 1: opposite ones count as unrelated. `None` where they have other lengths or no direction.
pub fn cosine(one: &[f32], other: &[f32]) -> Option<f64> {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let lengths = (dot(one, one) * dot(other, other)).sqrt();
    let is_comparable = one.len() == other.len() && lengths.is_normal();
    is_comparable.then(|| (dot(one, other) / lengths).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_texts_with_the_same_words_are_near_and_others_are_not() {
        let of = |one: &str, other: &str| cosine(&hashed(one), &hashed(other)).unwrap();
        let text = "Returns are possible within 30 days of delivery";
        assert!((of(text, text) - 1.0).abs() < 1e-9);
        assert!((of(text, "returns are POSSIBLE, within 30 days of delivery!") - 1.0).abs() < 1e-9);
        let (near, far) =
            (of(text, "Return it within 30 days of the delivery"), of(text, "Bananas grow in hot countries"));
        assert!(near > 0.6 && far < 0.3, "{near} {far}");
        assert_eq!(cosine(&hashed(""), &hashed(text)), None);
    }

    #[test]
    fn a_cosine_needs_two_directions_of_the_same_length() {
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), Some(0.0));
        assert_eq!(cosine(&[1.0, 0.0], &[-1.0, 0.0]), Some(0.0));
        assert_eq!(cosine(&[3.0, 4.0], &[6.0, 8.0]), Some(1.0));
        assert_eq!(cosine(&[1.0], &[1.0, 0.0]), None);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), None);
        assert_eq!(cosine(&[f32::NAN, 1.0], &[1.0, 0.0]), None);
    }
}
