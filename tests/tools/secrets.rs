//! Keys that tools are given: nothing that a server of tools, a command or a request sends back lets one out.

use serde_json::json;

use super::mcp::{CALL, answer, ran, server};
use super::{agent, script};
use crate::cli::leaks::assert_no_key;
use crate::cli::program::Program;
use crate::openai::server::{Play, Server};

const KEY: &str = "tool-Key-Abc123.def456";
const FLAGS: [&str; 4] = ["--config", "config.toml", "--log", "log.txt"];

fn keyed() -> Program {
    Program::new().with_env("SHOP_KEY", KEY).with_env("RUST_LOG", "trace")
}

#[test]
fn a_server_that_shows_its_key_everywhere_reveals_it_to_nobody() {
    let program = keyed();
    let listed = r#"{"name":"read-file","description":"Reads with 'KEYHERE'","inputSchema":{"type":"object","properties":{"file-path":{"type":"string","description":"with 'KEYHERE'"}},"required":["file-path"]}}"#;
    let say = |what: &str| format!("printf '%s\\n' {}", what.replace("KEYHERE", "'\"$SHOP_KEY\"'"));
    let log =
        say(r#"'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"log KEYHERE"}}'"#);
    let progress = say(r#"'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKENHERE,"progress":1,"message":"at KEYHERE"}}'"#)
        .replace("TOKENHERE", "'\"$token\"'");
    let result = answer(r#"{"content":[{"type":"text","text":"KEYHERE"},{"type":"image","data":"AAAA","mimeType":"KEYHERE"}],"structuredContent":{"KEYHERE":"KEYHERE"}}"#)
        .replace("KEYHERE", "'\"$SHOP_KEY\"'");
    server(
        &program,
        "echo started with $SHOP_KEY >&2",
        listed,
        &format!("echo logged $SHOP_KEY >&2\n{log}\n{progress}\n{result}"),
    );
    // The list is a file: the key is put in when it is read.
    let text = std::fs::read_to_string(program.dir().join("server.sh")).unwrap();
    script(&program, "server.sh", &text.replace("$(cat tools.json)", "$(sed \"s/'KEYHERE'/$SHOP_KEY/g\" tools.json)"));
    let config = std::fs::read_to_string(program.dir().join("config.toml")).unwrap();
    program.file("config.toml", config + "env = [\"SHOP_KEY\"]\n");
    let connect = program.run(FLAGS.iter().chain(&["tools", "a.toml", "--connect"]));
    drop(connect);
    let done = ran(&program, CALL, "");
    assert_eq!(
        done.exits(0).json()["return"],
        json!("[secret]\n[image [secret], about 3 bytes, not shown to models]\n{\"[secret]\":\"[secret]\"}")
    );
    done.reports("log [secret]").reports("at [secret]");
    for arguments in [
        &["tools", "a.toml", "--connect"][..],
        &["tools", "a.toml", "--connect", "--json"],
        &["tools", "a.toml", "--logs"],
    ] {
        let done = program.run(FLAGS.iter().chain(arguments));
        let output = done.exits(0).stdout.clone() + &done.stderr;
        assert!(output.contains("[secret]") && !output.contains(&KEY[..15]), "{arguments:?}: {output}");
    }
    assert_no_key(&program, &FLAGS, KEY);
}

#[test]
fn the_words_of_a_server_that_does_not_begin_or_dies_hold_no_key() {
    for (start, call) in [("echo $SHOP_KEY >&2; exit 3", ""), ("", "echo $SHOP_KEY >&2; exit 3")] {
        let program = keyed();
        server(&program, start, super::mcp::READ, call);
        let config = std::fs::read_to_string(program.dir().join("config.toml")).unwrap();
        program.file("config.toml", config + "env = [\"SHOP_KEY\"]\n");
        ran(&program, CALL, "").exits(1).reports("[secret]");
        assert_no_key(&program, &FLAGS, KEY);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_answered_with_its_own_key_or_sent_elsewhere_reveals_it_to_nobody() {
    let other = Server::play([Play::json("200 OK", "{}")]).await;
    let echo = |received: &crate::openai::server::Received| received.header("x-shop").replace("Bearer ", "");
    let elsewhere = other.base_url.clone();
    let shop = Server::script(move |number, received| match number {
        0 => Play::json("200 OK", json!({"key": echo(received)}).to_string()),
        1 => Play::json("403 Forbidden", format!("not with {}", echo(received))),
        _ => Play::page("308 Permanent Redirect", &format!("location: {elsewhere}/{}\r\n", echo(received)), ""),
    })
    .await;
    let url = shop.base_url.clone();
    let work = tokio::task::spawn_blocking(move || {
        let program = keyed();
        program.file("config.toml", "");
        let tool = format!(
            "[tools.ask]\nkind = \"http\"\nmethod = \"POST\"\nurl = \"{url}/ask\"\nheaders = {{ x-shop = \"Bearer ${{SHOP_KEY}}\" }}\n"
        );
        program.file("a.toml", agent("(return (tool/ask {}))", &tool));
        for code in [0, 1, 1] {
            let done = program.run(FLAGS.iter().chain(&["run", "a.toml", "--allow-tools", "--json"]));
            let output = done.exits(code).stdout.clone() + &done.stderr;
            assert!(!output.contains(&KEY[..15]), "{output}");
        }
        assert_no_key(&program, &FLAGS, KEY);
    });
    work.await.unwrap();
    assert_eq!(shop.received().len(), 3);
    assert!(shop.received().iter().all(|received| received.head.contains(KEY)), "the key was sent");
    assert!(other.received().is_empty(), "no redirect is followed");
}
