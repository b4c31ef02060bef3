//! Text from outside, of any source, acts nowhere: every place where such text enters with every place where the program prints.
//!
//! Sources: prompt, context, agent file, streamed parts of a reply, the program in it, arguments, results and stderr of tools, log, progress and
//! stderr of a server of tools, bodies and headers of errors, names of files, tags, notes, names of models, kinds of unknown events, the values of
//! configuration. Outlets: the screen, `--plain`, every command about runs and sessions, every export, the log. The sources of an export that no
//! run can make hostile are in `tests/export/hostile.rs`.
#![cfg(unix)]

mod plant;
mod screen;

use std::path::{Path, PathBuf};

use ptc_workbench::export::Format;
use serde_json::json;

use crate::cli::program::{Done, Program};
use crate::openai::server::{Play, Server, delta, ending};
use plant::{acting, planted, without_slash};

/// A text as a TOML string.
fn toml(text: &str) -> String {
    serde_json::to_string(text).unwrap().replace('\u{7f}', "\\u007f")
}

/// A text as a string of PTC-Lisp.
fn lisp(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The program of the hostile model: it prints, calls every tool, keeps a value and returns one.
fn code() -> String {
    format!(
        "(do (println {}) (def kept {}) (def a (tool/shell {{:x {}}})) (def b (tool/read-file {{:file_path {}}})) (return {{:a a :b b :c {}}}))",
        lisp(&planted("print")),
        lisp(&planted("memory")),
        lisp(&planted("args")),
        lisp("a.txt"),
        lisp(&planted("answer")),
    )
}

/// Returns the replies of the model's server: an error with a hostile body and header, a hostile program in pieces that cut sequences (once
/// broken, once correct).
fn plays() -> Vec<Play> {
    let body =
        json!({"error": {"message": planted("body"), "type": planted("type"), "code": planted("code")}}).to_string();
    let header = format!("retry-after-ms: 7\r\nx-request-id: {}\r\n", "zqheader\u{9b}7777m\u{202e}");
    let streamed = |text: &str| {
        let letters: Vec<char> = text.chars().collect();
        let pieces = letters.chunks(7).map(|piece| delta(&piece.iter().collect::<String>()));
        Play::events(pieces.chain([ending("stop")]).collect::<Vec<_>>())
    };
    let broken = format!("{}\n```clojure\n(return (tool/nothing {}))\n```", planted("reply"), lisp(&planted("wrong")));
    let good = format!("{}\n```clojure\n{}\n```\n{}", planted("reply"), code(), planted("behind"));
    vec![Play::page("500 zqstatus\u{9b}7777m", &header, body), streamed(&broken), streamed(&good)]
}

/// A folder with a hostile agent, its tools and their server. Returns the agent's file.
fn surroundings(program: &Program, base_url: &str) -> PathBuf {
    let shell = |name: &str, text: &str| {
        program.file(name, text);
        format!("[\"/bin/sh\", {:?}]", program.dir().join(name).display().to_string())
    };
    program.file("result.txt", planted("result"));
    program.file("err.txt", planted("stderr"));
    let command = shell("tool.sh", "cat err.txt >&2\ncat result.txt\n");
    let say = |name: &str, message: &serde_json::Value| _ = program.file(name, format!("{message}\n"));
    say(
        "log.json",
        &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "warning", "data": planted("log"), "logger": planted("logger")}}),
    );
    say("result.json", &json!({"content": [{"type": "text", "text": planted("served")}]}));
    say(
        "tools.json",
        &json!({"name": "read-file", "description": planted("described"), "inputSchema": {"type": "object",
        "properties": {"file-path": {"type": "string", "description": planted("parameter")}}, "required": ["file-path"]}}),
    );
    say("progress.txt", &json!(planted("progress")));
    let server = shell(
        "server.sh",
        r#"cat err.txt >&2
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  token=${line#*\"progressToken\":}; token=${token%%[,\}]*}
  case $line in
    *'"initialize"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
    *'"tools/list"'*) printf '%s\n' '{"jsonrpc":"2.0","id":'$id',"result":{"tools":['"$(cat tools.json)"']}}' ;;
    *'"tools/call"'*) cat log.json
      printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'$token',"progress":1,"message":'"$(cat progress.txt)"'}}'
      printf '%s\n' '{"jsonrpc":"2.0","id":'$id',"result":'"$(cat result.json)"'}' ;;
  esac
