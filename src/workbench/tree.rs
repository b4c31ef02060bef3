//! The tree of sessions: which one was derived from which other one. Only first lines are read.

use std::path::{Path, PathBuf};

use super::{OpenError, SessionKey, Workbench, example_sessions};
use crate::session::{Header, Parent, Session, SessionId};

/// A session and the sessions derived from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its id.
    pub id: String,
    /// Its file; for an example only its name.
    pub path: PathBuf,
    /// Its parent; `None` for a session that was not derived.
    pub parent: Option<Parent>,
    /// The sessions derived from this one, oldest first.
    pub branches: Vec<Branch>,
    /// The parent is known and shown at the depth limit of another tree.
    pub is_cut: bool,
}

/// Levels of one tree. Deeper sessions get a tree of their own: a reader of nested data has its limits as well.
const MOST_LEVELS: usize = 60;

impl Branch {
    /// Returns whether this session is in the tree.
    pub fn holds(&self, id: &str) -> bool {
        self.id == id || self.branches.iter().any(|branch| branch.holds(id))
    }
}

impl Workbench {
    /// The trees of all sessions that have branches or are branches, oldest first; with a name only the tree that holds this session, among those of
    /// the folder and those next to it.
    pub fn tree(&self, session: Option<&str>) -> Result<Vec<Branch>, OpenError> {
        let named = session.map(|name| self.find_session(name)).transpose()?;
        let mut known = heads(&self.folders.sessions_dir);
        // A session that is named may lie elsewhere, with those that it began as and those that began as it.
        if let Some(SessionKey::File(path)) = &named {
            let beside = path.parent().filter(|dir| *dir != self.folders.sessions_dir);
            known.extend(beside.into_iter().flat_map(heads));
            let own = Session::header_of(path).map_err(|error| OpenError(error.to_string()))?;
            known.push((path.clone(), own));
        }
        known.extend(example_sessions().iter().map(|session| (session.path.clone(), session.header.clone())));
        known.sort_by(|one, other| one.1.created_ms.cmp(&other.1.created_ms).then(one.1.id.cmp(&other.1.id)));
        known.dedup_by(|one, other| one.1.id == other.1.id);
        let trees = grown(known);
        let Some(key) = named else {
            return Ok(trees.into_iter().filter(|tree| !tree.branches.is_empty() || tree.parent.is_some()).collect());
        };
        let id = match key {
            SessionKey::Example(id) => id,
            SessionKey::File(path) => {
                Session::header_of(&path).map_err(|error| OpenError(error.to_string()))?.id.to_string()
            }
        };
        Ok(trees.into_iter().filter(|tree| tree.holds(&id)).collect())
    }
}

/// The readable headers of a folder.
fn heads(dir: &Path) -> Vec<(PathBuf, Header)> {
    let files = std::fs::read_dir(dir).into_iter().flatten().filter_map(|entry| {
        let entry = entry.ok()?;
        SessionId::from_file_name(entry.file_name().to_str()?).map(|_| entry.path())
    });
    files.filter_map(|path| Some((path.clone(), Session::header_of(&path).ok()?))).collect()
}

/// The trees: a session whose parent is not known is a root. A parent is older than its branches, so that nothing goes in circles.
fn grown(known: Vec<(PathBuf, Header)>) -> Vec<Branch> {
    let mut open: Vec<Branch> = known
        .into_iter()
        .map(|(path, header)| {
            let (id, parent, branches) = (header.id.to_string(), header.parent, Vec::new());
            Branch { id, path, parent, branches, is_cut: false }
        })
        .collect();
    let places: std::collections::HashMap<String, usize> =
        open.iter().enumerate().map(|(place, branch)| (branch.id.clone(), place)).collect();
    let above = |place: usize, branch: &Branch| {
        let parent = branch.parent.as_ref()?;
        places.get(&parent.session).copied().filter(|at| *at < place)
    };
    let mut levels: Vec<usize> = Vec::new();
    for (place, branch) in open.iter_mut().enumerate() {
        let level = above(place, branch).map_or(0, |at| levels[at] + 1) % MOST_LEVELS;
        branch.is_cut = level == 0 && above(place, branch).is_some();
        levels.push(level);
    }
    let mut roots = Vec::new();
    // From the youngest on: all branches of a session are there when it goes to its own parent.
    while let Some(mut branch) = open.pop() {
        branch.branches.reverse();
        match above(open.len(), &branch).filter(|_| !branch.is_cut) {
            Some(at) => open[at].branches.push(branch),
            None => roots.push(branch),
        }
    }
    roots.reverse();
    roots
}
