//! `--model sample` under each of its faults: a valid value or a clear error, and a session that replays.

use ptc_workbench::model::FAULTS;

use super::program::Program;

/// A short answer, so that even a slow reply comes soon.
const SHORT: &str = "mode = \"json\"\nprompt = \"Count\"\nsignature = \"() -> {a :int}\"\nmax_turns = 2\n";

/// Outcome of a run: turns, and the reason of the failure.
type Expected = (u64, Option<&'static str>);

/// Outcomes of each fault when it happens once, and when it happens in every turn.
const OUTCOMES: &[(&str, Expected, Expected)] = &[
    ("bad_json", (2, None), (2, Some("json_parse_error"))),
    ("missing_field", (2, None), (2, Some("validation_error"))),
    ("wrong_type", (2, None), (2, Some("validation_error"))),
    ("prose", (1, None), (1, None)),
    ("two_blocks", (1, None), (1, None)),
    ("endless_loop", (2, None), (2, Some("reply_truncated"))),
    ("cut_reply", (2, None), (2, Some("reply_truncated"))),
    ("slow", (1, None), (1, None)),
    ("provider_error", (1, None), (1, Some("llm_error"))),
];

fn check(fault: &str, (turns, reason): Expected) {
    let program = Program::new();
    program.file("short.toml", SHORT);
    let done = program.run(["run", "short.toml", "--json", "--model", fault]);
    let step = done.exits(i32::from(reason.is_some())).json();
    assert_eq!(step["turns"].as_array().unwrap().len() as u64, turns, "{fault}: {}", done.stderr);
    match reason {
        Some(reason) => assert_eq!(step["fail"]["reason"], reason, "{fault}"),
        None => assert!(step["return"]["a"].is_i64(), "{fault}: {}", done.stdout),
    }
    let replayed = program.run(["replay", "last", "--check"]);
    assert!(replayed.exits(0).stdout.starts_with("identical: "), "{fault}: {}", replayed.stdout);
}

#[test]
fn every_fault_is_known_here() {
    let known: Vec<_> = OUTCOMES.iter().map(|(name, ..)| *name).collect();
    assert_eq!(known, FAULTS.iter().map(|(_, name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn a_fault_in_the_first_turn_ends_well() {
    std::thread::scope(|scope| {
        for (name, once, _) in OUTCOMES {
            scope.spawn(move || check(&format!("sample:{name}"), *once));
        }
    });
}

#[test]
fn a_fault_in_every_turn_ends_with_its_reason_or_is_repaired() {
    std::thread::scope(|scope| {
        for (name, _, every) in OUTCOMES {
            scope.spawn(move || check(&format!("sample:{name},every,seed=5"), *every));
        }
    });
}