done
"#,
    );
    program.file(
        "config.toml",
        format!(
            "[providers.local]\nkind = \"openai\"\nbase_url = \"{base_url}\"\napi_key_env = \"LOCAL_KEY\"\n[models.evil]\nprovider = \"local\"\nid = {}\n\
             [retry]\nmax_attempts = 2\n[mcp.files]\ncommand = {server}\n",
            toml(&planted("model")),
        ),
    );
    let text = format!(
        "name = {}\nmode = \"ptc_lisp\"\nmodel = \"evil\"\nprompt = {}\nsignature = \"(x :string) -> {{a :any, b :any, c :string}}\"\nmax_turns = 3\n\
         [tools.shell]\nkind = \"command\"\ncommand = {command}\nsignature = \"(x :string?) -> :string\"\ndescription = {}\n\
         [tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n[context]\nx = {}\n",
        toml(&planted("name")),
        toml(&format!("{} {{{{x}}}}", planted("prompt"))),
        toml(&planted("tool")),
        toml(&planted("context")),
    );
    let file = program.dir().join(format!("{}.toml", without_slash(&planted("file"))));
    std::fs::write(&file, text).unwrap();
    file
}

/// Neither stream of a call holds a character that acts; returns the output.
#[track_caller]
fn is_text(done: &Done, what: &str) -> String {
    for (name, text) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
        assert_eq!(acting(text), Vec::<char>::new(), "{what}: {name}: {text:?}");
    }
    format!("{}{}", done.stdout, done.stderr)
}

/// Commands about the last session, and about the agent.
const ABOUT: &[&[&str]] = &[
    &["sessions", "show", "last"],
    &["sessions", "show", "last", "--json"],
    &["sessions", "list"],
    &["sessions", "list", "--json"],
    &["sessions", "tree"],
    &["sessions", "search", "zqreply"],
    &["sessions", "search", "zqreply", "--json"],
    &["sessions", "tag", "last"],
    &["replay", "last"],
    &["replay", "last", "--lenient"],
    &["replay", "last", "--json"],
    &["--plain", "replay", "last"],
    &["compare", "last", "last"],
    &["compare", "last", "last", "--json"],
    &["exec", "last", "r0/t2"],
    &["sessions", "export", "last", "--preview"],
    &["models"],
    &["doctor"],
    &["tools", "AGENT"],
    &["tools", "AGENT", "--logs"],
    &["prompt", "AGENT"],
    &["run", "AGENT", "--model", "zq\u{1b}[7777m\u{9b}7777m\u{202e}nobody"],
    &["run", "zqfile\u{1b}[7777m\u{9b}7777m\u{202e}missing.toml"],
    &["sessions", "show", "zq\u{1b}[7777m\u{9b}7777m\u{202e}missing"],
    &["sessions", "tag", "last", "zq\u{1b}[7777m\u{9b}7777m\u{202e}tag"],
    &["sessions", "note", "last", "zqnote\u{1b}[7777m\u{9b}7777m\u{202e}"],
    &["sessions", "list"],
    &["sessions", "show", "last"],
    &["lisp", "run", "-e", "(do (println \"zq\u{1b}[7777m\u{9b}7777m\u{202e}\") (fail \"zq\u{1b}]0;EVIL\u{7}\"))"],
    &["lisp", "run", "-e", "(zq\u{1b}[7777m\u{9b}7777m\u{202e}"],
];

