//! Agent files: the example of the documentation loads, and every slip is reported at its place with what to write instead.

use ptc_core::value::json;
use ptc_workbench::agent::{Agent, Mode};

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
    assert_eq!(agent.unbuilt.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["refs", "cases"]);
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
        ("max_turns = \"3\"", "a.toml:1:13: `max_turns` must be a whole number of turns, found text"),
        ("max_turns = 0", "a.toml:1:13: `max_turns` must be between 1 and 10000 turns, found 0"),
        ("mode = \"jsn\"", "a.toml:1:8: unknown mode `jsn`; did you mean `json`?"),
        ("recovery = \"lenent\"", "a.toml:1:12: unknown recovery level `lenent`; did you mean `lenient`?"),
        ("prompt = \"a\nb\"", "?"),
        ("context = 3", "?"),
        ("schema = \"@nothing.json\"", "?"),
        ("schema = '{\"a\": }'", "?"),
        ("[modes.jsn]\nprompt=\"x\"", "?"),
        ("[modes.json]\nmax_turns=\"x\"", "?"),
        ("[modes.json]\npromt=\"x\"", "?"),
        ("[system_prompt]\nprefx=\"x\"", "?"),
        ("tools = [1]", "?"),
        ("[context]\na = nan", "?"),
        ("[context]\na = 99999999999999999999", "?"),
    ];
    for (toml, expected) in cases {
        if expected == "?" {
            eprintln!("{}", error(toml));
            continue;
        }
        assert_eq!(error(toml), expected);
    }
    let _ = json::parse("1");
}
