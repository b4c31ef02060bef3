//! JSON texts of agent files in which an object has two members of one name: refused in files and drafts, kept in recorded definitions.

use ptc_workbench::agent::{Agent, DraftTexts, Place, diagnose};

/// The error of an agent file.
fn error(toml: &str) -> String {
    Agent::from_toml(toml, "a.toml").unwrap_err().to_string()
}

const TWICE: &str = "an object has the member \"n\" twice, and readers of JSON disagree about which one counts";

#[test]
fn a_json_text_in_a_file_is_refused_with_its_position_and_its_member() {
    let known = [
        ("schema = '{\"n\": 1, \"n\": 2}'", "a.toml:1:10: `schema`", 10),
        ("prompt = 'x'\ncontext = '{\"a\": {\"n\": 1, \"n\": 2}}'", "a.toml:2:11: `context`", 16),
        ("[tools.look]\nkind = 'table'\nrows = '[{\"n\": 1, \"n\": 2}]'", "a.toml:3:8: `tools.look.rows`", 11),
        (
            "[tools.look]\nkind = 'table'\ndefault = 1\nparameters = '{\"n\": 1, \"n\": 2}'",
            "a.toml:4:14: `tools.look.parameters`",
            10,
        ),
        (
            "[tools.ask]\nkind = 'agent'\nagent = { prompt = 'x', context = '{\"n\": 1, \"n\": 2}' }",
            "`tools.ask.agent.context`",
            10,
        ),
        ("[modes.json]\nschema = '{\"n\": 1, \"n\": 2}'", "a.toml:2:10: `modes.json.schema`", 10),
        ("cases = '[{\"n\": 1, \"n\": 2}]'", "`cases`", 11),
        ("[[cases]]\nname = 'a'\ncontext = '{\"n\": 1, \"n\": 2}'", "`cases.0.context`", 10),
        ("[[cases]]\nname = 'a'\nexpect = { json = '{\"n\": 1, \"n\": 2}' }", "`cases.0.expect.json`", 10),
        (
            "[[cases]]\nname = 'a'\nexpect = { any = [{ schema = '{\"n\": 1, \"n\": 2}' }, 'b'] }",
            "`cases.0.expect.any.0.schema`",
            10,
        ),
    ];
    for (toml, place, column) in known {
        let found = error(toml);
        let expected = format!("{place}: the JSON text is ambiguous at line 1, column {column}: {TWICE}");
        assert!(found.contains(&expected), "{toml}\n{found}");
    }
}

#[test]
fn a_text_that_is_data_is_not_read_as_json() {
    for toml in [
        "[context]\ncontext = '{\"n\": 1, \"n\": 2}'",
        "[[cases]]\nname = 'a'\nexpect = { value = { json = '{\"n\": 1, \"n\": 2}' } }",
        "[tools.look]\nkind = 'table'\ndefault = '{\"n\": 1, \"n\": 2}'",
    ] {
        assert!(Agent::from_toml(toml, "a.toml").is_ok(), "{toml}\n{}", error(toml));
    }
}

#[test]
fn a_file_of_a_schema_is_named_in_the_error() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("s.json"), "{\n  \"n\": 1,\n  \"n\": 2\n}").unwrap();
    std::fs::write(dir.path().join("a.toml"), "prompt = 'x'\nschema = '@s.json'\n").unwrap();
    let found = Agent::read(&dir.path().join("a.toml")).unwrap_err().to_string();
    assert!(found.contains(&format!("s.json is ambiguous at line 3, column 3: {TWICE}")), "{found}");
}

#[test]
fn a_recorded_definition_stays_what_its_runs_used() {
    let recorded = "mode = 'json_loop'\nprompt = 'x'\n[tools.look]\nkind = 'table'\nrows = '[{\"args\": {\"n\": 1, \"n\": 2}, \"result\": 1}]'\n[[cases]]\nname = 'a'\ncontext = '{\"n\": 1, \"n\": 2}'\n";
    let agent = Agent::recorded(recorded).unwrap();
    assert_eq!(agent.cases().unwrap()[0].context.as_ref().unwrap().to_text(), r#"{"n":1}"#);
    assert!(error(recorded).contains("is ambiguous"));
}

#[test]
fn the_texts_of_an_editor_are_checked_where_they_are() {
    let inputs =
        DraftTexts { prompt: "x".to_owned(), context: r#"{"n": 1, "n": 2}"#.to_owned(), ..DraftTexts::default() };
    let found = diagnose(&inputs).into_iter().find(|found| found.place == Place::Context).unwrap();
    assert_eq!(found.message, format!("the inputs are ambiguous at line 1, column 10: {TWICE}"));
    assert_eq!(found.span.unwrap().start, 9);
    let tools = "[tools.look]\nkind = 'table'\nrows = '[{\"n\": 1, \"n\": 2}]'\n".to_owned();
    let tools =
        DraftTexts { prompt: "x".to_owned(), options: "mode = 'json_loop'".to_owned(), tools, ..DraftTexts::default() };
    let found = diagnose(&tools);
    assert!(found.iter().any(|found| found.place == Place::Tools && found.message.contains(TWICE)), "{found:?}");
}
