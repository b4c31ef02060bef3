//! What people wrote on sessions: tags, notes and marks, on a session or on a run or turn in it.
//!
//! In: `marks.jsonl` beside the sessions. Out: what holds now; later lines win. The file is only ever appended to, a line at a time
//! under a lock, so that two programs lose nothing to each other. Sessions are never touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::event::Address;

/// The file's name.
pub const MARKS_FILE: &str = "marks.jsonl";

/// What holds for one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// Its note.
    pub note: Option<String>,
    /// It is marked.
    pub marked: bool,
}

impl Mark {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One change, as a line of the file. What is absent stays as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Unix time in ms.
    pub t: i64,
    /// The session's id.
    pub session: String,
    /// The run or turn; the session as a whole when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Address>,
    /// Tags that it gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<String>,
    /// Tags that it loses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub del: Vec<String>,
    /// Its note; an empty one takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Marked or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<bool>,
}

/// Everything that people wrote on sessions.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    by_session: BTreeMap<String, BTreeMap<Option<Address>, Mark>>,
    /// Lines that could not be read, from 1.
    pub unreadable: Vec<usize>,
}

impl Marks {
    /// Reads the file of a folder; one that does not exist holds nothing.
    pub fn read(dir: &Path) -> io::Result<Self> {
        let bytes = match std::fs::read(dir.join(MARKS_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read?,
        };
        let mut marks = Self::default();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_slice::<Change>(line) {
                Ok(change) => marks.apply(change),
                Err(_) => marks.unreadable.push(number + 1),
            }
        }
        Ok(marks)
    }

    fn apply(&mut self, change: Change) {
        let places = self.by_session.entry(change.session).or_default();
        let mark = places.entry(change.at.clone()).or_default();
        mark.tags.extend(change.add);
        change.del.iter().for_each(|tag| _ = mark.tags.remove(tag));
        if let Some(note) = change.note {
            mark.note = (!note.is_empty()).then_some(note);
        }
        mark.marked = change.mark.unwrap_or(mark.marked);
        if mark.is_empty() {
            places.remove(&change.at);
        }
    }

    /// What is written on a session (`None`) and on the runs and turns in it.
    pub fn of_session(&self, id: &str) -> impl Iterator<Item = (Option<&Address>, &Mark)> {
        self.by_session.get(id).into_iter().flatten().map(|(at, mark)| (at.as_ref(), mark))
    }

    /// Returns the mark of a session (`at` is absent), or of a run or turn in it.
    pub fn get(&self, id: &str, at: Option<&Address>) -> Option<&Mark> {
        self.by_session.get(id)?.get(&at.cloned())
    }

    /// The same, empty where nothing is written.
    pub fn of(&self, id: &str, at: Option<&Address>) -> Mark {
        self.get(id, at).cloned().unwrap_or_default()
    }

    /// The sessions that something is written on.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.by_session.iter().filter(|(_, places)| !places.is_empty()).map(|(id, _)| id.as_str())
    }
}

/// Appends a change to the file of a folder. Waits for other programs that write it; a line that one of them left torn stays alone.
pub fn write_mark(dir: &Path, change: &Change) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(dir.join(MARKS_FILE))?;
    file.lock()?;
    let mut line = serde_json::to_vec(change)?;
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
    written
}
