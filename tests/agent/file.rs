//! Agent files: the example of the documentation loads, and every slip is reported at its place with what to write instead.

use ptc_core::value::json;
use ptc_workbench::agent::{Agent, Mode, Plan};

const EXAMPLE: &str = r#"
name = "reviews"
mode = "ptc_lisp"
model = "demo"
prompt = "Find the product and the sentiment of: {{text}}"
signature = "(text :string) -> {product :string, sentiment :enum[positive negative neutral], score :float}"
max_turns = 3

[field_descriptions]
score = "confidence between 0 and 1"

[context]
text = "I love this lamp!"
at = 2026-01-31T09:30:00Z
b = 1
a = 2

[model_options]
max_tokens = 500

[modes.json]
prompt = "Name the product and classify the sentiment of: {{text}}"
tools = {}
refs = {}

[tools.lookup]
kind = "snippet"
signature = "(id :int) -> {name :string}"
description = "Look up a product"
code = "{:name (str \"product-\" data/id)}"

[tools.read_file]
kind = "table"
signature = "(path :string) -> {text :string}"
description = "Read a file"
rows = [ { args = { path = "a.txt" }, result = { text = "one" } }, { args = { path = "no.txt" }, error = "not found" } ]
default = { text = "" }

[refs]
label = "sentiment"

[[cases]]
name = "praise"
context = { text = "Great lamp!" }
expect = "(= (:sentiment result) \"positive\")"
"#;

