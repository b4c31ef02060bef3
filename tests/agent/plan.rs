//! Construction checks: what refuses a run, what is only worth knowing, and what a plan holds.

use ptc_core::reasons::Reason;
use ptc_core::reply::Recovery;
use ptc_core::signature::Type;
use ptc_core::value::json;
use ptc_workbench::agent::{Agent, Mode, Plan};

use super::lines;

/// The plan of an agent in json mode, unless the text names another.
fn plan(toml: &str) -> Result<Plan, Vec<ptc_workbench::agent::Diagnostic>> {
    let mode = if toml.contains("mode =") { "" } else { "mode = 'json'\n" };
    Plan::new(&Agent::from_toml(&format!("{mode}{toml}"), "a.toml").unwrap())
}

fn findings(toml: &str) -> Vec<String> {
    match plan(toml) {
        Ok(plan) => lines(&plan.warnings),
        Err(found) => lines(&found),
    }
}

#[test]
fn a_plan_holds_what_a_run_needs() {
    let plan = plan("prompt = '{{text}}'\nsignature = '(text :string) -> [{n :int}]'\nrecovery = 'lenient'").unwrap();
    assert_eq!(plan.warnings, []);
    assert_eq!(plan.recovery, Recovery::Lenient);
    assert!(matches!(plan.output, Type::List(_)));
    let schema = plan.schema.unwrap();
    assert_eq!(schema.wrap.key(), Some("items"));
    assert_eq!(
        schema.json.to_text(),
        r#"{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}}},"required":["items"],"additionalProperties":false}"#
    );
}

#[test]
fn an_output_of_any_sends_no_schema() {
    assert!(plan("prompt = 'x'\nsignature = ':any'").unwrap().schema.is_none());
}

#[test]
fn json_mode_says_what_it_refuses_and_what_to_do() {
    let cases: [(&str, &[&str]); 10] = [
        (
            "prompt = 'x'",
            &["error signature: json mode needs a signature that declares the output, such as \
               `(text :string) -> {sentiment :string, score :float}`, or a schema"],
        ),
        (
            "prompt = 'x'\nsignature = ':int'\n[tools.search]\n",
            &[
                "error options: json mode has no tools, and this agent declares `search`; remove them, write `tools = {}` in \
               [modes.json], or use another mode",
            ],
        ),
        (
            "prompt = 'x'\nsignature = ':int'\ncompression = true",
            &["error options: json mode does not shorten its history; remove `compression`"],
        ),
        (
            "prompt = 'x'\nsignature = ':int'\ncompaction = { strategy = 'trim' }",
            &["error options: json mode does not shorten its history; remove `compaction`"],
        ),
        ("prompt = 'x'\nsignature = ':int'\ncompaction = false", &[]),
        (
            "prompt = '{{_a}}'\nsignature = '(_a :string) -> {b {_c :int}}'",
            &[
                "error signature 1..11: json mode refuses names that start with `_`, such as `_a`: nothing is hidden from the \
                 model there; rename the field",
                "error signature 20..27: json mode refuses names that start with `_`, such as `_c`: nothing is hidden from the \
                 model there; rename the field",
            ],
        ),
        ("prompt = 'x'\nsignature = '{a :int}'\nrefs = { label = 'a' }\ncost_limit = 1.5\n[[cases]]\nname = 'c'", &[]),
        ("prompt = ' '\nsignature = ':int'", &["error prompt: the prompt is empty; describe the task"]),
        (
            "mode = 'json_loop'\nfirewall = true\nprompt = '{{_a}}'\nsignature = '(_a :string) -> :int'",
            &[
                "error signature 1..11: json_loop mode refuses names that start with `_`, such as `_a`: nothing is hidden from the \
                 model there; rename the field",
            ],
        ),
        ("mode = 'text'\nprompt = 'x'", &[]),
    ];
    for (toml, expected) in cases {
        assert_eq!(findings(toml), expected, "{toml}");
    }
}

