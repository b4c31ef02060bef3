//! The traffic screen: which conversation is selected and followed, what is decided about exchanges that wait.
//!
//! In: keys, updates of the traffic. Out: requests to the proxy, and to what makes an agent of a request.

use std::sync::Arc;

use ptc_core::value::json;
use ratatui::layout::Position;

use crate::event::{Address, Envelope, ErrorRecord};
use crate::port::Question;
use crate::proxy::{HeldExchange, HeldForm, TrafficUpdate, Verdict};
use crate::tui::actions::Action;
use crate::tui::archive::{AgentSource, ArchiveRequest};
use crate::tui::direction::Leap;
use crate::tui::draft::Draft;
use crate::tui::message::Effect;
use crate::tui::model::{Asker, Editor, Model, Popup, Screen, Tone};
use crate::tui::traffic::{
    HeldQuestion, ProxyPhase, Step, TrafficRequest, TrafficResponse, TrafficRow, UnfinishedTexts, Writes, show_event,
    typed,
};
use crate::tui::transcript::{Scroll, Transcript};
use crate::workbench::SessionKey;

/// Goes to the traffic.
pub(super) fn enter(model: &mut Model) -> Vec<Effect> {
    model.screen = Screen::Traffic;
    show_next(model);
    Vec::new()
}

/// Closes the screen; the proxy listens on.
pub(super) fn close(model: &mut Model) -> Vec<Effect> {
    model.screen = Screen::Workbench;
    Vec::new()
}

/// Takes what happened to the traffic.
pub(super) fn respond(model: &mut Model, response: TrafficResponse) -> Vec<Effect> {
    match response {
        TrafficResponse::Started(Ok(facts)) => {
            model.show_toast(Tone::Good, format!("listening on http://{}", facts.address));
            model.traffic.phase = ProxyPhase::Listening(facts);
            Vec::new()
        }
        TrafficResponse::Started(Err(error)) => {
            model.traffic.phase = ProxyPhase::Off;
            model.show_toast(Tone::Bad, format!("the proxy was not started: {error}"));
            Vec::new()
        }
        TrafficResponse::Ended(updates, misses) => {
            let mut effects: Vec<Effect> = updates.into_iter().flat_map(|update| take(model, update)).collect();
            model.traffic.phase = ProxyPhase::Off;
            model.traffic.held.clear();
            drop_closed(model);
            let text = match misses {
                0 => "the proxy has ended; its sessions are saved".to_owned(),
                1 => "the proxy has ended; 1 request was not recorded".to_owned(),
                misses => format!("the proxy has ended; {misses} requests were not recorded"),
            };
            model.show_toast(if misses == 0 { Tone::Good } else { Tone::Bad }, text);
            effects.push(Effect::List);
            effects
        }
        TrafficResponse::Updates(updates) => updates.into_iter().flat_map(|update| take(model, update)).collect(),
        TrafficResponse::Read(session, result) => read(model, &session, result),
    }
}

fn take(model: &mut Model, update: TrafficUpdate) -> Vec<Effect> {
    match update {
        TrafficUpdate::Conversation(line) => {
            model.traffic.take_line(*line);
            if model.traffic.selected.is_none() {
                go(model, 0);
            }
        }
        TrafficUpdate::Event(session, envelope) => {
            if let Some(envelope) = model.traffic.take_event(&session, *envelope) {
                show(model, &[envelope]);
            }
        }
        TrafficUpdate::Held(held) => {
            let is_new = |held: &Arc<HeldExchange>| model.traffic.held(held.id).is_none();
            let comes = held.iter().any(is_new);
            model.traffic.held = held;
            let gone = model.traffic.selected_row().is_none();
            drop_closed(model);
            if comes {
                show_next(model);
            }
            if gone {
                go(model, 0);
            }
        }
        TrafficUpdate::Unrecorded(lines, count) => model.traffic.take_unrecorded(lines, count),
        TrafficUpdate::Problem(problem) => {
            model.show_toast(Tone::Bad, problem.clone());
            model.traffic.problem = Some(problem).filter(|problem| problem.contains("cannot"));
        }
    }
    Vec::new()
}

