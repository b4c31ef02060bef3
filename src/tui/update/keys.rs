//! Keys become actions by the table, or text.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    candidates, cases, close, compare, dialog, edit, find, hits, inspect, overview, palette, play, popups, question,
    reading, run, runs, save, server_prompts, sessions, take, tour, traffic, unconfirmed_texts,
};
use crate::agent::Place;
use crate::replay::Policy;
use crate::tui::actions::{Action, Context};
use crate::tui::direction::Direction;
use crate::tui::draft::{Motion, Reach};
use crate::tui::keys::{self, Chord};
use crate::tui::message::Effect;
use crate::tui::model::{AfterSave, Model, Pane, Popup, Screen, Tone};
use crate::tui::sessions::scrub::Scrub;
use crate::tui::transcript::{Scroll, Transcript};
use crate::tui::view;

pub(super) fn key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    model.toast = None;
    model.pointer.sweep = None;
    model.sessions.awaited = None;
    model.sessions.search.opens = false;
    if !model.fits() {
        let action = model.keymap.action(key, &[Context::Always]);
        return action.filter(|action| *action == Action::Quit).map_or_else(Vec::new, |action| act(model, action));
    }
    if let Some(seen) = tour::end_by_key(model, key) {
        return std::iter::once(seen).chain(self::key(model, key)).collect();
    }
    if is_text(key) {
        question::yield_to_text(model);
    }
    if !model.is_answerable() && model.keymap.action(key, &[Context::Always]).is_none() {
        // Keys on their way are no answer, nor is the one after them: the time begins again.
        model.asked_ms = model.now_ms;
        model.begun = None;
        model.workbench.discard_announced &= model.keymap.action(key, &model.contexts()) == Some(Action::DropKept);
        if model.workbench.discard_announced {
            save::announce_discard(model);
        }
        return Vec::new();
    }
    if dialog::hold(model, key) {
        return Vec::new();
    }
    let contexts = model.contexts();
    let action = match chord(model, key, &contexts) {
        Stroke::Action(action) => Some(action),
        Stroke::Waits => return Vec::new(),
        Stroke::Other => None,
    };
    model.workbench.stop_announced &= matches!(action, Some(Action::Close | Action::Run));
    model.workbench.discard_announced &= action == Some(Action::DropKept);
    if let Some(action) = action {
        return act(model, action);
    }
    match key.code {
        KeyCode::Char(c) if is_text(key) && contexts.contains(&Context::Text) => {
            question::choose_answer(model, c).unwrap_or_else(|| edit::typed(model, c))
        }
        _ => {
            report_useless(model, key, &contexts);
            Vec::new()
        }
    }
}

/// Returns whether a key changes a text: a character, a new line or a deletion, without Ctrl or Alt.
fn is_text(key: KeyEvent) -> bool {
    let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER);
    plain && matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete | KeyCode::Enter)
}

/// Reports a key without an action here: what works instead, or that its action needs the dialog to be closed. A dialog without a text
/// shows its keys already.
fn report_useless(model: &mut Model, key: KeyEvent, contexts: &[Context]) {
    let is_dialog = !model.popups.is_empty();
    let elsewhere = model.keymap.action(key, &[Context::Global]).filter(|_| is_dialog).and_then(Action::row);
    let text = match elsewhere {
        Some(row) => format!("{}: {} closes this first", row.title, model.keymap.first_name(Action::Close)),
        None if is_text(key) && !(is_dialog && shows_keys(model)) => {
            format!("{} has no action here; {}", keys::name(keys::chord(key)), what_helps(model, contexts))
        }
        None => return,
    };
    model.show_toast(Tone::Info, text);
}

/// Returns whether the topmost popup is a question whose line of keys contains every answer.
fn shows_keys(model: &Model) -> bool {
    matches!(model.popups.last(), Some(Popup::Recovery(_) | Popup::Overwrite { .. } | Popup::Leaving(_)))
}