#[test]
fn texts_that_cannot_be_read_are_reported_at_their_place_and_all_at_once() {
    assert_eq!(
        findings("prompt = 'Hi {{name'\nsignature = '(name :string -> :int'\n[tools.x]\n"),
        [
            "error options: json mode has no tools, and this agent declares `x`; remove them, write `tools = {}` in [modes.json], \
             or use another mode",
            "error prompt 3..9: this tag is never closed; write `}}` after the name",
            "error signature 14..16: expected \",\" or \")\" after the parameter \"name\", found \"->\"",
        ]
    );
}

#[test]
fn findings_carry_stable_reasons() {
    let found = plan("prompt = '{{a'\nsignature = '('\nschema = { type = 'objekt' }").unwrap_err();
    let reasons: Vec<Reason> = found.iter().map(|found| found.reason).collect();
    assert_eq!(reasons, [Reason::TemplateError, Reason::SignatureError, Reason::InvalidAgent]);
}

#[test]
fn the_prompt_is_checked_against_the_parameters() {
    assert_eq!(
        findings("prompt = '{{txt}}'\nsignature = '(text :string) -> :int'"),
        [
            "error prompt 0..7: `txt` is not a parameter; did you mean `text`?",
            "warning signature 1..13: the prompt does not use the parameter `text`; its value is added below the prompt",
        ]
    );
    assert_eq!(
        findings("prompt = '{{text}}'\nsignature = ':int'"),
        ["warning prompt 0..8: the signature lists no parameters, so the names in this template are not checked"]
    );
    // A file is sent next to the prompt.
    for mode in ["json", "text", "ptc_lisp", "json_loop"] {
        let of_file = format!("mode = '{mode}'\nprompt = 'Describe it'\nsignature = '(photo :file) -> :string'");
        let found = findings(&of_file);
        assert!(!found.iter().any(|finding| finding.contains("does not use")), "{mode}: {found:?}");
    }
}

#[test]
fn descriptions_of_fields_that_do_not_exist_are_worth_knowing() {
    assert_eq!(
        findings(
            "prompt = '{{t}}'\nsignature = '(t :string) -> {items [{unit_price :int}]}'\n[field_descriptions]\n'items.unit-price' = 'ok'\nitms = 'no'\n[context_descriptions]\nu = 'no'"
        ),
        [
            "warning options: [field_descriptions] describes `itms`, but the output field is unknown; did you mean `items`?",
            "warning options: [context_descriptions] describes `u`, but the parameter is unknown; known: `t`",
        ]
    );
}

#[test]
fn descriptions_of_fields_of_a_scalar_are_worth_knowing() {
    let of = |output: &str| {
        findings(&format!("prompt = 'x'\nsignature = '() -> {output}'\n[field_descriptions]\nscore = 'how good'"))
    };
    for scalar in [":int", "[:string]", ":bool"] {
        let expected =
            format!("warning options: [field_descriptions] describes `score`, but the output {scalar} has no fields");
        assert_eq!(of(scalar), [expected]);
    }
    for open in [":any", ":map", "[:map]"] {
        assert_eq!(of(open), [""; 0], "{open}");
    }
}

#[test]
fn keys_that_contradict_each_other_are_worth_knowing() {
    let of = |options: &str| findings(&format!("mode = 'ptc_lisp'\nprompt = 'x'\nsignature = '() -> :int'\n{options}"));
    assert_eq!(
        of("compaction = true\ncompression = true"),
        ["warning options: `compression` has no effect next to `compaction`; remove one of them"]
    );
    assert_eq!(
        of("compaction = { keep_recent_turns = 0 }"),
        ["warning options: `compaction.keep_recent_turns` is at least 1: the last turn is kept"]
    );
    assert_eq!(of("compaction = { keep_recent_turns = 1 }"), [""; 0]);
    // `{{` has no meaning in plain text.
    assert_eq!(
        findings("mode = 'text'\nprompt = '{{n}}'\nliteral = true\nsignature = '(n :int) -> :int'"),
        [
            "error signature 1..7: the prompt does not use the parameter `n`; the prompt is plain text (`literal`); remove the parameter or `literal`"
        ]
    );
}

