//! A run over HTTP from one end to the other, against a mock of the API that others wrote: file in, session out, replayed
//! when the server is gone. Skipped with a message, unless `tests/peers/install.sh` was run.

use super::{alter, reword};
use crate::cli::program::Program;
use crate::openai::aimock::Peer;

#[tokio::test(flavor = "multi_thread")]
async fn a_text_from_a_file_is_classified_over_http_saved_and_replayed() {
    let Some(peer) = Peer::start_with("sessions/recording").await else { return };
    let provider = format!("[providers.mock]\nkind = \"openai\"\nbase_url = \"{}\"\n", peer.base_url);
    let ran = tokio::task::spawn_blocking(move || {
        let program = Program::new();
        program.file("config.toml", provider);
        program.file("text.txt", "It arrived late.\nAnd I still love it: 10/10 🚀\n");
        let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/agents/sentiment.toml");
        let flags = ["--config", "config.toml", "run", agent, "--model", "mock:example-model", "--json"];
        let done = program.run(flags.into_iter().chain(["--set", "text=@text.txt"]));
        (program, done)
    });
    let (program, done) = ran.await.unwrap();
    drop(peer);
    let step = done.exits(0).json();
    assert_eq!(step["return"], serde_json::json!({"sentiment": "positive", "score": 0.97}));
    let turns = step["turns"].as_array().unwrap();
    assert_eq!((turns.len(), &turns[0]["issues"][0]["path"]), (2, &"sentiment".into()));
    assert!(turns[0]["messages"][0]["content"].as_str().unwrap().contains("I still love it: 10/10 🚀\n"));
    assert_eq!(
        (&step["usage"]["schema_used"], &step["usage"]["structured_output"]),
        (&true.into(), &"json_schema".into())
    );

    // The server is gone: nothing below can ask it.
    program.run(["replay", "last", "--check"]).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    for kind in ["sent", "wire", "reply.part", "reply.end"] {
        assert!(text.contains(&format!("\"k\":\"{kind}\"")), "{kind}");
    }
    alter(&program, &text, "r0/t2", "reply.part", |data| reword(&mut data["text"], "```", "~~~"));
    let altered = program.run(["replay", "altered.jsonl", "--check"]);
    assert!(altered.exits(3).stdout.contains("r0/t2 (turn 2, layer extraction, event extract)"), "{}", altered.stdout);
}
