//! Reads sessions: the header, the offset of every line, the skeleton, and events on demand. Torn and damaged files are
//! read as far as possible.
//!
//! In: a file. Out: eight bytes of memory per event, and the skeleton. Bodies stay in the file, which may be larger
//! than the memory. It must never write to a session, nor cache bodies.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Skeleton;
use super::header::{FORMAT, Header, OLDEST_VERSION, VERSION};
use super::lines::Lines;
use super::numbers::{SequenceCheck, SequenceNumbers};
use super::shell::shell_word;
use crate::config::LockedFile;
use crate::event::{Address, Envelope, Event, Line, MessagePart, SentMessage};
use crate::record::MessageLog;

/// Read buffer size in bytes.
const CHUNK_BYTES: usize = 1 << 20;

/// Reason why a session cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// The problem and what to do next.
    pub message: String,
    /// The file is intact but needs a newer version of the program.
    pub is_newer: bool,
}

impl ReadError {
    pub(super) fn new(path: &Path, message: String) -> Self {
        Self { path: path.to_owned(), message, is_newer: false }
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for ReadError {}

/// A part of a session that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Line of the file, from 1.
    pub line: usize,
    /// The last line is incomplete because the program stopped while writing it. No earlier line is lost.
    pub torn: bool,
    /// Description of the damage.
    pub message: String,
}

/// An open session: its header and the offsets of its readable events; the events stay in the file.
#[derive(Debug)]
pub struct Session {
    /// The file.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// Parts that could not be read.
    pub damage: Vec<Damage>,
    /// Length of the complete lines in bytes.
    pub end: u64,
    source: Mutex<Source>,
    lines: Lines,
    skeleton: Skeleton,
}

#[derive(Debug)]
enum Source {
    File(File),
    Bytes(Cursor<Vec<u8>>),
}

impl Source {
    fn line(&mut self, start: u64, length: usize) -> std::io::Result<Vec<u8>> {
        let mut line = vec![0; length];
        match self {
            Self::File(file) => {
                file.seek(SeekFrom::Start(start))?;
                file.read_exact(&mut line)?;
            }
            Self::Bytes(bytes) => {
                bytes.set_position(start);
                bytes.read_exact(&mut line)?;
            }
        }
        Ok(line)
    }
}

/// Opens a regular file. Other file types are refused: opening a named pipe would block until it has a writer.
pub(super) fn open_file(path: &Path) -> std::io::Result<File> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(std::io::Error::other(if found.is_dir() { "it is a folder" } else { "it is not a regular file" }));
    }
    File::open(path)
}

