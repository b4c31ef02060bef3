//! Saving and the sessions screen: what messages do to the model, and which effects come of them. No IO.

use std::sync::Arc;

use ptc_workbench::event::ErrorRecord;
use ptc_workbench::session::{Marks, Summary, TurnState};
use ptc_workbench::tui::archive::{AgentSource, ArchiveResponse};
use ptc_workbench::tui::draft::Draft;
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Popup, Screen};
use ptc_workbench::tui::picture;
use ptc_workbench::tui::recovery::Recovery;
use ptc_workbench::workbench::{AgentFile, MadeCase, OpenAgent, Overwrite, RunEnding, SaveError, SessionKey, TurnBody};

use super::pictures::text;
use super::sessions::{below, list, session};
use super::story::{NOW_MS, SESSION, apply_message, fresh, ran, sentiment, two_turns};
use super::{press, write};

const SIZE: (u16, u16) = (120, 40);

fn prompt(model: &Model) -> &str {
    model.workbench.editor(ptc_workbench::agent::Place::Prompt).draft.text()
}

fn shown(model: &mut Model) -> String {
    picture(model, SIZE).content().iter().map(ratatui::buffer::Cell::symbol).collect()
}

#[test]
fn save_and_quit_leaves_only_after_the_file_was_written() {
    let mut model = fresh(SIZE);
    write(&mut model, "x");
    press(&mut model, "ctrl-q");
    press(&mut model, "s");
    let effects = press(&mut model, "enter");
    let [Effect::Save { path, texts, known: None, overwrite: Overwrite::Unchanged }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(path, "sentiment.toml");
    assert!(!model.quitting);
    let failure = ErrorRecord { message: "disk full".to_owned(), ..ErrorRecord::default() };
    apply_message(&mut model, Msg::Saved(path.clone(), texts.clone(), Err(SaveError::Failed(failure))));
    assert!(!model.quitting && model.workbench.unsaved());
    assert!(shown(&mut model).contains("Not saved: disk full"), "the question stays, with the error and the path");
    write(&mut model, "2");
    let effects = press(&mut model, "enter");
    assert!(matches!(effects.as_slice(), [Effect::Save { path, .. }] if path == "sentiment.toml2"), "{effects:?}");
    let file = AgentFile { path: "sentiment.toml".into(), sha: String::new() };
    apply_message(&mut model, Msg::Saved(path.clone(), texts.clone(), Ok(file)));
    assert!(model.quitting);
}

#[test]
fn typing_replaces_the_suggested_path() {
    let mut model = fresh(SIZE);
    write(&mut model, "x");
    press(&mut model, "ctrl-s");
    write(&mut model, "mine.toml");
    let effects = press(&mut model, "enter");
    assert!(matches!(effects.as_slice(), [Effect::Save { path, .. }] if path == "mine.toml"), "{effects:?}");
}

/// The question has been there long enough to be answered, and a frame was due then.
fn stood(model: &mut Model) {
    model.dirty = false;
    let at = model.deadline_ms().unwrap();
    apply_message(model, Msg::Clock(at));
    assert!(model.dirty && model.is_answerable());
}

#[test]
fn another_file_at_the_path_is_overwritten_only_on_demand() {
    let mut model = fresh(SIZE);
    write(&mut model, "x");
    press(&mut model, "ctrl-s");
    press(&mut model, "enter");
    let texts = model.workbench.texts();
    apply_message(&mut model, Msg::Saved("sentiment.toml".to_owned(), texts, Err(SaveError::Changed)));
    assert!(matches!(model.popups.last(), Some(Popup::Overwrite { .. })));
    assert!(shown(&mut model).contains("sentiment.toml already exists. Replace it"));
    assert_eq!(press(&mut model, "o"), [], "a key that was on its way is not an answer");
    stood(&mut model);
    let effects = press(&mut model, "o");
    assert!(matches!(effects.as_slice(), [Effect::Save { overwrite: Overwrite::Always, .. }]));
}

#[test]
fn kept_drafts_come_back_with_their_undo() {
    let mut before = fresh(SIZE);
    write(&mut before, "Again ");
    let recovery = before.workbench.recovery(NOW_MS);
    let mut model = fresh(SIZE);
    apply_message(&mut model, Msg::Recoveries(vec![recovery]));
    assert!(
        (press(&mut model, "d").is_empty() && press(&mut model, "r").is_empty()),
        "nothing is thrown away by typing on"
    );
    assert!(!shown(&mut model).contains("r restore"), "keys are shown when they count");
    stood(&mut model);
    assert!(shown(&mut model).contains("r restore"));
    let effects = press(&mut model, "r");
    assert!(matches!(effects.first(), Some(Effect::TakeOver(..))));
    assert!(prompt(&model).starts_with("Again "));
    assert!(model.workbench.unsaved());
    press(&mut model, "ctrl-u");
    press(&mut model, "ctrl-u");
    assert!(prompt(&model).starts_with("Classify"));
}

#[test]
fn a_list_that_is_read_again_keeps_the_selection() {
    let mut model = fresh(SIZE);
    press(&mut model, "f3");
    let session = |id: &str| Summary { id: id.to_owned(), example: true, ..Summary::default() };
    apply_message(&mut model, Msg::Listed(vec![session("b"), session("a")], Marks::default()));
    press(&mut model, "down");
    apply_message(&mut model, Msg::Listed(vec![session("c"), session("b"), session("a")], Marks::default()));
    assert_eq!(model.sessions.selected, Some(SessionKey::Example("a".to_owned())));
}

#[test]
fn the_session_of_a_new_run_is_selected_until_the_user_moves() {
    let session = |id: &str| Summary { id: id.to_owned(), example: true, ..Summary::default() };
    let key = |id: &str| Some(SessionKey::Example(id.to_owned()));
    let mut model = fresh(SIZE);
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Listed(vec![session("b"), session("a")], Marks::default()));
    press(&mut model, "down");
    press(&mut model, "f2");
    ran(&mut model, two_turns(), Some(RunEnding::Run));
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Listed(vec![session(SESSION), session("b"), session("a")], Marks::default()));
    assert_eq!(model.sessions.selected, key(SESSION));
    press(&mut model, "end");
    apply_message(&mut model, Msg::Listed(vec![session(SESSION), session("b"), session("a")], Marks::default()));
    assert_eq!(model.sessions.selected, key("a"));
    press(&mut model, "f2");
    press(&mut model, "f3");
    assert_eq!(model.sessions.selected, key("a"), "it is selected only once");
}

