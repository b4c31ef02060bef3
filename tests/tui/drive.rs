//! The loop on a paused clock: how often it draws, what it keeps, how it ends.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ptc_workbench::tui::backend::{Ended, Happening, Opening, Question, SessionSummary};
use ptc_workbench::tui::drive::{Clock, Driver, Exit};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::stage::Input;
use tokio::sync::mpsc::UnboundedSender;

use super::fake::{Fake, Paper};
use super::story::{NOW_MS, SESSION, asked, sentiment, two_turns};

fn key(code: KeyCode, modifiers: KeyModifiers) -> Input {
    Input::Terminal(Event::Key(KeyEvent::new(code, modifiers)))
}

const F5: KeyCode = KeyCode::F(5);

/// Runs the loop over a scenario that sends inputs; gives the exit, the frames drawn and the last frame's text.
async fn play<F>(fake: Arc<Fake>, scenario: impl FnOnce(UnboundedSender<Input>) -> F) -> (Exit, u64, String)
where
    F: Future<Output = ()> + Send + 'static,
{
    let (mut paper, inputs) = Paper::new();
    let last = paper.last.clone();
    let mut model = Model::new(ptc_workbench::tui::backend::Backend::opening(&*fake), (100, 30), NOW_MS);
    let mut driver = Driver::new(fake, Clock::starting_at(NOW_MS));
    let player = tokio::spawn(scenario(inputs));
    let exit = driver.run(&mut model, &mut paper, None).await.unwrap();
    player.await.unwrap();
    let text = last.lock().unwrap().clone();
    (exit, driver.frames, text)
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_deltas_in_a_second_give_sixty_frames_and_the_last_shows_the_last() {
    let fake = Arc::new(Fake::default());
    let run = fake.run.clone();
    let (exit, frames, text) = play(fake, |inputs| async move {
        inputs.send(key(F5, KeyModifiers::NONE)).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        asked().events().into_iter().for_each(|event| run.event(event));
        for delta in 0..10_000 {
            let part = if delta == 9_999 { "THE LAST" } else { "x\n" };
            let event = asked().part("r0/t1", 1, part).events().pop().unwrap();
            run.event(event);
            if delta % 10 == 9 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        run.tell(Happening::Ended(Ended::Run));
        tokio::time::sleep(Duration::from_millis(50)).await;
        inputs.send(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).unwrap();
    })
    .await;
    assert_eq!(exit, Exit::Quit);
    // 1.2 seconds, the first frame, and those of the keys.
    assert!(frames <= 76, "{frames} frames");
    assert!(text.contains("THE LAST"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_drawn_while_nothing_happens() {
    let fake = Arc::new(Fake::default());
    let (_, frames, _) = play(fake, |inputs| async move {
        tokio::time::sleep(Duration::from_hours(1)).await;
        inputs.send(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).unwrap();
    })
    .await;
    assert!(frames <= 5, "{frames} frames in an idle hour");
}

#[tokio::test(start_paused = true)]
async fn clocks_go_by_seconds_while_a_person_is_awaited() {
    let fake = Arc::new(Fake::default());
    let run = fake.run.clone();
    let (_, frames, _) = play(fake, |inputs| async move {
        inputs.send(key(F5, KeyModifiers::NONE)).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        asked().events().into_iter().for_each(|event| run.event(event));
        let (address, text) = ("r0/t1/q0".into(), "which?".to_owned());
        run.tell(Happening::Question(Question { address, text, gate: None, options: Vec::new() }));
        tokio::time::sleep(Duration::from_mins(1)).await;
        inputs.send(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).unwrap();
    })
    .await;
    assert!((60..=75).contains(&frames), "{frames} frames in a minute");
}

#[tokio::test(start_paused = true)]
async fn unsaved_texts_are_kept_a_second_after_the_last_key() {
    let fake = Arc::new(Fake::default());
    let seen = fake.clone();
    play(fake.clone(), |inputs| async move {
        for c in "abc".chars() {
            inputs.send(key(KeyCode::Char(c), KeyModifiers::NONE)).unwrap();
            tokio::time::sleep(Duration::from_millis(900)).await;
            assert!(seen.kept.lock().unwrap().is_empty(), "kept while typing");
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let kept = seen.kept.lock().unwrap().clone();
        assert_eq!(kept.len(), 1);
        assert!(kept[0].drafts[0].text().starts_with("abc"));
        inputs.send(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).unwrap();
        inputs.send(key(KeyCode::Char('d'), KeyModifiers::NONE)).unwrap();
    })
    .await;
    assert!(fake.forgotten.load(Ordering::SeqCst) > 0, "discarded drafts are forgotten");
}

#[tokio::test(start_paused = true)]
async fn of_texts_that_were_typed_during_a_check_the_newest_are_checked() {
    let fake = Arc::new(Fake::default());
    let seen = fake.clone();
    play(fake, |inputs| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // All of them are taken before the answer to the first check is.
        "0123456789".repeat(5).chars().for_each(|c| inputs.send(key(KeyCode::Char(c), KeyModifiers::NONE)).unwrap());
        tokio::time::sleep(Duration::from_millis(500)).await;
        inputs.send(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).unwrap();
        inputs.send(key(KeyCode::Char('d'), KeyModifiers::NONE)).unwrap();
    })
    .await;
    let checked = seen.checked.lock().unwrap().clone();
    let typed: Vec<&String> = checked.iter().filter(|prompt| prompt.starts_with('0')).collect();
    assert!((1..=2).contains(&typed.len()), "{} checks", typed.len());
    assert!(typed.last().unwrap().starts_with(&"0123456789".repeat(5)));
}

#[tokio::test(start_paused = true)]
async fn sessions_are_listed_by_one_listing_at_a_time() {
    let fake = Arc::new(Fake::default());
    play(fake.clone(), |inputs| async move {
        inputs.send(key(KeyCode::F(3), KeyModifiers::NONE)).unwrap();
        for _ in 0..10 {
            inputs.send(key(KeyCode::Char('r'), KeyModifiers::CONTROL)).unwrap();
        }
        inputs.send(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).unwrap();
    })
    .await;
    let listings = fake.listings.load(Ordering::SeqCst);
    assert!((1..=3).contains(&listings), "{listings}: that of the start, that of the keys, the one behind it");
}

/// On the real clock: a paused one stands still while a list is being read.
#[tokio::test]
async fn a_list_from_before_the_question_does_not_answer_it() {
    let (lists, given) = std::sync::mpsc::channel();
    let fake = Arc::new(Fake { lists: Mutex::new(Some(given)), ..Fake::default() });
    let (seen, run) = (fake.clone(), fake.run.clone());
    let until = |holds: Box<dyn Fn() -> bool + Send>| async move {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (mut paper, inputs) = Paper::new();
    let last = paper.last.clone();
    let shows = move |text: &'static str| {
        let last = last.clone();
        until(Box::new(move || last.lock().unwrap().contains(text)))
    };
    let player = tokio::spawn(async move {
        lists.send(Vec::new()).unwrap();
        inputs.send(key(F5, KeyModifiers::NONE)).unwrap();
        let listings = seen.clone();
        until(Box::new(move || listings.listings.load(Ordering::SeqCst) == 2)).await;
        for event in two_turns() {
            run.event(event);
        }
        run.tell(Happening::Ended(Ended::Run));
        shows("✓ returned").await;
        inputs.send(key(KeyCode::F(2), KeyModifiers::NONE)).unwrap();
        inputs.send(key(KeyCode::Char('f'), KeyModifiers::NONE)).unwrap();
        shows("is being looked for").await;
        // That of the start of the run, without it; that of its end.
        lists.send(Vec::new()).unwrap();
        lists.send(vec![SessionSummary { id: SESSION.to_owned(), ..SessionSummary::default() }]).unwrap();
        let points = seen.clone();
        until(Box::new(move || points.points.load(Ordering::SeqCst) == 1)).await;
        inputs.send(Input::Terminate(15)).unwrap();
        drop(lists);
    });
    let mut model = Model::new(Opening { texts: sentiment(), ..Opening::default() }, (100, 30), NOW_MS);
    let mut driver = Driver::new(fake, Clock::starting_at(NOW_MS));
    let ended = driver.run(&mut model, &mut paper, None);
    tokio::time::timeout(Duration::from_mins(1), ended).await.expect("the question is answered").unwrap();
    player.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_is_stopped_before_the_program_leaves() {
    let fake = Arc::new(Fake::default());
    let run = fake.run.clone();
    let (exit, _, _) = play(fake.clone(), |inputs| async move {
        inputs.send(key(F5, KeyModifiers::NONE)).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        asked().events().into_iter().for_each(|event| run.event(event));
        tokio::time::sleep(Duration::from_millis(100)).await;
        inputs.send(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).unwrap();
    })
    .await;
    assert_eq!(exit, Exit::Quit);
    assert!(fake.run.cancelled.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_signal_and_the_end_of_the_input_end_the_loop() {
    let (exit, _, _) = play(Arc::new(Fake::default()), |inputs| async move {
        inputs.send(Input::Terminate(15)).unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    })
    .await;
    assert_eq!((exit, exit.code()), (Exit::Signal(15), 143));
    let (exit, _, _) = play(Arc::new(Fake::default()), |inputs| async move { drop(inputs) }).await;
    assert_eq!((exit, exit.code()), (Exit::Hangup, 129));
}

#[tokio::test(start_paused = true)]
async fn a_long_session_reads_the_turns_that_are_seen() {
    let fake = Arc::new(Fake { long_session: Some(10_000), ..Fake::default() });
    let (_, _, text) = play(fake, |inputs| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        inputs.send(key(KeyCode::F(3), KeyModifiers::NONE)).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        inputs.send(key(KeyCode::Enter, KeyModifiers::NONE)).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        inputs.send(key(KeyCode::End, KeyModifiers::NONE)).unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        inputs.send(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    })
    .await;
    assert!(text.contains("{\"number\": 10000}"), "{text}");
}
