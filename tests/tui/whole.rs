//! The inspector shows a turn whole or marks what is incomplete: memory at that time, values with their true size, turns that still run.

use std::time::Duration;

use ptc_workbench::agent::{Agent, BundledExample, DraftTexts, Mode};
use ptc_workbench::event::{Address, MemoryChange, TextRecord};
use ptc_workbench::tui::inspector::{Inspector, Subject};
use ptc_workbench::tui::message::{Effect, Msg, Slot};
use ptc_workbench::tui::services::Services;
use ptc_workbench::workbench::inspect::{Inspection, LazyBench};
use ptc_workbench::workbench::{RunEnding, RunHandle, RunUpdate, SessionKey};

use super::services::workbench;
use super::story::{Story, apply_message, fresh};

/// The parts of the memory tab: title, note, bytes, text.
fn memory(inspection: &Inspection) -> Vec<(String, String, u64, String)> {
    let part = |part: &ptc_workbench::workbench::inspect::Part| {
        (part.title.clone(), part.note.clone(), part.bytes, part.text())
    };
    inspection.memory.iter().map(part).collect()
}

#[test]
fn memory_is_shown_as_it_was_after_the_turn_with_what_the_turn_changed() {
    let change = |set: &[(&str, &str)], del: &[&str]| MemoryChange {
        set: set.iter().map(|(name, value)| ((*name).to_owned(), TextRecord::of((*value).to_owned()))).collect(),
        del: del.iter().map(|name| (*name).to_owned()).collect(),
        ..MemoryChange::default()
    };
    let story = Story::new()
        .start()
        .turn("r0/t1")
        .apply_message("r0/t1", change(&[("a", "1"), ("b", "2"), ("gone", "0")], &[]));
    let story = story.turn_end("r0/t1", None, (1, 1), (1, 1, 1)).turn("r0/t2");
    let story = story.apply_message("r0/t2", change(&[("b", "3"), ("c", "4")], &["gone"]));
    let story = story.turn_end("r0/t2", None, (1, 1), (1, 1, 1)).turn("r0/t3");
    let events = story.turn_end("r0/t3", None, (1, 1), (1, 1, 1)).run_end(Some("{}"), None, (3, 1, 1)).events();
    let dir = tempfile::tempdir().unwrap();
    let path = super::services::write_session(dir.path(), &events);
    let session = ptc_workbench::session::Session::open(&path).unwrap();
    let at = |turn: u32| memory(&Inspection::of(&session, &Address::run(0).turn(turn)).unwrap());
    let names = |turn: u32| at(turn).into_iter().map(|(title, note, ..)| (title, note)).collect::<Vec<_>>();
    let pairs = |all: &[(&str, &str)]| all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
    assert_eq!(
        names(2),
        pairs(&[
            ("memory", "after this turn"),
            ("b", "~ changed"),
            ("c", "+ new"),
            ("gone", "- removed"),
            ("a", "since t1")
        ])
    );
    let (_, _, bytes, overview) = at(2).swap_remove(0);
    assert_eq!(bytes, 3, "a, b and c of one byte each: {overview}");
    assert!(overview.contains("3 names after this turn"), "{overview}");
    assert_eq!(at(2)[1].3, "- 2\n+ 3");
    // A turn that defines nothing has the memory of the turns before it.
    assert_eq!(
        names(3),
        pairs(&[("memory", "after this turn"), ("a", "since t1"), ("b", "since t2"), ("c", "since t2")])
    );
}