/// Returns a hint: the key that leads to a text field, where the context has one, and the key of the help.
pub(super) fn what_helps(model: &Model, contexts: &[Context]) -> String {
    let name = |action| model.keymap.first_name(action);
    let keys = format!("{} for keys", name(Action::Help));
    match contexts.first() {
        Some(Context::Runs | Context::Transcript)
            if model.screen == Screen::Workbench && model.workbench.pipeline.is_none() =>
        {
            format!("{} to edit, {keys}", name(Action::FocusNext))
        }
        Some(Context::Sessions) => format!("{} to search, {keys}", name(Action::Filter)),
        _ => keys,
    }
}

/// Meaning of a stroke.
enum Stroke {
    Action(Action),
    /// It begins a chord, or ended one that means nothing.
    Waits,
    Other,
}

fn chord(model: &mut Model, key: KeyEvent, contexts: &[Context]) -> Stroke {
    let stroke = keys::chord(key);
    if let Some((first, _)) = model.begun.take() {
        let chord = Chord { first, second: Some(stroke) };
        if let Some(action) = model.keymap.meaning(chord, contexts) {
            return Stroke::Action(action);
        }
        if key.code != KeyCode::Esc {
            model.show_toast(Tone::Info, format!("{} has no action here", chord.name()));
        }
        return Stroke::Waits;
    }
    if let Some(action) = model.keymap.action(key, contexts) {
        return Stroke::Action(action);
    }
    // A chord that means nothing here takes its second stroke, too: the letter alone would be an answer or text.
    if model.keymap.following(stroke, contexts).is_empty() && !model.keymap.begins_chord(stroke) {
        return Stroke::Other;
    }
    model.begun = Some((stroke, model.now_ms));
    Stroke::Waits
}

