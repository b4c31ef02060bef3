//! The state of the sessions screen: the list and its order, the query, the opened session.

use std::collections::HashMap;

use ratatui::layout::Rect;

use super::RunView;
use crate::event::Address;
use crate::session::index::FoundSession;
use crate::session::{Marks, RunState, Summary};
use crate::tui::actions::Action;
use crate::tui::draft::Draft;
use crate::tui::sessions::scrub::Scrub;
use crate::workbench::{SearchError, SessionKey};

/// Saved sessions.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    /// All of them, newest first; `None` until they were read.
    pub all: Option<Vec<Summary>>,
    /// Tags, notes and marks on them.
    pub marks: Marks,
    /// The query.
    pub filter: Draft,
    /// The query is being typed.
    pub filtering: bool,
    /// State and results of the query.
    pub search: Search,
    /// The list is by time alone, not by branches.
    pub flat: bool,
    /// The lines that are shown, in order.
    order: Vec<Line>,
    /// The selected session.
    pub selected: Option<SessionKey>,
    /// The action for the session of the workbench's run, once the list contains it.
    pub awaited: Option<Action>,
    /// The user moved the selection since the screen was entered.
    pub moved: bool,
    /// The run whose session was last selected by itself.
    pub noticed: Option<String>,
    /// The session to select as soon as the list shows it.
    pub wanted: Option<String>,
    /// First visible row.
    pub top: usize,
    /// Screen area of the rows.
    pub area: Rect,
    /// The opened session or its replay.
    pub viewer: Option<RunView>,
    /// Screen area of the viewer's transcript.
    pub viewer_area: Rect,
    /// The opened session is played.
    pub scrub: Option<Scrub>,
}

/// The report of a replay that differs.
#[derive(Debug, Clone)]
pub struct Differs {
    /// Its title.
    pub title: String,
    /// Its parts: heading and text.
    pub parts: Vec<(String, String)>,
    /// Address of the first difference.
    pub at: Address,
    /// First visible row.
    pub top: usize,
}

/// State and results of a query.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The query that is being looked for.
    pub running: Option<String>,
    /// The query that the results belong to; empty without one.
    pub query: String,
    /// Results by session, none for a query with an error; `None` without a query.
    pub found: Option<HashMap<SessionKey, FoundSession>>,
    /// Error of the query.
    pub problem: Option<SearchError>,
    /// The selected session is opened as soon as the search has ended.
    pub opens: bool,
}

/// The reason why nothing is done with a session while rows of another query are shown.
pub(in crate::tui) const SEARCHING: &str = "the search has not ended yet";

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    /// Index of the session.
    index: usize,
    /// Number of its ancestors that are shown above it.
    depth: usize,
}

/// The fewest and the most sessions that are compared.
const COMPARED: std::ops::RangeInclusive<usize> = 2..=4;

impl Sessions {
    /// The sessions that are shown, in order.
    pub fn shown(&self) -> impl Iterator<Item = &Summary> {
        self.lines().map(|(session, _)| session)
    }

    /// Like `shown`, with the depth of each session in the tree of forks.
    pub fn lines(&self) -> impl Iterator<Item = (&Summary, usize)> {
        let all = self.all.as_deref().unwrap_or_default();
        self.order.iter().filter_map(|line| Some((all.get(line.index)?, line.depth)))
    }

    /// The typed query.
    pub fn typed(&self) -> &str {
        self.filter.text().trim()
    }

    /// The filter that finds sessions by their agent, mode or model, where the typed query is a word of one: words are searched in the
    /// texts of sessions alone.
    pub fn filter_of_word(&self) -> Option<String> {
        let word = self.typed().to_lowercase();
        let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        if word.starts_with(['-', '/']) || word.is_empty() || !word.chars().all(is_part) {
            return None;
        }
        let all = || self.all.iter().flatten();
        let agents = || all().map(|session| &session.agent);
        let models = || all().flat_map(|session| &session.models);
        let is_mode = all().any(|session| session.mode == word);
        let is = |name: &String| name.to_lowercase() == word;
        let has = |name: &String| name.to_lowercase().contains(&word);
        let filters = [
            (agents().any(is), format!("agent:{word}")),
            (is_mode, format!("mode:{word}")),
            (models().any(is), format!("model:{word}")),
            (agents().any(has), format!("agent:*{word}*")),
            (models().any(has), format!("model:*{word}*")),
        ];
        filters.into_iter().find_map(|(finds, filter)| finds.then_some(filter))
    }

    /// Returns whether the list shows the rows of another query than the typed one, whose search has not ended.
    pub fn is_stale(&self) -> bool {
        self.viewer.is_none() && self.typed() != self.search.query
    }

    /// Returns whether the list has a query, or one is being typed.
    pub fn filters(&self) -> bool {
        self.viewer.is_none() && (self.filtering || !self.filter.text().is_empty())
    }

    /// Returns the match of the query in a session.
    pub fn hit(&self, key: &SessionKey) -> Option<&FoundSession> {
        self.search.found.as_ref()?.get(key)
    }

    /// The opened session, else the selected one.
    pub fn subject(&self) -> Option<&Summary> {
        match self.viewer.as_ref() {
            Some(viewer) => self.all.iter().flatten().find(|session| Some(session.key()) == viewer.key),
            None => self.current(),
        }
    }

