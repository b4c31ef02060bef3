//! Tags, notes, bookmarks and labels that users attach to sessions, runs and turns.
//!
//! In: `marks.jsonl` next to the sessions. Out: the current marks; later lines win. The file is only appended to, one
//! line at a time under a lock, so that concurrent programs lose nothing. Session files are not changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::label::Label;
use super::place::leads_to;
use crate::config::{create_private_dir, private_options};
use crate::event::Address;

/// File name.
pub const MARKS_FILE: &str = "marks.jsonl";

/// Mark of one session, run or turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// Its note.
    pub note: Option<String>,
    /// True if it is bookmarked.
    pub marked: bool,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
}

impl Mark {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A change of a mark, stored as one line. Absent fields leave the mark as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkChange {
    /// Unix time in ms.
    pub t: i64,
    /// The session's id.
    pub session: String,
    /// The run or turn; absent for the whole session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Address>,
    /// Tags to add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<String>,
    /// Tags to remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub del: Vec<String>,
    /// New note; an empty text removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// New bookmark state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<bool>,
    /// New label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    /// Removes the label.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlabel: bool,
}

/// All marks of a folder.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    by_session: BTreeMap<String, BTreeMap<Option<Address>, Mark>>,
    /// Numbers of unreadable lines, from 1.
    pub unreadable: Vec<usize>,
}

impl Marks {
    /// Reads the marks of a folder; a missing file is an empty list.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let bytes = match std::fs::read(dir.join(MARKS_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read?,
        };
        let mut marks = Self::default();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_slice::<MarkChange>(line) {
                Ok(change) => marks.apply(change),
                Err(_) => marks.unreadable.push(number + 1),
            }
        }
        Ok(marks)
    }

    fn apply(&mut self, change: MarkChange) {
        let by_address = self.by_session.entry(change.session).or_default();
        let mark = by_address.entry(change.at.clone()).or_default();
        mark.tags.extend(change.add);
        change.del.iter().for_each(|tag| _ = mark.tags.remove(tag));
        if let Some(note) = change.note {
            mark.note = (!note.is_empty()).then_some(note);
        }
        mark.marked = change.mark.unwrap_or(mark.marked);
        if change.unlabel || change.label.is_some() {
            mark.label = change.label;
        }
        if mark.is_empty() {
            by_address.remove(&change.at);
        }
    }

    /// Returns the marks of a session (`None`) and of its runs and turns.
    pub fn of_session(&self, id: &str) -> impl Iterator<Item = (Option<&Address>, &Mark)> {
        self.by_session.get(id).into_iter().flatten().map(|(at, mark)| (at.as_ref(), mark))
    }

    /// Returns the mark of a session (`at` is absent), or of a run or turn in it.
    pub fn get(&self, id: &str, at: Option<&Address>) -> Option<&Mark> {
        self.by_session.get(id)?.get(&at.cloned())
    }

    /// Returns the same mark, or an empty one.
    pub fn of(&self, id: &str, at: Option<&Address>) -> Mark {
        self.get(id, at).cloned().unwrap_or_default()
    }

    /// Returns the label of a session: that of the whole, else that of the last labelled run or turn in it.
    pub fn label_of(&self, id: &str) -> Option<&Label> {
        let own = self.get(id, None).and_then(|mark| mark.label.as_ref());
        own.or_else(|| self.of_session(id).filter_map(|(_, mark)| mark.label.as_ref()).last())
    }

    /// Returns the sessions that have marks.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.by_session.iter().filter(|(_, by_address)| !by_address.is_empty()).map(|(id, _)| id.as_str())
    }
}

/// Appends a change to the marks of a folder.
pub fn write_mark(dir: &Path, change: &MarkChange) -> io::Result<()> {
    append_line(dir, MARKS_FILE, change).map(drop)
}

/// Appends a value as a line to a file of a folder; returns the lengths of the file before and after, in bytes. Waits for other
/// writers; starts a new line after a torn one.
pub(super) fn append_line(dir: &Path, name: &str, value: &impl Serialize) -> io::Result<Range<u64>> {
    create_private_dir(dir)?;
    let path = dir.join(name);
    let mut file = loop {
        let file = private_options().read(true).append(true).create(true).open(&path)?;
        file.lock()?;
        // While this one waited for the lock, another program may have put a shorter file in its place.
        if leads_to(&path, &file)? {
            break file;
        }
    };
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    let length = file.seek(SeekFrom::End(0))?;
    if length > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            line.insert(0, b'\n');
        }
    }
    let written = file.write_all(&line).and_then(|()| file.sync_data());
    if written.is_err() {
        file.set_len(length)?;
    }
    written.map(|()| length..length + line.len() as u64)
}
