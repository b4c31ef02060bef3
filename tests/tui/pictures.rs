//! Pictures of the screens at the sizes that matter. Look at each before accepting it: nothing cut, nothing unexplained.

use ptc_core::reasons::Reason;
use ptc_core::text::Span;
use ptc_workbench::agent::{Diagnostic, Place};
use ptc_workbench::event::{OwnUsage, Spending, Tokens, TotalUsage};
use ptc_workbench::port::Question;
use ptc_workbench::session::{Marks, Parent, ParentKind, RunState, Summary};
use ptc_workbench::tui::message::{Msg, Slot};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::theme::Theme;
use ptc_workbench::tui::{ansi, picture, screenshot};
use ptc_workbench::workbench::RunEnding;

use super::story::{NOW_MS, apply_message, checked, failed, fresh, ran, streaming, two_turns};
use super::{press, write};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (120, 40);
const LOW: (u16, u16) = (40, 12);

/// The rows of a screen without trailing spaces.
pub(crate) fn rows(model: &mut Model) -> String {
    let size = model.size;
    let buffer = picture(model, size);
    let width = usize::from(size.0);
    let mut out = String::new();
    for line in buffer.content().chunks(width) {
        let mut row = String::new();
        let mut hidden = 0;
        for cell in line {
            if hidden == 0 {
                row.push_str(cell.symbol());
                hidden = ptc_core::text::width::width(cell.symbol());
            }
            hidden = hidden.saturating_sub(1);
        }
        out += row.trim_end();
        out.push('\n');
    }
    out
}

/// The whole screen as one text.
pub(crate) fn text(model: &mut Model) -> String {
    rows(model)
}

/// Compares a screen at the given sizes with its pictures.
pub(crate) fn screens(name: &str, sizes: &[(u16, u16)], scene: impl Fn((u16, u16)) -> Model) {
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        for size in sizes {
            let mut model = scene(*size);
            insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), rows(&mut model));
        }
    });
}

#[test]
fn a_fresh_start() {
    screens("fresh", &[SMALL, LARGE, LOW], fresh);
}

fn with_findings(size: (u16, u16)) -> Model {
    found(fresh(size))
}

fn found(mut model: Model) -> Model {
    press(&mut model, "ctrl-end");
    write(&mut model, " {{tone}}");
    let unknown = Diagnostic::error(
        Place::Prompt,
        Reason::TemplateError,
        "{{tone}} is not a parameter of the signature; did you mean {{text}}?",
    );
    let comma = Diagnostic::error(
        Place::Context,
        Reason::InvalidContext,
        "the inputs are not JSON at line 3, column 2: expected nothing more",
    );
    let loose = Diagnostic::error(Place::Options, Reason::InvalidAgent, "max_turns is at most 10000").warning();
    checked(&mut model, vec![unknown.at(Span::new(36, 44)), comma.at(Span::new(34, 35)), loose]);
    model
}

#[test]
fn findings_at_their_places() {
    screens("findings", &[SMALL, LARGE, LOW], with_findings);
}

#[test]
fn a_reply_that_streams() {
    screens("streaming", &[SMALL, LARGE, LOW], |size| {
        let mut model = fresh(size);
        ran(&mut model, streaming(), None);
        model
    });
}

fn finished(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    model
}

#[test]
fn a_run_of_two_turns() {
    screens("finished", &[SMALL, LARGE, LOW], finished);
}

#[test]
fn a_run_that_failed() {
    screens("failed", &[SMALL, LARGE], |size| {
        let mut model = fresh(size);
        ran(&mut model, failed(), Some(RunEnding::Run));
        model
    });
}

#[test]
fn the_exact_request() {
    screens("request", &[LARGE], |size| {
        let mut model = finished(size);
        press(&mut model, "backtab");
        picture(&mut model, size);
        for key in ["home", "down", "space"] {
            press(&mut model, key);
            picture(&mut model, size);
        }
        model
    });
}

#[test]
fn the_raw_view() {
    screens("raw", &[LARGE], |size| {
        let mut model = finished(size);
        press(&mut model, "backtab");
        press(&mut model, "v");
        model
    });
}

fn session(id: &str, age_ms: i64, agent: &str, status: RunState, result: &str) -> Summary {
    let tokens = Tokens { input: 2_356, output: 50, ..Tokens::default() };
    Summary {
        id: id.to_owned(),
        path: format!("{id}.jsonl").into(),
        created_ms: NOW_MS - age_ms,
        agent: agent.to_owned(),
        mode: "json".to_owned(),
        models: vec!["demo".to_owned()],
        usage: TotalUsage::of_runs([OwnUsage::new(Spending::of_tokens(None, tokens).with_counts(2, 2))]),
        state: status,
        result: result.to_owned(),
        task: "Classify the sentiment of: I love this product!".to_owned(),
        ..Summary::default()
    }
}

