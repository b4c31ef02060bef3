//! Actions on saved sessions and their dialogs: beginning them, moving in them, confirming them, and what comes of that.

use crossterm::event::KeyEvent;
use ratatui::layout::Position;

use super::sessions::{ActionStart, begin};
use super::{response, unconfirmed_texts};
use ptc_core::signature::underscored;
use ptc_core::text::did_you_mean;

use crate::event::ErrorRecord;
use crate::port::Breakpoint;
use crate::tui::actions::{Action, Context};
use crate::tui::archive::{ArchiveRequest, EditTarget};
use crate::tui::compare::CompareRequest;
use crate::tui::draft::Reach;
use crate::tui::form::{Form, Input, TypedInput, first_listed};
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{Model, Pane, Phase, Popup, RunView, Screen, Tone};
use crate::tui::sessions::models::OtherModelsDialog;
use crate::tui::sessions::rerun::{self, Message};
use crate::tui::sessions::without::Without;
use crate::tui::sessions::{Dialog, Purpose, SessionAction, workbench};
use crate::workbench::format::{plural, size};
use crate::workbench::{
    BY_FLAG, CurrentText, ExportError, ExportPreview, ExportReport, ForkPoints, MadeCase, OpenAgent, SessionKey,
};

/// Columns of the sign before a chosen value.
const SIGN: u16 = 2;

pub(super) fn open(model: &mut Model, dialog: Dialog) -> Vec<Effect> {
    model.sessions.filtering = false;
    unconfirmed_texts::show(model, dialog)
}

fn effects(requests: impl IntoIterator<Item = ArchiveRequest>) -> Vec<Effect> {
    requests.into_iter().map(Effect::Archive).collect()
}

/// Begins an action on the saved session in hand.
pub(super) fn act(model: &mut Model, action: SessionAction) -> Vec<Effect> {
    match action {
        // In place if the run waits at a gate of the selected turn.
        SessionAction::EditHere => {
            if let Some(question) = model.open_gate() {
                super::question::ask(model, question);
                return Vec::new();
            }
        }
        SessionAction::Suggest if model.suggestions.current.is_some() => return super::suggest::stop(model),
        SessionAction::AcceptReplay => _ = model.popups.pop(),
        SessionAction::Play => model.show_toast(Tone::Info, "reading the events …"),
        _ => {}
    }
    if action.awaits_listing() && model.saved_subject().is_none() {
        return once_listed(model, Action::Session(action));
    }
    match begin(action, model) {
        Some(ActionStart::Dialog(dialog)) => open(model, *dialog),
        Some(ActionStart::Request(request)) => effects([request]),
        None => Vec::new(),
    }
}

/// Does something with the session of the run as soon as the list knows it, unless a key is pressed before.
fn once_listed(model: &mut Model, action: Action) -> Vec<Effect> {
    model.sessions.awaited = Some(action);
    let title = action.row().map_or("", |row| row.title);
    model.show_toast(Tone::Info, format!("{title}: the run's session is being looked for …"));
    vec![Effect::List]
}

/// Puts back the text of the session.
pub(super) fn original(model: &mut Model) -> Vec<Effect> {
    let Some((form, Purpose::Fork(fork))) = top(model) else { return Vec::new() };
    let Some(original) = fork.original(form).map(ToOwned::to_owned) else { return Vec::new() };
    if let Some(Input::Text(editor, _)) = form.field_mut("text").map(|field| &mut field.input) {
        editor.draft.replace_all(&original);
    }
    changed(model)
}

/// Writes a message to the finished run of the session that is shown.
pub(super) fn message(model: &mut Model) -> Vec<Effect> {
    let Some(session) = model.saved_subject() else { return once_listed(model, Action::Resume) };
    let dialog = Message::open(session);
    open(model, dialog)
}

/// Asks which part of the open request is dropped, and how often the model is asked without it.
pub(super) fn without(model: &mut Model) -> Vec<Effect> {
    match model.inspector.as_deref().map(Without::open) {
        Some(dialog) => open(model, dialog),
        None => Vec::new(),
    }
}

