//! Replacement for the crates of the AWS SDK in a build without the feature `bedrock`: errors with advice.
//!
//! In: the same as `aws.rs`. Out: errors. It must never send a request without a signature.

use reqwest::header::HeaderMap;

use super::credentials::Credentials;
use crate::model::language::UnsignedRequest;
use crate::model::{ErrorClass, ModelError};

/// Refuses a request.
pub(super) fn sign(_: &UnsignedRequest<'_>, _: &str, _: &Credentials, _: &mut HeaderMap) -> Result<(), ModelError> {
    let message = "this build does not have Amazon Bedrock";
    Err(ModelError::new(ErrorClass::Configuration, message)
        .hint("install it with the feature: cargo install --features bedrock"))
}

/// Reads no frame.
#[derive(Debug, Default)]
pub(in crate::model) struct FrameReader;

impl FrameReader {
    /// Refuses a stream.
    #[expect(clippy::unused_self, reason = "the interface of the reader that is built with the feature")]
    pub(in crate::model) fn push(&mut self, _: &[u8]) -> Result<Vec<String>, String> {
        Err("frames of Amazon Bedrock, which this build does not have (feature `bedrock`)".to_owned())
    }
}
