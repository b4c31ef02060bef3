//! The list of what a search has found: a line for each turn and kind of text, and going to one of them.
//!
//! In: the search of the transcript, or of the turn that is taken apart. Out: a list, then another place in what was searched.

use crate::tui::found::{FoundText, HitPlace};
use crate::tui::message::Effect;
use crate::tui::model::{HitLine, Model, Picks, Popup, Tone};

/// Columns of the place and of the kind before what was found.
const PLACE: usize = 10;
const KIND: usize = 13;

/// Lists what was found.
pub(super) fn list(model: &mut Model) -> Vec<Effect> {
    if matches!(model.popups.last(), Some(Popup::Seek { .. })) {
        model.popups.pop();
    }
    let (needle, hits, selected) = if let Some(open) = &model.inspector {
        (open.needle().to_owned(), open.hit_list(), open.found().0.saturating_sub(1))
    } else {
        let Some(transcript) = model.active_transcript() else { return Vec::new() };
        let hits = transcript.hit_list();
        let at = transcript.looked_at().map(HitPlace::Card);
        let selected = hits.iter().position(|hit| Some(hit.place) == at);
        (transcript.needle().to_owned(), hits, selected.unwrap_or_default())
    };
    if hits.is_empty() {
        model.show_toast(Tone::Info, format!("no matches for `{needle}`"));
        return Vec::new();
    }
    let count: usize = hits.iter().map(|hit| hit.count).sum();
    let matches = if count == 1 { "match" } else { "matches" };
    let message = format!("{count} {matches} of `{needle}`");
    let mut before = String::new();
    let mut line = |hit: &FoundText| {
        let place = if hit.at == before { "" } else { hit.at.as_str() };
        let times = if hit.count > 1 { format!("{} × {}", hit.kind, hit.count) } else { hit.kind.clone() };
        let title = format!("{place:<PLACE$} {times:<KIND$} {}", hit.excerpt);
        before.clone_from(&hit.at);
        HitLine { title, place: hit.place }
    };
    let lines: Vec<HitLine> = hits.iter().map(&mut line).collect();
    let selected = selected.min(lines.len() - 1);
    model.popups.push(Popup::Fixes { title: "Matches", message, fixes: Picks::Hits(lines), selected });
    Vec::new()
}

/// Goes to a match.
pub(super) fn go(model: &mut Model, place: HitPlace) {
    let now_ms = model.now_ms;
    match place {
        HitPlace::Part(tab, part) => {
            if let Some(open) = &mut model.inspector {
                open.go_to_hit(tab, part);
            }
        }
        HitPlace::Card(cell) => {
            if let Some((view, _)) = super::reading::on_screen(model) {
                view.transcript.go_to_match(cell, now_ms);
            }
        }
    }
}