/// Does an action, or reports why it is unavailable.
#[expect(clippy::too_many_lines, reason = "a table: one arm for each action")]
pub(super) fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    // Several keys may come between two frames: each must act on what it would see.
    crate::tui::layout(model);
    if let Err(reason) = model.enabled(action) {
        if action == Action::Close {
            return Vec::new();
        }
        if action == Action::Save && save::may_be_gone(model) {
            return save::save(model, AfterSave::Stay);
        }
        let title = action.row().map_or("", |row| row.title);
        model.show_toast(Tone::Info, format!("{title}: {reason}"));
        return Vec::new();
    }
    // What leads elsewhere leaves the turn that is open.
    if matches!(
        action,
        Action::Workbench
            | Action::Sessions
            | Action::Compare
            | Action::Tests
            | Action::Traffic
            | Action::Candidates
            | Action::BothModes
            | Action::Run
    ) {
        unconfirmed_texts::close_inspector(model);
    }
    match action {
        Action::Help => help(model),
        Action::Menu => popups::open_menu(model, None),
        Action::MenuGo(leap) => popups::move_in_menu(model, leap.lines(view::list_rows(model))),
        Action::MenuPick => popups::pick_from_menu(model),
        Action::Palette => palette::open(model),
        Action::Preview => open(model, Popup::Preview { against: None, top: 0 }),
        Action::Against => popups::compare_preview(model),
        Action::Workbench => workbench(model),
        Action::Sessions => sessions::enter(model),
        Action::Compare => compare::enter(model),
        Action::BothModes => compare::both(model),
        Action::Comparing(step) => compare::step(model, step),
        Action::Tests => cases::enter(model),
        Action::Testing(step) => cases::step(model, step),
        Action::Traffic => traffic::enter(model),
        Action::InTraffic(step) => traffic::step(model, step),
        Action::Candidates => candidates::enter(model),
        Action::OpenCandidates => candidates::dialog(model),
        Action::InCandidates(step) => candidates::step(model, step),
        Action::Run => run::run_or_stop(model),
        Action::Intercept(gate) => run::intercept(model, gate),
        Action::Breakpoints => dialog::breakpoints(model),
        Action::FocusNext => focus(model, 1),
        Action::FocusPrevious => focus(model, 2),
        Action::Save => save::save_or_ask(model),
        Action::SaveAs => save::ask_path(model),
        Action::Mode(mode) => edit::choose_mode(model, mode),
        Action::FocusOn(place) => go_to(model, Pane::Editor(place)),
        Action::FocusRun => go_to(model, Pane::Run),
        Action::Zoom => {
            model.workbench.zoomed = !model.workbench.zoomed;
            Vec::new()
        }
        Action::NextTheme => next_theme(model),
        Action::Tour => open(model, Popup::Tour(0)),
        Action::TourNext => tour::step(model, 1),
        Action::TourBack => tour::step(model, -1),
        Action::Fix => popups::fix(model),
        Action::FixGo(leap) => popups::move_choice(model, leap.lines(view::list_rows(model))),
        Action::FixApply => popups::choose(model),
        Action::Find => find::open(model),
        Action::FindNext => find::go(model, Direction::Forward),
        Action::FindPrevious => find::go(model, Direction::Back),
        Action::FindField => find::switch_field(model),
        Action::FindReading => find::switch_reading(model),
        Action::Replace => find::replace(model),
        Action::ReplaceEvery => find::replace_every(model),
        Action::ExternalEditor => edit::external(model),
        Action::ContextView => edit::switch_context_view(model),
        Action::InsertFile => edit::ask_file(model),
        Action::InsertPrompt => server_prompts::ask(model),
        Action::Suspend => vec![Effect::Suspend],
        Action::Redraw => vec![Effect::Redraw],
        Action::Close => close::close(model),
        Action::Quit => save::quit(model),
        Action::SaveAndQuit => save::save_first(model),
        Action::DiscardAndQuit => save::discard(model),
        Action::Restore => save::restore(model),
        Action::DropKept => save::discard_recovery(model),
        Action::ConfirmPath => save::confirm_path(model),
        Action::ConfirmOverwrite => save::confirm_overwrite(model),
        Action::TakeFile(choice) => save::take_file(model, choice),
        Action::SendAnswer => question::send_answer(model),
        // A reply of one line has no pages; what is asked may have.
        Action::Go(Motion::Up(10), Reach::Move) if has_short_reply(model) => {
            turn_pages(model, -isize::from(page_rows(model)))
        }
        Action::Go(Motion::Down(10), Reach::Move) if has_short_reply(model) => {
            turn_pages(model, isize::from(page_rows(model)))
        }
        Action::Go(motion, reach) => edit::go(model, motion, reach),
        Action::Delete(motion) => edit::change(model, |draft, columns| draft.delete(motion, columns)),
        Action::Newline => edit::change(model, |draft, _| draft.insert("\n")),
        Action::Undo => edit::undo(model),
        Action::Redo => edit::change(model, |draft, _| _ = draft.redo()),
        Action::SelectAll => edit::change(model, |draft, _| draft.select_all()),
        Action::Copy => edit::copy(model),
        Action::Cut => edit::cut(model),
        Action::Paste => {
            let text = model.clipboard.clone();
            edit::paste(model, &text)
        }
        Action::StepUp => read(model, Transcript::step_up),
        Action::StepDown => read(model, Transcript::step_down),
        Action::StepIn => read(model, Transcript::step_in),
        Action::StepOut => read(model, Transcript::step_out),
        Action::PageUp => read(model, |transcript, now| transcript.scroll(Scroll::Pages(-1), now)),
        Action::PageDown => read(model, |transcript, now| transcript.scroll(Scroll::Pages(1), now)),
        Action::Top => read(model, |transcript, _| transcript.go_top()),
        Action::Bottom => read(model, |transcript, _| transcript.go_end()),
        Action::Fold => read(model, |transcript, _| transcript.toggle()),
        Action::FoldAll => read(model, |transcript, _| transcript.toggle_all()),
        Action::Inspect => inspect::open(model),
        Action::Repl => inspect::repl(model),
        Action::OlderRun => runs::show(model, -1),
        Action::NewerRun => runs::show(model, 1),
        Action::CompareRuns => runs::compare(model),
        Action::AgainstSaved => runs::against_saved(model),
        Action::PromptGrowth => inspect::growth(model),
        Action::ChooseModel => popups::choose_model(model),
        Action::OpenAgent => unconfirmed_texts::show(model, take::open_dialog()),
        Action::NewAgent => unconfirmed_texts::show(model, take::new_agent_dialog()),
        Action::TakeAgent => take::of_session(model),
        Action::Inside(step) => inspect::go(model, step),
        Action::CycleView => read(model, |transcript, _| transcript.set_view(transcript.view().next())),
        Action::SeekList => hits::list(model),
        Action::Seek | Action::SeekNext | Action::SeekPrevious | Action::SeekRepeats | Action::CopyPart => {
            reading::act(model, action)
        }
        Action::Overview => overview::toggle(model),
        Action::SwitchTurnList => {
            model.turn_list = model.turn_list.switched();
            Vec::new()
        }
        Action::Turns(step) => overview::step(model, step),
        Action::Failing(direction) => overview::go_to_failure(model, direction),
        Action::AskTurn(what) => overview::ask(model, what),
        Action::ConfirmTurns => overview::confirm(model),
        Action::ListUp => sessions::select(model, -1),
        Action::ListDown => sessions::select(model, 1),
        Action::ListPageUp => sessions::select(model, -sessions::page(model)),
        Action::ListPageDown => sessions::select(model, sessions::page(model)),
        Action::ListTop => sessions::select(model, isize::MIN),
        Action::ListBottom => sessions::select(model, isize::MAX),
        Action::OpenSession => sessions::open(model),
        Action::Failures => sessions::failures(model),
        Action::Replay => sessions::replay(model, Policy::Strict),
        Action::ReplayLenient => sessions::replay(model, Policy::Lenient),
        Action::OpenDifference => sessions::open_difference(model),
        Action::Session(action) => dialog::act(model, action),
        Action::Original => dialog::original(model),
        Action::CompareMarked => match model.sessions.compared() {
            Ok(keys) => compare::open(model, &keys),
            Err(_) => Vec::new(),
        },
        Action::Branches => sessions::branches(model),
        Action::PlayPause => played(model, Scrub::toggle),
        Action::PlayStep(by) => stood(model, |scrub| scrub.seek(scrub.at.saturating_add_signed(by))),
        Action::PlayTurn(by) => stood(model, |scrub| scrub.seek(scrub.turn(by))),
        Action::PlayEnd(by) => stood(model, |scrub| scrub.seek(if by < 0 { 0 } else { usize::MAX })),
        Action::PlaySpeed(speed) => played(model, |scrub, now_ms| scrub.play_at(speed, now_ms)),
        Action::FieldNext => dialog::move_focus(model, 1),
        Action::FieldPrevious => dialog::move_focus(model, -1),
        Action::ChoiceNext => dialog::choose(model, 1),
        Action::ChoicePrevious => dialog::choose(model, -1),
        Action::SubmitDialog => dialog::submit(model),
        Action::Resume => sessions::resume(model),
        Action::Filter => sessions::filter(model),
        Action::Unlabelled => sessions::unlabelled(model),
        Action::Reload => vec![Effect::List],
        Action::ReadUp => turn_pages(model, -1),
        Action::ReadDown => turn_pages(model, 1),
        Action::ReadPageUp => turn_pages(model, -isize::from(page_rows(model))),
        Action::ReadPageDown => turn_pages(model, isize::from(page_rows(model))),
        Action::ReadTop => turn_pages(model, isize::MIN),
        Action::ReadBottom => turn_pages(model, isize::MAX),
        Action::PickGo(leap) => palette::step(model, leap.lines(view::list_rows(model))),
        Action::Pick => palette::pick(model),
    }
}