    /// The session of the selected row, for display: actions need [`current`](Self::current).
    pub fn selected_row(&self) -> Option<&Summary> {
        let selected = self.selected.as_ref()?;
        self.shown().find(|session| session.key() == *selected)
    }

    /// The selected session, when it is shown and its row belongs to the typed query.
    pub fn current(&self) -> Option<&Summary> {
        self.selected_row().filter(|_| !self.is_stale())
    }

    /// The reason why there is no session to act on.
    pub(super) fn missing(&self) -> &'static str {
        if self.is_stale() { SEARCHING } else { "no session is selected" }
    }

    /// The sessions that can be resumed, newest first.
    pub fn unfinished(&self) -> impl Iterator<Item = &Summary> {
        // Runs of other programs are not resumed.
        let own = |session: &&Summary| !session.example && !session.is_foreign && session.damage.is_none();
        let sessions = self.all.iter().flatten();
        sessions.filter(own).filter(|session| session.state == RunState::Open && !session.is_in_use)
    }

    /// Returns the target of tags, notes and marks: a session's id, and in an opened session the card's run or turn.
    pub fn mark_place(&self) -> Option<(String, Option<Address>)> {
        let session = self.subject()?.id.clone();
        Some((session, self.viewer.as_ref().and_then(|viewer| viewer.transcript.selected_address())))
    }

    /// Returns the target of a label: a session's id, and in an opened session the root run that is shown.
    pub fn label_place(&self) -> Option<(String, Option<Address>)> {
        let (session, at) = self.mark_place()?;
        Some((session, at.map(|at| at.root())))
    }

    /// Returns whether the target of marks is marked.
    pub fn is_place_marked(&self) -> bool {
        let place = self.mark_place();
        place.is_some_and(|(session, at)| self.marks.get(&session, at.as_ref()).is_some_and(|mark| mark.marked))
    }

    /// Returns whether the session is marked as a whole.
    pub fn is_marked(&self, session: &Summary) -> bool {
        self.marks.get(&session.id, None).is_some_and(|mark| mark.marked)
    }

    /// The marked sessions, newest first.
    pub fn marked(&self) -> Vec<SessionKey> {
        self.all.iter().flatten().filter(|session| self.is_marked(session)).map(Summary::key).collect()
    }

    /// The sessions that are compared: the marked ones, and the one in hand next to a single one.
    pub fn compared(&self) -> Result<Vec<SessionKey>, &'static str> {
        let mut keys = self.marked();
        if let (1, Some(subject)) = (keys.len(), self.subject().map(Summary::key))
            && !keys.contains(&subject)
        {
            keys.push(subject);
        }
        match keys.len() {
            count if COMPARED.contains(&count) => Ok(keys),
            1 if self.is_stale() => Err(SEARCHING),
            count if count < *COMPARED.start() => Err("mark two to four sessions first"),
            _ => Err("more than four sessions are marked"),
        }
    }

    /// Sorts again: of the sessions that match the query, branches follow their parents, unless the list is flat.
    pub fn arrange(&mut self) {
        let all = self.all.as_deref().unwrap_or_default();
        let found = self.search.found.as_ref();
        let shown: Vec<usize> = (0..all.len())
            .filter(|index| {
                found.is_none_or(|found| all.get(*index).is_some_and(|session| found.contains_key(&session.key())))
            })
            .collect();
        self.order = if self.flat {
            shown.into_iter().map(|index| Line { index, depth: 0 }).collect()
        } else {
            branched(all, &shown)
        };
    }
}

/// Roots by their youngest branch, branches below their origin, oldest first.
fn branched(all: &[Summary], shown: &[usize]) -> Vec<Line> {
    let places: HashMap<&str, usize> = shown.iter().map(|index| (all[*index].id.as_str(), *index)).collect();
    let above = |index: usize| {
        let origin = all[index].parent.as_ref()?;
        places.get(origin.session.as_str()).copied().filter(|above| *above != index)
    };
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    for index in shown.iter().rev() {
        if let Some(above) = above(*index) {
            below.entry(above).or_default().push(*index);
        }
    }
    let mut lines = Vec::with_capacity(shown.len());
    let mut seen = vec![false; all.len()];
    // What is newest comes first, with the whole tree that it belongs to.
    for index in shown {
        if seen[*index] {
            continue;
        }
        let mut root = *index;
        let mut steps = 0;
        while let Some(above) = above(root).filter(|_| steps <= shown.len()) {
            root = above;
            steps += 1;
        }
        let mut open = vec![Line { index: root, depth: 0 }];
        while let Some(line) = open.pop() {
            if std::mem::replace(&mut seen[line.index], true) {
                continue;
            }
            lines.push(line);
            let branches = below.get(&line.index).into_iter().flatten().rev();
            open.extend(branches.map(|index| Line { index: *index, depth: line.depth + 1 }));
        }
    }
    lines
}

/// The mark of how a session ended.
pub fn status_mark(status: RunState) -> &'static str {
    match status {
        RunState::Open => "●",
        RunState::Returned => "✓",
        RunState::Failed => "✗",
    }
}
