//! Findings about programs and replies before a run agree with those of their runs: all recorded replies of the example sessions.

use std::collections::HashMap;
use std::sync::Arc;

use ptc_workbench::agent::StepFold;
use ptc_workbench::engine::{Reader, ReplyValidity, Turn};
use ptc_workbench::event::{Address, Envelope, Event, PartKind, ReplyStatus, RunStart};
use ptc_workbench::model::ManualReply;
use ptc_workbench::workbench::{Definitions, example_sessions};

/// A turn as it was recorded, and who reads its reply.
struct Recorded {
    name: String,
    reader: Arc<Reader>,
    want: String,
    reply: ManualReply,
    program: Option<String>,
    /// Of the program, when one was run.
    status: Option<String>,
    /// The reason of the turn's failure.
    reason: Option<String>,
}

/// The turns of a session that have a reply and ended.
fn turns(name: &str, events: &[Envelope]) -> Vec<Recorded> {
    let mut starts: HashMap<Address, RunStart> = HashMap::new();
    let mut steps: HashMap<Address, StepFold> = HashMap::new();
    let mut known = Definitions::default();
    let mut open: HashMap<Address, Recorded> = HashMap::new();
    let (mut done, mut edits) = (Vec::new(), Vec::new());
    for envelope in events {
        known.apply(envelope);
        let (run, turn) = (envelope.run(), envelope.address.turn_part());
        steps.entry(run.clone()).or_default().apply(envelope);
        match &envelope.event {
            Event::RunStart(start) => _ = starts.insert(run, start.clone()),
            Event::Edit(edit) => edits.push((run, edit.clone())),
            Event::RequestMade(made) => {
                let Some(start) = starts.get(&run) else { continue };
                let of_run = edits.iter().filter(|(at, _)| *at == run).map(|(_, edit)| edit);
                let reader = Reader::of(start, of_run, usize::MAX).expect("the agents of the examples can be read");
                let asked = Turn {
                    want: made.want.name().to_owned(),
                    offers: made.tools.iter().map(|tool| tool.name.clone()).collect(),
                    memory: known.names(&run),
                    ..Turn::default()
                };
                let recorded = Recorded {
                    name: format!("{name} {turn}"),
                    reader: Arc::new(reader.for_turn(asked)),
                    want: made.want.name().to_owned(),
                    reply: ManualReply::default(),
                    program: None,
                    status: None,
                    reason: None,
                };
                open.insert(turn, recorded);
            }
            Event::ReplyPart(part) if part.kind == PartKind::Text => {
                open.get_mut(&turn).into_iter().for_each(|turn| turn.reply.text.push_str(&part.text));
            }
            Event::ReplyEnd(end) => {
                let Some(turn) = open.get_mut(&turn) else { continue };
                if end.status == ReplyStatus::Ok {
                    turn.reply.calls.clone_from(&end.calls);
                } else {
                    turn.reply = ManualReply::default();
                }
            }
            Event::ProgramEnd(end) => {
                open.get_mut(&turn).into_iter().for_each(|turn| turn.status = Some(end.status.to_string()));
            }
            Event::TurnEnd(end) => {
                let Some(mut recorded) = open.remove(&turn) else { continue };
                recorded.reason.clone_from(&end.reason);
                let step = steps[&run].step();
                let of_turn = step.turns.into_iter().find(|known| known.address.as_ref() == Some(&turn));
                recorded.program = of_turn.and_then(|turn| turn.program);
                done.push(recorded);
            }
            _ => {}
        }
    }
    done
}

fn all() -> Vec<Recorded> {
    let sessions = example_sessions();
    let read = |session: &ptc_workbench::session::Session| {
        turns(&session.header.id.file_name(), &session.events().collect::<Vec<_>>())
    };
    sessions.iter().flat_map(read).collect()
}

#[test]
fn programs_that_ran_well_hold_no_error() {
    let mut count = 0;
    for turn in all() {
        let (Some(program), Some(status)) = (&turn.program, &turn.status) else { continue };
        let judged = turn.reader.program(program);
        if status != "error" {
            count += 1;
            assert_ne!(judged.validity, ReplyValidity::Wrong, "{}: {:?}\n{program}", turn.name, judged.remarks);
        }
        if matches!(turn.reason.as_deref(), Some("unknown_tool" | "unbound_var" | "parse_error" | "invalid_form")) {
            assert_ne!(judged.validity, ReplyValidity::Reads, "{}: {program}", turn.name);
        }
    }
    assert!(count > 10, "the examples hold programs: {count}");
}

#[test]
fn replies_are_judged_as_their_turns_were() {
    let mut judged = [0, 0];
    for turn in all() {
        let found = turn.reader.typed(&turn.reply.as_typed());
        match turn.reason.as_deref() {
            None if !turn.reply.text.is_empty() || !turn.reply.calls.is_empty() => {
                judged[0] += 1;
                let message = turn.reply.as_typed();
                assert_ne!(found.validity, ReplyValidity::Wrong, "{}: {:?}\n{message}", turn.name, found.remarks);
            }
            Some("validation_error" | "json_parse_error" | "protocol_error") if turn.want != "program" => {
                judged[1] += 1;
                assert_eq!(found.validity, ReplyValidity::Wrong, "{}: {found:?}\n{}", turn.name, turn.reply.text);
            }
            _ => {}
        }
    }
    assert!(judged[0] > 20 && judged[1] > 1, "{judged:?}");
}
