//! Expectations: each form on answers and runs, with the verdict, the score and the lines of what failed.

use ptc_workbench::agent::{Agent, CallEntry, Judgement, Step, Turn};
use ptc_workbench::event::{ErrorRecord, JsonText, Tokens};
use ptc_workbench::event::{OwnUsage, Price, Spending};

use crate::engine::parsed;

fn judgement(expect: &str, step: &Step) -> Judgement {
    let toml = format!("prompt = \"x\"\nmode = \"text\"\n[[cases]]\nname = \"one\"\nexpect = {expect}\n");
    Agent::from_toml(&toml, "a.toml").unwrap().cases().unwrap().remove(0).judgement(step, &[])
}

/// The verdict in words: its name, the score, its lines.
fn words(expect: &str, step: &Step) -> String {
    let Judgement { verdict, score } = judgement(expect, step);
    let lines = verdict.lines().into_iter();
    [format!("{} {score:.2}", verdict.name())].into_iter().chain(lines).collect::<Vec<_>>().join("; ")
}

fn returned(answer: &str) -> Step {
    Step { answer: Some(parsed(answer)), ..Step::default() }
}

fn failed(reason: &str) -> Step {
    let fail = ErrorRecord { reason: reason.to_owned(), message: "so it is".to_owned(), ..ErrorRecord::default() };
    Step { fail: Some(fail), ..Step::default() }
}

