//! Reading sessions: the header, the place of every line, the skeleton, and events on demand. Torn and damaged files are read as
//! far as they go.
//!
//! In: a file. Out: eight bytes of memory per event and the skeleton; texts stay in the file, so that a file may be larger than
//! the memory. It must never write to a session, nor hold a body that nobody asked for.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Skeleton;
use super::header::{FORMAT, Header, OLDEST_VERSION, VERSION};
use super::lines::Lines;
use super::numbers::{Numbers, Place};
use super::shell::shell_word;
use crate::event::{Address, Envelope, Event, Line, MessagePart, SentMessage};
use crate::record::MessageLog;

/// Bytes that are read from a file at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Why a session cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong and what to do.
    pub message: String,
    /// Only a newer program can read it: nothing is damaged.
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
    /// The last line has no line end: the program stopped while writing it. Nothing else was lost.
    pub torn: bool,
    /// What is wrong, in words.
    pub message: String,
}

/// A session: its header and where its readable events stand; the events themselves stay in the file until asked for.
#[derive(Debug)]
pub struct Session {
    /// The file.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// What could not be read.
    pub damage: Vec<Damage>,
    /// Where the whole lines end, in bytes from the start.
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

/// Opens a file to read. Anything else that has its name is refused: to open a pipe would wait for its writer.
pub(super) fn open_file(path: &Path) -> std::io::Result<File> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(std::io::Error::other(if found.is_dir() { "it is a folder" } else { "it is no regular file" }));
    }
    File::open(path)
}

