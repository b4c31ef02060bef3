//! Requests of other programs on their way to a service: sent as they came, answered as they are answered.
//!
//! In: method, address, headers, body and trailers. Out: status, headers, the body as it comes and its trailers. No header is added that
//! the client did not send but `accept`, nothing is decompressed, no redirect is followed. It must never keep a key.

use std::convert::Infallible;
use std::time::Duration;

use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use hyper::ext::ReasonPhrase;
use hyper::upgrade::Upgraded;
use reqwest::header::HeaderMap;
use reqwest::{Body, Client, Method, Url};

use super::connection::{DetectNewConnection, Sent, send};
use super::http::{is_loopback, root};
use crate::server::MAX_HEADERS;

/// The clients of a proxy: one for this machine without the environment's proxies, one for everything else.
#[derive(Debug, Clone)]
pub struct UpstreamClient {
    near: Client,
    far: Client,
}

/// A body that is sent.
#[derive(Debug)]
pub enum UpstreamBody {
    /// All of it.
    Whole(Bytes),
    /// Pieces as they come.
    Streamed(Body),
}

impl UpstreamBody {
    /// A body as it comes, with its trailers.
    pub fn of<B>(body: B) -> Self
    where
        B: HttpBody<Data = Bytes> + Send + Sync + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Self::Streamed(Body::wrap(body))
    }

    /// A body with trailers after it. Those that the header `Trailer` names are sent; the request is not sent again.
    pub fn with_trailers(bytes: Bytes, trailers: HeaderMap) -> Self {
        let frames = [Frame::data(bytes), Frame::trailers(trailers)].map(Ok::<_, Infallible>);
        Self::of(StreamBody::new(stream::iter(frames)))
    }
}

/// Error of a request without a reply.
#[derive(Debug)]
pub struct NoReply {
    /// In words, without query or headers.
    pub why: String,
    /// Number of times the request was sent again.
    pub retries: u32,
}

/// A reply whose body is still to come.
#[derive(Debug)]
pub struct UpstreamReply {
    inner: hyper::Response<Body>,
    retries: u32,
}

impl UpstreamClient {
    /// Errors: the certificates of the system or the environment's proxies cannot be used.
    pub fn new() -> Result<Self, String> {
        super::http::install_tls_provider();
        let builder = || {
            Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(Duration::from_secs(30))
                .no_gzip()
                .no_deflate()
                .tcp_nodelay(true)
                .http1_max_headers(MAX_HEADERS)
                .connector_layer(DetectNewConnection)
        };
        let built = |builder: reqwest::ClientBuilder| builder.build().map_err(|error| root(&error));
        Ok(Self { near: built(builder().no_proxy())?, far: built(builder())? })
    }

    /// Sends a request and waits for the head of the reply. Errors: why there is none.
    pub async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: UpstreamBody,
    ) -> Result<UpstreamReply, NoReply> {
        let client = if is_loopback(&url) { &self.near } else { &self.far };
        let body = match body {
            UpstreamBody::Whole(bytes) => Body::from(bytes),
            UpstreamBody::Streamed(body) => body,
        };
        let request = client.request(method, url).headers(headers).body(body).build();
        let no_reply = |retries| move |error: reqwest::Error| NoReply { why: root(&error.without_url()), retries };
        let Sent { response, retries } = send(client, request.map_err(no_reply(0))?).await;
        response.map(|inner| UpstreamReply { inner: inner.into(), retries }).map_err(no_reply(retries))
    }
}

impl UpstreamReply {
    /// HTTP status.
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// The reason phrase of the status line; `None` where it is the usual one of the status.
    pub fn reason(&self) -> Option<ReasonPhrase> {
        self.inner.extensions().get::<ReasonPhrase>().cloned()
    }

    /// Returns the number of times the request was sent again because the service closed a reused connection before it replied.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Headers as they came.
    pub fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// The connection, after status 101. Errors: why it cannot be used.
    pub async fn upgraded(self) -> Result<Upgraded, String> {
        hyper::upgrade::on(self.inner).await.map_err(|error| error.to_string())
    }

    /// The next frame of the body: a piece, or the trailers after the last one; `None` at its end. Errors: why the connection broke.
    pub async fn frame(&mut self) -> Result<Option<Frame<Bytes>>, String> {
        let frame = self.inner.body_mut().frame().await.transpose();
        frame.map_err(|error| root(&error.without_url()))
    }
}
