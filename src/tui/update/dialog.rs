//! Dialogs: opening them on a session, moving in them, confirming them, and what comes of that.

use crossterm::event::KeyEvent;
use ratatui::layout::Position;

use crate::event::ErrorRecord;
use crate::tui::actions::{Action, Context};
use crate::tui::archive::{Ask, ExportRefusal, Place, Points, Removals, Spot, Standing};
use crate::tui::backend::{SessionKey, SessionSummary};
use crate::tui::draft::Reach;
use crate::tui::form::{Form, Held, Input};
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{Model, Pane, Phase, Popup, RunView, Screen, Tone};
use crate::tui::sessions::fork::{Aim, Fork};
use crate::tui::sessions::{Purpose, breaks, case::Case, export::Export, marks::Marks, message::Message, rerun::Rerun};

/// Columns of the sign before a chosen value.
const SIGN: u16 = 2;

fn open(model: &mut Model, form: Form, purpose: Purpose) {
    model.sessions.filtering = false;
    model.popups.push(Popup::Form(Box::new(form), purpose));
}

fn effects(asks: impl IntoIterator<Item = Ask>) -> Vec<Effect> {
    asks.into_iter().map(Effect::Ask).collect()
}

pub(super) fn fork(model: &mut Model) -> Vec<Effect> {
    fork_for(model, Aim::Fork)
}

/// Does something with the session of the run as soon as the list knows it, unless a key is pressed before.
pub(super) fn once_listed(model: &mut Model, action: Action) -> Vec<Effect> {
    model.sessions.awaited = Some(action);
    let title = action.row().map_or("", |row| row.title);
    model.say(Tone::Info, format!("{title}: the run's session is being looked for …"));
    vec![Effect::List]
}

fn fork_for(model: &mut Model, aim: Aim) -> Vec<Effect> {
    let Some(key) = model.saved_subject().map(SessionSummary::key) else {
        return once_listed(model, if aim == Aim::Edit { Action::EditHere } else { Action::Fork });
    };
    let wanted = model.selected_address();
    let (form, fork) = Fork::open(key.clone(), wanted, aim);
    open(model, form, Purpose::Fork(fork));
    effects([Ask::Points(key)])
}

/// Edits and continues: in place where the run stands at a gate of the selected turn, else by a fork that begins there.
pub(super) fn edit(model: &mut Model) -> Vec<Effect> {
    if let Some(question) = model.open_gate() {
        super::run::ask(model, question);
        return Vec::new();
    }
    fork_for(model, Aim::Edit)
}

/// Puts back what stood in a text at first.
pub(super) fn original(model: &mut Model) -> Vec<Effect> {
    let Some((form, Purpose::Fork(fork))) = top(model) else { return Vec::new() };
    let Some(original) = fork.original(form).map(ToOwned::to_owned) else { return Vec::new() };
    if let Some(Input::Text(editor, _)) =
        form.fields.iter_mut().find(|field| field.name == "text").map(|field| &mut field.input)
    {
        editor.draft.replace_all(&original);
    }
    changed(model)
}

pub(super) fn rerun(model: &mut Model) -> Vec<Effect> {
    let Some(key) = model.saved_subject().map(SessionSummary::key) else { return Vec::new() };
    let (form, rerun) = Rerun::open(key.clone());
    open(model, form, Purpose::Rerun(rerun));
    effects([Ask::Points(key)])
}

/// Asks the finished run of the session that is shown again.
pub(super) fn message(model: &mut Model) -> Vec<Effect> {
    let Some(session) = model.saved_subject() else { return once_listed(model, Action::GoOn) };
    let (form, message) = Message::open(session);
    open(model, form, Purpose::Message(message));
    Vec::new()
}

/// Where runs stop because of what their programs do.
pub(super) fn breakpoints(model: &mut Model) -> Vec<Effect> {
    let form = breaks::dialog(&model.workbench.breakpoints);
    open(model, form, Purpose::Breakpoints);
    Vec::new()
}

pub(super) fn make_case(model: &mut Model) -> Vec<Effect> {
    let Some(session) = model.saved_subject() else { return Vec::new() };
    let own = model.workbench.file.as_ref().filter(|_| model.workbench.preview.name == session.agent);
    let (form, case) = Case::open(session, own.map(|file| file.path.display().to_string()));
    open(model, form, Purpose::Case(case));
    Vec::new()
}

pub(super) fn export(model: &mut Model) -> Vec<Effect> {
    let Some((key, id)) = model.saved_subject().map(|session| (session.key(), session.id.clone())) else {
        return Vec::new();
    };
    let (form, export, asks) = Export::open(key, &id);
    open(model, form, Purpose::Export(export));
    effects(asks)
}

pub(super) fn tags(model: &mut Model) -> Vec<Effect> {
    marks(model, Marks::tags)
}

