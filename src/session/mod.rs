//! Sessions: append-only files of events, written by one recorder and read back even when torn or damaged.
//!
//! In: events. Out: files, and from files the same events again. A session file is never edited.

mod attachments;
mod branch;
mod copy;
#[doc(hidden)]
pub mod diff;
#[cfg(test)]
mod format_page;
mod header;
#[doc(hidden)]
pub mod index;
mod journal;
mod label;
mod ledger;
mod lines;
mod list;
mod marks;
mod numbers;
mod place;
mod read;
mod record;
mod recover;
mod rulings;
mod shell;
mod skeleton;
mod whole;
mod writer;

pub use attachments::{AttachmentStore, FILES, copy_files};
pub use header::{CaptureSource, Group, Header, ImportSource, Parent, ParentKind, SessionId};
pub use journal::UnwrittenEvents;
pub(crate) use list::ids_of_name;
pub use list::{FindError, SessionKey, Summary, find, list, summarize};
pub use read::{Damage, ReadError, Session};
pub use record::{Recorder, RecorderError, RecorderStatus};
pub use recover::{RecoveryReport, recover};

#[doc(hidden)]
pub use {
    crate::record::TurnState,
    branch::Prefix,
    journal::Medium,
    label::{Grade, Label},
    ledger::Ledger,
    list::LAST,
    marks::{MARKS_FILE, Mark, MarkChange, Marks, write_mark},
    place::WrittenFile,
    rulings::{SessionRuling, read_rulings, write_ruling},
    shell::shell_word,
    skeleton::{EventRange, RunEntry, RunState, Skeleton, TurnEntry},
    whole::write_session,
    writer::SessionWriter,
};
