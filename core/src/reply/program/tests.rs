//! Runs the table `cases/programs.jsonl`. One case a line: `{name, reply, recovery?, finish?, first?}` and the expected
//! result (with `first` that of [`first_program`]): `program`, `rule`, `fixes?` and `found?` (the text at its span, if
//! it differs), or `several`, `absent`, `truncated`.

use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;

const CASES: &str = include_str!("../cases/programs.jsonl");

type Find = fn(&str, Recovery, Finish) -> Result<Program, NoProgram>;

fn check(case: &Json) -> Result<(), String> {
    let reply = case["reply"].as_str().unwrap_or_default();
    let recovery = case["recovery"].as_str().and_then(Recovery::from_name).unwrap_or_default();
    let finish = if case["finish"].is_null() { Finish::Complete } else { Finish::Truncated };
    let find: Find = if case["first"] == true { first_program } else { program };
    let found = match find(reply, recovery, finish) {
        Ok(found) => found,
        Err(NoProgram::Truncated) if case["truncated"] == true => return Ok(()),
        Err(NoProgram::Absent) if case["absent"] == true => return Ok(()),
        Err(NoProgram::Several(count)) if case["several"] == count => return Ok(()),
        Err(other) => return Err(format!("{other:?}")),
    };
    let text = case["program"].as_str();
    let fixes: Vec<_> = found.fixes.iter().map(|fix| fix.kind.name()).collect();
    let at = found.span.text(reply);
    let place = case["found"].as_str().or(if fixes.is_empty() { text } else { None }).unwrap_or(at);
    let none = Json::Array(Vec::new());
    let expected = case.get("mends").unwrap_or(&none);
    let good = text == Some(found.text.as_str())
        && case["rule"] == found.rule.name()
        && *expected == Json::from(fixes)
        && at == place;
    if good { Ok(()) } else { Err(format!("{found:?} at {at:?}")) }
}

#[test]
fn every_case_of_the_table_holds() {
    let mut failures = Vec::new();
    for line in CASES.lines() {
        let case: Json = serde_json::from_str(line).unwrap_or_default();
        if let Err(difference) = check(&case) {
            failures.push(format!("{}: {difference}", case["name"]));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(CASES.lines().count() >= 60);
}

#[test]
fn rejections_have_reasons_and_messages() {
    let table = [
        (NoProgram::Truncated, Reason::ReplyTruncated, "shorter"),
        (NoProgram::Several(3), Reason::MultipleCodeBlocks, "3 programs"),
        (NoProgram::Absent, Reason::NoCodeInResponse, "```clojure"),
    ];
    for (refusal, reason, part) in table {
        assert_eq!(refusal.reason(), reason);
        assert!(refusal.message().contains(part));
    }
}

#[test]
fn the_history_keeps_the_program_alone() {
    let history = |reply: &str| {
        program(reply, Recovery::Standard, Finish::Complete).map(|program| program.history()).unwrap_or_default()
    };
    assert_eq!(history("So:\n```lisp\n(a)\n```\nand so on"), "```clojure\n(a)\n```");
    assert_eq!(history("(a)"), "```clojure\n(a)\n```");
    assert_eq!(history("```clojure\n```"), "```clojure\n```");
}

#[test]
fn a_long_reply_is_read_like_a_short_one() {
    // A search that is not linear would take too long here.
    let kind = |found: Result<Program, NoProgram>| match found {
        Ok(found) => found.rule.name(),
        Err(NoProgram::Truncated) => "truncated",
        Err(NoProgram::Several(_)) => "several",
        Err(NoProgram::Absent) => "absent",
    };
    for piece in [
        "a ``` b\n",
        "a ```\n",
        "```clojure\n(a)```\n",
        "<clojure>",
        "```clojure\n(a\n",
        "#_ (",
        "(“",
        "#_#_",
        "(a) <lisp> ",
    ] {
        for start in ["(", "```clojure\n(", "```\n(a\n"] {
            let [short, long] = [10, 20_000].map(|times| format!("{start}{}", piece.repeat(times)));
            for recovery in Recovery::ALL {
                for find in [program, first_program] {
                    let [short, long] = [&short, &long].map(|reply| kind(find(reply, recovery, Finish::Complete)));
                    assert_eq!(short, long, "{start:?} {piece:?} {recovery:?}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_reply_gives_a_program_with_a_place_or_a_refusal(
        reply in prop_oneof![
            any::<String>(),
            "(```|```clojure|<clojure>|</clojure>|<think>|\n|\r\n|\\(|\\)|a|“|”|\"|#_|\u{a0}|\u{feff}| ){0,30}",
        ],
    ) {
        for (recovery, find) in Recovery::ALL.into_iter().flat_map(|level| [(level, program as Find), (level, first_program)]) {
            if let Ok(found) = find(&reply, recovery, Finish::Complete) {
                prop_assert!(reply.get(found.span.start..found.span.end).is_some());
                let again = program(&found.history(), Recovery::Strict, Finish::Complete);
                if !found.text.contains("```") && !found.text.contains('<') && !found.text.contains("#_") {
                    prop_assert_eq!(again.map(|again| again.text), Ok(found.text));
                }
            }
        }
    }
}