/// Shows events of the followed conversation, where it is.
fn show(model: &mut Model, events: &[Envelope]) {
    let traffic = &model.traffic;
    let opened = model.sessions.viewer.as_mut().filter(|viewer| traffic.is_opened(viewer));
    if let Some(view) = opened.or(model.traffic.view.as_mut()) {
        for envelope in events {
            show_event(view, envelope);
        }
    }
}

/// The events of a session were read.
fn read(model: &mut Model, session: &str, result: Result<(SessionKey, Arc<[Envelope]>), ErrorRecord>) -> Vec<Effect> {
    match result {
        Ok((key, events)) => {
            let events = model.traffic.take_read(session, &events);
            show(model, &events);
            let traffic = &model.traffic;
            let opened = model.sessions.viewer.as_mut().filter(|viewer| traffic.is_opened(viewer));
            if let Some(view) = opened.or(model.traffic.view.as_mut())
                && view.session.as_deref() == Some(session)
            {
                view.key = Some(key);
            }
        }
        Err(error) => {
            model.traffic.take_read(session, &[]);
            model.show_toast(Tone::Bad, format!("{session}: {}", error.with_hint()));
        }
    }
    Vec::new()
}

/// A move or a choice.
pub(super) fn step(model: &mut Model, step: Step) -> Vec<Effect> {
    match step {
        Step::Go(leap) => {
            let traffic = &model.traffic;
            let count = traffic.rows().count();
            let row = leap.within(traffic.selected_row().unwrap_or(0), count, usize::from(traffic.area.height));
            go(model, row);
            Vec::new()
        }
        Step::Open => open(model),
        Step::Listen => listen(model),
        Step::Pass => {
            let id = model.traffic.selected_held().map(|held| held.id);
            id.map(|id| decide(model, id, Verdict::Pass)).unwrap_or_default()
        }
        Step::Drop => {
            let id = held_in_hand(model);
            id.map(|id| decide(model, id, Verdict::Drop)).unwrap_or_default()
        }
        Step::Answer => answer(model),
        Step::EditAsAgent => match turn_in_hand(model) {
            Some((key, turn)) => {
                vec![Effect::Archive(ArchiveRequest::OpenAgent(AgentSource::Turn(key, turn)))]
            }
            None => Vec::new(),
        },
        Step::OtherModels => super::dialog::other_models(model),
    }
}

/// Selects a row.
fn go(model: &mut Model, row: usize) {
    let selected = model.traffic.rows().nth(row);
    model.traffic.selected = selected;
}

/// Follows the selected conversation, where the list is shown.
pub(super) fn follow_selected(model: &mut Model) -> Vec<Effect> {
    if model.screen != Screen::Traffic {
        return Vec::new();
    }
    let Some(session) = model.traffic.current().map(|line| line.session.clone()) else { return Vec::new() };
    let is_followed = model.traffic.followed.as_ref().is_some_and(|followed| followed.session == session);
    if is_followed && model.traffic.view.is_some() {
        return Vec::new();
    }
    model.traffic.follow(&session);
    vec![Effect::Traffic(TrafficRequest::Follow(session))]
}

/// Opens the selected conversation, or the question about what waits.
fn open(model: &mut Model) -> Vec<Effect> {
    if let Some(held) = model.traffic.selected_held().cloned() {
        ask(model, &held, false);
        return Vec::new();
    }
    if let Some(view) = model.traffic.view.take() {
        model.sessions.viewer = Some(view);
        model.sessions.scrub = None;
        model.traffic.opened = true;
        model.screen = Screen::Sessions;
        return vec![Effect::List];
    }
    Vec::new()
}

/// Starts the proxy, or ends it.
fn listen(model: &mut Model) -> Vec<Effect> {
    match model.traffic.phase {
        ProxyPhase::Off => {
            model.traffic.phase = ProxyPhase::Starting;
            model.traffic.forget_unrecorded();
            vec![Effect::Traffic(TrafficRequest::Start(Box::new(model.traffic.spec.clone())))]
        }
        ProxyPhase::Listening(_) => {
            model.traffic.phase = ProxyPhase::Ending;
            vec![Effect::Traffic(TrafficRequest::End)]
        }
        ProxyPhase::Starting | ProxyPhase::Ending => Vec::new(),
    }
}

