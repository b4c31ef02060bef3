//! TOML files as documents: parsed to a JSON tree with positions, and read with typed accessors.
//!
//! In: TOML text. Out: a `Json` tree whose spans are byte ranges of the text (key order preserved, dates as ISO text),
//! or problems with key, position and correction. Unknown keys are errors, never ignored.

mod body_member;
mod entry;
mod error;
mod json_text;
mod key_doc;
mod toml;

pub use entry::{Entry, Key, Names, key_table, read_table, set};
pub(crate) use entry::{advice, belongs_in, out_of_range, suggested_name};
pub use error::{FileError, Problem, Problems};
pub use json_text::{JsonTextError, json_or_text, parse_json_text};
pub use key_doc::{KeyDoc, KeyLine, KeyTable};
pub use toml::{parse, to_inline, write_key};
