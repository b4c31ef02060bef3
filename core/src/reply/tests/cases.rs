//! Runs the tables in `cases/*.jsonl`. One case a line: `{name, want, recovery?, finish?, has?, reply, expect}`.
//!
//! `want` is object, list, string, number, bool, any, or a list of words. `has` lists members that an object must have
//! to be accepted. `expect` contains `json` (or `rejected`, `error`, `not_found`), `rule`, and optionally `fixes`
//! (distinct, in order of reading), `ties`, `reasoning` and `incomplete`.

use crate::reply::{
    AnswerShape, CandidateVerdict, ExtractOutcome, Extraction, Finish, Recovery, Reject, Scalar, extract,
};
use crate::value::Json;
use crate::value::json::{Node, parse};

const TABLES: [(&str, &str); 5] = [
    ("find", include_str!("../cases/find.jsonl")),
    ("fences", include_str!("../cases/fences.jsonl")),
    ("repairs", include_str!("../cases/repairs.jsonl")),
    ("levels", include_str!("../cases/levels.jsonl")),
    ("cut", include_str!("../cases/cut.jsonl")),
];

#[test]
fn every_case_of_the_tables_holds() {
    let mut failures = Vec::new();
    let mut count = 0;
    for (table, text) in TABLES {
        for (line, source) in text.lines().enumerate() {
            let case = parse(source).unwrap_or_else(|error| panic!("{table}:{}: {}", line + 1, error.message));
            count += 1;
            if let Err(difference) = check(&case) {
                failures.push(format!("{table}:{} {}: {difference}", line + 1, text_of(&case, "name")));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(count >= 80, "only {count} cases");
}

fn check(case: &Json) -> Result<(), String> {
    let reply = text_of(case, "reply");
    let want = want_of(case.get("want").expect("a case names what it wants"));
    let recovery = case
        .get("recovery")
        .map_or(Recovery::Standard, |level| Recovery::from_name(level.as_str().unwrap_or_default()).expect("a level"));
    let finish = if case.get("finish").is_some() { Finish::Truncated } else { Finish::Complete };
    let found = extract(reply, &want, recovery, finish, &mut |json| accept(&want, case.get("has"), json));
    let expect = case.get("expect").expect("a case has an expectation");
    let outcome = match &found.outcome {
        ExtractOutcome::Found { json, .. } => ("json", Some(json.clone())),
        ExtractOutcome::Rejected { json, .. } => ("rejected", Some(json.clone())),
        ExtractOutcome::Malformed { error } => ("error", Some(Json::str(error.message.clone()))),
        ExtractOutcome::NotFound => ("not_found", None),
    };
    let shown = outcome.1.as_ref().map(Json::to_text).unwrap_or_default();
    let wanted = expect.get(outcome.0).ok_or_else(|| format!("got {} {shown}", outcome.0))?;
    match &outcome {
        ("error", Some(message)) => {
            let (message, part) = (message.as_str().unwrap_or_default(), wanted.as_str().unwrap_or_default());
            if !message.contains(part) {
                return Err(format!("the message is {message:?}"));
            }
        }
        (_, Some(json)) if json != wanted => return Err(format!("got {shown}")),
        _ => {}
    }
    let candidate = found.candidate();
    same(expect, "rule", candidate.map(|candidate| Json::str(candidate.rule.name())).as_ref())?;
    same(expect, "fixes", Some(&fixes_of(&found)))?;
    let ties = found.candidates.iter().filter(|candidate| candidate.verdict == CandidateVerdict::Tied);
    same(expect, "ties", Some(&ties.count().into()))?;
    same(expect, "reasoning", Some(&found.reasoning.len().into()))?;
    if let ExtractOutcome::Malformed { error } = &found.outcome {
        same(expect, "incomplete", Some(&Node::Bool(error.incomplete).into()))?;
    }
    Ok(())
}

fn same(expect: &Json, key: &str, got: Option<&Json>) -> Result<(), String> {
    match expect.get(key) {
        Some(wanted) if Some(wanted) != got => Err(format!("{key} is {}", got.map(Json::to_text).unwrap_or_default())),
        _ => Ok(()),
    }
}

fn fixes_of(found: &Extraction) -> Json {
    let mut names: Vec<&str> = Vec::new();
    for fix in found.candidate().into_iter().flat_map(|candidate| &candidate.fixes) {
        if !names.contains(&fix.kind.name()) {
            names.push(fix.kind.name());
        }
    }
    Json::list(names.into_iter().map(Json::str))
}

fn text_of<'a>(case: &'a Json, key: &str) -> &'a str {
    case.get(key).and_then(Json::as_str).expect("a text")
}

pub(super) fn want_of(want: &Json) -> AnswerShape {
    if let Some(words) = want.items() {
        let words = words.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        return AnswerShape::Scalar(Scalar::Words(words));
    }
    match want.as_str().expect("a name") {
        "object" => AnswerShape::Object,
        "list" => AnswerShape::List,
        "string" => AnswerShape::Scalar(Scalar::String),
        "number" => AnswerShape::Scalar(Scalar::Number),
        "bool" => AnswerShape::Scalar(Scalar::Bool),
        "any" => AnswerShape::Any,
        other => panic!("unknown want {other}"),
    }
}

/// A small caller's check: the shape, then the required members.
pub(super) fn accept(want: &AnswerShape, has: Option<&Json>, json: &Json) -> Result<(), Reject> {
    let shape = match (want, &json.node) {
        (AnswerShape::Any, _)
        | (AnswerShape::Object, Node::Object(_))
        | (AnswerShape::List, Node::List(_))
        | (AnswerShape::Scalar(Scalar::Number), Node::Int(_) | Node::Big(_) | Node::Float(_))
        | (AnswerShape::Scalar(Scalar::Bool), Node::Bool(_))
        | (AnswerShape::Scalar(Scalar::String), Node::Str(_)) => true,
        (AnswerShape::List, _) => json.get("items").is_some_and(|items| items.items().is_some()),
        (AnswerShape::Scalar(_), Node::Object(members)) => members.len() == 1,
        (AnswerShape::Scalar(Scalar::Words(words)), Node::Str(text)) => words.contains(text),
        _ => false,
    };
    if !shape {
        return Err(Reject::Shape("the outer shape is wrong".to_owned()));
    }
    let missing =
        has.and_then(Json::items).into_iter().flatten().filter_map(Json::as_str).find(|key| json.get(key).is_none());
    missing.map_or(Ok(()), |key| Err(Reject::Invalid(format!("{key}: expected field, got nil"))))
}
