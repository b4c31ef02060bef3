//! Interpretation of a reply that a user types: its state and its issues.
//!
//! In: a reader of the turn, the kind of content that the request wants, its schema, the text so far. Out: a line about its state and one
//! for each issue. Pure; nothing is applied. It must never judge by itself: that is for the reader. A run whose agent cannot be read any
//! more has no reader, nor has a turn before which turns are missing: their definitions are unknown.

use std::collections::HashMap;
use std::sync::Arc;

use ptc_core::lisp;
use ptc_core::reply::stream::Phase;

use super::partial::{self, PartialReply};
use crate::engine::{Reader, Remark, ReplyJudgement, ReplyValidity, Turn};
use crate::event::{Address, Edit, JsonText, RunStart};

/// The interpretation of a typed text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InputCheck {
    /// In words, such as `object open, 1 of 2 fields`.
    pub state: String,
    /// Its validity: whether the run would accept it.
    pub validity: ReplyValidity,
    /// Errors and remarks.
    pub remarks: Vec<Remark>,
}

impl InputCheck {
    /// Reads a text as the reply to a request that wants this: program, json, text, `control_json`. Without a reader it is only read.
    pub fn of(reader: Option<&Arc<Reader>>, want: &str, schema: Option<&JsonText>, text: &str) -> Self {
        match want {
            _ if text.trim().is_empty() => Self::so_far("nothing yet"),
            "program" => program(reader, text),
            "json" | "control_json" => json(reader, schema, text),
            _ => Self { state: "text".to_owned(), validity: ReplyValidity::Fits, remarks: Vec::new() },
        }
    }

    /// An incomplete text.
    pub fn so_far(state: impl Into<String>) -> Self {
        Self { state: state.into(), ..Self::default() }
    }

    /// A text with the reader's notes.
    pub fn judged(state: impl Into<String>, judged: ReplyJudgement) -> Self {
        let state = state.into();
        let state = if judged.does.is_empty() { state } else { format!("{state} · {}", judged.does) };
        Self { state, validity: judged.validity, remarks: judged.remarks }
    }

    /// A text with something wrong at a place of it.
    pub fn wrong(state: impl Into<String>, place: impl Into<String>, message: impl Into<String>) -> Self {
        let remark = Remark { place: place.into(), message: message.into(), is_error: true };
        Self { state: state.into(), validity: ReplyValidity::Wrong, remarks: vec![remark] }
    }
}

fn program(reader: Option<&Arc<Reader>>, text: &str) -> InputCheck {
    let found = partial::program(text);
    let state = found.map_or_else(|| "no program yet".to_owned(), partial::program_state);
    let state = if state == partial::WHOLE { "a whole program".to_owned() } else { state };
    match (reader, found) {
        (Some(reader), _) => InputCheck::judged(state, reader.typed(text)),
        (None, Some(program)) => InputCheck::judged(state, read_only(program)),
        (None, None) => InputCheck::so_far(state),
    }
}

/// The result of reading a program without running it.
pub fn read_only(program: &str) -> ReplyJudgement {
    let open = !["", partial::WHOLE].contains(&partial::program_state(program).as_str());
    match lisp::read(program, lisp::Budget::default()) {
        Ok(_) => ReplyJudgement::fine(ReplyValidity::Reads),
        // An error that more text can fix is not reported yet.
        Err(_) if open && !partial::program_state(program).starts_with("not a program") => ReplyJudgement::default(),
        Err(error) => {
            let place = error.span.map_or_else(String::new, |span| {
                let place = span.line_col(program);
                format!("{}:{}", place.line, place.column)
            });
            let message = format!("{}: {}", error.reason.name(), error.message());
            ReplyJudgement::of(ReplyValidity::Wrong, vec![Remark { place, message, is_error: true }])
        }
    }
}

