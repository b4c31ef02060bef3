//! `sessions tag`, `note`, `mark` and `label`: the user's remarks on sessions, runs and turns.

use serde::Serialize;

use crate::cli::arguments::{LabelFlags, MarkFlags, NoteFlags, TagFlags};
use crate::cli::output::{UsageError, exit, print_json, print_line, safe_line};
use crate::event::Address;
use crate::session::{Label, Mark};
use crate::workbench::format::Marks;
use crate::workbench::{MarkPlace, Workbench};

/// The word that takes a label away.
const NO_LABEL: &str = "none";

pub(super) fn tag(flags: &TagFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let (mut add, mut del) = (Vec::new(), Vec::new());
    // After the first tag every word is one.
    let as_json = flags.json || flags.tags.iter().any(|tag| tag == "--json");
    let tags: Vec<&String> = flags.tags.iter().filter(|tag| *tag != "--json").collect();
    for tag in &tags {
        match (tag.strip_prefix('+'), tag.strip_prefix('-')) {
            (_, Some(flag)) if flag.starts_with('-') => {
                return Err(UsageError(format!("{tag} follows the tags: write flags before them")));
            }
            (Some(tag), _) => add.push(tag.to_owned()),
            (_, Some(tag)) => del.push(tag.to_owned()),
            _ => return Err(UsageError(format!("write +{tag} to add the tag, or -{tag} to remove it"))),
        }
    }
    let place = workbench.mark_place(&flags.place)?;
    let mark = if tags.is_empty() { workbench.mark_of(&place)? } else { workbench.tag(&place, &add, &del)? };
    Ok(print_mark(&place, &mark, as_json, Marks::of(plain)))
}

pub(super) fn note(flags: &NoteFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let place = workbench.mark_place(&flags.place)?;
    let mark = workbench.note(&place, &flags.text)?;
    Ok(print_mark(&place, &mark, flags.json, Marks::of(plain)))
}

pub(super) fn mark(flags: &MarkFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let place = workbench.mark_place(&flags.place)?;
    let mark = workbench.mark(&place, !flags.remove)?;
    Ok(print_mark(&place, &mark, flags.json, Marks::of(plain)))
}

pub(super) fn label(flags: &LabelFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let place = workbench.mark_place(&flags.place)?;
    let label = match flags.label.as_str() {
        NO_LABEL if flags.note.is_none() => None,
        NO_LABEL => return Err(UsageError("--note needs a label; `none` removes the label".to_owned())),
        grade => {
            let note = flags.note.clone().map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
            Some(Label { grade: grade.parse().map_err(UsageError)?, note })
        }
    };
    let mark = workbench.label(&place, label)?;
    Ok(print_mark(&place, &mark, flags.json, Marks::of(plain)))
}

fn print_mark(place: &MarkPlace, mark: &Mark, as_json: bool, signs: &Marks) -> u8 {
    if as_json {
        let mark = MarkJson { address: place.at.as_ref(), mark };
        print_json(&PlaceJson { session: place.session.as_str(), mark });
    } else {
        print_line(&format!("{}  {}", safe_line(&place.to_string()), words(mark, signs)));
    }
    exit::OK
}

/// Tags, note, bookmark and label of a session or of a position in it, as `--json` prints them.
#[derive(Serialize)]
pub(super) struct MarkJson<'a> {
    pub(super) address: Option<&'a Address>,
    #[serde(flatten)]
    pub(super) mark: &'a Mark,
}

#[derive(Serialize)]
struct PlaceJson<'a> {
    session: &'a str,
    #[serde(flatten)]
    mark: MarkJson<'a>,
}

/// `★ [fail too long] #slow #wrong  the note`; empty when nothing is written.
pub(super) fn words(mark: &Mark, signs: &Marks) -> String {
    let mut words: Vec<String> = mark.marked.then(|| signs.bookmark.to_owned()).into_iter().collect();
    words.extend(mark.label.as_ref().map(|label| format!("[{}]", safe_line(&label.to_string()))));
    words.extend(mark.tags.iter().map(|tag| format!("#{}", safe_line(tag))));
    words.extend(mark.note.as_deref().map(safe_line));
    words.join(" ")
}
