//! Starting, watching and answering runs.
//!
//! In: keys, updates of runs. Out: changes of the model, effects. It must never start a run twice for one key.

use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::question::{ask, ask_by_itself, end_question, first_part, new_part, turn_of};
use super::{runs, save, stop};
use crate::agent::{Diagnostic, Place, Severity};
use crate::config::Notify;
use crate::event::{Envelope, ErrorRecord, Event};
use crate::port::Gate;
use crate::tui::actions::Action;
use crate::tui::draft::Reach;
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{
    Differs, LastEvent, Model, Pane, Phase, Popup, RunView, Screen, SessionFile, Tone, place_name,
};
use crate::workbench::{RunEnding, RunUpdate};

/// F5: runs the draft, stops the run, or comes back to an open question.
pub(super) fn run_or_stop(model: &mut Model) -> Vec<Effect> {
    model.screen = Screen::Workbench;
    if let Some(question) = model.workbench.run.as_ref().and_then(|run| run.question.clone()) {
        model.workbench.focus = Pane::Run;
        model.workbench.run.iter_mut().for_each(|run| run.typed_since_start = false);
        ask(model, question);
        return Vec::new();
    }
    if model.workbench.running() {
        return stop::by_run_key(model);
    }
    if std::mem::take(&mut model.workbench.stop_announced) && model.workbench.run.is_some() {
        // The run ended between both presses: the second one is not meant to start another.
        let key = model.keymap.first_name(Action::Run);
        model.show_toast(Tone::Info, format!("the run has ended; {key} runs the draft again"));
        return Vec::new();
    }
    let workbench = &model.workbench;
    let refuses = |finding: &Diagnostic| finding.place == Place::Context && finding.severity == Severity::Error;
    if workbench.checked == Some(workbench.version()) && workbench.diagnostics.iter().any(refuses) {
        let findings = workbench.diagnostics.clone();
        refused(model, findings);
        return Vec::new();
    }
    if let Some(error) = workbench.pipeline.as_ref().and_then(|(pipeline, _)| pipeline.errors.first()) {
        let text = format!("not started: {error}");
        model.show_toast(Tone::Bad, text);
        return Vec::new();
    }
    model.workbench.begin();
    if !model.wide() {
        model.workbench.focus = Pane::Run;
    }
    match &model.workbench.pipeline {
        Some((pipeline, _)) => vec![Effect::StartPipeline(Box::new(pipeline.definition.clone()))],
        None => vec![Effect::Start(model.workbench.texts())],
    }
}

/// Shows a recorded run of the example in the editors, until the first run takes its place.
pub(super) fn show_example(model: &mut Model, found: Option<(String, Arc<[Envelope]>)>) -> Vec<Effect> {
    if let (Some((session, events)), None) = (found, &model.workbench.run) {
        let mut view =
            RunView { session: Some(session), ended: Some(RunEnding::Run), is_example: true, ..RunView::default() };
        events.iter().for_each(|envelope| view.transcript.apply(envelope));
        view.transcript.close();
        view.transcript.go_top();
        model.workbench.run = Some(view);
    }
    Vec::new()
}

pub(super) fn started(model: &mut Model, result: Result<Option<String>, Vec<Diagnostic>>) -> Vec<Effect> {
    match result {
        Ok(session) => {
            let texts = model.workbench.starting.take();
            model.workbench.run_begun(texts);
            if let Some(run) = &mut model.workbench.run {
                run.session = session;
                if run.phase == Phase::Stopping {
                    return vec![Effect::Cancel(Slot::Workbench)];
                }
                run.phase = Phase::Running;
                // The list knows the run before the screen shows it.
                return vec![Effect::List];
            }
        }
        Err(findings) => {
            model.workbench.not_begun();
            refused(model, findings);
        }
    }
    Vec::new()
}

