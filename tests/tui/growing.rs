//! A reply that grows by any pieces is drawn as if it had come whole: every split of every fixture, in every view, folded or not.

use proptest::prelude::*;
use ptc_workbench::event::{Event, JsonText, PartKind, RequestMade};
use ptc_workbench::session::Session;
use ptc_workbench::tui::transcript::{Fold, Spot, Transcript, View};
use ptc_workbench::workbench::example_sessions;

use super::story::{NOW_MS, Story, asked, end, two_turns};
use ptc_workbench::event::ReplyStatus;

/// Bytes of a reply of the example sessions that are tried.
const MOST_BYTES: usize = 300;
/// Rows of the pane: the whole reply is seen.
const ROWS: usize = 400;

/// A reply, and what was asked for.
#[derive(Debug, Clone)]
struct Fixture {
    want: String,
    text: String,
}

fn fixture(want: &str, text: impl Into<String>) -> Fixture {
    Fixture { want: serde_json::from_value(want.into()).unwrap(), text: text.into() }
}

/// Returns replies that are hard to cut: each way in which a reply can be written, unfinished, broken, wide or hidden.
fn hard() -> Vec<Fixture> {
    let cast = r#"{"name": "日本", "note": "e\u0301 \ud83d\ude00 👩‍👩‍👧‍👦 שלום", "n": [1, -2.5e3, true, null, {}, []], "deep": {"a": {"b": [[{"c": "d"}]]}}}"#;
    let mut all = vec![
        fixture("json", cast),
        fixture("json", format!("{cast} and more")),
        fixture("json", "{\n  \"rows\": [\n    {\"id\": 1, \"tags\": []},\n    {\"id\": 2}\n  ],\n  \"ok\": true\n}"),
        fixture("json", "Here it is:\n```json\n{\"a\": \"日本 👩‍👩‍👧 e\u{301}\"}\n```\r\nand \u{1b}[31mred\u{1b}[0m\ttab"),
        fixture("json", "<think>is {\"a\": 0} right?</think>\n{\"a\": 1}"),
        fixture("json", "Not {\"a\": [0, 1]} but\n```json\n{\"a\": [2,\n3]}\n```\nnor {\"a\": 4}"),
        fixture("json", "{\"a\": 1, \"a\": {\"b\":\n2}, \"a\": 3, \"c\": 4, \"c\": [5]}"),
        fixture("json", "{\n\"items\": [{\"a\": 1}, {\"a\": oops}, {\"a\": 3}],\n\"more\": {\"b\": 2}}"),
        fixture("json", "{name: 'x', \"list\": [1,\n2,], \"t\": True}"),
        fixture(
            "json",
            "{\"text\": \"line\nbreak\ttab \u{9b}2J \u{202e}bidi\u{2066} \\u001b[31m \\ud800 alone\",\n\"x\": \"\\q\"}",
        ),
        fixture("json", "{\n  \"a\": [1, 2, 3], \"unfinished\": {\"in a str"),
        fixture("json", "{\n  \"a\": 12"),
        fixture("json", "{\n  \"a\": fal"),
        fixture("json", "{\n  \"a\": {\"ke"),
        fixture("json", "{\n  \"a\": {\"key\" : "),
        fixture("json", "[{\"a\": 1}, {\"a\": [2, 3]}]"),
        fixture("json", "no JSON at all, {only} braces"),
        fixture("json", "\"just a string\""),
        fixture(
            "control_json",
            "{\"thought\": \"I look it up, then \\\"answer\\\".\\nSlowly.\", \"tool_call\": {\"name\": \"find\", \"args\": {\"id\": 3}}, \"answer\": null}",
        ),
        fixture("control_json", "{\n\"tool_call\": null,\n\"thought\": \"done\",\n\"answer\": {\"rows\": [1, 2]}\n}"),
        fixture("control_json", "{\"tool_call\": {\"name\": \"find\", \"args\": {}}, \"thought\": \"behind"),
        fixture("program", "I count:\n```clojure\n(def rows (tool/orders {:region \"north\"}))\n(count rows"),
        fixture("program", "```clojure\n(a)\n```\nor\n```clojure\n(b \"日本 e\u{301}\")\n```\nsee?"),
        fixture("program", "(let [x 1]\n  ; (not [closed\n  (return {:x x}))"),
        fixture("program", "(f [1 \"a)\n\\) ]"),
        fixture(
            "text",
            "words e\u{301} 日本 👩‍👩‍👧‍👦 and\r\nmore\rwords\tand \u{1b}]0;title\u{7}controls \u{1b}[3\n1m\u{85}end\u{2028}.",
        ),
    ];
    // Lines that are cut, in JSON and elsewhere.
    let long: String = "wide 日本 and e\u{301} ".repeat(250);
    all.push(fixture("text", long.clone()));
    all.push(fixture("json", format!("{{\"long\": \"{long}\",\n\"after\": [1]}}")));
    all.push(fixture("json", format!("{long} {{\"a\": 1}}")));
    all.push(fixture("json", format!("{{\"rows\": [{}]}}", "{\"id\": 7, \"name\": \"row\"}, ".repeat(200))));
    all
}

