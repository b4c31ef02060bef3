//! Rulings of judges on sessions, as lines in `rulings.jsonl` next to them.
//!
//! In: rulings, each with the session that it is about. Out: the rulings on a session, oldest first. The file can be deleted: the
//! sessions of the judges have the same rulings. Session files are not changed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::marks::append_line;
use super::place::leads_to;
use crate::agent::Ruling;
use crate::config::create_private_file;

/// File name.
const RULINGS_FILE: &str = "rulings.jsonl";
/// Length from which replaced rulings are dropped, in bytes.
const COMPACT_FROM: u64 = 1024 * 1024;
/// Longest line that is read, in bytes.
const MOST_LINE: usize = 4 * 1024 * 1024;

/// A ruling and the session that it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRuling {
    /// Unix time in ms.
    pub t: i64,
    /// The session's id.
    pub session: String,
    /// The ruling.
    #[serde(flatten)]
    pub ruling: Ruling,
}

/// Appends a ruling to those of a folder. Waits for other writers. When most lines of a long file are replaced by later ones, they are
/// dropped.
pub fn write_ruling(dir: &Path, ruled: &SessionRuling) -> io::Result<()> {
    let lengths = append_line(dir, RULINGS_FILE, ruled)?;
    if is_compaction_due(&lengths) { compact(&dir.join(RULINGS_FILE)) } else { Ok(()) }
}

/// Returns whether the file has reached [`COMPACT_FROM`], or doubled again since. Each line is then read a bounded number of times,
/// however many follow.
fn is_compaction_due(lengths: &Range<u64>) -> bool {
    let size = |length: u64| (length / COMPACT_FROM).checked_ilog2();
    size(lengths.start) != size(lengths.end)
}

/// Replaces the file by one without the rulings that later ones replace, if those are most of its lines. Other lines stay as they are,
/// unreadable ones too. A crash leaves the old file or the new one.
fn compact(path: &Path) -> io::Result<()> {
    let path = path.canonicalize()?;
    let file = File::open(&path)?;
    file.lock()?;
    if cfg!(not(unix)) || !leads_to(&path, &file)? {
        // Another program compacted it; where open files cannot be replaced, it grows.
        return Ok(());
    }
    let (mut last, mut lines): (HashMap<[u8; 32], u64>, u64) = (HashMap::new(), 0);
    for_each_line(&file, |number, line| {
        lines = number + 1;
        last.insert(identity(line).unwrap_or_else(|| of_line(number)), number);
        Ok(())
    })?;
    if last.len() as u64 * 2 > lines {
        return Ok(());
    }
    let new = path.with_file_name(format!(".{RULINGS_FILE}.{}.new", std::process::id()));
    let mut shorter = BufWriter::new(create_private_file(&new)?);
    let written = for_each_line(&file, |number, line| {
        let is_last = last.get(&identity(line).unwrap_or_else(|| of_line(number))) == Some(&number);
        if is_last { shorter.write_all(line) } else { Ok(()) }
    });
    let written = written.and_then(|()| shorter.flush()).and_then(|()| shorter.get_ref().sync_all());
    // The lock is held until here: what another writer appends goes to the new file.
    let replaced = written.and_then(|()| std::fs::rename(&new, &path));
    if replaced.is_err() {
        std::fs::remove_file(&new)?;
    }
    replaced
}

/// Calls a function with the number and the bytes of each line, from the beginning.
fn for_each_line(mut file: &File, mut take: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let (mut reader, mut line, mut number) = (BufReader::new(file), Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        take(number, &line)?;
        line.clear();
        number += 1;
    }
    Ok(())
}

/// Returns the identity of a ruling: a later one with the same identity replaces it. `None`: nothing replaces this line.
fn identity(line: &[u8]) -> Option<[u8; 32]> {
    serde_json::from_slice::<SessionRuling>(line).ok().and_then(|ruled| ruled.identity())
}

/// The identity of a line that nothing replaces.
fn of_line(number: u64) -> [u8; 32] {
    Sha256::digest(number.to_le_bytes()).into()
}

impl SessionRuling {
    /// Session, rubric and judged answer; `None` where the answer is not known, as in lines of earlier versions.
    fn identity(&self) -> Option<[u8; 32]> {
        let answer = self.ruling.answer_sha.as_ref()?;
        // Each kind of measure is a finding of its own.
        let measure = if self.ruling.measure.is_judge() { "judge" } else { "embedding" };
        let parts = [self.session.as_str(), measure, &self.ruling.rubric, answer];
        let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part.as_bytes()).chain_update([0]));
        Some(hash.finalize().into())
    }
}

