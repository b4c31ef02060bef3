//! Declarations of tools against their signatures: what would never match, fit or be filled is noticed before a run.

use ptc_workbench::agent::{Agent, Diagnostic, Plan};

/// Returns the errors of an agent with this tool, else its warnings.
fn found(tool: &str) -> Vec<Diagnostic> {
    let text = format!("mode = 'ptc_lisp'\nprompt = 'go'\n[tools.x]\n{tool}\n");
    Plan::new(&Agent::from_toml(&text, "a.toml").unwrap()).map_or_else(|found| found, |plan| plan.warnings)
}

/// The same as texts.
fn texts(tool: &str) -> String {
    found(tool).iter().map(|found| found.message.clone()).collect::<Vec<_>>().join("\n")
}

#[test]
fn rows_and_the_default_of_a_table_fit_its_signature() {
    let row =
        |row: &str| texts(&format!("kind = 'table'\nsignature = '(name :string, n :int?) -> :int'\nrows = [{row}]"));
    let known = [
        ("{ arg = { name = 'lamp' }, result = 7 }", "row 1 has an unknown key `arg`; did you mean `args`?"),
        ("{ args = [1], result = 7 }", "row 1: `args` must be a table of arguments, found [1]"),
        (
            "{ args = { nam = 'lamp' }, result = 7 }",
            "row 1: `nam` is not a parameter of the tool; did you mean `name`?",
        ),
    ];
    for (text, message) in known {
        let found = row(text);
        assert!(found.contains(message), "{text}: {found}");
    }
    // A redacted recording has other texts: its agent is opened all the same.
    let warned = found("kind = 'table'\nsignature = '() -> :int'\nrows = [{ result = 'none' }]\ndefault = 'none'");
    let warned: Vec<_> =
        warned.iter().map(|found| (found.is_error(), found.key.as_str(), found.message.as_str())).collect();
    assert_eq!(
        warned,
        [
            (false, "tools.x.rows", "the tool `x`: row 1: `result`: expected int, got string"),
            (false, "tools.x.default", "the tool `x`: `default`: expected int, got string"),
        ]
    );
    // A row without `args` answers every call, and what is converted in calls is converted in rows.
    assert_eq!(row("{ args = { name = 'lamp', n = '3' }, result = 7 }, { error = 'no such thing' }"), "");
    assert_eq!(texts("kind = 'table'\nrows = [{ args = { any = 1 }, result = 'x' }]"), "");
}

#[test]
fn placeholders_name_parameters() {
    let http = |rest: &str| {
        texts(&format!("kind = 'http'\nmethod = 'POST'\nsignature = '(id :int, query :string?) -> :any'\n{rest}"))
    };
    let known = [
        ("url = 'https://h.example/{{idd}}'", "`{{idd}}` in `url` is not a parameter; did you mean `id`?"),
        ("url = 'https://h.example/{{id'", "`{{` in `url` has no `}}`"),
        (
            "url = 'https://h.example/'\nbody = { all = [{ q = 'x {{qery}}' }] }",
            "`{{qery}}` in `body` is not a parameter; did you mean `query`?",
        ),
        (
            "url = 'https://h.example/'\nheaders = { x-id = '{{id}}' }",
            "`{{id}}` has no meaning in `headers`; write `${NAME}`",
        ),
    ];
    for (text, message) in known {
        let found = http(text);
        assert!(found.contains(message), "{text}: {found}");
    }
    assert_eq!(http("url = 'https://h.example/{{ id }}'\nbody = { q = '{{query}}' }"), "");
    assert_eq!(
        texts("kind = 'http'\nurl = 'https://h.example/{{any}}'"),
        "",
        "without a signature any name is an argument"
    );
    let command = |word: &str| {
        texts(&format!("kind = 'command'\nsignature = '(a :string) -> :any'\ncommand = ['echo', '{word}']"))
    };
    let found = command("{{a}}");
    assert!(
        found.contains("`{{a}}` has no meaning in `command`; the program gets the arguments as JSON on stdin"),
        "{found}"
    );
    assert_eq!(command("{{.Names}}"), "");
}

#[test]
fn a_custom_tool_has_its_text_as_the_only_parameter() {
    let custom = |rest: &str| texts(&format!("kind = 'table'\ndefault = 1\n{rest}"));
    for (text, message) in [
        ("custom = 1", "`custom` must be true, or a table with `format`"),
        ("custom = true\nsignature = '(a :string) -> :any'", "its only parameter is `input`, the text"),
        ("custom = true\nparameters = '{\"properties\": {\"b\": {}}}'", "its only parameter is `input`, the text"),
        ("custom = { name = 'other' }", "`custom` has no `name`, which the tool itself sets"),
        ("custom = true\nsignature = '(input :string) -> :any'", ""),
        ("custom = { format = { type = 'text' } }", ""),
        ("custom = false", ""),
    ] {
        let found = custom(text);
        assert!(found.contains(message) && found.is_empty() == message.is_empty(), "{text}: {found}");
    }
}
