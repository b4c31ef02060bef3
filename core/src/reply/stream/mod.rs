//! Replies that still arrive: the part of their JSON that can be shown.
//!
//! In: pieces of text as they arrive. Out: [`JsonState`] and [`PartialJson`] at any time. Each byte is examined once, however
//! the text is split. These readers only serve display; `extract` decides whether a finished reply holds an answer.

mod json;
mod reply;
mod state;

#[cfg(test)]
mod tests;

pub use json::JsonPush;
pub use reply::{ReplyPush, ReplyStage};
pub use state::{JsonState, JsonToken, LevelParts, OpenLevel, OuterKind, PartialJson, PathStep, Phase};
