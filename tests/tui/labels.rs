//! Labels in the interface: a key writes one, a key lists the runs without one, and an opened session shows what judges found.

use ptc_workbench::agent::{Measure, Ruling, Vote};
use ptc_workbench::event::FromCache;
use ptc_workbench::session::{Label, Mark};
use ptc_workbench::tui::archive::{ArchiveRequest, ArchiveResponse};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::workbench::OpenSession;

use super::pictures::text;
use super::sessions::{list, marks, session};
use super::story::{apply_message, fresh};
use super::{press, write};

const LARGE: (u16, u16) = (120, 40);

#[test]
fn a_key_labels_the_session_or_the_run_that_is_shown() {
    let mut model = fresh(LARGE);
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Listed(vec![session("long")], marks(&[])));
    let request = |at: Option<&str>, label: Option<&str>| {
        let mark = Mark { label: label.map(|label| Label::parse(label).unwrap()), ..Mark::default() };
        [Effect::Archive(ArchiveRequest::Mark { session: "long".to_owned(), at: at.map(Into::into), mark })]
    };
    press(&mut model, "d");
    write(&mut model, "good");
    assert!(press(&mut model, "enter").is_empty());
    assert!(text(&mut model).contains("is not a label: write pass, fail or a score from 0 to 1"));
    (0..4).for_each(|_| _ = press(&mut model, "backspace"));
    write(&mut model, "fail too long");
    assert_eq!(press(&mut model, "enter"), request(None, Some("fail too long")));
    apply_message(&mut model, Msg::Archive(ArchiveResponse::Marked(Ok(()))));
    // The list shows it.
    let labelled = Mark { label: Some(Label::parse("0.5").unwrap()), ..Mark::default() };
    apply_message(&mut model, Msg::Listed(vec![session("long")], marks(&[("long", &labelled)])));
    assert!(text(&mut model).contains("[0.5]"));
    // In an opened session it is about the root run, whichever turn is selected.
    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(3))));
    model.sessions.viewer.as_mut().unwrap().transcript.go_to(&"r0/t2".into());
    press(&mut model, "d");
    write(&mut model, "pass");
    assert_eq!(press(&mut model, "enter"), request(Some("r0"), Some("pass")));
}

#[test]
fn a_key_lists_the_runs_without_a_label() {
    let mut model = list(vec![session("a")]);
    let searched = press(&mut model, "u");
    assert_eq!(searched, [Effect::Archive(ArchiveRequest::Search("is:unlabelled".to_owned()))]);
}

#[test]
fn an_opened_session_shows_what_judges_found() {
    let vote = Vote {
        model: "m".to_owned(),
        score: 0.4,
        reason: "the time limit is missing".to_owned(),
        session: None,
        tokens: None,
        cost: None,
        from_cache: FromCache::default(),
    };
    let ruling = Ruling {
        rubric: "It names a limit".to_owned(),
        measure: Measure::Judge,
        score: 0.4,
        at_least: 0.7,
        passed: false,
        votes: vec![vote],
        answer_sha: None,
    };
    let mut model = list(vec![session("long")]);
    let opened = OpenSession { rulings: vec![ruling], ..super::services::long_session(2) };
    apply_message(&mut model, Msg::Opened(Ok(opened)));
    press(&mut model, "end");
    let shown = text(&mut model);
    assert!(shown.contains("judged  It names a limit: score 0.40"), "{shown}");
    assert!(shown.contains("the time limit is missing"), "{shown}");
}
