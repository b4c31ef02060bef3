//! The inspector: opening a turn, moving in it, trying things on it.

use super::unconfirmed_texts;
use crate::event::{Address, ErrorRecord, Event};
use crate::tui::direction::Edge;
use crate::tui::draft::Draft;
use crate::tui::inspector::{Focus, Freshness, Inspector, Repl, Step, Subject, Tab};
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{Model, RunView, Screen, Tone};
use crate::tui::transcript::Transcript;
use crate::workbench::RunUpdate;
use crate::workbench::inspect::{BenchOutput, Inspection, Line, Mark, Probe};

/// Lines of results that the REPL keeps.
const MOST_LINES: usize = 5_000;
/// Shortest time between two reads of a turn that is running, in ms.
const REFRESH_MS: i64 = 500;

/// Opens the selected turn.
pub(super) fn open(model: &mut Model) -> Vec<Effect> {
    let Some(turn) = model.active_transcript().and_then(Transcript::turn_in_hand) else { return Vec::new() };
    let view = match model.screen {
        Screen::Workbench => model.workbench.run.as_ref(),
        Screen::Sessions => model.sessions.viewer.as_ref(),
        Screen::Compare => model.compare.sides.get(model.compare.column).and_then(|side| side.run.as_ref()),
        Screen::Tests | Screen::Traffic | Screen::Candidates => None,
    };
    let Some(subject) = view.and_then(subject) else {
        model.show_toast(Tone::Info, "this run is not saved, so its turns cannot be opened");
        return Vec::new();
    };
    unconfirmed_texts::close_inspector(model);
    model.inspector = Some(Box::new(Inspector::new(subject, turn)));
    unconfirmed_texts::restore_input(model);
    read(model)
}

/// Reads the turn that is open.
fn read(model: &mut Model) -> Vec<Effect> {
    let now_ms = model.now_ms;
    let Some(open) = &mut model.inspector else { return Vec::new() };
    open.freshness = Freshness { asked_ms: now_ms, reading: true, is_stale: false };
    vec![Effect::Inspect(open.subject.clone(), open.turn.clone())]
}

/// Opens the REPL of the turn that is open, or of the one in hand.
pub(super) fn repl(model: &mut Model) -> Vec<Effect> {
    let effects = if model.inspector.is_none() { open(model) } else { Vec::new() };
    if let Some(inspector) = &mut model.inspector {
        inspector.go_repl();
    }
    effects
}

/// Shows the growth of the requests of the run over its turns.
pub(super) fn growth(model: &mut Model) -> Vec<Effect> {
    let effects = if model.inspector.is_none() { open(model) } else { Vec::new() };
    if let Some(inspector) = &mut model.inspector {
        inspector.go_growth();
    }
    effects
}

fn subject(view: &RunView) -> Option<Subject> {
    match (&view.key, &view.session) {
        (Some(key), _) => Some(Subject::Saved(key.clone())),
        (None, Some(name)) => Some(Subject::Named(name.clone())),
        (None, None) => None,
    }
}

pub(super) fn inspected(
    model: &mut Model,
    subject: &Subject,
    turn: &Address,
    result: Result<Box<Inspection>, ErrorRecord>,
) -> Vec<Effect> {
    let open = model.inspector.as_mut().filter(|open| open.subject == *subject && open.turn == *turn);
    let Some(inspector) = open else { return Vec::new() };
    inspector.take(result.map(|found| *found).map_err(|error| error.with_hint()));
    wanted_value(model)
}

/// A turn that is open while it runs is read again as it grows, at most once in [`REFRESH_MS`], and when it has ended.
pub(super) fn read_again(model: &mut Model, slot: Slot, updates: &[RunUpdate]) -> Vec<Effect> {
    let now_ms = model.now_ms;
    let Some(open) = model.inspector.as_mut().filter(|_| slot == Slot::Workbench) else { return Vec::new() };
    let mut events = Vec::new();
    for update in updates {
        if let RunUpdate::Event(envelope) = update
            && envelope.address.turn_part() == open.turn
        {
            events.push(&envelope.event);
        }
    }
    let ended = events.iter().any(|event| matches!(event, Event::TurnEnd(_)));
    let fresh = &mut open.freshness;
    fresh.is_stale |= !events.is_empty();
    let is_due = !fresh.reading && now_ms - fresh.asked_ms >= REFRESH_MS;
    if ended || (fresh.is_stale && is_due) { read(model) } else { Vec::new() }
}

/// Takes the whole value of a name.
pub(super) fn value_computed(
    model: &mut Model,
    turn: &Address,
    name: &str,
    result: Result<String, String>,
) -> Vec<Effect> {
    if let Some(inspector) = model.inspector.as_mut().filter(|open| open.turn == *turn) {
        match result {
            Ok(text) => inspector.take_value(name, text),
            Err(error) => model.show_toast(Tone::Bad, format!("{name} could not be computed: {error}")),
        }
    }
    Vec::new()
}

pub(super) fn probed(
    model: &mut Model,
    turn: &Address,
    at: usize,
    result: Result<Option<Probe>, String>,
) -> Vec<Effect> {
    if let Some(inspector) = model.inspector.as_mut().filter(|open| open.turn == *turn) {
        inspector.probe.asked = None;
        inspector.probe.result = Some((at, result));
    }
    wanted_value(model)
}