/// A run of two turns and three calls.
fn run() -> Step {
    let call = |name: &str, args: &str| CallEntry {
        name: name.to_owned(),
        args: JsonText::of(&parsed(args)),
        ..CallEntry::default()
    };
    let turn = |number: u32, fixes: &[&str], prints: &[&str]| Turn {
        number,
        success: true,
        fixes: fixes.iter().map(|fix| (*fix).to_owned()).collect(),
        prints: prints.iter().map(|text| (*text).to_owned()).collect(),
        ..Turn::default()
    };
    let price = Price { input: 1.0, output: 1.0, ..Price::default() };
    let tokens = Tokens { input: 900, output: 100, ..Tokens::default() };
    let own = OwnUsage::new(Spending::of_tokens(Some(price), tokens).with_counts(2, 2));
    let mut step = returned("{\"n\":3}");
    step.calls = vec![
        call("search", r#"{"query":"lamp","page":1}"#),
        call("search", r#"{"query":"lamp","page":2}"#),
        call("read", r#"{"id":7}"#),
    ];
    step.turns = vec![turn(1, &["closed_fence"], &["looked"]), turn(2, &[], &[])];
    step.usage.total = own.with_children([]);
    step.usage.duration_ms = 1_200;
    step.context = Some(parsed(r#"{"text":"Great lamp"}"#));
    step
}

#[test]
fn each_form_about_an_answer_names_what_failed() {
    let known = [
        ("{ contains = \"lamp\" }", "\"a lamp!\"", "pass 1.00"),
        ("{ contains = [\"a\", \"z\"] }", "\"a lamp!\"", "fail 0.00; \"z\" is not in \"a lamp!\""),
        ("{ contains = 2 }", "[1,2.0]", "pass 1.00"),
        ("{ contains = \"x\" }", "7", "fail 0.00; \"x\" is not in 7"),
        ("{ matches = '^\\d+ items?$' }", "\"12 items\"", "pass 1.00"),
        ("{ matches = '^\\d+$' }", "\"12 items\"", "fail 0.00; expected a match of /^\\d+$/, got \"12 items\""),
        ("{ matches = '1' }", "1", "fail 0.00; expected a match of /1/, got 1"),
        ("{ similar = \"sitting\" }", "\"sitting\"", "pass 1.00"),
        ("{ similar = { to = \"kitten\", at_least = 0.5 } }", "\"sitting\"", "pass 0.57"),
        (
            "{ similar = \"kitten\" }",
            "\"sitting\"",
            "fail 0.57; the similarity is 0.57, expected at least 0.8 to \"kitten\", got \"sitting\"",
        ),
        ("{ near = { to = 100, within = 0.5 } }", "100.5", "pass 1.00"),
        ("{ near = { to = 100, within = \"1 %\" } }", "99", "pass 1.00"),
        ("{ near = { to = 100, within = \"1 %\" } }", "98.9", "fail 0.00; expected 100 ± 1, got 98.9"),
        ("{ set = [\"a\", \"b\"] }", "[\"b\",\"a\",\"b\"]", "pass 1.00"),
        (
            "{ set = [\"a\", \"b\"] }",
            "[\"b\",\"c\"]",
            "fail 0.00; the item \"a\" is missing; the item \"c\" is unexpected",
        ),
        (
            "{ at = { \"n\" = 1, \"list.0\" = { contains = \"x\" } } }",
            "{\"n\":1,\"list\":[\"xy\"],\"more\":2}",
            "pass 1.00",
        ),
        (
            "{ at = { \"n\" = 1, \"m\" = 2 } }",
            "{\"n\":{\"k\":1}}",
            "fail 0.00; n: expected 1, got {\"k\":1}; m: expected a value, got nothing",
        ),
    ];
    for (expect, answer, expected) in known {
        assert_eq!(words(expect, &returned(answer)), expected, "{expect} {answer}");
    }
}

#[test]
fn expectations_are_combined_with_all_any_and_not() {
    let known = [
        ("{ all = [{ contains = \"a\" }, { not = { contains = \"z\" } }] }", "\"a\"", "pass 1.00"),
        (
            "{ all = [{ contains = \"a\" }, { not = { contains = \"a\" } }] }",
            "\"a\"",
            "fail 0.50; all.1.not: contains holds",
        ),
        ("{ any = [\"x\", { matches = \"^a\" }] }", "\"ab\"", "pass 1.00"),
        (
            "{ any = [\"x\", { matches = \"^b\" }] }",
            "\"ab\"",
            "fail 0.00; any.0.value: expected \"x\", got \"ab\"; any.1.matches: expected a match of /^b/, got \"ab\"",
        ),
        (
            "{ all = [{ weight = 3, expect = { contains = \"a\" } }, { contains = \"z\" }], at_least = 0.75 }",
            "\"a\"",
            "pass 0.75",
        ),
        (
            "{ all = [{ weight = 3, expect = { contains = \"z\" } }, { contains = \"a\" }], at_least = 0.75 }",
            "\"a\"",
            "fail 0.25; all: 25 % of the weight is met, expected at least 75 %; all.0.contains: \"z\" is not in \"a\"",
        ),
        (
            "{ all = [{ any = [\"p\", \"q\"] }] }",
            "\"a\"",
            "fail 0.00; all.0.any.0.value: expected \"p\", got \"a\"; all.0.any.1.value: expected \"q\", got \"a\"",
        ),
    ];
    for (expect, answer, expected) in known {
        assert_eq!(words(expect, &returned(answer)), expected, "{expect} {answer}");
    }
}

#[test]
fn the_way_to_an_answer_is_judged_by_calls_and_measures() {
    let known = [
        ("{ run = { calls = { called = [\"search\", \"read\"], never = [\"delete\"] } } }", "pass 1.00"),
        ("{ run = { calls = { order = [\"search\", \"read\"], at_most = { search = 2 } } } }", "pass 1.00"),
        ("{ run = { calls = { args = { search = { query = \"lamp\", page = 2 } } } } }", "pass 1.00"),
        (
            "{ run = { turns = 2, tokens = 1000, cost = 0.002, time_ms = { at_least = 1000, at_most = 1200 } } }",
            "pass 1.00",
        ),
        ("{ run = { errors = 0, repairs = { at_least = 1 } } }", "pass 1.00"),
        (
            "{ run = { calls = { called = \"delete\", never = \"read\" } } }",
            "fail 0.00; run.calls: delete was not called (calls: search, search, read); \
             run.calls: read was called 1 times, expected never",
        ),
        (
            "{ run = { calls = { order = [\"read\", \"search\"] } } }",
            "fail 0.00; run.calls: search does not follow in the order read, search (calls: search, search, read)",
        ),
        (
            "{ run = { calls = { at_most = { search = 1 }, args = { read = { id = 8 } } } } }",
            "fail 0.00; run.calls: search was called 2 times, expected at most 1; \
             run.calls: no call of read has the arguments {\"id\":8}, found {\"id\":7}",
        ),
        (
            "{ run = { turns = 1, repairs = 0 } }",
            "fail 0.00; run.turns: 2, expected at most 1; run.repairs: 1, expected at most 0",
        ),
        ("'(and (= 2 (count turns)) (= \"read\" (:name (last calls))) (= [\"looked\"] prints))'", "pass 1.00"),
        ("'(and (= \"Great lamp\" (:text context)) (= 1000 (:tokens usage)) (= 3 (:n result)))'", "pass 1.00"),
        ("'(= 1 (get-in (nth calls 0) [:args :page]))'", "pass 1.00"),
    ];
    for (expect, expected) in known {
        assert_eq!(words(expect, &run()), expected, "{expect}");
    }
    let unknown = words("{ run = { cost = 1 } }", &returned("1"));
    assert!(unknown.starts_with("fail 0.00; run.cost: unknown: the provider does not count tokens"), "{unknown}");
}

#[test]
fn a_failed_run_passes_only_where_a_part_expects_the_failure() {
    let either = "{ any = [{ fail = \"timeout\" }, { value = 1 }] }";
    assert_eq!(words(either, &failed("timeout")), "pass 1.00");
    assert_eq!(words(either, &returned("1")), "pass 1.00");
    assert!(
        words(either, &failed("max_turns_exceeded")).starts_with("fail 0.00; any.0.fail: expected the failure timeout")
    );
    for expect in ["{ run = { turns = 5 } }", "{ not = { value = 2 } }", "{ any = [1, 2] }"] {
        assert_eq!(
            words(expect, &failed("max_turns_exceeded")),
            "fail 0.00; the run failed with max_turns_exceeded: so it is",
            "{expect}"
        );
    }
    // A run that could not be tried is no result of the agent, also below a combination.
    assert!(words(either, &failed("llm_error")).starts_with("error"));
    let expected = "{ all = [{ fail = \"llm_error\" }] }";
    assert_eq!(words(expected, &failed("llm_error")), "pass 1.00");
}

#[test]
fn a_predicate_that_breaks_off_makes_a_combination_undecided() {
    let verdict = words("{ any = [\"x\", \"(+ result 1)\"] }", &returned("\"a\""));
    assert!(verdict.starts_with("error 0.00; the predicate failed for "), "{verdict}");
}

#[test]
fn what_cannot_be_expected_is_reported_at_its_place() {
    let known = [
        ("{ matches = \"(\" }", "`cases.0.expect.matches`: regex parse error"),
        ("{ near = { to = 1 } }", "needs the key `within`"),
        ("{ near = { to = 1, within = \"x\" } }", "must be a number, or per cent as text"),
        ("{ similar = { at_least = 0.5 } }", "needs the key `to`"),
        ("{ similar = { to = \"x\", at_least = 2 } }", "must be between 0 and 1"),
        ("{ all = [] }", "`cases.0.expect.all` must not be empty"),
        ("{ any = [] }", "`cases.0.expect.any` must not be empty"),
        ("{ all = 1 }", "`cases.0.expect.all` must be a list of expectations"),
        ("{ contains = [] }", "`cases.0.expect.contains` must not be empty"),
        ("{ at = {} }", "`cases.0.expect.at` must not be empty"),
        ("{ run = {} }", "`cases.0.expect.run` must not be empty"),
        ("{ run = { calls = {} } }", "`cases.0.expect.run.calls` must not be empty"),
        ("{ run = { turns = { at_least = 3, at_most = 1 } } }", "can never hold: at_least = 3 is above at_most = 1"),
        ("{ all = [1], at_least = 3 }", "must be between 0 and 1"),
        ("{ all = [{ weight = 0, expect = 1 }] }", "must be above 0"),
        ("{ any = [\"(= reslt 1)\"] }", "`cases.0.expect.any.0` is not a predicate"),
        ("{ run = { turn = 1 } }", "did you mean `turns`?"),
        ("{ run = { calls = { caled = [\"x\"] } } }", "did you mean `called`?"),
        ("{ run = { calls = { args = { x = 1 } } } }", "must be a table of arguments"),
        ("{ contains = \"a\", matches = \"b\" }", "has contains and matches: write one of them"),
    ];
    for (expect, message) in known {
        let toml = format!("prompt = \"x\"\n[[cases]]\nname = \"a\"\nexpect = {expect}\n");
        let error = Agent::from_toml(&toml, "a.toml").unwrap_err().to_string();
        assert!(error.contains(message), "{expect}\n{error}");
    }
    let deep = format!("{}1{}", "{ not = ".repeat(40), " }".repeat(40));
    let toml = format!("prompt = \"x\"\n[[cases]]\nname = \"a\"\nexpect = {deep}\n");
    assert!(Agent::from_toml(&toml, "a.toml").is_err());
}
