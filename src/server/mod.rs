//! The HTTP listener of the commands that serve: connections in, requests to a handler, replies out.
//!
//! In: an address, limits, a handler. Out: one reply per request, whole or as a stream. It must never know what is served, and
//! never answer a request that a foreign web page sent.

mod body;
mod guard;
mod in_flight;
mod listener;
mod timed_writes;
mod upgrade;

pub use body::{
    Body, BodyError, BodySender, TooLarge, TooSlow, frames, pieces, read_body, read_body_and_trailers, streamed, whole,
};
pub use guard::{Guard, Refusal, loopback_origin};
use hyper::body::{Bytes, Incoming};
pub use hyper::header::{self, HeaderValue};
pub use hyper::{Method, StatusCode};
pub use listener::{Handler, Listener, ListenerEnd, ListenerLimits, MAX_HEADERS};
pub use upgrade::upgrading;

/// A request whose body has not been read.
pub type Request = hyper::Request<Incoming>;
/// A reply whose body may be a stream.
pub type Reply = hyper::Response<Body>;

/// Makes a reply of JSON text.
pub fn json_reply(status: StatusCode, json: &serde_json::Value) -> Reply {
    typed_reply(status, "application/json", json.to_string())
}

/// Makes a reply of text in this media type.
pub fn typed_reply(status: StatusCode, media_type: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Reply::new(whole(text));
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply
}
