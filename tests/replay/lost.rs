//! A line that a recording lost is never reported as identical: the file is damaged, or the replay reports a difference.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use ptc_workbench::event::{Class, Envelope, Event, PartKind};
use ptc_workbench::replay::{Recording, ReplayOutcome, replay};
use ptc_workbench::session::{Session, SessionId, recover};
use ptc_workbench::workbench::example_sessions;

use crate::cli::program::Program;

/// The outcome of a replay in one word.
async fn outcome(recording: Recording) -> &'static str {
    match replay(&Arc::new(recording), None).await.map(|report| report.outcome) {
        Ok(ReplayOutcome::Identical) => "identical",
        Ok(ReplayOutcome::Unfinished { .. }) => "unfinished",
        Ok(ReplayOutcome::Diverged(_)) => "diverged",
        Err(_) => "refused",
    }
}

/// Every event but the one at this place, numbered again, so that no gap shows it.
fn without(events: &[Envelope], place: usize) -> Recording {
    let kept = events.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, envelope)| envelope.clone());
    Recording::of_events((1..).zip(kept).map(|(seq, envelope)| Envelope { seq, ..envelope }))
}

#[test]
fn a_file_without_one_of_its_lines_is_damaged_or_ends_before_its_run() {
    for session in example_sessions() {
        let bytes = session.complete_lines().unwrap();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for place in 1..lines.len() {
            let kept = lines.iter().enumerate().filter(|(other, _)| *other != place).flat_map(|(_, line)| *line);
            let read = Session::from_bytes(Path::new("x.jsonl"), kept.copied().collect()).unwrap();
            let is_last = place + 1 == lines.len();
            assert_eq!(Recording::of(&read).is_ok(), is_last, "{} line {}", session.header.id, place + 1);
            assert_eq!(read.damage.len(), usize::from(!is_last));
        }
    }
}

/// Returns whether a recording without this event is tried: a sample of the events, another one of each session.
fn is_tried(session: usize, place: usize) -> bool {
    crate::is_in_sample(session + place)
}

/// Returns whether nothing is computed from this event.
fn is_only_shown(lost: &Envelope, events: &[Envelope]) -> bool {
    let calls = |known: &Envelope| matches!(&known.event, Event::ReplyEnd(end) if !end.calls.is_empty());
    match &lost.event {
        // Text next to calls of tools goes back to the model, and nothing is read from it.
        Event::ReplyPart(part) => {
            part.kind != PartKind::Text || events.iter().any(|known| known.address == lost.address && calls(known))
        }
        event => event.class() == Class::Note,
    }
}

#[tokio::test]
async fn what_counts_is_missed_even_where_the_numbers_do_not_show_it() {
    for (number, session) in example_sessions().iter().enumerate() {
        let events: Vec<Envelope> = session.events().collect();
        assert_eq!(outcome(Recording::of_events(events.clone())).await, "identical");
        let counts = |(place, lost): &(usize, &Envelope)| is_tried(number, *place) && !is_only_shown(lost, &events);
        for (place, lost) in events.iter().enumerate().filter(counts) {
            let found = outcome(without(&events, place)).await;
            let ends_a_root_run = matches!(lost.event, Event::RunEnd(_)) && !lost.address.is_call();
            let ok = ["diverged", "refused"].contains(&found) || (found == "unfinished" && ends_a_root_run);
            assert!(ok, "{} without {} at {}: {found}", session.header.id, lost.event.kind(), lost.address);
        }
    }
}

