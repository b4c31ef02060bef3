//! Replies in all the shapes in which servers send them.

use proptest::prelude::*;
use ptc_workbench::event::{JsonText, Opaque, Options, PartKind, Role, StructuredBy, Tokens};
use ptc_workbench::model::{Adapter, Content, Finish, Message, Model, ModelEvent, Request};
use sha2::{Digest, Sha256};

use super::server::{Play, Server, answer, delta, ending};
use super::{ask_server, endpoint, model, request, request_json};

#[tokio::test]
async fn a_streamed_reply_is_reported_piece_by_piece() {
    let server = Server::play([Play::events([delta("Hel"), delta("lo"), ending("stop")])]).await;
    let asked = ask_server(&server, &model(&server), &request("hi")).await;
    let reply = asked.reply();
    assert_eq!((reply.text.as_str(), reply.attempt, reply.requests), ("Hello", 1, 1));
    assert_eq!(reply.finish, Some(Finish::Stop));
    assert_eq!(reply.model.as_deref(), Some("m-answering"));
    let usage = Tokens { input: 10, output: 7, cache_read: Some(4), ..Tokens::default() };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(reply.structured_by, None);
    assert!(reply.first_ms.is_some() && reply.queued_ms.is_some());
    let deltas: Vec<_> = asked.events.iter().filter(|event| matches!(event, ModelEvent::Delta { .. })).collect();
    assert_eq!(deltas.len(), 2);
    assert!(matches!(asked.events.first(), Some(ModelEvent::Sent(_))), "{:?}", asked.events);
    assert!(matches!(asked.events.last(), Some(ModelEvent::Wire(_))), "{:?}", asked.events);
    let raw = String::from_utf8(asked.raw(1)).unwrap();
    assert_eq!(raw, format!("{}{}{}", delta("Hel"), delta("lo"), ending("stop")));
}

