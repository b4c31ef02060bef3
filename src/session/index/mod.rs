//! The index of a folder of sessions: lists and searches without opening every file.
//!
//! In: the folder. Out: summaries, matches. The files of the index lie in `index/` beside the sessions, hold nothing that the
//! sessions do not hold, and are made again when they are missing, damaged or of another version.

mod catalogue;
mod digest;
mod filter;
mod find;
mod query;
mod segment;

pub use catalogue::{Catalogue, Found, INDEX_FOLDER};
pub use digest::{Facts, Failure, Field};
pub use filter::{Filter, Flag, Number, Sign, Words};
pub use find::Match;
pub use query::{FILTERS, FilterRow, Query, QueryError, Reading, Term};