/// Plays on, or otherwise.
fn played(model: &mut Model, go: impl FnOnce(&mut Scrub, i64)) -> Vec<Effect> {
    let now_ms = model.now_ms;
    play::change(model, |scrub| go(scrub, now_ms));
    Vec::new()
}

/// Moves by hand: it is paused then.
fn stood(model: &mut Model, go: impl FnOnce(&mut Scrub)) -> Vec<Effect> {
    play::change(model, |scrub| {
        scrub.playing = None;
        go(scrub);
    });
    Vec::new()
}

pub(super) fn page_rows(model: &Model) -> i16 {
    let rows = view::question_rows(model).map_or(model.size.1.saturating_sub(8), |rows| rows.saturating_sub(1));
    i16::try_from(rows).unwrap_or(i16::MAX).max(1)
}

fn open(model: &mut Model, popup: Popup) -> Vec<Effect> {
    model.popups.push(popup);
    Vec::new()
}

/// Opens the help, over a popup as well; in the help, closes it.
fn help(model: &mut Model) -> Vec<Effect> {
    if matches!(model.popups.last(), Some(Popup::Help { .. })) {
        model.popups.pop();
        return Vec::new();
    }
    open(model, Popup::Help { top: 0 })
}

/// Goes to a pane of the workbench; a turn that is open is left.
pub(super) fn go_to(model: &mut Model, pane: Pane) -> Vec<Effect> {
    unconfirmed_texts::close_inspector(model);
    model.screen = Screen::Workbench;
    model.workbench.focus = pane;
    Vec::new()
}

