//! Figures that screens show of the same thing: sessions with several runs, runs next to each other, denied calls, long texts.

use ptc_workbench::agent::Verdict;
use ptc_workbench::event::{Address, Envelope, TextRecord};
use ptc_workbench::session::diff::{Side, compare};
use ptc_workbench::tui::compare::CompareResponse;
use ptc_workbench::tui::message::Msg;
use ptc_workbench::tui::model::{Model, RunView, Screen};
use ptc_workbench::tui::transcript::Transcript;
use ptc_workbench::workbench::comparison::{Frame, of_turns};
use ptc_workbench::workbench::format::duration;
use ptc_workbench::workbench::matrix::{
    Cell, MatrixEvent, MatrixPlan, MatrixState, MatrixUpdate, Measures, Outcome, Trial,
};
use ptc_workbench::workbench::suite::TestedCase;

use super::pictures::rows;
use super::press;
use super::services::long_session;
use super::story::{NOW_MS, Story, apply_message, fresh, missed, two_turns};

/// The same run as the second one of a session, after the first.
fn second(events: &[Envelope]) -> Vec<Envelope> {
    let (first, last) = (events.first().unwrap(), events.last().unwrap());
    let moved = |envelope: &Envelope| Envelope {
        seq: envelope.seq + last.seq,
        at_ms: envelope.at_ms + last.at_ms - first.at_ms,
        address: Address::from(envelope.address.as_str().replacen("r0", "r1", 1).as_str()),
        event: envelope.event.clone(),
    };
    events.iter().map(moved).collect()
}

/// An opened session of two runs.
fn opened(size: (u16, u16)) -> Model {
    let events = two_turns();
    let mut view = RunView { transcript: Transcript::default(), ..RunView::of_session(&long_session(1)) };
    for envelope in events.iter().chain(&second(&events)) {
        view.transcript.apply(envelope);
    }
    let mut model = fresh(size);
    model.screen = Screen::Sessions;
    model.sessions.viewer = Some(view);
    model
}

#[test]
fn a_session_of_several_runs_shows_the_sum_of_all() {
    let events = two_turns();
    let once = u64::try_from(events.last().unwrap().at_ms - events.first().unwrap().at_ms).unwrap();
    let shown = rows(&mut opened((120, 40)));
    // Each run has two turns, 59 + 97 tokens in and 11 + 16 out.
    let sum = format!("all 2 runs: {}   4 turns   tokens 312 in 54 out", duration(2 * once));
    assert!(shown.contains(&sum), "{sum}:\n{shown}");
}

#[test]
fn turns_of_several_runs_are_labelled_with_their_run() {
    let mut model = opened((120, 40));
    press(&mut model, "u");
    let shown = rows(&mut model);
    assert!(shown.contains("r0 sentiment: ") && shown.contains("r1 sentiment: "), "{shown}");
    let mut model = fresh((120, 40));
    super::story::ran(&mut model, two_turns(), None);
    press(&mut model, "alt-g");
    press(&mut model, "r");
    press(&mut model, "u");
    let shown = rows(&mut model);
    assert!(!shown.contains("r0 sentiment: "), "one run needs no label:\n{shown}");
}

#[test]
fn of_several_runs_those_that_differ_are_marked() {
    let sides = [("a", two_turns()), ("b", two_turns()), ("c", missed().events())];
    let found = compare(sides.into_iter().map(|(name, events)| Side::of(name, events, None)).collect());
    let row = found.rows.iter().position(|row| row.differs).expect("the last run has another second turn");
    assert_eq!([0, 1, 2].map(|column| found.differs_at(column, row)), [true, false, true]);
    let lines = of_turns(&found, &found.rows[row], Frame { columns: 100, whole: true, words: false });
    let place = lines.iter().position(|line| line.text.contains("run 2 against run 1")).unwrap();
    assert!(lines[place + 2].text.contains("the same"), "{lines:?}");
}

/// A matrix of one cell with a trial in which two calls were denied.
fn matrix() -> Model {
    let mut model = fresh((140, 40));
    for key in ["f4", "m", "enter"] {
        press(&mut model, key);
    }
    let cell = Cell {
        agent: "sentiment".to_owned(),
        mode: "json".to_owned(),
        model: "ok".to_owned(),
        case: Some("a".to_owned()),
        unfit: None,
    };
    let plan = MatrixPlan { agents: Vec::new(), trials: 1, seed: 0, cells: vec![cell] };
    let begun = CompareResponse::MatrixStarted(Ok(("m-1".to_owned(), MatrixState::new(plan, []))));
    apply_message(&mut model, Msg::Compare(begun));
    let trial = Trial {
        cell: 0,
        trial: 1,
        session: "s".to_owned(),
        passed: true,
        score: None,
        why: None,
        outcome: Outcome::Answer(TextRecord::Whole("{}".to_owned())),
        measures: Measures { denied: 2, ..Measures::default() },
        rulings: Vec::new(),
    };
    let ended = MatrixUpdate::Event(MatrixEvent::Finished(Box::new(trial)));
    apply_message(&mut model, Msg::Compare(CompareResponse::Matrix(vec![ended])));
    model
}

#[test]
fn titles_of_narrow_columns_are_whole() {
    let shown = rows(&mut matrix());
    assert!(shown.contains("mode  model case "), "{shown}");
}

#[test]
fn denied_calls_are_reported_where_no_user_is_asked() {
    let shown = rows(&mut matrix());
    assert!(shown.contains("! 2 tool calls were denied"), "{shown}");
    let mut tested = TestedCase::untried("a", String::new());
    assert_eq!(tested.denied_calls(), 0);
    tested.trial.verdict = Verdict::Pass;
    tested.trial.measures = Some(Box::new(Measures { denied: 1, ..Measures::default() }));
    assert_eq!(tested.denied_calls(), 1);
}

#[test]
fn a_text_that_is_returned_is_shown_as_text() {
    let mut transcript = Transcript::default();
    for envelope in &Story::new().start().run_end(Some(r#""line 0\nline \"1\"""#), None, (0, 0, 0)).events() {
        transcript.apply(envelope);
    }
    transcript.prepare(80, 40, NOW_MS);
    let shown: Vec<String> = transcript.rows().map(|row| row.row.plain()).collect();
    assert!(shown.iter().any(|row| row.trim() == "line \"1\""), "{shown:#?}");
}

#[test]
fn the_border_of_a_popup_is_whole_over_wide_characters() {
    let mut model = fresh((140, 40));
    press(&mut model, "ctrl-a");
    // One of two adjacent lines has a character that begins in the column before the popup.
    apply_message(&mut model, Msg::Paste(["漢".repeat(60), format!("a{}", "漢".repeat(60))].join("\n").repeat(9)));
    press(&mut model, "ctrl-p");
    let buffer = ptc_workbench::tui::picture(&mut model, (140, 40));
    let corners = |y: u16| (0..140).find(|x| buffer.cell((*x, y)).is_some_and(|cell| cell.symbol() == "┌"));
    let (x, y) = (0..40).find_map(|y| Some((corners(y)?, y))).expect("a popup is open");
    let bottom = (y..40).find(|y| buffer.cell((x, *y)).is_some_and(|cell| cell.symbol() == "└")).unwrap();
    for y in y..=bottom {
        let before = buffer.cell((x - 1, y)).unwrap().symbol();
        assert!(ptc_core::text::width::width(before) < 2, "{before} covers the border in row {y}");
    }
}
