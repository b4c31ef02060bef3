//! The index of a folder of sessions: lists and searches without opening every file.
//!
//! In: the folder. Out: summaries and matches. The index files are stored in `index/` next to the sessions, contain
//! nothing that the sessions do not contain, and are rebuilt when they are missing, damaged or of another version.

mod catalogue;
mod digest;
mod failure;
mod filter;
mod find;
mod order;
mod query;
mod segment;

pub use catalogue::{Catalogue, FoundSession, INDEX_FOLDER};
pub use digest::{Facts, Field};
pub use failure::Failure;
pub use filter::{Filter, Flag, NumberCondition, Operator, WordList};
pub use find::SearchMatch;
pub use order::example_summaries;
pub use query::{FILTERS, FilterRow, Query, QueryError, Term, TermSyntax, text_notice};
