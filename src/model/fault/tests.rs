//! Refusals in the words of services, and the errors they become.

use reqwest::Url;
use reqwest::header::HeaderValue;

use super::*;
use crate::config::Timeouts;
use crate::model::secret::Secret;

fn target() -> Target {
    Target {
        provider: "local".into(),
        url: Url::parse("http://127.0.0.1:8080/v1/chat/completions?api_key=abc").unwrap(),
        check_url: "http://127.0.0.1:8080/v1/models".into(),
        key: Some(("environment variable LOCAL_KEY".into(), "export LOCAL_KEY=…".into())),
        model: "m-1".into(),
        timeouts: Timeouts::default(),
        tls: crate::config::TlsFiles::default(),
    }
}

fn scrub() -> Scrub {
    Scrub::new([Secret::new("sk-12345678")])
}

fn of(status: u16, body: &str) -> Failure {
    of_status(&target(), status, &HeaderMap::new(), body.as_bytes(), &scrub(), 0)
}

#[test]
fn each_status_has_its_class_and_advice() {
    let cases = [
        (400, "{}", ErrorClass::Client, "as sent is in the session"),
        (401, "{}", ErrorClass::Auth, "export LOCAL_KEY=…"),
        (403, "{}", ErrorClass::Auth, "environment variable LOCAL_KEY"),
        (402, "{}", ErrorClass::Client, "credit"),
        (
            404,
            "{}",
            ErrorClass::NotFound,
            "\"m-1\" and base_url; see what the server has with: curl http://127.0.0.1:8080/v1/models",
        ),
        (408, "{}", ErrorClass::Timeout, ""),
        (422, "{}", ErrorClass::Client, ""),
        (429, "{}", ErrorClass::RateLimit, "wait"),
        (429, r#"{"error":{"code":"insufficient_quota"}}"#, ErrorClass::Client, "credit"),
        (500, "{}", ErrorClass::Server, "later"),
        (529, "{}", ErrorClass::Server, "later"),
        (400, r#"{"error":{"code":"content_filter"}}"#, ErrorClass::ContentFilter, "change the prompt"),
        (400, r#"{"error":{"code":"context_length_exceeded"}}"#, ErrorClass::Client, "too long"),
        // llama.cpp
        (
            400,
            r#"{"error":{"code":400,"message":"request (4164 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error","n_prompt_tokens":4164,"n_ctx":4096}}"#,
            ErrorClass::Client,
            "too long",
        ),
        (400, r#"{"error":{"message":"no","param":"top_p"}}"#, ErrorClass::Client, "\"top_p\""),
    ];
    for (status, body, class, hint) in cases {
        let error = of(status, body).error;
        assert_eq!((error.class, error.status), (class, Some(status)), "{status} {body}");
        assert!(error.hint.unwrap_or_default().contains(hint), "{status} {body}");
    }
}

#[test]
fn the_services_own_words_are_found_in_every_shape() {
    let cases = [
        (r#"{"error":{"message":"Too fast","type":"t","code":"c"}}"#, ": Too fast (c)"),
        (r#"{"error":{"message":"Too fast","code":429}}"#, ": Too fast (429)"),
        (r#"{"error":{"message":"Too fast","type":"slow_down","code":null}}"#, ": Too fast (slow_down)"),
        (r#"{"error":"Too fast"}"#, ": Too fast"),
        (r#"{"message":"Too fast"}"#, ": Too fast"),
        (r#"[{"error":{"message":"Too fast"}}]"#, ": Too fast"),
        (r#"{"detail":"Too fast"}"#, ": Too fast"),
        (r#"{"detail":[{"loc":["body","stop"],"msg":"a list, please"}]}"#, ": a list, please"),
        (r#"{"error":{"message":"Provider error","metadata":{"raw":"Too fast"}}}"#, ": Provider error: Too fast"),
        (r#"{"strange":1}"#, r#": {"strange":1}"#),
        ("Too fast\n", ": Too fast"),
        ("<html><head><title>502 Bad</title></head></html>", ": a web page titled \"502 Bad\""),
        ("", ""),
        (r#"{"error":{"message":"Bad key sk-12345678"}}"#, ": Bad key [secret]"),
        (
            r#"{"error":{"message":"Bad key sk-1234\u00355678, or sk-1234\u003578"}}"#,
            ": Bad key sk-123455678, or sk-1234578",
        ),
        (r#"{"error":{"message":"Bad key sk-1234\u0035678"}}"#, ": Bad key [secret]"),
    ];
    for (body, expected) in cases {
        assert_eq!(
            of(500, body).error.message,
            format!("local answered 500 Internal Server Error{expected}"),
            "{body}"
        );
    }
    let long = of(500, &"x".repeat(10_000)).error.message;
    assert!(long.ends_with("x…") && long.len() < 600);
}

#[test]
fn a_secret_at_the_cut_is_not_halved() {
    let body = format!("{}sk-12345678 tail", "x".repeat(QUOTE_MAX_CHARS - 4));
    let message = of(500, &body).error.message;
    assert!(!message.contains("sk-"), "{message}");
}

#[test]
fn a_refused_parameter_is_known_by_name() {
    let named = of(422, r#"{"detail":[{"loc":["body","response_format","type"],"msg":"no","input":{"stop":1}}]}"#);
    assert_eq!(named.refusal.unwrap().param.as_deref(), Some("response_format.type"));
    let named = of(400, r#"{"error":{"message":"no","param":"response_format"}}"#);
    assert_eq!(named.refusal.unwrap().param.as_deref(), Some("response_format"));
}

#[test]
fn a_redirect_names_the_place_without_its_query() {
    let mut headers = HeaderMap::new();
    headers.insert("location", HeaderValue::from_static("/v2/chat/completions?api_key=abc"));
    let error = of_status(&target(), 307, &headers, b"", &scrub(), 0).error;
    assert_eq!((error.class, error.status), (ErrorClass::Configuration, Some(307)));
    assert!(error.message.contains("a redirect to http://127.0.0.1:8080/v2/chat/completions; it"), "{}", error.message);
}

#[test]
fn retry_after_is_taken_from_the_headers() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("3"));
    assert_eq!(of_status(&target(), 429, &headers, b"", &scrub(), 0).retry_after_ms, Some(3_000));
}

#[test]
fn an_error_inside_a_reply_is_classed_by_its_code_or_its_words() {
    let cases = [
        (r#"{"error":{"message":"m","code":429}}"#, ErrorClass::RateLimit, Some(429)),
        (r#"{"error":{"message":"m","code":"502"}}"#, ErrorClass::Server, Some(502)),
        (r#"{"error":{"message":"m","code":"rate_limit_exceeded"}}"#, ErrorClass::RateLimit, None),
        (r#"{"error":{"message":"m","type":"invalid_request_error"}}"#, ErrorClass::Client, None),
        (r#"{"error":{"message":"m","type":"authentication_error"}}"#, ErrorClass::Auth, None),
        (r#"{"error":{"message":"m","code":1234}}"#, ErrorClass::Server, None),
        (r#"{"error":"m"}"#, ErrorClass::Server, None),
        ("m", ErrorClass::Server, None),
    ];
    for (body, class, status) in cases {
        let error = of_event(&target(), body, &scrub()).error;
        assert_eq!((error.class, error.status), (class, status), "{body}");
        assert!(error.message.starts_with("local reported an error inside its reply: m"), "{}", error.message);
    }
}