pub(crate) fn listed(size: (u16, u16)) -> Model {
    let mut model = fresh(size);
    press(&mut model, "f3");
    let hour = 3_600_000;
    let fork = Summary {
        parent: Some(Parent {
            at: Some("r0/t2".to_owned()),
            ..Parent::whole("2026-11-21T20-49-07Z-00000002", ParentKind::Fork)
        }),
        ..session("2026-11-21T20-50-07Z-00000003", 120_000, "sales", RunState::Failed, "max_turns_exceeded: 3 turns")
    };
    let damaged = Summary {
        damage: Some("line 12 is not an event; 11 events could be read".to_owned()),
        ..session("2026-11-19T08-01-07Z-00000005", 60 * hour, "sales", RunState::Open, "not finished")
    };
    let all = vec![
        session(
            "2026-11-21T20-52-07Z-00000001",
            0,
            "sentiment",
            RunState::Returned,
            r#"{"sentiment":"positive","score":0.97}"#,
        ),
        session(
            "2026-11-21T20-49-07Z-00000002",
            180_000,
            "sales",
            RunState::Returned,
            r#"{"north":48211.5,"south":39120.0}"#,
        ),
        fork,
        session(
            "2026-11-20T17-03-07Z-00000004",
            28 * hour,
            "extract",
            RunState::Failed,
            "validation_error: items.2.price",
        ),
        damaged,
    ];
    apply_message(&mut model, Msg::Listed(all, Marks::default()));
    model
}

#[test]
fn the_sessions() {
    screens("sessions", &[SMALL, LARGE, LOW], listed);
    screens("sessions_none", &[SMALL], |size| {
        let mut model = fresh(size);
        press(&mut model, "f3");
        apply_message(&mut model, Msg::Listed(Vec::new(), Marks::default()));
        model
    });
}

#[test]
fn a_replay_that_is_identical() {
    screens("replayed", &[LARGE], |size| {
        let mut model = listed(size);
        press(&mut model, "r");
        apply_message(&mut model, Msg::ReplayStarted(Ok(())));
        let shown = two_turns().into_iter().map(|event| ptc_workbench::workbench::RunUpdate::Event(Box::new(event)));
        let ended = ptc_workbench::workbench::RunUpdate::Ended(RunEnding::Identical(None));
        apply_message(&mut model, Msg::RunUpdates(Slot::Viewer, shown.chain([ended]).collect()));
        model
    });
}

#[test]
fn the_help() {
    screens("help", &[SMALL, LARGE, LOW], |size| {
        let mut model = fresh(size);
        press(&mut model, "f1");
        model
    });
}

#[test]
fn the_palette() {
    screens("palette", &[SMALL, LARGE, LOW], |size| {
        let mut model = fresh(size);
        press(&mut model, "ctrl-p");
        write(&mut model, "re");
        model
    });
}

#[test]
fn the_question_before_leaving() {
    screens("leaving", &[SMALL, LARGE, LOW], |size| {
        let mut model = fresh(size);
        write(&mut model, "x");
        checked(&mut model, Vec::new());
        press(&mut model, "ctrl-q");
        model
    });
}

#[test]
fn the_offer_of_kept_drafts() {
    screens("recovery", &[SMALL], |size| {
        let mut model = fresh(size);
        let mut other = fresh(size);
        write(&mut other, "Again: ");
        let recovery = other.workbench.recovery(NOW_MS - 300_000);
        apply_message(&mut model, Msg::Recoveries(vec![recovery]));
        apply_message(&mut model, Msg::Clock(NOW_MS + 1_000));
        model
    });
}

#[test]
fn a_question_to_the_user() {
    screens("answer", &[SMALL], |size| {
        let mut model = fresh(size);
        ran(&mut model, super::story::asked().events(), None);
        let question = Question {
            address: ptc_workbench::event::Address::from("r0/t1"),
            text: "system:\nYou answer with JSON.\n\nuser:\nClassify the sentiment of: I love this product!".to_owned(),
            options: Vec::new(),
            gate: None,
        };
        let shown = vec![ptc_workbench::workbench::RunUpdate::Question(question)];
        apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, shown));
        write(&mut model, "{\"sentiment\": \"positive\"}");
        model
    });
}

#[test]
fn a_screen_that_is_too_small() {
    screens("too_small", &[(39, 10), (30, 5)], fresh);
}

#[test]
fn without_colours_every_mark_is_still_there() {
    let mut model = found(finished(LARGE));
    model.theme = Theme::plain();
    let text = ansi(&picture(&mut model, LARGE));
    assert!(!text.contains(";3"), "a colour is left");
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("no_color_120x40", text.replace('\x1b', "␛"));
    });
}

#[test]
fn a_screenshot_is_a_picture_of_the_same_screen() {
    let svg = screenshot(&mut finished(LARGE), LARGE);
    assert!(svg.starts_with("<svg") && svg.contains("sentiment"), "{svg}");
}
