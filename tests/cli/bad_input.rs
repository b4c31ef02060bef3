//! The exact words for input that cannot be used.

use insta::assert_snapshot;

use super::program::Program;

/// The errors of an agent file of this text; the run is refused.
fn refused(text: &str) -> String {
    let program = Program::new();
    program.file("agent.toml", text);
    let done = program.run(["run", "agent.toml", "--model", "sample"]);
    assert_eq!((done.exits(2).stdout.as_str(), program.session_files().len()), ("", 0));
    done.reported()
}

/// The errors of these arguments; the run is refused.
fn refused_with(arguments: &[&str]) -> String {
    let program = Program::new();
    let done = program.run(["run", "sentiment"].iter().chain(arguments));
    assert_eq!((done.exits(2).stdout.as_str(), program.session_files().len()), ("", 0));
    done.reported()
}

#[test]
fn an_agent_file_that_is_not_toml() {
    assert_snapshot!(refused("name = \"a\"\nprompt = \"p\nmode = \"json\"\n"), @r#"error: agent.toml:2:12: not TOML: invalid basic string, expected `"`"#);
    assert_snapshot!(refused("name = \"a\"\nname = \"b\"\n"), @"error: agent.toml:2:1: not TOML: duplicate key");
}

#[test]
fn an_agent_file_with_an_unknown_key() {
    assert_snapshot!(refused("name = \"a\"\npromt = \"p\"\n"), @"error: agent.toml:2:1: unknown key `promt`; did you mean `prompt`?");
    assert_snapshot!(refused("prompt = \"p\"\n\n[model_options]\n  temprature = 1\n"), @"error: agent.toml:4:3: unknown key `temprature` in [model_options]; did you mean `temperature`?");
    assert_snapshot!(refused("prompt = \"p\"\nmax_turns = \"3\"\n"), @r#"error: agent.toml:2:13: `max_turns` must be a whole number of turns, found text"#);
}

#[test]
fn an_agent_file_that_cannot_be_read() {
    let program = Program::new();
    program.file("latin.toml", b"name = \"caf\xe9\"\n");
    let output = |name: &str| program.run(["run", name]).exits(2).reported();
    assert_snapshot!(output("sentimant"), @"error: sentimant: no such agent file; did you mean `sentiment`? (examples: sentiment, extract, sales, reviews, booking, workshop, statement, yard, quote)");
    assert_snapshot!(output("."), @"error: .: cannot be read: Is a directory (os error 21)");
    assert_snapshot!(output("latin.toml"), @"error: latin.toml: cannot be read: it is not UTF-8 text");
    assert_snapshot!(refused(""), @"error: agent.toml: prompt: the prompt is empty; describe the task");
    assert_snapshot!(refused("mode = \"json\"\n"), @r"
    error: agent.toml: prompt: the prompt is empty; describe the task
    error: agent.toml: signature: json mode needs a signature that declares the output, such as `(text :string) -> {sentiment :string, score :float}`, or a schema
    ");
}

#[test]
fn a_signature_that_cannot_be_read() {
    let agent = "mode = \"json\"\nprompt = \"{{a}}\"\nsignature = \"(a :string) -> {b :integer}\"\n";
    assert_snapshot!(refused(agent), @r#"error: agent.toml: signature, line 1, column 19: unknown type :integer; did you mean :int?; types: :string, :int, :float, :number, :bool, :boolean, :keyword, :any, :map, :datetime, :file, :enum["a" "b"], [:int] for a list, {name :string} for a map, ? after a type makes it optional"#);
    let agent = "mode = \"json\"\nprompt = \"{{a}}\"\nsignature = \"(a :string -> :int\"\n";
    assert_snapshot!(refused(agent), @r#"error: agent.toml: signature, line 1, column 12: expected "," or ")" after the parameter "a", found "->""#);
}

#[test]
fn a_template_that_cannot_be_read_or_filled() {
    let agent = "mode = \"json\"\nprompt = \"\"\"\nAll:\n{{#items}} - {{name}}\"\"\"\nsignature = \"(items [{name :string}]) -> {b :int}\"\n";
    assert_snapshot!(refused(agent), @r"error: agent.toml: prompt, line 2, column 1: this section is never closed; write `{{/items}}` where it ends");
    let agent = "mode = \"json\"\nprompt = \"Hello {{nmae}}\"\nsignature = \"(name :string) -> {b :int}\"\n";
    assert_snapshot!(refused(agent), @r"error: agent.toml: prompt, line 1, column 7: `nmae` is not a parameter; did you mean `name`?");
}

#[test]
fn a_context_that_is_not_json() {
    assert_snapshot!(refused_with(&["--context", "{\"text\": \"a\",\n \"n\": oops}"]), @"error: --context: line 2, column 7: the context is not JSON: expected a JSON value, found 'o'");
    assert_snapshot!(refused_with(&["--context", "[1]"]), @"error: --context: the context must be a JSON object");
    assert_snapshot!(refused_with(&["--context", ""]), @r"error: --context: line 1, column 1: the context is not JSON: expected a JSON value, found the end of the text");
    assert_snapshot!(refused_with(&["--context", "@none.json"]), @"error: none.json: cannot be read: No such file or directory (os error 2)");
    let program = Program::new();
    program.file("cut.json", "{\n  \"text\": \"a");
    assert_snapshot!(program.run(["run", "sentiment", "--context", "@cut.json"]).exits(2).reported(), @r#"error: cut.json: line 2, column 13: the context is not JSON: expected '"' to close the string, found the end of the text"#);
}

#[test]
fn a_context_or_value_in_another_form_is_reported_with_the_right_one() {
    let program = Program::new();
    program.file(
        "ok.toml",
        "mode = \"json\"\nprompt = \"{{text}} {{on}}\"\nsignature = \"(text :string, on :bool) -> {n :int}\"\n",
    );
    program.file("ctx.json", "{}");
    let known = [
        (["--context", "ctx.json"], "; a file is read with --context @ctx.json"),
        (["--context", "text=hi"], "; write --set text=hi"),
        (["--set", "on=yes"], "--set on: must be true or false, found \"yes\""),
        (
            ["--set", "text=@maria"],
            "; `@` reads a file; to pass this text itself, write --context '{\"text\":\"@maria\"}'",
        ),
    ];
    for (arguments, words) in known {
        program.run(["run", "ok.toml"].iter().chain(&arguments)).exits(2).reports(words);
    }
    program.run(["run", "ok"]).exits(2).reports("ok: no such agent file; did you mean `ok.toml`?");
    assert!(
        refused("mode = \"json\"\nprompt = \"x\"\nschema = \"no.json\"\n")
            .contains("; a file is named as \"@no.json\"")
    );
}

#[test]
fn the_error_of_a_pipeline_names_its_step() {
    let program = Program::new();
    program.file("bad.toml", "mode = \"json\"\nprompt = \"{{#a}}\"\nsignature = \"() -> :int\"\n");
    let first = "[[steps]]\nname = \"one\"\nmode = \"json\"\nprompt = \"x\"\nsignature = \"() -> :int\"\n";
    let known = [
        (format!("{first}[[steps]]\nfile = \"bad.toml\"\n"), "p.toml: step 2 (bad): prompt, line 1, column 1: "),
        (
            format!("{first}[[steps]]\nfile = \"bad.toml\"\nprompt = \"y\"\n"),
            "p.toml:8:1: `prompt` has no effect next to `file`; write it in bad.toml",
        ),
        (
            format!("{first}[[steps]]\nfile = \"bad.toml\"\ncontex = {{}}\n"),
            "unknown key `contex` next to `file`; did you mean `context`?",
        ),
        (
            format!("{first}[[steps.cases]]\nname = \"a\"\n"),
            "`steps.0.cases`: a step cannot have cases, because pipelines are not tested",
        ),
        (
            "[steps.one]\nprompt = \"x\"\n".to_owned(),
            "`steps` is not a list of steps: a pipeline's steps are [[steps]]",
        ),
        (
            format!("{first}[[steps]]\nfile = \"inner.toml\"\n"),
            "inner.toml is a pipeline, and pipelines cannot be nested; write its steps here",
        ),
        (first.replace("[[steps]]", "[[step]]"), "`step` is not a list of steps: a pipeline's steps are [[steps]]"),
    ];
    program.file("inner.toml", first);
    for (text, words) in known {
        program.file("p.toml", text);
        program.run(["run", "p.toml", "--model", "sample"]).exits(2).reports(words);
    }
}

#[test]
fn a_model_that_does_not_exist() {
    assert_snapshot!(refused_with(&["--model", "sonet"]), @"error: no model `sonet`; did you mean `sonnet`? (`ptc-workbench models` lists usable models)");
    assert_snapshot!(refused_with(&["--model", "opnai:gpt"]), @"error: unknown provider `opnai`; did you mean `openai`?");
    assert_snapshot!(refused_with(&["--model", "sample:mising_field"]), @"error: unknown fault \"mising_field\"; did you mean `missing_field`? (faults: bad_json, missing_field, wrong_type, prose, two_blocks, endless_loop, cut_reply, slow, provider_error; also seed=N and every)");
    assert_snapshot!(refused_with(&["--model", ""]), @r"error: no model is named. Name one with `model` in the agent file, `default_model` in the configuration, or --model.");
    assert_snapshot!(refused_with(&["--model", "recorded"]), @"error: write the session to use, as in `recorded:last`");
    assert_snapshot!(refused_with(&["--model", "recorded:last"]), @"error: no last session: sessions contains no sessions (`ptc-workbench run sentiment` creates one)");
    assert_snapshot!(refused_with(&["--mode", "jsn"]), @r#"error: unknown mode "jsn"; did you mean `json`? (modes: ptc_lisp, json, text, json_loop)"#);
}

#[test]
fn a_key_that_is_missing() {
    assert_snapshot!(refused_with(&["--model", "openai:gpt-4.1"]), @"error: no API key: environment variable OPENAI_API_KEY is not set; set it with: export OPENAI_API_KEY=…");
}

#[test]
fn a_server_that_cannot_be_reached() {
    let port = crate::openai::unused_port();
    let program = Program::new();
    let provider = format!("[providers.off]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n");
    program.file("config.toml", format!("{provider}[retry]\nmax_attempts = 1\n"));
    let done = program.run(["--config", "config.toml", "run", "sentiment", "--model", "off:m"]);
    assert_snapshot!(done.exits(1).reported().replace(&port.to_string(), "<port>"), @r"
    sentiment · json · off:m
    turn 1
      ✗ llm_error: cannot connect to off at http://127.0.0.1:<port>/v1/chat/completions: connection refused
    ✗ llm_error after 1 turn, <time> s: cannot connect to off at http://127.0.0.1:<port>/v1/chat/completions: connection refused
      is the server running? check with: curl http://127.0.0.1:<port>/v1/models
    saved as <id>
    ");
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_configuration_that_cannot_be_used() {
    let program = Program::new();
    program.file("config.toml", "default_modle = \"demo\"\n");
    let output = |config: &str| program.run(["--config", config, "models"]).exits(2).reported();
    assert_snapshot!(output("config.toml"), @r"error: config.toml:1:1: unknown key `default_modle`; did you mean `default_model`?");
    assert_snapshot!(output("none.toml"), @"error: none.toml: cannot be read: No such file or directory (os error 2)");
}

#[test]
fn a_folder_that_cannot_be_written() {
    let program = Program::new();
    program.file("sessions", "");
    let done = program.run(["run", "sentiment", "--model", "sample"]);
    assert_snapshot!(done.exits(2).reported(), @"error: could not create a session in sessions: it is not a folder (choose another folder with --sessions); --no-save runs without a session");
    program.run(["run", "sentiment", "--model", "sample", "--no-save"]).exits(0);
}

/// A name is often empty because a variable of the shell is.
#[test]
fn a_name_that_is_empty() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample"]).exits(0);
    let commands: [(&[&str], &str); 12] = [
        (&["run", ""], "AGENT.toml"),
        (&["prompt", ""], "AGENT.toml"),
        (&["test", ""], "AGENT.toml"),
        (&["serve", ""], "AGENT.toml"),
        (&["compare", "last", ""], "SESSION|AGENT.toml"),
        (&["new", ""], "NAME"),
        (&["resume", ""], "SESSION"),
        (&["exec", "last", ""], "ADDRESS"),
        (&["fork", "last", "--at", ""], "ADDRESS[:STAGE]"),
        (&["rerun", "last", "--from", ""], "ADDRESS"),
        (&["rerun", "last", "--agent", ""], "AGENT.toml"),
        (&["sessions", "show", ""], "SESSION"),
    ];
    for (arguments, name) in commands {
        let done = program.run(arguments);
        done.exits(2).reports("error: a value is required for ").reports(name).reports("but none was supplied");
    }
    assert_eq!(program.session_files().len(), 1);
    for (arguments, words) in [
        (["run", "sentiment", "--context", "@"], "error: `@` without a file: write @FILE"),
        (["run", "sentiment", "--set", "text=@"], "error: `@` without a file: write @FILE; `@` reads a file"),
    ] {
        program.run(arguments).exits(2).reports(words);
    }
}

#[test]
fn results_that_are_no_text_or_no_file() {
    let program = Program::new();
    program.file("latin.jsonl", b"\n\xff\n");
    program.run(["merge", "latin.jsonl"]).exits(2).reports("error: latin.jsonl:2: the line is not UTF-8 text");
    program.run(["merge", "home"]).exits(2).reports("error: home: cannot be read: Is a directory");
}

#[test]
fn a_misspelt_command() {
    let done = Program::new().run(["runn", "sentiment"]);
    assert_snapshot!(done.exits(2).reported(), @r"
    error: `runn` is not a command
    tip: did you mean the command `run`?
    ");
}

#[test]
fn a_flag_before_the_command_that_has_it() {
    let program = Program::new();
    let output = |arguments: &[&str]| program.run(arguments).exits(2).reported();
    assert_eq!(
        output(&["--json", "run", "sentiment"]),
        "error: `--json` is a flag of the command: write it after `ptc-workbench run`"
    );
    assert_eq!(
        output(&["--model=demo", "run", "sentiment"]),
        "error: `--model` is a flag of the command: write it after `ptc-workbench run`"
    );
    assert_eq!(
        output(&["sessions", "--json", "list"]),
        "error: `--json` is a flag of the command: write it after `ptc-workbench sessions list`"
    );
    assert_eq!(
        output(&["--json", "sentiment"]),
        "error: `--json` needs a command, for example: `ptc-workbench run … --json`"
    );
    // A flag that the command does not have, in any position.
    for arguments in [["--jsom", "run", "sentiment"], ["--check", "run", "sentiment"], ["run", "sentiment", "--check"]]
    {
        assert!(output(&arguments).contains("unexpected argument"), "{arguments:?}");
    }
}

/// Everything that an agent, a pipeline or a configuration names is opened without waiting and read to a limit.
#[cfg(unix)]
#[test]
fn named_files_that_are_devices_pipes_or_endless_are_errors_at_once() {
    let program = Program::new();
    let pipe = program.dir().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in ["/dev/zero", &pipe.display().to_string()] {
        let head = "name = \"a\"\nmode = \"json\"\nprompt = \"x\"\n";
        program.file("schema.toml", format!("{head}schema = \"@{file}\"\n"));
        program.file(
            "tool.toml",
            format!("{head}signature = \"() -> :int\"\n[tools.t]\nkind = \"agent\"\nfile = {file:?}\n"),
        );
        program.file("steps.toml", format!("[[steps]]\nfile = {file:?}\n"));
        for agent in ["schema.toml", "tool.toml", "steps.toml"] {
            for command in ["prompt", "run"] {
                let done = program.run(["--allow-files", "/", command, agent]);
                assert_ne!(done.exits(2).reported().find("a pipe or a device"), None, "{agent}: {}", done.reported());
            }
        }
        program.run(["--config", file, "models"]).exits(2).reports("a pipe or a device");
    }
}

#[test]
fn a_cache_that_cannot_be_a_folder_is_refused_before_a_case_runs() {
    let program = Program::new();
    program.file("taken", "");
    program.file("other.toml", "name = \"other\"\nmode = \"json\"\nmodel = \"sample\"\nprompt = \"a\"\nsignature = \"() -> {a :string}\"\n[[cases]]\nname = \"one\"\n");
    for command in [&["test", "other.toml"][..], &["compare", "other.toml", "--models", "sample,demo"]] {
        let done = program.run(command.iter().copied().chain(["--cache", "taken"]));
        assert!(done.exits(2).stderr.contains("--cache taken:"), "{}", done.stderr);
    }
    assert!(program.session_files().is_empty());
}
