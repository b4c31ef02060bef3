//! Measures of constructed events: times, waits, errors, shown data.

use super::*;
use crate::event::{
    CheckLayer, Class, ErrorRecord, IssueRecord, ProgramStatus, RequestMade, RunEnd, RunStart, UsageRecord, Want,
};

/// Reads events as a session holds them: time, address, kind, data.
fn measured(lines: &[(i64, &str, &str, &str)]) -> Measures {
    let mut meter = Meter::default();
    for (seq, (at_ms, address, kind, data)) in lines.iter().enumerate() {
        let line = format!(r#"{{"s":{seq},"t":{at_ms},"r":"{address}","k":"{kind}","d":{data}}}"#);
        let envelope = Envelope::from_line(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(!matches!(envelope.event, Event::Unknown(_)), "{line}");
        meter.apply(&envelope);
    }
    meter.measures()
}

fn data<T: serde::Serialize>(of: &T) -> String {
    serde_json::to_string(of).unwrap()
}

fn start() -> String {
    let agent = crate::event::AgentRecord { toml: "prompt = \"p\"".to_owned(), ..Default::default() };
    let context = serde_json::from_str(r#"{"rows":[294,157,431]}"#).unwrap();
    data(&RunStart { agent, context, ..RunStart::default() })
}

fn request(last: u32) -> String {
    let made = RequestMade {
        messages: vec![(0, last)],
        want: Want::Json,
        schema: None,
        tools: Vec::new(),
        tool_names: Vec::new(),
        options: crate::event::Options::default(),
        cache: false,
    };
    data(&made)
}

fn end() -> String {
    data(&RunEnd { usage: UsageRecord::default(), ..RunEnd::default() })
}

#[test]
fn waiting_for_the_gate_and_for_a_429_is_no_latency() {
    let (start, request, end) = (start(), request(0), end());
    let measures = measured(&[
        (1_000, "r0", "run.start", &start),
        (1_000, "r0/t1", "request", &request),
        // Queued 300, failed after 50, had to wait 400, queued 100 again, answered after 200.
        (1_350, "r0/t1", "reply.end", r#"{"attempt":1,"status":"discarded","queued_ms":300}"#),
        (1_350, "r0/t1", "retry.wait", r#"{"attempt":1,"wait_ms":400,"class":"rate_limit","message":"busy"}"#),
        (2_050, "r0/t1", "reply.end", r#"{"attempt":2,"status":"ok","queued_ms":100,"first_ms":120}"#),
        (2_060, "r0", "run.end", &end),
    ]);
    assert_eq!((measures.waited_ms, measures.time_ms), (300 + 400 + 100, 50 + 200 + 10));
    assert_eq!((measures.retries, measures.first_ms), (1, Some(120)));
}

#[test]
fn waiting_after_another_failure_is_latency() {
    let (start, request, end) = (start(), request(0), end());
    let measures = measured(&[
        (0, "r0", "run.start", &start),
        (0, "r0/t1", "request", &request),
        (50, "r0/t1", "reply.end", r#"{"attempt":1,"status":"discarded","queued_ms":0}"#),
        (50, "r0/t1", "retry.wait", r#"{"attempt":1,"wait_ms":400,"class":"server_error","message":"down"}"#),
        (500, "r0/t1", "reply.end", r#"{"attempt":2,"status":"ok","queued_ms":20,"first_ms":5}"#),
        (500, "r0", "run.end", &end),
    ]);
    assert_eq!((measures.waited_ms, measures.time_ms, measures.retries), (20, 480, 1));
}

#[test]
fn waits_of_branches_count_once() {
    let (start, request, end) = (start(), request(0), end());
    let measures = measured(&[
        (0, "r0", "run.start", &start),
        (10, "r0/t1/p1.0/c0/t1", "request", &request),
        (20, "r0/t1/p1.1/c0/t1", "request", &request),
        (60, "r0/t1/p1.0/c0/t1", "reply.end", r#"{"attempt":1,"status":"ok","queued_ms":40}"#),
        (80, "r0/t1/p1.1/c0/t1", "reply.end", r#"{"attempt":1,"status":"ok","queued_ms":40}"#),
        (100, "r0", "run.end", &end),
    ]);
    assert_eq!((measures.waited_ms, measures.time_ms), (50, 50));
}

#[test]
fn errors_are_grouped_by_kind_and_path() {
    let issue = |path: &str, severity: &str| IssueRecord {
        path: path.to_owned(),
        severity: severity.into(),
        expected: "int".to_owned(),
        got: "string".to_owned(),
        message: "expected int, got string".to_owned(),
    };
    let issues =
        vec![issue("items.0.n", "error"), issue("items.12.n", "error"), issue("n", "warning"), issue("", "error")];
    let check = data(&Check { layer: CheckLayer::Return, ok: false, issues });
    let error = ErrorRecord { reason: "type_error".to_owned(), ..ErrorRecord::default() };
    let program =
        data(&crate::event::ProgramEnd { status: ProgramStatus::Error, error: Some(error), ..Default::default() });
    let extract = r#"{"kind":"json","candidates":0,"sha":"","error":{"reason":"json_parse_error","message":"m"}}"#;
    let (start, end) = (start(), end());
    let measures = measured(&[
        (0, "r0", "run.start", &start),
        (0, "r0/t1", "extract", extract),
        (0, "r0/t2", "program.end", &program),
        (0, "r0/t3", "check", &check),
        (0, "r0", "run.end", &end),
    ]);
    let counted: Vec<_> = measures.errors.iter().map(|(kind, times)| (kind.as_str(), *times)).collect();
    assert_eq!(
        counted,
        [
            ("(answer): expected int, got string", 1),
            ("items.*.n: expected int, got string", 2),
            ("json_parse_error", 1),
            ("type_error", 1),
        ]
    );
}

#[test]
fn data_counts_when_a_request_carried_it() {
    let text = |m: u32, source: &str, text: &str, untrusted: bool| {
        let parts = format!(r#"[{{"section":"s","text":{text:?},"untrusted":{untrusted}}}]"#);
        format!(r#"{{"m":{m},"role":"user","source":"{source}","parts":{parts}}}"#)
    };
    let (start, end) = (start(), end());
    let (first, trusted) = (text(0, "prompt", "294", true), text(1, "prompt", "157", false));
    let (reply_tokens, never) = (text(2, "reply", "157 431 900", true), text(3, "feedback", "431", true));
    let (one, two) = (request(1), request(2));
    let measures = measured(&[
        (0, "r0", "run.start", &start),
        (0, "r0/t1", "message", &first),
        (0, "r0/t1", "message", &trusted),
        (0, "r0/t1", "request", &one),
        (0, "r0/t1/c0", "tool.call", r#"{"name":"t","kind":"table","args":{}}"#),
        (0, "r0/t1/c0", "tool.end", r#"{"status":"ok","result":[900,1000],"ms":0}"#),
        (0, "r0/t1/c1", "tool.call", r#"{"name":"a","kind":"agent","args":{}}"#),
        (0, "r0/t1/c1", "tool.end", r#"{"status":"ok","result":"an answer","ms":0}"#),
        (0, "r0/t1", "message", &reply_tokens),
        (0, "r0/t1", "message", &never),
        (0, "r0/t2", "request", &two),
        (0, "r0", "run.end", &end),
    ]);
    // Of 294 157 431 900 1000 only 294 was shown: the instruction, the model's own words and the message that was never sent do not count.
    assert_eq!((measures.data_bytes, measures.kept_out_bytes), (16, 13));
}

#[test]
fn denied_calls_count_in_programs_too() {
    let (start, end) = (start(), end());
    let made = request(0).replacen(r#""want":"json""#, r#""want":"program""#, 1);
    let measures = measured(&[
        (0, "r0", "run.start", &start),
        (0, "r0/t1", "request", &made),
        (0, "r0/t1/c0", "tool.end", r#"{"status":"refused","error":{"reason":"tool_denied","message":"no"},"ms":0}"#),
        (0, "r0/t1/c1", "tool.end", r#"{"status":"error","error":{"reason":"tool_error","message":"no"},"ms":0}"#),
        (0, "r0", "run.end", &end),
    ]);
    assert_eq!((measures.denied, measures.errors.len()), (1, 0), "the error of the program is the error");
}

#[test]
fn a_derived_event_never_decides_about_time() {
    // The waits are taken from inputs and notes, which replay does not make again.
    let classes = ["reply.end", "retry.wait"]
        .map(|kind| crate::event::KINDS.iter().find(|(name, ..)| *name == kind).map(|(_, class, _)| *class));
    assert_eq!(classes, [Some(Class::Input), Some(Class::Note)]);
}

#[test]
fn what_overlaps_counts_once_and_what_lies_outside_does_not() {
    let mut waits = Stretches::default();
    for (from, to) in [(50, 60), (10, 30), (20, 40), (25, 28), (90, 200), (7, 7), (60, 50)] {
        waits.add(from, to);
    }
    assert_eq!(waits.within(0, 100), 30 + 10 + 10);
    assert_eq!(waits.within(15, 55), 25 + 5);
    assert_eq!(Stretches::default().within(0, 100), 0);
}