/// The saved session and the turn that an action is about: of the opened conversation or of the one below the list.
pub(super) fn turn_in_hand(model: &Model) -> Option<(SessionKey, Address)> {
    let view = match model.screen {
        Screen::Traffic => model.traffic.view.as_ref(),
        _ => model.sessions.viewer.as_ref(),
    }?;
    let turn = view.transcript.turn_in_hand().or_else(|| Transcript::last_turn(&view.transcript))?;
    Some((view.key.clone()?, turn))
}

/// Opens the question about the oldest exchange that was not postponed, when the screen is free.
fn show_next(model: &mut Model) {
    if model.screen != Screen::Traffic || !model.popups.is_empty() || model.inspector.is_some() {
        return;
    }
    let next = model.traffic.held.iter().find(|held| !model.traffic.aside.contains_key(&held.id)).cloned();
    if let Some(held) = next {
        // Its keys are more than what was reported before.
        model.toast = None;
        model.asked_ms = model.now_ms;
        ask(model, &held, true);
    }
}

/// Opens the question about an exchange that waits, with the text that was written last.
fn ask(model: &mut Model, held: &HeldExchange, is_unrequested: bool) {
    let is_answered = model.traffic.aside.get(&held.id).is_some_and(UnfinishedTexts::is_answered);
    let own = HeldQuestion { is_unrequested, ..HeldQuestion::of(held) };
    push(model, held, HeldQuestion { writes: if is_answered { Writes::Answer } else { own.writes }, ..own });
}

/// Opens a question with its unfinished text, else with the text of the exchange.
fn push(model: &mut Model, held: &HeldExchange, asks: HeldQuestion) {
    let fresh = || match asks.writes {
        Writes::Request => super::question::editor_at_newest(&held.text),
        Writes::Reply => Editor { draft: Draft::new(&held.text), ..Editor::default() },
        Writes::Answer => Editor::default(),
    };
    let kept = model.traffic.aside.get_mut(&held.id).and_then(|texts| texts.take(asks.writes));
    let editor = kept.unwrap_or_else(|| Box::new(fresh()));
    // What is postponed is still selected: the keys of the list are about it.
    model.traffic.selected = Some(TrafficRow::Held(held.id));
    let address = Address::run(0).question(0);
    let question = Question { address, text: described(held, asks), options: Vec::new(), gate: None };
    let asker = Asker::Held(asks);
    model.popups.push(Popup::Answer { question, asker, top: 0, read: 0, end_seen: false, editor });
}

/// Describes a held exchange.
fn described(held: &HeldExchange, asks: HeldQuestion) -> String {
    let client = if held.client.is_empty() { "a program" } else { &held.client };
    let model = if held.model.is_empty() { "a model" } else { &held.model };
    let pieces = if held.is_streamed { ", streamed" } else { "" };
    let place = format!("{client} sends a request to {model} at {} ({}{pieces}).", held.upstream, held.path);
    let status = held.status.map(|status| format!(" The status is {status}.")).unwrap_or_default();
    let what = match (asks.writes, asks.form) {
        (Writes::Answer, _) => "The program gets your text as the model's reply.",
        (_, HeldForm::Hidden) => "The body cannot be shown: pass it on, answer in its place, or drop it.",
        (Writes::Request, _) => "Change the request, or send it as it is.",
        (Writes::Reply, HeldForm::Text) => {
            "This is the text of the reply. An edited text is sent as a reply in the same format."
        }
        (Writes::Reply, _) => "Change the body of the reply, or pass it on as it is.",
    };
    format!("{place}{status}\n{what}")
}

/// The exchange whose question is open, else the selected one.
fn held_in_hand(model: &Model) -> Option<u64> {
    match model.popups.last() {
        Some(Popup::Answer { asker: Asker::Held(asks), .. }) => Some(asks.id),
        _ => model.traffic.selected_held().map(|held| held.id),
    }
}

/// Lets the user write instead of the model; from there, back to the request or reply. Both texts are kept.
fn answer(model: &mut Model) -> Vec<Effect> {
    let Some(held) = held_in_hand(model).and_then(|id| model.traffic.held(id).cloned()) else { return Vec::new() };
    let is_open = |popup: &mut Popup| matches!(popup, Popup::Answer { asker: Asker::Held(_), .. });
    let mut asks = HeldQuestion { writes: Writes::Answer, ..HeldQuestion::of(&held) };
    if let Some(Popup::Answer { asker: Asker::Held(open), editor, .. }) = model.popups.pop_if(is_open) {
        if open.writes == Writes::Answer {
            asks = HeldQuestion::of(&held);
        }
        model.traffic.aside.entry(open.id).or_default().keep(open.writes, editor);
    }
    push(model, &held, asks);
    Vec::new()
}