#[test]
fn a_raw_schema_is_the_output_schema() {
    let plan = plan("prompt = '{{a}}'\nsignature = '(a :string)'\nschema = { type = 'object', required = ['n'], properties = { n = { type = 'integer' } } }").unwrap();
    assert_eq!(plan.schema.as_ref().map(|schema| schema.wrap.key()), Some(None));
    let raw = plan.raw_schema.unwrap();
    let issues =
        |text: &str| raw.check(&json::parse(text).unwrap()).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(issues(r#"{"n": 1}"#), Vec::<String>::new());
    assert_eq!(issues(r#"{"n": "x"}"#), [r#"n: "x" is not of type "integer""#]);
    assert_eq!(issues("{}"), [r#"root: "n" is a required property"#]);
}

#[test]
fn a_raw_schema_that_cannot_be_used_says_why() {
    let cases = [
        (
            "schema = { type = 'object' }\nsignature = '(a :int) -> :int'\nprompt = '{{a}}'",
            "error signature 9..16: the schema replaces the output; write only the parameters in the signature, such as \
             `(text :string)`, or remove the schema",
        ),
        (
            "schema = { '$ref' = 'http://example.com/s.json' }\nprompt = 'x'",
            "error options: the schema refers to `http://example.com/s.json`; only references inside the schema, such as \
             `#/$defs/name`, are followed",
        ),
        (
            "schema = { type = 'objekt' }\nprompt = 'x'",
            "error options: the schema is not a JSON Schema at /type: \"objekt\" is not valid under any of the schemas listed in \
             the 'anyOf' keyword",
        ),
    ];
    for (toml, expected) in cases {
        assert_eq!(findings(toml), [expected], "{toml}");
    }
}

#[test]
fn agents_made_in_rust_pass_the_same_checks() {
    let build = || Agent::builder().prompt("{{t}}").signature("(t :string) -> {n :int}");
    assert_eq!(build().name("a").max_turns(2).build().map(|agent| agent.max_turns), Ok(2));
    let found = build().mode(Mode::Json).max_turns(0).recovery("bold").signature_validation("on").build().unwrap_err();
    assert_eq!(
        lines(&found),
        [
            "error options: `max_turns` must be between 1 and 10000 turns, found 0",
            "error options: unknown recovery level `bold`; known: `strict`, `standard`, `lenient`",
            "error options: unknown signature_validation `on`; known: `enabled`, `warn_only`, `strict`, `disabled`",
        ]
    );
    let found = build().tool("search", json::parse("{}").unwrap()).build().unwrap_err();
    assert_eq!(found[0].reason, Reason::InvalidAgent);
    assert_eq!(Agent::inline("Say hi", Some(":string".to_owned())).name, "inline");
}

#[test]
fn verbatim_messages_are_refused_where_the_model_needs_texts_of_this_program() {
    let needs = "error options: `verbatim` sends no text of this program, and a model needs the description of programs and control \
                 objects; remove it, or use the mode json, or text without `transport`";
    let cases: [(&str, &[&str]); 5] = [
        ("mode = 'text'\nprompt = '{{a}} # {'\nverbatim = true", &[]),
        ("mode = 'text'\nprompt = 'x'\nverbatim = true\nsignature = '(photo :file) -> :string'", &[]),
        ("mode = 'ptc_lisp'\nprompt = 'x'\nverbatim = true", &[needs]),
        ("mode = 'json_loop'\nprompt = 'x'\nverbatim = true", &[needs]),
        (
            "prompt = '{{a}}'\nverbatim = true\nsignature = '(a :string) -> :int'",
            &[
                "error signature 1..10: the input `a` would not be sent: with `verbatim` an agent has inputs of type :file only; write \
               the text into the prompt",
            ],
        ),
    ];
    for (toml, expected) in cases {
        let found: Vec<String> = findings(toml).into_iter().filter(|line| line.starts_with("error")).collect();
        assert_eq!(found, expected, "{toml}");
    }
}