#[test]
fn f3_goes_from_an_opened_session_and_from_a_replay_to_the_list() {
    let mut model = fresh(SIZE);
    press(&mut model, "f3");
    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(1))));
    assert!(model.sessions.viewer.is_some());
    assert_eq!(press(&mut model, "f3"), []);
    assert!(model.sessions.viewer.is_none() && model.screen == Screen::Sessions);
    apply_message(&mut model, Msg::Opened(Ok(super::services::long_session(1))));
    press(&mut model, "r");
    assert_eq!(press(&mut model, "f3"), [Effect::Cancel(Slot::Viewer)]);
    assert!(model.sessions.viewer.is_none());
}

#[test]
fn a_recording_without_an_end_is_not_live() {
    let mut model = fresh(SIZE);
    press(&mut model, "f3");
    let mut session = super::services::long_session(2);
    let run = &mut session.runs[0];
    run.tail.clear();
    run.last_ms = NOW_MS + 2_500;
    Arc::make_mut(&mut run.turns[1]).state = TurnState::Checking;
    let turn = run.turns[1].address.clone();
    apply_message(&mut model, Msg::Opened(Ok(session)));
    picture(&mut model, SIZE);
    let key = model.sessions.viewer.as_ref().unwrap().key.clone().unwrap();
    let streamed = super::story::Story::new().turn(turn.as_str()).part(turn.as_str(), 1, "{\"senti").events();
    apply_message(&mut model, Msg::TurnRead(key, turn, Ok(TurnBody { events: streamed, ..TurnBody::default() })));
    apply_message(&mut model, Msg::Clock(NOW_MS + 3_600_000));
    let screen = shown(&mut model);
    assert!(screen.contains("! not finished · last event after 2.5 s"), "{screen}");
    assert!(["●", "streaming", "new below"].iter().all(|live| !screen.contains(live)), "{screen}");
}

#[test]
fn damage_of_an_opened_session_stays_on_the_screen() {
    let mut model = fresh(SIZE);
    press(&mut model, "f3");
    let mut session = super::services::long_session(1);
    session.summary.damage = Some("11 events could be read; line 12: it is not whole".to_owned());
    apply_message(&mut model, Msg::Opened(Ok(session)));
    assert!(shown(&mut model).contains("damaged: 11 events could be read; line 12"));
}

