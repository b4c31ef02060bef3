//! Listing and finding sessions in a folder. Only files with the shape of a session id count.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Parent, ReadError, RunState, Session, SessionId};
use crate::event::Tokens;

/// What leads to exactly one session, whatever its header says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SessionKey {
    /// A file.
    File(PathBuf),
    /// An example that is part of the program, by its id.
    Example(String),
}

/// One line of the list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The session's id: what the file is called, or what its header says when the name is no id.
    pub id: String,
    /// The file; for an example only its name.
    #[serde(skip)]
    pub path: PathBuf,
    /// It is an example that is part of the program.
    #[serde(skip)]
    pub example: bool,
    /// Unix time in ms.
    pub created_ms: i64,
    /// The name of the pipeline that it began with, or of the agent that ran last.
    pub agent: String,
    /// Mode.
    pub mode: String,
    /// The models that answered its last run, the last one at the end.
    pub models: Vec<String>,
    /// Turns.
    pub turns: usize,
    /// Tokens, when counted.
    pub tokens: Option<Tokens>,
    /// How far the last run is.
    pub state: RunState,
    /// The answer as JSON text, or reason and message.
    pub result: String,
    /// The cost, when tokens and price are known.
    pub cost: Option<f64>,
    /// The first words of the task as it was sent.
    pub task: String,
    /// What could not be read.
    pub damage: Option<String>,
    /// The session that it began as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

impl Summary {
    /// Returns the key that opens the session.
    pub fn key(&self) -> SessionKey {
        if self.example { SessionKey::Example(self.id.clone()) } else { SessionKey::File(self.path.clone()) }
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

/// What names the newest session.
pub const LAST: &str = "last";

/// Sessions named when a beginning is not unique, newest first.
const NAMED: usize = 5;

/// Why no session was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindError {
    /// None has this name.
    None {
        /// What was looked for.
        name: String,
        /// Where.
        dir: PathBuf,
    },
    /// Several begin with it.
    Several {
        /// What was looked for.
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
                    "there is no last session: {} holds none (`ptc-workbench run sentiment` makes one)",
                    dir.display()
                )
            }
            Self::None { name, dir } => write!(
                f,
                "no session {name:?}: it is neither a file nor the beginning of an id in {} (`ptc-workbench sessions list` shows them)",
                dir.display()
            ),
            Self::Several { name, ids } => {
                let newest: Vec<_> = ids.iter().rev().take(NAMED).map(String::as_str).collect();
                let more = if ids.len() > NAMED { ", …" } else { "" };
                write!(f, "{name:?} is the beginning of {} sessions: {}{more}", ids.len(), newest.join(", "))
            }
        }
    }
}

impl std::error::Error for FindError {}

/// The ids in a folder, oldest first. Ids of the same second are ordered by the time in their headers.
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

/// The sessions of a folder, newest first, each file read. Unreadable files are listed with what is wrong.
/// [`Catalogue`](super::index::Catalogue) gives the same without reading what it knows.
pub fn list(dir: &Path) -> Vec<Summary> {
    let all = ids(dir).into_iter().rev().map(|id| (dir.join(id.file_name()), id));
    all.map(|(path, id)| {
        Session::open(&path).map_or_else(|error| unreadable(&id, &error), |session| summarize(&session))
    })
    .collect()
}

/// The list line of a file that is no session.
pub(super) fn unreadable(id: &SessionId, error: &ReadError) -> Summary {
    Summary { id: id.to_string(), path: error.path.clone(), damage: Some(error.message.clone()), ..Summary::default() }
}

/// The list line of an open session.
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
        models: last.map(|run| run.bill.models()).unwrap_or_default(),
        turns: skeleton.roots().map(|run| run.turns.len()).sum(),
        tokens: last.and_then(|run| run.tokens),
        state: last.map_or(RunState::Open, |run| run.state),
        result: result.unwrap_or_default(),
        cost: last.and_then(|run| run.bill.cost(None)),
        task: last.map(|run| run.task.clone()).unwrap_or_default(),
        damage: session.damage_line(),
        parent: session.header.parent.clone(),
    }
}

/// The file of a session given as a path, an id, a unique beginning of one, or `last`.
pub fn find(dir: &Path, name: &str) -> Result<PathBuf, FindError> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let none = || FindError::None { name: name.to_owned(), dir: dir.to_owned() };
    let all = ids(dir);
    if name == LAST {
        return all.last().map(|id| dir.join(id.file_name())).ok_or_else(none);
    }
    let fits: Vec<_> = all.iter().filter(|id| !name.is_empty() && id.as_str().starts_with(name)).collect();
    match fits.as_slice() {
        [] => Err(none()),
        [one] => Ok(dir.join(one.file_name())),
        several => {
            Err(FindError::Several { name: name.to_owned(), ids: several.iter().map(ToString::to_string).collect() })
        }
    }
}