/// Sources whose words must be in the output of the commands, or the test tries nothing.
const BACKGROUND: &[&str] = &[
    "zqname",
    "zqprompt",
    "zqcontext",
    "zqreply",
    "zqprint",
    "zqargs",
    "zqresult",
    "zqserved",
    "zqlog",
    "zqprogress",
    "zqbody",
    "zqstderr",
    "zqmodel",
    "zqtool",
    "zqfile",
    "zqanswer",
    "zqmemory",
    "zqwrong",
    "zqdescribed",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_anybody_says_reaches_terminals_and_exports_as_text_only() {
    let server = Server::play(plays()).await;
    let url = server.base_url.clone();
    tokio::task::spawn_blocking(move || try_all(&url)).await.unwrap();
}

fn try_all(base_url: &str) {
    let program = Program::new().with_env("LOCAL_KEY", "a-key-of-nobody-1234");
    let file = surroundings(&program, base_url);
    let run = |arguments: &[&str]| {
        let agent = file.to_string_lossy();
        let given = arguments.iter().map(|word| if *word == "AGENT" { agent.as_ref() } else { word });
        let all = ["--config", "config.toml", "--log", "log.txt"].into_iter().chain(given);
        program.run(all)
    };
    let done = run(&["run", "AGENT", "--allow-tools"]);
    let mut output = is_text(done.exits(0), "run");
    let session = program.session_file();
    for arguments in ABOUT {
        output += &is_text(&run(arguments), &arguments.join(" "));
    }
    // What other calls have saved would be the last session.
    for file in program.session_files().iter().filter(|file| **file != session) {
        std::fs::remove_file(file).unwrap();
    }
    exports(&program, &mut output);
    let log = std::fs::read_to_string(program.dir().join("log.txt")).unwrap_or_default();
    assert_eq!(acting(&log), Vec::<char>::new(), "the log: {log:?}");
    let missing: Vec<_> = BACKGROUND.iter().filter(|word| !output.contains(**word)).collect();
    assert!(missing.is_empty(), "not reported: {missing:?}");
    screen::try_all(&program, &file);
}

/// Returns the texts that a bundle adds by itself; session and agent in it are exact, as the files that they come from.
fn pages_of(bundle: &Path) -> String {
    let read = |name: &str| std::fs::read_to_string(bundle.join(name)).unwrap();
    assert!(read("agent.toml").contains("zq"), "the content is there");
    read("README.md") + &read("doctor.json")
}

fn exports(program: &Program, shown: &mut String) {
    for format in Format::ALL {
        let name = format!("out.{}", format.name());
        let done = program.run(["sessions", "export", "last", "-f", format.name(), "-o", &name, "--allow-secrets"]);
        is_text(done.exits(0), format.name());
        let file = program.dir().join(&name);
        let is_bundle = *format == Format::Bundle;
        let text = if is_bundle { pages_of(&file) } else { std::fs::read_to_string(&file).unwrap() };
        // Markdown and HTML know the tab.
        let found: Vec<char> = acting(&text).into_iter().filter(|c| *c != '\t').collect();
        assert_eq!(found, Vec::<char>::new(), "{name}");
        assert!(is_bundle || text.contains("zq"), "{name}: the content is there:\n{text}");
        shown.push_str(&text);
    }
}

#[test]
fn a_hostile_configuration_is_refused_or_read_as_text() {
    let h = toml(&planted("config"));
    let files = [
        format!("[providers.local]\nkind = \"openai\"\nbase_url = {h}\n"),
        format!("[providers.local]\nkind = {h}\nbase_url = \"http://127.0.0.1:9/v1\"\n"),
        format!(
            "[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nheaders = {{ x-team = {h} }}\n[models.m]\nprovider = \"local\"\nid = {h}\n"
        ),
        format!(
            "[providers.{h}]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n[models.{h}]\nprovider = {h}\nid = {h}\n"
        ),
        format!("[mcp.{h}]\ncommand = [{h}]\n"),
        format!(
            "[providers.local]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_file = {h}\n[models.m]\nprovider = \"local\"\nid = \"x\"\n"
        ),
        format!("default_model = {h}\n"),
        format!("theme = {h}\n"),
        format!("{h} = 1\n"),
        "zq\u{1b}[7777m = \n".to_owned(),
    ];
    for text in files {
        let program = Program::new();
        program.file("config.toml", &text);
        program.file("a.toml", format!("mode = \"json\"\nprompt = \"x\"\nsignature = \"() -> {{a :int}}\"\n[tools.t]\nkind = \"mcp\"\nserver = {h}\n"));
        for arguments in [
            &["models"][..],
            &["doctor"],
            &["tools", "a.toml"],
            &["run", "a.toml"],
            &["run", "sentiment", "--model", "m", "--set", "text=x"],
        ] {
            let done = program.run(["--config", "config.toml"].iter().chain(arguments));
            is_text(&done, &format!("{} with {text:?}", arguments.join(" ")));
        }
    }
}
