//! Headers on their way: which are of one connection only, which are recorded, which encodings are offered.
//!
//! In: headers as they came. Out: those that are passed on, those that are recorded, the keys among them. It must never record a key.

use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use crate::model::{Scrub, Secret, is_secret_name};

/// Headers of one connection.
const HOP_BY_HOP: [HeaderName; 7] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION];

/// Encodings of replies that can be read here.
const ENCODINGS: [&str; 4] = ["gzip", "x-gzip", "deflate", "identity"];

/// The bytes of the body that follows, where the head has their number.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The headers that are passed on. Encodings that cannot be read are not offered, so that replies can be shown.
pub(super) fn passed(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let mut out = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let is_own = HOP_BY_HOP.contains(name) || name == HOST || named.iter().any(|own| own == name.as_str());
        if !is_own && name.as_str() != "keep-alive" && name.as_str() != "proxy-connection" {
            out.append(name, value.clone());
        }
    }
    if let Some(offered) = out.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()) {
        let readable = offered.split(',').map(str::trim).filter(|item| {
            let coding = item.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            ENCODINGS.contains(&coding.as_str())
        });
        let readable = readable.collect::<Vec<_>>().join(", ");
        let readable = if readable.is_empty() { "identity".to_owned() } else { readable };
        if let Ok(value) = HeaderValue::try_from(readable) {
            out.insert(ACCEPT_ENCODING, value);
        }
    }
    out
}

/// The headers of a request to an upstream whose body is known.
pub(super) fn without_length(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(CONTENT_LENGTH);
    headers
}

/// The headers that are recorded: none that holds a key or a cookie, and no known secret in the others.
pub(super) fn recorded(headers: &HeaderMap, scrub: &Scrub) -> Vec<(String, String)> {
    let kept = headers.iter().filter(|(name, _)| !is_secret(name));
    kept.map(|(name, value)| (name.to_string(), scrub.text(&String::from_utf8_lossy(value.as_bytes())))).collect()
}

/// The keys that a request carries, in headers and query.
pub(super) fn keys(headers: &HeaderMap, path_and_query: &str) -> Vec<Secret> {
    let in_headers = headers.iter().filter(|(name, _)| is_secret(name)).filter_map(|(_, value)| value.to_str().ok());
    let words = in_headers.flat_map(|value| [value.to_owned(), last_word(value).to_owned()]);
    let in_query = query(path_and_query).filter(|(name, _)| is_secret_name(name) || *name == "key");
    words.chain(in_query.map(|(_, value)| value.to_owned())).map(Secret::new).collect()
}

/// Path and query without keys.
pub(super) fn recorded_path(path_and_query: &str) -> String {
    let Some((path, _)) = path_and_query.split_once('?') else { return path_and_query.to_owned() };
    let kept = query(path_and_query).filter(|(name, _)| !is_secret_name(name) && *name != "key");
    let kept: Vec<String> =
        kept.map(|(name, value)| if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

fn query(path_and_query: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = path_and_query.split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

fn last_word(value: &str) -> &str {
    value.rsplit(' ').next().unwrap_or(value)
}

fn is_secret(name: &HeaderName) -> bool {
    let is_count = name.as_str().contains("ratelimit");
    [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, SET_COOKIE].contains(name)
        || is_secret_name(name.as_str()) && !is_count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MASK;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn headers_of_one_connection_are_not_passed_on() {
        let came = headers(&[
            ("host", "localhost:4141"),
            ("connection", "keep-alive, x-own"),
            ("x-own", "1"),
            ("transfer-encoding", "chunked"),
            ("authorization", "Bearer sk-1"),
            ("accept-encoding", "br, gzip;q=0.5, zstd, deflate"),
            ("x-stainless-retry-count", "0"),
        ]);
        let passed = passed(&came);
        let names: Vec<&str> = passed.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["authorization", "accept-encoding", "x-stainless-retry-count"]);
        assert_eq!(passed["accept-encoding"], "gzip;q=0.5, deflate");
    }

    #[test]
    fn keys_are_not_recorded_wherever_they_are() {
        let came = headers(&[
            ("authorization", "Bearer sk-one-1"),
            ("x-api-key", "sk-two-1"),
            ("api-key", "sk-three-1"),
            ("x-goog-api-key", "sk-four-1"),
            ("cookie", "session=sk-five-1"),
            ("x-auth-token", "sk-six-1"),
            ("accept", "*/*"),
        ]);
        assert_eq!(recorded(&came, &Scrub::default()), [("accept".to_owned(), "*/*".to_owned())]);
        let path = "/v1beta/models/m:generateContent?alt=sse&key=sk-seven-1&x";
        assert_eq!(recorded_path(path), "/v1beta/models/m:generateContent?alt=sse&x");
        assert_eq!(recorded_path("/v1/x?key=sk"), "/v1/x");
        let keys = keys(&came, path);
        let scrub = Scrub::new(keys);
        for key in ["sk-one-1", "sk-two-1", "sk-three-1", "sk-four-1", "sk-six-1", "sk-seven-1"] {
            assert_eq!(scrub.text(key), MASK, "{key}");
        }
    }
}