pub(super) fn note(model: &mut Model) -> Vec<Effect> {
    marks(model, Marks::note)
}

fn marks(model: &mut Model, dialog: fn(Place, crate::tui::backend::Written) -> (Form, Marks)) -> Vec<Effect> {
    let Some(place) = model.sessions.place() else { return Vec::new() };
    let (form, marks) = dialog(place.clone(), model.sessions.written(&place));
    open(model, form, Purpose::Marks(marks));
    Vec::new()
}

/// Marks the place at once, or takes the mark away.
pub(super) fn mark(model: &mut Model) -> Vec<Effect> {
    let Some(place) = model.sessions.place() else { return Vec::new() };
    let mut written = model.sessions.written(&place);
    written.marked = !written.marked;
    effects([Ask::Write(place, written)])
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
    let asks = purpose.changed(form);
    asked(model, asks)
}

/// Asks for what the dialog on top needs. Keys wait while a text is read: they are for what stands there.
fn asked(model: &mut Model, asks: Vec<Ask>) -> Vec<Effect> {
    let reads = asks.iter().any(|ask| matches!(ask, Ask::Text(_)));
    let mut effects = effects(asks);
    match top(model) {
        Some((form, _)) if reads => _ = form.held.get_or_insert_default(),
        _ => effects.extend(release(model)),
    }
    effects
}

/// A key for a dialog that is still read waits for it. What means something everywhere, as closing it, is done at once, and so is going
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
    held.push(Held::Key(key));
    true
}

/// The same for a text that is pasted.
pub(super) fn hold_paste(model: &mut Model, text: &str) -> bool {
    let Some(held) = top(model).and_then(|(form, _)| form.held.as_mut()) else { return false };
    held.push(Held::Paste(text.to_owned()));
    true
}

/// The dialog on top is read: the keys that waited for it are taken.
fn release(model: &mut Model) -> Vec<Effect> {
    let held = top(model).and_then(|(form, _)| form.held.take());
    let take = |held| match held {
        Held::Key(key) => super::keys::key(model, key),
        Held::Paste(text) => super::edit::pasted(model, &text),
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
    let Some((form, purpose)) = top(model) else { return Vec::new() };
    match purpose.submit(form) {
        Ok(Effect::StopAt(breakpoints)) => {
            model.popups.pop();
            let set: Vec<String> = breakpoints.iter().map(ToString::to_string).collect();
            let told = if set.is_empty() { "at no breakpoint".to_owned() } else { format!("at {}", set.join(", ")) };
            model.say(Tone::Info, format!("runs stop {told}"));
            model.workbench.breakpoints.clone_from(&breakpoints);
            vec![Effect::StopAt(breakpoints)]
        }
        Ok(effect) => {
            form.error = None;
            form.waiting = Some(purpose.doing());
            vec![effect]
        }
        Err(message) => {
            form.fail(message);
            Vec::new()
        }
    }
}

/// Escape in a dialog: closes it. What starts a run is waited for first, so that the run can be stopped.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    let Some((form, purpose)) = top(model) else { return Vec::new() };
    let starts = matches!(purpose, Purpose::Fork(_) | Purpose::Rerun(_) | Purpose::Message(_));
    if starts && form.waiting == Some(purpose.doing()) {
        form.given_up = true;
        form.waiting = Some("stopping …");
    } else if !form.given_up {
        model.popups.pop();
    }
    Vec::new()
}

/// The dialog that is about a session, wherever it lies.
fn about<'m>(model: &'m mut Model, key: &SessionKey) -> Option<(&'m mut Form, &'m mut Purpose)> {
    model.popups.iter_mut().rev().find_map(|popup| match popup {
        Popup::Form(form, purpose) => match purpose {
            Purpose::Fork(Fork { key: own, .. })
            | Purpose::Rerun(Rerun { key: own, .. })
            | Purpose::Export(Export { key: own, .. })
                if own == key =>
            {
                Some((&mut **form, purpose))
            }
            _ => None,
        },
        _ => None,
    })
}

pub(super) fn points(model: &mut Model, key: &SessionKey, result: Result<Points, ErrorRecord>) -> Vec<Effect> {
    let Some((form, purpose)) = about(model, key) else { return Vec::new() };
    let asks = match (result, purpose) {
        (Err(error), _) => {
            form.fail(told(&error));
            Vec::new()
        }
        (Ok(points), Purpose::Fork(fork)) => fork.filled(form, points),
        (Ok(points), Purpose::Rerun(rerun)) => {
            rerun.filled(form, points);
            Vec::new()
        }
        (Ok(_), _) => Vec::new(),
    };
    asked(model, asks)
}

