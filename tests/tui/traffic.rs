//! The traffic screen: what is listed and followed, what is decided about requests that wait.

use std::net::SocketAddr;
use std::sync::Arc;

use ptc_workbench::event::{Address, Notice, NoticeLevel, RunStart};
use ptc_workbench::event::{Envelope, Event};
use ptc_workbench::proxy::{
    ConversationLine, ConversationState, HeldExchange, HeldForm, HeldSide, TrafficUpdate, UnrecordedRequest, Verdict,
};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::tui::traffic::{ProxyFacts, ProxyPhase, TrafficRequest, TrafficResponse};
use ptc_workbench::workbench::SessionKey;

use super::pictures::text;
use super::story::{apply_message, fresh};
use super::{press, write};

const BODY: &str = "{\n  \"model\": \"m\",\n  \"messages\": []\n}";

/// Gives the model these updates. A question that opens has been on the screen for long enough to be answered.
fn update(model: &mut Model, updates: Vec<TrafficUpdate>) -> Vec<Effect> {
    let effects = ptc_workbench::tui::update(model, Msg::Traffic(TrafficResponse::Updates(updates)));
    model.asked_ms = 0;
    effects
}

/// The screen with a proxy that listens.
fn listening() -> Model {
    let mut model = fresh((120, 40));
    press(&mut model, "f12");
    let facts =
        ProxyFacts { address: SocketAddr::from(([127, 0, 0, 1], 4141)), upstreams: Vec::new(), variables: Vec::new() };
    apply_message(&mut model, Msg::Traffic(TrafficResponse::Started(Ok(facts))));
    model
}

fn line(session: &str, state: ConversationState) -> TrafficUpdate {
    TrafficUpdate::Conversation(Box::new(ConversationLine {
        session: session.to_owned(),
        client: "crawler/2".to_owned(),
        upstream: "openai".to_owned(),
        model: "m".to_owned(),
        user_text: "Which shops are open today?".to_owned(),
        turns: 1,
        state,
        tokens: None,
        cost: None,
        first_ms: None,
        errors: 0,
        problem: None,
        at_ms: 1,
    }))
}

fn held(id: u64, side: HeldSide) -> Arc<HeldExchange> {
    Arc::new(HeldExchange {
        id,
        side,
        client: "crawler/2".to_owned(),
        upstream: "openai".to_owned(),
        model: "m".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        is_streamed: false,
        status: None,
        at_ms: 1,
        form: HeldForm::Body,
        text: BODY.to_owned(),
    })
}

fn event(seq: u64, event: impl Into<Event>) -> Envelope {
    Envelope { seq, at_ms: 1, address: Address::run(0), event: event.into() }
}

fn decided(id: u64, verdict: Verdict) -> Vec<Effect> {
    vec![Effect::Traffic(TrafficRequest::Decide(id, verdict))]
}

fn asks(model: &Model) -> bool {
    matches!(model.popups.last(), Some(Popup::Answer { .. }))
}

#[test]
fn one_key_starts_the_proxy_and_ends_it() {
    let mut model = fresh((80, 24));
    press(&mut model, "f12");
    assert_eq!(model.screen, Screen::Traffic);
    let effects = press(&mut model, "s");
    assert!(matches!(effects.as_slice(), [Effect::Traffic(TrafficRequest::Start(_))]), "{effects:?}");
    assert!(press(&mut model, "s").is_empty(), "it is about to listen");
    apply_message(&mut model, Msg::Traffic(TrafficResponse::Started(Err("the port is taken".to_owned()))));
    assert_eq!(model.traffic.phase, ProxyPhase::Off);
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("the port is taken")));
    let mut model = listening();
    update(&mut model, vec![line("2026-01-01", ConversationState::Streams)]);
    assert_eq!(press(&mut model, "s"), [Effect::Traffic(TrafficRequest::End)]);
    let last = vec![line("2026-01-01", ConversationState::Ended)];
    apply_message(&mut model, Msg::Traffic(TrafficResponse::Ended(last, 0)));
    assert_eq!(model.traffic.phase, ProxyPhase::Off);
    assert!(text(&mut model).contains("■ ended"), "the screen knows how the conversation ended: {}", text(&mut model));
}

