//! The loop on a paused clock over real services: how often it draws, what it keeps, how it ends.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ptc_workbench::port::{Human as _, Question};
use ptc_workbench::tui::drive::{Clock, Counts, Driver, Exit};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::model::{Model, Screen};
use ptc_workbench::tui::recovery::Recovery;
use ptc_workbench::tui::stage::Input;
use ptc_workbench::workbench::{RunHandle, SessionKey};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::press;
use super::services::{Paper, TestRun, many_turns, services_of_story, write_session};
use super::story::{NOW_MS, SESSION, apply_message, asked};

fn key(code: KeyCode, modifiers: KeyModifiers) -> Input {
    Input::Terminal(Event::Key(KeyEvent::new(code, modifiers)))
}

const F5: KeyCode = KeyCode::F(5);
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

/// Initial state of the loop.
#[derive(Default)]
struct Start {
    /// A run that continues already.
    run: Option<RunHandle>,
    /// A session that is opened at once.
    session: Option<SessionKey>,
}

/// Final state of the loop.
struct Played {
    exit: Exit,
    counts: Counts,
    /// The last frame.
    text: String,
    model: Box<Model>,
}

/// Runs the loop in a folder over a scenario that sends inputs.
async fn play<F>(dir: &Path, start: Start, scenario: impl FnOnce(UnboundedSender<Input>) -> F) -> Played
where
    F: Future<Output = ()> + Send + 'static,
{
    let (mut paper, inputs) = Paper::new();
    let last = paper.last.clone();
    let services = Arc::new(services_of_story(dir));
    let mut model = Box::new(Model::new(services.opened(), (100, 30), NOW_MS));
    let mut driver = Box::new(Driver::new(services, Clock::starting_at(NOW_MS)));
    if let Some(run) = start.run {
        press(&mut model, "f5");
        driver.follow(Slot::Workbench, Arc::new(run));
        apply_message(&mut model, Msg::Started(Ok(Some(SESSION.to_owned()))));
    }
    if start.session.is_some() {
        model.screen = Screen::Sessions;
    }
    let player = tokio::spawn(scenario(inputs));
    let exit = Box::pin(driver.run(&mut model, &mut paper, start.session.map(Effect::Open))).await.unwrap();
    player.await.unwrap();
    let text = last.lock().unwrap().clone();
    Played { exit, counts: driver.counts, text, model }
}

/// The kept drafts of a folder.
fn kept(dir: &Path) -> Vec<Recovery> {
    let files = std::fs::read_dir(dir.join("sessions/drafts")).into_iter().flatten().flatten();
    let files = files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_deltas_in_a_second_give_sixty_frames_and_the_last_shows_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let (run, handle) = TestRun::new();
    let start = Start { run: Some(handle), ..Start::default() };
    let Played { exit, counts, text, .. } = play(dir.path(), start, |inputs| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        asked().events().into_iter().for_each(|event| run.feed.push(event));
        for delta in 0..10_000 {
            let part = if delta == 9_999 { "THE LAST" } else { "x\n" };
            let event = asked().part("r0/t1", 1, part).events().pop().unwrap();
            run.feed.push(event);
            if delta % 10 == 9 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        run.end();
        tokio::time::sleep(Duration::from_millis(50)).await;
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
    })
    .await;
    assert_eq!(exit, Exit::Quit);
    // 1.2 seconds, the first frame, and those of the keys.
    assert!(counts.frames <= 76, "{} frames", counts.frames);
    assert!(text.contains("THE LAST"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_drawn_while_nothing_happens() {
    let dir = tempfile::tempdir().unwrap();
    let Played { counts, .. } = play(dir.path(), Start::default(), |inputs| async move {
        tokio::time::sleep(Duration::from_hours(1)).await;
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
    })
    .await;
    assert!(counts.frames <= 5, "{} frames in an idle hour", counts.frames);
}

#[tokio::test(start_paused = true)]
async fn clocks_go_by_seconds_while_a_user_is_awaited() {
    let dir = tempfile::tempdir().unwrap();
    let (run, handle) = TestRun::new();
    let start = Start { run: Some(handle), ..Start::default() };
    let Played { counts, .. } = play(dir.path(), start, |inputs| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        asked().events().into_iter().for_each(|event| run.feed.push(event));
        let (address, text) = ("r0/t1/q0".into(), "which?".to_owned());
        let question = Question { address, text, gate: None, options: Vec::new() };
        let queue = run.queue.clone();
        let question = tokio::spawn(async move { queue.ask(&question, &CancellationToken::new()).await });
        tokio::time::sleep(Duration::from_mins(1)).await;
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
        assert_eq!(question.await.unwrap(), None, "the user is gone");
        run.end();
    })
    .await;
    assert!((60..=75).contains(&counts.frames), "{} frames in a minute", counts.frames);
}

#[tokio::test(start_paused = true)]
async fn unsaved_texts_are_kept_a_second_after_the_last_key() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_owned();
    play(dir.path(), Start::default(), |inputs| async move {
        for c in "abc".chars() {
            inputs.send(key(KeyCode::Char(c), KeyModifiers::NONE)).unwrap();
            tokio::time::sleep(Duration::from_millis(900)).await;
            assert!(kept(&folder).is_empty(), "kept while typing");
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let kept = kept(&folder);
        assert_eq!(kept.len(), 1);
        assert!(kept[0].drafts[0].text().starts_with("abc"));
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
        inputs.send(key(KeyCode::Char('d'), KeyModifiers::NONE)).unwrap();
    })
    .await;
    assert!(kept(dir.path()).is_empty(), "discarded drafts are forgotten");
}

#[tokio::test(start_paused = true)]
async fn of_texts_that_were_typed_during_a_check_the_newest_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let Played { counts, model, .. } = play(dir.path(), Start::default(), |inputs| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // All of them are taken before the answer to the first check is.
        "0123456789".repeat(5).chars().for_each(|c| inputs.send(key(KeyCode::Char(c), KeyModifiers::NONE)).unwrap());
        tokio::time::sleep(Duration::from_millis(500)).await;
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
        inputs.send(key(KeyCode::Char('d'), KeyModifiers::NONE)).unwrap();
    })
    .await;
    assert!((2..=3).contains(&counts.checks), "{} checks, one of them at the start", counts.checks);
    assert_eq!(model.workbench.checked, Some(model.workbench.version()));
}

