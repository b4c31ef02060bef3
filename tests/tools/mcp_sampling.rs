//! Requests of servers for replies of a model: the user decides about request and reply, the run records, counts and replays them.

use std::io::Write as _;
use std::process::Stdio;

use ptc_workbench::event::{Event, QuestionKind};
use serde_json::{Value, json};

use super::mcp::{CALL, READ, answer as mcp_answer, server as mcp_server};
use crate::cli::program::{Done, Program, read_until};
use crate::openai::server::{Server, answer};

const AGENT: &str = "mode = \"ptc_lisp\"\nmodel = \"mine:m\"\nprompt = \"go\"\nmax_turns = 2\n[model_options]\nmax_tokens = 900\n\
                     [tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n";

/// A server that asks for a reply during a call, keeps what it gets in the file `reply`, and answers.
fn asking(program: &Program, models: &Server, keys: &str) {
    let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Write a line"}}],
        "systemPrompt": "Be brief", "maxTokens": 50, "modelPreferences": {"hints": [{"name": "big-model"}]}});
    let request = json!({"jsonrpc": "2.0", "id": 77, "method": "sampling/createMessage", "params": params});
    let call = format!(
        "call=$id\nprintf '%s\\n' '{request}'\nread -r line\nprintf '%s\\n' \"$line\" >> reply\nid=$call\n{}",
        mcp_answer(r#"{"content":[{"type":"text","text":"done"}]}"#)
    );
    mcp_server(program, "", READ, &call);
    let config = std::fs::read_to_string(program.dir().join("config.toml")).unwrap();
    let provider = format!("[providers.mine]\nkind = \"openai\"\nbase_url = \"{}\"\n", models.base_url);
    program.file("config.toml", format!("{config}{keys}\n{provider}"));
    program.file("a.toml", AGENT);
}

async fn models(reply: &str) -> Server {
    Server::play([answer(&format!("```clojure\n{CALL}\n```")), answer(reply)]).await
}

fn ran(program: &Program, stdin: &str) -> Done {
    let arguments = ["--config", "config.toml", "run", "a.toml", "--allow-tools", "--json"];
    tokio::task::block_in_place(|| program.fed(arguments, stdin))
}

/// The last reply of the client.
fn reply(program: &Program) -> Value {
    let text = std::fs::read_to_string(program.dir().join("reply")).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

fn assert_replays(program: &Program) {
    tokio::task::block_in_place(|| {
        program.run(["replay", "last", "--check"]).exits(0);
        program.run(["sessions", "verify", "last"]).exits(0);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_gets_a_reply_that_the_user_has_allowed_and_seen() {
    let models = models("a line").await;
    let program = Program::new();
    asking(&program, &models, "sampling = \"ask\"");
    let done = ran(&program, "accept\n.\nsend\n.\n");
    assert_eq!(done.exits(0).json()["return"], "done");
    for words in ["big-model", "at most 50 tokens", "[system]\nBe brief", "Write a line", "replied to the server files"]
    {
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
    }
    let result = reply(&program)["result"].clone();
    let expected = json!({"role": "assistant", "content": {"type": "text", "text": "a line"}, "model": "m", "stopReason": "endTurn"});
    assert_eq!(result, expected);
    let sent = models.received()[1].json();
    let texts: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert!(texts[0].contains("Be brief") && texts[1].contains("Write a line"), "{sent}");
    assert!(models.received()[1].body.contains(":50"), "the smaller limit counts: {sent}");
    // The reply is a run of its own within the call's turn, and its tokens are those of the run.
    let session = program.session();
    let starts = session.events().filter(|envelope| matches!(envelope.event, Event::RunStart(_)));
    assert_eq!(starts.map(|envelope| envelope.address.to_string()).collect::<Vec<_>>(), ["r0", "r0/t1/c1001001"]);
    let asked = session.events().filter(
        |envelope| matches!(&envelope.event, Event::QuestionAsked(asked) if asked.kind == QuestionKind::Elicit),
    );
    assert_eq!(asked.count(), 2);
    assert_eq!((&done.json()["usage"]["llm_requests"], &done.json()["usage"]["total_tokens"]), (&json!(2), &json!(34)));
    std::fs::remove_file(program.dir().join("server.sh")).unwrap();
    assert_replays(&program);
    assert_eq!(models.received().len(), 2, "a replay asks no model");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_refuses_or_writes_the_reply() {
    for (stdin, error, text) in [
        ("decline\n.\n", Some("the user declined"), None),
        ("accept\n.\ndecline\n.\n", Some("the user declined to send the reply"), None),
        ("mine\n.\n", None, Some("mine")),
        ("accept\n.\nbetter\n.\n", None, Some("better")),
        ("", Some("no user is present"), None),
    ] {
        let models = models("a line").await;
        let program = Program::new();
        asking(&program, &models, "sampling = \"ask\"");
        ran(&program, stdin).exits(0);
        let got = reply(&program);
        assert_eq!(got["error"]["message"].as_str(), error, "{stdin}: {got}");
        assert_eq!(got["result"]["content"]["text"].as_str(), text, "{stdin}: {got}");
        if text.is_some() {
            assert_eq!(got["result"]["model"], "human");
        }
        assert_eq!(models.received().len(), 1 + usize::from(stdin.starts_with("accept")), "{stdin}");
        assert_replays(&program);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_configured_server_may_ask() {
    let models = models("a line").await;
    let program = Program::new();
    asking(&program, &models, "");
    ran(&program, "accept\n.\nsend\n.\n")
        .exits(0)
        .reports("asked for a reply of a model (sampling), which was refused");
    assert_eq!(reply(&program)["error"]["code"], -32601);
    // An agent file that gives another program to the name has no part in the permission.
    let models = self::models("a line").await;
    let program = Program::new();
    asking(&program, &models, "sampling = \"ask\"");
    std::fs::copy(program.dir().join("server.sh"), program.dir().join("other.sh")).unwrap();
    let other = program.dir().join("other.sh");
    program.file("a.toml", format!("{AGENT}command = [\"/bin/sh\", {:?}]\n", other.display().to_string()));
    ran(&program, "accept\n.\nsend\n.\n").exits(0);
    assert_eq!(reply(&program)["error"]["code"], -32601);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_killed_after_a_reply_is_resumed_with_it() {
    let models = models("a line").await;
    let program = Program::new();
    asking(&program, &models, "sampling = \"ask\"");
    tokio::task::block_in_place(|| {
        let arguments = ["--config", "config.toml", "run", "a.toml", "--allow-tools"];
        let mut child = program.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"accept\n.\n").unwrap();
        read_until(child.stderr.as_mut().unwrap(), "replied to the server files");
        child.kill().unwrap();
        child.wait().unwrap();
        program.run(["replay", "last", "--check"]).exits(0);
        // The first reply of the interrupted attempt is kept; the call is not repeated.
        let arguments = ["--config", "config.toml", "--allow-tools", "resume", "last", "--json"];
        program.fed(arguments, "skip\n");
        program.run(["replay", "last", "--check"]).exits(0);
    });
}