#[tokio::test]
async fn the_request_holds_what_was_asked_for_and_nothing_else() {
    let server = Server::play([answer(r#"{"ok":true}"#)]).await;
    let mut asked_for = request_json("Say \"é😀\"\n");
    asked_for.messages.push(
        Message {
            role: Role::Assistant,
            parts: vec![
                Content::Reasoning(Opaque { provider: "other".into(), parts: JsonText::default() }),
                Content::Text("first".into()),
                Content::Text(" try".into()),
            ],
        }
        .into(),
    );
    asked_for.messages.push(Message::text(Role::User, "again").into());
    asked_for.options = Options {
        temperature: Some(0.2),
        max_tokens: Some(500),
        top_p: Some(0.9),
        stop: vec!["END".into()],
        seed: Some(42),
        reasoning: Some("low".into()),
        ..asked_for.options
    };
    let asked = ask_server(&server, &model(&server), &asked_for).await;
    let received = server.received().remove(0);
    assert!(received.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", received.head);
    assert_eq!(received.header("authorization"), "");
    let schema: serde_json::Value = serde_json::from_str(&asked_for.schema.as_ref().unwrap().to_text()).unwrap();
    let mut expected = serde_json::json!({
        "model": "m-asked",
        "messages": [
            {"role": "system", "content": "Answer with JSON."},
            {"role": "user", "content": "Say \"é😀\"\n"},
            {"role": "assistant", "content": "first try"},
            {"role": "user", "content": "again"},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.2, "max_tokens": 500, "top_p": 0.9, "stop": ["END"], "seed": 42, "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": {"name": "my_agent", "schema": schema, "strict": true}},
    });
    assert_eq!(received.json(), expected);
    let Some(ModelEvent::Sent(sent)) = asked.events.first() else { panic!("{:?}", asked.events) };
    expected.as_object_mut().unwrap().remove("messages");
    assert_eq!(serde_json::from_str::<serde_json::Value>(sent.frame.as_str()).unwrap(), expected);
    assert_eq!((sent.attempt, sent.provider.as_str()), (1, "local"));
    assert_eq!(sent.url, format!("{}/chat/completions", server.base_url));
    assert_eq!(sent.bytes, u64::try_from(received.body.len()).unwrap());
    assert_eq!(sent.sha, base16(&Sha256::digest(&received.body)));
    assert_eq!(sent.structured_by, Some(StructuredBy::JsonSchema));
    assert_eq!(asked.reply().structured_by, Some(StructuredBy::JsonSchema));
}

#[tokio::test]
async fn a_plain_request_has_no_options() {
    let server = Server::play([answer("ok")]).await;
    let bare = Request { system: None, ..request("hi") };
    ask_server(&server, &model(&server), &bare).await;
    let expected = serde_json::json!({"model": "m-asked", "messages": [{"role": "user", "content": "hi"}],
        "stream": true, "stream_options": {"include_usage": true}});
    assert_eq!(server.received().remove(0).json(), expected);
}

#[tokio::test]
async fn a_reply_may_come_at_once() {
    let whole = r#"{"model":"m-2","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},
        "finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let server = Server::play([Play::json("200 OK", whole)]).await;
    let mut plain = endpoint(&server);
    plain.stream = false;
    // The second model asks for a stream, and the server ignores it.
    for model in [Adapter::new(plain).unwrap(), model(&server)] {
        let asked = ask_server(&server, &model, &request("hi")).await;
        let reply = asked.reply();
        assert_eq!((reply.text.as_str(), reply.finish.clone()), ("Hello", Some(Finish::Length)));
        assert_eq!(reply.usage.map(|usage| (usage.input, usage.output)), Some((3, 2)));
        assert_eq!(asked.text_of(1, PartKind::Text), "Hello");
    }
    let bodies: Vec<_> = server.received().iter().map(|received| received.json()["stream"].clone()).collect();
    assert_eq!(bodies, [false, true]);
    assert!(server.received()[0].json().get("stream_options").is_none());
}

#[tokio::test]
async fn a_byte_order_mark_before_a_reply_is_skipped() {
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}"#;
    let stream = format!("\u{feff}{}{}", delta("a"), ending("stop"));
    for play in [Play::json("200 OK", format!("\u{feff}{whole}")), Play::events([stream])] {
        let server = Server::play([play]).await;
        let asked = ask_server(&server, &model(&server), &request("hi")).await;
        assert_eq!((asked.reply().text.as_str(), asked.reply().attempt), ("a", 1));
    }
}

#[tokio::test]
async fn reasoning_is_distinguished_from_the_answer() {
    let chunk = |key: &str, text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"{key}\":\"{text}\"}}}}]}}\n\n");
    let pieces = [chunk("reasoning_content", "let me "), chunk("reasoning", "think"), delta("42"), ending("stop")];
    let server = Server::play([Play::events(pieces)]).await;
    let asked = ask_server(&server, &model(&server), &request("hi")).await;
    assert_eq!(asked.reply().text, "42");
    assert_eq!(asked.text_of(1, PartKind::Reasoning), "let me think");
}

#[tokio::test]
async fn oddities_of_streams_are_read_over() {
    let cases = [
        ("comments and keep-alives", format!(": ping\n\n{}:\n\n{}", delta("a"), ending("stop"))),
        ("events of other names", format!("event: ping\ndata: hi\n\n{}{}", delta("a"), ending("stop"))),
        ("carriage returns", format!("{}{}", delta("a"), ending("stop")).replace('\n', "\r\n")),
        ("no end mark", format!("{}{}", delta("a"), ending("stop").replace("data: [DONE]\n\n", ""))),
        ("no last line end", format!("{}{}", delta("a"), ending("stop").trim_end())),
        ("no finish reason", format!("{}data: [DONE]\n\n", delta("a"))),
        ("rubbish after the end", format!("{}{}data: oops\n\n", delta("a"), ending("stop"))),
        ("an empty error", format!("data: {{\"error\":null,\"choices\":[]}}\n\n{}{}", delta("a"), ending("stop"))),
    ];
    for (what, stream) in cases {
        let server = Server::play([Play::events([stream])]).await;
        let asked = ask_server(&server, &model(&server), &request("hi")).await;
        assert_eq!(asked.result.as_ref().map(|reply| reply.text.as_str()), Ok("a"), "{what}");
    }
}

#[tokio::test]
async fn a_stream_cut_after_its_finish_reason_is_whole() {
    let last = ending("stop").split_inclusive("\n\n").next().unwrap().to_owned();
    let server = Server::play([Play::cut([delta("all of it"), last])]).await;
    let asked = ask_server(&server, &model(&server), &request("hi")).await;
    assert_eq!((asked.reply().text.as_str(), asked.reply().attempt), ("all of it", 1));
}

#[tokio::test]
async fn halves_of_an_emoji_in_two_deltas_become_one() {
    let half = |escape: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{escape}\"}}}}]}}\n\n");
    let pieces = [half("a\\ud83d"), half("\\ude00b"), half("\\ud83d"), ending("stop")];
    let server = Server::play([Play::events(pieces)]).await;
    let asked = ask_server(&server, &model(&server), &request("hi")).await;
    assert_eq!(asked.reply().text, "a😀b\u{fffd}");
    assert_eq!(asked.text_of(1, PartKind::Text), asked.reply().text);
}

#[tokio::test]
async fn finish_reasons_keep_their_meaning() {
    let cases = [
        ("stop", Finish::Stop),
        ("length", Finish::Length),
        ("tool_calls", Finish::ToolCalls),
        ("function_call", Finish::ToolCalls),
        ("mystery", Finish::Other("mystery".into())),
    ];
    for (word, finish) in cases {
        let server = Server::play([Play::events([delta("a"), ending(word)])]).await;
        let asked = ask_server(&server, &model(&server), &request("hi")).await;
        assert_eq!(asked.reply().finish, Some(finish));
    }
}

#[test]
fn the_model_names_itself_as_it_was_configured() {
    let mut endpoint = ptc_workbench::model::Endpoint::new("local", "m-1", "http://127.0.0.1:9/v1");
    endpoint.alias = "small".into();
    let info = Adapter::new(endpoint).unwrap().info();
    assert_eq!((info.alias.as_str(), info.provider.as_str(), info.id.as_str()), ("small", "local", "m-1"));
}

fn base16(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_split_of_a_stream_gives_the_same_reply(cuts in proptest::collection::vec(0usize..900, 0..12), one_by_one in any::<bool>()) {
        let half = "data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"\\ude00\"}}]}\r\n\r\n";
        let stream = format!(": hello\r\n\r\n{}{half}{}{}", delta("naïve 日本語 "), delta(" 🚀 end\n"), ending("stop"));
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<Vec<u8>> = if one_by_one {
            bytes.chunks(1).map(<[u8]>::to_vec).collect()
        } else {
            cuts.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (text, usage) = runtime.block_on(async {
            let server = Server::play([Play::events(pieces)]).await;
            let asked = ask_server(&server, &model(&server), &request("hi")).await;
            (asked.reply().text.clone(), asked.reply().usage)
        });
        prop_assert_eq!(text, "naïve 日本語 😀 🚀 end\n");
        prop_assert_eq!(usage.map(|usage| usage.input), Some(10));
    }
}
