//! The tasks whose key presses are counted.

use super::Task;
use crate::tour::Do::{Press, Type};

/// The agent that is open: two cases, no tools.
pub(crate) const AGENT: &str = r#"
name = "mood"
mode = "json"
model = "MODEL"
prompt = "Mood of: {{text}}"
signature = "(text :string) -> {mood :enum[good bad], score :float}"
max_turns = 2

[context]
text = "I love it"

[[cases]]
name = "glad"
context = { text = "I love it" }
expect = '(= (:mood result) "good")'

[[cases]]
name = "sad"
context = { text = "It broke" }
expect = '(= (:mood result) "bad")'
"#;

/// A saved run of 33 turns, five of which failed, and the name of its file.
pub(crate) const LONG_RUN: (&str, &str) =
    ("2026-11-20T09-00-00Z-7b5f546d.jsonl", include_str!("../../assets/scenes/audit.jsonl"));

/// A pasted text, as terminals mark it.
const PASTED: &str = "\x1b[200~Invoice \"7\"\n\ttotal: 5 EUR\x1b[201~";

const TASK: Task = Task { name: "", from: "", model: "sample", before: &[], does: &[], sees: &[], goal: 0, was: "" };

/// Every task.
pub(crate) const TASKS: &[Task] = &[
    Task {
        name: "The first run",
        from: "the first start",
        before: &[],
        does: &[(Press("run.start"), "✓ returned")],
        sees: &["✓ returned"],
        goal: 1,
        was: "2 (the tour covered the key)",
        ..TASK
    },
    Task {
        name: "A run after an edit",
        from: "an editor",
        before: &[(Press("run.start"), "✓ returned"), (Press("focus.prompt"), "Mood of")],
        does: &[(Type("Be brief. "), "Be brief. "), (Press("run.start"), "[2 ✓ json]")],
        sees: &["✓ returned"],
        goal: 1,
        was: "1",
        ..TASK
    },
    Task {
        name: "A new agent, run on a pasted text",
        from: "any screen",
        before: &[],
        does: &[
            (Press("draft.new"), "New agent"),
            (Type("invoice"), "invoice"),
            (Press("line.submit"), "invoice.toml"),
            (Type("Read {{text}}"), "Read {{text}}"),
            (Press("focus.next"), ""),
            (Type("(text :string) -> {total :float}"), "1 field"),
            (Press("focus.next"), ""),
            (Type(PASTED), "total: 5 EUR"),
            (Press("run.start"), "✓ returned"),
        ],
        sees: &["✓ returned", "total"],
        goal: 6,
        was: "no way: a path had to exist, and pasted text was read as JSON",
        ..TASK
    },
    Task {
        name: "What was sent to the model, whole",
        from: "an editor, after a run",
        before: &[(Press("run.start"), "✓ returned"), (Press("focus.prompt"), "Mood of")],
        does: &[(Press("screen.workbench"), "Enter open turn"), (Press("transcript.inspect"), "whole request")],
        sees: &["[Request]", "Mood of: I love it"],
        goal: 2,
        was: "no way: a list of sizes and pieces",
        ..TASK
    },
    Task {
        name: "The error of a run that failed",
        from: "the end of the run",
        model: "sample:missing_field,every",
        before: &[(Press("run.start"), "✗ ")],
        does: &[],
        sees: &["✗ Failed", "mood: missing field"],
        goal: 0,
        was: "0 (`expected field, got nil`)",
    },
    Task {
        name: "The last two runs compared",
        from: "an editor or the run, after two runs",
        before: &[
            (Press("run.start"), "✓ returned"),
            (Press("focus.prompt"), "Mood of"),
            (Type("Be brief. "), "Be brief. "),
            (Press("run.start"), "[2 ✓ json]"),
            (Press("focus.prompt"), "Mood of"),
        ],
        does: &[(Press("screen.compare"), "2 runs")],
        sees: &["run 2 against run 1: first difference at r0/t1: request"],
        goal: 1,
        was: "5 (mark both in the sessions)",
        ..TASK
    },
    Task {
        name: "The failing turn of a long run",
        from: "the sessions, the run selected",
        before: &[
            (Press("screen.sessions"), "Sessions"),
            (Press("sessions.filter"), "search"),
            (Type("turns>30"), "1 of 29 shown"),
            (Press("filter.down"), "Enter open"),
        ],
        does: &[(Press("sessions.open"), "read-only"), (Press("transcript.next_failure"), "failure 1 of")],
        sees: &["failure 1 of"],
        goal: 2,
        was: "up to 34 (every card, one by one)",
        ..TASK
    },
    Task {
        name: "The failure of a tool, across sessions",
        from: "any screen",
        before: &[],
        does: &[
            (Press("screen.sessions"), "Sessions"),
            (Press("sessions.failures"), "What failed"),
            (Press("fixes.apply"), "read-only"),
        ],
        sees: &["✗"],
        goal: 3,
        was: "no way",
        ..TASK
    },
    Task {
        name: "Two prompts on the cases (A/B)",
        from: "an editor, the prompt changed",
        before: &[(Type("Be brief. "), "● unsaved")],
        does: &[(Press("run.against_saved"), "agent")],
        sees: &["saved  json", "draft  json", "20 of 20 trials"],
        goal: 2,
        was: "no way",
        ..TASK
    },
];
