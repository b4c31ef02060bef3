//! Our TOML files as documents: text ↔ a JSON tree with places, and typed reading of its parts.
//!
//! In: TOML text. Out: a `Json` tree whose spans are byte ranges of the text (key order kept, dates as ISO text), or problems that
//! name the key, the place and what to write instead. It must never guess: what it does not know is a problem, not a default.

mod about;
mod entry;
mod error;
mod toml;

pub use about::{About, KeyLine, KeyTable};
pub use entry::{Entry, Key, Names, key_table, read_table, set};
pub(crate) use entry::{advice, advised, out_of_range};
pub use error::{FileError, Problem, Problems};
pub use toml::{parse, to_inline, write_key};