/// Opens the dialog that sends the selected captured request to other models.
pub(super) fn other_models(model: &mut Model) -> Vec<Effect> {
    match super::traffic::turn_in_hand(model) {
        Some((key, turn)) => open(model, OtherModelsDialog::open(key, turn)),
        None => Vec::new(),
    }
}

/// Asks at which breakpoints runs stop.
pub(super) fn breakpoints(model: &mut Model) -> Vec<Effect> {
    let form = workbench::breakpoints(&model.workbench.breakpoints);
    open(model, Dialog::new(form, Purpose::Breakpoints))
}

/// The dialog on top, when it is one.
fn top(model: &mut Model) -> Option<(&mut Form, &mut Purpose)> {
    match model.popups.last_mut() {
        Some(Popup::Form(form, purpose)) => Some((form, purpose)),
        _ => None,
    }
}

/// Something was typed or chosen in the dialog.
pub(super) fn changed(model: &mut Model) -> Vec<Effect> {
    let Some((form, purpose)) = top(model) else { return Vec::new() };
    if form.waiting.is_some() {
        return Vec::new();
    }
    form.error = None;
    let requests = purpose.changed(form);
    request(model, requests)
}

/// Requests the data of the dialog on top. Keys wait while a text is read: they are for that text.
fn request(model: &mut Model, requests: Vec<ArchiveRequest>) -> Vec<Effect> {
    let reads = requests.iter().any(|request| matches!(request, ArchiveRequest::CurrentText(_)));
    let mut effects = effects(requests);
    match top(model) {
        Some((form, _)) if reads => _ = form.held.get_or_insert_default(),
        _ => effects.extend(release(model)),
    }
    effects
}

/// A key for a dialog that is still read waits for it. Global actions, such as closing it, are done at once, and so is going
/// to another field or value while only a text is read.
pub(super) fn hold(model: &mut Model, key: KeyEvent) -> bool {
    let everywhere = model.keymap.action(key, &[Context::Always]).is_some();
    let moves = matches!(
        model.keymap.action(key, &model.contexts()),
        Some(Action::FieldNext | Action::FieldPrevious | Action::ChoiceNext | Action::ChoicePrevious)
    );
    let Some((form, _)) = top(model) else { return false };
    let is_read = !form.fields.is_empty();
    let Some(held) = form.held.as_mut().filter(|held| !(everywhere || moves && is_read && held.is_empty())) else {
        return false;
    };
    held.push(TypedInput::Key(key));
    true
}

/// Like `hold`, for a pasted text.
pub(super) fn hold_paste(model: &mut Model, text: &str) -> bool {
    let Some(held) = top(model).and_then(|(form, _)| form.held.as_mut()) else { return false };
    held.push(TypedInput::Paste(text.to_owned()));
    true
}

/// The dialog on top is read: the keys that waited for it are taken.
fn release(model: &mut Model) -> Vec<Effect> {
    let held = top(model).and_then(|(form, _)| form.held.take());
    let take = |held| match held {
        TypedInput::Key(key) => super::keys::key(model, key),
        TypedInput::Paste(text) => super::edit::pasted(model, &text),
    };
    held.into_iter().flatten().flat_map(take).collect()
}

pub(super) fn move_focus(model: &mut Model, by: isize) -> Vec<Effect> {
    if let Some((form, _)) = top(model) {
        form.move_focus(by);
    }
    Vec::new()
}