#[test]
fn leaving_asks_while_the_proxy_listens() {
    let mut model = listening();
    press(&mut model, "ctrl-q");
    assert!(!model.quitting && matches!(model.popups.last(), Some(Popup::Leaving(_))));
    let shown = text(&mut model);
    assert!(shown.contains("The proxy listens at http://127.0.0.1:") && shown.contains("d stop and leave"), "{shown}");
    press(&mut model, "esc");
    assert!(model.popups.is_empty() && model.traffic.listens_at().is_some());
    press(&mut model, "ctrl-q");
    press(&mut model, "ctrl-q");
    assert!(model.quitting, "the same key again leaves");
    let mut model = listening();
    press(&mut model, "s");
    press(&mut model, "ctrl-q");
    assert!(model.quitting, "a proxy that ends is not asked about");
}

#[test]
fn the_first_conversation_is_followed_and_shown_while_it_continues() {
    let mut model = listening();
    let effects = update(&mut model, vec![line("2026-01-01", ConversationState::Asked)]);
    assert_eq!(effects, [Effect::Traffic(TrafficRequest::Follow("2026-01-01".to_owned()))]);
    let start = RunStart { mode: "text".to_owned(), ..RunStart::default() };
    let notice = |text: &str| Notice { level: NoticeLevel::Info, text: text.to_owned() };
    let live = |envelope| TrafficUpdate::Event("2026-01-01".to_owned(), Box::new(envelope));
    update(&mut model, vec![live(event(2, notice("second")))]);
    let key = SessionKey::Example("one".to_owned());
    let read = Ok((key, Arc::from([event(1, start), event(2, notice("second"))])));
    apply_message(&mut model, Msg::Traffic(TrafficResponse::Read("2026-01-01".to_owned(), read)));
    update(&mut model, vec![live(event(3, notice("third")))]);
    let view = model.traffic.view.as_ref().unwrap();
    assert_eq!((view.transcript.facts.mode.as_str(), view.transcript.cells().len()), ("text", 3));

    // A newer one is listed above, and the selection stays.
    let effects = update(&mut model, vec![line("2026-01-02", ConversationState::Asked)]);
    assert!(effects.is_empty(), "{effects:?}");
    let listed: Vec<&str> = model.traffic.lines.iter().map(|line| line.session.as_str()).collect();
    assert_eq!(listed, ["2026-01-02", "2026-01-01"]);

    // Opened, it is a session like any other, and it is still followed.
    assert_eq!(press(&mut model, "enter"), [Effect::List]);
    assert_eq!(model.screen, Screen::Sessions);
    update(&mut model, vec![live(event(4, notice("fourth")))]);
    assert_eq!(model.sessions.viewer.as_ref().unwrap().transcript.cells().len(), 4);
    press(&mut model, "esc");
    assert_eq!((model.screen, model.sessions.viewer.is_none()), (Screen::Traffic, true));
    assert_eq!(model.traffic.view.as_ref().unwrap().transcript.cells().len(), 4);

    assert_eq!(press(&mut model, "up"), [Effect::Traffic(TrafficRequest::Follow("2026-01-02".to_owned()))]);
}

#[test]
fn a_request_that_waits_passes_unchanged_edited_or_not_at_all() {
    let mut model = listening();
    update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request), held(2, HeldSide::Reply)])]);
    assert!(asks(&model));
    assert_eq!(press(&mut model, "f5"), decided(1, Verdict::Pass), "nothing was changed");
    // The next one follows; a key that was on its way is not for it.
    assert!(asks(&model));
    assert_eq!(press(&mut model, "f5"), []);
    assert!(asks(&model));
    let later = model.now_ms + 400;
    apply_message(&mut model, Msg::Clock(later));
    press(&mut model, "ctrl-end");
    write(&mut model, "x");
    assert!(press(&mut model, "f5").is_empty(), "it is not JSON any more");
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("not sent: invalid JSON")));
    press(&mut model, "backspace");
    write(&mut model, " ");
    assert_eq!(press(&mut model, "f5"), decided(2, Verdict::Edited(format!("{BODY} "))));
    assert!(!asks(&model));
    update(&mut model, vec![TrafficUpdate::Held(vec![held(3, HeldSide::Request)])]);
    assert_eq!(press(&mut model, "alt-x"), decided(3, Verdict::Drop));
}

