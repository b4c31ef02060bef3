//! The 16-byte value shared by signature, template, reply and engine.
//!
//! In: JSON text or trees, programs. Out: JSON, readable text, comparisons. It must never store a key of JSON data as a
//! keyword: external keys are strings and are not interned.

mod drop;
mod extent;
mod function;
mod index_map;
pub mod json;
mod keyword;
mod list;
mod map;
pub mod number;
mod order;
mod pattern;
mod print;
mod set;
mod table;
mod table_iter;
mod time;
mod variants;

pub(crate) use drop::dismantle;
pub use extent::Extent;
pub(crate) use extent::{Parts, holders};
pub use function::{Function, FunctionBody, FunctionIdentity};
pub use json::Json;
pub use keyword::Keyword;
pub use list::List;
pub(crate) use map::Field;
pub use map::Map;
pub use num_bigint::BigInt;
pub(crate) use order::{address, has_uncharged, take_uncharged};
pub(crate) use pattern::{Captures, NonEmpty, Search, SearchError};
pub use pattern::{Regex, RegexError, RegexRules};
pub(crate) use print::shown;
pub use print::{Bounds, FloatDigits, PrintedValue};
pub use set::{Elements, Members, Set};
pub(crate) use table::Table;
pub use time::{Date, Duration, Instant, TimeError, Zone, ZonedInstant};
pub use variants::{Kind, Value};
