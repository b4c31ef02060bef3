//! Replies that still grow: what can already be shown of the JSON in them.
//!
//! In: pieces of text as they arrive. Out: [`State`] and [`Partial`] at any time. Each byte is looked at once, however the
//! text is cut into pieces. These readers only show; whether a finished reply holds an answer is for `extract` to say.

mod json;
mod reply;
mod state;

#[cfg(test)]
mod tests;

pub use json::JsonPush;
pub use reply::{ReplyPush, Stage};
pub use state::{Level, Outer, Partial, Parts, Phase, State, Step, Token};
