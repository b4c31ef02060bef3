//! Bodies that are no text, or not what their type says: recorded byte for byte, and read as far as they can be.

use ptc_workbench::event::Event;
use ptc_workbench::workbench::{agent_of_request, sent_bytes};

use super::kit::{Proxied, fetch};
use crate::openai::server::{Play, answer, delta, ending};

#[tokio::test]
async fn a_body_that_is_no_text_is_printed_as_it_was_sent_and_makes_no_agent() {
    let body = b"\x1b[31m\xff\xfe{\"model\": \"m\"".to_vec();
    let proxied = Proxied::play([answer("fine")]).await;
    assert!(fetch(proxied.post("/v1/chat/completions", body.clone())).await.is_whole);
    let (sessions, _dir) = proxied.end().await;
    assert_eq!(sent_bytes(&sessions[0], "r0/t1").unwrap(), body);
    let refused = agent_of_request(&sessions[0], &"r0/t1".into(), "agent").unwrap_err();
    assert!(refused.message.contains("no message of the request at r0/t1 could be read"), "{}", refused.message);
}

#[tokio::test]
async fn replies_are_read_by_their_content_with_or_without_a_byte_order_mark() {
    let stream = format!("{}{}", delta("streamed"), ending("stop"));
    let json = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"whole"},"finish_reason":"stop"}]}"#;
    for (head, body, text) in [
        ("content-type: application/json\r\n", stream.clone(), "\"streamed\""),
        ("", stream.clone(), "\"streamed\""),
        ("content-type: text/event-stream\r\n", format!("\u{feff}{stream}"), "\"streamed\""),
        ("content-type: application/json\r\n", format!("\u{feff}{json}"), "\"whole\""),
    ] {
        let proxied = Proxied::play([Play::page("200 OK", head, body.clone())]).await;
        assert_eq!(proxied.chat(&[("user", "hi")]).await.text(), body);
        let (sessions, _dir) = proxied.end().await;
        let value = sessions[0].events().find_map(|envelope| match envelope.event {
            Event::RunEnd(end) => end.value.map(|value| value.json().to_text()),
            _ => None,
        });
        assert_eq!(value.as_deref(), Some(text), "{head}{body}");
    }
}
