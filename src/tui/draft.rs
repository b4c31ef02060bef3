//! A text under edit: the owner of text, cursor, selection and undo. Widgets are only views of it.
//!
//! In: edits by a user or by the program. Out: the text, positions, and the edit log that a recovery file keeps.
//! Every change goes through [`Draft::splice`], so undo survives loading, `$EDITOR` and any other programmatic change.

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub mod find;
mod long;
mod merge;
mod motion;

pub use long::Rows;
pub(super) use merge::merged_text;
pub use motion::Motion;

/// Bytes of removed and inserted text that the edit log keeps; the oldest edits go first.
const LOG_BYTES: usize = 8 << 20;

/// A text with its edit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    text: String,
    cursor: usize,
    /// The other end of the selection.
    anchor: Option<usize>,
    done: Vec<Edit>,
    undone: Vec<Edit>,
    /// Counts changes of the text.
    #[serde(skip)]
    version: u64,
    /// The next typed character may join the last edit.
    #[serde(skip)]
    joining: bool,
    /// Byte offsets of line starts after the first.
    #[serde(skip)]
    breaks: Vec<usize>,
    #[serde(skip)]
    long: long::LongLines,
}

/// One reversible change: at byte `at`, `removed` became `inserted`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Edit {
    at: usize,
    removed: String,
    inserted: String,
    /// The cursor before the change.
    cursor: usize,
}

impl Draft {
    /// A draft of this text, cursor at its start, nothing to undo.
    pub fn new(text: impl Into<String>) -> Self {
        let mut draft = Self { text: text.into(), ..Self::default() };
        draft.index();
        draft
    }

    /// A draft as it was kept in a recovery file; `None` when its parts do not fit each other.
    pub fn restored(mut self) -> Option<Self> {
        let fits = |at: usize| self.text.is_char_boundary(at);
        if !fits(self.cursor) || !self.anchor.is_none_or(fits) {
            return None;
        }
        if !self.log_fits() {
            self.done.clear();
            self.undone.clear();
        }
        self.index();
        Some(self)
    }

    /// Returns whether every edit of the undo and redo logs applies to the text.
    fn log_fits(&self) -> bool {
        let mut back = self.text.clone();
        let undo = self.done.iter().rev().all(|edit| replace(&mut back, edit.at, &edit.inserted, &edit.removed));
        let mut forth = self.text.clone();
        let redo = self.undone.iter().rev().all(|edit| replace(&mut forth, edit.at, &edit.removed, &edit.inserted));
        undo && redo
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Grows with every change of the text.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Byte offset of the cursor, on a character boundary.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The selected bytes; `None` when nothing is selected.
    pub fn selection(&self) -> Option<Range<usize>> {
        let anchor = self.anchor?;
        (anchor != self.cursor).then(|| anchor.min(self.cursor)..anchor.max(self.cursor))
    }

    /// The selected text.
    pub fn selected(&self) -> Option<&str> {
        self.text.get(self.selection()?)
    }

    /// Number of lines; an empty text has one.
    pub fn line_count(&self) -> usize {
        self.breaks.len() + 1
    }

    /// The line (from 0) that holds byte `at`.
    pub fn line_at(&self, at: usize) -> usize {
        self.breaks.partition_point(|start| *start <= at)
    }

    /// The bytes of a line without its line feed; empty after the last.
    pub fn line_range(&self, line: usize) -> Range<usize> {
        let start = if line == 0 { 0 } else { self.breaks.get(line - 1).copied().unwrap_or(self.text.len()) };
        let end = self.breaks.get(line).map_or(self.text.len(), |next| next - 1);
        start..end.max(start)
    }

    /// The text of a line.
    pub fn line(&self, line: usize) -> &str {
        self.text.get(self.line_range(line)).unwrap_or_default()
    }

    /// Types a text at the cursor, replacing the selection. Typed words join into one step of undo.
    pub fn insert(&mut self, text: &str) {
        let range = self.selection().unwrap_or(self.cursor..self.cursor);
        let typed = range.is_empty() && text.chars().count() == 1 && text != "\n";
        let joins = typed && self.joining && !(text == " " && self.ends_in_word());
        match self.done.last_mut() {
            Some(last) if joins && last.at + last.inserted.len() == self.cursor => {
                last.inserted.push_str(text);
                self.apply(range, text);
            }
            _ => self.splice(range, text),
        }
        self.joining = typed;
    }

    /// Pastes a text: line ends become line feeds, all of it is one step of undo.
    pub fn paste(&mut self, text: &str) {
        let range = self.selection().unwrap_or(self.cursor..self.cursor);
        if text.contains('\r') {
            self.splice(range, &text.replace("\r\n", "\n").replace('\r', "\n"));
        } else {
            self.splice(range, text);
        }
    }

    /// Removes the selection, or what lies between the cursor and where `motion` leads (columns: for moves by row).
    pub fn delete(&mut self, motion: Motion, columns: usize) {
        let range = self.selection().unwrap_or_else(|| {
            let to = self.target(motion, columns);
            to.min(self.cursor)..to.max(self.cursor)
        });
        if !range.is_empty() {
            self.splice(range, "");
        }
    }

    /// Makes the text equal to `text` as one step of undo; the common start and end stay untouched.
    pub fn replace_all(&mut self, text: &str) {
        let start = common_prefix(&self.text, text);
        let end = common_suffix(&self.text[start..], &text[start..]);
        let range = start..self.text.len() - end;
        let middle = &text[start..text.len() - end];
        if !range.is_empty() || !middle.is_empty() {
            self.splice(range, middle);
        }
    }

    /// Replaces a byte range, as one step of undo. Ranges that do not fit the text change nothing.
    pub fn splice(&mut self, range: Range<usize>, text: &str) {
        let Some(removed) = self.text.get(range.clone()).map(str::to_owned) else { return };
        self.done.push(Edit { at: range.start, removed, inserted: text.to_owned(), cursor: self.cursor });
        self.apply(range, text);
        self.trim_log();
    }

    /// Takes the last change back. Returns whether there was one.
    pub fn undo(&mut self) -> bool {
        let Some(edit) = self.done.pop() else { return false };
        self.write(edit.at..edit.at + edit.inserted.len(), &edit.removed);
        self.cursor = edit.cursor.min(self.text.len());
        self.undone.push(edit);
        true
    }

    /// Does the last undone change again. Returns whether there was one.
    pub fn redo(&mut self) -> bool {
        let Some(edit) = self.undone.pop() else { return false };
        self.write(edit.at..edit.at + edit.removed.len(), &edit.inserted);
        self.done.push(edit);
        true
    }

    /// The other draft in place of this one; versions continue to count.
    #[must_use]
    pub fn take_over(&self, other: Self) -> Self {
        Self { version: self.version + 1, ..other }
    }

    /// Returns whether a change can be undone.
    pub fn can_undo(&self) -> bool {
        !self.done.is_empty()
    }

    /// Returns whether a change can be redone.
    pub fn can_redo(&self) -> bool {
        !self.undone.is_empty()
    }

    /// Selects everything.
    pub fn select_all(&mut self) {
        self.anchor = Some(0);
        self.cursor = self.text.len();
        self.joining = false;
    }

    /// Selects the word that the cursor is in or after.
    pub fn select_word(&mut self) {
        let (start, end) = self.word_here();
        self.place(start, Reach::Move);
        self.place(end, Reach::Extend);
    }

    /// Puts the cursor at a byte; with `Extend` the selection grows to it.
    pub fn place(&mut self, at: usize, reach: Reach) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        match reach {
            Reach::Move => self.anchor = None,
            Reach::Extend => _ = self.anchor.get_or_insert(self.cursor),
        }
        self.cursor = at;
        self.joining = false;
    }