#[test]
fn a_session_that_cannot_be_written_asks_for_another_folder() {
    use ptc_workbench::workbench::RunUpdate;
    let mut model = fresh(SIZE);
    ran(&mut model, two_turns(), None);
    let unwritten = || RunUpdate::Unwritten {
        reason: "disk full; 9 events are only in memory.".to_owned(),
        suggested: "/spare".into(),
    };
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![unwritten()]));
    let seen = shown(&mut model);
    assert!(seen.contains("Save the session elsewhere") && seen.contains("9 events are only in memory"), "{seen}");
    assert_eq!(press(&mut model, "enter"), [Effect::SaveSession(Slot::Workbench, Some("/spare".into()))]);
    assert!(model.popups.is_empty());
    // That folder does not take it either: the question comes again, and leaving it takes the place for such cases.
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![unwritten()]));
    assert_eq!(press(&mut model, "esc"), [Effect::SaveSession(Slot::Workbench, None)]);
    // What was typed is there again, and not lost unnoticed by leaving.
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![unwritten()]));
    press(&mut model, "ctrl-a");
    write(&mut model, "/other");
    press(&mut model, "enter");
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![unwritten()]));
    assert_eq!(model.active_draft().map(Draft::text), Some("/other"));
    press(&mut model, "ctrl-q");
    let seen = shown(&mut model);
    assert!(seen.contains("dialog `Save the session elsewhere` is not"), "{seen}");
    press(&mut model, "esc");
    let ended = RunUpdate::Ended(RunEnding::Elsewhere("the session is in /spare/x.jsonl".to_owned()));
    apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![ended]));
    assert!(model.popups.is_empty() && shown(&mut model).contains("the session is in /spare/x.jsonl"));
}

#[test]
fn an_opened_session_that_waits_for_a_user_says_so_and_how_it_continues() {
    let mut model = fresh(SIZE);
    press(&mut model, "f3");
    let mut session = super::services::long_session(1);
    session.runs[0].waits = true;
    session.runs[0].tail.clear();
    session.summary.example = false;
    session.summary.path = "long.jsonl".into();
    apply_message(&mut model, Msg::Listed(vec![session.summary.clone()], Marks::default()));
    apply_message(&mut model, Msg::Opened(Ok(session)));
    let screen = shown(&mut model);
    assert!(screen.contains("● waits for an answer") && screen.contains("o resume"), "{screen}");
}

