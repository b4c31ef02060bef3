//! Replies as messages repeat them.
//!
//! Which attempt of a turn counts is decided in [`crate::record`].

use std::collections::HashMap;

use super::{Address, NativeCall, Opaque};

/// The model's replies at each turn of a run.
pub type RunText = HashMap<Address, Said>;

/// A reply as an assistant message repeats it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// The attempt that it is of, from 1; 0 before the first. At a gate, a new text of the user is one more.
    pub attempt: u32,
    /// Its text.
    pub text: String,
    /// The tool calls it asks for.
    pub calls: Vec<NativeCall>,
    /// Reasoning that the provider wants to have back.
    pub opaque: Option<Opaque>,
}

/// The replies that messages of a run repeat.
pub trait Replies {
    /// The text and the native calls of a turn's reply.
    fn reply(&self, turn: &Address) -> Option<(&str, &[NativeCall])>;
}

impl Replies for RunText {
    fn reply(&self, turn: &Address) -> Option<(&str, &[NativeCall])> {
        self.get(turn).map(|said| (said.text.as_str(), said.calls.as_slice()))
    }
}
