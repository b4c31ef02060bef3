//! Servers of tools that behave and servers that do not: small shell scripts that speak the protocol line by line.

use serde_json::json;

use super::{agent, allowed, script};
use crate::cli::program::{Done, Program};

/// A server: what it does at its start, what it lists, and what it does at a call (`$id` is the call's id, `$token` that of its
/// progress, `$path` its argument). It keeps each call, and each word that a call is cancelled.
pub(super) fn server(program: &Program, start: &str, listed: &str, call: &str) {
    let text = format!(
        r#"{start}
while read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
  token=${{line#*\"progressToken\":}}; token=${{token%%[,\}}]*}}
  path=${{line#*\"file-path\":\"}}; path=${{path%%\"*}}
  case $line in
    *'"initialize"'*) printf '%s\n' '{{"jsonrpc":"2.0","id":'$id',"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{"listChanged":true}},"logging":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}' ;;
    *'"tools/list"'*) printf '%s\n' '{{"jsonrpc":"2.0","id":'$id',"result":{{"tools":['"$(cat tools.json)"']}}}}' ;;
    *'"tools/call"'*) printf '%s\n' "$line" >> calls
{call}
    ;;
    *'"notifications/cancelled"'*) printf '%s\n' "$line" >> cancelled ;;
  esac
done
"#
    );
    program.file("tools.json", listed);
    let argv = script(program, "server.sh", &text);
    program.file("config.toml", format!("[mcp.files]\ncommand = {argv}\n"));
}

pub(super) const READ: &str = r#"{"name":"read-file","description":"Reads a file","inputSchema":{"type":"object","properties":{"file-path":{"type":"string","minLength":1},"tail":{"type":"integer"}},"required":["file-path"]}}"#;

