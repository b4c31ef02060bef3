//! Calls of tool servers: progress goes to its call, an abandoned call is cancelled, output of a server is kept, and consent given before a
//! run is part of its session.

use std::collections::HashMap;

use ptc_workbench::agent::{Agent, DraftTexts};
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::{Event, RunStart};
use ptc_workbench::tui::services::Services;
use ptc_workbench::workbench::Workbench;
use serde_json::json;

use super::mcp::{CALL, READ, answer, ran, server};
use super::{agent, script};
use crate::cli::program::Program;

const TOOL: &str = "[tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n";
const ONE: &str = r#"{"content":[{"type":"text","text":"one"}]}"#;

fn start_of(program: &Program) -> RunStart {
    let session = program.session();
    let mut starts = session.events().filter_map(|envelope| match envelope.event {
        Event::RunStart(start) => Some(start),
        _ => None,
    });
    starts.next().unwrap()
}

#[test]
fn messages_that_are_nested_too_deep_are_errors_at_once() {
    let program = Program::new();
    let schema = format!("{}{{}}{}", r#"{"type":"object","properties":{"a":"#.repeat(200), "}}".repeat(200));
    server(&program, "", &format!(r#"{{"name":"deep","inputSchema":{schema}}}"#), "");
    let listed = program.run(["--config", "config.toml", "tools", "--server", "files"]);
    listed.exits(1).reports("nested more than 120 levels deep");
    let result = format!(r#"{{"content":[],"structuredContent":{{"a":{}1{}}}}}"#, "[".repeat(200), "]".repeat(200));
    server(&program, "", READ, &answer(&result));
    let done = ran(&program, "(return (tool/read-file {:file_path \"a\"}))", "");
    done.exits(1).reports("nested more than 120 levels deep");
}

#[test]
fn a_server_that_does_not_start_is_described_in_words_with_what_to_do() {
    let refusal = r#"read -r line; id=${line#*\"id\":}; id=${id%%[,\}]*}
printf '%s\n' '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32602,"message":"too old","data":{"supported":["2020-01-01"]}}}'"#;
    let cases = [
        ("echo no such folder >&2; exit 3", "its program ended with exit status: 3; its last output: no such folder"),
        ("exec true", "its program ended with exit status: 0"),
        ("exec <&-; exec sleep 0.05", "its program ended with exit status: 0"),
        (
            "echo usage: server FOLDER; exit 2",
            "its program ended with exit status: 2; its last output: usage: server FOLDER",
        ),
        (refusal, "it refused: too old {\"supported\":[\"2020-01-01\"]} (code -32602)"),
    ];
    for (start, words) in cases {
        let program = Program::new();
        server(&program, start, READ, "");
        let done = program.run(["--config", "config.toml", "tools", "--server", "files"]);
        let done =
            done.exits(1).reports(&format!("the server files did not start: {words}; check command under [mcp.files]"));
        assert!(!done.stderr.contains("rmcp") && !done.stderr.contains("Transport"), "{start}: {}", done.stderr);
    }
}

#[test]
fn progress_goes_to_the_call_whose_it_is() {
    let program = Program::new();
    // The first call waits for the second; then progress of both comes, that of the later one first.
    let progress = |token: &str, path: &str| {
        format!(
            r#"printf '%s\n' '{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":'${token}',"progress":1,"total":2,"message":"reading '"${path}"'"}}}}'"#
        )
    };
    let call = format!(
        "if [ \"$(wc -l < calls)\" -lt 2 ]; then id1=$id; token1=$token; path1=$path; else\n{}\n{}\n{}\nid=$id1\n{}\nfi",
        progress("token", "path"),
        progress("token1", "path1"),
        answer(ONE),
        answer(ONE)
    );
    server(&program, "", READ, &call);
    let code = "(return (pmap (fn [p] (tool/read-file {:file_path p})) [\"a.txt\" \"b.txt\"]))";
    assert_eq!(ran(&program, code, "").exits(0).json()["return"], json!(["one", "one"]));
    let (mut paths, mut shown) = (HashMap::new(), Vec::new());
    for envelope in program.session().events() {
        match envelope.event {
            Event::ToolCall(call) => _ = paths.insert(envelope.address, call.args.json().to_text()),
            Event::Notice(notice) => shown.push((envelope.address, notice.text)),
            _ => {}
        }
    }
    let progress: Vec<_> = shown.iter().filter(|(_, text)| text.contains("1 of 2")).collect();
    assert_eq!(progress.len(), 2, "{shown:?}");
    for (at, text) in progress {
        let args = &paths[at];
        let path = if args.contains("a.txt") { "a.txt" } else { "b.txt" };
        assert_eq!(text, &format!("the server files: 1 of 2: reading {path}"), "{args}");
    }
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_call_that_nobody_waits_for_any_more_is_cancelled_at_its_server() {
    let program = Program::new();
    server(&program, "", READ, "");
    let code = "(return (tool/read-file {:file_path \"a\"}))";
    ran(&program, code, "signature = \"(file_path :string) -> :string\"\ntimeout_ms = 300\n").exits(1);
    let calls = std::fs::read_to_string(program.dir().join("calls")).unwrap();
    let call: serde_json::Value = serde_json::from_str(calls.lines().next().unwrap()).unwrap();
    let cancelled = std::fs::read_to_string(program.dir().join("cancelled")).unwrap();
    let cancelled: serde_json::Value = serde_json::from_str(cancelled.lines().next().unwrap()).unwrap();
    assert_eq!(cancelled["params"]["requestId"], call["id"], "{cancelled} {call}");
}

#[test]
fn what_a_server_says_is_kept_and_can_be_seen_later() {
    let program = Program::new();
    let log = r#"printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"a detail"}}'"#;
    server(&program, "printf 'ready \\033[31mnow\\n' >&2", READ, &format!("{log}\n{}", answer(ONE)));
    ran(&program, CALL, "").exits(0);
    let shown = program.run(["--config", "config.toml", "tools", "a.toml", "--logs"]);
    let text = &shown.exits(0).stdout;
    assert!(text.contains("server files says (") && text.contains("a detail") && text.contains("now"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let as_json = program.run(["--config", "config.toml", "tools", "a.toml", "--logs", "--json"]);
    let logs = as_json.exits(0).json();
    assert_eq!(logs[0]["server"], "files");
    assert!(logs[0]["lines"].to_string().contains("a detail"), "{logs}");
    let file = std::fs::read_to_string(logs[0]["file"].as_str().unwrap()).unwrap();
    assert!(file.contains("a detail") && !file.contains('\u{1b}'), "{file:?}");
    // The inspector shows it with the calls of the turn.
    let data = std::path::Path::new(logs[0]["file"].as_str().unwrap()).ancestors().nth(2).unwrap();
    let workbench = Workbench::new(Config::built_in().unwrap(), Folders::at(data.to_owned(), data, None));
    let parts = workbench.server_logs_part(&program.session(), &"r0/t1".into());
    let [part] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(part.title, "log of files");
    assert!(part.text().contains("a detail") && part.text().contains("now"), "{part:?}");
}

#[test]
fn what_was_decided_about_a_server_before_the_run_is_part_of_the_session() {
    let program = Program::new();
    server(&program, "", READ, &answer(ONE));
    program.file("a.toml", agent(CALL, TOOL));
    program.run(["--config", "config.toml", "run", "a.toml", "--json"]).exits(1);
    let refused = start_of(&program).consents;
    assert_eq!((refused[0].decision.name(), refused[0].by.name()), ("deny", "default"));
    assert!(refused[0].what.starts_with("mcp the server files, which is started for its list of tools"), "{refused:?}");
    program.run(["replay", "last", "--check"]).exits(0);

    let program = Program::new();
    server(&program, "", READ, &answer(ONE));
    let done = ran(&program, CALL, "");
    done.exits(0).reports("before the run: run by --allow-tools: mcp the server files");
    assert_eq!(start_of(&program).consents.len(), 1);
    program.run(["replay", "last", "--check"]).exits(0);
    // The list is known now: nothing is decided, nothing is reported.
    let again = ran(&program, CALL, "");
    assert!(!again.exits(0).stderr.contains("before the run"), "{}", again.stderr);

    let program = Program::new();
    server(&program, "echo broken >&2; exit 1", READ, "");
    let done = ran(&program, CALL, "");
    done.exits(1).reports("; it failed: the server files did not start");
}

#[test]
fn a_preview_shows_what_is_known_of_a_server_and_refuses_one_that_is_not() {
    let program = Program::new();
    server(&program, "", READ, &answer(ONE));
    ran(&program, CALL, "").exits(0);
    let previewed = program.run(["--config", "config.toml", "prompt", "a.toml"]);
    let sent = &previewed.exits(0).stdout;
    let listed = "tool/read-file(file-path string, tail int?) -> string  ; Reads a file";
    assert!(sent.contains(listed), "{sent}");
    program.file("b.toml", agent(CALL, &TOOL.replace("\"files\"", "\"fils\"")));
    let refused = program.run(["--config", "config.toml", "prompt", "b.toml"]);
    refused.exits(2).reports("no section [mcp.fils]; did you mean `files`?");
}

#[test]
fn a_pipeline_learns_what_unknown_servers_offer_before_its_first_step() {
    let program = Program::new();
    server(&program, "echo x >> starts", READ, &answer(ONE));
    let step = |name: &str, code: &str| {
        let text = agent(code, TOOL).replace("name = \"a\"", &format!("name = \"{name}\""));
        program.file(&format!("{name}.toml"), text);
    };
    step("first", "(return {:text (tool/read-file {:file_path \"a\"})})");
    step("second", "(return (count (tool/read-file {:file_path data/text})))");
    program.file("both.toml", "name = \"both\"\n[[steps]]\nfile = \"first.toml\"\n[[steps]]\nfile = \"second.toml\"\n");
    let done = program.run(["--config", "config.toml", "run", "both.toml", "--allow-tools", "--json"]);
    assert_eq!(done.exits(0).json()["return"], json!(3));
    let start = start_of(&program);
    assert_eq!(start.consents.len(), 1, "one server is asked once");
    let signature = "(file_path :string, tail :int?) -> :string";
    assert!(start.agent.toml.contains(signature), "{}", start.agent.toml);
    assert!(start.pipeline.unwrap().then[0].agent.toml.contains(signature));
    assert_eq!(std::fs::read_to_string(program.dir().join("starts")).unwrap().lines().count(), 1);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_server_is_reported_that_it_is_over_before_it_is_killed() {
    let program = Program::new();
    let text = "sleep 0.01\necho end >> ended\n";
    server(&program, "", READ, &answer(ONE));
    // What is after the loop runs when its input ends.
    let whole = std::fs::read_to_string(program.dir().join("server.sh")).unwrap() + text;
    script(&program, "server.sh", &whole);
    ran(&program, CALL, "").exits(0);
    assert!(program.dir().join("ended").exists());
}

#[test]
fn a_draft_knows_what_a_server_was_seen_to_offer() {
    let program = Program::new();
    server(&program, "", READ, "");
    let file = program.dir().join("config.toml");
    let config = Config::from_toml(&std::fs::read_to_string(&file).unwrap(), "config.toml", &|_| None).unwrap();
    let data = program.dir().join("home/.local/share/ptc-workbench");
    let text = format!("mode = \"text\"\nmodel = \"sample\"\nprompt = \"Go\"\n\n{TOOL}");
    program.file("a.toml", &text);
    let drafted = Agent::from_toml(&text, "a.toml").unwrap();
    let live = Services::new(Workbench::new(config, Folders::at(data.clone(), &data, None)), &drafted, None);
    let texts = DraftTexts::of(&drafted);
    let reply_text = |live: &Services| live.check(&texts).0.into_iter().map(|found| found.message).collect::<Vec<_>>();
    assert_eq!(reply_text(&live), ["the arguments of `read-file` are not known yet: the first run queries its server"]);
    program.run(["--config", "config.toml", "tools", "a.toml", "--connect"]).exits(0);
    assert_eq!(reply_text(&live), [""; 0]);
    let sent = live.check(&texts).1.sent;
    assert!(sent.iter().any(|part| part.text.contains("file_path")), "{sent:?}");
    // A program that replaces a model is judged by it as well.
    let program_of = |name: &str| DraftTexts {
        options: "mode = \"ptc_lisp\"\n".to_owned(),
        program: format!("(return (tool/read-file {{:{name} \"a\"}}))"),
        ..texts.clone()
    };
    assert_eq!(live.check(&program_of("file_path")).0, []);
    let wrong = live.check(&program_of("file_pth")).0;
    assert!(wrong.iter().any(|found| found.message.contains("file_pth")), "{wrong:?}");
}

#[test]
fn what_a_server_offers_is_shown_before_an_agent_names_it() {
    let program = Program::new();
    server(&program, "", READ, "");
    let shown = program.run(["--config", "config.toml", "tools", "--server", "files"]);
    assert!(shown.exits(0).stdout.contains("read-file  (file_path :string, tail :int?)"), "{}", shown.stdout);
    let listed = program.run(["--config", "config.toml", "tools", "--server", "files", "--json"]);
    assert_eq!(listed.exits(0).json()[0]["name"], "read-file");
    let unknown = program.run(["--config", "config.toml", "tools", "--server", "file"]);
    unknown.exits(2).reports("[mcp.file]").reports("files");
    program.run(["tools"]).exits(2);
    // The doctor starts nothing.
    let found = program.run(["--config", "config.toml", "doctor"]).exits(0).stdout.clone();
    assert!(found.contains("✓ tools of files"), "{found}");
    program.file("config.toml", "[mcp.files]\ncommand = [\"no-such-server-here\"]\n");
    let found = program.run(["--config", "config.toml", "doctor"]).exits(0).stdout.clone();
    assert!(found.contains("– tools of files") && found.contains("no-such-server-here"), "{found}");
}

#[test]
fn a_tool_that_its_server_does_not_have_is_reported_when_the_server_was_asked() {
    let program = Program::new();
    server(&program, "", READ, "");
    program.file("a.toml", agent("(return 1)", "[tools.reed-file]\nkind = \"mcp\"\nserver = \"files\"\n"));
    program.run(["--config", "config.toml", "tools", "a.toml"]).exits(0);
    let asked = program.run(["--config", "config.toml", "tools", "a.toml", "--connect"]);
    asked.exits(2).reports("the server files has no tool `reed-file`; did you mean `read-file`?");
}
