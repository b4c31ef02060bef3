//! What can be read of a damaged session, as a new one.
//!
//! In: a file. Out: a session in which every readable event stands as it was, numbered anew. A notice stands wherever events are missing, so
//! that the loss is known wherever these lines are copied to, and one at the end says what was left out. It must never change the damaged file.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::Header;
use super::header::{Parent, ParentKind, SessionId, VERSION};
use super::numbers::{Numbers, Place};
use super::read::open_file;
use super::whole::appear;
use crate::event::{Address, Envelope, Event, Line, Notice, NoticeLevel};

/// Reports of lost lines that the notice quotes.
const QUOTED: usize = 5;

/// What became of a damaged session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The new session.
    pub id: SessionId,
    /// Its file.
    pub path: PathBuf,
    /// Events that were taken over.
    pub events: u64,
    /// What was not, and what is not as it should be, line by line.
    pub lost: Vec<String>,
}

/// Writes what can be read of `damaged` into `dir` as the session of this id, made now (Unix ms). The file appears when it is whole;
/// when no event can be read there is none, and an error.
pub fn recover(damaged: &Path, dir: &Path, id: SessionId, now_ms: i64) -> io::Result<Recovered> {
    let mut reader = BufReader::with_capacity(1 << 20, open_file(damaged)?);
    let header = Header::new(id.clone(), now_ms);
    let written = appear(dir, &id, |file| write(&mut reader, damaged, file, header));
    let (path, (events, lost)) = written.map_err(|refused| refused.error)?;
    Ok(Recovered { id, path, events, lost })
}

fn write(
    reader: &mut BufReader<File>,
    damaged: &Path,
    file: &mut BufWriter<File>,
    header: Header,
) -> io::Result<(u64, Vec<String>)> {
    let mut out = Out { file, at: 0, last: 0, last_turn_end: None };
    let (mut events, mut lost) = (0, Vec::new());
    let (mut numbers, mut seen) = (Numbers::default(), Seen::default());
    let (mut line, mut number) = (Vec::new(), 0);
    let mut found: Option<Header> = None;
    let mut last = Last { at_ms: header.created_ms, run: Address::run(0) };
    let stem = damaged.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut begin = Some(header);
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let body = line.strip_suffix(b"\n").unwrap_or(&line);
        if begin.is_some() && found.is_none() {
            found = serde_json::from_slice::<Header>(body).ok().filter(|old| old.min_reader <= VERSION);
            if found.is_some() {
                // What stood before it was no event of this session.
                numbers = Numbers::default();
                continue;
            }
        }
        let read = serde_json::from_slice::<Line<'_>>(body);
        if number == 1 {
            lost.push("line 1: it is not the header of a session".to_owned());
        }
        match read {
            Ok(old) => {
                if let Some(new) = begin.take() {
                    let session = found.as_ref().map_or(stem.clone(), |old| old.id.to_string());
                    let parent = Some(Parent::whole(session, ParentKind::Recover));
                    // What was imported cannot be replayed when it has been recovered either.
                    let imported = found.as_mut().and_then(|old| old.imported.take());
                    out.line(&serde_json::to_string(&Header { parent, imported, ..new })?)?;
                }
                if !seen.is_new(old.s, body) {
                    lost.push(format!("line {number}: event {} stands there again; it is left out", old.s));
                    continue;
                }
                let place = numbers.take(old.s);
                lost.extend(told(old.s, place).map(|what| format!("line {number}: {what}")));
                out.gap(place.missing(), &last)?;
                last = Last { at_ms: old.t, run: Address::from(&*old.r).root() };
                events += 1;
                out.event(old)?;
            }
            Err(error) if number > 1 => {
                numbers.skip();
                let what =
                    if body.is_empty() { "it is empty".to_owned() } else { format!("it is not an event: {error}") };
                lost.push(format!("line {number}: {what}"));
            }
            Err(_) => {}
        }
    }
    if events == 0 {
        return Err(io::Error::other("no line of it is an event; nothing was written"));
    }
    out.gap(numbers.unread(), &last)?;
    let named = lost.iter().take(QUOTED).map(String::as_str).collect::<Vec<_>>().join("; ");
    let more = if lost.len() > QUOTED { format!(" and {} more", lost.len() - QUOTED) } else { String::new() };
    let what = if lost.is_empty() { "nothing is missing".to_owned() } else { format!("damage: {named}{more}") };
    let text = format!("recovered from {}: {events} events; {what}", damaged.display());
    out.notice(Notice { level: NoticeLevel::Warning, text }, &last)?;
    Ok((events, lost))
}

/// The last event that was taken over.
struct Last {
    at_ms: i64,
    run: Address,
}

/// The lines that were taken: numbers with what stood behind them.
#[derive(Default)]
struct Seen(HashSet<(u64, u64)>);

impl Seen {
    /// Is this not the same line once more?
    fn is_new(&mut self, seq: u64, line: &[u8]) -> bool {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        self.0.insert((seq, hasher.finish()))
    }
}

/// What is wrong with the place of the event of this number.
fn told(seq: u64, place: Place) -> Option<String> {
    match place {
        Place::Next { .. } => None,
        Place::Back { last, .. } => Some(format!("event {seq} follows event {last}; it is kept where it stands")),
        Place::Gap { last, missing, unread } => {
            let lost = if unread > 0 { ", counting the lines that are not readable" } else { "" };
            let many = if missing == 1 { "1 is".to_owned() } else { format!("{missing} are") };
            Some(format!("event {seq} follows event {last}: {many} missing between them{lost}"))
        }
    }
}

struct Out<'a> {
    file: &'a mut BufWriter<File>,
    at: u64,
    /// Number of the last event.
    last: u64,
    last_turn_end: Option<u64>,
}

impl Out<'_> {
    fn line(&mut self, text: &str) -> io::Result<()> {
        self.at += text.len() as u64 + 1;
        self.file.write_all(text.as_bytes())?;
        self.file.write_all(b"\n")
    }

    fn event(&mut self, line: Line<'_>) -> io::Result<()> {
        let here = self.at;
        let ends_turn = line.k == "turn.end";
        let b = self.last_turn_end.filter(|_| ends_turn).map(|last| here - last);
        if ends_turn {
            self.last_turn_end = Some(here);
        }
        self.last += 1;
        self.line(&serde_json::to_string(&Line { s: self.last, b, ..line })?)
    }

    /// So many events are missing here.
    fn gap(&mut self, missing: u64, last: &Last) -> io::Result<()> {
        if missing == 0 {
            return Ok(());
        }
        let many = if missing == 1 { "1 event is".to_owned() } else { format!("{missing} events are") };
        let text = format!("{many} missing here: damage of the session that this one was recovered from");
        self.notice(Notice { level: NoticeLevel::Lost, text }, last)
    }

    fn notice(&mut self, notice: Notice, last: &Last) -> io::Result<()> {
        self.last += 1;
        let (seq, at_ms, address) = (self.last, last.at_ms, last.run.clone());
        self.line(&Envelope { seq, at_ms, address, event: Event::Notice(notice) }.to_line(None)?)
    }
}