impl Session {
    /// Reads a file: its header, and the place of every line.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_seeing(path, |_, _| {})
    }

    /// The same; `see` is shown every readable line, with its event where that was read.
    pub(super) fn open_seeing(path: &Path, see: impl FnMut(&Line<'_>, Option<Envelope>)) -> Result<Self, ReadError> {
        let fail = |error: std::io::Error| ReadError::new(path, format!("cannot be read: {error}"));
        let file = open_file(path).map_err(fail)?;
        let bytes = usize::try_from(file.metadata().map_err(fail)?.len()).unwrap_or(CHUNK_BYTES);
        let reader = BufReader::with_capacity(bytes.clamp(1, CHUNK_BYTES), file.try_clone().map_err(fail)?);
        Self::index(path, reader, Source::File(file), see)
    }

    /// Reads the bytes of a file; `path` is only named in errors.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, ReadError> {
        let mut session = Self::index(path, &*bytes, Source::Bytes(Cursor::default()), |_, _| {})?;
        session.source = Mutex::new(Source::Bytes(Cursor::new(bytes)));
        Ok(session)
    }

    /// The header of a file; nothing else of it is read.
    pub fn header_of(path: &Path) -> Result<Header, ReadError> {
        let fail = |message: String| ReadError::new(path, message);
        let file = open_file(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let mut line = Vec::new();
        BufReader::new(file).read_until(b'\n', &mut line).map_err(|error| fail(format!("cannot be read: {error}")))?;
        read_header(&line).map_err(fail)
    }

    /// When the session of this file was made, in Unix ms; `None` when its header cannot be read.
    pub fn created_ms(path: &Path) -> Option<i64> {
        Self::header_of(path).ok().map(|header| header.created_ms)
    }

    fn index(
        path: &Path,
        mut reader: impl BufRead,
        source: Source,
        mut see: impl FnMut(&Line<'_>, Option<Envelope>),
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
                return Err(fail(format!("{why}; nothing could be read")));
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
        let (mut number, mut numbers) = (1, Numbers::default());
        loop {
            let length = next(&mut line)?;
            if length == 0 {
                session.lines.close();
                return Ok(session);
            }
            number += 1;
            session.take(&line, at, number, &mut numbers, &mut see);
            at += length as u64;
        }
    }

    fn take(
        &mut self,
        line: &[u8],
        at: u64,
        number: usize,
        numbers: &mut Numbers,
        see: &mut impl FnMut(&Line<'_>, Option<Envelope>),
    ) {
        let Some(body) = line.strip_suffix(b"\n") else {
            let message = if self.is_being_written() {
                "it is not whole, another program is writing it now; everything before it is read"
            } else {
                "it is not whole, the program stopped while writing it; everything before it is kept"
            };
            self.damage.push(Damage { line: number, torn: true, message: message.to_owned() });
            return;
        };
        self.end = at + line.len() as u64;
        let read = serde_json::from_slice::<Line<'_>>(body).map_err(|error| words(&error));
        match read {
            Ok(read) => {
                let misplaced = match numbers.take(read.s) {
                    Place::Next { .. } => None,
                    Place::Gap { last, .. } => Some((last, "what stood between them is missing")),
                    Place::Back { last, .. } => Some((last, "it is repeated, or in the wrong place")),
                };
                if let Some((last, what)) = misplaced {
                    let message = format!("event {} follows event {last}: {what}", read.s);
                    self.damage.push(Damage { line: number, torn: false, message });
                }
                let event = self.skeleton.take(self.lines.len(), &read);
                see(&read, event);
                self.lines.push(at..at + body.len() as u64);
            }
            Err(error) => {
                numbers.skip();
                self.damage.push(Damage { line: number, torn: false, message: format!("it is not an event: {error}") });
            }
        }
    }

    /// Does another program hold the lock of the file? Systems that cannot say count as no.
    pub fn is_being_written(&self) -> bool {
        match &*self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::File(file) => match file.try_lock_shared() {
                Err(TryLockError::WouldBlock) => true,
                Ok(()) => file.unlock().is_err(),
                Err(TryLockError::Error(_)) => false,
            },
            Source::Bytes(_) => false,
        }
    }

    /// Its runs and turns.
    pub fn skeleton(&self) -> &Skeleton {
        &self.skeleton
    }

    /// How many bytes of the file the events at these places take.
    pub fn bytes_of(&self, places: impl IntoIterator<Item = usize>) -> u64 {
        places.into_iter().filter_map(|place| self.lines.get(place)).map(|bytes| bytes.end - bytes.start).sum()
    }

    /// How many events could be read.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.lines.len() == 0
    }

    /// The event at this place; `None` when there is none or its data is not readable.
    pub fn event(&self, place: usize) -> Option<Envelope> {
        Envelope::from_line(&self.line(place)?).ok()
    }

    /// The line of the event at this place as it stands in the file, without its line end; `None` when there is none or the file
    /// can no longer be read.
    pub fn line(&self, place: usize) -> Option<String> {
        let bytes = self.lines.get(place)?;
        let length = usize::try_from(bytes.end - bytes.start).ok()?;
        let line = self.source.lock().unwrap_or_else(PoisonError::into_inner).line(bytes.start, length).ok()?;
        String::from_utf8(line).ok()
    }

    /// Where the last `turn.end` stands, in bytes from the start of the file.
    pub(super) fn last_turn_end(&self) -> Option<u64> {
        let ends_turn = |place: &usize| {
            self.line(*place)
                .is_some_and(|text| serde_json::from_str::<Line<'_>>(&text).is_ok_and(|line| line.k == "turn.end"))
        };
        (0..self.len()).rev().find(ends_turn).and_then(|place| Some(self.lines.get(place)?.start))
    }

    /// The messages that were sent at a turn, rebuilt from the lines they stand in; `None` when no request was made there.
    pub fn request(&self, turn: &Address) -> Option<Vec<SentMessage>> {
        let (request, places) = self.places_of_request(turn)?;
        let (mut log, run) = (MessageLog::default(), turn.run_part());
        let events = places.into_iter().chain([request]).filter_map(|place| self.event(place));
        // Between the parts of a reply other runs may have spoken.
        events.filter(|event| event.run() == run).for_each(|event| log.apply(&event));
        log.request(turn)
    }

    /// Places of a turn's request, and of everything it is rebuilt from, in order.
    pub fn places_of_request(&self, turn: &Address) -> Option<(usize, Vec<usize>)> {
        let run = self.skeleton.run(&turn.run_part())?;
        let of_turn = self.skeleton.turn(turn)?.events.range();
        let (request, ranges) =
            of_turn.filter_map(|place| Some((place, self.event(place)?))).find_map(|(place, made)| {
                match made.event {
                    Event::RequestMade(request) if made.address == *turn => Some((place, request.messages)),
                    _ => None,
                }
            })?;
        let sent = run.messages.iter().enumerate().filter(|(m, _)| {
            u32::try_from(*m).is_ok_and(|m| ranges.iter().any(|(first, last)| (*first..=*last).contains(&m)))
        });
        let mut places: Vec<usize> = Vec::new();
        for (_, message) in sent {
            let envelope = self.event(*message);
            if let Some(Envelope { event: Event::Message(message), .. }) = &envelope {
                let replies = message.parts.iter().filter_map(|part| match part {
                    MessagePart::Reply { reply } => self.skeleton.turn(reply),
                    _ => None,
                });
                places.extend(replies.flat_map(|turn| turn.reply.range()));
            }
            places.push(*message);
        }
        places.sort_unstable();
        places.dedup();
        Some((request, places))
    }

    /// Shows every line with its place, in order, its data unread.
    pub fn visit(&self, mut see: impl FnMut(usize, &Line<'_>)) {
        for place in 0..self.len() {
            if let Some(text) = self.line(place)
                && let Ok(line) = serde_json::from_str(&text)
            {
                see(place, &line);
            }
        }
    }

    /// All readable events in order.
    pub fn events(&self) -> impl Iterator<Item = Envelope> + '_ {
        (0..self.len()).filter_map(|place| self.event(place))
    }

    /// The bytes of the file up to the end of its last whole line.
    pub fn whole_lines(&self) -> std::io::Result<Vec<u8>> {
        let length = usize::try_from(self.end).map_err(std::io::Error::other)?;
        self.source.lock().unwrap_or_else(PoisonError::into_inner).line(0, length)
    }

    /// What could be read and what not, in one line; `None` when everything could.
    pub fn damage_line(&self) -> Option<String> {
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

    /// The same and, where more than a torn last line is lost, the command that saves the rest.
    pub fn damage_report(&self) -> Option<String> {
        let line = self.damage_line()?;
        if self.damage.iter().all(|damage| damage.torn) {
            return Some(line);
        }
        Some(format!("{line}; {}", recovery(&self.path)))
    }
}

/// The command that saves what can be read of a file.
fn recovery(path: &Path) -> String {
    let name = shell_word(&path.to_string_lossy());
    format!("`ptc-workbench sessions recover {name}` saves what can be read as a new session")
}

/// What serde says about a line, without its own count of lines; a place only where it is one of the text.
fn words(error: &serde_json::Error) -> String {
    let said = error.to_string();
    match said.split_once(" at line 1 column ") {
        Some((what, column)) if !error.is_data() => format!("{what} at column {column}"),
        Some((what, _)) => what.to_owned(),
        None => said,
    }
}

fn read_header(line: &[u8]) -> Result<Header, String> {
    if line.is_empty() {
        return Err("the file is empty; there is no session in it".to_owned());
    }
    let header: Header =
        serde_json::from_slice(line).map_err(|error| format!("line 1 is not a session header ({})", words(&error)))?;
    if header.format != FORMAT {
        return Err(format!("line 1 names the format {:?}, expected {FORMAT:?}", header.format));
    }
    Ok(header)
}
