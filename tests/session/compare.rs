//! Comparisons of sessions: what belongs together, where they part, and totals that add up.

use ptc_workbench::agent::Agent;
use ptc_workbench::event::{Envelope, Spending};
use ptc_workbench::model::script;
use ptc_workbench::session::diff::{Comparison, Side, TurnPart, compare};
use ptc_workbench::workbench::comparison::{Frame, against, totals, turns};
use ptc_workbench::workbench::example_sessions;

use super::run_into;
use crate::engine::Memory;

const AGENT: &str = "name = \"sums\"\nmode = \"json\"\nmax_turns = 4\nprompt = \"Add {{a}}\"\nsignature = \"(a :int) -> {sum :int, why :string?}\"\n";
const PROGRAMS: &str = "name = \"sums\"\nmode = \"ptc_lisp\"\nmax_turns = 4\nprompt = \"Add {{a}}\"\nsignature = \"(a :int) -> {sum :int}\"\n";

/// The events of a run whose model gives these replies, one after the other.
async fn events(toml: &str, context: &str, replies: &[&str]) -> Vec<Envelope> {
    let sink = Memory::default();
    let replies: Vec<String> = replies.iter().map(|reply| (*reply).to_owned()).collect();
    run_into(&sink, &Agent::from_toml(toml, "a.toml").unwrap(), context, &script(replies)).await;
    sink.events()
}

async fn side(name: &str, toml: &str, context: &str, replies: &[&str]) -> Side {
    Side::of(name, events(toml, context, replies).await, None)
}

/// The rows as numbers of turns, `-` where there is none, `!` where they differ.
fn rows(comparison: &Comparison) -> Vec<String> {
    let cell = |column: usize, place: Option<_>| {
        let turn = place.and_then(|place| comparison.turn(column, place));
        turn.map_or_else(|| "-".to_owned(), |turn| turn.address.to_string())
    };
    let row = |row: &ptc_workbench::session::diff::Row| {
        let cells: Vec<String> = row.cells.iter().enumerate().map(|(column, place)| cell(column, *place)).collect();
        format!("{}{}", cells.join(" "), if row.differs { " !" } else { "" })
    };
    comparison.rows.iter().map(row).collect()
}

