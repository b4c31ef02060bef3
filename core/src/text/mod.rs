//! Text: spans and positions in sources.

pub mod span;
pub use span::{LineCol, Span};
