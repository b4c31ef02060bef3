//! Questions of a run to the user: where they open, what keys mean in them, how they are answered and end.
//!
//! In: questions, keys. Out: changes of the popups, answers. It must never take a key on its way as an answer: a question that opens by
//! itself takes none until a pause without keys, and over a text no letter grants what lasts.

use super::unconfirmed_texts;
use crate::event::{Address, Decision};
use crate::port::{Gate, Question};
use crate::tool::{FILE_DECISIONS, NamedFile};
use crate::tui::actions::Action;
use crate::tui::archive::{AgentSource, ArchiveRequest};
use crate::tui::draft::{Draft, Reach};
use crate::tui::message::Effect;
use crate::tui::model::{Asker, Editor, Model, Pane, Popup, REFUSALS, Tone};
use crate::tui::recovery::SavedReply;

/// Returns the byte where a question first differs from the previous one: the message after the user's own reply.
pub(super) fn new_part(before: &str, now: &str) -> usize {
    let same = before.bytes().zip(now.bytes()).take_while(|(before, now)| before == now).count();
    let line = now.get(..same).and_then(|same| same.rfind('\n')).map_or(0, |end| end + 1);
    let rest = now.get(line..).unwrap_or_default();
    if rest.starts_with(OWN_REPLY) { rest.find("\n[user]").map_or(line, |at| line + at + 1) } else { line }
}

/// The byte from which the first request is the task: its last message of the user.
pub(super) fn first_part(text: &str) -> usize {
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
        let begun = model
            .workbench
            .run
            .as_mut()
            .and_then(|run| run.begun_reply.take())
            .or_else(|| saved_reply(model, &question));
        let editor = begun.unwrap_or_else(|| Box::new(fresh()));
        let new = model.workbench.run.as_ref().map_or(0, |run| run.asked.1);
        let top = crate::tui::view::asked_rows(model, question.text.get(..new).unwrap_or_default());
        model.popups.push(Popup::Answer { question, asker: Asker::Run, top, read: 0, end_seen: false, editor });
    }
}

/// Opens the question of a run that comes by itself. Where the user types, or is about to stop the run, it is only announced: the run key
/// opens it.
pub(super) fn ask_by_itself(model: &mut Model, question: Question) {
    // On a narrow screen a choice takes the place of the editor.
    let replaces_editor = !model.wide() && !question.options.is_empty() && model.active_draft().is_some();
    if is_user_busy(model) || replaces_editor {
        announce_question(model);
        return;
    }
    ask(model, question);
    model.asked_ms = model.now_ms;
}

/// Returns whether the next key is probably meant for something else than a question: a dialog is open, a search takes text, an editor was
/// typed into since the run began, or the next press stops the run.
fn is_user_busy(model: &Model) -> bool {
    let in_dialog = matches!(model.popups.last(), Some(Popup::Form(..)));
    let takes_text = model.active_draft().is_some();
    let in_editor = model.popups.is_empty() && model.inspector.is_none();
    let typed = model.workbench.run.as_ref().is_some_and(|run| run.typed_since_start);
    in_dialog || model.workbench.stop_announced || takes_text && (!in_editor || typed)
}

fn announce_question(model: &mut Model) {
    let key = |action| model.keymap.first_name(action);
    let close =
        if model.popups.is_empty() { String::new() } else { format!("close this ({}), then ", key(Action::Close)) };
    model.show_toast(Tone::Info, format!("the run asks: {close}{} opens the question", key(Action::Run)));
}

/// Closes a question that has just opened by itself over a text: the keys that are on their way are for that text.
pub(super) fn yield_to_text(model: &mut Model) {
    if model.is_answerable() || !model.is_over_text() {
        return;
    }
    if let Some(Popup::Answer { editor, .. }) = model.popups.pop_if(|popup| popup.is_of_run()) {
        model.workbench.run.iter_mut().for_each(|run| {
            run.begun_reply = Some(editor.clone());
            run.typed_since_start = true;
        });
        announce_question(model);
    }
}

/// The reply of an earlier start to this question.
fn saved_reply(model: &mut Model, question: &Question) -> Option<Box<Editor>> {
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
pub(super) fn end_question(model: &mut Model) {
    let written = model.written_reply().map(|(_, draft)| draft.text().to_owned());
    drop_question(model);
    if let Some(text) = written {
        unconfirmed_texts::hand_over(model, "the question has ended", text);
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
    if model.is_choice_over_text() {
        return take_focus(model);
    }
    if editor.draft.text().trim().is_empty() {
        model.show_toast(Tone::Bad, "an empty reply is not sent: write one, or press Esc to postpone the question");
        return Vec::new();
    }
    let text = editor.draft.text().to_owned();
    answer_with(model, &text)
}

/// Gives the focus to the question that opened by itself over a text: from now on its letters grant what lasts, too.
fn take_focus(model: &mut Model) -> Vec<Effect> {
    unconfirmed_texts::close_inspector(model);
    model.workbench.focus = Pane::Run;
    model.show_toast(Tone::Info, "the question has the focus");
    Vec::new()
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

/// Answers the open question by the first letter of an option; `None` when no such question is open.
pub(super) fn choose_answer(model: &mut Model, c: char) -> Option<Vec<Effect>> {
    let Some(Popup::Answer { question, end_seen, .. }) = model.popups.last() else { return None };
    if question.options.is_empty() {
        return None;
    }
    let chosen = question.options.iter().find(|option| option.starts_with(c.to_ascii_lowercase())).cloned();
    let Some(option) = chosen else {
        let keys: Vec<&str> = question.options.iter().filter_map(|option| option.get(..1)).collect();
        let text = format!("press one of {}, or Esc to postpone the question", keys.join(", "));
        model.show_toast(Tone::Info, text);
        return Some(Vec::new());
    };
    let lasts = matches!(Decision::read(&option), Some(Decision::Run | Decision::Always));
    if lasts && *end_seen && model.is_choice_over_text() {
        let key = model.keymap.first_name(Action::SendAnswer);
        model.show_toast(
            Tone::Info,
            format!("the question came while you were in a text: press {key} first; then `{option}` works"),
        );
        return Some(Vec::new());
    }
    Some(choose_option(model, &option))
}

/// The turn a question belongs to.
pub(super) fn turn_of(question: &Question) -> Address {
    question.address.turn_part()
}