fn error(toml: &str) -> String {
    match Agent::from_toml(toml, "a.toml") {
        Ok(agent) => format!("no error: {agent:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_full_agent_file_loads_and_is_written_back_equal() {
    let agent = Agent::from_toml(EXAMPLE, "reviews.toml").unwrap();
    assert_eq!(agent.name, "reviews");
    assert_eq!(agent.mode, Mode::PtcLisp);
    assert_eq!(agent.max_turns, 3);
    assert_eq!(agent.context.to_text(), r#"{"text":"I love this lamp!","at":"2026-01-31T09:30:00Z","b":1,"a":2}"#);
    assert_eq!(agent.model_options.max_tokens, Some(500));
    let tools: Vec<&str> = agent.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["lookup", "read_file"]);
    assert_eq!(agent.options.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["cases", "refs"]);
    let written = agent.to_toml();
    let again = Agent::from_toml(&written, "x.toml").unwrap();
    assert_eq!(again, agent, "{written}");
    assert_eq!(again.to_toml(), written);
}

#[test]
fn a_mode_section_replaces_keys_for_that_mode() {
    let agent = Agent::from_toml(EXAMPLE, "reviews.toml").unwrap();
    let json = agent.for_mode(Mode::Json).unwrap();
    assert_eq!(json.mode, Mode::Json);
    assert_eq!(json.prompt, "Name the product and classify the sentiment of: {{text}}");
    assert!(json.tools.is_empty());
    assert_eq!(json.signature, agent.signature);
}

#[test]
fn slips_are_reported_at_their_place_with_what_to_write() {
    let cases = [
        ("max_turn = 3", "a.toml:1:1: unknown key `max_turn`; did you mean `max_turns`?"),
        (
            "\n[model_options]\ntemperatur = 1",
            "a.toml:3:1: unknown key `temperatur` in [model_options]; did you mean `temperature`?",
        ),
        (
            "[system_prompt]\nprefx = \"x\"",
            "a.toml:2:1: unknown key `prefx` in [system_prompt]; did you mean `prefix`?",
        ),
        (
            "[system_prompt]\nzzzzzz = \"x\"",
            "a.toml:2:1: unknown key `zzzzzz` in [system_prompt]; known: `replace`, `prefix`, `language_spec`, `output_format`, `suffix`",
        ),
        (
            "[model_options]\nmax_turns = 3",
            "a.toml:2:1: unknown key `max_turns` in [model_options]; it belongs at the top, above the first [table]",
        ),
        (
            "[retry]\nmax_attempts = 2\nmodel = \"demo\"",
            "a.toml:3:1: unknown key `model` in [retry]; it belongs at the top, above the first [table]",
        ),
        ("extra_body = {}", "a.toml:1:1: unknown key `extra_body`; it belongs in [model_options]"),
        ("[modes.jsn]\nprompt = \"x\"", "a.toml:1:8: unknown key `jsn` in [modes]; did you mean `json`?"),
        ("[modes.json]\npromt = \"x\"", "a.toml:2:1: unknown key `promt` in [modes.json]; did you mean `prompt`?"),
        ("output = \"text\"", "a.toml:1:1: unknown key `output`; did you mean `mode`?"),
        ("timeout = 1", "a.toml:1:1: unknown key `timeout`; did you mean `program_timeout_ms`?"),
        ("llm = \"x\"", "a.toml:1:1: unknown key `llm`; did you mean `model`?"),
        ("return_retries = 1", "a.toml:1:1: unknown key `return_retries`; did you mean `retry_turns`?"),
        ("completion = \"implicit\"", "a.toml:1:14: unknown completion `implicit`; did you mean `return_required`?"),
        ("max_turns = \"3\"", "a.toml:1:13: `max_turns` must be a whole number of turns, found text"),
        (
            "[modes.json]\nmax_turns = 1.5",
            "a.toml:2:13: `modes.json.max_turns` must be a whole number of turns, found a number with a fraction",
        ),
        ("prompt = [\"x\"]", "a.toml:1:10: `prompt` must be text in quotes, found a list"),
        ("name = \" \"", "a.toml:1:8: `name` must not be empty"),
        ("cache = 1", "a.toml:1:9: `cache` must be true or false, found an integer"),
        ("context = 3", "a.toml:1:11: `context` must be a table, or JSON text of an object, found an integer"),
        ("tools = [1]", "a.toml:1:9: `tools` must be a table, found a list"),
        ("tools = { a = 1 }", "a.toml:1:15: `tools.a` must be a table, found an integer"),
        ("refs = true", "a.toml:1:8: `refs` must be a table, found true or false"),
        ("[field_descriptions]\na = 1", "a.toml:2:5: `field_descriptions.a` must be text in quotes, found an integer"),
        ("max_turns = 0", "a.toml:1:13: `max_turns` must be between 1 and 10000 turns, found 0"),
        ("max_turns = -4", "a.toml:1:13: `max_turns` must be between 1 and 10000 turns, found -4"),
        (
            "mission_timeout_ms = 99999999999",
            "a.toml:1:22: `mission_timeout_ms` must be between 1 and 86400000 ms, found 99999999999",
        ),
        ("[model_options]\ntop_p = 1.5", "a.toml:2:9: `model_options.top_p` must be between 0 and 1, found 1.5"),
        ("mode = \"jsn\"", "a.toml:1:8: unknown mode `jsn`; did you mean `json`?"),
        ("mode = \"poetry\"", "a.toml:1:8: unknown mode `poetry`; known: `ptc_lisp`, `json`, `text`, `json_loop`"),
        ("recovery = \"lenent\"", "a.toml:1:12: unknown recovery level `lenent`; did you mean `lenient`?"),
        (
            "signature_validation = \"strickt\"",
            "a.toml:1:24: unknown signature_validation `strickt`; did you mean `strict`?",
        ),
        (
            "[modes.json]\nmode = \"json\"",
            "a.toml:2:8: `mode` is not allowed in [modes.json]: the section overrides one mode",
        ),
        (
            "schema = '{\"a\": }'",
            "a.toml:1:10: `schema`: the JSON text is not JSON at line 1, column 7: expected a JSON value, found '}'",
        ),
        ("[context]\na = nan", "a.toml:2:5: `a` is not a finite number; JSON cannot hold it"),
        (
            "[context]\na = 99999999999999999999",
            "a.toml:2:5: `a` must be between -9223372036854775808 and 9223372036854775807, as every integer of TOML, found 99999999999999999999",
        ),
        (
            "max_turns = 99999999999999999999",
            "a.toml:1:13: `max_turns` must be between 1 and 10000 turns, found 99999999999999999999",
        ),
        (
            "pmap_max_concurrency = 0xFFFFFFFFFFFFFFFFFF",
            "a.toml:1:24: `pmap_max_concurrency` must be between 1 and 64 threads, found 0xFFFFFFFFFFFFFFFFFF",
        ),
        ("prompt = \"a\nb\"", "a.toml:1:12: not TOML: invalid basic string, expected `\"`"),
        ("prompt \"a\"", "a.toml:1:8: not TOML: key with no value, expected `=`"),
        ("name = \"a\"\nname = \"b\"", "a.toml:2:1: not TOML: duplicate key"),
    ];
    for (toml, expected) in cases {
        assert_eq!(error(toml), expected);
    }
}

#[test]
fn the_slips_in_a_file_are_reported_in_its_order() {
    assert_eq!(
        error("max_turns = 0\nmod = \"json\""),
        "a.toml:1:13: `max_turns` must be between 1 and 10000 turns, found 0\na.toml:2:1: unknown key `mod`; did you mean `mode`?"
    );
}

#[test]
fn a_schema_is_a_table_json_text_or_a_file_next_to_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("s.json"), "{\"type\": \"object\"}").unwrap();
    let schemas = ["schema = { type = \"object\" }", "schema = '{\"type\":\"object\"}'", "schema = \"@s.json\""];
    for toml in schemas {
        std::fs::write(path("a.toml"), toml).unwrap();
        let agent = Agent::read(&path("a.toml")).unwrap();
        assert_eq!(agent.schema.map(|schema| schema.to_text()).as_deref(), Some(r#"{"type":"object"}"#), "{toml}");
    }

    std::fs::write(path("a.toml"), "[modes.json]\nschema = \"@s.json\"").unwrap();
    let agent = Agent::read(&path("a.toml")).unwrap();
    std::fs::remove_file(path("s.json")).unwrap();
    let alone = Agent::from_toml(&agent.to_toml(), "elsewhere.toml").unwrap().for_mode(Mode::Json).unwrap();
    assert_eq!(alone.schema.map(|schema| schema.to_text()).as_deref(), Some(r#"{"type":"object"}"#));

    std::fs::write(path("a.toml"), "schema = \"@gone.json\"").unwrap();
    let message = Agent::read(&path("a.toml")).unwrap_err().to_string();
    let expected = format!(
        "{}:1:10: `schema` names the file {}, which cannot be read: No such file or directory (os error 2)",
        path("a.toml").display(),
        path("gone.json").display()
    );
    assert_eq!(message, expected);
}

#[test]
fn a_file_that_is_not_there_is_an_error_with_its_name() {
    let message = Agent::read(std::path::Path::new("no/such.toml")).unwrap_err().to_string();
    assert_eq!(message, "no/such.toml: cannot be read: No such file or directory (os error 2)");
}

#[test]
fn an_agent_without_a_name_is_named_after_its_file() {
    assert_eq!(Agent::from_toml("prompt = \"x\"", "dir/reviews.toml").unwrap().name, "reviews");
}

#[test]
fn a_context_that_toml_cannot_say_is_written_as_json_text() {
    let text = r#"{"a":null,"b":99999999999999999999,"c":[1,2.5]}"#;
    let agent = Agent { context: json::parse(text).unwrap(), ..Agent::default() };
    let written = agent.to_toml();
    assert!(written.contains(&format!("context = '{text}'")), "{written}");
    assert_eq!(Agent::from_toml(&written, "a.toml").unwrap(), agent);
}

#[test]
fn an_agent_with_tools_refuses_json_mode_unless_a_section_removes_them() {
    let with_tools = "prompt = \"x\"\nsignature = \"-> :int\"\nmode = \"text\"\n[tools.search]\n[tools.fetch]\n";
    let agent = Agent::from_toml(with_tools, "a.toml").unwrap();
    let messages: Vec<String> =
        agent.for_mode(Mode::Json).unwrap_err().into_iter().map(|found| found.message).collect();
    assert_eq!(
        messages,
        [
            "json mode has no tools, and this agent declares `search`, `fetch`; remove them, write `tools = {}` in [modes.json], \
          or use another mode"
        ]
    );
    let agent = Agent::from_toml(&format!("{with_tools}[modes.json]\ntools = {{}}"), "a.toml").unwrap();
    assert!(agent.for_mode(Mode::Json).is_ok());
}

#[test]
fn json_mode_refuses_the_tools_that_options_add() {
    let text =
        "prompt = \"x\"\nsignature = \"-> :int\"\nmode = \"text\"\nbuiltin_tools = [\"grep\"]\nllm_query = true\n";
    let agent = Agent::from_toml(text, "a.toml").unwrap();
    let found = agent.for_mode(Mode::Json).unwrap_err();
    assert_eq!(
        (found[0].key.as_str(), found[0].message.as_str()),
        (
            "builtin_tools",
            "json mode has no tools, and this agent declares `builtin_tools`, `llm_query`; remove them, write \
             `builtin_tools = []` and `llm_query = false` in [modes.json], or use another mode"
        )
    );
    let own = Agent { mode: Mode::Json, ..agent };
    assert!(Plan::new(&own).is_err_and(|found| found[0].message.starts_with("json mode has no tools")));
    let without = format!("{text}[modes.json]\nbuiltin_tools = []\nllm_query = false");
    let agent = Agent::from_toml(&without, "a.toml").unwrap().for_mode(Mode::Json).unwrap();
    assert!(Plan::new(&agent).unwrap().tools.is_empty());
}

#[test]
fn the_mode_is_ptc_lisp_where_nothing_is_reported_also_for_agents_inside() {
    let inner = "kind = \"agent\"\ndescription = \"d\"\nagent = { prompt = \"x\", signature = \"{a :int}\" }";
    let text = format!("prompt = \"x\"\n[tools.c]\n{inner}\n[modes.text.tools.c]\n{inner}\n");
    let agent = Agent::from_toml(&text, "a.toml").unwrap();
    assert_eq!(agent.mode, Mode::PtcLisp);
    let child = |agent: &Agent| Plan::new(agent).unwrap().child("c").unwrap().agent.mode;
    assert_eq!(child(&agent), Mode::PtcLisp);
    assert_eq!(Agent::builder().prompt("x").plan().unwrap().agent.mode, Mode::PtcLisp);
    assert_eq!(Agent::inline("x", None).mode, Mode::Text);
    assert_eq!(Agent::inline("x", Some(":int".to_owned())).mode, Mode::Json);

    // A record names the modes; one without a mode is from the time when the default was json.
    let recorded = Agent::recorded(&agent.record().toml).unwrap();
    assert_eq!((child(&recorded), child(&recorded.for_mode(Mode::Text).unwrap())), (Mode::PtcLisp, Mode::PtcLisp));
    let old = Agent::recorded(&agent.to_toml()).unwrap();
    assert_eq!((child(&old), child(&old.for_mode(Mode::Text).unwrap())), (Mode::Json, Mode::Json));
}
