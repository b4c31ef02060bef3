//! Tags, notes, marks and labels that a user writes on sessions, runs and turns.
//!
//! In: `SESSION` or `SESSION@ADDRESS`, and a change. Out: the marks after it. Sessions are never changed.

use std::path::{Path, PathBuf};

use super::{OpenError, SessionKey, Workbench};
use crate::event::Address;
use crate::port::SystemClock;
use crate::session::{Label, Mark, MarkChange, Marks, Session, write_mark};

/// Characters of a tag at most.
const TAG_CHARS: usize = 64;

/// A session, or a run or turn in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkPlace {
    /// The session's id.
    pub session: String,
    /// The run or turn; the session as a whole when absent.
    pub at: Option<Address>,
    /// The folder that stores its marks: that of the session's file; for an example the sessions folder.
    pub dir: PathBuf,
}

impl std::fmt::Display for MarkPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.session)?;
        self.at.as_ref().map_or(Ok(()), |at| write!(f, "@{at}"))
    }
}

/// The parts of `SESSION` or `SESSION@ADDRESS`.
pub(super) fn named_place(name: &str) -> (&str, Option<Address>) {
    match name.rsplit_once('@') {
        Some((session, at)) if is_address(at) => (session, Some(Address::from(at))),
        _ => (name, None),
    }
}

impl Workbench {
    /// Returns the marks on the sessions of the folder.
    pub fn marks(&self) -> Result<Marks, OpenError> {
        marks_in(&self.folders.sessions_dir)
    }

    /// Returns the marks on the sessions in the same folder; for an example those of the sessions folder.
    pub fn marks_next_to(&self, key: &SessionKey) -> Result<Marks, OpenError> {
        marks_in(&self.marks_dir(key))
    }

    /// The folder that holds the marks of a session.
    pub fn marks_dir(&self, key: &SessionKey) -> PathBuf {
        match key {
            SessionKey::Example(_) => self.folders.sessions_dir.clone(),
            SessionKey::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
        }
    }

    /// The place that `SESSION` or `SESSION@ADDRESS` names; the run or turn must be there.
    pub fn mark_place(&self, name: &str) -> Result<MarkPlace, OpenError> {
        let (session, at) = named_place(name);
        let key = self.find_session(session)?;
        let session = self.open_found(&key)?;
        if let Some(at) = &at {
            check_place(&session, at)?;
        }
        Ok(MarkPlace { session: crate::session::summarize(&session).id, at, dir: self.marks_dir(&key) })
    }

    /// Returns the tags, note, mark and label of a place.
    pub fn mark_of(&self, place: &MarkPlace) -> Result<Mark, OpenError> {
        Ok(marks_in(&place.dir)?.of(&place.session, place.at.as_ref()))
    }

    /// Gives tags and takes them away.
    pub fn tag(&self, place: &MarkPlace, add: &[String], del: &[String]) -> Result<Mark, OpenError> {
        check_tags(add)?;
        self.write(place, MarkChange { add: add.to_vec(), del: del.to_vec(), ..MarkChange::default() })
    }

    /// Replaces the note; an empty one takes it away.
    pub fn note(&self, place: &MarkPlace, text: &str) -> Result<Mark, OpenError> {
        self.write(place, MarkChange { note: Some(text.trim().to_owned()), ..MarkChange::default() })
    }

    /// Replaces the label; nothing takes it away.
    pub fn label(&self, place: &MarkPlace, label: Option<Label>) -> Result<Mark, OpenError> {
        self.write(place, MarkChange { unlabel: label.is_none(), label, ..MarkChange::default() })
    }

    /// Replaces tags, note, mark and label together, as one change.
    pub fn set_mark(&self, place: &MarkPlace, mark: &Mark) -> Result<(), OpenError> {
        let now = self.mark_of(place)?;
        let add: Vec<String> = mark.tags.difference(&now.tags).cloned().collect();
        check_tags(&add)?;
        let del = now.tags.difference(&mark.tags).cloned().collect();
        let note = (now.note != mark.note).then(|| mark.note.clone().unwrap_or_default());
        let change = MarkChange {
            add,
            del,
            note,
            mark: (now.marked != mark.marked).then_some(mark.marked),
            unlabel: now.label.is_some() && mark.label.is_none(),
            label: mark.label.clone().filter(|_| now.label != mark.label),
            ..MarkChange::default()
        };
        if now != *mark {
            self.write(place, change)?;
        }
        Ok(())
    }

    /// Marks it, or takes the mark away.
    pub fn mark(&self, place: &MarkPlace, marked: bool) -> Result<Mark, OpenError> {
        self.write(place, MarkChange { mark: Some(marked), ..MarkChange::default() })
    }

    fn write(&self, place: &MarkPlace, change: MarkChange) -> Result<Mark, OpenError> {
        let dir = &place.dir;
        let change =
            MarkChange { t: SystemClock.now(), session: place.session.clone(), at: place.at.clone(), ..change };
        write_mark(dir, &change)
            .map_err(|error| OpenError(format!("the marks in {} cannot be written: {error}", dir.display())))?;
        self.mark_of(place)
    }
}

fn marks_in(dir: &Path) -> Result<Marks, OpenError> {
    Marks::read(dir).map_err(|error| OpenError(format!("the marks in {} cannot be read: {error}", dir.display())))
}

/// Returns whether a text looks like the address of a run or turn.
fn is_address(text: &str) -> bool {
    text.strip_prefix('r').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn check_tags(tags: &[String]) -> Result<(), OpenError> {
    match tags.iter().find(|tag| !is_tag(tag)) {
        None => Ok(()),
        Some(bad) => Err(OpenError(format!(
            "{bad:?} is not a tag: a tag has 1 to {TAG_CHARS} characters, no spaces and commas, and starts with a letter or digit"
        ))),
    }
}

fn is_tag(tag: &str) -> bool {
    tag.chars().count() <= TAG_CHARS
        && tag.starts_with(char::is_alphanumeric)
        && !tag.contains(|c: char| c.is_whitespace() || c.is_control() || c == ',')
}

fn check_place(session: &Session, at: &Address) -> Result<(), OpenError> {
    let skeleton = session.skeleton();
    if skeleton.run(at).is_some() || skeleton.turn(at).is_some() {
        return Ok(());
    }
    let turns =
        |run: &crate::session::RunEntry| run.turns.iter().map(|turn| turn.address.to_string()).collect::<Vec<_>>();
    let known: Vec<String> =
        skeleton.runs.iter().flat_map(|run| [vec![run.address.to_string()], turns(run)].concat()).collect();
    let near = ptc_core::text::nearest(at.as_str(), known.iter().map(String::as_str));
    let near = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
    Err(OpenError(format!("{} has no run or turn {at}{near}", session.header.id)))
}