/// A line that answers a call with this result.
pub(super) fn answer(result: &str) -> String {
    format!(r#"printf '%s\n' '{{"jsonrpc":"2.0","id":'$id',"result":{result}}}'"#)
}

pub(super) fn ran(program: &Program, code: &str, rest: &str) -> Done {
    let tool = format!("[tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n{rest}");
    program.file("a.toml", agent(code, &tool));
    program.run(["--config", "config.toml", "run", "a.toml", "--allow-tools", "--json"])
}

pub(super) const CALL: &str = r#"(return (tool/read-file {:file_path "a.txt"}))"#;

#[test]
fn a_tool_is_called_by_its_listed_schema_and_names_are_mapped_back() {
    let program = Program::new();
    server(
        &program,
        "",
        READ,
        &answer(r#"{"content":[{"type":"text","text":"one"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#),
    );
    let done = ran(&program, CALL, "");
    assert_eq!(done.exits(0).json()["return"], json!("one\n[image image/png, about 3 bytes, not shown to models]"));
    let call = std::fs::read_to_string(program.dir().join("calls")).unwrap();
    assert!(call.contains(r#""name":"read-file""#) && call.contains(r#""arguments":{"file-path":"a.txt"}"#), "{call}");
    program.run(["replay", "last", "--check"]).exits(0);
    assert_eq!(std::fs::read_to_string(program.dir().join("calls")).unwrap(), call, "a replay asks no server");

    let shown = program.run(["--config", "config.toml", "tools", "a.toml"]);
    let text = &shown.exits(0).stdout;
    for words in [
        "read-file  (file_path :string, tail :int?) -> :string  mcp",
        "mcp the tool read-file of the server files",
        "not in the signature: arguments.file-path: minLength",
        "needs consent before it is called",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}

#[test]
fn structured_results_and_errors_of_tools_come_through() {
    let program = Program::new();
    let mut tool: serde_json::Value = serde_json::from_str(READ).unwrap();
    tool["outputSchema"] = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let listed = tool.to_string();
    server(
        &program,
        "",
        &listed,
        &answer(r#"{"content":[{"type":"text","text":"{\"n\":3}"}],"structuredContent":{"n":3}}"#),
    );
    assert_eq!(ran(&program, CALL, "").exits(0).json()["return"], json!({"n": 3}));
    // Without a schema the signature promises a text: it has what the text does not.
    for (text, expected) in [("three", "three\n{\"n\":3}"), ("{\\\"n\\\": 3}", "{\"n\": 3}")] {
        let program = Program::new();
        let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent":{{"n":3}}}}"#);
        server(&program, "", READ, &answer(&result));
        assert_eq!(ran(&program, CALL, "").exits(0).json()["return"], json!(expected));
    }
    let program = Program::new();
    server(&program, "", READ, &answer(r#"{"isError":true,"content":[{"type":"text","text":"no such file"}]}"#));
    ran(&program, CALL, "").exits(1).reports("no such file");
    let program = Program::new();
    server(
        &program,
        "",
        READ,
        r#"printf '%s\n' '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32602,"message":"bad path"}}'"#,
    );
    ran(&program, CALL, "").exits(1).reports("the server files refused: bad path");
}

#[test]
fn progress_and_logs_are_reported_and_bounded() {
    let program = Program::new();
    let log = r#"i=0; while [ $i -lt 100 ]; do i=$((i+1)); printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","data":"careful"}}'; done"#;
    server(&program, "", READ, &format!("{log}\n{}", answer(r#"{"content":[{"type":"text","text":"one"}]}"#)));
    let done = ran(&program, CALL, "");
    done.exits(0).reports("the server files logged: warning: careful");
    let session = std::fs::read_to_string(program.session_file()).unwrap();
    let shown = session.matches("logged: warning").count();
    assert!((1..=20).contains(&shown), "{shown}");
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn a_server_that_dies_within_a_call_costs_the_call_and_is_started_again() {
    let program = Program::new();
    let call = format!(
        "echo dying >&2\n[ \"$(wc -l < calls)\" -gt 1 ] || exit 7\n{}",
        answer(r#"{"content":[{"type":"text","text":"one"}]}"#)
    );
    server(&program, "", READ, &call);
    let two = "(return [(tool/read-file {:file_path \"a\"})])";
    ran(&program, two, "").exits(1).reports("ended before it answered").reports("dying");
    let program = Program::new();
    server(&program, "", READ, &call);
    let file =
        agent("", "[tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n").replace("max_turns = 1", "max_turns = 3");
    let file = file.replace("program = '''\n\n'''\n", "");
    program.file("a.toml", file);
    let replies = "```clojure\n(tool/read-file {:file_path \"a\"})\n```\n.\n```clojure\n(return (tool/read-file {:file_path \"a\"}))\n```\n.\n";
    let arguments = ["--config", "config.toml", "run", "a.toml", "--model", "human", "--allow-tools", "--json"];
    let done = program.fed(arguments, replies);
    assert_eq!(done.exits(0).json()["return"], json!("one"));
    done.reports("the server files had ended (exit status: 7) and is started again");
}

#[test]
fn servers_that_never_begin_or_flood_or_talk_nonsense_are_survived() {
    let one = answer(r#"{"content":[{"type":"text","text":"one"}]}"#);
    let silent = |(start, call, words): (&str, &str, &str)| {
        let program = Program::new();
        server(&program, start, READ, call);
        let rest = "signature = \"(file_path :string) -> :string\"\ntimeout_ms = 2000\n";
        ran(&program, CALL, rest).exits(1).reports(words);
    };
    let faults = [
        ("echo broken >&2; exit 1", "", "did not start"),
        ("sleep 600", "", "did not answer within timeout_ms = 2000"),
        ("while :; do echo nonsense; done", "", "did not answer within timeout_ms = 2000"),
        ("", "sleep 600", "did not answer within timeout_ms = 2000"),
        ("", "printf 'garbage {{{\\n'", "did not answer within timeout_ms = 2000"),
    ];
    // At once: each waits for its time limit.
    std::thread::scope(|scope| faults.into_iter().for_each(|fault| _ = scope.spawn(move || silent(fault))));
    let program = Program::new();
    let flood = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo 'a long line on stderr that nobody reads' >&2; done; printf 'garbage\\n'";
    server(&program, flood, READ, &format!("{flood}\n{one}"));
    let rest = "signature = \"(file_path :string) -> :string\"\n";
    assert_eq!(ran(&program, CALL, rest).exits(0).json()["return"], json!("one"));
}

#[test]
fn a_list_that_changes_is_read_again() {
    let program = Program::new();
    let call = format!(
        "sed 's/read-file/read-more/' tools.json > t && mv t tools.json\nprintf '%s\\n' '{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}}'\n{}",
        answer(r#"{"content":[{"type":"text","text":"one"}]}"#)
    );
    server(&program, "", READ, &call);
    let twice = "(do (tool/read-file {:file_path \"a\"}) (return (tool/read-file {:file_path \"a\"})))";
    ran(&program, twice, "").exits(1).reports("has no tool `read-file`; did you mean `read-more`?");
}

#[test]
fn servers_that_are_not_configured_or_not_allowed_are_reported() {
    let program = Program::new();
    program.file("config.toml", "[mcp.files]\ncommand = [\"/bin/sh\"]\n");
    program.file("a.toml", agent("(return 1)", "[tools.t]\nkind = \"mcp\"\nserver = \"file\"\n"));
    let done = program.run(["--config", "config.toml", "run", "a.toml"]);
    done.exits(2).reports("the configuration has no section [mcp.file]; did you mean `files`?");
    program.file("config.toml", "[mcp.files]\nurl = \"http://x/\"\ncommand = [\"/bin/sh\"]\n");
    program.run(["--config", "config.toml", "run", "a.toml"]).exits(2).reports("[mcp.files] needs either `command`");

    let program = Program::new();
    server(&program, "echo x >> starts", READ, "");
    program.file("a.toml", agent(CALL, "[tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n"));
    program.run(["--config", "config.toml", "run", "a.toml"]).exits(1).reports("tool_denied");
    assert!(!program.dir().join("starts").exists());
    let done = program.run(["--config", "config.toml", "tools", "a.toml", "--connect"]);
    assert!(done.exits(0).stdout.contains("server files: 1 tool\n"), "{}", done.stdout);

    let own = "[tools.own]\nkind = \"mcp\"\nsignature = \"() -> :any\"\ncommand = [\"/bin/sh\", \"-c\", \"exit 3\"]\n";
    let done = allowed(&program, "(return (tool/own {}))", own);
    done.exits(1).reports("check command under [tools.own] of the agent file");
}