fn json(reader: Option<&Arc<Reader>>, schema: Option<&JsonText>, text: &str) -> InputCheck {
    let mut partial = PartialReply::new(schema, reader.cloned());
    partial.take(text);
    let state = partial.describe(text);
    match (reader, partial.json().map(ptc_core::reply::stream::JsonPush::phase)) {
        (Some(reader), Some(Phase::Complete | Phase::Failed)) => InputCheck::judged(state, reader.typed(text)),
        _ => InputCheck { state, validity: ReplyValidity::Open, remarks: partial.remarks().to_vec() },
    }
}

#[cfg(test)]
pub(in crate::tui) mod tests {
    use ptc_core::value::json;

    use super::*;
    use crate::engine::Turn;
    use crate::event::RunStart;

    /// The reader of a turn of an agent.
    pub(in crate::tui) fn reader(agent: &str, turn: Turn) -> Arc<Reader> {
        let mut start = RunStart { context: JsonText::of(&json::parse("{}").unwrap()), ..RunStart::default() };
        start.agent.toml = agent.to_owned();
        Arc::new(Reader::of(&start, [].iter(), usize::MAX).expect("a whole agent").for_turn(turn))
    }

    fn judgement(agent: &str, want: &str, text: &str) -> (ReplyValidity, String) {
        let reader = reader(agent, Turn { want: want.to_owned(), ..Turn::default() });
        let check = InputCheck::of(Some(&reader), want, None, text);
        let remarks: Vec<String> =
            check.remarks.iter().map(|remark| format!("{}: {}", remark.place, remark.message)).collect();
        (check.validity, format!("{} | {}", check.state, remarks.join("; ")))
    }

    const JSON: &str = "mode = 'json'\nprompt = 'go'\nsignature = '() -> {a :int, b :string}'\n";

