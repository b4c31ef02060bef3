//! Each format against its own rules, over every example session.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use jsonschema::Validator;
use ptc_core::value::Json;
use ptc_workbench::event::{Envelope, Event, JsonText};
use ptc_workbench::export::{Content, Format, Piece, asciicast, render};
use serde_json::Value;

use super::{START_MS, content, event, examples};

fn json(content: &Content, format: Format) -> Value {
    serde_json::from_str(&render(content, format).unwrap()).unwrap()
}

/// The published schemas, each compiled once.
static ATIF: LazyLock<Validator> = LazyLock::new(|| compiled(include_str!("atif.schema.json")));
static OTLP: LazyLock<Validator> = LazyLock::new(|| compiled(include_str!("otlp.schema.json")));

fn compiled(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn fits(schema: &Validator, document: &Value, of: &str) {
    let errors: Vec<String> =
        schema.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{of}: {errors:#?}");
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Checks the rules that the schema of trajectories cannot express.
fn check_trajectory(trajectory: &Value) {
    let children: Vec<&str> = list(trajectory, "subagent_trajectories")
        .iter()
        .map(|child| child["trajectory_id"].as_str().unwrap())
        .collect();
    assert_eq!(children.iter().collect::<HashSet<_>>().len(), children.len(), "ids of children are unique");
    let mut referenced = HashSet::new();
    for (place, step) in list(trajectory, "steps").iter().enumerate() {
        assert_eq!(step["step_id"], place + 1, "steps count from 1");
        let calls: HashSet<&str> =
            list(step, "tool_calls").iter().map(|call| call["tool_call_id"].as_str().unwrap()).collect();
        for result in list(&step["observation"], "results") {
            if let Some(call) = result["source_call_id"].as_str() {
                assert!(calls.contains(call), "{call} is a call of its step");
            }
            for child in list(result, "subagent_trajectory_ref") {
                referenced.insert(child["trajectory_id"].as_str().unwrap());
            }
        }
    }
    assert_eq!(referenced, children.into_iter().collect(), "every child belongs to a call");
    list(trajectory, "subagent_trajectories").iter().for_each(check_trajectory);
}

#[test]
fn every_example_is_a_trajectory_by_the_schema_and_its_rules() {
    let mut with_children = 0;
    for content in examples() {
        let trajectory = json(&content, Format::Atif);
        fits(&ATIF, &trajectory, &content.session);
        check_trajectory(&trajectory);
        with_children += usize::from(!list(&trajectory, "subagent_trajectories").is_empty());
    }
    assert!(with_children >= 2, "the examples have agents below");
}

#[test]
fn a_trajectory_without_a_turn_still_has_a_step() {
    let started = event(
        "r0",
        "run.start",
        &serde_json::json!({
            "agent": {"name": "a", "toml": "", "sha": ""}, "mode": "json",
            "model": {"alias": "m", "provider": "p", "id": "m"}, "limits": [], "context": {}, "seed": 0,
        }),
    );
    let trajectory = json(&content([started]), Format::Atif);
    fits(&ATIF, &trajectory, "a run that only started");
    assert_eq!(list(&trajectory, "steps").len(), 1);
}

#[test]
fn what_was_noticed_outside_of_turns_is_on_the_pages() {
    let mut session = examples().remove(0);
    let (address, notice) = event("r0", "notice", &serde_json::json!({"level": "lost", "text": "2 lines are <lost>"}));
    session.events.push(Envelope { seq: 9_999, at_ms: START_MS, address, event: notice });
    let page = render(&session, Format::Markdown).unwrap();
    assert_eq!(page.matches("2 lines are <lost>").count(), 1, "{page}");
    let page = render(&session, Format::Html).unwrap();
    assert_eq!(page.matches("! 2 lines are &lt;lost&gt;").count(), 1, "{page}");
}

#[test]
fn an_answer_that_is_a_text_is_written_as_text() {
    let answer = JsonText::of(&Json::str("line 0\nline \"1\""));
    let mut content = examples().remove(0);
    let is_end = |envelope: &&mut Envelope| matches!(&envelope.event, Event::RunEnd(end) if end.fail.is_none());
    let end = content.events.iter_mut().rev().find(is_end).expect("the example returned");
    let Event::RunEnd(run_end) = &mut end.event else { unreachable!() };
    run_end.value = Some(answer);
    let page = render(&content, Format::Markdown).unwrap();
    assert!(page.contains("Answer:\n\n```text\nline 0\nline \"1\"\n```"), "{page}");
    let page = render(&content, Format::Html).unwrap();
    assert!(page.contains("line 0\nline &quot;1&quot;") || page.contains("line 0\nline \"1\""), "{page}");
}

#[test]
fn every_example_is_traces_data_of_the_protocol() {
    for content in examples() {
        let data = json(&content, Format::Otlp);
        fits(&OTLP, &data, &content.session);
        let spans = list(&data["resourceSpans"][0]["scopeSpans"][0], "spans");
        let ids: HashMap<&str, &Value> = spans.iter().map(|span| (span["spanId"].as_str().unwrap(), span)).collect();
        assert_eq!(ids.len(), spans.len(), "span ids are unique");
        let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
        for span in spans {
            assert!(time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano"));
            let operation = &list(span, "attributes")[0];
            assert_eq!(operation["key"], "gen_ai.operation.name");
            let operation = operation["value"]["stringValue"].as_str().unwrap();
            assert!(span["name"].as_str().unwrap().starts_with(operation));
            match (operation, span["parentSpanId"].as_str().map(|parent| ids[parent]["name"].as_str().unwrap())) {
                ("invoke_agent", None) => {}
                ("invoke_agent", Some(parent)) => assert!(parent.starts_with("execute_tool"), "{parent}"),
                ("chat" | "execute_tool", Some(parent)) => assert!(parent.starts_with("invoke_agent"), "{parent}"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(json(&content, Format::Otlp), data, "ids follow from the session");
    }
}

#[test]
fn the_span_of_a_cancelled_request_is_an_error() {
    let model = serde_json::json!({"alias": "m", "provider": "p", "id": "m"});
    let start = serde_json::json!({
        "agent": {"name": "a", "toml": "", "sha": "x"}, "mode": "text", "model": model, "limits": [], "context": {}, "seed": 0,
    });
    let stopped = serde_json::json!({"reason": "cancelled", "message": "the run was stopped by the user"});
    let usage = serde_json::json!({"turns": 1, "requests": 1, "schema_used": false});
    for error in [stopped.clone(), Value::Null] {
        let mut end = serde_json::json!({"attempt": 1, "status": "cancelled"});
        if !error.is_null() {
            end["error"] = error;
        }
        let data = json(
            &content([
                event("r0", "run.start", &start),
                event(
                    "r0/t1",
                    "turn.start",
                    &serde_json::json!({"now": START_MS, "kind": "normal", "remaining": {"turns": 1}}),
                ),
                event("r0/t1", "reply.end", &end),
                event("r0", "run.end", &serde_json::json!({"fail": stopped, "usage": usage})),
            ]),
            Format::Otlp,
        );
        let spans = list(&data["resourceSpans"][0]["scopeSpans"][0], "spans");
        let chat = spans.iter().find(|span| span["name"] == "chat m").unwrap_or_else(|| panic!("{data}"));
        assert_eq!(chat["status"]["code"], 2, "{chat}");
        assert!(chat["attributes"].to_string().contains(r#"{"stringValue":"cancelled"}"#), "{chat}");
    }
}

#[test]
fn a_recording_has_a_header_and_events_with_the_recorded_pauses() {
    let at = |after_ms: i64, text: &str| Piece { at_ms: START_MS + after_ms, text: text.to_owned() };
    // The clock was set back before the third piece.
    let pieces = [at(0, "turn 1\n"), at(1234, "  | a\u{1b}[2J"), at(1000, ""), at(900, "b\n"), at(1300, "c")];
    let recording = asciicast(&content([]), &pieces, (80, 24));
    let lines: Vec<Value> = recording.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["version"], 3);
    assert_eq!(lines[0]["term"], serde_json::json!({"cols": 80, "rows": 24}));
    assert_eq!(lines[0]["timestamp"], START_MS / 1000);
    let expected = serde_json::json!([
        [0.0, "o", "turn 1\r\n"],
        [1.234, "o", "  | a␛[2J"],
        [0.0, "o", "b\r\n"],
        [0.066, "o", "c"],
        [0.0, "x", "0"]
    ]);
    assert_eq!(Value::Array(lines[1..].to_vec()), expected);
}

#[test]
fn json_holds_every_turn_of_every_run_and_says_what_it_is() {
    for content in examples() {
        let export = json(&content, Format::Json);
        assert_eq!((&export["format"], &export["version"]), (&"ptc-workbench-export".into(), &1.into()));
        assert_eq!(export["session"]["id"], content.session);
        let run = &list(&export, "runs")[0];
        assert!(!list(run, "turns").is_empty() && run["return"] != Value::Null && run["context"].is_object());
    }
}

#[test]
fn documents_show_replies_programs_calls_and_answers() {
    for content in examples() {
        let json = json(&content, Format::Json);
        for format in [Format::Markdown, Format::Html] {
            let page = render(&content, format).unwrap();
            for run in list(&json, "runs") {
                for call in list(run, "calls") {
                    assert!(
                        page.contains(call["address"].as_str().unwrap()),
                        "{} {}",
                        content.session,
                        call["address"]
                    );
                }
                for turn in list(run, "turns") {
                    let reply = turn["raw_response"].as_str().unwrap();
                    let first = reply.lines().next().unwrap_or_default();
                    let first = if format == Format::Html { escaped(first) } else { first.to_owned() };
                    let coloured = format == Format::Html && turn["json"] != Value::Null;
                    assert!(coloured || page.contains(&first), "{} {first}", content.session);
                }
            }
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[test]
fn pictures_recordings_and_folders_are_made_by_an_interface() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(*format));
        let made = matches!(format, Format::Svg | Format::Asciicast | Format::Bundle);
        assert_eq!(render(&content([]), *format).is_none(), made);
    }
}
