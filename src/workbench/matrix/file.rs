//! The file of a matrix: `matrix/<id>.jsonl` in the sessions folder, one line with the plan, then one per finished trial.
//!
//! In: a plan, trials as they finish. Out: the file, and the state read back from it. Lines are only appended; a torn last line is dropped,
//! and a line that cannot be read counts as a trial that was not run. When its folder is full, the file continues in the spare folder.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::MatrixPlan;
use super::run::MatrixError;
use super::state::{MatrixState, Trial};
use crate::config::{LockedFile, create_private_dir, private_options};
use crate::session::{AttachmentStore, LAST, SessionId, shell_word};
use crate::workbench::files::is_refusal;

/// Name of the folder of matrices in the sessions folder.
pub const MATRIX_FOLDER: &str = "matrix";

/// Error for a file without a first line.
const EMPTY: &str = "the plan is missing (it could not be written when the matrix started), so the matrix cannot be resumed; \
                     delete the file and start the matrix again";

const FORMAT: &str = "ptc-workbench-matrix";
const VERSION: u32 = 1;
/// Prefix that distinguishes the id of a matrix from that of a session.
const PREFIX: &str = "m-";

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    id: String,
    created_ms: i64,
    program: String,
    plan: MatrixPlan,
}

/// The open file of a matrix, locked against writes by other processes.
#[derive(Debug)]
pub struct MatrixFile {
    /// The matrix's id.
    pub id: String,
    /// Path of the file.
    pub path: PathBuf,
    /// Numbers of the lines that could not be read, from 1; their trials run again.
    pub unreadable: Vec<usize>,
    /// Former path, and the error of writing there; `None` if the file has not moved.
    pub moved: Option<(PathBuf, String)>,
    file: LockedFile,
}

/// A matrix in the list of matrices.
#[derive(Debug, Clone)]
pub struct MatrixEntry {
    /// The matrix's id.
    pub id: String,
    /// Creation time, in Unix ms; 0 if the file cannot be read.
    pub created_ms: i64,
    /// State of the matrix, or the error of reading it.
    pub state: Result<MatrixState, MatrixError>,
}

/// Lists the matrices of a sessions folder, newest first.
pub(super) fn list(sessions: &Path) -> Vec<MatrixEntry> {
    let mut all = ids(sessions);
    all.reverse();
    let entry = |id: String| match peek(sessions, &id) {
        Ok((head, state)) => MatrixEntry { id, created_ms: head.created_ms, state: Ok(state) },
        Err(error) => MatrixEntry { id, created_ms: 0, state: Err(error) },
    };
    all.into_iter().map(entry).collect()
}