#[test]
fn a_case_that_the_program_wrote_into_the_open_file_is_kept_when_the_draft_is_saved() {
    let mut model = fresh(SIZE);
    let file = |sha: &str| AgentFile { path: "sentiment.toml".into(), sha: sha.to_owned() };
    model.workbench.file = Some(file("before"));
    write(&mut model, "edited ");
    let mut texts = model.workbench.saved.clone();
    texts.options.push_str("[[cases]]\nname = \"one\"\n");
    let agent = OpenAgent { texts, file: Some(file("after")), ..OpenAgent::default() };
    let made = MadeCase { name: "one".to_owned(), file: "sentiment.toml".into(), is_new_file: false, cassette: None };
    apply_message(&mut model, Msg::Archive(ArchiveResponse::CaseMade(Ok((made, Some(Box::new(agent)))))));
    assert!(prompt(&model).contains("edited ") && model.workbench.unsaved(), "the edit is kept");
    let effects = press(&mut model, "ctrl-s");
    let [Effect::Save { texts, known: Some(known), overwrite: Overwrite::Unchanged, .. }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(known.sha, "after", "the file that the program wrote is known: saving does not ask");
    assert!(texts.options.contains("name = \"one\"") && texts.prompt.contains("edited "));
}

#[test]
fn a_fork_keeps_its_time_next_to_its_point() {
    let at = |session: Summary, created_ms| Summary { created_ms, ..session };
    let day = 86_400_000;
    let all = vec![
        at(session("root"), NOW_MS - 60_000),
        at(below("fork", "root"), NOW_MS),
        at(below("older", "root"), NOW_MS - 40 * day),
    ];
    let mut model = list(all);
    let shown = text(&mut model);
    assert!(shown.contains("└ fork t1 20:52") && shown.contains("└ fork t1 10-12"), "{shown}");
}

#[test]
fn what_another_program_ran_offers_no_key_that_runs_it_again() {
    let mut model = list(vec![Summary { is_foreign: true, ..session("captured") }]);
    let shown = text(&mut model);
    assert!(!shown.contains("f fork") && !shown.contains("r replay") && shown.contains("Enter open"), "{shown}");
    for key in ["f", "r", "shift-r"] {
        assert_eq!(press(&mut model, key), []);
        assert!(text(&mut model).contains("recorded by another program: it can be read and exported"), "{key}");
    }
    let mut own = list(vec![session("own")]);
    assert!(text(&mut own).contains("f fork"), "{}", text(&mut own));
}

/// The draft that an earlier start kept of an agent in this file.
fn kept_of(path: Option<&str>) -> Recovery {
    let mut before = fresh(SIZE);
    write(&mut before, "Again ");
    before.workbench.file = path.map(|path| AgentFile { path: path.into(), sha: "old".to_owned() });
    Recovery { id: format!("unsaved-{}", path.unwrap_or("none")), ..before.workbench.recovery(NOW_MS) }
}

fn offers(model: &Model) -> bool {
    matches!(model.popups.last(), Some(Popup::Recovery(_)))
}

#[test]
fn kept_drafts_of_another_file_are_reported_and_offered_when_it_is_opened() {
    let mut model = fresh(SIZE);
    assert_eq!(apply_message(&mut model, Msg::Recoveries(vec![kept_of(Some("lines.toml"))])), []);
    assert!(model.popups.is_empty());
    assert!(shown(&mut model).contains("unsaved edits of lines.toml are kept"), "{}", shown(&mut model));
    let opened = |path: &str| {
        let file = Some(AgentFile { path: path.into(), sha: "new".to_owned() });
        let agent = OpenAgent { texts: sentiment(), file, ..OpenAgent::default() };
        let source = AgentSource::Named(path.to_owned());
        Msg::Archive(ArchiveResponse::AgentOpened(source, Ok(Box::new(agent))))
    };
    apply_message(&mut model, opened("other.toml"));
    assert!(!offers(&model));
    apply_message(&mut model, opened("lines.toml"));
    assert!(offers(&model));
    stood(&mut model);
    press(&mut model, "enter");
    assert!(prompt(&model).starts_with("Again "));
    assert_eq!(model.workbench.file.as_ref().map(|file| file.path.as_path()), Some("lines.toml".as_ref()));

    // Those of the file that is open come first, however old they are.
    let mut model = fresh(SIZE);
    apply_message(&mut model, Msg::Recoveries(vec![kept_of(Some("lines.toml")), kept_of(None)]));
    assert!(matches!(model.popups.last(), Some(Popup::Recovery(kept)) if kept.file.is_none()));
}

#[test]
fn kept_drafts_are_discarded_by_the_second_press_only() {
    let mut model = fresh(SIZE);
    apply_message(&mut model, Msg::Recoveries(vec![kept_of(None)]));
    stood(&mut model);
    assert_eq!(press(&mut model, "d"), []);
    assert!(offers(&model) && shown(&mut model).contains("d again discards them for good, Esc keeps them"));
    // Two letters of a word that is typed are no answer, and each begins the time again.
    for _ in 0..3 {
        let later = model.now_ms + 300;
        apply_message(&mut model, Msg::Clock(later));
        assert_eq!(press(&mut model, "d"), []);
        assert!(offers(&model) && shown(&mut model).contains("d again discards them for good"));
    }
    // Another key between both presses takes the announcement back, whenever it comes.
    for pause in [false, true] {
        if pause {
            stood(&mut model);
        }
        assert_eq!(press(&mut model, "6"), []);
        if !pause {
            stood(&mut model);
        }
        assert!(shown(&mut model).contains("r restore"), "{}", shown(&mut model));
        assert_eq!(press(&mut model, "d"), []);
        assert!(offers(&model));
    }
    stood(&mut model);
    assert_eq!(press(&mut model, "d"), [Effect::Drop("unsaved-none".to_owned())]);
    assert!(model.popups.is_empty() && model.toast.is_some());
}

#[test]
fn the_status_line_names_a_session_that_is_not_saved_and_one_that_is_again() {
    use ptc_workbench::tui::model::SessionFile;
    use ptc_workbench::workbench::RunUpdate;
    let mut model = fresh(SIZE);
    ran(&mut model, super::story::asked().events(), None);
    assert!(shown(&mut model).contains(&format!("saving {SESSION}")));
    apply_message(&mut model, Msg::SessionFile(Slot::Workbench, SessionFile::Unwritten));
    let seen = shown(&mut model);
    assert!(seen.contains("session NOT saved") && !seen.contains(&format!("saving {SESSION}")), "{seen}");
    apply_message(&mut model, Msg::SessionFile(Slot::Workbench, SessionFile::Written));
    assert!(shown(&mut model).contains(&format!("saving {SESSION}")));
    apply_message(&mut model, Msg::SessionFile(Slot::Workbench, SessionFile::Unwritten));
    let ended = |ending| Msg::RunUpdates(Slot::Workbench, vec![RunUpdate::Ended(ending)]);
    let mut lost = model.clone();
    apply_message(&mut lost, ended(RunEnding::Unsaved("no folder took it".to_owned())));
    lost.toast = None;
    assert!(shown(&mut lost).contains("session NOT saved"));
    apply_message(&mut model, ended(RunEnding::Run));
    model.toast = None;
    assert!(shown(&mut model).contains(&format!("saved {SESSION}")));
}