/// A click in a dialog: its field gets the focus; a choice takes another value, a text the cursor. `None` where no field is.
pub(super) fn click(model: &mut Model, at: Position, reach: Reach) -> Option<Vec<Effect>> {
    let (place, area) = crate::tui::view::dialog_field(model, at)?;
    let (form, _) = top(model)?;
    if form.waiting.is_some() {
        return Some(Vec::new());
    }
    let again = std::mem::replace(&mut form.focus, place) == place;
    match &mut form.fields.get_mut(place)?.input {
        Input::Choice { options, chosen, listed: true } => {
            let first = first_listed(options.len(), *chosen, usize::from(area.height));
            let chosen = form.choose_listed(first + usize::from(at.y - area.y));
            return Some(if chosen { changed(model) } else { Vec::new() });
        }
        // The sign on the left takes the value before.
        Input::Choice { .. } if again => return Some(choose(model, if at.x < area.x + SIGN { -1 } else { 1 })),
        Input::Line(draft) => {
            let byte = crate::tui::view::byte_at(draft, area, at.x);
            draft.place(byte, reach);
        }
        Input::Text(editor, _) if editor.area.contains(at) => super::mouse::place(editor, at, reach),
        Input::Choice { .. } | Input::Text(..) => {}
    }
    Some(Vec::new())
}

pub(super) fn choose(model: &mut Model, by: isize) -> Vec<Effect> {
    let chosen = top(model).is_some_and(|(form, _)| form.waiting.is_none() && form.choose(by));
    if chosen { changed(model) } else { Vec::new() }
}

pub(super) fn submit(model: &mut Model) -> Vec<Effect> {
    let tools = model.workbench.preview.tools.clone().filter(|_| model.workbench.pipeline.is_none());
    let Some((form, purpose)) = top(model) else { return Vec::new() };
    let submitted = purpose.submit(form).and_then(|effect| match (&effect, &tools) {
        (Effect::StopAt(set), Some(tools)) => unknown_tool(set, tools).map_or(Ok(effect), Err),
        _ => Ok(effect),
    });
    match submitted {
        Ok(Effect::StopAt(breakpoints)) => {
            model.popups.pop();
            let set: Vec<String> = breakpoints.iter().map(ToString::to_string).collect();
            let set = if set.is_empty() { "no breakpoint".to_owned() } else { set.join(", ") };
            model.show_toast(Tone::Info, format!("runs stop at {set}"));
            model.workbench.breakpoints.clone_from(&breakpoints);
            vec![Effect::StopAt(breakpoints)]
        }
        Ok(Effect::Compare(CompareRequest::Without(request))) => {
            let name = format!("without {}", request.title);
            super::compare::show_next_to(model, request.name.clone(), vec![name; request.times]);
            vec![Effect::Compare(CompareRequest::Without(request))]
        }
        Ok(Effect::Compare(CompareRequest::Others(request))) => {
            // They may be refused, when this dialog is gone.
            let (id, left) = (purpose.dialog_id(form), form.unconfirmed());
            model.unconfirmed_texts.keep(id, left);
            super::compare::show_next_to(model, request.session(), request.models.clone());
            vec![Effect::Compare(CompareRequest::Others(request))]
        }
        Ok(effect) => {
            form.error = None;
            form.waiting = Some(purpose.doing());
            vec![effect]
        }
        Err(message) => {
            if let Purpose::Prompts(prompts) = purpose
                && let Some(field) = prompts.missing_field(form)
            {
                form.focus = field;
            }
            form.fail(message);
            Vec::new()
        }
    }
}

/// Returns the error about a breakpoint at a tool that the agent does not have.
fn unknown_tool(set: &[Breakpoint], tools: &[String]) -> Option<String> {
    let known = |name: &str| tools.iter().any(|tool| underscored(tool) == underscored(name));
    let name = set.iter().find_map(|point| match point {
        Breakpoint::Tool(name) if !known(name) => Some(name),
        _ => None,
    })?;
    let near = did_you_mean(name, tools.iter().map(String::as_str));
    let all = if tools.is_empty() { "the agent has none".to_owned() } else { tools.join(", ") };
    Some(format!("unknown tool `{name}`{near} (tools: {all})"))
}

/// Escape in a dialog: closes it. What starts a run is waited for first, so that the run can be stopped.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    let Some((form, purpose)) = top(model) else { return Vec::new() };
    if purpose.starts_run() && form.waiting == Some(purpose.doing()) {
        form.discarded_attempt = true;
        form.waiting = Some("stopping …");
    } else if !form.discarded_attempt {
        unconfirmed_texts::close_top(model);
    }
    Vec::new()
}

