//! Options of the modes: what each key means to a plan, and the error of a wrong value at its place.

use std::fmt::Write as _;

use ptc_core::reasons::Reason;
use ptc_workbench::agent::{Agent, Diagnostic, DraftTexts, Mode, Place, Plan, Settings, diagnose, locate};

use super::lines;

const AGENT: &str = "mode = 'ptc_lisp'\nprompt = 'go'\n";

fn settings(options: &str) -> Settings {
    let agent = Agent::from_toml(&format!("{AGENT}{options}"), "a.toml").unwrap();
    Plan::new(&agent).unwrap_or_else(|found| panic!("{options}: {:?}", lines(&found))).settings
}

/// The findings about an option, by the reader of files or by the construction checks.
fn findings_of(options: &str) -> String {
    match Agent::from_toml(&format!("{AGENT}{options}"), "a.toml") {
        Err(error) => error.to_string(),
        Ok(agent) => match Plan::new(&agent) {
            Ok(_) => "nothing".to_owned(),
            Err(found) => lines(&found).join("\n"),
        },
    }
}

/// The fields of the settings that an option changes, as `field: value`.
fn changed(options: &str) -> String {
    let fields = |settings: &Settings| {
        let text = format!("{settings:#?}");
        let mut fields: Vec<String> = Vec::new();
        for line in text.lines().filter(|line| line.starts_with(' ')) {
            if line.starts_with("     ")
                || line.starts_with("    }")
                || line.starts_with("    ]")
                || line.starts_with("    )")
            {
                let last = fields.last_mut().unwrap();
                _ = write!(last, " {}", line.trim());
            } else {
                fields.push(line.trim().to_owned());
            }
        }
        fields
    };
    let usual = fields(&settings(""));
    let now = fields(&settings(options));
    now.into_iter()
        .filter(|field| !usual.contains(field))
        .map(|field| field.replace(',', ""))
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn each_option_changes_its_own_setting() {
    let cases = [
        ("retry_turns = 2", "retry_turns: 2"),
        ("progress = '(str input)'", "progress: Some( \"(str input)\" )"),
        (
            "retry = { max_attempts = 4, backoff = 'linear', base_delay_ms = 50, retryable = ['timeout'] }",
            "retry: Retry { max_attempts: Some( 4 ) backoff: Some( Linear ) base_delay_ms: Some( 50 ) retryable: Some( [ Timeout ] ) }",
        ),
        ("completion = 'explicit'", "completion: Explicit"),
        ("completion = 'answer_without_code'", "completion: AnswerWithoutCode"),
        ("transport = 'tool_call'", "transport: ToolCall"),
        ("dialect = 'current'", "dialect: Current"),
        ("dialect = 'legacy'", "dialect: Legacy"),
        ("reference = 'none'", "reference: false"),
        ("tools_in = 'native'", "native_tools: true"),
        ("thinking = true", "thinking: true"),
        ("journaling = true", "journaling: true"),
        ("firewall = true", "firewall: true"),
        ("program_timeout_ms = 70", "program_timeout_ms: 70"),
        ("program_memory_bytes = 5000", "program_memory_bytes: 5000"),
        ("loop_limit = 70", "loop_limit: 70"),
        ("pmap_timeout_ms = 70", "pmap_timeout_ms: 70"),
        ("pmap_max_concurrency = 3", "pmap_workers: 3"),
        ("memory_bytes = 70", "memory_bytes: 70"),
        ("memory_strategy = 'rollback'", "memory_strategy: Rollback"),
        ("float_precision = 4", "float_precision: 4"),
        ("max_tool_calls = 7", "max_tool_calls: Some( 7 )"),
        ("max_tool_calls_per_program = 7", "program_tool_calls: Some( 7 )"),
        ("max_depth = 7", "max_depth: 7"),
        ("turn_budget = 7", "turn_budget: 7"),
        ("cost_limit = 1", "cost_limit: Some( 1.0 )"),
        ("on_budget_exceeded = 'return_partial'", "return_partial: true"),
        ("max_ref_retries = 0", "ref_retries: 0"),
        ("max_protocol_failures = 7", "protocol_failures: 7"),
        ("on_protocol_failure = 'accept_raw'", "accept_raw: true"),
        ("compaction = true", "compaction: Some( Trim { turns: 8 tokens: None keep_turns: 3 keep_first: true } )"),
        (
            "compaction = { trigger = { turns = 2, tokens = 900 }, keep_recent_turns = 0, keep_initial_user = false }",
            "compaction: Some( Trim { turns: 2 tokens: Some( 900 ) keep_turns: 1 keep_first: false } )",
        ),
        ("compression = true", "compaction: Some( Coalesce { prints: 15 calls: 20 } )"),
        (
            "compaction = { strategy = 'coalesce', println_limit = 1, tool_call_limit = 2 }",
            "compaction: Some( Coalesce { prints: 1 calls: 2 } )",
        ),
        ("plan = ['one', { id = 'b', description = 'two' }]", "plan: [ ( \"1\" \"one\" ) ( \"b\" \"two\" ) ]"),
        ("prompt_limit = { max_chars = 900 }", "prompt_chars: Some( 900 )"),
        (
            "format_options = { feedback_max_chars = 1, preview_max_chars = 2, history_max_bytes = 3, max_print_length = 4, \
             context_in_system = true, mission_log_in = 'user_message', minimal_turn_info = true }",
            "format: Format { feedback_chars: 1 preview_chars: 2 history_bytes: 3 print_chars: 4 context_in_system: true \
             log_in_user: true minimal_turns: true }",
        ),
        (
            "refs = { a = 'items[0].id', b = { expr = '(:x result)', optional = true } }",
            "refs: [ Ref { name: \"a\" source: Path( \"items[0].id\" ) optional: false } Ref { name: \"b\" source: Expression( \
             \"(:x result)\" ) optional: true } ]",
        ),
        ("memory = { rate = '0.19' }", "memory: [ ( \"rate\" \"0.19\" ) ]"),
        ("cases = [{ name = 'praise' }]", ""),
        ("llm_query = true", ""),
        ("builtin_tools = ['grep']", ""),
    ];
    for (options, expected) in cases {
        assert_eq!(changed(options), expected, "{options}");
    }
}

#[test]
fn options_that_add_tools_add_them() {
    let names = |options: &str| {
        let plan = Plan::new(&Agent::from_toml(&format!("{AGENT}{options}"), "a.toml").unwrap()).unwrap();
        plan.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("llm_query = true"), ["llm-query"]);
    assert_eq!(names("builtin_tools = ['grep']"), ["grep", "grep-n"]);
    assert_eq!(names("builtin_tools = []\nllm_query = false").len(), 0);
}

#[test]
fn a_wrong_value_is_reported_at_its_place_with_what_would_be_right() {
    let cases = [
        ("retry_turns = 1001", "a.toml:3:15: `retry_turns` must be between 0 and 1000 turns, found 1001"),
        ("completion = 'explicitt'", "a.toml:3:14: unknown completion `explicitt`; did you mean `explicit`?"),
        ("transport = 'tool'", "a.toml:3:13: unknown transport `tool`; known: `content`, `tool_call`"),
        ("dialect = 'legcy'", "a.toml:3:11: unknown dialect `legcy`; did you mean `legacy`?"),
        ("reference = 1", "a.toml:3:13: `reference` must be text in quotes, found an integer"),
        ("tools_in = 'nativ'", "a.toml:3:12: unknown tools_in `nativ`; did you mean `native`?"),
        ("thinking = 'yes'", "a.toml:3:12: `thinking` must be true or false, found text"),
        ("journaling = 1", "a.toml:3:14: `journaling` must be true or false, found an integer"),
        ("llm_query = 'x'", "a.toml:3:13: `llm_query` must be true or false, found text"),
        ("firewall = []", "a.toml:3:12: `firewall` must be true or false, found a list"),
        ("program_timeout_ms = 0", "a.toml:3:22: `program_timeout_ms` must be between 1 and 3600000 ms, found 0"),
        (
            "program_memory_bytes = 9",
            "a.toml:3:24: `program_memory_bytes` must be between 1000 and 100000000000 bytes, found 9",
        ),
        ("loop_limit = 10001", "a.toml:3:14: `loop_limit` must be between 1 and 10000 jumps, found 10001"),
        ("pmap_timeout_ms = 'x'", "a.toml:3:19: `pmap_timeout_ms` must be a whole number of ms, found text"),
        ("pmap_max_concurrency = 65", "a.toml:3:24: `pmap_max_concurrency` must be between 1 and 64 threads, found 65"),
        ("memory_bytes = 0", "a.toml:3:16: `memory_bytes` must be between 1 and 1000000000 bytes, found 0"),
        ("memory_strategy = 'rolback'", "a.toml:3:19: unknown memory_strategy `rolback`; did you mean `rollback`?"),
        ("float_precision = -1", "a.toml:3:19: `float_precision` must not be negative, found -1"),
        ("max_tool_calls = -1", "a.toml:3:18: `max_tool_calls` must be between 0 and 1000000 calls, found -1"),
        (
            "max_tool_calls_per_program = 1.5",
            "a.toml:3:30: `max_tool_calls_per_program` must be a whole number of calls, found a number with a fraction",
        ),
        ("max_depth = 0", "a.toml:3:13: `max_depth` must be between 1 and 100 levels, found 0"),
        ("turn_budget = 0", "a.toml:3:15: `turn_budget` must be between 1 and 100000 turns, found 0"),
        ("cost_limit = -0.5", "a.toml:3:14: `cost_limit` must not be negative, found -0.5"),
        ("cost_limit = 'x'", "a.toml:3:14: `cost_limit` must be a number, found text"),
        (
            "on_budget_exceeded = 'partial'",
            "a.toml:3:22: unknown on_budget_exceeded `partial`; known: `fail`, `return_partial`",
        ),
        ("max_ref_retries = 101", "a.toml:3:19: `max_ref_retries` must be between 0 and 100 retries, found 101"),
        (
            "max_protocol_failures = 0",
            "a.toml:3:25: `max_protocol_failures` must be between 1 and 1000 replies, found 0",
        ),
        (
            "on_protocol_failure = 'acceptraw'",
            "a.toml:3:23: unknown on_protocol_failure `acceptraw`; did you mean `accept_raw`?",
        ),
        ("compaction = 3", "a.toml:3:14: `compaction` must be true, false or a table, found an integer"),
        ("compression = 'x'", "a.toml:3:15: `compression` must be true, false or a table, found text"),
        ("builtin_tools = 'grep'", "a.toml:3:17: `builtin_tools` must be a list, found text"),
        ("plan = 'x'", "a.toml:3:8: `plan` must be a list, found text"),
        ("cases = {}", "a.toml:3:9: `cases` must be a list of tables, found a table"),
        ("prompt_limit = 900", "a.toml:3:16: `prompt_limit` must be a table, found an integer"),
        ("format_options = 1", "a.toml:3:18: `format_options` must be a table, found an integer"),
        ("refs = 'x'", "a.toml:3:8: `refs` must be a table, found text"),
        ("memory = 'x'", "a.toml:3:10: `memory` must be a table, found text"),
    ];
    for (options, expected) in cases {
        assert_eq!(findings_of(options), expected, "{options}");
    }
}

#[test]
fn a_wrong_part_of_an_option_is_reported_at_its_place() {
    let cases = [
        ("compaction = {}", "error options: [compaction] is empty; write `compaction = true`, or its keys"),
        (
            "compaction = { strategy = 'trm' }",
            "error options: `compaction.strategy` cannot be \"trm\"; did you mean `trim`?",
        ),
        (
            "compaction = { keep_recent_turn = 2 }",
            "error options: unknown key `keep_recent_turn` in [compaction]; did you mean `keep_recent_turns`?",
        ),
        ("compaction = { trigger = 8 }", "error options: `compaction.trigger` must be a table, found 8"),
        (
            "compaction = { trigger = { turns = 'x' } }",
            "error options: `compaction.trigger.turns` must be a whole number that is not negative, found \"x\"",
        ),
        (
            "compression = { println_limit = true }",
            "error options: `compression.println_limit` must be a whole number that is not negative, found true",
        ),
        ("plan = [3]", "error options: an item of `plan` is a text or a table {id, description}"),
        ("plan = ['a', { id = '1', description = 'b' }]", "error options: two items of `plan` have the id `1`"),
        (
            "prompt_limit = { max_chars = -1 }",
            "error options: `prompt_limit.max_chars` must be a whole number that is not negative, found -1",
        ),
        (
            "format_options = { mission_log_in = 'user' }",
            "error options: `format_options.mission_log_in` cannot be \"user\"; known: `system_prompt`, `user_message`",
        ),
        (
            "format_options = { minimal_turn_info = 1 }",
            "error options: `format_options.minimal_turn_info` must be true or false, found 1",
        ),
        (
            "format_options = { feedback_chars = 1 }",
            "error options: unknown key `feedback_chars` in [format_options]; did you mean `feedback_max_chars`?",
        ),
        (
            "refs = { a = 1 }",
            "error options: a ref is a path such as \"items[0].id\", or a table with `path` or `expr`",
        ),
        (
            "memory = { a = 1 }",
            "error options: a value of [memory] is PTC-Lisp text, such as \"[1 2 3]\" or \"(fn [x] (inc x))\"",
        ),
        ("builtin_tools = ['grap']", "error options: unknown builtin tool \"grap\"; did you mean `grep`?"),
    ];
    for (options, expected) in cases {
        assert_eq!(findings_of(options), expected, "{options}");
    }
}

#[test]
fn options_and_tools_are_checked_while_they_are_typed() {
    let options =
        "mode = \"ptc_lisp\"\n\n[format_options]\nminimal_turn_info = 1\n\n[tools.search]\ndescription = \"x\"\n";
    let texts = DraftTexts { prompt: "go".to_owned(), options: options.to_owned(), ..DraftTexts::default() };
    let found = diagnose(&texts);
    let at = |place: usize| found[place].span.map(|span| &options[span.start..span.end]);
    assert_eq!(
        found.iter().map(|found| found.message.as_str()).collect::<Vec<_>>(),
        [
            "`format_options.minimal_turn_info` must be true or false, found 1",
            "the tool `search` needs a `kind`; known: `table`, `snippet`, `agent`, `llm`, `builtin`, `closure`, `command`, `http`, `mcp`",
        ]
    );
    assert_eq!([at(0), at(1)], [Some("minimal_turn_info"), Some("search")]);
}

#[test]
fn keys_of_a_tool_of_unknown_kind_are_no_findings_of_their_own() {
    let tools = "[tools.fetch]\nkind = \"comand\"\ncommand = [\"./fetch\"]\nurl = \"http://x\"\n";
    let texts = DraftTexts {
        prompt: "go".to_owned(),
        tools: tools.to_owned(),
        options: "mode = \"text\"".to_owned(),
        ..DraftTexts::default()
    };
    let found = diagnose(&texts);
    let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(messages, ["the tool `fetch` has an unknown kind `comand`; did you mean `command`?"]);
    assert_eq!(found[0].place, Place::Tools, "{found:?}");
}

#[test]
fn findings_about_tools_without_a_position_are_placed_in_the_text_of_the_tools() {
    let texts = DraftTexts {
        tools: "[tools.fetch]\nkind = \"table\"\nrow = 1\n".to_owned(),
        options: "max_turns = 0\n".to_owned(),
        ..DraftTexts::default()
    };
    let finding = |key: &str| Diagnostic::error(Place::Options, Reason::InvalidAgent, "wrong").key(key);
    let mut findings = vec![finding("tools.fetch.row"), finding("max_turns")];
    locate(&texts, &mut findings);
    let placed: Vec<_> = findings.iter().map(|found| (found.place, found.span.map(|span| span.start))).collect();
    assert_eq!(placed, [(Place::Tools, Some(29)), (Place::Options, Some(0))]);
}

#[test]
fn the_modes_in_which_a_draft_can_run() {
    let modes = |options: &str, tools: &str| {
        let texts = DraftTexts {
            prompt: "go".to_owned(),
            signature: "() -> {answer :string}".to_owned(),
            tools: tools.to_owned(),
            options: options.to_owned(),
            ..DraftTexts::default()
        };
        texts.runnable_modes()
    };
    assert!(modes("mode = \"json\"", "").contains(&Mode::Json));
    let with_tool = modes("mode = \"text\"", "[tools.t]\nkind = \"snippet\"\nsignature = \"() -> :int\"\ncode = '1'\n");
    assert!(!with_tool.contains(&Mode::Json) && with_tool.contains(&Mode::Text), "{with_tool:?}");
}