/// Reads the state of a matrix, also while another process runs it.
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
    /// Creates the file of a new matrix: in the spare folder if that of the sessions takes nothing. `chance` makes ids unique among those
    /// created in the same ms.
    ///
    /// Errors: that of the folder of the sessions.
    pub(super) fn create(
        (sessions, spare_dir): (&Path, &Path),
        plan: &MatrixPlan,
        created_ms: i64,
        chance: u32,
    ) -> Result<Self, MatrixError> {
        Self::create_in(sessions, plan, created_ms, chance).or_else(|(path, error)| {
            let spare = is_refusal(&error).then(|| Self::create_in(spare_dir, plan, created_ms, chance).ok()).flatten();
            let matrix = spare.ok_or_else(|| unwritable(&path, &error))?;
            Ok(Self { moved: Some((path, error.to_string())), ..matrix })
        })
    }

    /// The files of the sessions next to the folder of matrices.
    pub(super) fn attachments(&self) -> AttachmentStore {
        AttachmentStore::of_sessions(self.path.parent().and_then(Path::parent).unwrap_or(Path::new("")))
    }

    /// Creates the file of a new matrix in this folder of sessions. Errors have its path.
    fn create_in(
        sessions: &Path,
        plan: &MatrixPlan,
        created_ms: i64,
        chance: u32,
    ) -> Result<Self, (PathBuf, std::io::Error)> {
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
        let open = || -> std::io::Result<LockedFile> {
            create_private_dir(&folder)?;
            LockedFile::lock(private_options().append(true).create_new(true).open(&path)?)
        };
        let file = match open() {
            Ok(file) => file,
            Err(error) => return Err((path, error)),
        };
        let mut matrix = Self { id, path, unreadable: Vec::new(), moved: None, file };
        if let Err(error) = line(&head).and_then(|text| matrix.write(&text)) {
            // Without a first line the file would be found as the last matrix and could not be opened.
            _ = std::fs::remove_file(&matrix.path);
            return Err((matrix.path, error));
        }
        Ok(matrix)
    }

    /// Opens a matrix to continue it: by id, by a unique prefix of its id, or `last`.
    pub(super) fn open(sessions: &Path, name: &str) -> Result<(Self, MatrixState), MatrixError> {
        let path = find(sessions, name)?;
        let file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) => return Self::finished(path, &error),
        };
        let Ok(mut file) = LockedFile::lock(file) else {
            return Err(MatrixError(format!("{}: another program is running this matrix", path.display())));
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| unwritable(&path, &error))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let (head, trials, mut unreadable) = read(&path, bytes.get(..whole).unwrap_or_default())?;
        if whole < bytes.len() {
            unreadable.push(bytes.split(|byte| *byte == b'\n').count());
        }
        file.set_len(whole as u64).map_err(|error| unwritable(&path, &error))?;
        Ok((Self { id: head.id, path, unreadable, moved: None, file }, MatrixState::new(head.plan, trials)))
    }

    /// Opens a matrix whose file cannot be written, if no trial is missing: it can still be shown.
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
        let file = LockedFile::lock_where_possible(file);
        Ok((Self { id: head.id, path, unreadable, moved: None, file }, state))
    }

    /// Appends a finished trial and syncs it to disk. If that fails, the matrix continues in a copy in the spare folder.
    ///
    /// Errors: neither folder can be written. The existing lines of the file are kept.
    pub(super) fn add(&mut self, trial: &Trial, spare_dir: &Path) -> Result<(), MatrixError> {
        let text = line(trial).map_err(|error| unwritable(&self.path, &error))?;
        let Err(error) = self.write(&text) else { return Ok(()) };
        let (path, file) = self.copied_to(&spare_dir.join(MATRIX_FOLDER), &text).map_err(|spare| {
            MatrixError(format!("{}, nor to {}: {spare}", unwritable(&self.path, &error), spare_dir.display()))
        })?;
        self.moved = Some((std::mem::replace(&mut self.path, path), error.to_string()));
        self.file = file;
        Ok(())
    }

    /// Returns a notice that names the old and new path and the error; `None` if the file has not moved.
    pub fn report_move(&self) -> Option<String> {
        let (from, why) = self.moved.as_ref()?;
        Some(format!(
            "{} could not be written to the end: {why}. The whole matrix is in {} (--spare-sessions names another folder)",
            from.display(),
            self.path.display()
        ))
    }

    /// Returns the command that resumes the matrix.
    pub fn resume_command(&self) -> String {
        let folder = self.path.parent().and_then(Path::parent).filter(|_| self.moved.is_some());
        let folder = folder.map(|dir| format!(" --sessions {}", shell_word(&dir.to_string_lossy())));
        format!("ptc-workbench{} compare --resume {}", folder.unwrap_or_default(), self.id)
    }

    /// Appends a line, or leaves the file unchanged on an error.
    fn write(&mut self, text: &str) -> std::io::Result<()> {
        let before = self.file.metadata()?.len();
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if written.is_err() {
            _ = self.file.set_len(before);
        }
        written
    }

    /// Copies the file to another folder with one more line; returns the copy opened and locked.
    fn copied_to(&self, folder: &Path, more: &str) -> std::io::Result<(PathBuf, LockedFile)> {
        let path = folder.join(format!("{}.jsonl", self.id));
        create_private_dir(folder)?;
        let file = private_options().append(true).create_new(true).open(&path)?;
        let copied = LockedFile::lock(file).and_then(|mut file| {
            file.write_all(&std::fs::read(&self.path)?)?;
            file.write_all(more.as_bytes())?;
            file.sync_data()?;
            Ok(file)
        });
        if copied.is_err() {
            _ = std::fs::remove_file(&path);
        }
        copied.map(|file| (path, file))
    }
}

/// Serializes a line of the file.
fn line(of: &impl Serialize) -> std::io::Result<String> {
    Ok(serde_json::to_string(of)? + "\n")
}

/// Returns whether a name has the form of a matrix id.
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
    let first = lines.next().map(|(_, line)| line).ok_or_else(|| wrong(EMPTY))?;
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

/// Returns the ids of all matrices, oldest first. Ids of the same second are ordered by the creation time in their first lines.
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