#[test]
fn the_user_answers_in_the_models_place() {
    let mut model = listening();
    update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request)])]);
    press(&mut model, "alt-a");
    assert!(press(&mut model, "f5").is_empty(), "an empty reply is none");
    write(&mut model, "five");
    assert_eq!(press(&mut model, "f5"), decided(1, Verdict::Answer("five".to_owned())));
}

#[test]
fn a_question_that_was_put_aside_keeps_what_was_written_and_closes_with_its_client() {
    let mut model = listening();
    update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request)])]);
    press(&mut model, "ctrl-end");
    write(&mut model, " ");
    press(&mut model, "esc");
    assert!(!asks(&model));
    // It does not come back by itself.
    update(&mut model, vec![line("2026-01-01", ConversationState::Asked)]);
    assert!(!asks(&model));
    press(&mut model, "home");
    press(&mut model, "enter");
    assert!(asks(&model) && model.is_answerable(), "the user has opened it");
    update(&mut model, vec![TrafficUpdate::Held(Vec::new())]);
    assert!(!asks(&model));
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("the client has disconnected")));
    assert_eq!(model.clipboard, format!("{BODY} "), "what was written can be pasted");
    assert!(model.traffic.aside.is_empty());
}

#[test]
fn texts_of_closed_questions_can_be_pasted_when_their_clients_leave() {
    let mut model = listening();
    update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request)])]);
    press(&mut model, "ctrl-end");
    write(&mut model, " ");
    press(&mut model, "esc");
    update(&mut model, vec![TrafficUpdate::Held(Vec::new())]);
    assert_eq!(model.clipboard, format!("{BODY} "));
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("inserts what you wrote")));
}

#[test]
fn requests_that_are_not_recorded_are_listed_below_the_conversations_and_counted() {
    let passed = |path: &str, status, from: Option<&str>| UnrecordedRequest {
        retries: 0,
        method: "GET".to_owned(),
        path: path.to_owned(),
        upstream: Some("openai".to_owned()),
        from: from.map(str::to_owned),
        status: Some(status),
        bytes: 1_234,
        ms: 56,
        problem: None,
    };
    let mut model = listening();
    update(&mut model, vec![TrafficUpdate::Unrecorded(vec![passed("/v1/models", 200, None)], 1)]);
    assert!(text(&mut model).contains("No request to a model has come."));
    let more = vec![passed("/v1/embeddings", 500, None), passed("/v1/chat/completions", 200, Some("2026-01-01 r0/t1"))];
    update(&mut model, vec![line("2026-01-01", ConversationState::Answered), TrafficUpdate::Unrecorded(more, 12)]);
    for size in [(120, 40), (80, 24)] {
        model.size = size;
        insta::assert_snapshot!(format!("traffic-passed-{}", size.0), text(&mut model));
    }
    // Another proxy counts from the start.
    press(&mut model, "s");
    apply_message(&mut model, Msg::Traffic(TrafficResponse::Ended(Vec::new(), 0)));
    press(&mut model, "s");
    assert_eq!((model.traffic.unrecorded.len(), model.traffic.unrecorded_count), (0, 0));
}

#[test]
fn unknown_programs_and_models_are_shown_as_dashes() {
    let mut model = listening();
    let TrafficUpdate::Conversation(mut unknown) = line("2026-01-01", ConversationState::Streams) else { panic!() };
    (unknown.client, unknown.model) = (String::new(), String::new());
    update(&mut model, vec![TrafficUpdate::Conversation(unknown)]);
    let shown = text(&mut model);
    let row = shown.lines().find(|row| row.contains("● streams")).unwrap_or_default();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..9], ["▸", "●", "streams", "–", "openai", "–", "1", "–", "–"], "{shown}");
}

/// The text of the open question.
fn written(model: &Model) -> &str {
    model.active_draft().map_or("", |draft| draft.text())
}

#[test]
fn the_edit_and_the_answer_of_a_held_exchange_are_both_kept() {
    for side in [HeldSide::Request, HeldSide::Reply] {
        let mut model = listening();
        update(&mut model, vec![TrafficUpdate::Held(vec![held(1, side)])]);
        press(&mut model, "ctrl-end");
        write(&mut model, " edited");
        let edited = format!("{BODY} edited");
        press(&mut model, "alt-a");
        assert_eq!(written(&model), "");
        write(&mut model, "five");
        press(&mut model, "alt-a");
        assert_eq!(written(&model), edited, "the same key leads back to the edit");
        press(&mut model, "alt-a");
        assert_eq!(written(&model), "five");
        press(&mut model, "esc");
        press(&mut model, "home");
        press(&mut model, "enter");
        assert_eq!(written(&model), "five", "what was written last is shown again");
        press(&mut model, "alt-a");
        press(&mut model, "esc");
        press(&mut model, "enter");
        assert_eq!(written(&model), edited);
        press(&mut model, "esc");
        // From the list too.
        press(&mut model, "a");
        assert_eq!(written(&model), "five");
        assert_eq!(press(&mut model, "f5"), decided(1, Verdict::Answer("five".to_owned())));
        assert!(model.traffic.aside.is_empty());
    }
}

