//! Lists and finds sessions in a folder. Only files named after a session id are considered.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::read::open_file;
use super::{Parent, ParentKind, ReadError, RunState, Session, SessionId};
use crate::event::TotalUsage;

/// Identifies exactly one session, independent of its header.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SessionKey {
    /// A file.
    File(PathBuf),
    /// A built-in example, by its id.
    Example(String),
}

impl SessionKey {
    /// The key of a session that was read: its file, else its id among the examples.
    pub fn of(session: &Session) -> Self {
        if session.path.is_file() {
            Self::File(session.path.clone())
        } else {
            Self::Example(session.header.id.to_string())
        }
    }

    /// The name of the session, as a command takes it: its path, or the id of an example.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Example(id) => id.clone(),
        }
    }
}

/// Summary of a session, as shown in lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one property of a session")]
pub struct Summary {
    /// The session's id: from the file name, or from the header when the file has another name.
    pub id: String,
    /// Path of the file; for an example only its name.
    #[serde(skip)]
    pub path: PathBuf,
    /// True for a built-in example.
    #[serde(skip)]
    pub example: bool,
    /// Unix time in ms.
    pub created_ms: i64,
    /// Name of the first pipeline, or of the last agent.
    pub agent: String,
    /// Mode.
    pub mode: String,
    /// Models that answered its last run, the most recent one last.
    pub models: Vec<String>,
    /// Turns, requests, tokens and costs of all its runs, child runs included.
    pub usage: TotalUsage,
    /// State of the last run.
    pub state: RunState,
    /// The answer as JSON text, or reason and message.
    pub result: String,
    /// The first characters of the task.
    pub task: String,
    /// Description of the damage.
    pub damage: Option<String>,
    /// The session it was derived from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Another program ran it: it can be read, but not replayed, forked or resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_foreign: bool,
    /// It is a trial of a matrix, of a comparison or of a suite.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_trial: bool,
    /// True if a program is writing it. Set only by readers of the list that probe its lock.
    #[serde(skip)]
    pub is_in_use: bool,
}

impl Summary {
    /// Returns the key that opens the session.
    pub fn key(&self) -> SessionKey {
        if self.example { SessionKey::Example(self.id.clone()) } else { SessionKey::File(self.path.clone()) }
    }

    /// Returns whether a run began, or damage may hide one. Other files are the trace of a program that was stopped
    /// before its run started.
    pub(super) fn is_begun(&self) -> bool {
        !self.mode.is_empty() || self.damage.is_some()
    }

    /// Returns whether a user may label it: a run has ended that is neither an example nor a judge's.
    pub fn can_be_labelled(&self) -> bool {
        let is_judge = self.parent.as_ref().is_some_and(|parent| parent.kind == ParentKind::Judge);
        self.state != RunState::Open && self.damage.is_none() && !self.example && !is_judge
    }

    /// Returns the id, or the path of a file that is not named after its id.
    pub fn name(&self) -> String {
        if self.example || self.path.file_stem().is_some_and(|stem| stem == self.id.as_str()) {
            self.id.clone()
        } else {
            self.path.display().to_string()
        }
    }
}

/// The name that refers to the newest session.
pub const LAST: &str = "last";

/// Maximum number of ids printed for an ambiguous prefix, newest first.
const NAMED: usize = 5;

/// Reason why no session was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindError {
    /// No session matches.
    None {
        /// The given name.
        name: String,
        /// The searched folder.
        dir: PathBuf,
    },
    /// Several ids start with the name, or end with it.
    Several {
        /// The given name.
        name: String,
        /// Their ids.
        ids: Vec<String>,
    },
}

impl std::fmt::Display for FindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None { name, dir } if name == LAST => {
                write!(
                    f,
                    "no last session: {} contains no sessions (`ptc-workbench run sentiment` creates one)",
                    dir.display()
                )
            }
            Self::None { name, dir } => write!(
                f,
                "no session {name:?}: not a file, and no id in {} starts with it, or ends with it (at least 6 characters) (`ptc-workbench sessions list` shows all ids)",
                dir.display()
            ),
            Self::Several { name, ids } => {
                let newest: Vec<_> = ids.iter().rev().take(NAMED).map(String::as_str).collect();
                let more = if ids.len() > NAMED { ", …" } else { "" };
                let side = if ids.iter().all(|id| id.starts_with(name)) { "start" } else { "end" };
                let (count, newest) = (ids.len(), newest.join(", "));
                write!(f, "{name:?} is ambiguous: {count} session ids {side} with it: {newest}{more}")
            }
        }
    }
}

impl std::error::Error for FindError {}

/// Returns the ids in a folder, oldest first. Ids of the same second are ordered by the time in their headers.
fn ids(dir: &Path) -> Vec<SessionId> {
    let mut ids: Vec<_> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| SessionId::from_file_name(entry.ok()?.file_name().to_str()?))
        .collect();
    ids.sort();
    for same_second in ids.chunk_by_mut(|a, b| a.stamp() == b.stamp()).filter(|ids| ids.len() > 1) {
        same_second.sort_by_cached_key(|id| Session::created_ms(&dir.join(id.file_name())));
    }
    ids
}

/// Reads the sessions of a folder, newest first. Unreadable files are listed with their damage.
/// [`Catalogue`](super::index::Catalogue) returns the same from its index.
pub fn list(dir: &Path) -> Vec<Summary> {
    let all = ids(dir).into_iter().rev().map(|id| (dir.join(id.file_name()), id));
    let all = all.map(|(path, id)| {
        Session::open(&path).map_or_else(|error| unreadable(&id, &error), |session| summarize(&session))
    });
    all.filter(Summary::is_begun).collect()
}

