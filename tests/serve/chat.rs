//! `/v1`: agents as models of the chat completions protocol.

use std::time::Duration;

use serde_json::{Value, json};

use super::kit::{Got, Served, Wish};
use super::{ASK, DOUBLE, JSON, TEXT};
use crate::openai::server::{Play, Server, answer, delta, ending};

fn body(model: &str, text: &str, more: &Value) -> String {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": text}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body.to_string()
}

/// The text of a streamed completion, joined.
fn streamed(got: &Got) -> String {
    let chunks = got.events().into_iter().filter(|(_, data)| data != "[DONE]");
    let text = |(_, data): (String, String)| {
        let chunk: Value = serde_json::from_str(&data).unwrap();
        chunk.pointer("/choices/0/delta/content").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    chunks.map(text).collect()
}

#[tokio::test]
async fn a_message_is_the_input_of_an_agent_and_its_answer_the_completion() {
    let model = Server::play([answer("{\"good\": true}")]).await;
    let served = Wish::of(&[("judge", JSON), ("double", DOUBLE)]).with_model_at(&model.base_url).start().await;
    let got = served.post("/v1/chat/completions", body("judge", "fine", &json!({}))).await;
    let reply = got.json();
    assert_eq!(reply["choices"][0]["message"]["content"], "{\"good\":true}");
    assert_eq!(reply["usage"], json!({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}));
    assert!(model.received()[0].body.contains("Judge fine"));
    // The inputs as an object.
    let without_model = Wish::of(&[("double", DOUBLE)]).start().await;
    let got = without_model.post("/v1/chat/completions", body("double", "{\"n\": 4}", &json!({}))).await;
    assert_eq!(got.json()["choices"][0]["message"]["content"], "{\"twice\":8}");
    let got = without_model.post("/v1/chat/completions", body("double", "{\"n\": 4, \"n\": 5}", &json!({}))).await;
    assert!(got.status == 400 && got.text.contains("the message is ambiguous"), "{}", got.text);
    // Parts of a content.
    let parts = json!({"model": "judge", "messages": [{"role": "user", "content": [{"type": "text", "text": "fi"}, {"type": "text", "text": "ne"}]}]});
    assert_eq!(served.post("/v1/chat/completions", parts.to_string()).await.status, 200);
    let models = served.get("/v1/models").await.json();
    assert_eq!(models["data"][1]["id"], "double");
    assert_eq!(served.get("/v1/models/double").await.json(), models["data"][1]);
    let unknown = served.get("/v1/models/doubel").await;
    assert!(unknown.status == 404 && unknown.text.contains("did you mean `double`"), "{}", unknown.text);
}

#[tokio::test]
async fn the_chunks_of_a_stream_join_to_the_whole_answer() {
    let model = Server::play([Play::events([delta("One "), delta("two"), ending("stop")])]).await;
    let served = Wish::of(&[("writer", TEXT)]).with_model_at(&model.base_url).start().await;
    let more = json!({"stream": true, "stream_options": {"include_usage": true}});
    let got = served.post("/v1/chat/completions", body("writer", "numbers", &more)).await;
    assert_eq!(streamed(&got), "One two");
    let events = got.events();
    assert_eq!(events.last().unwrap().1, "[DONE]");
    let usage: Value = serde_json::from_str(&events[events.len() - 2].1).unwrap();
    assert_eq!((&usage["usage"]["total_tokens"], &usage["choices"]), (&json!(17), &json!([])));
    let whole = served.post("/v1/chat/completions", body("writer", "numbers", &json!({}))).await;
    assert_eq!(whole.json()["choices"][0]["message"]["content"], "One two");
}

#[tokio::test]
async fn an_answer_is_streamed_only_when_it_is_checked() {
    let model = Server::play([answer("{\"good\": 3}"), answer("{\"good\": false}")]).await;
    let served = Wish::of(&[("judge", JSON)]).with_model_at(&model.base_url).start().await;
    let got = served.post("/v1/chat/completions", body("judge", "x", &json!({"stream": true}))).await;
    assert_eq!(streamed(&got), "{\"good\":false}");
}

#[tokio::test]
async fn text_that_was_sent_is_never_followed_by_another_reply() {
    // The first attempt breaks off after its start; the second one begins the same, or not.
    for (second, expected) in [("One two three", Some("One two three")), ("Another text", None)] {
        let plays = [Play::cut([delta("One ")]), answer(second)];
        let model = Server::play(plays).await;
        let served = Wish::of(&[("writer", TEXT)]).with_model_at(&model.base_url).start().await;
        let got = served.post("/v1/chat/completions", body("writer", "x", &json!({"stream": true}))).await;
        let error = got.events().into_iter().any(|(_, data)| data.contains("\"error\""));
        match expected {
            Some(text) => assert_eq!((streamed(&got).as_str(), error), (text, false), "{}", got.text),
            None => assert!(error && !got.text.contains("[DONE]") && !got.text.contains("Another"), "{}", got.text),
        }
    }
}

#[tokio::test]
async fn the_schema_of_a_request_is_checked_against_the_answer() {
    let model = Server::play([answer("{\"good\": true}")]).await;
    let served = Wish::of(&[("judge", JSON)]).with_model_at(&model.base_url).start().await;
    for (property, status) in [("good", 200), ("bad", 422)] {
        let schema = json!({"type": "object", "required": [property]});
        let more = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}});
        let got = served.post("/v1/chat/completions", body("judge", "x", &more)).await;
        assert_eq!(got.status, status, "{}", got.text);
    }
    let object = json!({"response_format": {"type": "json_object"}});
    assert_eq!(served.post("/v1/chat/completions", body("judge", "x", &object)).await.status, 200);
}