/// The replies of the example sessions, each once, their starts.
fn recorded() -> Vec<Fixture> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<Fixture> = Vec::new();
    for example in example_sessions() {
        let session = Session::open(&root.join(&example.path)).unwrap();
        let (mut want, mut text) = (String::new(), String::new());
        for envelope in session.events() {
            match envelope.event {
                Event::RequestMade(made) => made.want.name().clone_into(&mut want),
                Event::ReplyPart(part) if part.kind == PartKind::Text => text.push_str(&part.text),
                Event::ReplyEnd(_) if !text.is_empty() => {
                    let mut text = std::mem::take(&mut text);
                    text.truncate((0..=MOST_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap());
                    if found.iter().all(|known| known.text != text) {
                        found.push(fixture(&want, text));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// A turn that waits for its reply.
fn waiting(want: &str) -> Story {
    let schema = ptc_core::value::json::parse(r#"{"type": "object", "properties": {"a": {}, "rows": {}}}"#).unwrap();
    asked().apply_message(
        "r0/t1",
        RequestMade {
            messages: vec![(0, 1)],
            want: serde_json::from_value(want.into()).unwrap(),
            schema: want.contains("json").then(|| JsonText::of(&schema)),
            tools: Vec::new(),
            tool_names: Vec::new(),
            options: ptc_workbench::event::Options::default(),
            cache: false,
        },
    )
}

/// A transcript of these pieces, drawn after each of them.
fn transcript_of(fixture: &Fixture, pieces: &[&str], view: View, columns: usize) -> Transcript {
    let mut transcript = Transcript::default();
    transcript.set_view(view);
    waiting(&fixture.want).events().iter().for_each(|event| transcript.apply(event));
    transcript.prepare(columns, ROWS, NOW_MS);
    for piece in pieces {
        more(&mut transcript, piece);
        transcript.prepare(columns, ROWS, NOW_MS);
    }
    transcript
}

fn more(transcript: &mut Transcript, piece: &str) {
    transcript.apply(&Story::new().part("r0/t1", 1, piece).events()[0]);
}

/// Returns what is drawn: indent, fold mark and pieces of every row.
fn drawn(transcript: &mut Transcript, columns: usize) -> Vec<String> {
    transcript.prepare(columns, ROWS, NOW_MS);
    transcript.rows().map(|row| format!("{} {:?} {:?}", row.indent, row.fold, row.row)).collect()
}

/// Clicks the fold mark of the first open branch. Returns false when there is none.
fn fold_first(transcript: &mut Transcript) -> bool {
    let first = transcript.rows().find(|row| row.fold == Some(Fold::Open));
    let Some(spot) = first.map(|row| Spot { cell: row.cell, line: row.line, column: 0 }) else { return false };
    transcript.click(spot);
    true
}

/// The places where a text may be cut: all of a short one; of a long one those near its ends and near the cut of long lines, and some others.
fn cuts(text: &str) -> Vec<usize> {
    let near =
        |at: usize| at < 80 || at + 80 > text.len() || at % 4096 < 30 || at % 4096 > 4066 || at.is_multiple_of(97);
    let all = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
    all.filter(|at| text.len() < 600 || near(*at)).collect()
}

#[test]
fn every_split_into_two_is_drawn_like_the_whole() {
    let fixtures: Vec<Fixture> = hard().into_iter().chain(recorded()).collect();
    assert!(fixtures.len() > 30, "there are replies to try");
    // A sample of the splits in one of the views, others of each reply; `PTC_LONG_TESTS=1` tries all in all views.
    let step = crate::by_form(9, 9, 27);
    let views = [(View::Rich, 47), (View::Raw, 47), (View::Rich, 120)];
    for (number, (view, columns)) in views.into_iter().enumerate() {
        for (reply, one) in fixtures.iter().enumerate() {
            let is_tried = |at: &usize| crate::is_long() || (at + reply) % (step * views.len()) == number;
            let whole = drawn(&mut transcript_of(one, &[&one.text], view, columns), columns);
            for at in cuts(&one.text).into_iter().filter(is_tried) {
                let (start, rest) = one.text.split_at(at);
                let split = drawn(&mut transcript_of(one, &[start, rest], view, columns), columns);
                assert_eq!(split, whole, "{view:?} of {}, cut at {at}: {:?}", one.want, one.text);
            }
        }
    }
}

#[test]
fn at_every_moment_a_reply_that_grew_by_characters_is_drawn_like_its_start() {
    // A sample of the moments, others of each reply; `PTC_LONG_TESTS=1` tries all.
    let step = crate::by_form(1, 13, 39);
    let replies = hard().into_iter().chain(recorded()).filter(|one| one.text.len() < 600);
    for (reply, one) in replies.enumerate() {
        let mut growing = transcript_of(&one, &[], View::Rich, 47);
        for (number, (at, c)) in one.text.char_indices().enumerate() {
            more(&mut growing, &one.text[at..at + c.len_utf8()]);
            if (number + reply) % step != 0 {
                growing.prepare(47, ROWS, NOW_MS);
                continue;
            }
            let start = &one.text[..at + c.len_utf8()];
            let whole = drawn(&mut transcript_of(&one, &[start], View::Rich, 47), 47);
            assert_eq!(drawn(&mut growing, 47), whole, "{} bytes of {:?}", start.len(), one.text);
        }
    }
}

#[test]
fn what_is_folded_while_a_reply_grows_stays_folded() {
    for one in hard().into_iter().filter(|one| one.want == "json" && one.text.len() < 600) {
        let mut whole = transcript_of(&one, &[&one.text], View::Rich, 47);
        fold_first(&mut whole);
        let whole = drawn(&mut whole, 47);
        for at in cuts(&one.text) {
            let (start, rest) = one.text.split_at(at);
            let mut split = transcript_of(&one, &[start], View::Rich, 47);
            if fold_first(&mut split) {
                more(&mut split, rest);
                assert_eq!(drawn(&mut split, 47), whole, "cut at {at}: {:?}", one.text);
            }
        }
    }
}

#[test]
fn what_is_folded_stays_so_when_the_reply_ends_and_its_rows_do_not_move() {
    let text = "{\n  \"rows\": [\n    {\"id\": 1},\n    {\"id\": 2}\n  ],\n  \"ok\": true\n}";
    let one = fixture("json", text);
    let mut transcript = transcript_of(&one, &[text], View::Rich, 47);
    let list = transcript.rows().find(|row| row.row.plain().contains("rows")).map(|row| (row.cell, row.line)).unwrap();
    transcript.click(Spot { cell: list.0, line: list.1, column: 0 });
    let json = |transcript: &mut Transcript| {
        let all = drawn(transcript, 47);
        all.into_iter().filter(|row| row.contains("Json") || row.contains("items")).collect::<Vec<_>>()
    };
    let before = json(&mut transcript);
    assert!(before.iter().any(|row| row.contains("Folded") && row.contains("items")), "{before:#?}");
    let ended =
        Story::new().apply_message("r0/t1", end(1, ReplyStatus::Ok, None)).extract("r0/t1", "whole", (0, text.len()));
    ended.check("r0/t1", Vec::new()).events().iter().for_each(|event| transcript.apply(event));
    assert_eq!(json(&mut transcript), before);
}

#[test]
fn keys_go_from_branch_to_branch_and_fold_them() {
    let text = "{\n\"rows\": [{\"id\": 1}, {\"id\": 2}],\n\"ok\": {\"a\": 1}}";
    let one = fixture("json", text);
    let mut transcript = transcript_of(&one, &[text], View::Rich, 60);
    let here = |transcript: &mut Transcript| {
        transcript.prepare(60, ROWS, NOW_MS);
        let row = transcript.rows().find(|row| row.here);
        row.map(|row| row.row.plain().trim().to_owned()).unwrap_or_default()
    };
    transcript.go_end();
    assert_eq!(here(&mut transcript), "");
    transcript.step_in(NOW_MS);
    assert_eq!(here(&mut transcript), "{");
    transcript.step_in(NOW_MS);
    assert_eq!(here(&mut transcript), "\"rows\": [");
    transcript.toggle();
    assert_eq!(here(&mut transcript), "\"rows\": [… 2 items],");
    transcript.step_down(NOW_MS);
    assert_eq!(here(&mut transcript), "\"ok\": {", "what is folded is passed over");
    transcript.step_up(NOW_MS);
    transcript.step_in(NOW_MS);
    assert_eq!(here(&mut transcript), "\"rows\": [");
    transcript.step_out(NOW_MS);
    assert_eq!(here(&mut transcript), "\"rows\": [… 2 items],");
    transcript.step_out(NOW_MS);
    assert_eq!(here(&mut transcript), "{");
    transcript.step_up(NOW_MS);
    assert_eq!(here(&mut transcript), "", "the keys are at the card again");
    transcript.step_out(NOW_MS);
    assert!(!drawn(&mut transcript, 60).concat().contains("rows"), "the card is folded");
    transcript.step_in(NOW_MS);
    let rows = drawn(&mut transcript, 60);
    assert!(rows.iter().any(|row| row.contains("Folded") && row.contains("items")), "what was folded in it still is");
}

#[test]
fn a_search_unfolds_what_it_finds() {
    let mut transcript = Transcript::default();
    for event in &two_turns() {
        transcript.apply(event);
    }
    transcript.prepare(20, ROWS, NOW_MS);
    assert!(fold_first(&mut transcript), "narrow JSON has branches");
    assert!(!drawn(&mut transcript, 20).concat().contains("feeling\\\": \\\"pos"));
    transcript.look_for("feeling", NOW_MS);
    transcript.prepare(20, ROWS, NOW_MS);
    assert!(transcript.rows().any(|row| row.row.plain().contains("\"feeling\"")));
}

proptest! {
    #[test]
    fn any_pieces_are_drawn_like_the_whole(
        number in any::<prop::sample::Index>(),
        steps in prop::collection::vec(1_usize..60, 1..40),
        columns in 5_usize..90,
        view in prop::sample::select(vec![View::Rich, View::Raw]),
    ) {
        let all = hard();
        let one = &all[number.index(all.len())];
        let (mut pieces, mut from) = (Vec::new(), 0);
        for step in steps.into_iter().cycle().take(400) {
            let mut to = (from + step).min(one.text.len());
            while !one.text.is_char_boundary(to) {
                to += 1;
            }
            pieces.push(&one.text[from..to]);
            from = to;
        }
        pieces.push(&one.text[from..]);
        let whole = drawn(&mut transcript_of(one, &[&one.text], view, columns), columns);
        prop_assert_eq!(drawn(&mut transcript_of(one, &pieces, view, columns), columns), whole);
    }
}