/// The run was refused: the findings are shown at their places, the focus goes to the first error.
pub(super) fn refused(model: &mut Model, findings: Vec<Diagnostic>) {
    let findings = model.workbench.placed(findings);
    let first = findings.iter().find(|finding| finding.severity == Severity::Error).or(findings.first());
    let text = match first {
        Some(finding) if model.workbench.pipeline.is_some() => format!("not started: {}", finding.message),
        Some(finding) => {
            let draft = &model.workbench.editor(finding.place).draft;
            let place = finding.span.map(|span| span.line_col(draft.text()).to_string());
            let (field, message) = (place_name(finding.place).to_lowercase(), &finding.message);
            match place {
                _ if finding.reason == Reason::RecorderFailed => format!("not started: {message}"),
                Some(place) if message.contains(&place) => format!("not started: {message}"),
                Some(place) => format!("not started: {field}, {place}: {message}"),
                None => format!("not started: {field}, {message}"),
            }
        }
        None => "not started".to_owned(),
    };
    if first.is_some_and(|finding| finding.reason == Reason::RecorderFailed) {
        // Nothing is wrong with the texts.
        model.show_toast(Tone::Bad, text);
        return;
    }
    if let (Some(finding), None) = (first, &model.workbench.pipeline) {
        model.workbench.focus = Pane::Editor(finding.place);
        if finding.place == Place::Context {
            model.workbench.inputs.focus_on(finding);
        }
        let at = finding.span.map(|span| span.start);
        let editor = model.workbench.editor_mut(finding.place);
        editor.free = false;
        if let Some(at) = at {
            editor.draft.place(at, Reach::Move);
        }
    }
    model.show_toast(Tone::Bad, text);
    model.workbench.diagnostics = findings;
}

/// Stops runs at this gate from now on, or lets them pass.
pub(super) fn intercept(model: &mut Model, gate: Gate) -> Vec<Effect> {
    let gates = &mut model.workbench.gates;
    let closed = !gates.contains(&gate);
    gates.retain(|known| *known != gate);
    if closed {
        gates.push(gate);
    }
    let how = if closed { "stop" } else { "do not stop" };
    let who = if model.traffic.listens_at().is_some() && gate != Gate::Result { "runs and programs" } else { "runs" };
    model.show_toast(Tone::Info, format!("{who} {how} {}", gate.moment()));
    vec![Effect::Intercept(gate, closed)]
}