impl Session {
    /// Opens a file: reads its header and the offset of every line.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_with(path, |_, _| {})
    }

    /// Opens a file and passes every readable line to `visit`, with its event if the skeleton parsed it.
    pub(super) fn open_with(path: &Path, visit: impl FnMut(&Line<'_>, Option<Envelope>)) -> Result<Self, ReadError> {
        let fail = |error: std::io::Error| ReadError::new(path, format!("cannot be read: {error}"));
        let file = open_file(path).map_err(fail)?;
        let bytes = usize::try_from(file.metadata().map_err(fail)?.len()).unwrap_or(CHUNK_BYTES);
        let reader = BufReader::with_capacity(bytes.clamp(1, CHUNK_BYTES), file.try_clone().map_err(fail)?);
        Self::index(path, reader, Source::File(file), visit)
    }

    /// Opens a session from bytes; `path` is only used in errors.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, ReadError> {
        let mut session = Self::index(path, &*bytes, Source::Bytes(Cursor::default()), |_, _| {})?;
        session.source = Mutex::new(Source::Bytes(Cursor::new(bytes)));
        Ok(session)
    }

    /// Reads the header of a file and nothing else.
    pub fn header_of(path: &Path) -> Result<Header, ReadError> {
        let fail = |message: String| ReadError::new(path, message);
        let file = open_file(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let mut line = Vec::new();
        BufReader::new(file).read_until(b'\n', &mut line).map_err(|error| fail(format!("cannot be read: {error}")))?;
        read_header(&line).map_err(fail)
    }

    /// Returns when the session of this file was created, in Unix ms; `None` when its header cannot be read.
    pub fn created_ms(path: &Path) -> Option<i64> {
        Self::header_of(path).ok().map(|header| header.created_ms)
    }

    fn index(
        path: &Path,
        mut reader: impl BufRead,
        source: Source,
        mut visit: impl FnMut(&Line<'_>, Option<Envelope>),
    ) -> Result<Self, ReadError> {
        let fail = |message: String| ReadError::new(path, message);
        let mut line = Vec::new();
        let mut next = |line: &mut Vec<u8>| {
            line.clear();
            reader.read_until(b'\n', line).map_err(|error| fail(format!("cannot be read: {error}")))
        };
        let mut at = next(&mut line)? as u64;
        let header = match read_header(&line) {
            Ok(header) => header,
            Err(why) if line.is_empty() => return Err(fail(why)),
            Err(why) => {
                while next(&mut line)? > 0 {
                    if serde_json::from_slice::<Line<'_>>(&line).is_ok() {
                        return Err(fail(format!("{why}; {}", recovery(path))));
                    }
                }
                return Err(fail(format!("{why}; no readable event follows")));
            }
        };
        if header.min_reader > VERSION {
            let message = format!(
                "it needs a reader of version {}, this program reads up to {VERSION}: use {} or newer",
                header.min_reader, header.program
            );
            return Err(ReadError { is_newer: true, ..fail(message) });
        }
        if header.version < OLDEST_VERSION {
            let message = format!(
                "it has version {} of the session format; this program reads versions from {OLDEST_VERSION}",
                header.version
            );
            return Err(fail(message));
        }
        let mut session = Self {
            path: path.to_owned(),
            header,
            damage: Vec::new(),
            end: at,
            source: Mutex::new(source),
            lines: Lines::default(),
            skeleton: Skeleton::default(),
        };
        let (mut number, mut numbers) = (1, SequenceNumbers::default());
        loop {
            let length = next(&mut line)?;
            if length == 0 {
                session.lines.shrink();
                return Ok(session);
            }
            number += 1;
            session.add_line(&line, at, number, &mut numbers, &mut visit);
            at += length as u64;
        }
    }

    fn add_line(
        &mut self,
        line: &[u8],
        at: u64,
        number: usize,
        numbers: &mut SequenceNumbers,
        visit: &mut impl FnMut(&Line<'_>, Option<Envelope>),
    ) {
        // Only the line break of the last line is missing where the program stopped between the two: the event is whole.
        let is_whole = |line: &[u8]| serde_json::from_slice::<Line<'_>>(line).is_ok() && !self.is_being_written();
        let Some(body) = line.strip_suffix(b"\n").or_else(|| is_whole(line).then_some(line)) else {
            let message = if self.is_being_written() {
                "it is incomplete because another program is writing it now; all events before it are read"
            } else {
                "it is incomplete because the program stopped while writing it; all events before it are kept"
            };
            self.damage.push(Damage { line: number, torn: true, message: message.to_owned() });
            return;
        };
        self.end = at + line.len() as u64;
        let read = Line::parse(body).map_err(|error| describe_json_error(&error));
        match read {
            Ok(read) => {
                let misplaced = match numbers.check(read.s) {
                    SequenceCheck::Next { .. } => None,
                    SequenceCheck::Gap { last, .. } => Some((last, "the events between them are missing")),
                    SequenceCheck::Back { last, .. } => Some((last, "it is repeated or out of order")),
                };
                if let Some((last, problem)) = misplaced {
                    let message = format!("event {} follows event {last}: {problem}", read.s);
                    self.damage.push(Damage { line: number, torn: false, message });
                }
                let event = self.skeleton.apply_line(self.lines.len(), &read);
                visit(&read, event);
                self.lines.push(at..at + body.len() as u64);
            }
            Err(error) => {
                numbers.skip();
                self.damage.push(Damage { line: number, torn: false, message: format!("it is not an event: {error}") });
            }
        }
    }

    /// Returns whether another program has locked the file; `false` on systems without such locks.
    pub fn is_being_written(&self) -> bool {
        match &*self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::File(file) => LockedFile::is_held_elsewhere(file),
            Source::Bytes(_) => false,
        }
    }

    /// Returns its runs and turns.
    pub fn skeleton(&self) -> &Skeleton {
        &self.skeleton
    }

    /// Returns the number of bytes that the events at these indexes occupy in the file.
    pub fn bytes_of(&self, indexes: impl IntoIterator<Item = usize>) -> u64 {
        indexes.into_iter().filter_map(|index| self.lines.get(index)).map(|bytes| bytes.end - bytes.start).sum()
    }

    /// Returns where the line of an event starts, in bytes.
    pub fn offset(&self, index: usize) -> Option<u64> {
        Some(self.lines.get(index)?.start)
    }

    /// Returns the number of readable events.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether it has no readable event.
    pub fn is_empty(&self) -> bool {
        self.lines.len() == 0
    }

    /// Returns the event at this index; `None` when it does not exist or its data is invalid.
    pub fn event(&self, index: usize) -> Option<Envelope> {
        Envelope::from_line(&self.line(index)?).ok()
    }

    /// Returns the line of the event at this index without its line end; `None` when it does not exist or the file can
    /// no longer be read.
    pub fn line(&self, index: usize) -> Option<String> {
        let bytes = self.lines.get(index)?;
        let length = usize::try_from(bytes.end - bytes.start).ok()?;
        let line = self.source.lock().unwrap_or_else(PoisonError::into_inner).line(bytes.start, length).ok()?;
        String::from_utf8(line).ok()
    }

    /// Returns the offset of the last `turn.end` in bytes.
    pub(super) fn last_turn_end(&self) -> Option<u64> {
        let ends_turn = |index: &usize| {
            self.line(*index)
                .is_some_and(|text| serde_json::from_str::<Line<'_>>(&text).is_ok_and(|line| line.k == "turn.end"))
        };
        (0..self.len()).rev().find(ends_turn).and_then(|index| Some(self.lines.get(index)?.start))
    }

    /// Returns the messages that a turn sent, rebuilt from their lines; `None` when the turn made no request.
    pub fn request(&self, turn: &Address) -> Option<Vec<SentMessage>> {
        let (request, indexes) = self.request_indexes(turn)?;
        let (mut log, run) = (MessageLog::default(), turn.run_part());
        let events = indexes.into_iter().chain([request]).filter_map(|index| self.event(index));
        // Events of other runs may lie between the parts of a reply.
        events.filter(|event| event.run() == run).for_each(|event| log.apply(&event));
        log.request(turn)
    }

    /// Returns the index of a turn's request, and the indexes of the events it is rebuilt from, in order.
    pub fn request_indexes(&self, turn: &Address) -> Option<(usize, Vec<usize>)> {
        let run = self.skeleton.run(&turn.run_part())?;
        let of_turn = self.skeleton.turn(turn)?.events.range();
        let (request, ranges) =
            of_turn.filter_map(|index| Some((index, self.event(index)?))).find_map(|(index, made)| {
                match made.event {
                    Event::RequestMade(request) if made.address == *turn => Some((index, request.messages)),
                    _ => None,
                }
            })?;
        let sent = run.messages.iter().enumerate().filter(|(m, _)| {
            u32::try_from(*m).is_ok_and(|m| ranges.iter().any(|(first, last)| (*first..=*last).contains(&m)))
        });
        let mut indexes: Vec<usize> = Vec::new();
        for (_, message) in sent {
            let envelope = self.event(*message);
            if let Some(Envelope { event: Event::MessageAdded(message), .. }) = &envelope {
                let replies = message.parts.iter().filter_map(|part| match part {
                    MessagePart::Reply { reply } => self.skeleton.turn(reply),
                    _ => None,
                });
                indexes.extend(replies.flat_map(|turn| turn.reply.range()));
            }
            indexes.push(*message);
        }
        indexes.sort_unstable();
        indexes.dedup();
        Some((request, indexes))
    }

    /// Passes every line with its index, in order, without parsing its data.
    pub fn visit(&self, mut visit: impl FnMut(usize, &Line<'_>)) {
        for index in 0..self.len() {
            if let Some(text) = self.line(index)
                && let Ok(line) = serde_json::from_str(&text)
            {
                visit(index, &line);
            }
        }
    }

    /// Returns all readable events in order.
    pub fn events(&self) -> impl Iterator<Item = Envelope> + '_ {
        (0..self.len()).filter_map(|index| self.event(index))
    }

    /// Returns the bytes of the file up to the end of its last complete line.
    pub fn complete_lines(&self) -> std::io::Result<Vec<u8>> {
        let length = usize::try_from(self.end).map_err(std::io::Error::other)?;
        self.source.lock().unwrap_or_else(PoisonError::into_inner).line(0, length)
    }

    /// Summarizes in one line how much could be read and the first damage; `None` for an undamaged session.
    pub fn damage_summary(&self) -> Option<String> {
        let first = self.damage.first()?;
        let more = match self.damage.len() {
            1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        let read = match self.len() {
            1 => "1 event".to_owned(),
            n => format!("{n} events"),
        };
        Some(format!("{read} could be read; line {}: {}{more}", first.line, first.message))
    }

    /// Returns the same summary and, unless only a torn last line is lost, the command that recovers the rest.
    pub fn damage_report(&self) -> Option<String> {
        let summary = self.damage_summary()?;
        if self.damage.iter().all(|damage| damage.torn) {
            return Some(summary);
        }
        Some(format!("{summary}; {}", recovery(&self.path)))
    }
}

/// Returns the command that recovers a damaged file.
fn recovery(path: &Path) -> String {
    let name = shell_word(&path.to_string_lossy());
    format!("`ptc-workbench sessions recover {name}` saves the readable events as a new session")
}

/// Returns serde's message without its line number, and with a column only for syntax errors.
fn describe_json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(" at line 1 column ") {
        Some((what, column)) if !error.is_data() => format!("{what} at column {column}"),
        Some((what, _)) => what.to_owned(),
        None => text,
    }
}

fn read_header(line: &[u8]) -> Result<Header, String> {
    if line.is_empty() {
        return Err("the file is empty and contains no session".to_owned());
    }
    let header: Header = serde_json::from_slice(line)
        .map_err(|error| format!("line 1 is not a session header ({})", describe_json_error(&error)))?;
    if header.format != FORMAT {
        return Err(format!("line 1 names the format {:?}, expected {FORMAT:?}", header.format));
    }
    Ok(header)
}
