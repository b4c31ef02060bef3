//! `update`: one message changes the model and gives effects. Pure: no file, no clock, no task.

mod choice;
mod compare;
mod dialog;
mod edit;
mod find;
mod fix;
mod inspect;
mod keys;
mod matrix;
mod menu;
mod mouse;
mod opening;
mod palette;
mod play;
mod reading;
mod run;
mod save;
mod search;
mod sessions;
mod take;

pub(super) use palette::{Entry, entries};
pub(super) use reading::AUTOSCROLL_MS;

use super::archive::Told;
use super::backend::Preview;
use super::message::{Effect, Msg, Slot};
use super::model::{CHORD_MS, KEEP_AFTER_MS, Model, Pane, Popup, Tone};

/// Takes one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let version = model.workbench.version();
    let query = model.sessions.filter.version();
    let quiet = matches!(msg, Msg::Clock(_) | Msg::Kept(Ok(())) | Msg::TourNoted(Ok(())) | Msg::Clipped(Ok(())));
    model.dirty |= !quiet;
    let by_hand = matches!(msg, Msg::Key(_) | Msg::Mouse(_) | Msg::Paste(_));
    let asked = model.popups.last().is_some_and(Popup::asks_by_itself);
    let mut effects = match msg {
        Msg::Clock(now_ms) => clock(model, now_ms),
        Msg::Key(key) => keys::key(model, key),
        Msg::Paste(text) => edit::pasted(model, &text),
        Msg::Mouse(event) => mouse::mouse(model, event),
        Msg::Resize(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        Msg::Checked(version, diagnostics, preview) => {
            if version == model.workbench.version() {
                model.workbench.checked = Some(version);
                model.workbench.diagnostics = diagnostics;
                let old = std::mem::replace(&mut model.workbench.preview, *preview);
                keep_known(&mut model.workbench.preview, old);
            }
            Vec::new()
        }
        Msg::Started(result) => run::started(model, result),
        Msg::WentOn(result) => sessions::went_on(model, result),
        Msg::ReplayStarted(result) => sessions::replay_started(model, result),
        Msg::Happened(slot @ (Slot::Left | Slot::Right), happenings) => compare::happened(model, slot, happenings),
        Msg::Comparing(told) => compare::told(model, told),
        Msg::Happened(slot, happenings) => {
            let again = inspect::read_again(model, slot, &happenings);
            let mut effects = run::happened(model, slot, happenings);
            effects.extend(again);
            effects
        }
        Msg::Inspected(subject, turn, result) => inspect::inspected(model, &subject, &turn, result),
        Msg::Probed(turn, at, result) => inspect::probed(model, &turn, at, result),
        Msg::Evaluated(turn, result) => inspect::evaluated(model, &turn, result),
        Msg::Listed(result) => sessions::listed(model, result),
        Msg::Held(mode, result) => opening::held(model, mode, result),
        Msg::Opened(result) => sessions::opened(model, result),
        Msg::TurnRead(session, turn, body) => sessions::turn_read(model, &session, &turn, body),
        Msg::FoundUnread(session, needle, turns) => reading::found_unread(model, &session, &needle, &turns),
        Msg::Saved(path, texts, result) => save::saved(model, path, texts, result),
        Msg::Kept(Ok(())) | Msg::Clipped(Ok(())) | Msg::TourNoted(Ok(())) | Msg::Resumed => Vec::new(),
        Msg::Clipped(Err(error)) => {
            model.say(Tone::Bad, format!("copied here, but not to this machine's clipboard: {error}"));
            Vec::new()
        }
        Msg::Kept(Err(error)) => {
            model.say(Tone::Bad, format!("unsaved edits could not be kept: {}", error.message));
            Vec::new()
        }
        Msg::TourNoted(Err(error)) => {
            model.say(Tone::Bad, format!("the tour will be shown again: {}", error.message));
            Vec::new()
        }
        Msg::Recoveries(found) => save::recoveries(model, found),
        Msg::Edited(place, result) => edit::edited(model, place, result),
        Msg::Told(told) => answered(model, told),
    };
    if let Pane::Editor(place) = model.workbench.focus {
        model.workbench.last_editor = place;
    }
    if !by_hand && !asked && model.popups.last().is_some_and(Popup::asks_by_itself) {
        model.asked_ms = model.now_ms;
    }
    find::refresh(model);
    if model.sessions.filter.version() != query {
        effects.extend(search::changed(model));
    }
    if model.workbench.version() != version {
        model.workbench.keep_at_ms = Some(model.now_ms + KEEP_AFTER_MS);
        effects.push(Effect::Check(model.workbench.version(), model.workbench.texts()));
    }
    effects
}

/// Takes an answer about saved sessions.
fn answered(model: &mut Model, told: Told) -> Vec<Effect> {
    match told {
        Told::Failures(result) => sessions::show_failures(model, result),
        Told::Found(query, result) => search::found(model, &query, result),
        Told::Written(result) => dialog::written(model, result),
        Told::Points(key, result) => dialog::points(model, &key, result),
        Told::Text(spot, result) => dialog::text(model, &spot, result),
        Told::Began(result) => dialog::began(model, result),
        Told::Made(result) => dialog::made(model, result),
        Told::Prepared(key, rules, result) => dialog::prepared(model, &key, rules, result),
        Told::Exported(result) => dialog::exported(model, result),
        Told::Events(key, result) => play::events(model, &key, result),
        Told::Taken(source, result) => take::taken(model, source, result),
    }
}

/// Takes name, mode and model of the texts before where they cannot be read any more.
fn keep_known(preview: &mut Preview, before: Preview) {
    let fields =
        [(&mut preview.name, before.name), (&mut preview.mode, before.mode), (&mut preview.model, before.model)];
    for (known, before) in fields.into_iter().filter(|(known, _)| known.is_empty()) {
        *known = before;
    }
}

/// What the program does first: check the texts and look for kept ones.
pub fn start(model: &Model) -> Vec<Effect> {
    vec![Effect::Check(model.workbench.version(), model.workbench.texts()), Effect::List]
}

fn clock(model: &mut Model, now_ms: i64) -> Vec<Effect> {
    let stood = model.stands();
    let before = std::mem::replace(&mut model.now_ms, now_ms);
    model.dirty |= model.stands() != stood;
    if model.toast.as_ref().is_some_and(|toast| toast.until_ms <= now_ms) {
        model.toast = None;
        model.dirty = true;
    }
    reading::autoscroll(model);
    if let Some((_, since)) = model.begun {
        model.dirty |= before < since + CHORD_MS && now_ms >= since + CHORD_MS;
    }
    model.dirty |= model.beat_ms().is_some_and(|beat_ms| before / beat_ms != now_ms / beat_ms);
    if model.sessions.scrub.as_ref().is_some_and(|scrub| scrub.playing.is_some()) {
        play::tick(model);
    }
    if model.workbench.keep_at_ms.is_some_and(|at| at <= now_ms) {
        model.workbench.keep_at_ms = None;
        let workbench = &model.workbench;
        let keep = workbench.unsaved().then(|| Effect::Keep(Box::new(workbench.recovery(now_ms))));
        return vec![keep.unwrap_or(Effect::Forget)];
    }
    Vec::new()
}
