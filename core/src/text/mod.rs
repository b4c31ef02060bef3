//! Text: spans and positions in sources, text made safe for terminals, display width, colours, near names, names with stars.
//!
//! Everything here works on `&str` of any content and never fails.

pub mod lex;
pub mod nearest;
pub mod safe;
pub mod span;
pub mod stars;
pub mod tokens;
pub mod width;

pub use lex::{Token, TokenKind};
pub use nearest::{did_you_mean, nearest};
pub use safe::SafeText;
pub use span::{LineCol, Span};
pub use tokens::estimate_tokens;
