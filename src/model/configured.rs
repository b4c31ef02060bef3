//! An endpoint from the configuration of a model.
//!
//! In: a resolved [`HttpModel`]. Out: the [`Endpoint`] of an adapter. Nothing is checked or read here; the adapter does when it is made.

use super::{Endpoint, Known, RetryPolicy, StructuredOutput};
use crate::config::HttpModel;

impl From<HttpModel> for Endpoint {
    fn from(model: HttpModel) -> Self {
        Self {
            provider: model.provider,
            alias: model.alias,
            id: model.id,
            base_url: model.base_url,
            key: model.key,
            headers: model.headers,
            protocol: model.kind,
            version: model.version,
            known: Known {
                way: model.known.structured_output,
                strict: model.known.strict,
                max_output: model.known.max_output,
            },
            context_tokens: model.context,
            structured_output: model.structured_output.map_or(StructuredOutput::Auto, StructuredOutput::Fixed),
            price: model.price,
            stream: model.stream,
            retry: RetryPolicy { max_attempts: model.max_attempts, ..RetryPolicy::default() },
            timeouts: model.timeouts,
        }
    }
}
