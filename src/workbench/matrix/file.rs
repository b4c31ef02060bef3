//! The file of a matrix: `matrix/<id>.jsonl` beside the sessions, one line with the plan, then one per finished trial.
//!
//! In: a plan, trials as they finish. Out: the file, and from it the same again. Lines are only added; a torn last line is dropped, a line
//! that cannot be read counts as a trial that was not run.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::MatrixPlan;
use super::run::MatrixError;
use super::state::{MatrixState, Trial};
use crate::session::{LAST, SessionId};

/// The folder beside the sessions.
pub const MATRIX_FOLDER: &str = "matrix";

const FORMAT: &str = "ptc-workbench-matrix";
const VERSION: u32 = 1;
/// What tells the id of a matrix from that of a session.
const PREFIX: &str = "m-";

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    id: String,
    created_ms: i64,
    program: String,
    plan: MatrixPlan,
}

/// The open file of a matrix; nobody else writes it meanwhile.
#[derive(Debug)]
pub struct MatrixFile {
    /// The matrix's id.
    pub id: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Lines that could not be read, from 1; their trials run again.
    pub unreadable: Vec<usize>,
    file: File,
}

/// A matrix of the list.
#[derive(Debug, Clone)]
pub struct MatrixEntry {
    /// Its id.
    pub id: String,
    /// Unix time in ms.
    pub created_ms: i64,
    /// How far it is; why it cannot be read.
    pub state: Result<MatrixState, MatrixError>,
}

/// Every matrix beside these sessions, newest first.
pub(super) fn list(sessions: &Path) -> Vec<MatrixEntry> {
    let mut all = ids(sessions);
    all.reverse();
    let entry = |id: String| match peek(sessions, &id) {
        Ok((head, state)) => MatrixEntry { id, created_ms: head.created_ms, state: Ok(state) },
        Err(error) => MatrixEntry { id, created_ms: 0, state: Err(error) },
    };
    all.into_iter().map(entry).collect()
}

/// How far a matrix is, whoever runs it meanwhile.
pub(super) fn state_of(sessions: &Path, name: &str) -> Result<MatrixState, MatrixError> {
    peek(sessions, name).map(|(_, state)| state)
}

fn peek(sessions: &Path, name: &str) -> Result<(Head, MatrixState), MatrixError> {
    let path = find(sessions, name)?;
    let bytes = std::fs::read(&path).map_err(|error| MatrixError(format!("{}: {error}", path.display())))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (head, trials, _) = read(&path, bytes.get(..whole).unwrap_or_default())?;
    let state = MatrixState::new(head.plan.clone(), trials);
    Ok((head, state))
}

impl MatrixFile {
    /// Begins the file of a new matrix. `chance` makes its id the only one of this ms.
    pub(super) fn create(
        sessions: &Path,
        plan: &MatrixPlan,
        created_ms: i64,
        chance: u32,
    ) -> Result<Self, MatrixError> {
        let id = format!("{PREFIX}{}", SessionId::new(created_ms, chance));
        let folder = sessions.join(MATRIX_FOLDER);
        let path = folder.join(format!("{id}.jsonl"));
        let program = concat!("ptc-workbench ", env!("CARGO_PKG_VERSION")).to_owned();
        let head = Head {
            format: FORMAT.to_owned(),
            version: VERSION,
            id: id.clone(),
            created_ms,
            program,
            plan: plan.clone(),
        };
        let open = || -> std::io::Result<File> {
            std::fs::create_dir_all(&folder)?;
            let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
            file.try_lock().map_err(std::io::Error::other)?;
            Ok(file)
        };
        let file = open().map_err(|error| unwritable(&path, &error))?;
        let mut matrix = Self { id, path, unreadable: Vec::new(), file };
        matrix.write(&head)?;
        Ok(matrix)
    }

    /// Opens a matrix to go on with it: by id, by a beginning that only one id has, or `last`.
    pub(super) fn open(sessions: &Path, name: &str) -> Result<(Self, MatrixState), MatrixError> {
        let path = find(sessions, name)?;
        let mut file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) => return Self::finished(path, &error),
        };
        if file.try_lock().is_err() {
            return Err(MatrixError(format!("{}: another program is running this matrix", path.display())));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| unwritable(&path, &error))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let (head, trials, unreadable) = read(&path, bytes.get(..whole).unwrap_or_default())?;
        file.set_len(whole as u64).map_err(|error| unwritable(&path, &error))?;
        Ok((Self { id: head.id, path, unreadable, file }, MatrixState::new(head.plan, trials)))
    }

    /// A matrix in a file that cannot be written: it can be shown when nothing is left to run.
    fn finished(path: PathBuf, error: &std::io::Error) -> Result<(Self, MatrixState), MatrixError> {
        let mut bytes = Vec::new();
        let opened = File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes).map(|_| file));
        let file = opened.map_err(|_| unwritable(&path, error))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let (head, trials, unreadable) = read(&path, bytes.get(..whole).unwrap_or_default())?;
        let state = MatrixState::new(head.plan, trials);
        if !state.is_complete() {
            return Err(unwritable(&path, error));
        }
        Ok((Self { id: head.id, path, unreadable, file }, state))
    }

    /// Adds a finished trial; it is on the disk afterwards.
    pub(super) fn add(&mut self, trial: &Trial) -> Result<(), MatrixError> {
        self.write(trial)
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), MatrixError> {
        let mut add = || -> std::io::Result<()> {
            let mut text = serde_json::to_string(line)?;
            text.push('\n');
            self.file.write_all(text.as_bytes())?;
            self.file.sync_data()
        };
        add().map_err(|error| unwritable(&self.path, &error))
    }
}