/// Takes the updates of a run.
pub(super) fn updates(model: &mut Model, slot: Slot, updates: Vec<RunUpdate>) -> Vec<Effect> {
    let (mut effects, mut learns) = (Vec::new(), false);
    for update in updates {
        let Some(view) = model.run_of(slot) else { return effects };
        match update {
            RunUpdate::Event(envelope) => {
                view.note_end(&envelope);
                // What servers offer is known by now: the draft's tools are as the run has them.
                if slot == Slot::Workbench
                    && matches!(envelope.event, Event::RunStart(_))
                    && !envelope.address.is_call()
                {
                    learns = true;
                }
                view.transcript.apply(&envelope);
                view.waits = match envelope.event {
                    Event::RunWait(_) => true,
                    Event::Resume(_) | Event::AnswerGiven(_) | Event::RunEnd(_) => false,
                    _ => view.waits,
                };
                let answered = view.question.as_ref().is_some_and(|question| {
                    question.address.is_within(&envelope.address) && ends_question(&envelope.event)
                });
                if answered && slot == Slot::Workbench {
                    end_question(model);
                }
            }
            RunUpdate::Question(question) => {
                view.begun_reply = None;
                view.transcript.set_asked(&turn_of(&question), true);
                view.question = Some(question.clone());
                // Only what a model reads grows from question to question.
                if question.gate.is_none() && question.options.is_empty() {
                    let is_first = view.asked.0.is_empty();
                    let new =
                        if is_first { first_part(&question.text) } else { new_part(&view.asked.0, &question.text) };
                    view.asked = (question.text.clone(), new);
                } else {
                    view.asked.1 = 0;
                }
                if slot == Slot::Workbench {
                    effects.extend(notification(model, "a run asks"));
                    if model.screen == Screen::Workbench {
                        ask_by_itself(model, question);
                    }
                }
            }
            RunUpdate::Unwritten { reason, suggested } => {
                view.file = SessionFile::Unwritten;
                save::ask_folder(model, reason, &suggested);
            }
            RunUpdate::Ended(ended) => {
                let next = std::mem::take(&mut view.last_event);
                view.phase = Phase::Done;
                view.file = SessionFile::of(matches!(ended, RunEnding::Unsaved(_)));
                view.ended = Some(ended.clone());
                view.transcript.close();
                let elapsed_ms = crate::event::elapsed_ms(view.transcript.facts.started_ms, model.now_ms);
                if slot == Slot::Workbench && elapsed_ms >= LONG_RUN_MS {
                    effects.extend(notification(model, "a run has ended"));
                }
                // The end of a replay is not that of the workbench's run.
                if slot == Slot::Workbench {
                    end_question(model);
                    save::close_folder_question(model);
                }
                report_end(model, slot, &ended);
                effects.push(Effect::List);
                match next {
                    LastEvent::RunsAgain if slot == Slot::Workbench => effects.extend(run_or_stop(model)),
                    LastEvent::Compares if model.screen == Screen::Compare && !model.compare.runs() => {
                        effects.extend(runs::compare(model));
                    }
                    _ => {}
                }
            }
        }
    }
    if learns && model.workbench.texts().tools.contains("mcp") {
        effects.push(Effect::Check(model.workbench.version(), model.workbench.texts()));
    }
    effects
}

/// The session of a run cannot be written, or can again.
pub(super) fn file_changed(model: &mut Model, slot: Slot, file: SessionFile) -> Vec<Effect> {
    if let Some(run) = model.run_of(slot) {
        run.file = file;
    }
    Vec::new()
}

/// Runs of this length in ms or more are worth a notification when they end.
const LONG_RUN_MS: u64 = 10_000;

/// A notification about the agent's run, where they are on.
fn notification(model: &Model, what: &str) -> Option<Effect> {
    let agent = &model.workbench.preview.name;
    (model.notify != Notify::Off).then(|| Effect::Notify(model.notify, format!("{agent}: {what}")))
}

fn ends_question(event: &Event) -> bool {
    matches!(
        event,
        Event::ReplyEnd(_) | Event::TurnEnd(_) | Event::RunEnd(_) | Event::AnswerGiven(_) | Event::ToolEnd(_)
    )
}

fn report_end(model: &mut Model, slot: Slot, ended: &RunEnding) {
    match ended {
        RunEnding::Run => {}
        RunEnding::Elsewhere(place) | RunEnding::Unsaved(place) => model.show_toast(Tone::Bad, place.clone()),
        RunEnding::Identical(None) => model.show_toast(Tone::Good, "replayed: identical"),
        RunEnding::Identical(Some(at)) => {
            model.show_toast(Tone::Good, format!("replayed: identical up to {at}, where the recording ends"));
        }
        RunEnding::Diverged { at, parts } => {
            let title = match parts.len() {
                1 => "The replay differs from the recording".to_owned(),
                count => format!("The replay differs from the recording at {count} places"),
            };
            let differs = Differs { title, parts: parts.clone(), at: at.clone(), top: 0 };
            model.popups.push(Popup::Differs(Box::new(differs)));
        }
        RunEnding::Broken(error) => broken(model, slot, error),
    }
}

fn broken(model: &mut Model, slot: Slot, error: &ErrorRecord) {
    let what = if slot == Slot::Workbench { "the run was aborted" } else { "the replay was aborted" };
    model.show_toast(Tone::Bad, format!("{what}: {}", error.message));
}