    #[test]
    fn an_answer_is_judged_as_the_engine_does() {
        assert_eq!(judgement(JSON, "json", "").1, "nothing yet | ");
        assert_eq!(judgement(JSON, "json", r#"{"a": 1, "b": "x"}"#).0, ReplyValidity::Fits);
        assert_eq!(
            judgement(JSON, "json", r#"{"a": 1, "b": "x", "more": 1}"#).0,
            ReplyValidity::Fits,
            "extra fields are allowed"
        );
        let (validity, words) = judgement(JSON, "json", r#"{"a": "one", "b": "x"}"#);
        assert!(validity == ReplyValidity::Wrong && words.contains("a: expected int"), "{words}");
        let (validity, words) = judgement(JSON, "json", "[1]");
        assert!(validity == ReplyValidity::Wrong && words.contains("json_parse_error"), "{words}");
        let strict = format!("{JSON}recovery = 'strict'\n");
        assert_eq!(judgement(&strict, "json", "Here: {\"a\": 1, \"b\": \"x\"}").0, ReplyValidity::Wrong);
        assert_eq!(judgement(JSON, "json", "Here: {\"a\": 1, \"b\": \"x\"}").0, ReplyValidity::Fits);
    }

    #[test]
    fn what_is_not_whole_yet_is_open_and_its_whole_fields_are_judged() {
        let (validity, words) = judgement(JSON, "json", r#"{"a": "one", "b": "x"#);
        assert_eq!(validity, ReplyValidity::Open);
        assert!(words.contains("object open") && words.contains("a: expected int"), "{words}");
        assert_eq!(judgement(JSON, "json", "I think").0, ReplyValidity::Open);
        assert_eq!(
            InputCheck::of(None, "json", None, r#"{"a": 1}"#).validity,
            ReplyValidity::Open,
            "it cannot be judged"
        );
    }

    #[test]
    fn control_objects_are_judged_by_their_own_rules() {
        let agent = "mode = 'json_loop'\nprompt = 'go'\nsignature = '() -> {n :int}'\n[tools.find]\nkind = 'table'\nsignature = '(q :string) -> :any'\ndescription = 'finds'\ndefault = 1\n";
        let judgement = |text: &str| judgement(agent, "control_json", text);
        for (text, words) in [
            (r#"{"thought": "t", "tool_call": {"name": "nope", "arguments": {}}}"#, "unknown tool `nope`"),
            (r#"{"thought": "t", "tool_call": {"name": "find", "arguments": {"q": 7}}}"#, "invalid_tool_args"),
            (r#"{"thought": "t", "final_answer": {"n": "x"}}"#, "final_answer.n: expected int"),
            (
                r#"{"thought": "t", "tool_call": {"name": "find", "arguments": {"q": "a"}}, "final_answer": {"n": 1}}"#,
                "exactly one",
            ),
        ] {
            let (validity, remark) = judgement(text);
            assert!(validity == ReplyValidity::Wrong && remark.contains(words), "{text}: {remark}");
        }
        let (validity, remark) =
            judgement(r#"{"thought": "t", "tool_call": {"name": "find", "arguments": {"q": "a"}}}"#);
        assert!(validity == ReplyValidity::Fits && remark.contains("· calls find"), "{remark}");
        assert!(judgement(r#"{"thought": "t", "final_answer": {"n": 1}}"#).1.contains("· answers"));
        let (validity, remark) = judgement(r#"{"thought": "t", "final_answer": {"n": "x", "#);
        assert!(validity == ReplyValidity::Open && remark.contains("final_answer.n: expected int"), "{remark}");
        let (validity, remark) =
            judgement(r#"{"thought": "t", "tool_call": {"name": "nope", "arguments": {"q": 1}}, "#);
        assert!(validity == ReplyValidity::Open && remark.contains("tool_call.name: "), "{remark}");
    }

    #[test]
    fn a_program_is_judged_at_its_position_in_the_reply() {
        let agent = "mode = 'ptc_lisp'\nprompt = 'go'\nsignature = '() -> :int'\n";
        let judgement = |text: &str| judgement(agent, "program", text);
        assert_eq!(judgement("I count."), (ReplyValidity::Open, "no program yet | ".to_owned()));
        assert_eq!(judgement("(count [1"), (ReplyValidity::Open, "2 brackets open | ".to_owned()));
        assert_eq!(judgement("(count [1])"), (ReplyValidity::Reads, "a whole program | ".to_owned()));
        assert_eq!(judgement("(count [1)").0, ReplyValidity::Wrong);
        let (validity, remark) = judgement("I count:\n```clojure\n(return (cuont [1]))\n```\n");
        assert!(
            validity == ReplyValidity::Wrong && remark.contains("3:10: unbound_var: unknown name `cuont`"),
            "{remark}"
        );
        let (validity, remark) = judgement("```clojure\n1\n```\n```clojure\n2\n```\n");
        assert!(validity == ReplyValidity::Wrong && remark.contains("multiple_code_blocks"), "{remark}");
    }
}

/// Maximum bytes of a context whose keys are read.
const CONTEXT_BYTES: usize = 1 << 20;

/// The readers of the runs of a transcript.
#[derive(Debug, Clone, Default)]
pub(super) struct Readers {
    /// With the number of edits that it knows.
    of_runs: HashMap<Address, (usize, Option<Arc<Reader>>)>,
    edits: Vec<(Address, Edit)>,
}

impl Readers {
    /// Takes an edit.
    pub(super) fn edited(&mut self, at: &Address, edit: &Edit) {
        self.edits.push((at.run_part(), edit.clone()));
    }

    /// The reader of a turn of a run.
    pub(super) fn of(&mut self, run: &Address, start: &RunStart, turn: Turn) -> Option<Arc<Reader>> {
        let edits = self.edits.iter().filter(|(at, _)| at == run).map(|(_, edit)| edit);
        let count = edits.clone().count();
        let known = self.of_runs.entry(run.clone()).or_insert((usize::MAX, None));
        if known.0 != count {
            *known = (count, Reader::of(start, edits, CONTEXT_BYTES).map(Arc::new));
        }
        known.1.as_ref().map(|reader| Arc::new(reader.for_turn(turn)))
    }
}
