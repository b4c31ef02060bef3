//! `update`: one message changes the model and gives effects. Pure: no file, no clock, no task.

mod candidates;
mod cases;
mod close;
mod compare;
mod dialog;
mod edit;
mod find;
mod hits;
mod inspect;
mod keys;
mod matrix;
mod mouse;
mod overview;
mod palette;
mod play;
mod popups;
mod question;
mod reading;
mod response;
mod run;
mod runs;
mod save;
mod server_prompts;
mod sessions;
mod stop;
mod suggest;
mod take;
mod tour;
mod traffic;
mod unconfirmed_texts;

pub(super) use question::ask_about_file;
pub(super) use reading::AUTOSCROLL_MS;

use super::archive::{ArchiveRequest, ArchiveResponse};
use super::candidates::CandidatesResponse;
use super::message::{Effect, Msg, Slot};
use super::model::{CHORD_MS, KEEP_AFTER_MS, Model, Pane, Popup, Screen, Tone};
use crate::agent::Agent;
use crate::workbench::DraftSummary;

/// Takes one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let version = model.workbench.version();
    let query = model.sessions.filter.version();
    let reply = model.reply_version();
    model.dirty |= !is_quiet(&msg);
    let by_hand = matches!(msg, Msg::Key(_) | Msg::Mouse(_) | Msg::Paste(_));
    let of_runs = matches!(msg, Msg::RunUpdates(..) | Msg::Compare(_) | Msg::Traffic(_));
    let asked = model.popups.last().is_some_and(Popup::opens_unrequested);
    let mut effects = match msg {
        Msg::Clock(now_ms) => clock(model, now_ms),
        Msg::Key(key) => keys::key(model, key),
        Msg::Paste(text) => edit::pasted(model, &text),
        Msg::Mouse(event) => mouse::mouse(model, event),
        Msg::FocusGained => {
            model.look_at_file_soon();
            Vec::new()
        }
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
                take::split_whole_file(model);
                if model.screen == Screen::Tests {
                    return vec![cases::list(model)];
                }
            }
            Vec::new()
        }
        Msg::Started(result) => run::started(model, result),
        Msg::SessionResumed(result) => sessions::resumed(model, result),
        Msg::ReplayStarted(result) => sessions::replay_started(model, result),
        Msg::SessionFile(slot, file) => run::file_changed(model, slot, file),
        Msg::RunUpdates(slot, updates) if Slot::SIDES.contains(&slot) => compare::updates(model, slot, updates),
        Msg::Compare(response) => compare::respond(model, response),
        Msg::RunUpdates(slot, updates) => {
            let again = inspect::read_again(model, slot, &updates);
            let mut effects = run::updates(model, slot, updates);
            effects.extend(again);
            effects
        }
        Msg::Inspected(subject, turn, result) => inspect::inspected(model, &subject, &turn, result),
        Msg::Probed(turn, at, result) => inspect::probed(model, &turn, at, result),
        Msg::Evaluated(turn, result) => inspect::evaluated(model, &turn, result),
        Msg::Tests(response) => cases::respond(model, response),
        Msg::Traffic(response) => traffic::respond(model, response),
        Msg::Candidates(response) => candidates::respond(model, response),
        Msg::OverviewRead(session, result) => overview::was_read(model, &session, result),
        Msg::ValueComputed(turn, name, result) => inspect::value_computed(model, &turn, &name, result),
        Msg::Listed(all, marks) => sessions::listed(model, all, marks),
        Msg::PreviewCompared(mode, result) => popups::preview_compared(model, mode, result),
        Msg::Opened(result) => sessions::opened(model, result),
        Msg::TurnRead(session, turn, body) => sessions::turn_read(model, &session, &turn, body),
        Msg::FoundUnread(session, needle, turns) => reading::found_unread(model, &session, &needle, &turns),
        Msg::Saved(path, texts, result) => save::saved(model, path, texts, result),
        Msg::Kept(Ok(())) | Msg::Clipped(Ok(())) | Msg::TourNoted(Ok(())) | Msg::Resumed => Vec::new(),
        Msg::Clipped(Err(error)) => {
            model.show_toast(Tone::Bad, format!("copied here, but not to this machine's clipboard: {error}"));
            Vec::new()
        }
        Msg::Kept(Err(error)) => {
            model.show_toast(Tone::Bad, format!("unsaved edits could not be kept: {}", error.message));
            Vec::new()
        }
        Msg::TourNoted(Err(error)) => {
            model.show_toast(Tone::Bad, format!("the tour will be shown again: {}", error.message));
            Vec::new()
        }
        Msg::Recoveries(found) => save::recoveries(model, found),
        Msg::Edited(place, result) => edit::edited(model, place, result),
        Msg::Archive(response) => respond(model, response),
    };
    if let Pane::Editor(place) = model.workbench.focus {
        model.workbench.last_editor = place;
    }
    if !by_hand && !asked && model.popups.last().is_some_and(Popup::opens_unrequested) {
        model.asked_ms = model.now_ms;
    }
    if of_runs {
        save::close_settled_question(model);
    }
    effects.extend(traffic::follow_selected(model));
    effects.extend(candidates::follow(model));
    effects.extend(suggest::stop_when_left(model));
    model.workbench.sync_inputs();
    find::refresh(model);
    if model.sessions.filter.version() != query {
        effects.extend(sessions::query_changed(model));
    }
    if by_hand && model.reply_version() != reply {
        model.workbench.keep_at_ms = Some(model.now_ms + KEEP_AFTER_MS);
    }
    if model.workbench.version() != version {
        effects.push(texts_changed(model, by_hand));
    }
    effects
}

