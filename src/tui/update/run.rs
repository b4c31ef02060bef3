//! Starting, watching and answering runs.
//!
//! In: keys, updates of runs. Out: changes of the model, effects. It must never start a run twice for one key.

use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::{kept_texts, runs, save, stop};
use crate::agent::{Diagnostic, Place, Severity};
use crate::config::Notify;
use crate::event::{Address, Decision, Envelope, ErrorRecord, Event};
use crate::port::{Gate, Question};
use crate::tool::{FILE_DECISIONS, NamedFile};
use crate::tui::actions::Action;
use crate::tui::archive::{AgentSource, ArchiveRequest};
use crate::tui::draft::{Draft, Reach};
use crate::tui::message::{Effect, Slot};
use crate::tui::model::{
    Asker, Differs, Editor, LastEvent, Model, Pane, Phase, Popup, REFUSALS, RunView, SETTLE_MS, SaveWhat, Screen, Tone,
    place_name,
};
use crate::tui::recovery::SavedReply;
use crate::workbench::{RunEnding, RunUpdate};

/// F5: runs the draft, stops the run, or comes back to an open question.
pub(super) fn run_or_stop(model: &mut Model) -> Vec<Effect> {
    model.screen = Screen::Workbench;
    if let Some(question) = model.workbench.run.as_ref().and_then(|run| run.question.clone()) {
        model.workbench.focus = Pane::Run;
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
        let view = match slot {
            Slot::Workbench => model.workbench.run.as_mut(),
            Slot::Viewer => model.sessions.viewer.as_mut(),
            // Those of the compare screen go there.
            Slot::Left | Slot::Right | Slot::Third | Slot::Fourth => None,
        };
        let Some(view) = view else { return effects };
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
                if answered {
                    end_question(model);
                }
            }
            RunUpdate::Question(question) => {
                view.begun_reply = None;
                view.transcript.set_asked(&turn_of(&question), true);
                view.question = Some(question.clone());
                view.asked_ms = model.now_ms;
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
                        ask(model, question);
                    }
                }
            }
            RunUpdate::Unwritten { reason, suggested } => save::ask_folder(model, reason, &suggested),
            RunUpdate::Ended(ended) => {
                let next = std::mem::take(&mut view.last_event);
                view.phase = Phase::Done;
                view.ended = Some(ended.clone());
                view.transcript.close();
                let elapsed_ms = crate::event::elapsed_ms(view.transcript.facts.started_ms, model.now_ms);
                if slot == Slot::Workbench && elapsed_ms >= LONG_RUN_MS {
                    effects.extend(notification(model, "a run has ended"));
                }
                // The end of a replay is not that of the workbench's run.
                if slot == Slot::Workbench {
                    end_question(model);
                    model.popups.retain(|popup| !matches!(popup, Popup::SavePath { what: SaveWhat::Session, .. }));
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

/// The turn a question belongs to.
fn turn_of(question: &Question) -> crate::event::Address {
    question.address.turn_part()
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

/// Returns the byte where a question first differs from the previous one: the message after the user's own reply.
fn new_part(before: &str, now: &str) -> usize {
    let same = before.bytes().zip(now.bytes()).take_while(|(before, now)| before == now).count();
    let line = now.get(..same).and_then(|same| same.rfind('\n')).map_or(0, |end| end + 1);
    let rest = now.get(line..).unwrap_or_default();
    if rest.starts_with(OWN_REPLY) { rest.find("\n[user]").map_or(line, |at| line + at + 1) } else { line }
}

/// The byte from which the first request is the task: its last message of the user.
fn first_part(text: &str) -> usize {
    text.rfind("\n[user]").map_or(0, |at| at + 1)
}

/// The byte at which the new part of a request at a gate begins.
fn newest(text: &str) -> usize {
    match text.split(' ').next().filter(|fence| !fence.is_empty() && fence.bytes().all(|byte| byte == b'-')) {
        Some(fence) => newest_section(text, fence),
        None => text.rfind("\"role\"").and_then(|at| text.get(..at)?.rfind('{')).unwrap_or(0),
    }
}

/// Like `newest`, in the sheet of a request, whose headings are `FENCE NUMBER ROLE`: the first message after the last reply, else the last
/// one.
fn newest_section(sheet: &str, fence: &str) -> usize {
    let (mut at, mut last, mut after_reply, mut has_reply) = (0, 0, None, false);
    for line in sheet.split_inclusive('\n') {
        if let Some(heading) = line.strip_prefix(fence).and_then(|rest| rest.strip_prefix(' ')) {
            if heading.contains("assistant") {
                (after_reply, has_reply) = (None, true);
            } else {
                after_reply = after_reply.or(Some(at));
                last = at;
            }
        }
        at += line.len();
    }
    after_reply.filter(|_| has_reply).unwrap_or(last)
}

/// An editor for a request, opened at its new part.
pub(super) fn editor_at_newest(text: &str) -> Editor {
    let mut draft = Draft::new(text);
    let at = newest(text);
    draft.place(at, Reach::Move);
    let line = text.get(..at).map_or(0, |before| before.matches('\n').count());
    Editor { draft, scroll: (line, 0), ..Editor::default() }
}

/// Role heading of the user's earlier answers in a question.
const OWN_REPLY: &str = "[assistant]";

/// Opens the question to the user at its new part, once.
pub(super) fn ask(model: &mut Model, question: Question) {
    let open = model.popups.iter().any(|popup| matches!(popup, Popup::Answer { question: q, .. } if *q == question));
    if !open {
        let fresh = || match question.gate {
            Some(Gate::Send) => editor_at_newest(&question.text),
            Some(_) => Editor { draft: Draft::new(&question.text), ..Editor::default() },
            None => Editor::default(),
        };
        if !model.wide() && !question.options.is_empty() {
            // The run that it is about is above the question.
            model.workbench.focus = Pane::Run;
        }
        let begun =
            model.workbench.run.as_mut().and_then(|run| run.begun_reply.take()).or_else(|| kept(model, &question));
        let editor = begun.unwrap_or_else(|| Box::new(fresh()));
        let new = model.workbench.run.as_ref().map_or(0, |run| run.asked.1);
        let top = crate::tui::view::asked_rows(model, question.text.get(..new).unwrap_or_default());
        model.popups.push(Popup::Answer { question, asker: Asker::Run, top, read: 0, end_seen: false, editor });
    }
}

/// The reply of an earlier start to this question.
fn kept(model: &mut Model, question: &Question) -> Option<Box<Editor>> {
    let session = model.workbench.run.as_ref()?.session.clone()?;
    let is_of = |reply: &SavedReply| reply.session == session && question.address.as_str() == reply.question;
    let reply = model.workbench.kept_reply.take_if(|reply| is_of(reply))?;
    Some(Box::new(Editor { draft: reply.draft, ..Editor::default() }))
}

/// Asks whether the agent that is opened may name a file outside of its folder.
pub(in crate::tui) fn ask_about_file(model: &mut Model, source: AgentSource, named: NamedFile) {
    let options = FILE_DECISIONS.iter().map(|decision| decision.name().to_owned()).collect();
    let address = Address::run(0).question(0);
    let question = Question { address, text: named.question(), options, gate: None };
    model.asked_ms = model.now_ms;
    let asker = Asker::Agent(source, Box::new(named));
    model.popups.push(Popup::Answer { question, asker, top: 0, read: 0, end_seen: false, editor: Box::default() });
}

/// Closes a question that no run waits for without an answer.
pub(super) fn put_aside(model: &mut Model, asker: &Asker) {
    match asker {
        Asker::Prompts(_) => super::server_prompts::put_aside(model),
        _ => model.show_toast(Tone::Info, "not opened"),
    }
}

/// The question has ended without the user: what was written for it can be pasted.
fn end_question(model: &mut Model) {
    let written = model.written_reply().map(|(_, draft)| draft.text().to_owned());
    drop_question(model);
    if let Some(text) = written {
        kept_texts::hand_over(model, "the question has ended", text);
    }
}

fn drop_question(model: &mut Model) {
    if let Some(run) = &mut model.workbench.run
        && let Some(question) = run.question.take()
    {
        run.begun_reply = None;
        run.transcript.set_asked(&turn_of(&question), false);
        model.popups.retain(|popup| !popup.is_of_run());
    }
}

/// Sends the user's text as the model's reply.
pub(super) fn send_answer(model: &mut Model) -> Vec<Effect> {
    let Some(Popup::Answer { editor, asker, .. }) = model.popups.last() else { return Vec::new() };
    if let Asker::Held(asks) = asker {
        let (asks, text) = (*asks, editor.draft.text().to_owned());
        return super::traffic::send(model, asks, text);
    }
    if editor.draft.text().trim().is_empty() {
        model.show_toast(Tone::Bad, "an empty reply is not sent: write one, or press Esc to postpone the question");
        return Vec::new();
    }
    let text = editor.draft.text().to_owned();
    answer_with(model, &text)
}

/// Answers the question that is open.
pub(super) fn answer_with(model: &mut Model, text: &str) -> Vec<Effect> {
    let Some(Popup::Answer { question, asker, .. }) = model.popups.last() else { return Vec::new() };
    let effect = Effect::Answer(question.address.clone(), text.to_owned());
    if let Asker::Agent(source, named) = asker.clone() {
        model.popups.pop();
        let decision = Decision::read(text).unwrap_or(Decision::Deny);
        if decision == Decision::Deny {
            let file = named.resolved.as_ref().unwrap_or(&named.path).display().to_string();
            model.show_toast(Tone::Info, format!("not opened: {file} was not allowed"));
            return Vec::new();
        }
        return vec![Effect::Archive(ArchiveRequest::AllowFile(source, named, decision))];
    }
    if let Asker::Prompts(definition) = asker.clone() {
        model.popups.pop();
        return super::server_prompts::decided(model, definition, Decision::read(text).unwrap_or(Decision::Deny));
    }
    drop_question(model);
    model.popups.retain(|popup| !popup.is_of_run());
    // What was kept of the reply is no longer needed.
    model.workbench.keep_at_ms = Some(model.now_ms);
    vec![effect]
}

/// Answers the open question with an option. Consent needs the end of the question to have been visible.
pub(super) fn choose_option(model: &mut Model, option: &str) -> Vec<Effect> {
    let Some(Popup::Answer { end_seen, .. }) = model.popups.last() else { return Vec::new() };
    if *end_seen || REFUSALS.contains(&option) {
        return answer_with(model, option);
    }
    model.show_toast(Tone::Info, format!("scroll to the end first (Down or PageDown); then `{option}` works"));
    Vec::new()
}

/// Answers the open question by the first letter of an option; `None` when no such question is open. A key that was on its way when the
/// question appeared is not an answer.
pub(super) fn choose_answer(model: &mut Model, c: char) -> Option<Vec<Effect>> {
    let Some(Popup::Answer { question, asker, .. }) = model.popups.last() else { return None };
    if question.options.is_empty() {
        return None;
    }
    let since = match asker {
        Asker::Run => model.workbench.run.as_ref().map_or(0, |run| run.asked_ms),
        Asker::Agent(..) | Asker::Prompts(_) | Asker::Held(_) => model.asked_ms,
    };
    if model.now_ms.saturating_sub(since) < SETTLE_MS {
        return Some(Vec::new());
    }
    let chosen = question.options.iter().find(|option| option.starts_with(c.to_ascii_lowercase())).cloned();
    let Some(option) = chosen else {
        let keys: Vec<&str> = question.options.iter().filter_map(|option| option.get(..1)).collect();
        let text = format!("press one of {}, or Esc to postpone the question", keys.join(", "));
        model.show_toast(Tone::Info, text);
        return Some(Vec::new());
    };
    Some(choose_option(model, &option))
}
