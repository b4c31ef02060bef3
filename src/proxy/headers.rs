//! Headers on their way: which are of one connection only, which are recorded, which encodings are offered.
//!
//! In: headers as they came. Out: those that are passed on, those that are recorded, the keys among them. It must never record a key.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName,
    HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL, SET_COOKIE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE,
};

use crate::model::{Coding, MASK, Scrub, Secret, is_secret_name};

/// Headers of one connection.
const HOP_BY_HOP: [HeaderName; 7] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION];

/// Encodings of replies that can be read here.
const ENCODINGS: [&str; 4] = ["gzip", "x-gzip", "deflate", "identity"];

/// Characters that separate the parts of addresses and of the lists that contain addresses.
const ADDRESS_MARKS: &[char] = &['?', '&', '#', ';', ',', '<', '>', '"', ' '];

/// Shortest value that may be a key under a name that may not be a secret's, in bytes. It is masked wherever it occurs, and `?keyword=` may
/// have a word such as `gpt-4o-mini`; therefore more than of values whose name is a secret's (`KEY_MIN_BYTES` in
/// `src/config/secret_name.rs`).
const RANDOM_MIN_BYTES: usize = 12;

/// Shortest value of a cookie that counts as a key; shorter ones are settings.
const COOKIE_MIN_BYTES: usize = 16;

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

/// The headers of a request that are passed on: [`passed`], and `TE: trailers`, without which a service may omit trailers. It is an option
/// of one connection, which has to name it.
pub(super) fn passed_request(headers: &HeaderMap) -> HeaderMap {
    let mut out = passed(headers);
    let offered = headers.get_all(TE).iter().filter_map(|value| value.to_str().ok());
    if offered.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case("trailers")) {
        out.insert(TE, HeaderValue::from_static("trailers"));
        out.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    out
}

/// The headers of a reply that are passed on with its body as it comes: [`passed`], and the names of its trailers.
pub(super) fn passed_reply(headers: &HeaderMap) -> HeaderMap {
    with_trailer_names(passed(headers), headers)
}

/// The passed headers of a message, with the names of its trailers, which only a chunked body can have.
pub(super) fn with_trailer_names(mut passed: HeaderMap, headers: &HeaderMap) -> HeaderMap {
    if headers.contains_key(TRANSFER_ENCODING) && !headers.contains_key(CONTENT_LENGTH) {
        for names in headers.get_all(TRAILER) {
            passed.append(TRAILER, names.clone());
        }
    }
    passed
}

/// The headers of a request to an upstream whose body is known.
pub(super) fn without_length(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(CONTENT_LENGTH);
    headers
}

/// The headers of a request whose body was changed, and is not compressed any more.
pub(super) fn without_coding(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(CONTENT_ENCODING);
    headers
}

/// Returns the coding of the body that follows.
pub(super) fn coding(headers: &HeaderMap) -> Coding {
    Coding::of(headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()))
}

/// The headers that are recorded: none that holds a key or a cookie, and in the others no known secret and no key in an address.
pub(super) fn recorded(headers: &HeaderMap, scrub: &Scrub) -> Vec<(String, String)> {
    let kept = headers.iter().filter(|(name, value)| !is_secret(name, value));
    let clean = |value: &HeaderValue| scrub.text(&without_address_keys(&text_of(value)));
    kept.map(|(name, value)| (name.to_string(), clean(value))).collect()
}