pub(super) fn text(model: &mut Model, spot: &Spot, result: Result<Standing, ErrorRecord>) -> Vec<Effect> {
    let Some((form, Purpose::Fork(fork))) = about(model, &spot.key) else { return Vec::new() };
    let awaited = fork.is_about(spot);
    match result {
        Ok(standing) => fork.read(form, spot, standing),
        Err(error) => form.fail(told(&error)),
    }
    if awaited { release(model) } else { Vec::new() }
}

pub(super) fn prepared(
    model: &mut Model,
    key: &SessionKey,
    rules: Vec<String>,
    result: Result<Removals, ErrorRecord>,
) -> Vec<Effect> {
    match about(model, key) {
        Some((form, Purpose::Export(export))) => {
            effects(export.prepared(form, rules, result.map_err(|error| told(&error))))
        }
        _ => Vec::new(),
    }
}

/// A fork, a re-run or an accepted replay began, or not. It takes the place of the workbench's run.
pub(super) fn began(model: &mut Model, result: Result<Option<String>, ErrorRecord>) -> Vec<Effect> {
    let starting =
        |popup: &Popup| matches!(popup, Popup::Form(_, Purpose::Fork(_) | Purpose::Rerun(_) | Purpose::Message(_)));
    let at = model.popups.iter().rposition(starting);
    match result {
        Err(error) => {
            match at.map(|at| &mut model.popups[at]) {
                Some(Popup::Form(form, _)) if form.given_up => model.popups.retain(|popup| !starting(popup)),
                Some(Popup::Form(form, _)) => form.fail(told(&error)),
                _ => model.say(Tone::Bad, format!("not begun: {}", told(&error))),
            }
            Vec::new()
        }
        Ok(session) => {
            let given_up = matches!(at.map(|at| &model.popups[at]), Some(Popup::Form(form, _)) if form.given_up);
            let waits = model.workbench.run.as_ref().is_some_and(|run| run.question.is_some());
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
            model.workbench.run = Some(run);
            if waits {
                let how = model.how_to_go_on();
                model.say(Tone::Info, format!("the run before waits for its answer in its session: {how}"));
            }
            let mut effects = super::run::started(model, Ok(session));
            if given_up {
                model.workbench.run.iter_mut().for_each(|run| run.phase = Phase::Stopping);
                effects.push(Effect::Cancel(Slot::Workbench));
            }
            effects
        }
    }
}

/// Something was written: the dialog closes and the list is read again. Or it was not.
fn done(model: &mut Model, is_it: fn(&Purpose) -> bool, result: Result<String, String>) {
    let at = model.popups.iter().rposition(|popup| matches!(popup, Popup::Form(_, purpose) if is_it(purpose)));
    match (result, at) {
        (Ok(said), at) => {
            if let Some(at) = at {
                model.popups.remove(at);
            }
            if !said.is_empty() {
                model.say(Tone::Good, said);
            }
        }
        (Err(message), Some(at)) => {
            if let Some(Popup::Form(form, _)) = model.popups.get_mut(at) {
                form.fail(message);
            }
        }
        (Err(message), None) => model.say(Tone::Bad, message),
    }
}

pub(super) fn written(model: &mut Model, result: Result<(), ErrorRecord>) -> Vec<Effect> {
    let said = result.map(|()| String::new()).map_err(|error| format!("not written: {}", told(&error)));
    done(model, |purpose| matches!(purpose, Purpose::Marks(_)), said);
    vec![Effect::List]
}

pub(super) fn made(model: &mut Model, result: Result<String, ErrorRecord>) -> Vec<Effect> {
    done(model, |purpose| matches!(purpose, Purpose::Case(_)), result.map_err(|error| told(&error)));
    Vec::new()
}

pub(super) fn exported(model: &mut Model, result: Result<String, ExportRefusal>) -> Vec<Effect> {
    let refused = |refusal| match refusal {
        ExportRefusal::Exists => None,
        ExportRefusal::Failed(message) => Some(message),
    };
    match result.map_err(refused) {
        Err(None) => {
            let found = model.popups.iter_mut().rev().find_map(|popup| match popup {
                Popup::Form(form, Purpose::Export(export)) => Some((form, export)),
                _ => None,
            });
            if let Some((form, export)) = found {
                let path = form.written("file").to_owned();
                form.fail(format!("{} exists: export again to replace it", path.trim()));
                export.taken = Some(path);
            }
        }
        Err(Some(message)) => done(model, |purpose| matches!(purpose, Purpose::Export(_)), Err(message)),
        Ok(said) => done(model, |purpose| matches!(purpose, Purpose::Export(_)), Ok(said)),
    }
    Vec::new()
}

fn told(error: &ErrorRecord) -> String {
    let hint = error.hint.as_ref().map(|hint| format!(". {hint}")).unwrap_or_default();
    format!("{}{hint}", error.message)
}