#[tokio::test]
async fn clients_are_asked_not_to_repeat_requests_that_would_start_another_run() {
    let ask = async |served: &Served, model: &str| {
        let asked = served.request("POST", "/v1/chat/completions").body(body(model, "{}", &json!({})));
        let reply = asked.send().await.unwrap();
        let header = |name: &str| reply.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (repeats, session) = (header("x-should-retry"), header("x-ptc-session"));
        let status = reply.status().as_u16();
        let error: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
        (status, repeats, session, error["error"]["code"].as_str().unwrap().to_owned())
    };
    let never = Some("false".to_owned());
    let served = Wish::of(&[("ask", ASK)]).start().await;
    // A run that waits: clients of this protocol repeat requests with status 409.
    let (status, repeats, session, code) = ask(&served, "ask").await;
    assert_eq!((status, repeats, code.as_str()), (422, never.clone(), "suspended"));
    assert_eq!(served.get(&format!("/runs/{}", session.unwrap())).await.status, 202);
    let (status, repeats, _, _) = ask(&served, "none").await;
    assert_eq!((status, repeats), (404, never.clone()));
    let broken = Play::json("401 Unauthorized", r#"{"error": {"message": "no"}}"#);
    let model = Server::play([broken, Play::silent([""; 0])]).await;
    let mut wish = Wish::of(&[("writer", TEXT)]).with_model_at(&model.base_url);
    wish.options.max_runs = 1;
    let served = wish.start().await;
    let (status, repeats, session, _) = ask(&served, "writer").await;
    assert_eq!((status, repeats, session.is_some()), (502, never, true));
    // A server that is busy may be asked again.
    let running = served.request("POST", "/v1/chat/completions").body(body("writer", "x", &json!({})));
    let running = tokio::spawn(running.send());
    while model.received().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (status, repeats, _, _) = ask(&served, "writer").await;
    assert_eq!((status, repeats), (429, None));
    running.abort();
}

#[tokio::test]
async fn completions_without_a_session_have_ids_of_their_own() {
    let mut wish = Wish::of(&[("double", DOUBLE), ("ask", ASK)]);
    wish.options.save = false;
    let served = wish.start().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let reply = served.post("/v1/chat/completions", body("double", "4", &json!({}))).await.json();
        ids.push(reply["id"].as_str().unwrap().to_owned());
    }
    ids.dedup();
    assert!(ids.len() == 3 && ids.iter().all(|id| id.starts_with("chatcmpl-")), "{ids:?}");
    let waits = served.post("/v1/chat/completions", body("ask", "{}", &json!({}))).await;
    assert!(
        waits.status == 422 && waits.text.contains("--no-save") && !waits.text.contains("/answers"),
        "{}",
        waits.text
    );
}

