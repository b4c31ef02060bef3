//! Costs of turns and the models that answered, on the cards and in the status line of an opened session.

use std::sync::Arc;

use ptc_workbench::event::{Envelope, Event, Price, Sent, Tokens};
use ptc_workbench::tui::model::{Model, RunView, Screen};
use ptc_workbench::tui::transcript::Transcript;

use super::pictures::rows;
use super::services::long_session;
use super::story::{NOW_MS, fresh, text, two_turns};

const PRICE: Price = Price { input: 100.0, output: 200.0, cached_input: Some(10.0), cache_write: None };

/// The run of two turns by a model that costs something and has half of each prompt in its cache.
fn priced() -> Vec<Envelope> {
    let cached = |tokens: &mut Tokens| tokens.cache_read = Some(tokens.input / 2);
    let change = |mut envelope: Envelope| {
        match &mut envelope.event {
            Event::RunStart(start) => start.model.price = Some(PRICE),
            Event::ReplyEnd(end) => {
                end.model = Some("m-answering".to_owned());
                end.usage.iter_mut().for_each(cached);
                let sent = Sent { attempt: 1, frame: text(r#"{"model":"m-asked"}"#), ..Sent::default() };
                return vec![Envelope { event: sent.into(), ..envelope.clone() }, envelope];
            }
            Event::TurnEnd(end) => end.usage.iter_mut().chain(&mut end.totals.tokens).for_each(cached),
            Event::RunEnd(end) => end.usage.totals.tokens.iter_mut().for_each(cached),
            _ => {}
        }
        vec![envelope]
    };
    two_turns().into_iter().flat_map(change).collect()
}

fn text_at(columns: usize) -> String {
    let mut transcript = Transcript::default();
    for envelope in &priced() {
        transcript.apply(envelope);
    }
    transcript.prepare(columns, 60, NOW_MS);
    let rows = transcript.rows().map(|row| row.row.plain());
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_card_shows_its_cost_in_the_header_or_where_that_is_narrow_below() {
    // 30 + 29 cached in and 11 out; 49 + 48 cached in and 16 out.
    let wide = text_at(100);
    let heads: Vec<&str> = wide.lines().filter(|line| line.contains("Turn ")).collect();
    assert!(heads[0].contains("cost 0.0055  29 cached") && heads[1].contains("cost 0.0086  48 cached"), "{wide}");
    assert_eq!(wide.matches("cost 0.0055").count(), 1, "{wide}");
    let narrow = text_at(60);
    let heads: Vec<&str> = narrow.lines().filter(|line| line.contains("Turn ")).collect();
    assert!(!heads[0].contains("cost"), "{narrow}");
    assert!(narrow.contains("cost 0.0055 · 29 cached") && narrow.contains("cost 0.0086 · 48 cached"), "{narrow}");
    // The end: the sum of both.
    assert!(narrow.replace('\n', " ").contains("cost 0.01"), "{narrow}");
}

#[test]
fn a_card_shows_that_another_model_answered() {
    let text = text_at(100);
    assert_eq!(text.matches("! asked for the model m-asked, answered as m-answering").count(), 2, "{text}");
}

#[test]
fn unread_turns_of_a_session_show_their_cost_too() {
    let mut session = long_session(3);
    for envelope in session.runs.iter_mut().flat_map(|run| &mut run.head) {
        if let Event::RunStart(start) = &mut envelope.event {
            start.model.price = Some(PRICE);
        }
    }
    for turn in session.runs.iter_mut().flat_map(|run| &mut run.turns) {
        Arc::make_mut(turn).tokens = Some(Tokens { input: 10, output: 10, ..Tokens::default() });
    }
    let mut transcript = Transcript::of_session(&session);
    transcript.prepare(100, 40, NOW_MS);
    let text: Vec<String> = transcript.rows().map(|row| row.row.plain()).collect();
    let turns: Vec<&String> = text.iter().filter(|row| row.contains("Turn ")).collect();
    assert!(!turns.is_empty() && turns.iter().all(|row| row.contains("cost ")), "{text:#?}");
}

#[test]
fn the_status_line_of_an_opened_session_shows_cost_and_cache() {
    let opened = |events: Vec<Envelope>| -> Model {
        let mut model = fresh((80, 24));
        let mut view = RunView::of_session(&long_session(1));
        view.transcript = Transcript::default();
        for envelope in &events {
            view.transcript.apply(envelope);
        }
        model.screen = Screen::Sessions;
        model.sessions.viewer = Some(view);
        model
    };
    let text = rows(&mut opened(priced()));
    assert!(text.contains("2 turns   tokens 156 in 27 out   77 cached   cost 0.01   read-only"), "{text}");
    let text = rows(&mut opened(two_turns()));
    assert!(text.contains("2 turns   tokens 156 in 27 out   read-only"), "{text}");
}