#[test]
fn an_answer_that_was_not_begun_does_not_hide_the_edit() {
    let mut model = listening();
    update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request)])]);
    press(&mut model, "ctrl-end");
    write(&mut model, " ");
    press(&mut model, "alt-a");
    press(&mut model, "esc");
    press(&mut model, "home");
    press(&mut model, "enter");
    assert_eq!(written(&model), format!("{BODY} "));
    assert_eq!(press(&mut model, "f5"), decided(1, Verdict::Edited(format!("{BODY} "))));
}

#[test]
fn what_is_held_stays_visible_above_a_list_that_is_scrolled() {
    let mut model = listening();
    model.size = (80, 24);
    let lines = (1..=9).map(|day| line(&format!("2026-01-0{day}"), ConversationState::Answered));
    update(&mut model, lines.collect());
    update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request)])]);
    press(&mut model, "esc");
    press(&mut model, "end");
    let shown = text(&mut model);
    assert!(shown.contains("‖ request") && shown.contains("▲ 3 more"), "{shown}");
    // The time that it waits is whole at this width.
    let row = shown.lines().find(|row| row.contains("‖ request")).unwrap_or_default();
    assert!(row.contains("waits ") && !row.contains('…'), "{row}");
    for key in ["p", "a", "x"] {
        assert!(press(&mut model, key).is_empty(), "{key}");
        let toast = model.toast.as_ref().map_or("", |toast| toast.text.as_str());
        assert!(toast.contains("select the line of a held request or reply first"), "{key}: {toast}");
    }
    // A click is about the line that is seen.
    let area = model.traffic.area;
    assert_eq!(model.traffic.row_of_line(0), 0);
    assert_eq!(model.traffic.row_of_line(usize::from(area.height) - 1), 9);
    press(&mut model, "home");
    assert!(text(&mut model).contains("▼ 3 more"));
    press(&mut model, "enter");
    assert!(asks(&model));
}

#[test]
fn held_requests_are_named_on_every_other_screen() {
    let mut model = listening();
    for screen in ["f2", "f3", "f4", "f11"] {
        press(&mut model, screen);
        assert!(!text(&mut model).contains("held · F12"), "{screen}");
    }
    update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request), held(2, HeldSide::Reply)])]);
    assert!(!asks(&model), "the question is opened on its own screen");
    for screen in ["f2", "f3", "f4", "f11"] {
        press(&mut model, screen);
        model.toast = None;
        assert!(text(&mut model).contains("‖ 2 held · F12"), "{screen}: {}", text(&mut model));
    }
    press(&mut model, "f12");
    assert!(asks(&model) && !text(&mut model).contains("held · F12"));
}

#[test]
fn the_key_that_sends_a_held_request_starts_no_run_of_the_draft() {
    let mut model = listening();
    update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request)])]);
    assert_eq!(press(&mut model, "f5"), decided(1, Verdict::Pass));
    assert_eq!(press(&mut model, "f5"), [], "pressed once too often");
    assert_eq!((model.screen, model.workbench.run.is_none()), (Screen::Traffic, true));
    assert!(model.toast.as_ref().is_some_and(|toast| toast.text.contains("not from the traffic")));
}

#[test]
fn a_held_request_whose_question_was_postponed_is_selected() {
    for (key, verdict) in [("p", Verdict::Pass), ("x", Verdict::Drop)] {
        let mut model = listening();
        update(&mut model, vec![line("2026-01-01", ConversationState::Asked)]);
        update(&mut model, vec![TrafficUpdate::Held(vec![held(1, HeldSide::Request)])]);
        press(&mut model, "esc");
        let effects = press(&mut model, key);
        assert_eq!(effects.first(), decided(1, verdict).first(), "{key}");
    }
}
