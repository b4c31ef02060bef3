//! The request of a turn as it was sent: the system text and the messages, with calls and results as data.
//!
//! In: a Step and one of its turns. Out: a [`SentRequest`]. Everything that shows or exports a request takes it from here; calls and
//! results are paired by the function that the bodies of requests are made with. It must never join a call to the text before it.

use std::sync::Arc;

use ptc_core::value::Json;

use super::{Step, Turn};
use crate::event::{NativeCall, Role, SentMessage};
use crate::model::{Message, accepted, arguments, request_lines};

/// The request of a turn, as sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SentRequest {
    /// The system text.
    pub system: Option<String>,
    /// The other messages, oldest first.
    pub messages: Vec<RequestMessage>,
}

/// A message of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestMessage {
    /// Number of the message of the run that it is from.
    pub m: u32,
    /// The role.
    pub role: Role,
    /// The text; of a tool its result as JSON text.
    pub content: String,
    /// The calls that the messages after it answer. A call without a result is sent as text.
    pub tool_calls: Vec<SentCall>,
    /// The id of the call whose result it is.
    pub tool_call_id: Option<String>,
}

/// A native tool call as it was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct SentCall {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments: an object.
    pub arguments: Json,
}

impl SentCall {
    fn of(call: &NativeCall) -> Self {
        Self { id: call.id.clone(), name: accepted(&call.name, "unknown"), arguments: arguments(call) }
    }
}

impl SentRequest {
    /// The request that sent these messages, in order.
    pub fn of<'s>(sent: impl IntoIterator<Item = &'s SentMessage>) -> Self {
        let (system, others): (Vec<_>, Vec<_>) = sent.into_iter().partition(|message| message.role == Role::System);
        let numbers: Vec<u32> = others.iter().map(|message| message.m).collect();
        let messages: Vec<Arc<Message>> = others.into_iter().map(|message| Arc::new(message.into())).collect();
        let lines = request_lines(&messages, "").into_iter().map(|line| RequestMessage {
            m: numbers.get(line.place).copied().unwrap_or_default(),
            role: line.role,
            tool_calls: line.calls.iter().map(|call| SentCall::of(call)).collect(),
            tool_call_id: line.answers.as_ref().map(|answer| answer.id.to_owned()),
            content: line.answers.map_or(line.text, |answer| answer.result.to_owned()),
        });
        let texts: Vec<String> = system.into_iter().map(SentMessage::text).collect();
        Self { system: (!texts.is_empty()).then(|| texts.concat()), messages: lines.collect() }
    }
}

impl Step {
    /// The request of a turn as it was sent.
    pub fn request(&self, turn: &Turn) -> SentRequest {
        SentRequest::of(self.sent(turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{SentPart, Source};

    fn call(id: &str) -> NativeCall {
        NativeCall { id: id.to_owned(), name: "price".to_owned(), args: r#"{"item":"tea"}"#.to_owned() }
    }

    fn message(m: u32, role: Role, parts: Vec<SentPart>) -> SentMessage {
        SentMessage { m, role, source: Source::Prompt, parts }
    }

    fn text(text: &str) -> SentPart {
        SentPart::Text { section: "reply".to_owned(), text: text.to_owned() }
    }

    fn result(id: &str) -> SentPart {
        SentPart::Result { call: id.to_owned(), name: "price".to_owned(), result: "7".to_owned() }
    }

    #[test]
    fn calls_with_a_result_are_data_and_others_are_text_on_a_line_of_their_own() {
        let sent = [
            message(0, Role::System, vec![text("be brief")]),
            message(1, Role::User, vec![text("how much?")]),
            message(
                2,
                Role::Assistant,
                vec![text("Let me look."), SentPart::Call(call("a")), SentPart::Call(call("b"))],
            ),
            message(3, Role::Tool, vec![result("a")]),
        ];
        let request = SentRequest::of(&sent);
        assert_eq!(request.system.as_deref(), Some("be brief"));
        let [_, assistant, tool] = request.messages.as_slice() else { panic!("{request:?}") };
        assert_eq!(assistant.content, "Let me look.\nprice {\"item\":\"tea\"}");
        assert_eq!(assistant.tool_calls, [SentCall::of(&call("a"))]);
        assert_eq!((tool.role, tool.content.as_str(), tool.tool_call_id.as_deref()), (Role::Tool, "7", Some("a")));
    }
}
