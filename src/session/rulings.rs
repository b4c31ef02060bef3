//! What judges found about sessions, as lines in `rulings.jsonl` next to them.
//!
//! In: rulings, each with the session that it is about. Out: the rulings on a session, oldest first. The file is only appended to and can be
//! deleted: the sessions of the judges have the same. Session files are not changed.

use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::marks::append_line;
use crate::agent::Ruling;

/// File name.
const RULINGS_FILE: &str = "rulings.jsonl";
/// Longest line that is read, in bytes.
const MOST_LINE: usize = 4 * 1024 * 1024;

/// A ruling and the session that it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ruled {
    /// Unix time in ms.
    pub t: i64,
    /// The session's id.
    pub session: String,
    /// What was found.
    #[serde(flatten)]
    pub ruling: Ruling,
}

/// Appends a ruling to those of a folder. Waits for other writers.
pub fn write_ruling(dir: &Path, ruled: &Ruled) -> io::Result<()> {
    append_line(dir, RULINGS_FILE, ruled)
}

/// The rulings on a session, oldest first; none where no judge was asked. Lines that cannot be read are skipped.
pub fn read_rulings(dir: &Path, session: &str) -> io::Result<Vec<Ruled>> {
    let mut reader = match std::fs::File::open(dir.join(RULINGS_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => BufReader::new(opened?),
    };
    let (mut found, mut line) = (Vec::new(), Vec::new());
    // The id is searched before a line is parsed: most lines are about other sessions.
    let holds = |line: &[u8]| line.windows(session.len().max(1)).any(|part| part == session.as_bytes());
    while reader.read_until(b'\n', &mut line)? > 0 {
        if line.len() <= MOST_LINE
            && holds(&line)
            && let Ok(ruled) = serde_json::from_slice::<Ruled>(&line)
            && ruled.session == session
        {
            found.push(ruled);
        }
        line.clear();
    }
    Ok(found)
}