/// The value of a header, which may have bytes that are not ASCII.
fn text_of(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// The notice about the trailers of a message: those that [`recorded`] has, and the number of the others.
pub(super) fn trailers_text(message: &str, trailers: &HeaderMap, scrub: &Scrub) -> String {
    let kept = recorded(trailers, scrub);
    let omitted = trailers.len() - kept.len();
    let omitted = (omitted > 0).then(|| format!("{omitted} with keys, not recorded"));
    let all: Vec<String> = kept.into_iter().map(|(name, value)| format!("{name}: {value}")).chain(omitted).collect();
    format!("trailers of {message}: {}", all.join("; "))
}

/// The keys that a request carries, in headers and query.
pub(super) fn keys(headers: &HeaderMap, path_and_query: &str) -> Vec<Secret> {
    let mut keys: Vec<String> = Vec::new();
    for (name, value) in headers {
        let text = &*text_of(value);
        if is_secret(name, value) {
            keys.extend([text.to_owned(), last_word(text).to_owned()]);
            keys.extend(basic_password(text));
        }
        if name == COOKIE {
            let values = text.split(';').filter_map(|cookie| cookie.split_once('=')).map(|(_, value)| value.trim());
            keys.extend(values.filter(|value| value.len() >= COOKIE_MIN_BYTES).map(str::to_owned));
        }
        if name == SEC_WEBSOCKET_PROTOCOL {
            // Browsers can set no other header: OpenAI's clients send `openai-insecure-api-key.KEY`.
            keys.extend(text.split([',', ' ', '.']).filter(|part| is_random(part)).map(str::to_owned));
        }
        if is_address(text) {
            keys.extend(address_keys(text).map(str::to_owned));
        }
    }
    let in_query = query(path_and_query).filter(|(name, _)| is_secret_name(name));
    keys.extend(in_query.map(|(_, value)| value.to_owned()));
    keys.into_iter().map(Secret::new).collect()
}

/// Path and query without keys.
pub(super) fn recorded_path(path_and_query: &str) -> String {
    let Some((path, _)) = path_and_query.split_once('?') else { return path_and_query.to_owned() };
    let kept = query(path_and_query).filter(|(name, _)| !is_secret_name(name));
    let kept: Vec<String> =
        kept.map(|(name, value)| if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

fn query(path_and_query: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = path_and_query.split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Returns the values of the parameters of an address that are keys by their names.
pub(super) fn address_keys(text: &str) -> impl Iterator<Item = &str> {
    // A word, such as that of `?keyword=`, would be masked everywhere.
    text.split(ADDRESS_MARKS).filter_map(parameter_key).filter(|value| is_random(value))
}

pub(super) fn last_word(value: &str) -> &str {
    value.rsplit(' ').next().unwrap_or(value)
}

/// The scheme of a header's value, such as `Bearer`, and what follows it.
fn scheme(value: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = value.trim().split_once(' ')?;
    Some((scheme, rest.trim()))
}

/// The password of `Basic` and user and password in base64.
fn basic_password(value: &str) -> Option<String> {
    let (_, packed) = scheme(value).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))?;
    let user_and_password = String::from_utf8(STANDARD.decode(packed).ok()?).ok()?;
    Some(user_and_password.split_once(':')?.1.to_owned())
}

/// Returns whether the value of a header contains an address, whose query may hold keys.
fn is_address(value: &str) -> bool {
    value.contains("://") || value.starts_with('/')
}

/// Returns whether a value may be a key: it has a digit, no space, and at least [`RANDOM_MIN_BYTES`].
pub(super) fn is_random(value: &str) -> bool {
    value.len() >= RANDOM_MIN_BYTES && value.bytes().any(|byte| byte.is_ascii_digit()) && !value.contains(' ')
}

/// The key in a parameter of an address.
fn parameter_key(parameter: &str) -> Option<&str> {
    let (name, value) = parameter.split_once('=')?;
    (is_secret_name(name) && !value.is_empty()).then_some(value)
}

/// The value of a header with a mask in place of each key in the query of an address.
fn without_address_keys(value: &str) -> String {
    if !is_address(value) {
        return value.to_owned();
    }
    let parts = value.split_inclusive(ADDRESS_MARKS).map(|part| {
        let parameter = part.trim_end_matches(ADDRESS_MARKS);
        let Some(key) = parameter_key(parameter) else { return part.to_owned() };
        let (before, after) = (parameter.strip_suffix(key), part.strip_prefix(parameter));
        [before.unwrap_or_default(), MASK, after.unwrap_or_default()].concat()
    });
    parts.collect()
}

/// Returns whether a header holds a key, by its name or by its value.
fn is_secret(name: &HeaderName, value: &HeaderValue) -> bool {
    let is_count = name.as_str().contains("ratelimit");
    [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, SET_COOKIE, SEC_WEBSOCKET_PROTOCOL].contains(name)
        || is_secret_name(name.as_str()) && !is_count
        || has_secret_scheme(name.as_str(), &text_of(value))
}

/// Returns whether a header, or a text in a body that may be one, is a key by its value: `Bearer …` or `Basic …`.
pub(super) fn has_secret_scheme(name: &str, value: &str) -> bool {
    let Some((scheme, rest)) = scheme(value) else { return false };
    let is_key = match scheme.to_ascii_lowercase().as_str() {
        "bearer" => is_random(rest),
        "basic" => basic_password(value).is_some(),
        _ => false,
    };
    is_key && !name.eq_ignore_ascii_case(WWW_AUTHENTICATE.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn trailers_are_offered_and_announced_for_one_connection() {
        let asked = headers(&[("te", "deflate;q=0.5, Trailers"), ("connection", "te, close")]);
        assert_eq!(passed_request(&asked), headers(&[("te", "trailers"), ("connection", "te")]));
        for other in [&[("te", "deflate")][..], &[("te", "trailers2")], &[]] {
            assert_eq!(passed_request(&headers(other)), HeaderMap::new(), "{other:?}");
        }
        let chunked = headers(&[("transfer-encoding", "chunked"), ("trailer", "x-a"), ("trailer", "x-b, x-c")]);
        assert_eq!(passed_reply(&chunked), headers(&[("trailer", "x-a"), ("trailer", "x-b, x-c")]));
        let sized = headers(&[("content-length", "2"), ("trailer", "x-a")]);
        assert_eq!(passed_reply(&sized), headers(&[("content-length", "2")]));
    }

    #[test]
    fn the_notice_about_trailers_has_no_key() {
        let scrub = Scrub::new([Secret::new("sk-one-123456".to_owned())]);
        let came = headers(&[("x-checksum", "1a2b"), ("x-echo", "got sk-one-123456"), ("x-api-key", "sk-two-123456")]);
        let text = "trailers of the service's reply: x-checksum: 1a2b; x-echo: got [secret]; 1 with keys, not recorded";
        assert_eq!(trailers_text("the service's reply", &came, &scrub), text);
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

    #[test]
    fn keys_under_other_names_passwords_and_keys_in_addresses_are_not_recorded() {
        let basic = format!("Basic {}", STANDARD.encode("someone:pass-word-1"));
        let came = headers(&[
            ("helicone-auth", "Bearer sk-one-1"),
            ("x-auth", "sk-two-1"),
            ("x-upstream", "Bearer sk-three-123456"),
            ("authorization", basic.as_str()),
            ("cookie", "theme=darkdark; session=0123456789abcdef"),
            ("referer", "https://a.example/x?user=me&token=sk-four-123456#part"),
            ("www-authenticate", "Bearer realm=\"models\""),
            ("x-author", "somebody"),
            ("x-ratelimit-remaining-tokens", "12345678"),
        ]);
        let path = "/v1/x?sig=sk-five-1&access_token=sk-six-1&alt=sse";
        assert_eq!(recorded_path(path), "/v1/x?alt=sse");
        let scrub = Scrub::new(keys(&came, path));
        for key in ["sk-one-1", "sk-two-1", "sk-three-123456", "sk-four-123456", "sk-five-1", "sk-six-1", "pass-word-1"]
        {
            assert_eq!(scrub.text(key), MASK, "{key}");
        }
        assert_eq!(scrub.text("0123456789abcdef"), MASK);
        assert_eq!(scrub.text("darkdark, someone, somebody, 12345678"), "darkdark, someone, somebody, 12345678");
        let kept = [
            ("referer", "https://a.example/x?user=me&token=[secret]#part"),
            ("www-authenticate", "Bearer realm=\"models\""),
            ("x-author", "somebody"),
            ("x-ratelimit-remaining-tokens", "12345678"),
        ];
        assert_eq!(recorded(&came, &Scrub::default()), kept.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn keys_next_to_letters_that_are_not_ascii_are_not_recorded() {
        let of = |name: &str, value: &str| {
            (HeaderName::try_from(name).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        let came: HeaderMap = [
            of("cookie", "name=J\u{f6}rg; session=0123456789abcdef"),
            of("x-upstream", "Bearer sk-one-123456\u{f6}"),
            of("referer", "https://a.example/J\u{f6}rg?token=sk-two-123456"),
            of("x-name", "J\u{f6}rg"),
        ]
        .into_iter()
        .collect();
        let scrub = Scrub::new(keys(&came, "/"));
        for key in ["0123456789abcdef", "sk-one-123456\u{f6}", "sk-two-123456"] {
            assert!(scrub.text(key).contains(MASK), "{key}");
        }
        let kept = [("referer", "https://a.example/J\u{f6}rg?token=[secret]"), ("x-name", "J\u{f6}rg")];
        assert_eq!(recorded(&came, &Scrub::default()), kept.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn keys_in_the_addresses_of_a_reply_are_masked() {
        let came = headers(&[
            ("location", "/next?token=abc&page=2"),
            ("link", "<https://a.example/1?sig=a%2Fb>; rel=next, <https://a.example/2?page=3>; rel=last"),
            ("content-type", "text/plain; token=abc"),
        ]);
        let kept = [
            ("location", "/next?token=[secret]&page=2"),
            ("link", "<https://a.example/1?sig=[secret]>; rel=next, <https://a.example/2?page=3>; rel=last"),
            ("content-type", "text/plain; token=abc"),
        ];
        assert_eq!(recorded(&came, &Scrub::default()), kept.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