/// Does a name look like that of a matrix?
pub(super) fn is_matrix_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn unwritable(path: &Path, error: &std::io::Error) -> MatrixError {
    MatrixError(format!(
        "cannot write the matrix to {}: {error} (choose another folder with --sessions)",
        path.display()
    ))
}

fn read(path: &Path, bytes: &[u8]) -> Result<(Head, Vec<Trial>, Vec<usize>), MatrixError> {
    let wrong = |why: &str| MatrixError(format!("{}: {why}", path.display()));
    let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let first = lines.next().map(|(_, line)| line).ok_or_else(|| wrong("the file is empty"))?;
    let head: Head = serde_json::from_slice(first).map_err(|_| wrong("this is not the file of a matrix"))?;
    if head.format != FORMAT {
        return Err(wrong("this is not the file of a matrix"));
    }
    if head.version > VERSION {
        return Err(wrong("a newer ptc-workbench wrote this matrix; use that version"));
    }
    let (mut trials, mut unreadable) = (Vec::new(), Vec::new());
    for (place, line) in lines {
        match serde_json::from_slice(line) {
            Ok(trial) => trials.push(trial),
            Err(_) => unreadable.push(place + 1),
        }
    }
    Ok((head, trials, unreadable))
}

/// The ids of all matrices, oldest first. Ids of the same second are ordered by the time in their first lines.
fn ids(sessions: &Path) -> Vec<String> {
    let folder = sessions.join(MATRIX_FOLDER);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let id = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_str()?.to_owned();
        SessionId::from_file_name(name.strip_prefix(PREFIX)?)?;
        Some(name.strip_suffix(".jsonl")?.to_owned())
    };
    let mut ids: Vec<String> = entries.filter_map(id).collect();
    ids.sort();
    let stamp = |id: &String| id.rsplit_once('-').map(|(stamp, _)| stamp.to_owned());
    for same_second in ids.chunk_by_mut(|a, b| stamp(a) == stamp(b)).filter(|ids| ids.len() > 1) {
        same_second.sort_by_cached_key(|id| created_ms(&folder.join(format!("{id}.jsonl"))));
    }
    ids
}

/// When the matrix of this file was begun, in Unix ms; `None` when its first line cannot be read.
fn created_ms(path: &Path) -> Option<i64> {
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice::<Head>(&line).ok().map(|head| head.created_ms)
}

fn find(sessions: &Path, name: &str) -> Result<PathBuf, MatrixError> {
    let folder = sessions.join(MATRIX_FOLDER);
    let ids = ids(sessions);
    let fits: Vec<&String> = match name {
        LAST => ids.last().into_iter().collect(),
        _ => ids.iter().filter(|id| !name.is_empty() && id.starts_with(name)).collect(),
    };
    match fits.as_slice() {
        [one] => Ok(folder.join(format!("{one}.jsonl"))),
        [] => Err(MatrixError(format!("no matrix {name:?} in {}", folder.display()))),
        several => {
            let ids: Vec<_> = several.iter().map(|id| id.as_str()).collect();
            Err(MatrixError(format!("{name:?} is the beginning of {} matrices: {}", several.len(), ids.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(version: u32, format: &str) -> String {
        let plan = MatrixPlan { agents: Vec::new(), trials: 1, seed: 0, cells: Vec::new() };
        let id = "m-2026-11-22T08-00-00Z-00000001".to_owned();
        let head = Head { format: format.to_owned(), version, id, created_ms: 0, program: String::new(), plan };
        format!("{}\n", serde_json::to_string(&head).unwrap())
    }

    fn refused(text: &str) -> String {
        read(Path::new("m.jsonl"), text.as_bytes()).unwrap_err().0
    }

    #[test]
    fn what_is_no_matrix_or_of_the_future_is_refused() {
        assert_eq!(refused(""), "m.jsonl: the file is empty");
        assert_eq!(refused("{}\n"), "m.jsonl: this is not the file of a matrix");
        assert_eq!(refused(&head(1, "other")), "m.jsonl: this is not the file of a matrix");
        assert!(refused(&head(2, FORMAT)).contains("a newer ptc-workbench wrote this matrix"));
        assert!(read(Path::new("m.jsonl"), head(1, FORMAT).as_bytes()).is_ok());
    }

    #[test]
    fn a_matrix_is_found_by_its_beginning_or_as_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let plan = MatrixPlan { agents: Vec::new(), trials: 1, seed: 0, cells: Vec::new() };
        let made = |ms: i64, chance: u32| MatrixFile::create(dir.path(), &plan, ms, chance).unwrap().id;
        let (one, two) = (made(1_000, 1), made(2_000, 2));
        let opened = |name: &str| MatrixFile::open(dir.path(), name).map(|(file, _)| file.id);
        assert_eq!(opened("last"), Ok(two.clone()));
        assert_eq!(opened(&one), Ok(one.clone()));
        // In one second the time in the file counts, not the chance behind it.
        let (early, late) = (made(3_001, 0xffff_ffff), made(3_002, 0));
        assert_eq!(opened("last"), Ok(late.clone()));
        let listed: Vec<String> = list(dir.path()).into_iter().map(|entry| entry.id).collect();
        assert_eq!(listed, [late, early, two, one.clone()]);
        assert!(opened("m-1970").unwrap_err().0.contains("is the beginning of 4 matrices"));
        assert!(opened("m-1971").unwrap_err().0.starts_with("no matrix \"m-1971\""));
        assert!(is_matrix_name(&one) && !is_matrix_name("m-agent") && !is_matrix_name("2026-11-22"));
    }
}
