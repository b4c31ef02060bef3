//! Messages of the Responses API over a WebSocket.
//!
//! In: texts of messages. Out: what the relay needs of them, and their recorded form: an event of a stream for each message. It must never
//! change the text of a message.

use serde::Deserialize;
use serde_json::{Value, json};

use super::replies::StreamId;
use crate::model::CREATE;
use crate::proxy::written::WrittenReply;

/// The types of the messages that end a reply.
const LAST: [&str; 6] =
    ["response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done", "error"];

/// The members of a message by which it belongs to a reply.
#[derive(Debug, Deserialize)]
pub(in crate::proxy) struct MessageHead {
    #[serde(rename = "type", default)]
    kind: Value,
    /// Requests with the same id are answered one after the other, requests with different ones at once.
    #[serde(default)]
    stream_id: Value,
}

impl MessageHead {
    /// Reads a message; `None` for one that is not an object.
    pub(in crate::proxy) fn read(text: &str) -> Option<Self> {
        // A list would be read as the members in their order.
        if !text.trim_start().starts_with('{') {
            return None;
        }
        // The derived reader rejects a member that occurs twice; a `Value` keeps the last one, as most services do.
        serde_json::from_str(text).or_else(|_| serde_json::from_value(serde_json::from_str(text)?)).ok()
    }

    fn kind(&self) -> &str {
        self.kind.as_str().unwrap_or_default()
    }

    /// The stream of the message.
    pub(in crate::proxy) fn stream_id(&self) -> StreamId {
        match &self.stream_id {
            Value::Null => None,
            Value::String(id) => Some(id.clone()),
            other => Some(other.to_string()),
        }
    }

    /// Returns whether the message asks for a response.
    pub(in crate::proxy) fn is_request(&self) -> bool {
        self.kind() == CREATE
    }

    /// Returns whether the message is the first one of a reply.
    pub(in crate::proxy) fn is_first(&self) -> bool {
        self.kind() == "response.created"
    }

    /// Returns whether the message reports an error: of a request, or of another message of the client.
    pub(in crate::proxy) fn is_error(&self) -> bool {
        self.kind() == "error"
    }

    /// Returns whether the message is the last one of a reply.
    pub(in crate::proxy) fn is_last(&self) -> bool {
        LAST.contains(&self.kind())
    }
}

/// The recorded form of a message: an event. A carriage return between the members of a message becomes a line feed.
pub(in crate::proxy) fn event_of(text: &str) -> String {
    let lines: Vec<&str> = text.split(['\n', '\r']).collect();
    format!("data: {}\n\n", lines.join("\ndata: "))
}

/// The messages of a recorded reply: the data of its events. Messages may be longer than the events that the reader of streams accepts.
pub(in crate::proxy) fn messages_of(pieces: &[impl AsRef<[u8]>]) -> Vec<String> {
    let bytes: Vec<u8> = pieces.iter().flat_map(AsRef::as_ref).copied().collect();
    let (text, mut messages) = (String::from_utf8_lossy(&bytes), Vec::new());
    let mut data: Option<String> = None;
    for line in text.lines().chain([""]) {
        match line.strip_prefix("data:") {
            Some(value) => {
                let value = value.strip_prefix(' ').unwrap_or(value);
                data = Some(data.map_or_else(|| value.to_owned(), |before| format!("{before}\n{value}")));
            }
            None if line.is_empty() => messages.extend(data.take()),
            None => {}
        }
    }
    messages
}

/// The messages of a recorded reply for a request with this stream, which may have another name in the recording.
pub(in crate::proxy) fn replayed_messages(pieces: &[impl AsRef<[u8]>], stream: &StreamId) -> Vec<String> {
    let all = messages_of(pieces).into_iter();
    let is_other = |text: &str| MessageHead::read(text).is_some_and(|head| head.stream_id() != *stream);
    all.map(|text| if stream.is_some() && is_other(&text) { with_stream(text, stream) } else { text }).collect()
}

/// The messages of a reply that this program wrote, for a request with this stream.
pub(in crate::proxy) fn written_messages(reply: &WrittenReply, stream: &StreamId) -> Vec<String> {
    messages_of(&reply.pieces).into_iter().map(|text| with_stream(text, stream)).collect()
}

/// The message of an error, in the form of the service.
pub(in crate::proxy) fn error_message(status: u16, kind: &str, message: &str, stream: &StreamId) -> String {
    let error = json!({ "type": kind, "code": kind, "message": message, "param": null });
    with_stream(json!({ "type": "error", "status": status, "error": error }).to_string(), stream)
}

fn with_stream(text: String, stream: &StreamId) -> String {
    match (stream, serde_json::from_str::<Value>(&text)) {
        (Some(id), Ok(Value::Object(mut members))) => {
            members.insert("stream_id".to_owned(), id.as_str().into());
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
        let texts = [r#"{"type":"response.created"}"#, "{\n  \"type\": \"error\"\n}\n", "", "not JSON", "\n\n"];
        let pieces: Vec<String> = texts.iter().map(|text| event_of(text)).collect();
        assert_eq!(messages_of(&pieces), texts);
        assert_eq!(messages_of(&[event_of("{\r}")]), ["{\n}"]);
        assert_eq!(messages_of(&["event: a\r\ndata:{}\r\n\r\n: comment\n\ndata: last"]), ["{}", "last"]);
        let long = "x".repeat(20 << 20);
        assert!(messages_of(&[event_of(&long)]) == [long]);
    }

    #[test]
    fn a_recorded_message_has_the_stream_of_the_request() {
        let pieces = [event_of(r#"{"type": "a", "stream_id": "s1"}"#), event_of(r#"{"type":"b"}"#)];
        assert_eq!(replayed_messages(&pieces, &None), messages_of(&pieces));
        assert_eq!(replayed_messages(&pieces, &Some("s1".to_owned()))[0], messages_of(&pieces)[0]);
        let other = replayed_messages(&pieces, &Some("s2".to_owned()));
        assert_eq!(other, [r#"{"type":"a","stream_id":"s2"}"#, r#"{"type":"b","stream_id":"s2"}"#]);
    }

    #[test]
    fn only_the_own_members_of_a_message_count() {
        let read =
            |text: &str| MessageHead::read(text).map(|head| (head.is_request(), head.is_last(), head.stream_id()));
        let id = |id: &str| Some(id.to_owned());
        let own = r#"{"response":{"type":"error"},"type":"response.create","stream_id":"a"}"#;
        assert_eq!(read(own), Some((true, false, id("a"))));
        assert_eq!(read(r#"{"type":"error"}"#), Some((false, true, None)));
        // Requests that a service may take: rules and recordings apply to them.
        assert_eq!(read(r#"{"type":"response.create","stream_id":7}"#), Some((true, false, id("7"))));
        assert_eq!(read(r#"{"type":"x","type":"response.create","stream_id":null}"#), Some((true, false, None)));
        assert_eq!(read(r#"{"type":7}"#), Some((false, false, None)));
        assert!(["[1]", "{", ""].iter().all(|text| read(text).is_none()));
    }

    #[test]
    fn an_error_has_the_stream_of_its_request() {
        let error: Value =
            serde_json::from_str(&error_message(429, "rate_limit_error", "later", &Some("a".to_owned()))).unwrap();
        assert_eq!((&error["status"], &error["error"]["message"]), (&json!(429), &json!("later")));
        assert_eq!(error["stream_id"], "a");
    }
}