/// The dialog that is about a session, on top or below other popups.
fn about<'m>(model: &'m mut Model, key: &SessionKey) -> Option<(&'m mut Form, &'m mut Purpose)> {
    model.popups.iter_mut().rev().find_map(|popup| match popup {
        Popup::Form(form, purpose) => {
            let own = match &*purpose {
                Purpose::Fork(fork) => &fork.key,
                Purpose::Rerun(rerun) => &rerun.key,
                Purpose::Export(export) => &export.key,
                _ => return None,
            };
            (own == key).then_some((&mut **form, purpose))
        }
        _ => None,
    })
}

pub(super) fn points(model: &mut Model, key: &SessionKey, result: Result<ForkPoints, ErrorRecord>) -> Vec<Effect> {
    let Some((form, purpose)) = about(model, key) else { return Vec::new() };
    let requests = match (result, purpose) {
        (Err(error), _) => {
            form.fail(error.with_hint());
            Vec::new()
        }
        (Ok(points), Purpose::Fork(fork)) => fork.filled(form, points),
        (Ok(points), Purpose::Rerun(rerun)) => rerun.filled(form, points),
        (Ok(_), _) => Vec::new(),
    };
    request(model, requests)
}

/// It is known whether a model can be used: a dialog that was filled in with one that cannot asks for another.
pub(super) fn model_looked(model: &mut Model, name: &str, is_usable: bool) -> Vec<Effect> {
    for popup in &mut model.popups {
        if let Popup::Form(form, Purpose::Message(_) | Purpose::Rerun(_)) = popup
            && !is_usable
        {
            rerun::ask_for_model(form, name);
        }
    }
    Vec::new()
}

pub(super) fn text(model: &mut Model, target: &EditTarget, result: Result<CurrentText, ErrorRecord>) -> Vec<Effect> {
    let Some((form, Purpose::Fork(fork))) = about(model, &target.key) else { return Vec::new() };
    let awaited = fork.is_about(target);
    match result {
        Ok(current) => fork.read(form, target, current),
        Err(error) => form.fail(error.with_hint()),
    }
    if awaited { release(model) } else { Vec::new() }
}

pub(super) fn export_previewed(
    model: &mut Model,
    key: &SessionKey,
    rules: Vec<String>,
    result: Result<ExportPreview, ErrorRecord>,
) -> Vec<Effect> {
    match about(model, key) {
        Some((form, Purpose::Export(export))) => {
            effects(export.previewed(form, rules, result.map_err(|error| error.with_hint())))
        }
        _ => Vec::new(),
    }
}

/// A fork, a re-run, a message or an accepted replay has started, or not. It replaces the workbench's run.
pub(super) fn started(model: &mut Model, result: Result<Option<String>, ErrorRecord>) -> Vec<Effect> {
    // One that was opened meanwhile has nothing to do with it.
    let starting = |popup: &Popup| response::awaits(popup, Purpose::starts_run);
    let at = model.popups.iter().rposition(starting);
    match result {
        Err(error) => {
            match at.map(|at| &mut model.popups[at]) {
                Some(Popup::Form(form, _)) if form.discarded_attempt => unconfirmed_texts::close_where(model, starting),
                Some(Popup::Form(form, _)) => {
                    // A dialog has a field where a command has a flag.
                    form.fail(error.with_hint().replace(BY_FLAG, "name another one in the field `model`"));
                }
                _ => model.show_toast(Tone::Bad, format!("not begun: {}", error.with_hint())),
            }
            Vec::new()
        }
        Ok(session) => {
            let discarded_attempt =
                matches!(at.map(|at| &model.popups[at]), Some(Popup::Form(form, _)) if form.discarded_attempt);
            let asking = model.workbench.run.as_ref().filter(|run| run.question.is_some());
            let (waits, waiting) = (asking.is_some(), asking.and_then(|run| run.session.clone()));
            // The reply that was begun is shown when its session is resumed.
            model.workbench.kept_reply = model.unsent_reply();
            let origin = match at.map(|at| &model.popups[at]) {
                Some(Popup::Form(form, Purpose::Fork(fork))) => fork.origin(form),
                _ => None,
            };
            model.popups.retain(|popup| !starting(popup));
            model.screen = Screen::Workbench;
            model.workbench.focus = Pane::Run;
            let mut run = RunView::starting();
            if let Some(origin) = &origin {
                run.transcript.come_from(origin);
            }
            model.workbench.begin_other();
            model.workbench.run = Some(run);
            if waits {
                // The keys that the message names act on the session that waits.
                model.sessions.wanted = waiting;
                let how = model.how_to_resume();
                model.show_toast(Tone::Info, format!("the previous run waits for an answer: {how}"));
            }
            let mut effects = super::run::started(model, Ok(session));
            if discarded_attempt {
                model.workbench.run.iter_mut().for_each(|run| run.phase = Phase::Stopping);
                effects.push(Effect::Cancel(Slot::Workbench));
            }
            effects
        }
    }
}

