//! Requests: what is sent, what comes back, and where no key goes.

use serde_json::json;

use super::allowed;
use crate::cli::program::{Done, Program};
use crate::openai::server::{Play, Received, Server};

/// Runs a call of this tool against a server that plays this; what came out and what the server got.
async fn called(play: Play, rest: &str, args: &str) -> (Done, Vec<Received>, Program) {
    let server = Server::play([play]).await;
    let program = Program::new().with_env("SHOP_KEY", "planted-secret-1234");
    let tool = format!("[tools.t]\nkind = \"http\"\n{}", rest.replace("BASE", &server.base_url));
    let code = format!("(return (tool/t {args}))");
    let (done, program) =
        tokio::task::spawn_blocking(move || (allowed(&program, &code, &tool), program)).await.unwrap();
    (done, server.received(), program)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_carries_arguments_and_key_and_a_part_of_the_answer_is_the_result() {
    let play = Play::json("200 OK", r#"{"data":{"items":[{"id":7}]},"echo":"planted-secret-1234"}"#);
    let rest = r#"
method = "POST"
url = "BASE/items/{{shop}}"
headers = { authorization = "Bearer ${SHOP_KEY}" }
body = { query = "{{query}}", limit = 1 }
response_path = "data.items[0]"
signature = "(shop :string, query :string) -> {id :int}"
"#;
    let (done, got, _) = called(play, rest, r#"{:shop "a/b" :query "lamp"}"#).await;
    assert_eq!(done.exits(0).json()["return"], json!({"id": 7}));
    assert!(got[0].head.starts_with("POST /v1/items/a%2Fb HTTP/1.1"), "{}", got[0].head);
    assert_eq!(got[0].header("authorization"), "Bearer planted-secret-1234");
    assert_eq!(got[0].json(), json!({"query": "lamp", "limit": 1}));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_redirect_is_followed_and_no_key_is_kept() {
    let key = "planted-secret-1234";
    let plays = [
        (Play::page("302 Found", "location: http://127.0.0.2:9/steal\r\n", ""), "a redirect to 127.0.0.2"),
        (Play::json("500 Oops", format!(r#"{{"text":"{key}"}}"#)), "status 500"),
        (Play::json("200 OK", format!(r#"{{"text":"{key}","{key}":1}}"#)), ""),
        (Play::json("200 OK", format!("no json {key}")), "is not JSON"),
    ];
    for (play, words) in plays {
        let rest = "url = \"BASE/x\"\nheaders = { x-key = \"${SHOP_KEY}\" }\nsignature = \"() -> :map\"\n";
        let (done, got, program) = called(play, rest, "{}").await;
        assert_eq!(got.len(), 1);
        done.exits(i32::from(!words.is_empty())).reports(words);
        let session = std::fs::read_to_string(program.session_file()).unwrap();
        assert!(!done.stdout.contains(key) && !done.stderr.contains(key) && !session.contains(key), "{words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn size_time_and_missing_keys_are_errors_with_advice() {
    let big = Play::json("200 OK", format!("\"{}\"", "x".repeat(5_000)));
    let (done, ..) = called(big, "url = \"BASE/x\"\noutput_max_bytes = 1000\n", "{}").await;
    done.exits(1).reports("sent more than output_max_bytes = 1000");
    let (done, ..) = called(Play::silent(["x"]), "url = \"BASE/x\"\ntimeout_ms = 200\n", "{}").await;
    done.exits(1).reports("did not answer within timeout_ms = 200");
    let play = Play::json("200 OK", "1");
    let (done, got, _) = called(play, "url = \"BASE/x\"\nheaders = { x-key = \"${NO_KEY_HERE}\" }\n", "{}").await;
    done.exits(1).reports("export NO_KEY_HERE=");
    assert!(got.is_empty());
}
