//! Failures in sessions, grouped by reason and place, and the way to where they occurred.

use serde_json::Value;

use crate::cli::program::Program;

/// A tool that refuses, and an answer that lacks a field at first.
fn failing() -> Program {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    program.file(
        "refused.toml",
        "mode = \"ptc_lisp\"\nprompt = \"go\"\nprogram = \"(return (tool/look {}))\"\n[tools.look]\nkind = \"table\"\nrows = [{ args = {}, error = \"no\" }]\n",
    );
    program.run(["run", "refused.toml"]).exits(1);
    program
}

fn groups(program: &Program, query: &str) -> Vec<Value> {
    let output = program.run(["sessions", "failures", "--json", "--", query]).exits(0).json();
    output["groups"].as_array().unwrap().clone()
}

#[test]
fn failures_are_grouped_by_reason_and_place_with_an_example() {
    let program = failing();
    let groups = groups(&program, "-is:example");
    let shown = |group: &Value| -> (String, String, u64, u64, String) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let number = |key: &str| group[key].as_u64().unwrap();
        (
            text(&group["reason"]),
            text(&group["path"]),
            number("count"),
            number("sessions"),
            text(&group["example"]["address"]),
        )
    };
    let first = shown(&groups[0]);
    assert_eq!((first.0.as_str(), first.2, first.3, first.4.as_str()), ("validation_error", 2, 2, "r0/t1"));
    assert!(!first.1.is_empty(), "the field that is missing is named");
    // The error of the tool is one failure, though the program, the turn and the run ended with it.
    let of_tool: Vec<_> = groups[1..].iter().map(shown).collect();
    assert_eq!(of_tool.len(), 1, "{groups:?}");
    assert_eq!((of_tool[0].1.as_str(), of_tool[0].2, of_tool[0].4.as_str()), ("look", 1, "r0/t1/c0"));
    let spoken = program.run(["sessions", "failures", "--", "-is:example"]);
    assert!(spoken.exits(0).stdout.starts_with("    2×  in    2  validation_error "), "{}", spoken.stdout);
    spoken.reports("3 failures in 3 sessions");
}

#[test]
fn a_reason_that_is_asked_for_leads_to_the_turn() {
    let program = failing();
    let output = program.run(["sessions", "search", "reason:validation_error -is:example", "--json"]).exits(0).json();
    let sessions = output["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2);
    for session in sessions {
        assert_eq!(session["count"], 1);
        assert_eq!(session["matches"][0]["address"], "r0/t1");
        assert_eq!(session["matches"][0]["field"], "error");
    }
    assert_eq!(groups(&program, "reason:validation_error -is:example").len(), 1);
    assert_eq!(groups(&program, "reason:\"no_such_reason\""), Vec::<Value>::new());
    program.run(["sessions", "failures", "turns>x"]).exits(2);
}

#[test]
fn a_failed_tool_that_is_asked_for_leads_to_its_calls() {
    let program = failing();
    let found = |query: &str| {
        let output = program.run(["sessions", "search", query, "--json"]).exits(0).json();
        output["sessions"].as_array().unwrap().clone()
    };
    let sessions = found("tool:look failed -is:example");
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["matches"][0]["address"], "r0/t1/c0");
    let excerpt = sessions[0]["matches"][0]["excerpt"].as_str().unwrap();
    assert_eq!(excerpt, "look: no (tool_error)", "the tool's message is in the line");
    assert_eq!(found("tool:l*k failed -is:example").len(), 1);
    assert!(found("tool:other failed -is:example").is_empty());
    assert_eq!(groups(&program, "tool:look failed -is:example").len(), 1);
    assert!(groups(&program, "tool:look failed reason:validation_error -is:example").is_empty());
}
