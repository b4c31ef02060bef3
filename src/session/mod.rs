//! Sessions: append-only files of events, written by one recorder and read back even when torn or damaged.
//!
//! In: events. Out: files, and from files the same events again. A session file is never edited.

mod branch;
pub mod diff;
#[cfg(test)]
mod format_page;
mod header;
pub mod index;
mod journal;
mod ledger;
mod lines;
mod list;
mod marks;
mod numbers;
mod read;
mod record;
mod recover;
mod shell;
mod skeleton;
mod whole;

pub use crate::record::TurnState;
pub use branch::Prefix;
pub use header::{Group, Header, Imported, Parent, ParentKind, SessionId};
pub use journal::{Medium, Unwritten};
pub use ledger::Ledger;
pub use list::{FindError, LAST, SessionKey, Summary, find, list, summarize};
pub use marks::{MARKS_FILE, Mark, MarkChange, Marks, write_mark};
pub use read::{Damage, ReadError, Session};
pub use record::{Recorder, RecorderError, RecorderStatus};
pub use recover::{RecoveryReport, recover};
pub use shell::shell_word;
pub use skeleton::{EventRange, RunEntry, RunState, Skeleton, TurnEntry};
pub use whole::write_session;
