//! Hunks of a candidate that are written into an agent file: chosen on the candidates screen, refused where the file has changed, taken
//! over by the editors.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptc_workbench::agent::{Agent, DraftTexts, Place};
use ptc_workbench::tui::candidates::{CandidatesRequest, CandidatesResponse, WrittenHunks};
use ptc_workbench::tui::drive::{Clock, Driver};
use ptc_workbench::tui::message::{Effect, Msg};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::stage::Input;
use ptc_workbench::workbench::{AgentFile, OpenAgent, Overwrite};

use super::candidates::{AGENT, recorded};
use super::pictures::text;
use super::services::{Paper, workbench};
use super::story::{NOW_MS, apply_message, fresh};
use super::{press, write};

/// Waits until the last frame contains a text.
async fn shown(last: &Mutex<String>, text: &str) {
    while !last.lock().unwrap().contains(text) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn chosen_hunks_are_written_and_a_file_that_has_changed_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let search = recorded(dir.path(), usize::MAX);
    let services = Arc::new(Services::new(workbench(dir.path()), &Agent::default(), None));
    let mut model = Model::new(services.opened(), (120, 40), NOW_MS);
    let mut driver = Driver::new(services, Clock::starting_at(NOW_MS));
    let (mut paper, inputs) = Paper::new();
    let last = paper.last.clone();
    let file = dir.path().join("desk.toml");
    let scenario = async {
        use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
        let key = |code| inputs.send(Input::Terminal(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))).unwrap();
        let until = |text| shown(&last, text);
        until("c00, the original agent").await;
        key(KeyCode::Char('b'));
        until("c05 against c03").await;
        key(KeyCode::Char('w'));
        until("0 of 2 hunks chosen").await;
        key(KeyCode::Enter);
        until("no hunk is chosen").await;
        key(KeyCode::Char('j'));
        key(KeyCode::Char(' '));
        until("1 of 2 hunks chosen").await;
        key(KeyCode::Enter);
        until("wrote 1 hunk of").await;
        let written = std::fs::read_to_string(&file).unwrap();
        let changed: Vec<&str> = written.lines().filter(|line| !AGENT.lines().any(|old| old == *line)).collect();
        assert!(matches!(changed.as_slice(), [only] if only.starts_with("label = ")), "{changed:?}");
        key(KeyCode::Char('w'));
        until("has changed since the search began").await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
        drop(inputs);
    };
    let first = Effect::Candidates(CandidatesRequest::Open(search));
    let (ran, ()) = tokio::join!(driver.run(&mut model, &mut paper, Some(first)), scenario);
    ran.unwrap();
}

fn file(sha: &str) -> AgentFile {
    AgentFile { path: "sentiment.toml".into(), sha: sha.to_owned() }
}

/// So many hunks were written; these texts are now in the file of the agent in the editors.
fn written(model: &mut Model, hunks: u64, texts: DraftTexts) {
    let agent = Some(OpenAgent { texts, file: Some(file("after")), ..OpenAgent::default() });
    let written = Box::new(WrittenHunks { hunks, path: "sentiment.toml".into(), agent });
    apply_message(model, Msg::Candidates(CandidatesResponse::Written(5, Ok(written))));
}

#[test]
fn hunks_that_are_written_into_the_open_file_are_in_the_draft_next_to_its_edits() {
    let mut model = fresh((120, 40));
    let before = DraftTexts { prompt: "First.\nClassify: {{text}}\n".to_owned(), ..model.workbench.texts() };
    model.workbench.editor_mut(Place::Prompt).draft.replace_all(&before.prompt);
    model.workbench.saved = before.clone();
    model.workbench.file = Some(file("before"));
    press(&mut model, "ctrl-end");
    write(&mut model, "Be brief.");
    let texts = DraftTexts {
        prompt: before.prompt.replace("First.", "Read it twice."),
        options: format!("{}\n[field_descriptions]\nscore = \"from 0 to 1\"\n", before.options),
        ..before
    };
    written(&mut model, 2, texts);
    assert!(text(&mut model).contains("wrote 2 hunks of c05 into sentiment.toml"));
    assert_eq!(model.workbench.texts().prompt, "Read it twice.\nClassify: {{text}}\nBe brief.");
    let effects = press(&mut model, "ctrl-s");
    let [Effect::Save { texts, known: Some(known), overwrite: Overwrite::Unchanged, .. }] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(known.sha, "after", "the file that the program wrote is known: saving does not ask");
    assert!(texts.options.contains("from 0 to 1"), "{}", texts.options);
    // Undo brings the text before back.
    press(&mut model, "ctrl-u");
    assert!(!model.workbench.texts().prompt.contains("twice"));
}

#[test]
fn hunks_of_lines_that_were_edited_are_reported_and_the_edits_stay() {
    let mut model = fresh((120, 40));
    model.workbench.file = Some(file("before"));
    write(&mut model, "Mine. ");
    let before = model.workbench.saved.clone();
    let texts = DraftTexts { prompt: format!("Theirs. {}", before.prompt), ..before };
    written(&mut model, 1, texts);
    let shown = text(&mut model);
    assert!(shown.contains("the same text has unsaved edits (prompt)"), "{shown}");
    assert!(model.workbench.texts().prompt.starts_with("Mine. "));
    assert_eq!(model.workbench.file.as_ref().map(|file| file.sha.as_str()), Some("before"), "saving asks");
}

#[tokio::test]
async fn after_hunks_are_written_the_editors_have_them_and_saving_asks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let search = recorded(dir.path(), usize::MAX);
    let file = dir.path().join("desk.toml");
    let bench = workbench(dir.path());
    let agent = Agent::from_toml(AGENT, "desk.toml").unwrap();
    let services = Arc::new(Services::new(bench, &agent, Some(&file)));
    let mut model = Model::new(services.opened(), (120, 40), NOW_MS);
    let mut driver = Driver::new(services, Clock::starting_at(NOW_MS));
    let (mut paper, inputs) = Paper::new();
    let last = paper.last.clone();
    let scenario = async {
        use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
        let key = |code, modifiers| inputs.send(Input::Terminal(Event::Key(KeyEvent::new(code, modifiers)))).unwrap();
        let until = |text| shown(&last, text);
        until("c00, the original agent").await;
        for (code, then) in [('b', "c05 against c03"), ('w', "0 of 2 hunks chosen"), ('a', "2 of 2 hunks chosen")] {
            key(KeyCode::Char(code), KeyModifiers::NONE);
            until(then).await;
        }
        key(KeyCode::Enter, KeyModifiers::NONE);
        until("wrote 2 hunks of").await;
        key(KeyCode::F(2), KeyModifiers::NONE);
        until("Requests about signing in").await;
        key(KeyCode::Char('s'), KeyModifiers::CONTROL);
        until("everything is saved in").await;
        drop(inputs);
    };
    let first = Effect::Candidates(CandidatesRequest::Open(search));
    let (ran, ()) = tokio::join!(driver.run(&mut model, &mut paper, Some(first)), scenario);
    ran.unwrap();
    assert!(!model.workbench.unsaved());
}