/// The rulings on a session, oldest first, without those that later ones about the same answer and rubric replace; none where no judge was
/// asked. Lines that cannot be read are skipped.
pub fn read_rulings(dir: &Path, session: &str) -> io::Result<Vec<SessionRuling>> {
    let file = match File::open(dir.join(RULINGS_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let mut found: Vec<SessionRuling> = Vec::new();
    // The id is searched before a line is parsed: most lines are about other sessions.
    let holds = |line: &[u8]| line.windows(session.len().max(1)).any(|part| part == session.as_bytes());
    for_each_line(&file, |_, line| {
        if line.len() <= MOST_LINE
            && holds(line)
            && let Ok(ruled) = serde_json::from_slice::<SessionRuling>(line)
            && ruled.session == session
        {
            let identity = ruled.identity();
            found.retain(|earlier| identity.is_none() || earlier.identity() != identity);
            found.push(ruled);
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Measure, Vote};
    use crate::event::FromCache;

    fn ruled(session: &str, answer: Option<&str>, t: i64, reason: &str) -> SessionRuling {
        let vote = Vote {
            model: "judge".to_owned(),
            score: 1.0,
            reason: reason.to_owned(),
            session: None,
            tokens: None,
            cost: None,
            from_cache: FromCache::default(),
        };
        let (rubric, answer_sha) = ("It is good.".to_owned(), answer.map(ToOwned::to_owned));
        let ruling = Ruling {
            rubric,
            measure: Measure::Judge,
            score: 1.0,
            at_least: 0.7,
            passed: true,
            votes: vec![vote],
            answer_sha,
        };
        SessionRuling { t, session: session.to_owned(), ruling }
    }

    fn text(dir: &Path) -> String {
        std::fs::read_to_string(dir.join(RULINGS_FILE)).unwrap()
    }

    #[test]
    fn a_later_ruling_on_the_same_answer_replaces_an_earlier_one() {
        let dir = tempfile::tempdir().unwrap();
        let all = [("a", Some("1")), ("a", Some("2")), ("b", Some("1")), ("a", None), ("a", None), ("a", Some("1"))];
        for (t, (session, answer)) in (0..).zip(all) {
            write_ruling(dir.path(), &ruled(session, answer, t, "")).unwrap();
        }
        let times =
            |session: &str| read_rulings(dir.path(), session).unwrap().iter().map(|it| it.t).collect::<Vec<_>>();
        assert_eq!((times("a"), times("b"), times("c")), (vec![1, 3, 4, 5], vec![2], vec![]));
    }

    #[test]
    fn replaced_rulings_are_dropped_when_they_are_most_of_a_long_file_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(RULINGS_FILE), "torn{\n").unwrap();
        write_ruling(dir.path(), &ruled("old", None, -1, "")).unwrap();
        let long = "x".repeat(30_000);
        // Different answers: nothing is replaced, and the file passes the length.
        for t in 0..40 {
            write_ruling(dir.path(), &ruled("a", Some(&t.to_string()), t, &long)).unwrap();
        }
        assert_eq!(text(dir.path()).lines().count(), 42);
        // The same ones again and again.
        for t in 40..400 {
            write_ruling(dir.path(), &ruled("a", Some(&(t % 40).to_string()), t, &long)).unwrap();
        }
        assert!(text(dir.path()).len() < 200 * 30_000, "{}", text(dir.path()).len());
        assert!(text(dir.path()).starts_with("torn{\n"));
        assert_eq!(read_rulings(dir.path(), "old").unwrap().len(), 1);
        let newest: Vec<i64> = read_rulings(dir.path(), "a").unwrap().iter().map(|ruled| ruled.t).collect();
        assert_eq!(newest, (360..400).collect::<Vec<_>>());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no other file is left");
    }

    #[test]
    fn writers_lose_nothing_while_the_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let long = "x".repeat(60_000);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (dir, long) = (dir.path(), &long);
                scope.spawn(move || {
                    for t in 0..60 {
                        write_ruling(dir, &ruled("a", Some("same"), t, long)).unwrap();
                        write_ruling(dir, &ruled("b", Some(&format!("{writer} {t}")), t, "")).unwrap();
                    }
                });
            }
        });
        assert_eq!(read_rulings(dir.path(), "b").unwrap().len(), 240);
        assert_eq!(read_rulings(dir.path(), "a").unwrap().len(), 1);
        assert!(text(dir.path()).matches("\"session\":\"a\"").count() < 240, "it was compacted");
    }
}
