//! Drafts: the texts of the workbench, checked while they are typed.

use ptc_core::value::json;
use ptc_workbench::agent::{Agent, BUNDLED, DraftTexts, Plan, diagnose};

use super::lines;

fn draft(prompt: &str, signature: &str, context: &str, options: &str) -> DraftTexts {
    let [prompt, signature, context, options] = [prompt, signature, context, options].map(str::to_owned);
    DraftTexts { prompt, signature, context, options, ..DraftTexts::default() }
}

#[test]
fn an_agent_survives_being_edited_as_texts() {
    for bundled in BUNDLED {
        let agent = bundled.agent().unwrap();
        let texts = DraftTexts::of(&agent);
        assert_eq!(texts.to_agent(&agent).as_ref(), Ok(&agent), "{}", texts.options);
        assert_eq!(diagnose(&texts), [], "{}", bundled.name);
    }
}

#[test]
fn the_context_is_shown_as_json_and_the_other_keys_as_toml() {
    let agent = Agent { context: json::parse(r#"{"a": 1}"#).unwrap(), prompt: "p".into(), ..Agent::default() };
    let texts = DraftTexts::of(&agent);
    assert_eq!(texts.context, "{\n  \"a\": 1\n}");
    assert_eq!(
        texts.options,
        "name = \"agent\"\nmode = \"ptc_lisp\"\nmax_turns = 5\nsignature_validation = \"enabled\"\n"
    );
}

#[test]
fn a_pinned_program_has_a_text_of_its_own() {
    let toml = "mode = 'ptc_lisp'\nprompt = 'go'\nprogram = \"(def a 1)\\n(return a)\\n\"\n";
    let agent = Agent::from_toml(toml, "pinned.toml").unwrap();
    let texts = DraftTexts::of(&agent);
    assert_eq!(texts.program, "(def a 1)\n(return a)\n");
    assert!(!texts.options.contains("program"), "{}", texts.options);
    assert_eq!(texts.to_agent(&agent).as_ref(), Ok(&agent));
    // While the text is blank the key may be among the options; else it appears twice.
    let options = "mode = 'ptc_lisp'\nprogram = '(return 1)'\n".to_owned();
    let old = DraftTexts { program: String::new(), options, ..texts.clone() };
    assert_eq!(old.to_agent(&agent).unwrap().program(), Some("(return 1)"));
    let twice = lines(&diagnose(&DraftTexts { program: "(return 2)".to_owned(), ..old }));
    assert_eq!(twice, ["error options 18..25: `program` has its own editor; write it there and remove it here"]);
    let broken = lines(&diagnose(&DraftTexts { program: "(return (f 1)".to_owned(), ..texts }));
    assert!(broken.len() == 1 && broken[0].starts_with("error program "), "{broken:?}");
}

#[test]
fn what_cannot_be_read_is_at_its_place() {
    let cases: [(DraftTexts, &[&str]); 6] = [
        (
            draft("p", ":int", "{\n  \"a\": tru\n}", ""),
            &["error context 9..10: the inputs are not JSON at line 2, column 8: expected a JSON value, found 't'"],
        ),
        (
            draft("p", ":int", "{\"a\": 1", ""),
            &[
                "error context 7..7: the inputs are not JSON at line 1, column 8: expected ',' or '}', found the end of the text",
            ],
        ),
        (
            draft("p", ":int", "3", ""),
            &["error context 0..1: the context must be a JSON object such as {\"text\": \"…\"}, found a int"],
        ),
        (
            draft("p", ":int", "", "max_turn = 1\nmax_turns = 0"),
            &[
                "error options 0..8: unknown key `max_turn`; did you mean `max_turns`?",
                "error options 25..26: `max_turns` must be between 1 and 10000 turns, found 0",
            ],
        ),
        (
            draft("p", ":int", "", "prompt = 'x'"),
            &["error options 0..6: `prompt` has its own editor; write it there and remove it here"],
        ),
        (
            draft("p", ":int", "", "mode ="),
            &["error options 6..6: not TOML: string values must be quoted, expected literal string"],
        ),
    ];
    for (texts, expected) in cases {
        assert_eq!(lines(&texts.to_agent(&Agent::default()).unwrap_err()), expected);
        assert_eq!(lines(&diagnose(&texts)), expected);
    }
}

#[test]
fn prompt_signature_and_context_are_checked_against_each_other() {
    let texts = draft("{{txt}} {{n}}", "(text :string, n :int) -> :int", r#"{"n": "many"}"#, "mode = 'json'");
    assert_eq!(
        lines(&diagnose(&texts)),
        [
            "error prompt 0..7: `txt` is not a parameter; did you mean `text`?",
            "warning signature 1..13: the prompt does not use the parameter `text`; its value is added below the prompt",
            "error context 0..1: `text` is missing; add it to the context",
            "error context 6..12: `n`: expected int, got string",
        ]
    );
}

#[test]
fn findings_about_an_option_point_at_its_key() {
    let texts = draft("p", ":int", "", "mode = 'json'\nmax_turns = 3\ncompaction = true\n\n[tools.search]\n");
    assert_eq!(
        lines(&diagnose(&texts)),
        [
            "error options 28..38: json mode does not shorten its history; remove `compaction`",
            "error options 48..53: json mode has no tools, and this agent declares `search`; remove them, write `tools = {}` in \
             [modes.json], or use another mode",
        ]
    );
}

#[test]
fn a_draft_without_errors_becomes_a_plan_and_one_with_errors_does_not() {
    let good = draft("{{a}}", "(a :string) -> :int", r#"{"a": "x"}"#, "");
    assert!(Plan::new(&good.to_agent(&Agent::default()).unwrap()).is_ok());
    let bad = draft("{{b}}", "(a :string) -> :int", "", "");
    assert!(Plan::new(&bad.to_agent(&Agent::default()).unwrap()).is_err());
}

#[test]
fn any_text_can_be_diagnosed() {
    for text in ["{{", "}}", "\u{0}", "é{{é", "[[[[", "{\"é\": é}", "a = \"é", "(", "-> :", ":enum[\"", "\u{202e}"]
    {
        for slot in 0..4 {
            let mut parts = ["p", ":int", "{}", ""];
            parts[slot] = text;
            for found in diagnose(&draft(parts[0], parts[1], parts[2], parts[3])) {
                let span = found.span.unwrap_or_default();
                assert!(
                    span.start <= span.end && span.end <= parts.iter().map(|part| part.len()).max().unwrap_or(0),
                    "{found:?}"
                );
            }
        }
    }
}

#[test]
fn tools_and_options_come_back_as_they_were() {
    let options = "[format_options]\nminimal_turn_info = true\n\n[tools.look]\nkind = \"table\"\nsignature = \"(id :int) -> \
                   :string\"\nrows = [{ args = { id = 1 }, result = \"one\" }]\n\n[refs]\nid = \"id\"\n";
    let agent = Agent::from_toml(&format!("mode = 'ptc_lisp'\nprompt = 'go'\n{options}"), "a.toml").unwrap();
    let texts = DraftTexts::of(&agent);
    assert!(texts.tools.starts_with("[tools.look]"), "{}", texts.tools);
    for key in ["[format_options]", "[refs]", "minimal_turn_info = true"] {
        assert!(texts.options.contains(key), "{}", texts.options);
    }
    assert_eq!(texts.to_agent(&Agent::default()).as_ref(), Ok(&agent));
    assert_eq!(lines(&diagnose(&texts)), [""; 0]);
}