/// Reads the creation time of a matrix in Unix ms; `None` when its first line cannot be read.
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
            Err(MatrixError(format!(
                "{name:?} is ambiguous, it begins the ids of {} matrices: {}",
                several.len(),
                ids.join(", ")
            )))
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
        assert!(refused("").ends_with("delete the file and start the matrix again"));
        assert_eq!(refused("{}\n"), "m.jsonl: this is not the file of a matrix");
        assert_eq!(refused(&head(1, "other")), "m.jsonl: this is not the file of a matrix");
        assert!(refused(&head(2, FORMAT)).contains("a newer ptc-workbench wrote this matrix"));
        assert!(read(Path::new("m.jsonl"), head(1, FORMAT).as_bytes()).is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_moves_a_matrix_to_the_spare_folder_or_leaves_it_as_it_was() {
        use crate::event::TextRecord;
        use crate::workbench::matrix::{Measures, Outcome};

        let dir = tempfile::tempdir().unwrap();
        let (own, spare) = (dir.path().join("own"), dir.path().join("spare"));
        let plan = MatrixPlan { agents: Vec::new(), trials: 3, seed: 0, cells: Vec::new() };
        let trial = |trial: u32| Trial {
            cell: 0,
            trial,
            session: format!("s{trial}"),
            passed: true,
            score: None,
            why: None,
            outcome: Outcome::Answer(TextRecord::of("1".to_owned())),
            measures: Measures::default(),
            rulings: Vec::new(),
        };
        let mut file = MatrixFile::create((&own, &own), &plan, 1_000, 1).unwrap();
        file.add(&trial(1), &spare).unwrap();
        assert_eq!(
            (file.report_move(), file.resume_command()),
            (None, format!("ptc-workbench compare --resume {}", file.id))
        );
        let before = std::fs::read(&file.path).unwrap();
        // The spare folder is a file, so that writing there fails too.
        file.file = LockedFile::lock_where_possible(File::options().append(true).open("/dev/full").unwrap());
        std::fs::write(dir.path().join("no"), "").unwrap();
        let error = file.add(&trial(2), &dir.path().join("no")).unwrap_err().0;
        assert!(error.contains("cannot write the matrix to") && error.contains("nor to"), "{error}");
        assert_eq!((std::fs::read(&file.path).unwrap(), file.report_move()), (before.clone(), None));

        file.add(&trial(2), &spare).unwrap();
        file.add(&trial(3), &spare).unwrap();
        assert!(file.report_move().unwrap().contains("The whole matrix is in"));
        assert!(file.resume_command().starts_with(&format!("ptc-workbench --sessions {} compare", spare.display())));
        assert_eq!(std::fs::read(own.join(MATRIX_FOLDER).join(format!("{}.jsonl", file.id))).unwrap(), before);
        let id = file.id.clone();
        drop(file);
        let whole = MatrixFile::open(&spare, &id).unwrap().0;
        let lines = std::fs::read_to_string(&whole.path).unwrap();
        assert_eq!((whole.unreadable.len(), lines.lines().count()), (0, 4));
    }

    #[test]
    fn a_torn_last_line_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let plan = MatrixPlan { agents: Vec::new(), trials: 1, seed: 0, cells: Vec::new() };
        let MatrixFile { id, path, .. } = MatrixFile::create((dir.path(), dir.path()), &plan, 1_000, 1).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"cell\":")).unwrap();
        assert_eq!(MatrixFile::open(dir.path(), &id).unwrap().0.unreadable, [2]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_matrix_is_found_by_its_beginning_or_as_the_last() {
        let dir = tempfile::tempdir().unwrap();
        let plan = MatrixPlan { agents: Vec::new(), trials: 1, seed: 0, cells: Vec::new() };
        let made = |ms: i64, chance: u32| MatrixFile::create((dir.path(), dir.path()), &plan, ms, chance).unwrap().id;
        let (one, two) = (made(1_000, 1), made(2_000, 2));
        let opened = |name: &str| MatrixFile::open(dir.path(), name).map(|(file, _)| file.id);
        assert_eq!(opened("last"), Ok(two.clone()));
        assert_eq!(opened(&one), Ok(one.clone()));
        // Within one second the creation time in the file decides, not the random part of the id.
        let (early, late) = (made(3_001, 0xffff_ffff), made(3_002, 0));
        assert_eq!(opened("last"), Ok(late.clone()));
        let listed: Vec<String> = list(dir.path()).into_iter().map(|entry| entry.id).collect();
        assert_eq!(listed, [late, early, two, one.clone()]);
        assert!(opened("m-1970").unwrap_err().0.contains("is ambiguous, it begins the ids of 4 matrices"));
        assert!(opened("m-1971").unwrap_err().0.starts_with("no matrix \"m-1971\""));
        assert!(is_matrix_name(&one) && !is_matrix_name("m-agent") && !is_matrix_name("2026-11-22"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_matrix_whose_folder_takes_nothing_begins_in_the_spare_folder() {
        let (spare, plan) =
            (tempfile::tempdir().unwrap(), MatrixPlan { agents: Vec::new(), trials: 1, seed: 0, cells: Vec::new() });
        // Nobody can create folders there, not even root.
        let own = Path::new("/sys/ptc-workbench");
        let file = MatrixFile::create((own, spare.path()), &plan, 1_000, 1).unwrap();
        assert!(file.path.starts_with(spare.path()) && file.report_move().unwrap().contains("/sys/ptc-workbench"));
        assert!(file.resume_command().contains(" --sessions "), "{}", file.resume_command());
        assert!(MatrixFile::create((own, own), &plan, 1_000, 1).is_err());
    }
}
