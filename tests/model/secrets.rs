//! A key goes into one header and nowhere else, in every protocol, whatever the server does with it.

use ptc_workbench::config::KeySource;
use ptc_workbench::model::Adapter;
use serde_json::json;

use super::ask;
use super::kit::{ALL, Kit};
use crate::cli::leaks::{assert_no_key, assert_no_key_in_files, plain};
use crate::cli::program::Program;
use crate::openai::request;
use crate::openai::server::{Play, Server};

/// It holds a letter that JSON texts may write with an escape.
const KEY: &str = "sk-test-Abc/123.def456";

/// Returns the replies by which a server may echo the key that it got.
fn echoes(kit: Kit) -> Vec<(&'static str, Play)> {
    let frames = |frames: Vec<String>| kit.play([kit.begin()].into_iter().chain(frames).chain([kit.end("stop")]));
    let letters = KEY.chars().map(|letter| kit.text(&letter.to_string())).collect();
    let bars = KEY.replace('/', "\\/");
    let codes = KEY.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect::<Vec<_>>().concat();
    vec![
        ("in one piece", frames(vec![kit.text(&format!("your key {KEY} is good"))])),
        ("in two pieces", frames(vec![kit.text(&KEY[..7]), kit.text(&KEY[7..])])),
        ("in single letters", frames(letters)),
        // What a JSON answer holds is decoded only when the answer is read.
        ("in a JSON text with escapes", frames(vec![kit.text(&format!("{{\"value\": \"{bars}\"}}"))])),
        (
            "in a JSON text of codes, in pieces",
            frames(codes.as_bytes().chunks(5).map(|piece| kit.text(&String::from_utf8_lossy(piece))).collect()),
        ),
        (
            "in an error of codes",
            Play::json("400 Bad Request", kit.error("invalid", "no CODES").to_string().replace("CODES", &codes)),
        ),
        (
            "in an address",
            Play::json(
                "404 Not Found",
                kit.error("not_found", &format!("no /v1/{}", KEY.replace('/', "%2F"))).to_string(),
            ),
        ),
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
            assert!(!plain(&everything).contains(&KEY[..15]), "{kit:?} {what}: {everything}");
            assert!(!format!("{model:?}").contains(KEY));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_the_program_writes_holds_a_key() {
    for (number, kit) in ALL.into_iter().enumerate() {
        // Every echo in the first protocol, a sample of them in each other one.
        let is_tried = |place: usize| number == 0 || crate::is_in_sample(place + number);
        let plays = echoes(kit).into_iter().enumerate().filter(|(place, _)| is_tried(*place));
        let plays: Vec<Play> = plays.map(|(_, (_, play))| play).collect();
        let runs = plays.len();
        let server = Server::play(plays).await;
        let (name, url) = (kit.0.name(), server.base_url.clone());
        let work = tokio::task::spawn_blocking(move || {
            let program = Program::new().with_env("ECHO_KEY", KEY).with_env("RUST_LOG", "trace");
            let provider =
                format!("[providers.echo]\nkind = \"{name}\"\nbase_url = \"{url}\"\napi_key_env = \"ECHO_KEY\"\n");
            program.file("config.toml", provider + "[retry]\nmax_attempts = 1\n");
            let flags = ["--config", "config.toml", "--log", "log.txt"];
            for _ in 0..runs {
                let asked = ["run", "--prompt", "hi", "--signature", "() -> :string", "--model", "echo:m", "--json"];
                let done = program.run(flags.iter().chain(&asked));
                assert!(!(done.stdout.clone() + &done.stderr).contains(&KEY[..15]), "{name}: {done:?}");
            }
            let listed = program.run(flags.iter().chain(&["models", "echo"]));
            assert!(!(listed.stdout.clone() + &listed.stderr).contains(&KEY[..15]), "{name}: {listed:?}");
            // What is read from files that hold no key holds none; to be sure it is asked for once.
            if kit.0 == ALL[0].0 {
                assert_no_key(&program, &flags, KEY);
            } else {
                assert_no_key_in_files(&program, KEY);
            }
        });
        work.await.unwrap();
        assert!(server.received().iter().all(|received| received.head.contains(KEY)), "{kit:?}: the key was sent");
    }
}

/// Set for the process that panics.
const CHILD: &str = "PTC_WORKBENCH_TEST_PANICS_WITH_A_KEY";

/// Does nothing in an ordinary test run; in the process that [`the_report_of_a_panic_holds_no_key`] starts, it is the program.
#[test]
fn as_the_program() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    ptc_workbench::cli::log_to(std::path::Path::new("log.txt")).unwrap();
    ptc_workbench::cli::hook_panics();
    panic!("no luck with {KEY}");
}

#[test]
fn the_report_of_a_panic_holds_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["model::secrets::as_the_program", "--exact", "--nocapture"])
        .current_dir(dir.path())
        .envs([(CHILD, "1"), ("ECHO_KEY", KEY), ("RUST_BACKTRACE", "1")])
        .output()
        .unwrap();
    let printed_text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    let log = std::fs::read_to_string(dir.path().join("log.txt")).unwrap();
    for text in [printed_text, log] {
        assert!(text.contains("no luck with [secret]") && text.contains("secrets.rs"), "{text}");
        assert!(!text.contains(&KEY[..15]), "{text}");
    }
}