/// Returns the summary of an unreadable file.
pub(super) fn unreadable(id: &SessionId, error: &ReadError) -> Summary {
    Summary { id: id.to_string(), path: error.path.clone(), damage: Some(error.message.clone()), ..Summary::default() }
}

/// Returns the summary of an open session.
pub fn summarize(session: &Session) -> Summary {
    let skeleton = session.skeleton();
    let last = skeleton.last();
    let pipeline = skeleton.roots().find_map(|run| run.pipeline.as_deref().filter(|name| !name.is_empty()));
    let result = last.map(|run| match (&run.answer, &run.fail) {
        (Some(answer), _) => answer.clone(),
        (None, Some((reason, message))) => format!("{reason}: {message}"),
        (None, None) => run
            .waits_for
            .as_ref()
            .map_or_else(|| "not finished".to_owned(), |at| format!("waits for the answer to {at}")),
    });
    let named = session.path.file_name().and_then(|name| SessionId::from_file_name(name.to_str()?));
    Summary {
        id: named.as_ref().unwrap_or(&session.header.id).to_string(),
        path: session.path.clone(),
        example: false,
        created_ms: session.header.created_ms,
        agent: pipeline.or_else(|| last.map(|run| run.agent.as_str())).unwrap_or_default().to_owned(),
        mode: last.map(|run| run.mode.clone()).unwrap_or_default(),
        models: last.map(|run| run.ledger.models()).unwrap_or_default(),
        usage: skeleton.usage(),
        state: last.map_or(RunState::Open, |run| run.state),
        result: result.unwrap_or_default(),
        task: last.map(|run| run.task.clone()).unwrap_or_default(),
        // The first line of a run that did not begin is not a loss.
        damage: session.damage_summary().filter(|_| !session.is_empty() || session.damage.iter().any(|d| !d.torn)),
        parent: session.header.parent.clone(),
        is_foreign: session.header.foreign_origin().is_some(),
        is_trial: session.header.group.is_some(),
        is_in_use: false,
    }
}

/// Returns whether a file has a whole line after its header.
fn has_event(path: &Path) -> bool {
    let Ok(file) = open_file(path) else { return false };
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    (0..2).all(|_| {
        line.clear();
        lines.read_until(b'\n', &mut line).is_ok() && line.ends_with(b"\n")
    })
}

/// Returns whether a file is the run of a judge: `last` is what the user ran.
fn is_of_judge(path: &Path) -> bool {
    let parent = Session::header_of(path).ok().and_then(|header| header.parent);
    parent.is_some_and(|parent| parent.kind == ParentKind::Judge)
}

/// Minimum length of the end of an id that names its session.
const END_MIN_BYTES: usize = 6;

/// Returns whether a name is the end of an id: its random part, as lists and cases print it, or the end of that.
fn is_end_of(name: &str, id: &str) -> bool {
    name.len() >= END_MIN_BYTES && id.rsplit('-').next().is_some_and(|random| random.ends_with(name))
}

/// Returns the ids that a name means: those that begin with it; if there are none, those that end with it.
pub(crate) fn ids_of_name<'i, I: AsRef<str>>(name: &str, ids: &'i [I]) -> Vec<&'i I> {
    let of = |is_meant: &dyn Fn(&str) -> bool| ids.iter().filter(|id| is_meant(id.as_ref())).collect::<Vec<_>>();
    let begun = of(&|id| !name.is_empty() && id.starts_with(name));
    if begun.is_empty() { of(&|id| is_end_of(name, id)) } else { begun }
}

/// Resolves a path, an id, a unique beginning or end of an id, or `last` to a session file.
pub fn find(dir: &Path, name: &str) -> Result<PathBuf, FindError> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let none = || FindError::None { name: name.to_owned(), dir: dir.to_owned() };
    let all = ids(dir);
    if name == LAST {
        let is_meant = |path: &Path| has_event(path) && !is_of_judge(path);
        let begun = all.iter().rev().find(|id| is_meant(&dir.join(id.file_name())));
        return begun.or(all.last()).map(|id| dir.join(id.file_name())).ok_or_else(none);
    }
    match ids_of_name(name, &all).as_slice() {
        [] => Err(none()),
        [one] => Ok(dir.join(one.file_name())),
        several => {
            Err(FindError::Several { name: name.to_owned(), ids: several.iter().map(ToString::to_string).collect() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ids_of_name;

    #[test]
    fn a_name_is_the_beginning_of_an_id_or_else_its_end() {
        let ids = ["2026-01-02T03-04-05Z-aabbccdd", "2026-01-02T03-04-06Z-00202601", "2027-01-01T00-00-00Z-11223344"];
        let found = |name: &str| ids_of_name(name, &ids).into_iter().copied().collect::<Vec<_>>();
        assert_eq!(found("2027"), ids[2..]);
        assert_eq!(found("2026-01-02"), ids[..2]);
        assert_eq!(found("bbccdd"), ids[..1]);
        assert_eq!(found("202601"), ids[1..2]);
        assert_eq!(found("2026-01-02T03-04-05Z-aabbccdd"), ids[..1]);
        for none in ["", "ccdd", "Z-aabbccdd", "2028"] {
            assert!(found(none).is_empty(), "{none}");
        }
    }
}
