//! Every repair of the table: it is made from its level on and not before it, and never inside a string. The samples
//! are `cases/fixes.jsonl`, one for each row of the table.

use super::cases::{accept, want_of};
use crate::reply::{AnswerShape, ExtractOutcome, Extraction, FIXES, Finish, FixKind, Recovery, extract};
use crate::value::Json;
use crate::value::json::{Node, parse};

const SAMPLES: &str = include_str!("../cases/fixes.jsonl");

fn samples() -> impl Iterator<Item = (FixKind, AnswerShape, &'static str)> {
    SAMPLES.lines().map(|line| {
        let row = Box::leak(Box::new(parse(line).expect("a line of JSON")));
        let text = |key: &str| row.get(key).and_then(Json::as_str).expect("a text");
        let kind = FixKind::from_name(text("fix")).expect("a repair");
        let reply: &'static str = Box::leak(text("reply").to_owned().into_boxed_str());
        (kind, want_of(row.get("want").expect("a shape")), reply)
    })
}

fn run(reply: &str, want: &AnswerShape, recovery: Recovery) -> Extraction {
    extract(reply, want, recovery, Finish::Complete, &mut |json| accept(want, None, json))
}

fn makes(found: &Extraction, kind: FixKind) -> bool {
    matches!(found.outcome, ExtractOutcome::Found { .. })
        && found.candidate().is_some_and(|candidate| candidate.fixes.iter().any(|fix| fix.kind == kind))
}

#[test]
fn every_repair_is_made_from_its_level_on_and_not_before() {
    assert!(samples().map(|(kind, ..)| kind).eq(FIXES.iter().map(|row| row.kind)), "one sample for each row, in order");
    for (kind, want, reply) in samples() {
        for level in Recovery::ALL {
            let made = makes(&run(reply, &want, level), kind);
            assert_eq!(made, level >= kind.row().level, "{kind} at {level} in {reply:?}");
        }
    }
}

#[test]
fn the_same_text_inside_a_string_is_unchanged() {
    for (kind, _, sample) in samples() {
        let inner = Json::object([("s", Json::str(sample)), ("t", Json::list([Json::from(Node::Int(1))]))]);
        let valid = format!("So:\n{}", inner.to_text());
        let broken = valid.replace("[1]", "[1,]");
        for (reply, fixes) in [(&valid, &[][..]), (&broken, &[FixKind::TrailingComma][..])] {
            for level in [Recovery::Standard, Recovery::Lenient] {
                let found = run(reply, &AnswerShape::Object, level);
                let made: Vec<_> = found.candidate().into_iter().flat_map(|c| &c.fixes).map(|fix| fix.kind).collect();
                assert_eq!(made, fixes, "{kind} at {level} in {reply:?}");
                assert!(
                    matches!(&found.outcome, ExtractOutcome::Found { json, .. } if *json == inner),
                    "{kind}: {reply:?}"
                );
            }
        }
    }
}

#[test]
fn the_places_of_repairs_are_bytes_of_the_reply() {
    let reply = "é {'a': [1,], \"b\": None /*x*/}";
    let found = run(reply, &AnswerShape::Object, Recovery::Standard);
    let places: Vec<_> = found.candidate().expect("one").fixes.iter().map(|fix| fix.at.text(reply)).collect();
    assert_eq!(places, ["'", ",", "None", "/*x*/"]);
}

#[test]
fn spans_of_repaired_and_of_unescaped_trees_point_into_the_reply() {
    for reply in ["x {'k': ['é', 12,]}", "x {\\\"k\\\": [\\\"é\\\", 12]}", "```json\n{k: [“é” 12]\n```"] {
        let found = run(reply, &AnswerShape::Object, Recovery::Standard);
        let ExtractOutcome::Found { json, .. } = &found.outcome else { panic!("nothing in {reply:?}") };
        let list = json.get("k").and_then(Json::items).expect("a list");
        assert!(json.span.text(reply).starts_with('{'), "{reply:?}");
        assert!(json.members().expect("an object")[0].key_span.text(reply).contains('k'), "{reply:?}");
        assert!(list[0].span.text(reply).contains('é'), "{reply:?}");
        assert_eq!(list[1].span.text(reply), "12", "{reply:?}");
    }
}
