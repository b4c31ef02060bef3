//! `sessions tag`, `note` and `mark`: what a person writes on sessions, runs and turns.

use ptc_core::value::Json;

use crate::cli::arguments::{MarkFlags, NoteFlags, TagFlags};
use crate::cli::{UsageError, exit, json, out, safe_line};
use crate::session::{Mark, Marks};
use crate::workbench::{MarkPlace, Workbench};

pub(super) fn tag(flags: &TagFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let (mut add, mut del) = (Vec::new(), Vec::new());
    // Behind the first tag everything is taken for one.
    let as_json = flags.json || flags.tags.iter().any(|tag| tag == "--json");
    let tags: Vec<&String> = flags.tags.iter().filter(|tag| *tag != "--json").collect();
    for tag in &tags {
        match (tag.strip_prefix('+'), tag.strip_prefix('-')) {
            (_, Some(flag)) if flag.starts_with('-') => {
                return Err(UsageError(format!("{tag} stands behind the tags: write flags before them")));
            }
            (Some(tag), _) => add.push(tag.to_owned()),
            (_, Some(tag)) => del.push(tag.to_owned()),
            _ => return Err(UsageError(format!("write +{tag} to give the tag, or -{tag} to take it away"))),
        }
    }
    let place = workbench.mark_place(&flags.place)?;
    let mark = if tags.is_empty() { workbench.mark_of(&place)? } else { workbench.tag(&place, &add, &del)? };
    Ok(told(&place, &mark, as_json))
}

pub(super) fn note(flags: &NoteFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let place = workbench.mark_place(&flags.place)?;
    let mark = workbench.note(&place, &flags.text)?;
    Ok(told(&place, &mark, flags.json))
}

pub(super) fn mark(flags: &MarkFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let place = workbench.mark_place(&flags.place)?;
    let mark = workbench.mark(&place, !flags.remove)?;
    Ok(told(&place, &mark, flags.json))
}

fn told(place: &MarkPlace, mark: &Mark, as_json: bool) -> u8 {
    if as_json {
        let at = place.at.as_ref().map_or_else(Json::default, |at| Json::str(at.as_str()));
        let members =
            [("session", Json::str(place.session.as_str())), ("address", at)].into_iter().chain(members(mark));
        out(&json::printable(&Json::object(members.collect::<Vec<_>>())));
    } else {
        out(&format!("{}  {}", safe_line(&place.to_string()), words(mark)));
    }
    exit::OK
}

fn members(mark: &Mark) -> [(&'static str, Json); 3] {
    [
        ("tags", Json::list(mark.tags.iter().map(|tag| Json::str(tag.as_str())))),
        ("note", mark.note.as_deref().map_or_else(Json::default, Json::str)),
        ("marked", mark.marked.into()),
    ]
}

/// `★ #slow #wrong  the note`; empty when nothing is written.
pub(super) fn words(mark: &Mark) -> String {
    let mut words: Vec<String> = mark.marked.then(|| "★".to_owned()).into_iter().collect();
    words.extend(mark.tags.iter().map(|tag| format!("#{}", safe_line(tag))));
    words.extend(mark.note.as_deref().map(safe_line));
    words.join(" ")
}

/// What is written on a session and in it, as JSON.
pub(super) fn of_session(marks: &Marks, id: &str) -> Json {
    Json::list(marks.of_session(id).map(|(at, mark)| {
        let at = at.map_or_else(Json::default, |at| Json::str(at.as_str()));
        Json::object([("address", at)].into_iter().chain(members(mark)).collect::<Vec<_>>())
    }))
}
