//! Requests to authorisation servers, by the one client of this program: no redirect is followed, certificates are those of the
//! configuration.
//!
//! In: requests of rmcp. Out: status, headers and body within a size and a time.

use std::time::Duration;

use hyper::Response;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};

use crate::model::{OutgoingRequest, exchange};
use crate::tool::mcp::access::ServerAccess;

/// Maximum bytes of an answer.
pub(super) const ANSWER_MAX_BYTES: u64 = 1 << 20;
/// Time for an answer, unless the request has a time of its own.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Sends the requests of a login or a refresh.
pub(super) struct OAuthExchange {
    access: ServerAccess,
}

impl OAuthExchange {
    pub(super) fn new(access: ServerAccess) -> Self {
        Self { access }
    }
}

impl OAuthHttpClient for OAuthExchange {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let time = request.timeout.unwrap_or(ANSWER_TIME);
            let (head, body) = request.request.into_parts();
            let url = head.uri.to_string();
            let headers = head.headers.iter().map(|(name, value)| {
                let value = value.to_str().map_err(|_| format!("the header {name} is not text"))?;
                Ok((name.to_string(), value.to_owned()))
            });
            let body = String::from_utf8(body).map_err(|_| "the body is not text")?;
            let out = OutgoingRequest {
                method: head.method.to_string(),
                headers: headers.collect::<Result<_, String>>()?,
                body: (!body.is_empty()).then_some(body),
                answer_max_bytes: ANSWER_MAX_BYTES,
                tls: self.access.tls(&url).clone(),
                url,
            };
            let got = tokio::time::timeout(time, exchange(&out))
                .await
                .map_err(|_| format!("no answer within {} s", time.as_secs()))??;
            let mut response = Response::builder().status(got.status);
            for (name, value) in &got.headers {
                response = response.header(name, value);
            }
            Ok(response.body(got.body)?)
        })
    }
}
