//! Recovers the readable events of a damaged session as a new session.
//!
//! In: a file. Out: a session that contains every readable event, renumbered. A notice marks each gap, so that the loss
//! is known wherever the lines are copied to; a final notice lists all lost lines. The damaged file is not changed.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::Header;
use super::header::{Parent, ParentKind, SessionId, VERSION};
use super::numbers::{SequenceCheck, SequenceNumbers};
use super::read::open_file;
use super::whole::write_atomically;
use crate::event::{Address, Envelope, Event, Line, Notice, NoticeLevel};

/// Maximum number of lost lines that the final notice lists.
const QUOTED: usize = 5;

/// Result of a recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The new session.
    pub id: SessionId,
    /// Its file.
    pub path: PathBuf,
    /// Number of recovered events.
    pub events: u64,
    /// Lost and suspicious lines, one description each.
    pub lost: Vec<String>,
}

/// Writes the readable events of `damaged` into `dir` as a new session with this id and creation time (Unix ms). The
/// file appears only when it is complete; fails when no event is readable.
pub fn recover(damaged: &Path, dir: &Path, id: SessionId, now_ms: i64) -> io::Result<RecoveryReport> {
    let mut reader = BufReader::with_capacity(1 << 20, open_file(damaged)?);
    let header = Header::new(id.clone(), now_ms);
    let written = write_atomically(dir, &id, |file| write(&mut reader, damaged, file, header));
    let (path, (events, lost)) = written.map_err(|refused| refused.error)?;
    Ok(RecoveryReport { id, path, events, lost })
}

fn write(
    reader: &mut BufReader<File>,
    damaged: &Path,
    file: &mut BufWriter<File>,
    header: Header,
) -> io::Result<(u64, Vec<String>)> {
    let mut out = EventWriter { file, at: 0, last: 0, last_turn_end: None };
    let (mut events, mut lost) = (0, Vec::new());
    let (mut numbers, mut seen) = (SequenceNumbers::default(), SeenLines::default());
    let (mut line, mut number) = (Vec::new(), 0);
    let mut found: Option<Header> = None;
    let mut last = LastEvent { at_ms: header.created_ms, run: Address::run(0) };
    let stem = damaged.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut pending_header = Some(header);
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let body = line.strip_suffix(b"\n").unwrap_or(&line);
        if pending_header.is_some() && found.is_none() {
            found = serde_json::from_slice::<Header>(body).ok().filter(|old| old.min_reader <= VERSION);
            if found.is_some() {
                // Lines before the header are not events of this session.
                numbers = SequenceNumbers::default();
                continue;
            }
        }
        let read = Line::parse(body);
        if number == 1 {
            lost.push("line 1: it is not a session header".to_owned());
        }
        match read {
            Ok(old) => {
                if let Some(new) = pending_header.take() {
                    let session = found.as_ref().map_or(stem.clone(), |old| old.id.to_string());
                    let parent = Some(Parent::whole(session, ParentKind::Recover));
                    // An imported or captured session cannot be replayed after recovery either.
                    let (imported, captured) =
                        found.as_mut().map(|old| (old.imported.take(), old.captured.take())).unwrap_or_default();
                    out.write_line(&serde_json::to_string(&Header { parent, imported, captured, ..new })?)?;
                }
                if !seen.insert(old.s, body) {
                    lost.push(format!("line {number}: event {} is a duplicate and was skipped", old.s));
                    continue;
                }
                let check = numbers.check(old.s);
                lost.extend(describe_check(old.s, check).map(|problem| format!("line {number}: {problem}")));
                out.write_gap(check.missing(), &last)?;
                last = LastEvent { at_ms: old.t, run: Address::from(&*old.r).root() };
                events += 1;
                out.write_event(old)?;
            }
            Err(error) if number > 1 => {
                numbers.skip();
                let problem =
                    if body.is_empty() { "it is empty".to_owned() } else { format!("it is not an event: {error}") };
                lost.push(format!("line {number}: {problem}"));
            }
            Err(_) => {}
        }
    }
    if events == 0 {
        return Err(io::Error::other("no line is an event; nothing was written"));
    }
    out.write_gap(numbers.unread(), &last)?;
    let named = lost.iter().take(QUOTED).map(String::as_str).collect::<Vec<_>>().join("; ");
    let more = if lost.len() > QUOTED { format!(" and {} more", lost.len() - QUOTED) } else { String::new() };
    let what = if lost.is_empty() { "nothing is missing".to_owned() } else { format!("damage: {named}{more}") };
    let text = format!("recovered from {}: {events} events; {what}", damaged.display());
    out.write_notice(Notice { level: NoticeLevel::Warning, text }, &last)?;
    Ok((events, lost))
}

/// The last recovered event.
struct LastEvent {
    at_ms: i64,
    run: Address,
}

/// Recovered lines: sequence numbers with the hash of the line.
#[derive(Default)]
struct SeenLines(HashSet<(u64, u64)>);

impl SeenLines {
    /// Records a line; returns whether it is new.
    fn insert(&mut self, seq: u64, line: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        self.0.insert((seq, hasher.finish()))
    }
}

/// Describes a problem with the sequence number of an event.
fn describe_check(seq: u64, check: SequenceCheck) -> Option<String> {
    match check {
        SequenceCheck::Next { .. } => None,
        SequenceCheck::Back { last, .. } => Some(format!("event {seq} follows event {last}; its position was kept")),
        SequenceCheck::Gap { last, missing, unread } => {
            let lost = if unread > 0 { ", unreadable lines included" } else { "" };
            let many = if missing == 1 { "1 is".to_owned() } else { format!("{missing} are") };
            Some(format!("event {seq} follows event {last}: {many} missing between them{lost}"))
        }
    }
}

struct EventWriter<'a> {
    file: &'a mut BufWriter<File>,
    at: u64,
    /// Sequence number of the last event written.
    last: u64,
    last_turn_end: Option<u64>,
}

impl EventWriter<'_> {
    fn write_line(&mut self, text: &str) -> io::Result<()> {
        self.at += text.len() as u64 + 1;
        self.file.write_all(text.as_bytes())?;
        self.file.write_all(b"\n")
    }

    fn write_event(&mut self, line: Line<'_>) -> io::Result<()> {
        let here = self.at;
        let ends_turn = line.k == "turn.end";
        let b = self.last_turn_end.filter(|_| ends_turn).map(|last| here - last);
        if ends_turn {
            self.last_turn_end = Some(here);
        }
        self.last += 1;
        self.write_line(&serde_json::to_string(&Line { s: self.last, b, ..line })?)
    }

    /// Writes a notice that events are missing here.
    fn write_gap(&mut self, missing: u64, last: &LastEvent) -> io::Result<()> {
        if missing == 0 {
            return Ok(());
        }
        let many = if missing == 1 { "1 event is".to_owned() } else { format!("{missing} events are") };
        let text = format!("{many} missing here: they were damaged in the session that this one was recovered from");
        self.write_notice(Notice { level: NoticeLevel::Lost, text }, last)
    }

    fn write_notice(&mut self, notice: Notice, last: &LastEvent) -> io::Result<()> {
        self.last += 1;
        let (seq, at_ms, address) = (self.last, last.at_ms, last.run.clone());
        self.write_line(&Envelope { seq, at_ms, address, event: Event::Notice(notice) }.to_line(None)?)
    }
}
