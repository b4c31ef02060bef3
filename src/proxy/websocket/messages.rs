//! Messages of the Responses API over a WebSocket.
//!
//! In: texts of messages. Out: what the relay needs of them, and their recorded form: an event of a stream for each message. It must never
//! change the text of a message.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{CREATE, event_texts};
use crate::proxy::written::WrittenReply;

/// The types of the messages that end a reply.
const LAST: [&str; 6] =
    ["response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done", "error"];

/// The members of a message by which it belongs to a reply.
#[derive(Debug, Deserialize)]
pub(in crate::proxy) struct MessageHead<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    /// Requests with the same id are answered one after the other, requests with different ones at once.
    #[serde(default)]
    pub(in crate::proxy) stream_id: Option<String>,
}

impl<'a> MessageHead<'a> {
    /// Reads a message; `None` for one that is not an object with these members.
    pub(in crate::proxy) fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns whether the message asks for a response.
    pub(in crate::proxy) fn is_request(&self) -> bool {
        self.kind == CREATE
    }

    /// Returns whether the message is the last one of a reply.
    pub(in crate::proxy) fn is_last(&self) -> bool {
        LAST.contains(&&*self.kind)
    }
}

/// The recorded form of a message.
pub(in crate::proxy) fn event_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    format!("data: {}\n\n", lines.join("\ndata: "))
}

/// The messages of a recorded reply.
pub(in crate::proxy) fn messages_of(pieces: &[impl AsRef<[u8]>]) -> Vec<String> {
    let bytes: Vec<u8> = pieces.iter().flat_map(AsRef::as_ref).copied().collect();
    event_texts(&bytes)
}

/// The messages of a reply that this program wrote, for a request with this stream.
pub(in crate::proxy) fn written_messages(reply: &WrittenReply, stream_id: Option<&str>) -> Vec<String> {
    messages_of(&reply.pieces).into_iter().map(|text| with_stream(text, stream_id)).collect()
}

/// The message of an error, in the form of the service.
pub(in crate::proxy) fn error_message(status: u16, kind: &str, message: &str, stream_id: Option<&str>) -> String {
    let error = json!({ "type": kind, "code": kind, "message": message, "param": null });
    with_stream(json!({ "type": "error", "status": status, "error": error }).to_string(), stream_id)
}

fn with_stream(text: String, stream_id: Option<&str>) -> String {
    match (stream_id, serde_json::from_str::<Value>(&text)) {
        (Some(id), Ok(Value::Object(mut members))) => {
            members.insert("stream_id".to_owned(), id.into());
            Value::Object(members).to_string()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_recorded_as_events_and_read_back() {
        let texts = [r#"{"type":"response.created"}"#, "{\n  \"type\": \"error\"\n}", "", "not JSON"];
        let pieces: Vec<String> = texts.iter().map(|text| event_of(text)).collect();
        assert_eq!(messages_of(&pieces), texts);
    }

    #[test]
    fn only_the_own_members_of_a_message_count() {
        let head = MessageHead::read(r#"{"response":{"type":"error"},"type":"response.create","stream_id":"a"}"#);
        let head = head.unwrap();
        assert_eq!((head.is_request(), head.is_last(), head.stream_id.as_deref()), (true, false, Some("a")));
        assert!(MessageHead::read(r#"{"type":"error"}"#).unwrap().is_last());
        assert!(MessageHead::read("[1]").is_none() && MessageHead::read(r#"{"type":7}"#).is_none());
    }

    #[test]
    fn an_error_has_the_stream_of_its_request() {
        let error: Value = serde_json::from_str(&error_message(429, "rate_limit_error", "later", Some("a"))).unwrap();
        assert_eq!((&error["status"], &error["error"]["message"]), (&json!(429), &json!("later")));
        assert_eq!(error["stream_id"], "a");
    }
}
