//! Sessions: append-only files of events. Written by one recorder, read back whole or torn, folded into Steps and skeletons.
//!
//! In: events. Out: files, and from files the same events again. A session file is never edited.

mod branch;
mod header;
mod list;
mod read;
mod record;
mod skeleton;

pub use branch::Prefix;
pub use header::{Header, Parent, SessionId};
pub use list::{FindError, LAST, Summary, find, list, summarize};
pub use read::{Damage, ReadError, Session};
pub use record::{Recorder, RecorderError};
pub use skeleton::{RunEntry, RunState, Skeleton, TurnEntry, TurnState};