/// The texts of the draft have changed: they are kept after a while, and checked.
fn texts_changed(model: &mut Model, by_hand: bool) -> Effect {
    if by_hand && let Some(run) = &mut model.workbench.run {
        run.typed_since_start = true;
    }
    model.workbench.keep_at_ms = Some(model.now_ms + KEEP_AFTER_MS);
    Effect::Check(model.workbench.version(), model.workbench.texts())
}

/// Returns whether a message changes nothing on the screen by itself; its handler may still find something.
fn is_quiet(msg: &Msg) -> bool {
    matches!(
        msg,
        Msg::Clock(_)
            | Msg::Kept(Ok(()))
            | Msg::TourNoted(Ok(()))
            | Msg::Clipped(Ok(()))
            | Msg::FocusGained
            | Msg::Archive(ArchiveResponse::FileLooked(..))
            | Msg::Candidates(CandidatesResponse::Refreshed(Ok(None) | Err(_)))
    )
}

/// Takes the response to a request about saved sessions.
fn respond(model: &mut Model, response: ArchiveResponse) -> Vec<Effect> {
    use ArchiveResponse as Response;
    match response {
        Response::Failures(result) => sessions::show_failures(model, result),
        Response::Found(query, result) => sessions::found(model, &query, result),
        Response::Example(result) => take::example(model, result),
        Response::SuggestionPrepared(result) => suggest::prepared(model, result),
        Response::Suggested(number, result) => suggest::suggested(model, number, result),
        Response::Deleted(result) => dialog::deleted(model, result),
        Response::Marked(result) => dialog::marked(model, result),
        Response::ForkPoints(key, result) => dialog::points(model, &key, result),
        Response::CurrentText(target, result) => dialog::text(model, &target, result),
        Response::Started(result) => dialog::started(model, result),
        Response::CaseMade(result) => dialog::case_made(model, result),
        Response::ExportPreview(key, rules, result) => dialog::export_previewed(model, &key, rules, result),
        Response::Exported(result) => dialog::exported(model, result),
        Response::ModelLooked(name, is_usable) => dialog::model_looked(model, &name, is_usable),
        Response::Events(key, result) => play::events(model, &key, result),
        Response::AgentOpened(source, result) => take::opened(model, source, result),
        Response::ChangedFile(choice, result) => save::file_taken(model, choice, result),
        Response::FileLooked(known, changed) => save::take_file_look(model, known, changed),
        Response::ExampleRun(found) => run::show_example(model, found),
        Response::FileRead(result) => edit::file_read(model, result),
        Response::PromptsListed(result) => server_prompts::listed(model, result),
        Response::PromptFilled(result) => server_prompts::filled(model, result),
        Response::FileQuestion(source, named) => {
            take::file_question(model, source, *named);
            Vec::new()
        }
    }
}

/// Takes name, mode and model of the texts before where they cannot be read any more.
fn keep_known(preview: &mut DraftSummary, before: DraftSummary) {
    let fields =
        [(&mut preview.name, before.name), (&mut preview.mode, before.mode), (&mut preview.model, before.model)];
    for (known, before) in fields.into_iter().filter(|(known, _)| known.is_empty()) {
        *known = before;
    }
}

/// Returns the first effects of the program: a check of the texts, and a listing of the sessions.
pub fn start(model: &Model) -> Vec<Effect> {
    vec![Effect::Check(model.workbench.version(), model.workbench.texts()), Effect::List]
}

/// Requests a recorded run of the example that is open, to look at before the first run; `None` for an agent of the user.
pub(super) fn example_run(model: &Model) -> Option<Effect> {
    let workbench = &model.workbench;
    if workbench.file.is_some() || workbench.pipeline.is_some() {
        return None;
    }
    let agent = workbench.texts().to_agent(&Agent::default()).ok()?;
    let request = ArchiveRequest::ExampleRun(agent.name, agent.mode.name().to_owned());
    Some(Effect::Archive(request))
}

fn clock(model: &mut Model, now_ms: i64) -> Vec<Effect> {
    let stood = model.is_answerable();
    let before = std::mem::replace(&mut model.now_ms, now_ms);
    model.dirty |= model.is_answerable() != stood;
    // An announcement holds as long as it is on the screen: a key that comes before the next frame was pressed with it in view.
    model.workbench.stop_announced &= model.toast.is_some() || model.dirty;
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
    let look = model.begin_file_look().map(|file| Effect::Archive(ArchiveRequest::LookAtFile(file)));
    let mut effects: Vec<Effect> = look.into_iter().collect();
    if model.workbench.keep_at_ms.is_some_and(|at| at <= now_ms) {
        model.workbench.keep_at_ms = None;
        effects.push(model.recovery().map_or(Effect::Forget, |recovery| Effect::Keep(Box::new(recovery))));
    }
    effects
}