#[tokio::test]
async fn what_is_missing_before_the_last_turn_is_not_the_end_of_a_recording() {
    let mut compared = 0;
    for (number, session) in example_sessions().iter().enumerate() {
        let all: Vec<Envelope> = session.events().collect();
        let last = all.iter().rposition(|envelope| {
            matches!(envelope.event, Event::RequestMade(_)) && envelope.address.run_part() == envelope.address.root()
        });
        let events = &all[..=last.unwrap()];
        assert_eq!(outcome(Recording::of_events(events.to_vec())).await, "unfinished");
        let last_turn = &events[events.len() - 1].address;
        let counts = |(place, lost): &(usize, &Envelope)| is_tried(number, *place) && !is_only_shown(lost, events);
        for (place, lost) in events.iter().enumerate().filter(counts) {
            if lost.address.is_within(last_turn) {
                continue;
            }
            let found = outcome(without(events, place)).await;
            let about = format!("{} without {} at {}", session.header.id, lost.event.kind(), lost.address);
            assert!(["diverged", "refused"].contains(&found), "{about}: {found}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

#[tokio::test]
async fn what_was_recovered_without_a_line_is_not_identical_whatever_the_line_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut kinds = HashSet::new();
    for session in example_sessions() {
        let bytes = session.complete_lines().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        for (place, lost) in session.events().enumerate() {
            let is_last = place + 1 == session.len();
            if is_last || !kinds.insert(lost.event.kind().to_owned()) {
                continue;
            }
            let gone: String = without_line(&text, place + 1, "");
            let unreadable = without_line(&text, place + 1, "}{\n");
            for (number, damaged) in [gone, unreadable].into_iter().enumerate() {
                let file = dir.path().join("damaged.jsonl");
                std::fs::write(&file, damaged).unwrap();
                let id = SessionId::new(
                    1_000 * i64::try_from(place).unwrap(),
                    u32::try_from(kinds.len() * 2 + number).unwrap(),
                );
                let path = recover(&file, dir.path(), id, 1).unwrap().path;
                let session = Session::open(&path).unwrap();
                assert_eq!(session.damage, []);
                let found = outcome(Recording::of(&session).unwrap()).await;
                assert!(["diverged", "refused"].contains(&found), "without {}: {found}", lost.event.kind());
                // Nor is a copy of these lines under another header.
                let copied = outcome(Recording::of_events(session.events())).await;
                assert_eq!(copied, found);
            }
        }
    }
    assert!(kinds.len() > 15, "{kinds:?}");
    // What has lost no event comes out as recorded.
    let text = String::from_utf8(example_sessions()[0].complete_lines().unwrap()).unwrap();
    let file = dir.path().join("headless.jsonl");
    std::fs::write(&file, without_line(&text, 0, "")).unwrap();
    let path = recover(&file, dir.path(), SessionId::new(0, 0), 1).unwrap().path;
    assert_eq!(outcome(Recording::of(&Session::open(&path).unwrap()).unwrap()).await, "identical");
}

/// The text with another line in the place of this one.
fn without_line(text: &str, place: usize, other: &str) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(|(number, line)| if number == place { other } else { line }).collect()
}

#[test]
fn a_program_that_the_recording_does_not_end_is_not_computed_again() {
    let program = Program::new();
    program.file(
        "sum.toml",
        "mode = 'ptc_lisp'\nprompt = 'go'\nsignature = '(n :int) -> :int'\nmax_turns = 1\nprogram_timeout_ms = 3600000\n\
         program = '(return (reduce + (range data/n)))'",
    );
    program.run(["run", "sum.toml", "--set", "n=3"]).exits(0);
    let file = program.session_file();
    let text = std::fs::read_to_string(&file).unwrap();
    // As if it had been killed during a computation of some minutes.
    let (begun, _) = text.split_once("\"k\":\"program.end\"").unwrap();
    let (begun, _) = begun.rsplit_once('\n').unwrap();
    program.file("killed.jsonl", format!("{}\n", begun.replace("\"n\":3", "\"n\":3000000000")));
    program.run(["replay", "killed.jsonl", "--lenient"]).exits(0);
    program.file("begun.jsonl", format!("{begun}\n"));
    let replayed = program.run(["replay", "begun.jsonl"]).exits(0).printed();
    assert!(replayed.contains("identical up to r0/t1,"), "{replayed}");
}