    /// Moves the cursor; `columns` is the wrap width for moves by row.
    pub fn go(&mut self, motion: Motion, reach: Reach, columns: usize) {
        let collapses = reach == Reach::Move && matches!(motion, Motion::Left | Motion::Right);
        let to = match self.selection() {
            Some(range) if collapses && motion == Motion::Left => range.start,
            Some(range) if collapses => range.end,
            _ => self.target(motion, columns),
        };
        self.place(to, reach);
    }

    fn ends_in_word(&self) -> bool {
        self.text[..self.cursor].chars().next_back().is_some_and(|c| !c.is_whitespace())
    }

    /// A new change by a user: writes it and forgets what was undone.
    fn apply(&mut self, range: Range<usize>, text: &str) {
        self.write(range, text);
        self.undone.clear();
    }

    /// The only place that changes the text. The cursor lands after what was written.
    fn write(&mut self, range: Range<usize>, text: &str) {
        let first = self.breaks.partition_point(|start| *start <= range.start);
        let last = self.breaks.partition_point(|start| *start <= range.end);
        for later in &mut self.breaks[last..] {
            *later = *later - range.len() + text.len();
        }
        let inserted = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| range.start + at + 1);
        self.breaks.splice(first..last, inserted);
        self.text.replace_range(range.clone(), text);
        self.cursor = range.start + text.len();
        self.anchor = None;
        self.joining = false;
        self.version += 1;
    }

    fn index(&mut self) {
        self.breaks = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1).collect();
    }

    fn trim_log(&mut self) {
        let mut bytes: usize = self.done.iter().map(|edit| edit.removed.len() + edit.inserted.len()).sum();
        while bytes > LOG_BYTES && self.done.len() > 1 {
            let oldest = self.done.remove(0);
            bytes -= oldest.removed.len() + oldest.inserted.len();
        }
    }
}

/// Effect of a move on the selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The selection ends.
    Move,
    /// The selection grows or shrinks.
    Extend,
}

fn replace(text: &mut String, at: usize, old: &str, new: &str) -> bool {
    let fits = text.get(at..at + old.len()) == Some(old);
    if fits {
        text.replace_range(at..at + old.len(), new);
    }
    fits
}

fn common_prefix(a: &str, b: &str) -> usize {
    let mut at = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    while !(a.is_char_boundary(at) && b.is_char_boundary(at)) {
        at -= 1;
    }
    at
}

fn common_suffix(a: &str, b: &str) -> usize {
    let mut length = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    while !(a.is_char_boundary(a.len() - length) && b.is_char_boundary(b.len() - length)) {
        length -= 1;
    }
    length
}

#[cfg(test)]
mod tests;
