//! Contexts: inputs converted and checked at their place, names without a value, and Steps as contexts.

use ptc_core::value::{Json, json};
use ptc_workbench::agent::{Agent, Context, Mode, Plan, Step};
use ptc_workbench::event::ErrorRecord;

use super::lines;

fn plan(prompt: &str, signature: &str, validation: &str) -> Plan {
    let builder = Agent::builder().mode(Mode::Json).prompt(prompt).signature(signature);
    let builder = builder.signature_validation(validation);
    builder.plan().unwrap()
}

fn parsed(text: &str) -> Json {
    json::parse(text).unwrap()
}

fn findings(prompt: &str, signature: &str, context: &str) -> Vec<String> {
    lines(&plan(prompt, signature, "enabled").check_context(&parsed(context)).1)
}

#[test]
fn a_context_must_be_an_object() {
    assert_eq!(
        findings("x", "(a :int) -> :int", " [1]"),
        ["error context 1..4: the context must be a JSON object such as {\"text\": \"…\"}, found a list"]
    );
}

#[test]
fn inputs_are_converted_and_problems_are_at_their_place() {
    let (value, found) =
        plan("{{n}}", "(n :int, f :float) -> :int", "enabled").check_context(&parsed(r#"{"n": "42", "f": 1}"#));
    assert_eq!(Json::from(&value).to_text(), r#"{"f":1,"n":42}"#);
    assert_eq!(lines(&found), ["warning context 6..10: `n`: converted string \"42\" to int 42"]);
    assert_eq!(
        findings(
            "{{#items}}{{p}}{{/items}}",
            "(items [{p :float}]) -> :int",
            r#"{"items": [{"p": 1}, {"p": "x"}, {}]}"#
        ),
        [
            "error context 27..30: `items.1.p`: expected float, got string",
            "error context 33..34: `items.2.p` is missing; add it to the context",
        ]
    );
}

#[test]
fn the_agent_says_how_strict_the_check_is() {
    let check = |validation: &str, context: &str| {
        let (value, found) = plan("{{n}}", "(n :int) -> :int", validation).check_context(&parsed(context));
        (Json::from(&value).to_text(), lines(&found))
    };
    let expected = |severity: &str, message: &str| vec![format!("{severity} context 6..9: `n`: {message}")];
    assert_eq!(check("strict", r#"{"n": "4"}"#).1, expected("error", "expected int, got string"));
    assert_eq!(check("warn_only", r#"{"n": "x"}"#).1, expected("warning", "expected int, got string"));
    assert_eq!(check("disabled", r#"{"n": "x"}"#), (r#"{"n":"x"}"#.to_owned(), vec![]));
}

#[test]
fn a_name_without_a_value_is_reported_once() {
    assert_eq!(
        findings("{{a}} {{b}}", "(a :string, b :string?) -> :int", "{}"),
        ["error context 0..1: `a` is missing; add it to the context"],
        "an optional parameter that is absent is nil"
    );
    assert_eq!(
        findings("{{b}}", "() -> :int", "{}"),
        ["warning prompt 0..5: `b` has no value in the context; {{b}} stays in the text as written"]
    );
}

#[test]
fn inputs_that_reach_nothing_are_reported_with_what_is_probably_meant() {
    assert_eq!(
        findings("{{text}}", "(text :string) -> :int", r#"{"txt": "hi"}"#),
        ["error context 0..1: `text` is missing, and `txt` is not a parameter; did you mean `text`?"]
    );
    let plan = |prompt: &str| {
        let text = format!("mode = \"text\"\nprompt = \"{prompt}\"\nsignature = \"(text :string) -> :string\"\n");
        Plan::new(&Agent::from_toml(&text, "a.toml").unwrap()).unwrap()
    };
    let found = plan("{{text}}").check_context(&parsed(r#"{"text": "a", "max_turns": 3, "tone": 1, "size": 2}"#)).1;
    assert_eq!(
        found.iter().map(|found| found.message.as_str()).collect::<Vec<_>>(),
        [
            "`max_turns` does not reach the model: the prompt does not use it; write `{{max_turns}}`. If you meant the key of the agent, move it to the top, above the first [table]",
            "`tone`, `size` do not reach the model: the prompt does not use them; write `{{tone}}` and `{{size}}`",
        ]
    );
}

#[test]
fn files_reach_the_model_and_values_next_to_a_verbatim_prompt_do_not() {
    let found = |text: &str, context: &str| -> Vec<String> {
        let plan = Plan::new(&Agent::from_toml(text, "a.toml").unwrap()).unwrap();
        plan.check_context(&parsed(context)).1.into_iter().map(|found| found.message).collect()
    };
    let file = r#"{"photo": {"file": "a.png"}}"#;
    for mode in ["text", "json"] {
        for verbatim in ["", "verbatim = true\n"] {
            let signature = "signature = '(photo :file) -> {x :string}'\n";
            let text = format!("mode = '{mode}'\nprompt = 'Look'\n{verbatim}{signature}");
            let reach = |found: &String| found.contains("reach") || found.contains("below the prompt");
            assert!(!found(&text, file).iter().any(reach), "{text}");
        }
        let text =
            format!("mode = '{mode}'\nprompt = '{{{{who}}}}'\nverbatim = true\nschema = {{ type = 'object' }}\n");
        let expected = "`who` does not reach the model: the prompt does not use it; it is plain text (`verbatim`), so write the value there";
        assert_eq!(found(&text, r#"{"who": "Bob"}"#), [expected], "{text}");
    }
}

fn step(answer: &str) -> Step {
    Step {
        name: "first".to_owned(),
        answer: Some(parsed(answer)),
        field_descriptions: vec![("a".to_owned(), "about a".to_owned()), ("z".to_owned(), "about z".to_owned())],
        ..Step::default()
    }
}

#[test]
fn a_step_is_the_context_of_the_next_agent() {
    let next = plan("{{a}}", "(a :int) -> :int", "enabled");
    let context = Context::from_step(&step(r#"{"a": 1, "b": 2}"#), &next.signature).unwrap();
    assert_eq!(context.json.to_text(), r#"{"a":1,"b":2}"#);
    assert_eq!(context.descriptions, [("a".to_owned(), "about a".to_owned())]);

    let text = Context::from_step(&step("\"hello\""), &next.signature).unwrap();
    assert_eq!(text.json.to_text(), r#"{"a":"hello"}"#);
    let two = plan("{{a}}{{b}}", "(a :int, b :int) -> :int", "enabled");
    assert_eq!(Context::from_step(&step("\"hello\""), &two.signature).unwrap().json.to_text(), "{}");
}

#[test]
fn an_agents_own_description_of_an_input_wins_over_the_one_that_came_with_it() {
    let next = Agent::builder().mode(Mode::Json).prompt("{{a}}").signature("(a :int) -> :int");
    let next = next.describe_input("a", "own").plan().unwrap();
    let context = Context::from_step(&step(r#"{"a": 1, "z": 2}"#), &next.signature).unwrap();
    let described = context.described(&next.agent);
    assert_eq!(described, [("a".to_owned(), "own".to_owned()), ("z".to_owned(), "about z".to_owned())]);
}

#[test]
fn a_failed_step_and_missing_keys_break_the_chain_in_this_order() {
    let next = plan("{{a}}{{c}}", "(a :int, c :int, d :int?) -> :int", "enabled");
    let fail =
        ErrorRecord { reason: "max_turns_exceeded".into(), message: "no answer".into(), ..ErrorRecord::default() };
    let failed = Step { fail: Some(fail), answer: None, ..step("{}") };
    let error = Context::chained(&failed, &next.signature).unwrap_err();
    assert_eq!(error.reason, "chained_failure");
    assert_eq!(error.message, "the earlier step `first` failed with max_turns_exceeded: no answer");
    let error = Context::chained(&step(r#"{"a": 1, "b": 2}"#), &next.signature).unwrap_err();
    assert_eq!(error.reason, "chain_error");
    assert_eq!(error.message, "the earlier step `first` returned `a`, `b`; missing: `c`");
    assert!(Context::chained(&step(r#"{"a": 1, "c": 2}"#), &next.signature).is_ok());
}