fn rendered(comparison: &Comparison, columns: usize) -> String {
    let frame = Frame { columns, whole: false, words: false };
    let mut lines = [totals(comparison, frame), turns(comparison, frame)].concat();
    lines.extend(comparison.pairs.iter().flat_map(|pair| against(comparison, pair, frame)));
    lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_same_run_has_no_difference() {
    let one = || side("one", AGENT, r#"{"a":2}"#, &["{\"sum\": \"x\"}", "{\"sum\": 2}"]);
    let comparison = compare(vec![one().await, one().await, one().await]);
    assert!(comparison.is_same());
    assert_eq!(rows(&comparison), ["r0/t1 r0/t1 r0/t1", "r0/t2 r0/t2 r0/t2"]);
    assert!(
        rendered(&comparison, 80).contains("run 2 against run 1: no difference\nrun 3 against run 1: no difference")
    );
}

#[tokio::test]
async fn the_first_divergence_is_the_first_part_of_the_first_turn_that_differs() {
    let replies = ["{\"sum\": \"x\"}", "{\"sum\": 2}"];
    let base = side("base", AGENT, r#"{"a":2}"#, &replies).await;
    let first = |other: Side| {
        let found = compare(vec![base.clone(), other]).pairs.remove(0).first.unwrap();
        (found.at.to_string(), found.part)
    };
    let at = |turn: &str, part| (turn.to_owned(), Some(part));
    let other_prompt = AGENT.replace("Add", "Sum up");
    assert_eq!(first(side("p", &other_prompt, r#"{"a":2}"#, &replies).await), at("r0/t1", TurnPart::Request));
    assert_eq!(first(side("c", AGENT, r#"{"a":3}"#, &replies).await), at("r0/t1", TurnPart::Request));
    assert_eq!(
        first(side("r", AGENT, r#"{"a":2}"#, &[replies[0], "{\"sum\": 3}"]).await),
        at("r0/t2", TurnPart::Reply)
    );
    assert_eq!(first(side("s", AGENT, r#"{"a":2}"#, &["{\"sum\": 2}"]).await), at("r0/t1", TurnPart::Reply));
    let program = |text: &str| format!("```clojure\n{text}\n```");
    let (one, other) = (program("(return {:sum 2})"), program("(return {:sum   3})"));
    let (one, other) =
        (side("1", PROGRAMS, r#"{"a":2}"#, &[&one]).await, side("2", PROGRAMS, r#"{"a":2}"#, &[&other]).await);
    let pair = compare(vec![one, other]).pairs.remove(0);
    let parts: Vec<TurnPart> = pair.turns[0].parts.iter().map(|part| part.part).collect();
    assert_eq!(parts, [TurnPart::Reply, TurnPart::Program, TurnPart::Value]);
}

#[tokio::test]
async fn one_correction_more_is_a_gap_and_an_answer_is_next_to_an_answer() {
    let short = side("short", AGENT, r#"{"a":2}"#, &["{\"sum\": 2}"]).await;
    let long = side("long", AGENT, r#"{"a":2}"#, &["nothing", "{\"sum\": \"x\"}", "{\"sum\": 2}"]).await;
    let programs =
        side("programs", PROGRAMS, r#"{"a":2}"#, &["```clojure\n(+ 1 1)\n```", "```clojure\n(return {:sum 2})\n```"])
            .await;
    let comparison = compare(vec![short.clone(), long.clone(), programs]);
    assert_eq!(rows(&comparison), ["- r0/t1 r0/t1 !", "- r0/t2 - !", "r0/t1 r0/t3 r0/t2 !"]);
    assert!(comparison.pairs.iter().all(|pair| pair.answers.is_empty()), "the answers are the same");
    let shorter = compare(vec![long, short]);
    assert_eq!(rows(&shorter), ["r0/t1 - !", "r0/t2 - !", "r0/t3 r0/t1 !"]);
    // The heading counts turns, the rows lay them out: both have a first turn, and one of them has no counterpart.
    let frame = Frame { columns: 80, whole: false, words: false };
    let shown: Vec<String> = against(&shorter, &shorter.pairs[0], frame).into_iter().map(|line| line.text).collect();
    assert_eq!(shown[0], "run 2 against run 1: first difference at r0/t1: reply");
    assert!(shown.contains(&"  t1: only in run 1".to_owned()), "{shown:?}");
}

#[tokio::test]
async fn values_are_compared_by_path_and_programs_as_they_are_laid_out() {
    let one = side("1", AGENT, r#"{"a":2}"#, &["{\"sum\": 2, \"why\": \"so\"}"]).await;
    let other = side("2", AGENT, r#"{"a":3}"#, &["{\"sum\": 3}"]).await;
    let comparison = compare(vec![one, other]);
    let pair = &comparison.pairs[0];
    let changes: Vec<String> = pair.answers.iter().map(|found| format!("{} {}", found.path, found.change())).collect();
    assert_eq!(changes, ["r0.sum changed", "r0.why removed"]);
    assert_eq!(pair.inputs[0].path, "r0.a");
    let text = rendered(&comparison, 80);
    for line in ["      sum  2 → 3", "      - why  \"so\"", "      a  2 → 3", "      - Add 2", "      + Add 3"] {
        assert!(text.lines().any(|shown| shown == line), "{line:?} is missing:\n{text}");
    }
    let program = |text: &str| format!("```clojure\n{text}\n```");
    let one = side("1", PROGRAMS, r#"{"a":2}"#, &[&program("(return {:sum   2})")]).await;
    let other = side("2", PROGRAMS, r#"{"a":2}"#, &[&program("(return\n  {:sum 2})")]).await;
    let pair = compare(vec![one, other]).pairs.remove(0);
    let parts: Vec<TurnPart> = pair.turns[0].parts.iter().map(|part| part.part).collect();
    assert_eq!(parts, [TurnPart::Reply], "only the layout differs");
}

#[tokio::test]
async fn runs_that_ended_otherwise_say_how() {
    let good = side("good", AGENT, r#"{"a":2}"#, &["{\"sum\": 2}"]).await;
    let bad = side("bad", AGENT, r#"{"a":2}"#, &["no", "no", "no", "no"]).await;
    let comparison = compare(vec![good.clone(), bad]);
    let (_, left, right) = &comparison.pairs[0].ends[0];
    assert!(left == "returned" && right.starts_with("json_parse_error: "), "{left} {right}");
    let mut events = events(AGENT, r#"{"a":2}"#, &["{\"sum\": 2}"]).await;
    events.truncate(events.len() - 2);
    let comparison = compare(vec![good, Side::of("torn", events, None)]);
    assert_eq!(comparison.pairs[0].ends[0].2, "not finished");
}

#[test]
fn totals_of_the_examples_add_up() {
    for session in example_sessions() {
        let side = Side::of(session.header.id.as_str(), session.events(), None);
        let usages: Vec<_> = side.runs.iter().map(|run| run.step.usage.clone()).collect();
        let comparison = compare(vec![side.clone(), side]);
        assert!(comparison.is_same());
        let sum = &comparison.columns[0].totals;
        let total = |read: fn(&ptc_workbench::agent::Usage) -> u64| usages.iter().map(read).sum::<u64>();
        let tokens = |spending: &Spending| spending.tokens.map_or(0, |tokens| tokens.total());
        let (own, children, all) = (&sum.own.spending, &sum.children.spending, &sum.all.spending);
        let id = &session.header.id;
        assert_eq!(u64::from(own.turns), total(|usage| usage.own.turns.into()), "{id}");
        assert_eq!(u64::from(own.requests), total(|usage| usage.own.requests.into()), "{id}");
        assert_eq!(u64::from(all.turns), total(|usage| usage.total.turns.into()), "{id}");
        assert_eq!(u64::from(all.requests), total(|usage| usage.total.requests.into()), "{id}");
        assert_eq!(all.turns, own.turns + children.turns, "{id}");
        assert_eq!(tokens(all), total(|usage| usage.total.tokens.map_or(0, |tokens| tokens.total())), "{id}");
        assert_eq!(tokens(all), tokens(own) + tokens(children), "{id}");
    }
}

#[test]
fn any_two_examples_can_be_compared_and_fit_their_columns() {
    let sides: Vec<Side> =
        example_sessions().iter().map(|session| Side::of(session.header.id.as_str(), session.events(), None)).collect();
    for other in &sides {
        let comparison = compare(vec![sides[0].clone(), other.clone(), sides[7].clone()]);
        for columns in [40, 80, 140] {
            for line in rendered(&comparison, columns).lines() {
                assert!(ptc_core::text::width::width(line) <= columns, "{columns}: {line}");
            }
        }
        for pair in &comparison.pairs {
            let turns = |side: &Side| side.runs.iter().map(|run| run.turns.len()).sum::<usize>();
            let column = |column: usize| &comparison.columns[column].side;
            assert_eq!(pair.turns.iter().filter(|turn| turn.left.is_some()).count(), turns(column(0)));
            assert_eq!(pair.turns.iter().filter(|turn| turn.right.is_some()).count(), turns(column(pair.column)));
        }
    }
}
