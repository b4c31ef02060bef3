//! What a reply that a person types would be read as: how far it is, and what does not fit.
//!
//! In: what the request wants, its schema, the text so far. Out: a line about its state and one for each issue. Pure; nothing is applied.

use ptc_core::lisp;
use ptc_core::reply::{self, Finish, Outcome, Recovery, Want};
use ptc_core::signature::json_schema::unwrap;
use ptc_core::signature::{self, Issue, Policy, Type, from_json_schema};
use ptc_core::value::Json;

use super::partial::{self, Reading};
use crate::event::JsonText;

/// What a typed text is so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Typed {
    /// In words, such as `object open, 1 of 2 fields`.
    pub state: String,
    /// Would it be taken? `None` while that cannot be said.
    pub fits: Option<bool>,
    /// What does not fit: path and what is wrong there.
    pub issues: Vec<(String, String)>,
}

impl Typed {
    /// Reads a text as the reply to a request that wants this: program, json, text, `control_json`.
    pub fn of(want: &str, schema: Option<&JsonText>, text: &str) -> Self {
        match want {
            _ if text.trim().is_empty() => Self { state: "nothing yet".to_owned(), ..Self::default() },
            "program" => program(text),
            "json" | "control_json" => json(schema, text),
            _ => Self { state: "text".to_owned(), ..Self::default() },
        }
    }
}

fn program(text: &str) -> Typed {
    let Some(program) = partial::program(text) else {
        return Typed { state: "no program yet".to_owned(), ..Typed::default() };
    };
    let state = partial::program_state(program);
    match lisp::read(program, lisp::Budget::default()) {
        Ok(_) => Typed { state: "a whole program".to_owned(), fits: Some(true), issues: Vec::new() },
        // What more text can mend is no error yet.
        Err(_) if !state.starts_with("not a program") => Typed { state, ..Typed::default() },
        Err(error) => Typed { fits: Some(false), issues: vec![(state.clone(), error.message())], state },
    }
}

fn json(schema: Option<&JsonText>, text: &str) -> Typed {
    let mut reading = Reading::new(schema);
    reading.take(text);
    let state = reading.describe(text);
    let Some(ty) = schema.and_then(|schema| from_json_schema(&schema.json()).ok()) else {
        return Typed { state, ..Typed::default() };
    };
    let extracted = reply::extract(text, &Want::of(&ty), Recovery::Standard, Finish::Complete, &mut |_: &Json| Ok(()));
    match &extracted.outcome {
        Outcome::Found { json, .. } | Outcome::Rejected { json, .. } => {
            let issues = issues(&ty, json);
            let fits = issues.iter().all(|issue| !issue.is_error());
            let told = |issue: &Issue| (issue.path.to_string(), issue.message.clone());
            Typed { state, fits: Some(fits), issues: issues.iter().map(told).collect() }
        }
        Outcome::Malformed { .. } | Outcome::NotFound => Typed { state, ..Typed::default() },
    }
}

/// Errors and warnings of a value against the type of the answer.
fn issues(ty: &Type, json: &Json) -> Vec<Issue> {
    let inner = match unwrap(ty, json) {
        Ok(inner) => inner,
        Err(issue) => return vec![issue],
    };
    let coerced = signature::coerce(ty, inner.to_value(), Policy::AnswerStandard);
    let mut issues = coerced.issues;
    if issues.iter().any(Issue::is_error) {
        let told: Vec<_> = issues.iter().map(|issue| issue.path.clone()).collect();
        let more = signature::undeclared(ty, &coerced.value).into_iter();
        issues.extend(more.filter(|issue| !told.contains(&issue.path)));
    }
    issues
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    fn schema() -> JsonText {
        let text =
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"]}"#;
        JsonText::of(&json::parse(text).unwrap())
    }

    #[test]
    fn an_answer_is_checked_while_it_is_typed() {
        let typed = |text: &str| Typed::of("json", Some(&schema()), text);
        assert_eq!(typed("").state, "nothing yet");
        assert_eq!(typed(r#"{"a": 1, "b": "x"#).state, "object open, 1 of 2 fields, string unfinished");
        let wrong = typed(r#"{"a": "one", "b": "x"}"#);
        assert_eq!(wrong.fits, Some(false));
        assert_eq!(wrong.issues[0].0, "a");
        let fits = typed(r#"{"a": 1, "b": "x"}"#);
        assert_eq!((fits.fits, fits.issues), (Some(true), Vec::new()));
    }

    #[test]
    fn a_program_is_read_while_it_is_typed() {
        let typed = |text: &str| Typed::of("program", None, text);
        assert_eq!(typed("I count.").state, "no program yet");
        assert_eq!((typed("(count [1").state.as_str(), typed("(count [1").fits), ("2 brackets open", None));
        assert_eq!(typed("(count [1])").fits, Some(true));
        assert_eq!(typed("(count [1)").fits, Some(false));
    }
}
