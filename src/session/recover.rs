//! What can be read of a damaged session, as a new one.
//!
//! In: a file. Out: a session in which every readable event stands as it was, numbered anew, and a notice says what is missing. It
//! must never change the damaged file.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::Header;
use super::header::{Parent, SessionId, VERSION};
use crate::event::{Address, Envelope, Event, Line, Notice};

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
    /// What was not, line by line.
    pub lost: Vec<String>,
}

/// Writes what can be read of `damaged` into `dir` as the session of this id, made now (Unix ms). The file appears when it is whole.
pub fn recover(damaged: &Path, dir: &Path, id: SessionId, now_ms: i64) -> io::Result<Recovered> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(damaged)?);
    std::fs::create_dir_all(dir)?;
    let path = dir.join(id.file_name());
    let beside = dir.join(format!(".{}.new", id.file_name()));
    let written = write(&mut reader, damaged, &beside, Header::new(id.clone(), now_ms));
    let (events, lost) = match written.and_then(|done| std::fs::rename(&beside, &path).map(|()| done)) {
        Ok(done) => done,
        Err(error) => {
            std::fs::remove_file(&beside)?;
            return Err(error);
        }
    };
    Ok(Recovered { id, path, events, lost })
}

fn write(
    reader: &mut BufReader<File>,
    damaged: &Path,
    beside: &Path,
    header: Header,
) -> io::Result<(u64, Vec<String>)> {
    let mut out = Out { file: BufWriter::new(File::create(beside)?), at: 0, last_turn_end: None };
    let (mut events, mut lost, mut last_seq, mut last_ms) = (0, Vec::new(), 0, header.created_ms);
    let (mut line, mut number) = (Vec::new(), 0);
    let stem = damaged.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut header = Some(header);
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let body = line.strip_suffix(b"\n").unwrap_or(&line);
        if let Some(new) = header.take() {
            let old = serde_json::from_slice::<Header>(body).ok().filter(|old| old.min_reader <= VERSION);
            let session = old.as_ref().map_or(stem.clone(), |old| old.id.to_string());
            let parent = Parent::whole(session, "recover");
            out.line(&serde_json::to_string(&Header { parent: Some(parent), ..new })?)?;
            if old.is_some() {
                continue;
            }
            lost.push("line 1: it is not the header of a session".to_owned());
        }
        match serde_json::from_slice::<Line<'_>>(body) {
            Ok(old) => {
                if old.s > last_seq + 1 && lost.is_empty() {
                    lost.push(format!("line {number}: event {} follows event {last_seq}", old.s));
                }
                (last_seq, last_ms) = (old.s, old.t);
                events += 1;
                out.event(Line { s: events, ..old })?;
            }
            Err(_) if body.is_empty() => lost.push(format!("line {number}: it is empty")),
            Err(error) => lost.push(format!("line {number}: it is not an event: {error}")),
        }
    }
    let named = lost.iter().take(QUOTED).map(String::as_str).collect::<Vec<_>>().join("; ");
    let more = if lost.len() > QUOTED { format!(" and {} more", lost.len() - QUOTED) } else { String::new() };
    let text = format!("recovered from {}: {events} events; not readable: {named}{more}", damaged.display());
    let notice = Event::Notice(Notice { level: "warning".to_owned(), text });
    let notice = Envelope { seq: events + 1, at_ms: last_ms, address: Address::run(0), event: notice };
    out.line(&notice.to_line(None)?)?;
    out.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok((events, lost))
}

struct Out {
    file: BufWriter<File>,
    at: u64,
    last_turn_end: Option<u64>,
}

impl Out {
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
        self.line(&serde_json::to_string(&Line { b, ..line })?)
    }
}