#[tokio::test]
async fn tokens_that_no_service_counted_are_no_zeros() {
    let uncounted = Play::events([
        delta("Words"),
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".to_owned(),
    ]);
    let model = Server::play([uncounted]).await;
    let served = Wish::of(&[("writer", TEXT)]).with_model_at(&model.base_url).start().await;
    let whole = served.post("/v1/chat/completions", body("writer", "x", &json!({}))).await.json();
    assert_eq!(whole["choices"][0]["message"]["content"], "Words");
    assert!(whole.get("usage").is_none(), "{whole}");
    let more = json!({"stream": true, "stream_options": {"include_usage": true}});
    let stream = served.post("/v1/chat/completions", body("writer", "x", &more)).await;
    assert!(streamed(&stream) == "Words" && !stream.text.contains("usage"), "{}", stream.text);
}

#[tokio::test]
async fn what_an_agent_cannot_do_is_refused_in_words() {
    let served = Wish::of(&[("judge", JSON), ("ask", ASK), ("writer", TEXT)]).start().await;
    let history = json!([{"role": "system", "content": "Be brief"}, {"role": "user", "content": "x"}]);
    let rows: &[(Value, u16, &str)] = &[
        (json!({"model": "judge", "messages": []}), 400, "`messages` is empty"),
        (json!({"model": "judge", "messages": history}), 400, "no history"),
        (json!({"model": "judge", "messages": [{"role": "assistant", "content": "x"}]}), 400, "not `user`"),
        (json!({"model": "judge", "messages": [{"role": "user"}]}), 400, "no content"),
        (
            json!({"model": "judge", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
            400,
            "only text",
        ),
        (json!({"model": "judge", "messages": [{"role": "user", "content": "x"}], "n": 2}), 400, "`n`"),
        (json!({"model": "judge", "messages": [{"role": "user", "content": "x"}], "tools": [{}]}), 400, "`tools`"),
        (
            json!({"model": "judge", "messages": [{"role": "user", "content": "x"}], "response_format": {"type": "xml"}}),
            400,
            "response_format",
        ),
        (json!({"model": "gpt", "messages": [{"role": "user", "content": "x"}]}), 404, "no agent `gpt`"),
        (json!({"model": "ask", "messages": [{"role": "user", "content": "{}"}]}), 422, "/answers"),
    ];
    let with = |model: &str, key: &str, value: Value| {
        let mut request = json!({"model": model, "messages": [{"role": "user", "content": "x"}]});
        request[key] = value;
        request
    };
    let types = [
        (with("judge", "stream", json!("true")), 400, "`stream` is neither true nor false"),
        (with("judge", "stream_options", json!(true)), 400, "`stream_options` is not an object"),
        (with("judge", "stream_options", json!({"include_usage": 1})), 400, "`include_usage`"),
        (with("judge", "n", json!("3")), 400, "`n` is not a whole number"),
        (with("judge", "n", json!(-1)), 400, "`n` is not a whole number"),
        (with("judge", "n", json!(2.5)), 400, "`n` is not a whole number"),
        (with("judge", "tools", json!({})), 400, "`tools` is not a list"),
        (with("judge", "model", json!(1)), 400, "`model` is not a string"),
        (with("judge", "messages", json!({"role": "user"})), 400, "`messages` is not a list"),
        (with("judge", "messages", json!(null)), 400, "`messages` is missing"),
        (with("judge", "messages", json!(["x"])), 400, "messages[0] is not an object"),
        (with("judge", "messages", json!([{"role": "user", "content": 1}])), 400, "neither a string nor a list"),
        (with("judge", "response_format", json!("json")), 400, "`response_format` is not an object"),
        (with("writer", "response_format", json!({"type": "json_object"})), 400, "is not a JSON object"),
    ];
    for (request, status, text) in rows.iter().chain(&types) {
        let got = served.post("/v1/chat/completions", request.to_string()).await;
        assert_eq!(got.status, *status, "{request}: {}", got.text);
        assert!(got.json()["error"]["message"].as_str().unwrap().contains(text), "{request}: {}", got.text);
    }
}