/// Asks for the value under the cursor, one at a time.
fn wanted_value(model: &mut Model) -> Vec<Effect> {
    let Some(inspector) = model.inspector.as_mut().filter(|open| open.focus == Focus::Part) else { return Vec::new() };
    let Some(at) = inspector.cursor() else { return Vec::new() };
    let is_known = inspector.probe.result.as_ref().is_some_and(|(place, _)| *place == at);
    if is_known || inspector.probe.asked.is_some() {
        return Vec::new();
    }
    inspector.probe.asked = Some(at);
    vec![Effect::Probe(inspector.turn.clone(), at)]
}

pub(super) fn evaluated(model: &mut Model, turn: &Address, result: Result<BenchOutput, String>) -> Vec<Effect> {
    if let Some(inspector) = model.inspector.as_mut().filter(|open| open.turn == *turn) {
        inspector.repl.running = false;
        match result {
            Ok(output) => inspector.repl.lines.extend(output.lines),
            Err(error) => inspector.repl.lines.push(Line::new(Mark::Bad, format!("✗ {error}"))),
        }
        let old = inspector.repl.lines.len().saturating_sub(MOST_LINES);
        inspector.repl.lines.drain(..old);
        inspector.go_edge(Edge::End);
    }
    Vec::new()
}

/// Chooses the next (1) or previous tab.
pub(super) fn next_tab(model: &mut Model, by: usize) -> Vec<Effect> {
    if let Some(inspector) = &mut model.inspector {
        let step = if by == 1 { 1 } else { Tab::ALL.len() - 1 };
        inspector.go_tab(Tab::ALL[(inspector.tab as usize + step) % Tab::ALL.len()]);
    }
    Vec::new()
}

/// Leaves the part, then the turn.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    match &mut model.inspector {
        Some(open) if open.focus != Focus::List => open.enter(Focus::List),
        _ => unconfirmed_texts::close_inspector(model),
    }
    Vec::new()
}

pub(super) fn go(model: &mut Model, step: Step) -> Vec<Effect> {
    let Some(inspector) = &mut model.inspector else { return Vec::new() };
    let in_list = inspector.focus == Focus::List;
    match step {
        Step::Up if in_list => inspector.choose(inspector.chosen().saturating_sub(1)),
        Step::Down if in_list => inspector.choose(inspector.chosen() + 1),
        Step::Up => inspector.go_lines(-1),
        Step::Down => inspector.go_lines(1),
        Step::Left => inspector.show_next_to(-1),
        Step::Right => inspector.show_next_to(1),
        Step::PageUp => inspector.go_pages(-1),
        Step::PageDown => inspector.go_pages(1),
        Step::Top => inspector.go_edge(Edge::Start),
        Step::Bottom => inspector.go_edge(Edge::End),
        Step::Enter if inspector.at_repl() => inspector.enter(Focus::Input),
        Step::Enter if in_list => inspector.enter(Focus::Part),
        Step::Enter => inspector.toggle(),
        Step::Difference => {
            inspector.difference = !inspector.difference;
            inspector.go_edge(Edge::Start);
        }
        Step::Without => return super::dialog::without(model),
        Step::Copy => return copy(model),
        Step::NextTurn => return turn(model, 1),
        Step::PreviousTurn => return turn(model, -1),
        Step::Reload => return read(model),
        Step::ShowAll => {
            let name = inspector.part().filter(|part| part.is_cut).map(|part| part.title.clone());
            return name.map(|name| Effect::ComputeValue(inspector.turn.clone(), name)).into_iter().collect();
        }
        Step::Evaluate => return evaluate(model),
        Step::Older => recall(inspector, -1),
        Step::Newer => recall(inspector, 1),
    }
    wanted_value(model)
}

/// Another turn of the run.
fn turn(model: &mut Model, by: i32) -> Vec<Effect> {
    unconfirmed_texts::keep_input(model);
    let Some(inspector) = &mut model.inspector else { return Vec::new() };
    let Some(number) = inspector.turn.turn_number().and_then(|number| number.checked_add_signed(by)) else {
        return Vec::new();
    };
    let turn = inspector.turn.run_part().turn(number);
    inspector.turn_to(turn);
    unconfirmed_texts::restore_input(model);
    read(model)
}

fn copy(model: &mut Model) -> Vec<Effect> {
    let Some(text) = model.inspector.as_ref().and_then(|open| open.copied()) else { return Vec::new() };
    model.clipboard.clone_from(&text);
    model.show_toast(Tone::Good, "copied");
    vec![Effect::Clip(text)]
}

fn evaluate(model: &mut Model) -> Vec<Effect> {
    let Some(inspector) = &mut model.inspector else { return Vec::new() };
    let input = inspector.repl.input.text().trim().to_owned();
    if input.is_empty() {
        return Vec::new();
    }
    let repl = &mut inspector.repl;
    repl.input = Draft::default();
    repl.lines.push(Line::new(Mark::Title, format!("> {input}")));
    repl.earlier.0.push(input.clone());
    repl.earlier.1 = repl.earlier.0.len();
    repl.running = true;
    inspector.go_edge(Edge::End);
    vec![Effect::Evaluate(inspector.turn.clone(), input)]
}

/// Brings another input back; after the last one comes the input that was being typed.
fn recall(inspector: &mut Inspector, by: isize) {
    let Repl { input, earlier: (all, at), unfinished, .. } = &mut inspector.repl;
    let next = at.saturating_add_signed(by).min(all.len());
    if next == *at {
        return;
    }
    if *at == all.len() {
        *unfinished = std::mem::take(input);
    }
    *at = next;
    *input = all.get(next).map_or_else(|| std::mem::take(unfinished), Draft::new);
    let columns = usize::MAX >> 1;
    inspector.repl.input.go(crate::tui::draft::Motion::End, crate::tui::draft::Reach::Move, columns);
}
