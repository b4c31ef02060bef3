//! A key goes into one header and nowhere else, whatever the server does with it.

use std::path::PathBuf;

use ptc_workbench::config::KeySource;
use ptc_workbench::model::{Adapter, ErrorClass};

use super::server::{Play, Received, Server, delta, ending};
use super::{ask, ask_server, endpoint, request};

const KEY: &str = "sk-test-Abc123.def456";

/// A model with the key in a file, and the folder that keeps the file.
fn keyed(server: &Server) -> (Adapter, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    let mut endpoint = endpoint(server);
    endpoint.key = Some(KeySource::File(path));
    endpoint.headers = vec![("x-team".into(), "agents".into())];
    (Adapter::new(endpoint).unwrap(), dir)
}

fn echo(received: &Received) -> String {
    received.header("authorization").replace("Bearer ", "")
}

#[tokio::test]
async fn the_key_is_sent_as_bearer_with_the_further_headers() {
    let server = Server::play([super::server::answer("ok")]).await;
    let (model, _dir) = keyed(&server);
    model.check_key().unwrap();
    let asked = ask_server(&server, &model, &request("hi")).await;
    let received = server.received().remove(0);
    assert_eq!(received.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(received.header("x-team"), "agents");
    assert!(!asked.everything().contains(KEY) && !format!("{model:?}").contains(KEY));
}

#[tokio::test]
async fn an_echoed_key_never_leaves_the_port() {
    type Script = fn(&str) -> Play;
    let scripts: [(&str, Script); 10] = [
        ("in one delta", |key| Play::events([delta(&format!("your key {key} is good")), ending("stop")])),
        ("in two deltas", |key| Play::events([delta(&key[..7]), delta(&key[7..]), ending("stop")])),
        ("in single characters", |key| {
            let letters = key.chars().map(|letter| delta(&letter.to_string()));
            Play::events(letters.chain([ending("stop")]))
        }),
        ("escaped", |key| {
            let escaped =
                key.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect::<Vec<_>>().concat();
            let chunk = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{escaped}\"}}}}]}}\n\n");
            Play::events([chunk, ending("stop")])
        }),
        ("in reasoning", |key| {
            let chunk = format!("data: {{\"choices\":[{{\"delta\":{{\"reasoning\":\"{key}\"}}}}]}}\n\n");
            Play::events([chunk, ending("stop")])
        }),
        ("as the model's name", |key| {
            Play::json(
                "200 OK",
                format!(r#"{{"model":"{key}","choices":[{{"message":{{"content":"x"}},"finish_reason":"{key}"}}]}}"#),
            )
        }),
        ("in an error body", |key| {
            Play::json("401 Unauthorized", format!(r#"{{"error":{{"message":"Incorrect API key provided: {key}"}}}}"#))
        }),
        ("in an error event", |key| {
            Play::events([format!("data: {{\"error\":{{\"message\":\"bad {key}\",\"code\":400}}}}\n\n")])
        }),
        ("in a redirect", |key| Play::page("302 Found", &format!("location: http://127.0.0.1:1/{key}\r\n"), "")),
        ("in a refusal of the schema", |key| {
            Play::json("400 Bad Request", format!(r#"{{"error":{{"message":"response_format refused for {key}"}}}}"#))
        }),
    ];
    for (what, script) in scripts {
        let server = Server::script(move |_, received| script(&echo(received))).await;
        let (model, _dir) = keyed(&server);
        let asked = ask_server(&server, &model, &super::request_json("hi")).await;
        assert_eq!(echo(&server.received()[0]), KEY, "{what}");
        let everything = asked.everything();
        assert!(!everything.contains(KEY), "{what}: {everything}");
        let masked = everything.contains("[secret]") || everything.contains("*********");
        assert!(masked, "{what}: {everything}");
    }
}

#[tokio::test]
async fn raw_frames_with_a_key_in_pieces_are_withheld_and_that_is_reported() {
    let server = Server::script(|_, received| {
        let key = echo(received);
        Play::events([delta(&key[..9]), delta(&key[9..]), ending("stop")])
    })
    .await;
    let (model, _dir) = keyed(&server);
    let asked = ask_server(&server, &model, &request("hi")).await;
    assert_eq!(asked.reply().text, "[secret]");
    assert_eq!(asked.raw(1), b"");
    assert!(asked.notices()[0].contains("contains a secret split across frames"), "{:?}", asked.notices());
    assert!(!asked.everything().contains(&KEY[9..]));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::play([super::server::answer("stolen")]).await;
    let location = format!("location: {}/chat/completions\r\n", other.base_url);
    let server = Server::play([Play::page("307 Temporary Redirect", &location, "")]).await;
    let (model, _dir) = keyed(&server);
    let asked = ask_server(&server, &model, &request("hi")).await;
    let error = asked.error();
    assert_eq!((error.class, error.status), (ErrorClass::Configuration, Some(307)));
    assert!(error.message.contains(&format!("a redirect to {}/chat/completions", other.base_url)), "{}", error.message);
    assert_eq!((other.received().len(), server.received().len()), (0, 1));
}

#[tokio::test]
async fn a_missing_key_is_reported_before_anything_is_sent() {
    let server = Server::play([super::server::answer("ok")]).await;
    let sources = [
        (KeySource::Env("PTC_TEST_NO_SUCH_KEY".into()), "export PTC_TEST_NO_SUCH_KEY=…"),
        (KeySource::File(PathBuf::from("/nonexistent/key")), "/nonexistent/key"),
    ];
    for (source, hint) in sources {
        let mut endpoint = endpoint(&server);
        endpoint.key = Some(source);
        let model = Adapter::new(endpoint).unwrap();
        assert_eq!(model.check_key().unwrap_err().class, ErrorClass::Auth);
        let asked = ask(&model, &request("hi")).await;
        assert_eq!((asked.error().class, asked.error().requests), (ErrorClass::Auth, 0));
        assert!(asked.error().hint.as_ref().unwrap().contains(hint), "{:?}", asked.error().hint);
        assert!(asked.events.is_empty());
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_refused_key_names_its_source() {
    let server = Server::play([Play::json("401 Unauthorized", r#"{"error":{"message":"Bad key"}}"#)]).await;
    let (model, dir) = keyed(&server);
    let asked = ask_server(&server, &model, &request("hi")).await;
    let path = dir.path().join("key").display().to_string();
    let hint = asked.error().hint.clone().unwrap();
    assert_eq!(hint, format!("check the key in key file {path}; write it into {path}"));
}
