//! The commands other than `run`, the flags that all share, and their exit codes.

use serde_json::{Value, json};

use super::program::{Program, keys};

#[test]
fn usage_errors_end_with_2_and_help_with_0() {
    let program = Program::new();
    let wrong: [&[&str]; 8] = [
        &["run"],
        &["run", "sentiment", "--prompt", "x"],
        &["run", "--signature", "() -> :int"],
        &["run", "sentiment", "--no-such-flag"],
        &["no-such-command", "x"],
        &["sessions"],
        &["signature", "sample", "() -> :int", "--seed", "x"],
        &["replay"],
    ];
    for arguments in wrong {
        let done = program.run(arguments);
        assert_eq!((done.exits(2).stdout.as_str(), done.stderr.is_empty()), ("", false), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"]] {
        assert!(!program.run(arguments).exits(0).stdout.is_empty(), "{arguments:?}");
    }
    program.run(["sentiment", "models"]).exits(2).reports("`sentiment` is before a command");
    let meant: [(&[&str], &str); 7] = [
        (&["run", "sentiment", "--signature", "() -> :int"], "--signature goes with --prompt"),
        (&["test", "sentiment", "--case", "a"], "`test` has no `--case`; did you mean `--filter TEXT`?"),
        (&["search", "foo"], "did you mean the command `sessions search`?"),
        (&["list"], "did you mean the command `sessions list`?"),
        (&["show", "last"], "did you mean the command `sessions show`?"),
        (&["export", "last", "--format", "md"], "did you mean the command `sessions export`?"),
        (&["rnu", "sentiment"], "did you mean the command `run`?"),
    ];
    for (arguments, words) in meant {
        program.run(arguments).exits(2).reports(words);
    }
}

#[test]
fn a_session_that_cannot_be_opened_is_reported_as_one() {
    let program = Program::new();
    program.run(["last"]).exits(2).reports("no last session");
    program.run(["2026-11-22"]).exits(2).reports("no session \"2026-11-22\"");
    program.file("broken.jsonl", "no header\n");
    program.run(["broken.jsonl"]).exits(2).reports("broken.jsonl: line 1 is not a session header");
    program.run(["missing.jsonl"]).exits(2).reports("no session \"missing.jsonl\"");
    program.run(["no-such-agent"]).exits(2).reports("no such agent file");
    program.run(["rnu"]).exits(2).reports("did you mean the command `run`?");
    program.run(["lisp", "run", "(+ 1 2)"]).exits(2).reports("a program itself follows -e");
}

#[test]
fn a_new_agent_is_created_and_never_replaces_a_file() {
    let program = Program::new();
    let done = program.run(["new", "invoice", "--mode", "json"]);
    assert_eq!(done.exits(0).stdout.trim(), "invoice.toml");
    done.reports("write its prompt, then run it with: ptc-workbench run invoice.toml");
    program.run(["new", "invoice"]).exits(2).reports("invoice.toml already exists");
    program
        .run(["new", "copy.toml", "--from", "sentiment"])
        .exits(0)
        .reports("; run it with: ptc-workbench run copy.toml");
    program.run(["run", "copy.toml", "--no-save"]).exits(0);
    program.run(["new", "other", "--from", "sentimant"]).exits(2).reports("did you mean `sentiment`?");
    program.run(["new", "other", "--mode", "jsn"]).exits(2).reports("did you mean `json`?");
    program.run(["new", "no/such/folder"]).exits(2).reports("the folder no/such does not exist");
}

#[test]
fn the_demo_answers_edited_prompts_and_no_other_agent() {
    let program = Program::new();
    let agent = |prompt: &str, output: &str| {
        let text = format!(
            "name = \"sentiment\"\nmode = \"json\"\nmodel = \"demo\"\nprompt = \"{prompt} {{{{text}}}}\"\nsignature = \"(text :string) -> {output}\"\ncontext = {{ text = \"x\" }}\n"
        );
        program.file("agent.toml", &text);
        program.run(["run", "agent.toml", "--no-save"])
    };
    agent("Please classify", "{sentiment :enum[positive negative neutral], score :float}").exits(0);
    for output in ["{summary :string}", ":string", "[:string]"] {
        agent("Summarize", output)
            .exits(1)
            .reports("model demo has no answer for this")
            .reports("`sample`")
            .reports("`human`");
    }
}

#[test]
fn a_prompt_alone_wants_words_and_one_with_a_signature_json() {
    let program = Program::new();
    let mode = |more: &[&str]| {
        let done = program.run([&["run", "--prompt", "Say hi", "--model", "sample", "--json"], more].concat());
        done.exits(0).json()["turns"][0]["json"].is_null()
    };
    assert!(mode(&[]) && !mode(&["--signature", "() -> {greeting :string}"]));
    let listed = program.run(["sessions", "list", "--json"]).exits(0).json();
    let modes: Vec<&Value> = listed.as_array().unwrap().iter().take(2).map(|session| &session["mode"]).collect();
    assert_eq!(modes, ["json", "text"]);
    assert!(listed[0]["created_ms"].as_i64().unwrap() >= listed[1]["created_ms"].as_i64().unwrap());
    assert!(listed[0].get("tokens").is_some() && listed[0].get("cost").is_some(), "{}", listed[0]);
}

#[test]
fn a_prompt_can_be_the_text_of_a_file() {
    let program = Program::new();
    program.file("p.txt", "\u{feff}Say {{greeting}} twice");
    let flags = ["prompt", "--prompt", "@p.txt", "--set", "greeting=hello", "--model", "sample"];
    let sent = program.run(flags).exits(0).stdout.clone();
    assert!(sent.contains("Say hello twice") && !sent.contains("p.txt"), "{sent}");
    program.run(["run", "--prompt", "@absent.txt", "--model", "sample"]).exits(2).reports("absent.txt: cannot be read");
}

#[test]
fn signatures_are_checked_turned_into_schemas_and_sampled() {
    let program = Program::new();
    let checked = program.run(["signature", "check", "(a :string,b :int?)->{c [:float]}"]);
    assert_eq!(checked.exits(0).stdout, "(a :string, b :int?) -> {c [:float]}\n");
    program.run(["signature", "check", "-> [:int]"]).exits(0);
    let schema = program.run(["signature", "schema", "() -> {c :int, d :string?}"]).exits(0).json();
    assert_eq!(schema["properties"]["c"], json!({"type": "integer"}));
    assert_eq!(schema["required"], json!(["c"]));
    let sample =
        |seed: &str| program.run(["signature", "sample", "(a :int) -> {c :string}", "--seed", seed]).exits(0).json();
    assert_eq!((keys(&sample("1")), sample("7")), (vec!["inputs", "output"], sample("7")));
    let wrong = program.run(["signature", "check", "(a :string) -> {b :in}"]);
    wrong.exits(2).reports("error: signature_error: line 1, column 19: unknown type :in; did you mean :int?");
}

#[test]
fn the_prompt_command_shows_what_a_run_sends_and_needs_no_key() {
    let program = Program::new();
    let sent = program.run(["prompt", "sentiment", "--model", "openai:m", "--set", "text=abc"]).exits(0).json();
    assert_eq!(keys(&sent), ["request", "inputs", "body"]);
    assert_eq!(sent["body"]["model"], "m");
    assert_eq!(sent["body"]["messages"], sent["request"]["messages"]);
    assert!(program.session_files().is_empty());

    let run = program.run(["run", "sentiment", "--model", "sample", "--set", "text=abc", "--json"]).exits(0).json();
    assert_eq!(run["turns"][0]["messages"][0], sent["request"]["messages"][1]);
    assert_eq!(run["turns"][0]["system_prompt"], sent["request"]["messages"][0]["content"]);
}

#[test]
fn what_would_be_sent_is_held_against_another_mode_part_by_part() {
    let program = Program::new();
    let flags = ["prompt", "sentiment", "--mode", "json", "--against"];
    let held = program.run(flags.into_iter().chain(["ptc_lisp"]));
    let lines: Vec<&str> = held.exits(0).stdout.lines().collect();
    let own = program.run(["prompt", "sentiment", "--mode", "json"]).exits(0).json();
    let system = own["request"]["messages"][0]["content"].as_str().unwrap().to_owned();
    let first = system.lines().next().unwrap();
    assert!(lines.contains(&format!("  + {first}").as_str()), "{}", held.stdout);
    assert!(lines.iter().any(|line| line.starts_with("  - ") && line.contains("PTC-Lisp")), "{}", held.stdout);
    assert!(lines.iter().any(|line| line.starts_with("schema of the answer · about 0 → ")), "{}", held.stdout);
    let same = program.run(flags.into_iter().chain(["json"]));
    assert!(same.exits(0).stdout.lines().all(|line| line == "  = the same" || line.contains(" · about ")));
    program.run(flags.into_iter().chain(["lisp"])).exits(2).reports("unknown mode \"lisp\"");
    program.run(["prompt", "quote", "--against", "json"]).exits(2).reports("its steps have modes of their own");
}

#[test]
fn sessions_are_listed_and_shown_as_text_and_as_json() {
    let program = Program::new();
    let empty = program.run(["sessions", "list", "--json"]).exits(0).json();
    let examples = empty.as_array().unwrap().len();
    assert!(examples >= 2 && empty.as_array().unwrap().iter().all(|line| line["example"] == json!(true)));
    let text = program.run(["sessions", "list"]).exits(0).stdout.clone();
    assert_eq!(text.lines().filter(|line| line.contains("✓ example  ")).count(), examples, "{text}");
    let step = program.run(["run", "sentiment", "--model", "sample:bad_json", "--json"]).exits(0).json();
    program.run(["run", "sentiment", "--model", "sample:bad_json,every"]).exits(1);
    let listed = program.run(["sessions", "list", "--json"]).exits(0).json();
    let lines = listed.as_array().unwrap();
    assert_eq!(lines.len(), examples + 2);
    let facts = |line: &Value| (line["state"].clone(), line["turns"].clone(), line["model"].clone());
    assert_eq!(facts(&lines[0]), (json!("failed"), json!(3), json!("sample:bad_json,every")));
    assert_eq!(facts(&lines[1]), (json!("returned"), json!(2), json!("sample:bad_json")));
    assert_eq!(lines[1]["result"], step["return"].to_string());
    assert_eq!(lines[0]["example"], Value::Null);

    let shown = program.run(["sessions", "show", step["session"].as_str().unwrap()]);
    let first = "sentiment · json · sample:bad_json · r0\nturn 1 · r0/t1\n  | {\"answer\" ]: ,,, {{ broken on purpose\n  ✗ json_parse_error: ";
    assert!(shown.exits(0).stdout.starts_with(first), "{}", shown.stdout);
    // The Step of the file is the Step of the run.
    let from_file = program.run(["sessions", "show", step["session"].as_str().unwrap(), "--json"]).exits(0).json();
    assert_eq!(from_file[0].to_string(), step.to_string());
}

#[test]
fn the_doctor_finds_what_works_and_what_does_not() {
    let program = Program::new().with_env("TERM", "xterm-256color");
    let done = program.run(["doctor"]);
    let lines = [
        ", 256 colours)",
        "✓ sessions folder",
        "✓ drafts folder",
        "– configuration",
        "– key for openai",
        "server ollama",
        "✓ example sessions",
    ];
    for words in lines {
        assert!(done.exits(0).stdout.contains(words), "{words}: {}", done.stdout);
    }
    program.file("no-folder", "");
    let done = program.run(["--sessions", "no-folder", "doctor"]);
    assert_eq!(done.code, Some(2), "the flag is given twice");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ptc-workbench"));
    program.surround(&mut command);
    let done = program.done(command.args(["doctor", "--sessions", "no-folder"]).output().unwrap());
    assert!(done.exits(1).stdout.contains("✗ sessions folder"), "{}", done.stdout);
    assert!(done.stdout.contains("choose another with --sessions"), "{}", done.stdout);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ptc-workbench"));
    program.surround(&mut command);
    let done = program.done(command.args(["doctor", "--json", "--sessions", "no-folder"]).output().unwrap());
    let printed_text = done.exits(1).json();
    assert_eq!(printed_text["ok"], false);
    let findings = printed_text["findings"].as_array().unwrap();
    let health = |what: &str| findings.iter().find(|finding| finding["what"] == what).unwrap()["health"].clone();
    assert_eq!((health("sessions folder"), health("key for openai")), ("bad".into(), "note".into()));
}

#[test]
fn the_doctor_finds_settings_that_the_interface_refuses() {
    let program = Program::new();
    program.file("keys.toml", "[keys]\n\"run.strat\" = [\"f5\"]\n");
    program.file("theme.toml", "[interface]\ntheme = \"nope\"\n");
    program.file("fine.toml", "[interface]\ntheme = \"dark\"\n");
    let configuration = |file: &str, code: i32| {
        let found = program.run(["--config", file, "doctor", "--json"]).exits(code).json();
        let findings = found["findings"].as_array().unwrap().clone();
        let mut of_it = findings.into_iter().filter(|finding| finding["what"] == "configuration");
        let first = of_it.next().unwrap();
        assert!(of_it.next().is_none(), "{found}");
        (first["health"].as_str().unwrap().to_owned(), first["message"].as_str().unwrap().to_owned())
    };
    let (health, message) = configuration("keys.toml", 1);
    assert!(health == "bad" && message.contains("did you mean \"run.start\"?"), "{message}");
    let (health, message) = configuration("theme.toml", 1);
    assert!(health == "bad" && message.contains("unknown theme \"nope\""), "{message}");
    assert_eq!(configuration("fine.toml", 0).0, "good");
}

#[test]
fn the_doctor_finds_settings_that_only_a_run_or_a_connection_needs() {
    let program = Program::new();
    program.file("bad.pem", "no certificate");
    let provider = "kind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\n";
    let collector = "[telemetry]\notlp_endpoint = \"http://127.0.0.1:9\"\n";
    let cases = [
        ("default_model = \"nosuch\"\n".to_owned(), "default_model = \"nosuch\": no model `nosuch`"),
        ("ca_file = \"nofile\"\n".to_owned(), "nofile cannot be read"),
        ("ca_file = \"bad.pem\"\n".to_owned(), "bad.pem contains no certificate"),
        (format!("[providers.p]\n{provider}ca_file = \"nofile\"\n"), "nofile cannot be read"),
        (format!("{collector}headers = {{ key = \"${{NO_SUCH_VARIABLE}}\" }}\n"), "NO_SUCH_VARIABLE is not set"),
    ];
    for (text, problem) in cases {
        program.file("config.toml", &text);
        let found = program.run(["--config", "config.toml", "doctor", "--json"]).exits(1).json();
        let findings = found["findings"].as_array().unwrap();
        let bad: Vec<_> = findings.iter().filter(|finding| finding["health"] == "bad").collect();
        assert_eq!(bad.len(), 1, "{text}: {found}");
        assert_eq!(bad[0]["what"], "configuration");
        assert!(bad[0]["message"].as_str().unwrap().contains(problem), "{text}: {}", bad[0]);
    }
    let model = "[models.m]\nprovider = \"p\"\nid = \"x\"\nfallback = \"m\"\n";
    program.file("config.toml", format!("[providers.p]\n{provider}{model}"));
    let done = program.run(["--config", "config.toml", "doctor"]);
    assert!(done.exits(0).stdout.contains("it is the model itself"), "{}", done.stdout);
}

#[test]
fn a_configuration_is_read_from_the_home_or_from_a_flag() {
    let program = Program::new();
    std::fs::create_dir_all(program.dir().join("home/.config/ptc-workbench")).unwrap();
    program.file("home/.config/ptc-workbench/config.toml", "default_model = \"sample:seed=3\"\n");
    program.file("other.toml", "default_model = \"sample:seed=4\"\n");
    program.file("agent.toml", "prompt = \"x\"\nmode = \"json\"\nsignature = \"() -> {a :int}\"\n");
    for (config, model) in [(&[][..], "sample:seed=3"), (&["--config", "other.toml"], "sample:seed=4")] {
        let done = program.run(["run", "agent.toml"].iter().chain(config));
        done.exits(0).reports(&format!("· {model}\n"));
    }
}

#[test]
fn the_log_says_what_ran_and_holds_no_text_of_the_run() {
    let program = Program::new();
    let done = program.run([
        "run",
        "sentiment",
        "--model",
        "sample:bad_json,every",
        "--log",
        "log.txt",
        "--set",
        "text=abc-secret",
    ]);
    done.exits(1);
    program.run(["run", "sentiment", "--model", "sample", "--log", "log.txt"]).exits(0);
    let log = std::fs::read_to_string(program.dir().join("log.txt")).unwrap();
    assert_eq!(log.matches("run started").count(), 2, "{log}");
    assert!(log.contains("json_parse_error") && log.contains("returned") && !log.contains("abc-secret"), "{log}");
    program
        .run(["models", "--log", "no/such/folder/log.txt"])
        .exits(2)
        .reports("no/such/folder/log.txt: cannot be written");
}

#[test]
fn everything_works_without_a_home() {
    let program = Program::new();
    let mut command = program.command(["run", "sentiment", "--model", "sample"]);
    program.done(command.env_remove("HOME").output().unwrap()).exits(0);
}

#[test]
fn the_prompt_of_a_pipeline_is_that_of_its_first_step_and_shows_what_follows() {
    let program = Program::new();
    let sent = program.run(["prompt", "quote", "--set", "message=Two lamps, please."]);
    sent.exits(0)
        .reports("then: add_prices · ptc_lisp · (customer :string, items [")
        .reports("then: write_reply · json · ");
    assert_eq!(sent.json()["request"]["agent"], "read_request");
    assert!(sent.stdout.contains("Two lamps, please."));
    program.file("p.toml", "[[steps]]\nprompt = 'a'\nmode = 'json'\nsignature = '() -> {a :int}'\n[[steps]]\nprompt = '{{b}}'\nmode = 'json'\nsignature = '(b :int) -> :int'\n");
    program.run(["prompt", "p.toml"]).exits(2).reports("b");
    program.run(["prompt", "quote", "--mode", "json"]).exits(2).reports("its steps have modes of their own");
    program.run(["tools", "quote"]).exits(2).reports("quote is a pipeline, not an agent");
}

#[test]
fn tools_lists_who_may_call_each_and_what_providers_get() {
    let program = Program::new();
    let agent = "mode = 'ptc_lisp'\nprompt = 'go'\nllm_query = true\n[tools.look-up]\nkind = 'table'\nsignature = '(id :int) -> \
                 {name :string}'\ndescription = 'Looks up'\nexpose = 'ptc_lisp'\ndefault = { name = 'x' }\n";
    program.file("a.toml", agent);
    let output = program.run(["tools", "a.toml"]).exits(0).stdout.clone();
    assert!(
        output.starts_with("look-up  (id :int) -> {name :string}  table\n    Looks up\n    called by programs · "),
        "{output}"
    );
    assert!(output.contains("    providers get look_up {\"type\":\"object\",\"properties\":{\"id\":"), "{output}");
    let listed = program.run(["tools", "a.toml", "--json"]).exits(0).json();
    assert_eq!(listed[0]["provider"]["name"], "look_up");
    assert_eq!((&listed[0]["programs"], &listed[0]["native"]), (&true.into(), &false.into()));
    assert_eq!(listed[1]["name"], "llm-query");
    // A question to a model has no time of its own: the budgets of the run bound it.
    assert_eq!((&listed[0]["timeout_ms"], &listed[1]["timeout_ms"]), (&30_000.into(), &serde_json::Value::Null));
    assert_eq!(output.matches(" · limit ").count(), 1, "{output}");
    program.file("none.toml", "prompt = 'go'\nsignature = ':int'\n");
    assert!(program.run(["tools", "none.toml"]).exits(0).stderr.contains("has no tools"));
    program.file("bad.toml", "mode = 'ptc_lisp'\nprompt = 'go'\n[tools.x]\nkind = 'tabel'\n");
    assert!(program.run(["tools", "bad.toml"]).exits(2).stderr.contains("did you mean `table`?"));
}

#[test]
fn a_command_that_a_message_shows_to_type_is_one_for_any_name_of_a_file() {
    let program = Program::new();
    program.run(["run", "sales"]).exits(0);
    let saved = program.run(["exec", "last", "r0/t1", "--save", "a pinned one.toml"]);
    saved.exits(0).reports("run it with: ptc-workbench run 'a pinned one.toml'");
    // Nor is it taken for a flag.
    let saved = program.run(["exec", "last", "r0/t1", "--save=-x.toml"]);
    saved.exits(0).reports("run it with: ptc-workbench run ./-x.toml");
}

#[test]
fn a_session_that_is_shown_shows_the_addresses_that_other_commands_take() {
    let program = Program::new();
    program.fed(["run", "booking"], "").exits(4);
    let shown = program.run(["sessions", "show", "last"]).exits(0).stdout.clone();
    let steps = program.run(["sessions", "show", "last", "--json"]).exits(0).json();
    let step = &steps[0];
    assert_eq!((&step["address"], &step["turns"][0]["address"]), (&"r0".into(), &"r0/t1".into()));
    let question = &step["questions"][0];
    assert_eq!((&question["address"], question.get("answer")), (&step["waits_for"], None));
    for at in ["r0", "r0/t1", question["address"].as_str().unwrap()] {
        assert!(shown.lines().any(|line| line.ends_with(&format!(" · {at}"))), "{at}: {shown}");
    }
    program.run(["resume", "last", "--answer", "4"]).exits(0);
    let steps = program.run(["sessions", "show", "last", "--json"]).exits(0).json();
    assert_eq!(steps[0]["questions"][0]["answer"], "4");

    program.run(["run", "reviews", "--mode", "text"]).exits(0);
    let shown = program.run(["sessions", "show", "last", "--plain"]).exits(0).stdout.clone();
    let steps = program.run(["sessions", "show", "last", "--json"]).exits(0).json();
    let child = &steps[0]["children"][0];
    let (run, turn) = (child["address"].as_str().unwrap(), child["turns"][0]["address"].as_str().unwrap());
    assert_eq!(steps[0]["calls"][0]["address"], run, "a call of an agent is its run");
    assert_eq!(turn, format!("{run}/t1"));
    for at in [run, turn] {
        assert!(shown.lines().any(|line| line.ends_with(&format!(", {at}"))), "{at}: {shown}");
    }
}