/// Takes the theme after the one that is shown.
fn next_theme(model: &mut Model) -> Vec<Effect> {
    let now = model.themes.iter().position(|(_, theme)| *theme == model.theme);
    let next = now.map_or(0, |now| (now + 1) % model.themes.len());
    if let Some((name, theme)) = model.themes.get(next).cloned() {
        model.theme = theme;
        model.show_toast(
            Tone::Good,
            format!("theme {name}; `theme = \"{name}\"` in [interface] of config.toml keeps it"),
        );
    }
    Vec::new()
}

/// Goes to the workbench; there it switches between editors and run.
fn workbench(model: &mut Model) -> Vec<Effect> {
    if model.screen == Screen::Workbench {
        model.workbench.focus = match model.workbench.focus {
            Pane::Editor(_) | Pane::Steps => Pane::Run,
            Pane::Run => model.workbench.home(),
        };
    }
    model.screen = Screen::Workbench;
    Vec::new()
}

/// Moves the focus to the next or the previous pane.
fn focus(model: &mut Model, by: usize) -> Vec<Effect> {
    if model.inspector.is_some() {
        return inspect::next_tab(model, by);
    }
    match model.screen {
        Screen::Compare => compare::next_run(model, by),
        Screen::Candidates => model.candidates.move_focus(by),
        _ => {}
    }
    if model.screen == Screen::Workbench {
        let on_context = model.workbench.focus == Pane::Editor(Place::Context);
        if on_context && model.workbench.inputs.step(by == 1) {
            return Vec::new();
        }
        let panes = match model.workbench.pipeline {
            Some(_) => vec![Pane::Steps, Pane::Run],
            None => model.workbench.places().map(Pane::Editor).chain([Pane::Run]).collect(),
        };
        let now = panes.iter().position(|pane| *pane == model.workbench.focus).unwrap_or(0);
        let step = if by == 1 { 1 } else { panes.len() - 1 };
        model.workbench.focus = panes[(now + step) % panes.len()];
        if model.workbench.focus == Pane::Editor(Place::Context) {
            // One enters at the end that is next.
            model.workbench.inputs.focus =
                if by == 1 { 0 } else { model.workbench.inputs.fields.len().saturating_sub(1) };
        }
    }
    Vec::new()
}

/// Moves in the transcript on screen.
fn read(model: &mut Model, go: impl FnOnce(&mut Transcript, i64)) -> Vec<Effect> {
    let now_ms = model.now_ms;
    let view = match model.screen {
        Screen::Workbench => model.workbench.run.as_mut(),
        Screen::Sessions => model.sessions.viewer.as_mut(),
        Screen::Tests | Screen::Traffic | Screen::Candidates => None,
        Screen::Compare => model.compare.sides.get_mut(model.compare.column).and_then(|side| side.run.as_mut()),
    };
    if let Some(view) = view {
        go(&mut view.transcript, now_ms);
    }
    Vec::new()
}

/// Returns whether a question is open whose reply has one line.
fn has_short_reply(model: &Model) -> bool {
    matches!(model.popups.last(), Some(Popup::Answer { editor, .. }) if !editor.draft.text().contains('\n'))
}

/// Scrolls the text of a popup, or the steps of a pipeline; the view clamps it.
fn turn_pages(model: &mut Model, by: isize) -> Vec<Effect> {
    if model.popups.is_empty()
        && let Some((_, top)) = &mut model.workbench.pipeline
    {
        *top = top.saturating_add_signed(by);
    }
    let top = match model.popups.last_mut() {
        Some(Popup::Form(form, _)) => &mut form.top,
        Some(Popup::Help { top } | Popup::Preview { top, .. } | Popup::Answer { top, .. }) => top,
        Some(Popup::Differs(differs)) => &mut differs.top,
        _ => return Vec::new(),
    };
    *top = top.saturating_add_signed(by);
    Vec::new()
}
