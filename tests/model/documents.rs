//! The examples of docs/structured-output.md, as they are there, against the mock.

use serde_json::json;

use crate::cli::program::Program;
use crate::openai::aimock::Peer;

const PAGE: &str = include_str!("../../docs/structured-output.md");

/// The blocks of this kind, in order.
fn blocks(kind: &str) -> Vec<&'static str> {
    let open = format!("```{kind} example\n");
    PAGE.split(open.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_the_page_run() {
    let (configurations, commands) = (blocks("toml"), blocks("sh"));
    assert_eq!((configurations.len(), commands.len()), (4, 4));
    let Some(peer) = Peer::start_with("tests/model/fixtures").await else { return };
    let place = peer.base_url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let ways = ["json_schema", "tool", "json_schema", "json_schema"];
    let ran = tokio::task::spawn_blocking(move || {
        for ((configuration, command), way) in configurations.into_iter().zip(commands).zip(ways) {
            let program = Program::new();
            program.file("config.toml", configuration.replace("127.0.0.1:4010", &place));
            let words = shlex::split(command.trim()).unwrap();
            let arguments = ["--config", "config.toml"].map(str::to_owned).into_iter().chain(words.into_iter().skip(1));
            let step = program.run(arguments).exits(0).json();
            assert_eq!(step["return"], json!({"verdict": "pass", "score": 3}), "{command}");
            assert_eq!(step["usage"]["structured_output"], way, "{command}");
        }
    });
    ran.await.unwrap();
    drop(peer);
}
