//! Traces of `PtcRunner`: their content becomes a session, and what is no trace becomes nothing.

use ptc_workbench::agent::{Step, StepFold};
use ptc_workbench::event::{CallStatus, Envelope, Event};
use ptc_workbench::export::trace::{self, Trace};

const TRACE: &str = include_str!("trace.jsonl");

fn read(text: &str) -> Trace {
    trace::read(text).unwrap()
}

fn step(trace: &Trace) -> Step {
    let mut fold = StepFold::default();
    trace.events.iter().filter(|envelope| envelope.address.root().as_str() == "r0").for_each(|event| fold.apply(event));
    fold.step()
}

#[test]
fn runs_turns_messages_replies_programs_and_calls_are_reported() {
    let trace = read(TRACE);
    let step = step(&trace);
    assert_eq!((step.name.as_str(), step.signature.as_deref()), ("planner", Some("(text :string) -> {n :int}")));
    assert_eq!(step.original_prompt.as_deref(), Some("How many words are in {{text}}?"));
    let [first, second] = step.turns.as_slice() else { panic!("{:?}", step.turns) };
    assert_eq!(first.program.as_deref(), Some("(def n (tool/count {:text data/text}))"));
    assert_eq!((first.prints.as_slice(), first.result.as_deref()), (["counted".to_owned()].as_slice(), Some("#'n")));
    assert!(first.raw_response.starts_with("```clojure") && first.success && !second.success);
    assert_eq!(second.reason.as_deref(), Some("parse_error"));
    assert_eq!(second.compaction.as_ref().map(|done| (done.messages_before, done.messages_after)), Some((4, 3)));
    let sent: Vec<String> =
        step.sent(second).map(|message| format!("{} {}", message.role.name(), message.text())).collect();
    assert_eq!(sent.len(), 4, "{sent:?}");
    assert_eq!((sent[0].as_str(), sent[3].as_str()), ("system You write programs.", "user counted"));
    assert_eq!(step.messages.len(), 4, "a message that was sent twice is stored once");
    let fail = step.fail.as_ref().unwrap();
    assert_eq!((fail.reason.as_str(), fail.message.as_str()), ("max_turns_exceeded", "no answer in 2 turns"));
    let tokens = step.usage.own.tokens.unwrap();
    assert_eq!((tokens.input, tokens.output, tokens.cache_read), (460, 32, Some(128)));
    let [call] = step.calls.as_slice() else { panic!("{:?}", step.calls) };
    assert_eq!((call.name.as_str(), call.status, call.ms), ("count", Some(CallStatus::Ok), 43));
}

#[test]
fn an_agent_that_a_tool_started_is_a_run_below_its_call() {
    let step = step(&read(TRACE));
    let [child] = step.children.as_slice() else { panic!("{:?}", step.children) };
    assert_eq!(child.name, "counter");
    assert_eq!(child.answer.as_ref().map(ptc_core::value::Json::to_text).as_deref(), Some(r#"{"n":3}"#));
    assert_eq!(child.turns[0].program.as_deref(), Some("(return {:n 3})"));
}

#[test]
fn what_has_no_counterpart_is_kept_under_its_own_name() {
    let trace = read(TRACE);
    let foreign: Vec<&str> = trace
        .events
        .iter()
        .map(|envelope| envelope.event.kind())
        .filter(|kind| kind.starts_with("ptc_runner."))
        .collect();
    assert_eq!(
        foreign,
        ["ptc_runner.trace.start", "ptc_runner.pmap.start", "ptc_runner.pmap.stop", "ptc_runner.trace.stop"]
    );
    assert_eq!(trace.kept, foreign.len());
    assert!(trace.events.iter().zip(1..).all(|(envelope, seq)| envelope.seq == seq));
    let marked = |notice: &str| notice.contains("it can be viewed, not replayed");
    let is_marked = |envelope: &Envelope| matches!(&envelope.event, Event::Notice(notice) if marked(&notice.text));
    assert!(trace.events.iter().any(is_marked));
}

#[test]
fn turns_that_were_driven_from_outside_are_distinguished_from_their_records_alone() {
    let turn = |number: u32, status: &str, program: &str| {
        serde_json::json!({
            "schema_version": 2, "event": "turn", "driver": "session", "session_id": "s1", "turn": number, "status": status,
            "timestamp": "2026-05-04T10:00:00Z", "data": {"program": program, "prints": ["p"], "result_preview": "3"},
        })
        .to_string()
    };
    let trace = read(&[turn(1, "ok", "(def a 3)"), turn(2, "error", "(b)")].join("\n"));
    let step = step(&trace);
    let shown: Vec<_> =
        step.turns.iter().map(|turn| (turn.number, turn.success, turn.program.as_deref().unwrap())).collect();
    assert_eq!(shown, [(1, true, "(def a 3)"), (2, false, "(b)")]);
}

#[test]
fn a_trace_that_breaks_off_leaves_its_run_open() {
    for lines in 3..TRACE.lines().count() {
        let cut: Vec<&str> = TRACE.lines().take(lines).collect();
        let trace = read(&cut.join("\n"));
        assert!(!trace.events.is_empty(), "after {lines} lines");
    }
}

#[test]
fn a_file_that_is_no_trace_says_where_and_why() {
    let errors = [
        ("", "the file is empty"),
        ("{\"schema_version\":2,\"event\":\"trace.start\"}\n", "contains no run"),
        ("{\"schema_version\":1,\"event\":\"run.start\"}\n", "line 1 has the schema version 1"),
        ("{\"event\":\"run.start\"}\n", "line 1 has no schema_version"),
        (
            "{\"schema_version\":2,\"event\":\"run.start\",\"timestamp\":\"yesterday\"}\n",
            "line 1 has the timestamp \"yesterday\"",
        ),
        ("{\"format\":\"ptc-workbench-session\",\"version\":1}\n", "this is a session of this program"),
        ("\n[]\n", "line 2 is not an object"),
        ("{\"schema_version\":2}\n", "line 1 has no event"),
        ("{\"schema_version\":2,\"run_id\":\"r\",\"type\":\"run.started\"}\n", "line 1 is from a PtcRunner after 0.13"),
    ];
    for (text, expected) in errors {
        let error = trace::read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let error = trace::read(&format!("{TRACE}{{\"cut\": \nx\n")).unwrap_err().to_string();
    let line = TRACE.lines().count() + 1;
    assert!(error.contains(&format!("line {line} is not JSON")) && error.contains("and 1 more"), "{error}");
}