/// An operation succeeded: the dialog closes and a message reports it. Or it failed, and the dialog shows why.
fn done(model: &mut Model, is_it: fn(&Purpose) -> bool, result: Result<String, String>) {
    match result {
        Ok(report) => {
            response::confirm(model, is_it);
            if !report.is_empty() {
                model.show_toast(Tone::Good, report);
            }
        }
        Err(message) => response::refuse(model, is_it, "", message),
    }
}

pub(super) fn deleted(model: &mut Model, result: Result<String, String>) -> Vec<Effect> {
    let result = result.map(|name| format!("deleted {name}"));
    done(model, |purpose| matches!(purpose, Purpose::Delete(_)), result);
    vec![Effect::List]
}

pub(super) fn marked(model: &mut Model, result: Result<(), ErrorRecord>) -> Vec<Effect> {
    let result = result.map(|()| String::new()).map_err(|error| format!("not written: {}", error.with_hint()));
    done(model, |purpose| matches!(purpose, Purpose::Marks(_)), result);
    vec![Effect::List]
}

pub(super) fn case_made(
    model: &mut Model,
    result: Result<(MadeCase, Option<Box<OpenAgent>>), ErrorRecord>,
) -> Vec<Effect> {
    let mut agent = None;
    let report = |(made, changed): (MadeCase, Option<Box<OpenAgent>>)| {
        agent = changed;
        let new = if made.is_new_file { "the new file " } else { "" };
        let cassette = made.cassette.map(|path| format!(", cassette {}", path.display())).unwrap_or_default();
        format!("case `{}` is in {new}{}{cassette}", made.name, made.file.display())
    };
    let result = result.map(report).map_err(|error| error.with_hint());
    let report = result.as_ref().ok().cloned();
    done(model, |purpose| matches!(purpose, Purpose::Case(_)), result);
    if let Some(report) = report {
        super::take::merge_written(model, report, agent.map(|agent| *agent));
    }
    if model.screen == Screen::Tests { vec![super::cases::list(model)] } else { Vec::new() }
}

pub(super) fn exported(model: &mut Model, result: Result<ExportReport, ExportError>) -> Vec<Effect> {
    let is_export = |purpose: &Purpose| matches!(purpose, Purpose::Export(_));
    if let Err(ExportError::Exists(_)) = result
        && let Some((form, Purpose::Export(export))) = response::awaiting(model, is_export)
    {
        let path = form.written("file").to_owned();
        form.fail(format!("{} exists: export again to replace it", path.trim()));
        export.taken = Some(path);
        return Vec::new();
    }
    let report = |report: ExportReport| {
        let removed = if report.places == 0 { "nothing".to_owned() } else { plural(report.places as u64, "place") };
        format!("exported {}, {}, {removed} omitted", report.path.display(), size(report.bytes))
    };
    let result = result.map(report).map_err(|error| error.to_string());
    done(model, is_export, result);
    Vec::new()
}