/// Waits until a run has ended.
async fn ended(run: &RunHandle) {
    while !run.drain().iter().any(|update| matches!(update, RunUpdate::Ended(RunEnding::Run))) {
        tokio::time::timeout(Duration::from_mins(1), run.changed()).await.expect("the run ends");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_the_recording_cut_has_its_true_size_and_is_computed_whole() {
    let program = "(def big (apply str (repeat 100000 \"x\")))\n(return {:n (count big)})";
    let toml = format!(
        "name = 'big'\nmode = 'ptc_lisp'\nsignature = '{{n :int}}'\nprompt = 'go'\nprogram = '''{program}'''\n"
    );
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::from_toml(&toml, "big.toml").unwrap();
    let services = Services::new(workbench(dir.path()), &agent, None);
    let run = services.start(&DraftTexts::of(&agent)).unwrap();
    ended(&run).await;
    let name = run.session().unwrap();
    let session = services.workbench.open_session(&name).unwrap();
    let turn = Address::run(0).turn(1);
    let found = services.workbench.inspect(&session, &turn).unwrap();
    let part = found.memory.iter().find(|part| part.title == "big").unwrap().clone();
    assert!(part.is_cut && part.bytes == 100_002, "{} of {}", part.is_cut, part.bytes);
    assert!(part.text().ends_with("1.0 KB recorded here; `a` computes the whole value"), "{}", part.text());
    let bench = LazyBench::new(session, turn.clone());
    let whole = tokio::task::spawn_blocking(move || bench.value_of("big")).await.unwrap().unwrap();
    assert_eq!(whole.len(), 100_002);
    let mut inspector = Inspector::new(Subject::Named(name), turn);
    inspector.take(Ok(found));
    inspector.take_value("big", whole.clone());
    let shown = inspector.inspection().unwrap().memory.iter().find(|part| part.title == "big").unwrap();
    assert_eq!((shown.is_cut, shown.text() == whole), (false, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_size_of_a_request_is_the_same_before_the_run_in_its_parts_and_in_the_overview() {
    for name in ["sentiment", "sales"] {
        let dir = tempfile::tempdir().unwrap();
        let agent = BundledExample::find(name).unwrap().agent().unwrap().for_mode(Mode::Json).unwrap();
        let agent = Agent { model: Some("sample".to_owned()), ..agent };
        let services = Services::new(workbench(dir.path()), &agent, None);
        let preview = services.workbench.preview(&agent, None, None).unwrap();
        assert!(preview.request.schema.is_some(), "{name}: JSON that is shown on several lines and sent on one");
        let before: u64 = preview.parts().iter().map(|part| part.tokens).sum();
        let run = services.start(&DraftTexts::of(&agent)).unwrap();
        ended(&run).await;
        let session = services.workbench.open_session(&run.session().unwrap()).unwrap();
        let found = services.workbench.inspect(&session, &Address::run(0).turn(1)).unwrap();
        let overview = services.workbench.overview(&SessionKey::of(&session)).unwrap();
        let line = &overview.lines()[0];
        assert!(!line.is_counted, "{name}: no provider has counted");
        assert_eq!((found.request[0].tokens, line.prompt), (Some(before), before), "{name}");
    }
}

#[test]
fn an_open_turn_that_runs_is_read_again_as_it_grows_and_once_at_its_end() {
    let story = Story::new().start().turn("r0/t1").wait(300);
    let events = story.reply("r0/t1", "{}", (1, 1)).turn_end("r0/t1", None, (1, 1), (1, 1, 1)).events();
    let (end, before) = events.split_last().unwrap();
    let mut model = fresh((120, 40));
    let turn = Address::run(0).turn(1);
    model.inspector = Some(Box::new(Inspector::new(Subject::Named("s".to_owned()), turn.clone())));
    let update = |event: &ptc_workbench::event::Envelope| RunUpdate::Event(Box::new(event.clone()));
    let read = |effects: Vec<Effect>| effects.iter().filter(|effect| matches!(effect, Effect::Inspect(..))).count();
    let now_ms = model.now_ms;
    let grow = |model: &mut ptc_workbench::tui::model::Model| {
        read(apply_message(model, Msg::RunUpdates(Slot::Workbench, before.iter().map(update).collect())))
    };
    assert_eq!(grow(&mut model), 1, "it has grown");
    assert_eq!(grow(&mut model), 0, "it is being read");
    let failed = ptc_workbench::event::ErrorRecord::new(ptc_core::reasons::Reason::SessionUnreadable, "not yet");
    apply_message(&mut model, Msg::Inspected(Subject::Named("s".to_owned()), turn, Err(failed)));
    assert_eq!(grow(&mut model), 0, "not more often than twice a second");
    apply_message(&mut model, Msg::Clock(now_ms + 500));
    assert_eq!(grow(&mut model), 1);
    assert_eq!(read(apply_message(&mut model, Msg::RunUpdates(Slot::Workbench, vec![update(end)]))), 1, "it has ended");
}
