//! Digests of messages: two messages are compared without their texts.
//!
//! In: a message of a request, or a reply. Out: numbers. The reply and the message that repeats it have the same content, though clients trim
//! texts, write arguments again, and repeat items of the service's own tools that are neither text nor call. The ids of calls are compared
//! on their own: some clients replace them, or send none.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use ptc_core::value::json::Node;
use ptc_core::value::{Json, json};

use crate::event::{MessagePart, NativeCall, Role};
use crate::model::{CapturedMessage, CapturedRequest, media_of};

/// A digest of a message: role, text, calls and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest {
    /// Everything except the ids of calls.
    content: u64,
    /// The ids of its calls; 0 if none has one.
    call_ids: u64,
}

impl Digest {
    /// Returns the digest of a message of a request. For messages of the model, only the content that a reply has counts: texts and calls.
    pub fn of(message: &CapturedMessage) -> Self {
        if message.role != Role::Assistant {
            return Self::of_all(message);
        }
        let text = text_of(message, "assistant");
        // A reply has the text of a refusal if it has no other.
        let text = if text.trim().is_empty() { text_of(message, "refusal") } else { text };
        Self::new(message.role, &text, &calls_and_results(message), calls_of(message))
    }

    /// Returns the digest of a message of a request with all its parts.
    pub fn of_all(message: &CapturedMessage) -> Self {
        let texts = message.parts.iter().filter_map(|part| match part {
            MessagePart::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        Self::new(message.role, &texts.collect::<String>(), &calls_and_results(message), calls_of(message))
    }

    /// Returns the digest of a reply, as the next request repeats it.
    pub fn of_reply(text: &str, calls: &[NativeCall]) -> Self {
        Self::new(Role::Assistant, text, &calls.iter().map(call_text).collect::<Vec<_>>(), calls)
    }

    /// Returns whether two messages are equal except for the ids of their calls.
    pub(super) fn has_content_of(self, other: Self) -> bool {
        self.content == other.content
    }

    /// Returns the digest of the same message without the ids of its calls.
    #[must_use]
    pub(super) fn without_call_ids(self) -> Self {
        Self { call_ids: 0, ..self }
    }

    fn new<'m>(role: Role, text: &str, parts: &[String], calls: impl IntoIterator<Item = &'m NativeCall>) -> Self {
        let mut hasher = DefaultHasher::new();
        role.name().hash(&mut hasher);
        // Clients trim replies before they repeat them.
        text.trim().hash(&mut hasher);
        parts.hash(&mut hasher);
        Self { content: hasher.finish(), call_ids: ids_digest(calls) }
    }
}

/// A digest of the ids of calls, in order; 0 if none has one.
fn ids_digest<'m>(calls: impl IntoIterator<Item = &'m NativeCall>) -> u64 {
    let ids: Vec<&str> = calls.into_iter().map(|call| call.id.as_str()).collect();
    if ids.iter().all(|id| id.is_empty()) {
        return 0;
    }
    digest_of(&ids)
}

/// Returns the digest of a value.
pub(super) fn digest_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The calls of a message.
fn calls_of(message: &CapturedMessage) -> impl Iterator<Item = &NativeCall> {
    message.parts.iter().filter_map(|part| match part {
        MessagePart::Call { call } => Some(call),
        _ => None,
    })
}

/// The texts of a message in this section. Other parts have sections of their own.
fn text_of(message: &CapturedMessage, wanted: &str) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { section, text, .. } if section == wanted => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The calls and results of a message.
fn calls_and_results(message: &CapturedMessage) -> Vec<String> {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Call { call } => Some(call_text(call)),
        MessagePart::Result { call, result, .. } => Some(format!("{call} {result}")),
        // Other programs' files are texts that name them; their bytes are in the digests of files.
        MessagePart::Text { .. } | MessagePart::Reply { .. } | MessagePart::File { .. } => None,
    });
    texts.collect()
}

