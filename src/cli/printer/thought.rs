//! The text of a control object while it arrives: its thought, not the object around it.
//!
//! In: pieces of a reply. Out: the pieces of its thought; at the end its answer, or the reply itself when it is no such object.

use ptc_core::reply::AnswerShape;
use ptc_core::reply::control::partial_control;
use ptc_core::reply::stream::{JsonPush, ReplyPush};
use ptc_core::value::Json;

/// A reply that arrives.
pub(super) struct Thought {
    push: ReplyPush,
    text: String,
    /// Bytes of the thought that were given out.
    shown: usize,
}

impl Thought {
    pub(super) fn new() -> Self {
        Self { push: ReplyPush::new(AnswerShape::Object), text: String::new(), shown: 0 }
    }

    /// Takes a piece of the reply; gives what it adds to the thought.
    pub(super) fn take(&mut self, piece: &str) -> String {
        self.push.push(piece);
        self.text.push_str(piece);
        let object = self.object();
        let more = partial_control(&object).thought.and_then(|thought| thought.get(self.shown..)).unwrap_or_default();
        self.shown += more.len();
        more.to_owned()
    }

    /// The remaining text of the whole reply.
    pub(super) fn rest(&self) -> Option<Rest> {
        let object = self.object();
        let seen = partial_control(&object);
        match seen.answer {
            Some(answer) => Some(Rest::Answer(answer.as_str().map_or_else(|| answer.to_text(), ToOwned::to_owned))),
            None if self.shown > 0 || self.text.trim().is_empty() => None,
            None => Some(Rest::Raw(self.text.clone())),
        }
    }

    fn object(&self) -> Json {
        self.push.json().and_then(JsonPush::value).map(|partial| partial.json).unwrap_or_default()
    }
}

/// The text of a reply other than its thought.
pub(super) enum Rest {
    /// The final answer as text.
    Answer(String),
    /// The reply: it has no thought.
    Raw(String),
}