#[tokio::test(start_paused = true)]
async fn sessions_are_listed_by_one_listing_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let Played { counts, .. } = play(dir.path(), Start::default(), |inputs| async move {
        inputs.send(key(KeyCode::F(3), KeyModifiers::NONE)).unwrap();
        for _ in 0..10 {
            inputs.send(key(KeyCode::Char('r'), CTRL)).unwrap();
        }
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
    })
    .await;
    let listings = counts.listings;
    assert!((1..=3).contains(&listings), "{listings}: that of the start, that of the keys, the one after it");
}

/// On the real clock: a paused one stops while files are read.
#[tokio::test]
async fn a_run_is_forked_as_soon_as_the_list_knows_its_session() {
    let dir = tempfile::tempdir().unwrap();
    let (mut paper, inputs) = Paper::new();
    let last = paper.last.clone();
    let shows = move |text: &'static str| {
        let last = last.clone();
        async move {
            while !last.lock().unwrap().contains(text) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let player = tokio::spawn(async move {
        inputs.send(key(F5, KeyModifiers::NONE)).unwrap();
        shows("✓ returned").await;
        inputs.send(key(KeyCode::F(2), KeyModifiers::NONE)).unwrap();
        inputs.send(key(KeyCode::Char('f'), KeyModifiers::NONE)).unwrap();
        shows("Enter fork").await;
        inputs.send(Input::Terminate(15)).unwrap();
    });
    let services = Arc::new(services_of_story(dir.path()));
    let mut model = Model::new(services.opened(), (100, 30), NOW_MS);
    let mut driver = Driver::new(services, Clock::starting_at(NOW_MS));
    let ended = driver.run(&mut model, &mut paper, None);
    tokio::time::timeout(Duration::from_mins(1), ended).await.expect("the dialog opens").unwrap();
    player.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_is_stopped_before_the_program_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let (run, handle) = TestRun::new();
    let stop = run.stop.clone();
    let start = Start { run: Some(handle), ..Start::default() };
    let Played { exit, .. } = play(dir.path(), start, |inputs| async move {
        asked().events().into_iter().for_each(|event| run.feed.push(event));
        tokio::time::sleep(Duration::from_millis(100)).await;
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
        run.stop.token().cancelled().await;
    })
    .await;
    assert_eq!(exit, Exit::Quit);
    assert!(stop.reason().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_signal_and_the_end_of_the_input_end_the_loop() {
    let dir = tempfile::tempdir().unwrap();
    let Played { exit, .. } = play(dir.path(), Start::default(), |inputs| async move {
        inputs.send(Input::Terminate(15)).unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    })
    .await;
    assert_eq!((exit, exit.code()), (Exit::Signal(15), 143));
    let Played { exit, .. } = play(dir.path(), Start::default(), |inputs| async move { drop(inputs) }).await;
    assert_eq!((exit, exit.code()), (Exit::Hangup, 129));
}

#[tokio::test(start_paused = true)]
async fn a_long_session_reads_the_turns_that_are_seen() {
    let dir = tempfile::tempdir().unwrap();
    let key_of_session = SessionKey::File(write_session(dir.path(), &many_turns(10_000)));
    let start = Start { session: Some(key_of_session), ..Start::default() };
    let Played { text, .. } = play(dir.path(), start, |inputs| async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        inputs.send(key(KeyCode::End, KeyModifiers::NONE)).unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        inputs.send(key(KeyCode::Char('q'), CTRL)).unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    })
    .await;
    assert!(text.contains("{\"number\": 10000}"), "{text}");
}