/// Name and arguments. Clients write the arguments again: with other blanks, in another order, with or without members that are null.
fn call_text(call: &NativeCall) -> String {
    let args = match call.args.trim() {
        "" => "{}".to_owned(),
        args => json::parse(args).map_or_else(|_| args.to_owned(), |args| ordered(&args).to_text()),
    };
    format!("{} {args}", call.name)
}

/// The same data with the members of objects in order, without those that are null.
fn ordered(data: &Json) -> Json {
    match &data.node {
        Node::List(items) => Json::list(items.iter().map(ordered)),
        Node::Object(members) => {
            let mut members: Vec<_> = members.iter().filter(|member| member.value.node != Node::Null).collect();
            members.sort_unstable_by(|one, other| one.key.cmp(&other.key));
            Json::object(members.into_iter().map(|member| (member.key.as_str(), ordered(&member.value))))
        }
        _ => data.clone(),
    }
}

/// Digests of the files in a request: the texts in their place have only type and size.
pub(super) fn file_digests(request: &CapturedRequest, body: &[u8]) -> Vec<u64> {
    let is_text = |part: &MessagePart| match part {
        MessagePart::Text { section, .. } => matches!(section.as_str(), "system" | "user" | "assistant" | "tool"),
        _ => true,
    };
    if request.messages.iter().flat_map(|message| &message.parts).all(is_text) {
        return Vec::new();
    }
    media_of(body).into_iter().map(|part| digest_of(&part.bytes)).collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::Protocol;
    use crate::model::{CapturedReply, Coding, Scrub};

    #[test]
    fn images_of_equal_size_have_different_digests() {
        let files = |byte: u8| {
            let image = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), vec![byte; 300]].concat();
            let url = format!("data:image/png;base64,{}", STANDARD.encode(image));
            let content = json!([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]);
            let body = json!({"model": "m", "messages": [{"role": "user", "content": content}]}).to_string();
            let read = CapturedRequest::read(Protocol::OpenAi, "/v1/chat/completions", body.as_bytes()).unwrap();
            file_digests(&read, body.as_bytes())
        };
        assert_eq!(files(1).len(), 1);
        assert_ne!(files(1), files(2));
    }

    #[test]
    fn arguments_that_are_written_again_are_the_same_call() {
        let call = |args: &str| NativeCall { id: "1".into(), name: "find".into(), args: args.into() };
        let of = |args: &str| Digest::of_reply(" ", &[call(args)]);
        for (one, other) in [
            (r#"{"a": 1}"#, r#"{"a":1}"#),
            (r#"{"a":1,"b":[{"c":1,"d":2}]}"#, r#"{"b":[{"d":2,"c":1}],"a":1}"#),
            (r#"{"command":["ls"],"user":null}"#, r#"{"command":["ls"]}"#),
            ("", "{}"),
            ("*** Begin Patch\n", "*** Begin Patch"),
        ] {
            assert_eq!(of(one), of(other), "{one}");
        }
        assert_ne!(of(r#"{"a":1}"#), of(r#"{"a":2}"#));
        assert_ne!(of("[1,2]"), of("[2,1]"));
    }

    #[test]
    fn calls_with_other_ids_have_the_same_content_and_those_without_any_have_no_ids() {
        let of =
            |id: &str| Digest::of_reply("so", &[NativeCall { id: id.into(), name: "find".into(), args: "{}".into() }]);
        assert_ne!(of("one"), of("other"));
        assert!(of("one").has_content_of(of("other")) && of("one").has_content_of(of("")));
        assert_eq!(of("one").without_call_ids(), of(""));
        assert!(!of("").has_content_of(Digest::of_reply("so", &[])));
    }

    /// The digests of a reply and of the message of the model in the request that repeats it.
    fn digests(protocol: Protocol, path: &str, reply: &Value, request: &Value) -> (Digest, Vec<Digest>) {
        let mut reader =
            CapturedReply::new(Some(protocol), 200, "application/json", Coding::Identity, Scrub::default());
        _ = reader.push(reply.to_string().as_bytes());
        let (_, outcome) = reader.finish();
        assert_eq!((outcome.error, outcome.is_whole), (None, true), "{reply}");
        let read = CapturedRequest::read(protocol, path, request.to_string().as_bytes()).unwrap();
        let of_model = read.messages.iter().filter(|message| message.role == Role::Assistant);
        (Digest::of_reply(&outcome.text, &outcome.calls), of_model.map(Digest::of).collect())
    }

    #[test]
    fn a_reply_and_the_message_that_repeats_it_have_one_digest_whatever_tools_it_used() {
        let responses = |items: Value| {
            let reply = json!({"id": "resp_1", "status": "completed", "output": items});
            let request = json!({"input": items});
            digests(Protocol::Responses, "/v1/responses", &reply, &request)
        };
        let text = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]});
        let container = json!({"type": "container_reference", "container_id": "x"});
        let rows = [
            json!([{"type": "reasoning", "summary": []}, {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "+a"}]),
            json!([text, {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"type": "exec", "command": ["ls"], "env": null}}]),
            json!([{"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}, {"type": "apply_patch_call", "call_id": "d", "operation": {}}]),
            json!([{"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"q": 1}}]),
            json!([{"type": "computer_call", "call_id": "c", "actions": [{"type": "click"}]}]),
            json!([{"type": "web_search_call", "id": "w", "action": {"type": "search"}}, text]),
            json!([{"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}, "environment": container},
                {"type": "shell_call_output", "call_id": "c", "output": []}, text]),
            json!([{"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}"}, {"type": "image_generation_call", "id": "i"}]),
            json!([{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]),
            json!([{"type": "function_call", "call_id": "c", "name": "now", "arguments": ""}]),
        ];
        for items in rows {
            let (reply, messages) = responses(items.clone());
            assert_eq!(messages, [reply], "{items}");
        }
        let content = json!([{"type": "text", "text": "let me look"},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, {"type": "text", "text": "so"}]);
        let (reply, messages) = digests(
            Protocol::Anthropic,
            "/v1/messages",
            &json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}),
            &json!({"messages": [{"role": "assistant", "content": content}]}),
        );
        assert_eq!(messages, [reply]);
        let parts = json!([{"text": "hm", "thought": true}, {"executableCode": {"code": "1"}}, {"text": "so"}]);
        let (reply, messages) = digests(
            Protocol::Gemini,
            "/v1beta/models/m:generateContent",
            &json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}),
            &json!({"contents": [{"role": "model", "parts": parts}]}),
        );
        assert_eq!(messages, [reply]);
        let custom = json!([{"id": "c", "type": "custom", "custom": {"name": "apply_patch", "input": "+a"}}]);
        let older = json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}});
        for message in [json!({"role": "assistant", "content": null, "tool_calls": custom}), older] {
            let (reply, messages) = digests(
                Protocol::OpenAi,
                "/v1/chat/completions",
                &json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}),
                &json!({"messages": [message]}),
            );
            // A call without an id gets one where the reply is read.
            let has_id = message.get("tool_calls").is_some();
            assert_eq!(messages, [if has_id { reply } else { reply.without_call_ids() }], "{message}");
        }
    }

    #[test]
    fn messages_that_differ_in_items_of_the_service_are_told_apart_where_everything_counts() {
        let message = |query: &str| {
            let item = MessagePart::Text { section: "web_search_call".into(), text: query.into(), untrusted: false };
            CapturedMessage { role: Role::Assistant, parts: vec![item] }
        };
        let (one, other) = (message("one"), message("other"));
        assert_eq!(Digest::of(&one), Digest::of(&other));
        assert_ne!(Digest::of_all(&one), Digest::of_all(&other));
    }
}
