//! The models that need no network: `human`, `recorded`, `demo`, and the errors about those that do not exist.

use serde_json::json;

use super::program::{Done, Program};

#[test]
fn a_user_answers_on_standard_input_line_by_line() {
    let program = Program::new();
    let replies = "{\"sentiment\": \"positive\"}\n.\n{\"sentiment\":\n\"positive\", \"score\": 1}\n";
    let done = program.fed(["run", "sentiment", "--model", "human", "--json"], replies);
    let step = done.exits(0).json();
    assert_eq!(step["return"], json!({"sentiment": "positive", "score": 1}));
    assert_eq!(step["turns"][1]["raw_response"], "{\"sentiment\":\n\"positive\", \"score\": 1}");
    // The question is between the turn it belongs to and the reply.
    let output = done.reported();
    let places =
        ["turn 1", "[your reply for r0/t1; end", "feedback sent", "turn 2", "Your answer could not be used", "r0/t2;"];
    let found: Vec<_> = places.iter().map(|words| output.find(words).unwrap()).collect();
    assert!(found.is_sorted(), "{output}");
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_reply_may_be_empty_or_no_text_at_all() {
    let program = Program::new();
    let done =
        program.fed(["run", "sentiment", "--model", "human", "--json"], b".\n\xff\xfe\n.\n{\"a\": \"\x1b]0;t\x07\"}");
    let step = done.exits(1).json();
    let replies: Vec<_> = step["turns"].as_array().unwrap().iter().map(|turn| turn["raw_response"].clone()).collect();
    assert_eq!(replies, ["", "\u{fffd}\u{fffd}", "{\"a\": \"\u{1b}]0;t\u{7}\"}"]);
}

#[test]
fn without_anybody_to_answer_the_run_waits() {
    let program = Program::new();
    let done = program.run(["run", "sentiment", "--model", "human", "--json"]);
    let step = done.exits(4).json();
    assert_eq!(step["fail"]["reason"], "suspended");
    done.reports("answer with: ptc-workbench resume ");
    program.run(["replay", "last", "--check"]).exits(0);
    // The reply may come later; what was sent before is not sent again.
    let session = step["session"].as_str().unwrap();
    let wrong = program.run(["resume", session, "--answer", "no JSON", "--json"]).exits(4).json();
    assert_eq!(wrong["turns"].as_array().unwrap().len(), 2);
    let reply = r#"{"sentiment": "positive", "score": 1}"#;
    let step = program.run(["resume", session, "--answer", reply, "--json"]).exits(0).json();
    assert_eq!(step["return"], json!({"sentiment": "positive", "score": 1}));
    program.run(["replay", session, "--check"]).exits(0);
    // One reply of two: the second question has no answer.
    let done = program.fed(["run", "sentiment", "--model", "human", "--json"], "{}\n.\n");
    assert_eq!(done.exits(4).json()["turns"].as_array().unwrap().len(), 2);
}

#[test]
fn a_recording_answers_exactly_its_own_requests() {
    let program = Program::new();
    let first = program.run(["run", "sentiment", "--model", "sample:wrong_type", "--json"]).exits(0).json();
    let id = first["session"].as_str().unwrap();
    let again = program.run(["run", "sentiment", "--model", &format!("recorded:{id}"), "--json"]).exits(0).json();
    assert_eq!(again["return"], first["return"]);
    assert_eq!(again["turns"][0]["raw_response"], first["turns"][0]["raw_response"]);

    let model = format!("recorded:{id}");
    let missed = program.run(["run", "sentiment", "--model", &model, "--set", "text=I love this lamp!"]);
    insta::assert_snapshot!(missed.exits(1).reported(), @r#"
    sentiment · json · recorded:<id>
    turn 1
      ✗ llm_not_found: the recording <id> has no answer to this request; nearest is r0/t1: message 2 (user): recorded …"the sentiment of: I love this product!\n\n# Context\n\n- text (s"…, now …"the sentiment of: I love this lamp!\n\n# Context\n\n- text (stri"…
    ✗ llm_not_found after 1 turn, <time> s: the recording <id> has no answer to this request; nearest is r0/t1: message 2 (user): recorded …"the sentiment of: I love this product!\n\n# Context\n\n- text (s"…, now …"the sentiment of: I love this lamp!\n\n# Context\n\n- text (stri"…
      use model demo to answer an edited prompt from recordings, or a live model to record a new session
    saved as <id>
    "#);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn an_example_session_can_be_named_as_a_recording() {
    let program = Program::new();
    let listed = program.run(["sessions", "list", "--json"]).exits(0).json();
    let example =
        listed.as_array().unwrap().iter().find(|line| line["agent"] == "sentiment" && line["mode"] == "json").unwrap();
    let model = format!("recorded:{}", example["id"].as_str().unwrap());
    let step = program.run(["run", "sentiment", "--model", &model, "--json"]).exits(0).json();
    assert_eq!(step["turns"].as_array().unwrap().len(), 2);
}

#[test]
fn the_demo_answers_an_edited_prompt_and_says_so() {
    let program = Program::new();
    let done = program.run(["run", "sentiment", "--model", "demo", "--set", "text=I love this lamp!", "--json"]);
    assert_eq!(done.exits(0).json()["turns"].as_array().unwrap().len(), 2);
    assert_eq!(
        done.stderr
            .matches("! the demo answers from a recording with another prompt, whose tokens are counted\n")
            .count(),
        1,
        "{}",
        done.stderr
    );
    // Nothing left the machine, and the session has no record that it did.
    let session = std::fs::read_to_string(program.session_file()).unwrap();
    assert!(!session.contains("\"k\":\"sent\"") && !session.contains("\"k\":\"wire\""), "{session}");
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn the_demo_says_what_it_has_recorded() {
    let program = Program::new();
    let source = ["--prompt", "x", "--signature", "() -> {a :int}"];
    let done: Done = program.run(["run", "--model", "demo", "--json"].into_iter().chain(source));
    let fail = &done.exits(1).json()["fail"];
    assert_eq!(fail["reason"], "llm_not_found");
    let message = fail["message"].as_str().unwrap();
    let (head, recorded) = message.split_once("; recorded: ").unwrap();
    assert_eq!(head, "model demo has no recording of the agent \"inline\" in mode json");
    assert!(recorded.contains("extract (json, json_loop, ptc_lisp, text), "), "{recorded}");
    assert_eq!(fail["hint"], "the model `sample` answers any signature with generated data; with `human` you answer");
}

#[test]
fn the_models_are_listed_with_what_is_missing_for_them() {
    let program = Program::new().with_env("OPENAI_API_KEY", "sk-0123456789abcdef");
    let done = program.run(["models"]);
    let line = |name: &str| done.stdout.lines().find(|line| line.contains(&format!(" {name} "))).unwrap().to_owned();
    assert!(line("demo").starts_with('✓') && line("human").starts_with('✓'));
    assert!(line("openai:MODEL").starts_with('✓') && line("openai:MODEL").ends_with("OPENAI_API_KEY is set"));
    assert!(line("groq:MODEL").starts_with('–') && line("groq:MODEL").ends_with("GROQ_API_KEY is missing"));
    assert!(
        line("anthropic:MODEL").starts_with('–') && line("anthropic:MODEL").ends_with("ANTHROPIC_API_KEY is missing")
    );
    assert!(line("sonnet").contains(" tokens, ") && line("sonnet").contains(" per million · "));
    assert!(!done.exits(0).stdout.contains("0123456789"));
}

#[test]
fn everything_about_models_is_there_as_json() {
    let program = Program::new().with_env("MINE_KEY", "sk-0123456789abcdef");
    program.file(
        "config.toml",
        "[providers.mine]\nkind = \"anthropic\"\nbase_url = \"http://127.0.0.1:1/v1?tenant=0123456789\"\napi_key_env = \"MINE_KEY\"\nfirst_byte_ms = 7\n\
         [models.sonnet]\nfallback = \"haiku\"\n",
    );
    let done = program.run(["--config", "config.toml", "models", "--json"]);
    let all = done.exits(0).json();
    let named = |list: &str, name: &str| {
        let rows = all[list].as_array().unwrap();
        let key = if list == "servers" { "provider" } else { "name" };
        rows.iter().find(|row| row[key] == name).unwrap_or_else(|| panic!("{name} in {list}: {all}")).clone()
    };
    let sonnet = named("models", "sonnet");
    assert_eq!((&sonnet["state"], &sonnet["provider"]), (&json!("no_key"), &json!("anthropic")));
    for known in ["context", "max_output", "price"] {
        assert!(!sonnet[known].is_null(), "{known}: {sonnet}");
    }
    assert_eq!(named("models", "deepseek")["structured_output"], "json_object");
    let mine = named("providers", "mine");
    assert_eq!(mine["key"], json!({"source": "environment variable MINE_KEY", "present": true}));
    assert_eq!((&mine["kind"], &mine["url"]), (&json!("anthropic"), &json!("http://127.0.0.1:1/v1")));
    assert_eq!(
        (&mine["connect_ms"], &mine["first_byte_ms"], &mine["silence_ms"]),
        (&json!(10_000), &json!(7), &json!(120_000))
    );
    assert_eq!(named("providers", "openai")["key"]["present"], false);
    assert!(named("providers", "ollama").get("key").is_none());
    assert_eq!(named("servers", "mine")["error"], "nothing listens");
    assert!(!done.stdout.contains("0123456789"), "{}", done.stdout);
}

/// The names in code marks of a line of the page.
fn named(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

/// All keys in it, at every depth.
fn keys(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (key, inner) in members {
                into.push(key.clone());
                keys(inner, into);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

#[test]
fn every_member_of_the_json_is_on_the_page() {
    let page = include_str!("../../docs/structured-output.md");
    let program = Program::new();
    let all = program.run(["models", "--json"]).exits(0).json();
    for (list, rows) in all.as_object().unwrap() {
        let Some(rows) = rows.as_array() else {
            assert!(page.contains(&format!("`{list}` is")), "{list}");
            continue;
        };
        let line = page.lines().find(|line| line.starts_with(&format!("| `{list}` |"))).unwrap();
        let mut found = Vec::new();
        for row in rows {
            keys(row, &mut found);
        }
        assert!(!found.is_empty(), "{list}");
        for key in found {
            assert!(named(line).contains(&key.as_str()), "{key} of {list} is not on the page");
        }
    }
    let shown = page.split("`doctor --json`").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut found = Vec::new();
    keys(&program.run(["doctor", "--json"]).json(), &mut found);
    for key in found {
        assert!(named(shown).contains(&key.as_str()), "{key} of doctor is not on the page");
    }
}

#[test]
fn words_show_the_models_where_marks_are_not_wanted() {
    let program = Program::new();
    let drawn = program.run(["models"]).exits(0).stdout.clone();
    let plain = program.run(["--plain", "models"]).exits(0).stdout.clone();
    assert!(drawn.contains("✓ demo") && drawn.contains("– key missing"), "{drawn}");
    assert!(plain.lines().any(|line| line.starts_with("ok: demo, ")), "{plain}");
    assert!(plain.lines().any(|line| line.starts_with("note: ") && line.contains("key missing")), "{plain}");
    assert!(!plain.contains(['✓', '✗', '–', '·']) && !plain.contains("  "), "{plain}");
    program.file("spoken.toml", "[interface]\nplain = true\n");
    let configured = program.run(["models", "--config", "spoken.toml"]).exits(0).stdout.clone();
    assert_eq!(configured, plain, "the configuration asks for it as the flag does");
}

#[test]
fn where_no_screen_is_wanted_the_workbench_shows_its_commands() {
    let program = Program::new();
    let output = program.run(["--plain"]).exits(0).stdout.clone();
    assert!(output.contains("ptc-workbench run sentiment: runs it and prints every turn"), "{output}");
    assert!(output.contains("examples: ") && output.contains("quote") && !output.contains('\x1b'), "{output}");
    let agent = program.run(["--plain", "sentiment"]).exits(0).stdout.clone();
    assert!(agent.starts_with("sentiment: an agent of mode json, signature "), "{agent}");
    let pipeline = program.run(["quote", "--plain"]).exits(0).stdout.clone();
    assert!(pipeline.starts_with("quote: a pipeline of ") && !pipeline.contains(" tools quote"), "{pipeline}");
    program.run(["--plain", "sentimant"]).exits(2).reports("sentiment");
    program.run(["run", "sentiment", "--model", "sample"]).exits(0);
    let session = program.run(["--plain", "last"]).exits(0).stdout.clone();
    assert_eq!(session, program.run(["--plain", "sessions", "show", "last"]).exits(0).stdout);
    assert!(session.contains("ok: returned after 1 turn"), "{session}");
}

#[test]
fn plain_output_of_commands_has_words_in_the_place_of_symbols() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample"]).exits(0);
    let listed = program.run(["--plain", "sessions", "list"]).exits(0).stdout.clone();
    let found = program.run(["--plain", "sessions", "search", "sentiment -is:example"]).exits(0).stdout.clone();
    assert_eq!(found.lines().next(), listed.lines().next(), "the same sentence");
    let commands: &[&[&str]] = &[
        &["sessions", "mark", "last"],
        &["sessions", "list"],
        &["sessions", "show", "last"],
        &["sessions", "search", "sentiment -is:example"],
        &["sessions", "failures", "sentiment -is:example"],
        &["test", "sentiment"],
        &["compare", "sentiment", "--modes", "json", "--models", "sample:wrong_type,sample", "--trials", "2"],
        &["tools", "workshop"],
    ];
    for command in commands {
        let done = program.run([&["--plain"], *command].concat());
        let text = done.stdout.clone() + &done.stderr;
        assert!(!text.is_empty() && !text.contains(['✓', '✗', '–', '★', '×', '→', '»']), "{command:?}: {text}");
    }
    let marked = program.run(["--plain", "sessions", "mark", "last"]).exits(0).stdout.clone();
    assert!(marked.contains("bookmarked"), "{marked}");
}

#[test]
fn a_fallback_that_cannot_be_asked_is_a_warning_that_names_its_key() {
    let program = Program::new();
    for (fallback, why) in [("haiku", "ANTHROPIC_API_KEY is not set"), ("haiku2", "did you mean `haiku`?")] {
        let model = format!("[models.small]\nprovider = \"local\"\nid = \"m\"\nfallback = \"{fallback}\"\n");
        let provider =
            "[retry]\nmax_attempts = 1\n[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n";
        program.file("config.toml", format!("{provider}{model}"));
        let shown = format!("[models.small] fallback = \"{fallback}\" cannot be used");
        let run = program.run(["--config", "config.toml", "run", "--prompt", "Go", "--model", "small"]);
        // The run begins and asks the model itself, where nothing listens.
        assert!(run.exits(1).reports(&shown).stderr.contains("llm_error"), "{}", run.stderr);
        run.reports(why);
        let listed = program.run(["--config", "config.toml", "models"]);
        let line = listed.exits(0).stdout.lines().find(|line| line.contains(" small ")).unwrap();
        assert!(line.starts_with('✓') && line.contains(&shown) && line.contains(why), "{line}");
        let found = program.run(["--config", "config.toml", "doctor"]);
        assert!(found.exits(0).stdout.contains(&format!("– model small             {shown}")), "{}", found.stdout);
    }
    let program = program.with_env("ANTHROPIC_API_KEY", "sk-0123456789abcdef");
    let model = "[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n[models.small]\nprovider = \"local\"\nid = \"m\"\nfallback = \"haiku\"\n";
    program.file("config.toml", model);
    let listed = program.run(["--config", "config.toml", "models"]);
    assert!(!listed.exits(0).stdout.contains("cannot be used"), "{}", listed.stdout);
}
