//! CORS: lets web pages of this machine read the replies of `serve`.
//!
//! In: requests that the guard of the listener let through. Out: replies to preflight requests, and CORS headers on every reply to
//! such a page. It must never allow an origin of another machine, or `*`.

use crate::server::{HeaderValue, Method, Reply, Request, StatusCode, header, whole};

/// The methods of all paths.
const METHODS: &str = "GET, HEAD, POST";
/// Headers of replies that a page can read in addition to the CORS-safelisted ones.
const READABLE: &str = "x-ptc-session, x-should-retry, retry-after";

/// The reply to a preflight request; `None` for other requests. It needs no key: browsers send none with it.
pub(super) fn preflight(request: &Request) -> Option<Reply> {
    let asked = request.headers();
    if request.method() != Method::OPTIONS || !asked.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut reply = Reply::new(whole(""));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    if let Some(names) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    Some(reply)
}

/// Lets the pages of this origin read a reply.
pub(super) fn allow(origin: HeaderValue, reply: &mut Reply) {
    let headers = reply.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READABLE));
    headers.append(header::VARY, HeaderValue::from_name(header::ORIGIN));
}
