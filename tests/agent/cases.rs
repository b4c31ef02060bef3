//! Cases of agent files: how expectations are read, and their verdicts on Steps.

use ptc_workbench::agent::{Agent, Case, CaseChecker, Step, Verdict};
use ptc_workbench::event::{Address, ErrorRecord};

use crate::engine::parsed;

/// The only case of an agent, whose table has these lines.
fn case(lines: &str) -> Case {
    let toml = format!("prompt = \"x\"\nmode = \"text\"\n\n[[cases]]\nname = \"one\"\n{lines}\n");
    Agent::from_toml(&toml, "a.toml").unwrap().cases().unwrap().remove(0)
}

fn returned(answer: &str) -> Step {
    Step { answer: Some(parsed(answer)), ..Step::default() }
}

fn failed(reason: &str) -> Step {
    let fail = ErrorRecord { reason: reason.to_owned(), message: "so it is".to_owned(), ..ErrorRecord::default() };
    Step { fail: Some(fail), ..Step::default() }
}

/// The verdict in words: its name and lines.
fn verdict(lines: &str, step: &Step) -> String {
    let verdict = case(lines).judge(step);
    [vec![verdict.name().to_owned()], verdict.lines()].concat().join("; ")
}

#[test]
fn an_exact_value_is_compared_by_path() {
    let step = returned(r#"{"score":1.0,"tags":["a","c"],"more":true}"#);
    let same = "expect = { tags = [\"a\", \"c\"], more = true, score = 1 }";
    assert_eq!(verdict(same, &step), "pass");
    let other = "expect = { tags = [\"a\", \"b\", \"c\"], score = 2, gone = \"x\" }";
    let shown = "fail; tags.1: expected \"b\", got nothing; score: expected 2, got 1.0; gone: expected \"x\", got nothing; \
                more: expected nothing, got true";
    assert_eq!(verdict(other, &step), shown);
}

#[test]
fn text_is_a_value_unless_it_is_in_brackets() {
    assert_eq!(verdict("expect = \"positive\"", &returned("\"positive\"")), "pass");
    assert_eq!(
        verdict("expect = \"positive\"", &returned("\"negative\"")),
        "fail; expected \"positive\", got \"negative\""
    );
    assert_eq!(verdict("expect = { value = \"(x)\" }", &returned("\"(x)\"")), "pass");
    assert_eq!(verdict("expect = { json = \"null\" }", &returned("null")), "pass");
    assert_eq!(verdict("expect = 3", &returned("3")), "pass");
    assert_eq!(verdict("expect = [1, 2]", &returned("[1,2]")), "pass");
    assert_eq!(verdict("expect = { value = { value = 1 } }", &returned(r#"{"value":1}"#)), "pass");
}

#[test]
fn a_predicate_sees_the_result() {
    let step = returned(r#"{"score":0.9,"word":"a"}"#);
    assert_eq!(verdict("expect = \"(> (:score result) 0.5)\"", &step), "pass");
    assert_eq!(verdict("expect = { predicate = \"result\" }", &step), "pass");
    let shown = "fail; the predicate is false for {\"score\":0.9,\"word\":\"a\"}";
    assert_eq!(verdict("expect = \"(> (:score result) 0.95)\"", &step), shown);
    let broken = verdict("expect = \"(+ (:word result) 1)\"", &step);
    assert!(broken.starts_with("error; the predicate failed for {\"score\":0.9,"), "{broken}");
}

#[test]
fn a_schema_is_named_as_one() {
    let lines = "expect = { schema = { type = \"object\", required = [\"a\"], properties = { a = { minimum = 2 } } } }";
    assert_eq!(verdict(lines, &returned(r#"{"a":2}"#)), "pass");
    assert_eq!(verdict(lines, &returned(r#"{"a":1}"#)), "fail; a: 1 is less than the minimum of 2");
    let text = "expect = { schema = '{\"type\":\"null\"}' }";
    assert_eq!(verdict(text, &returned("null")), "pass");
}

#[test]
fn a_failed_run_fails_its_case_unless_that_is_expected_or_says_nothing_about_the_agent() {
    let exact = "expect = 1";
    assert_eq!(verdict(exact, &failed("max_turns_exceeded")), "fail; the run failed with max_turns_exceeded: so it is");
    assert_eq!(verdict(exact, &failed("llm_error")), "error; the run could not be tried: llm_error: so it is");
    let fails = "expect = { fail = \"timeout\" }";
    assert_eq!(verdict(fails, &failed("timeout")), "pass");
    assert_eq!(
        verdict(fails, &failed("failed")),
        "fail; expected the failure timeout, the run failed with failed: so it is"
    );
    assert_eq!(verdict(fails, &returned("1")), "fail; expected the failure timeout, the run returned 1");
    let waits = Step { waits_for: Some(Address::from("r0/t1/q0")), ..Step::default() };
    assert_eq!(verdict(exact, &waits), "error; the run waits for the answer to r0/t1/q0; cases cannot ask the user");
    assert_eq!(case("").judge(&returned("7")), Verdict::Pass);
}

#[test]
fn a_case_has_the_context_of_its_agent_unless_it_has_its_own() {
    let toml = "prompt = \"x\"\n[[cases]]\nname = \"a\"\nexpect = 1\n[[cases]]\nname = \"b\"\ncontext = '{\"n\":null}'\n\
                expect = 1\n[context]\nn = 4\n";
    let agent = Agent::from_toml(toml, "a.toml").unwrap();
    let inputs: Vec<String> = agent.cases().unwrap().iter().map(|case| case.inputs(&agent).to_text()).collect();
    assert_eq!(inputs, [r#"{"n":4}"#, r#"{"n":null}"#]);
}

#[test]
fn what_cannot_be_a_case_is_reported_at_its_place() {
    let cases = [
        ("name = \"a\"\nexpect = \"(= result 1\"", ":4:10: `cases.0.expect` is not a predicate at line 1, column "),
        (
            "name = \"a\"\nexpect = \"(= (cuont result) 1)\"",
            ":4:10: `cases.0.expect` is not a predicate at line 1, column 5: unknown name `cuont`",
        ),
        ("name = \"a\"\nexpect = { schema = { type = \"objct\" } }", ":4:21: the schema is not a JSON Schema"),
        (
            "name = \"a\"\nexpect = { type = \"object\", required = [\"x\"] }",
            ":4:10: `cases.0.expect` reads as a JSON Schema and as an exact value; write expect = { schema = … }",
        ),
        (
            "name = \"a\"\nexpect = \"(= data/text 1)\"",
            "`cases.0.expect` is not a predicate at line 1, column 4: data/text does not exist here: an expression sees `result`",
        ),
        (
            "name = \"a\"\nexpect = { fail = \"valdation_error\" }",
            "`cases.0.expect.fail`: no run fails with \"valdation_error\"; did you mean `validation_error`?",
        ),
        (
            "name = \"a\"\nexpect = { value = 1, json = \"1\" }",
            "`cases.0.expect` has value and json: write one of them, or expect = { value = … }",
        ),
        ("name = \"a\"\nexpct = 1", ":4:1: unknown key `expct` in [cases.0]; did you mean `expect`?"),
        ("expect = 1", ":2:1: [cases.0] needs the key `name`"),
        (
            "name = \"a\"\nexpect = 1\n[[cases]]\nname = \"a\"\nexpect = 2",
            ":5:1: two cases have the name `a`; rename one",
        ),
        (
            "name = \"a\"\nexpect = 1\ncontext = 3",
            ":5:11: `cases.0.context` must be a table, or JSON text of an object",
        ),
        ("name = \"a\"\nlenient = true", ":2:1: the case `a` has no cassette; remove `lenient`"),
        ("name = \"a\"\ncassette = \"c\"\ncontext = {}", "the case `a` has a cassette, which holds its context"),
    ];
    for (lines, shown) in cases {
        let toml = format!("prompt = \"x\"\n[[cases]]\n{lines}\n");
        let error = Agent::from_toml(&toml, "a.toml").unwrap_err().to_string();
        assert!(error.contains(shown), "{lines}\n{error}\n{shown}");
    }
    let error = Agent::from_toml("cases = 3", "a.toml").unwrap_err().to_string();
    assert!(error.contains("`cases` must be a list of tables"), "{error}");
    let error = Agent::from_toml("cases = \"cs.jsonl\"", "a.toml").unwrap_err().to_string();
    assert!(error.contains("`cases` is a list; write cases = [\"cs.jsonl\"]"), "{error}");
}

/// Returns why a case is refused for an agent with this signature; empty when it is not.
fn misfit(signature: &str, lines: &str) -> String {
    let toml = format!("mode = \"json\"\nprompt = \"{{{{text}}}}\"\n{signature}\n[[cases]]\nname = \"a\"\n{lines}\n");
    let agent = Agent::from_toml(&toml, "a.toml").unwrap();
    CaseChecker::of(&agent).misfit(&agent.cases().unwrap()[0]).unwrap_or_default()
}

#[test]
fn a_case_that_no_answer_can_pass_is_refused_before_a_run() {
    let typed = "signature = \"(text :string, tags [:string]?) -> {stars :int, label :string}\"";
    let known = [
        (
            "[cases.context]\ntext = \"x\"\nexpect = \"(= 1 2)\"",
            "the case `a`: `expect` is a key of the case, not an input; write it next to `context`, above [cases.context]",
        ),
        (
            "expect = { contain = \"good\" }",
            "the case `a`: `expect` can never hold: the answer has no field `contain`; did you mean `contains`?",
        ),
        ("expect = { star = 5, label = \"x\" }", "the answer has no field `star`; did you mean `stars`?"),
        ("expect = { stars = \"5\", label = \"x\" }", "can never hold: `stars`: expected int, got string"),
        ("expect = \"good\"", "can never hold: expected "),
        ("expect = { any = [3, { all = [\"x\"] }] }", "can never hold: expected "),
        ("expect = { at = { stars = \"five\" } }", "`expect` at `stars` can never hold: expected int, got string"),
        ("expect = { at = { labl = \"x\" } }", "the answer has no field `labl`; did you mean `label`?"),
        (
            "expect = \"(> (:star result) 3)\"",
            "reads a field that does not exist: the answer has no field `star`; did you mean `stars`?",
        ),
        ("expect = \"(:star result)\"", "the answer has no field `star`; did you mean `stars`?"),
        ("expect = \"(= 3 (get result :star))\"", "the answer has no field `star`; did you mean `stars`?"),
        ("expect = \"(= 3 (-> result :star))\"", "the answer has no field `star`; did you mean `stars`?"),
        (
            "expect = { at = { \"stars.0\" = 5 } }",
            "at `stars.0` can never hold: a value of the type :int has no part `0`",
        ),
        ("expect = { at = { \"label[0]\" = 5 } }", "the index of an item is a part of its own: `items.0.price`"),
    ];
    for (lines, message) in known {
        let found = misfit(typed, lines);
        assert!(found.contains(message), "{lines}\n{found}");
    }
    let held = [
        "context = { text = \"x\", tags = [\"a\"] }",
        "expect = { stars = 5.0, label = \"x\", more = 1 }",
        "expect = { label = \"x\" }",
        "expect = { not = \"good\" }",
        "expect = { any = [3, { contains = \"x\" }] }",
        "expect = { fail = \"timeout\" }",
        "expect = \"(and (> (:stars result) 3) (nil? (:reason result)))\"",
        "expect = \"(nil? (:star result))\"",
        "expect = \"(= nil (:star result))\"",
        "expect = \"(let [result {:star 4}] (> (:star result) 3))\"",
        "context = { text = \"x\", name = \"an input that programs read\" }",
        "expect = \"(:reason result)\"",
        "expect = { at = { reason = 5 } }",
        "expect = { run = { calls = { never = [\"delete\"] } } }",
    ];
    for lines in held {
        assert_eq!(misfit(typed, lines), "", "{lines}");
    }
    let listed = "signature = \"(text :string) -> {l [{x :int}]}\"";
    for path in ["l.x", "l.-1.x", "l.first.x"] {
        let found = misfit(listed, &format!("expect = {{ at = {{ \"{path}\" = 3 }} }}"));
        assert!(found.contains("is not the index of an item; items are counted from 0"), "{path}\n{found}");
    }
    assert_eq!(misfit(listed, "expect = { at = { \"l.0.x\" = 3 } }"), "");
    let tooled = "[tools.delete]\nkind = \"command\"\ncommand = [\"true\"]";
    for rule in [
        "never = [\"delet\"]",
        "called = [\"delet\"]",
        "order = [\"delet\"]",
        "at_most = { delet = 1 }",
        "args = { delet = { a = 1 } }",
    ] {
        let found = misfit(tooled, &format!("expect = {{ not = {{ run = {{ calls = {{ {rule} }} }} }} }}"));
        let why = "the case `a`: `expect` names a tool that does not exist: `delet`; did you mean `delete`?";
        assert_eq!(found, why, "{rule}");
    }
    assert_eq!(misfit(tooled, "expect = { run = { calls = { never = [\"delete\", \"search\"] } } }"), "");
    let schema = "schema = '{\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}'";
    assert!(misfit(schema, "expect = { n = \"x\" }").contains("can never hold: the schema refuses this value: `n`"));
    assert_eq!(misfit(schema, "expect = { n = 1 }"), "");
    assert_eq!(misfit("", "context = { name = \"x\" }\nexpect = 3"), "", "without types anything may be");
    assert!(misfit("", "context = { expect = 3 }").contains("`expect` is a key of the case"));
}

#[test]
fn cases_are_written_back_as_tables_and_a_new_one_leaves_the_others_as_they_were() {
    let file = "# mine\nprompt = \"x\"\n\n[[cases]] # the first\nname = \"a\"   # short\nexpect = 1\n\n\
                # the second\n[[cases]]\nname = \"b\"\nexpect = { value = 2 }\n";
    let agent = Agent::from_toml(file, "a.toml").unwrap();
    let written = agent.to_toml();
    assert!(written.contains("\n[[cases]]\nname = \"a\"\nexpect = 1\n"), "{written}");
    assert_eq!(Agent::from_toml(&written, "a.toml").unwrap(), agent);

    let with = |names: &[(&str, &str)]| {
        let cases: Vec<String> =
            names.iter().map(|(name, expect)| format!("{{\"name\":\"{name}\",\"expect\":{expect}}}")).collect();
        let agent = agent.clone().with_option("cases", parsed(&format!("[{}]", cases.join(","))));
        let text = agent.rewrite(file, "a.toml");
        assert_eq!(Agent::from_toml(&text, "a.toml").unwrap(), agent, "{text}");
        text
    };
    let more = with(&[("a", "1"), ("b", "{\"value\":2}"), ("c", "3")]);
    assert_eq!(more, format!("{file}\n[[cases]]\nname = \"c\"\nexpect = 3\n"));
    let changed = with(&[("a", "1"), ("b", "{\"value\":7}")]);
    assert_eq!(changed, file.replace("value = 2", "value = 7"));
    let fewer = with(&[("a", "1")]);
    assert!(
        fewer.starts_with("# mine\nprompt = \"x\"\n\n[[cases]] # the first\nname = \"a\"   # short\nexpect = 1\n"),
        "{fewer}"
    );
    assert!(!fewer.contains("name = \"b\""), "{fewer}");

    let inline = "prompt = \"x\"\ncases = [\n  { name = \"a\", expect = 1 }, # short\n]\n";
    let agent = agent.with_option("cases", parsed(r#"[{"name":"a","expect":1},{"name":"b","expect":2}]"#));
    let text = agent.rewrite(inline, "a.toml");
    assert_eq!(text, inline.replace("# short\n", "# short\n  { name = \"b\", expect = 2 },\n"));
    assert_eq!(Agent::from_toml(&text, "a.toml").unwrap(), agent, "{text}");
}