/// Passes the text of the open question on.
pub(super) fn send(model: &mut Model, asks: HeldQuestion, text: String) -> Vec<Effect> {
    let Some(held) = model.traffic.held(asks.id).cloned() else {
        drop_closed(model);
        return Vec::new();
    };
    let is_json = |text: &str| json::parse(text);
    if asks.writes == Writes::Answer && text.trim().is_empty() {
        model.show_toast(Tone::Bad, "an empty reply is not sent: write one, or press Esc to postpone it");
        return Vec::new();
    }
    if asks.form == HeldForm::Body
        && asks.writes != Writes::Answer
        && is_json(&held.text).is_ok()
        && let Err(error) = is_json(&text)
    {
        model.show_toast(Tone::Bad, format!("not sent: invalid JSON: {error}"));
        return Vec::new();
    }
    decide(model, asks.id, asks.verdict(&held, text))
}

/// Decides about an exchange, and goes to the next one.
fn decide(model: &mut Model, id: u64, verdict: Verdict) -> Vec<Effect> {
    model.traffic.held.retain(|held| held.id != id);
    model.traffic.aside.remove(&id);
    model.popups.retain(|popup| !matches!(popup, Popup::Answer { asker: Asker::Held(asks), .. } if asks.id == id));
    if model.traffic.selected_row().is_none() {
        go(model, 0);
    }
    show_next(model);
    vec![Effect::Traffic(TrafficRequest::Decide(id, verdict))]
}

/// The question was postponed: the exchange waits on.
pub(super) fn put_aside(model: &mut Model, asks: HeldQuestion, editor: Box<Editor>) {
    model.traffic.aside.entry(asks.id).or_default().keep(asks.writes, editor);
    let key = model.keymap.first_name(Action::InTraffic(Step::Open));
    model.show_toast(Tone::Info, format!("still held: {key} on its line opens it again"));
}

/// Closes questions about exchanges whose clients have left. What was typed for them can be pasted.
fn drop_closed(model: &mut Model) {
    let held = &model.traffic.held;
    let is_held = |id: u64| held.iter().any(|held| held.id == id);
    let closes =
        |popup: &mut Popup| matches!(popup, Popup::Answer { asker: Asker::Held(asks), .. } if !is_held(asks.id));
    let closed: Vec<Popup> = model.popups.extract_if(.., closes).collect();
    let postponed: Vec<UnfinishedTexts> =
        model.traffic.aside.extract_if(|id, _| !is_held(*id)).map(|(_, texts)| texts).collect();
    let open = closed.iter().filter_map(|popup| match popup {
        Popup::Answer { editor, .. } => typed(editor),
        _ => None,
    });
    let texts: Vec<&str> = open.chain(postponed.iter().flat_map(UnfinishedTexts::typed)).collect();
    if !closed.is_empty() {
        model.show_toast(Tone::Info, "the client has disconnected; its held request or reply was dropped");
        show_next(model);
    }
    if !texts.is_empty() {
        let why = "the client has disconnected and its request or reply was dropped";
        super::unconfirmed_texts::hand_over(model, why, texts.join("\n\n"));
    }
}

/// Selects the row at a place.
pub(super) fn click(model: &mut Model, at: Position) {
    let area = model.traffic.area;
    if !area.contains(at) {
        return;
    }
    let row = model.traffic.row_of_line(usize::from(at.y - area.y));
    let last = model.traffic.rows().count().saturating_sub(1);
    go(model, row.min(last));
}

/// The wheel moves the selection, or scrolls the conversation.
pub(super) fn wheel(model: &mut Model, at: Position, lines: isize) {
    let now_ms = model.now_ms;
    if model.traffic.view_area.contains(at) {
        let view = model.traffic.view.iter_mut();
        view.for_each(|view| view.transcript.scroll(Scroll::Lines(lines), now_ms));
        return;
    }
    let leap = if lines < 0 { Leap::Up } else { Leap::Down };
    drop(step(model, Step::Go(leap)));
}
