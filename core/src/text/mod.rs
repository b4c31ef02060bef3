//! Text: spans and positions in sources.

pub mod nearest;
pub mod span;

pub use nearest::nearest;
pub use span::{LineCol, Span};
