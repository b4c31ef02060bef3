//! Pages in browsers: those of this machine may use the service, others not.

use reqwest::Response;

use super::DOUBLE;
use super::kit::{Served, Wish};

const PAGE: &str = "http://localhost:3000";

fn header<'r>(reply: &'r Response, name: &str) -> &'r str {
    reply.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// The reply to the request by which a browser asks whether a page of this origin may post.
async fn preflight(served: &Served, path: &str, origin: Option<&str>) -> Response {
    let asked = served.request("OPTIONS", path).header("access-control-request-method", "POST");
    let asked = asked.header("access-control-request-headers", "authorization,content-type,x-stainless-lang");
    let asked = origin.into_iter().fold(asked, |asked, origin| asked.header("origin", origin));
    asked.send().await.unwrap()
}

#[tokio::test]
async fn pages_of_this_machine_may_send_every_request_and_read_the_replies() {
    let key = "0123456789abcdef";
    let served = Wish { key: Some(key), ..Wish::of(&[("double", DOUBLE)]) }.start().await;
    for path in ["/v1/chat/completions", "/agents/double/run", "/none"] {
        for origin in [PAGE, "https://127.0.0.1", "http://[::1]:8080"] {
            // A browser sends no key with it.
            let reply = preflight(&served, path, Some(origin)).await;
            assert_eq!(reply.status().as_u16(), 204, "{path} {origin}");
            assert_eq!(header(&reply, "access-control-allow-origin"), origin);
            assert!(header(&reply, "access-control-allow-methods").contains("POST"));
            let headers = header(&reply, "access-control-allow-headers");
            assert_eq!(headers, "authorization,content-type,x-stainless-lang");
            assert_eq!(header(&reply, "vary"), "origin");
            assert_eq!(reply.text().await.unwrap(), "");
        }
    }
    let run = |key: &str| {
        let run = served.request("POST", "/agents/double/run").header("origin", PAGE).body(r#"{"context": {"n": 2}}"#);
        run.header("authorization", format!("Bearer {key}")).send()
    };
    for (key, status) in [(key, 200), ("another key", 401)] {
        let reply = run(key).await.unwrap();
        assert_eq!((reply.status().as_u16(), header(&reply, "access-control-allow-origin")), (status, PAGE));
        assert!(header(&reply, "access-control-expose-headers").contains("x-ptc-session"));
        assert_eq!(header(&reply, "vary"), "origin");
    }
}

#[tokio::test]
async fn no_other_origin_is_allowed_and_programs_see_no_difference() {
    let served = Wish::of(&[("double", DOUBLE)]).start().await;
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
        let asked = preflight(&served, "/agents/double/run", Some(origin)).await;
        let read = served.request("GET", "/agents").header("origin", origin).send().await.unwrap();
        for reply in [asked, read] {
            assert_eq!(reply.status().as_u16(), 403, "{origin}");
            assert!(!reply.headers().contains_key("access-control-allow-origin"), "{origin}");
        }
    }
    let program = preflight(&served, "/agents/double/run", None).await;
    assert_eq!((program.status().as_u16(), header(&program, "allow")), (405, "POST"));
    // Without the question of a browser it is a method like others.
    let plain = served.request("OPTIONS", "/agents").header("origin", PAGE).send().await.unwrap();
    assert_eq!((plain.status().as_u16(), header(&plain, "access-control-allow-origin")), (405, PAGE));
    let read = served.request("GET", "/agents").send().await.unwrap();
    assert!(!read.headers().contains_key("access-control-allow-origin") && !read.headers().contains_key("vary"));
}
