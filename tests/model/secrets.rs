//! A key goes into one header and nowhere else, in every protocol, whatever the server does with it.

use ptc_workbench::config::KeySource;
use ptc_workbench::model::Adapter;
use serde_json::json;

use super::ask;
use super::kit::{ALL, Kit};
use crate::cli::program::Program;
use crate::openai::request;
use crate::openai::server::{Play, Server};

const KEY: &str = "sk-test-Abc123.def456";

/// What a server may do with a key that it got.
fn echoes(kit: Kit) -> Vec<(&'static str, Play)> {
    let frames = |frames: Vec<String>| kit.play([kit.begin()].into_iter().chain(frames).chain([kit.end("stop")]));
    let letters = KEY.chars().map(|letter| kit.text(&letter.to_string())).collect();
    vec![
        ("in one piece", frames(vec![kit.text(&format!("your key {KEY} is good"))])),
        ("in two pieces", frames(vec![kit.text(&KEY[..7]), kit.text(&KEY[7..])])),
        ("in single letters", frames(letters)),
        ("in reasoning", frames(vec![kit.thought(&format!("the key {KEY}"))])),
        ("in a call", frames(vec![kit.call(0, KEY, KEY, &json!({"key": KEY}))])),
        ("at once", kit.whole(KEY)),
        ("in an error", Play::json("401 Unauthorized", kit.error(KEY, &format!("bad key {KEY}")).to_string())),
        ("in an error inside", frames(vec![kit.frame(&kit.error("overloaded_error", KEY))])),
        ("in a redirect", Play::page("302 Found", &format!("location: http://127.0.0.1:1/{KEY}\r\n"), "")),
    ]
}

#[tokio::test]
async fn an_echoed_key_never_leaves_the_port() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("key");
    std::fs::write(&file, KEY).unwrap();
    for kit in ALL {
        for (what, play) in echoes(kit) {
            let server = Server::play([play]).await;
            let mut endpoint = kit.endpoint(&server);
            endpoint.key = Some(KeySource::File(file.clone()));
            let model = Adapter::new(endpoint).unwrap();
            let asked = ask(kit, &server, &model, &request("hi")).await;
            assert!(server.received()[0].head.contains(KEY), "{kit:?}: the key was sent");
            let everything = asked.everything();
            assert!(!everything.contains(KEY) && !everything.contains(&KEY[..15]), "{kit:?} {what}: {everything}");
            assert!(!format!("{model:?}").contains(KEY));
        }
    }
}

/// What a person or a script can get out of the program about a run.
const OUTPUTS: [&[&str]; 5] = [
    &["replay", "last", "--check"],
    &["sessions", "list", "--json"],
    &["models", "--check", "--json"],
    &["models", "echo"],
    &["doctor"],
];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_the_program_writes_holds_a_key() {
    for kit in ALL {
        let plays: Vec<Play> = echoes(kit).into_iter().map(|(_, play)| play).collect();
        let count = plays.len();
        let server = Server::play(plays).await;
        let (name, url) = (kit.0.name(), server.base_url.clone());
        let everything = tokio::task::spawn_blocking(move || {
            let program = Program::new().with_env("ECHO_KEY", KEY).with_env("RUST_LOG", "trace");
            let provider =
                format!("[providers.echo]\nkind = \"{name}\"\nbase_url = \"{url}\"\napi_key_env = \"ECHO_KEY\"\n");
            program.file("config.toml", provider + "[retry]\nmax_attempts = 1\n");
            let mut everything = Vec::new();
            let mut take = |arguments: &[&str]| {
                let all = ["--config", "config.toml", "--log", "log.txt"].into_iter().chain(arguments.iter().copied());
                let done = program.run(all);
                everything.push((arguments.join(" "), done.stdout + &done.stderr));
            };
            for _ in 0..count {
                take(&["run", "--prompt", "hi", "--signature", "() -> :string", "--model", "echo:m", "--json"]);
            }
            for arguments in OUTPUTS {
                take(arguments);
            }
            let files = program.session_files().into_iter().chain([program.dir().join("log.txt")]);
            everything.extend(files.map(|file| {
                (file.display().to_string(), String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned())
            }));
            everything
        });
        let everything = everything.await.unwrap();
        assert!(server.received().iter().all(|received| received.head.contains(KEY)), "{kit:?}: the key was sent");
        for (what, text) in everything {
            assert!(!text.contains(KEY) && !text.contains(&KEY[..15]), "{kit:?} {what}: {text}");
        }
    }
}
