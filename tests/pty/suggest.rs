//! A suggested fix in the real program: asked for at a failed turn, stopped while the model works, refused, accepted and saved.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;

use super::terminal::{Start, Terminal};
use super::{CTRL_Q, ENTER, F5};
use crate::openai::server::{Play, Received, Server, answer, delta};

const ALT_F: &str = "\x1bf";
const ESC: &str = "\x1b";
const CTRL_S: &str = "\x13";
/// Beginning of the mission of the model that suggests.
const MISSION: &str = "Fix an AI agent";
const PROMPT: &str = "Label the request. A parcel is ship.\n{{text}}";
const AGENT: &str = "# the help desk\nname = \"desk\"\nmode = \"json\"\nmodel = \"made:m\"\nprompt = \"\"\"\nLabel the request.\n{{text}}\"\"\"   # stays\nsignature = \"(text :string) -> {label :string}\"\n\n[context]\ntext = \"Where is my parcel?\"\n\n[[cases]]\nname = \"parcel\"\ncontext = { text = \"Where is my parcel?\" }\nexpect = { label = \"ship\" }\n";

fn is_suggestion(received: &Received) -> bool {
    received.body.contains(MISSION)
}

/// A model that labels everything `other`; its first suggestion never comes, the others are the same.
async fn server() -> Server {
    let asked = AtomicU32::new(0);
    Server::script(move |_, received| match is_suggestion(received) {
        true if asked.fetch_add(1, Ordering::Relaxed) == 0 => Play::silent([delta("{\"reason\": ")]),
        true => {
            let changes = json!([{ "name": "prompt", "text": PROMPT }]);
            answer(&json!({ "reason": "parcels are not named", "changes": changes }).to_string())
        }
        false => answer(&json!({ "label": "other" }).to_string()),
    })
    .await
}

/// Waits until a request for a suggestion has arrived.
async fn arrived(server: &Server) {
    while !server.received().iter().any(is_suggestion) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Asks for a suggestion at the turn that is shown.
fn ask(terminal: &mut Terminal) {
    terminal.send(ALT_F);
    terminal.wait_for("ask made:m: ~");
    terminal.send(ENTER);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suggestion_is_stopped_refused_and_accepted() {
    let mut server = server().await;
    let home = tempfile::tempdir().unwrap();
    let config = format!("[providers.made]\nkind = \"openai\"\nbase_url = \"{}\"\n", server.base_url);
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    let agent = home.path().join("desk.toml");
    std::fs::write(&agent, AGENT).unwrap();
    let file = || std::fs::read_to_string(&agent).unwrap();

    let mut terminal = tokio::task::block_in_place(|| {
        let start = Start::workbench(home.path()).args(&["--config", "config.toml", "desk.toml"]).size(120, 40);
        let mut terminal = start.spawn();
        terminal.wait_for("✓ 1 field");
        terminal.send(F5);
        terminal.wait_for("✓ returned");
        terminal.send("\x1bg");
        terminal.send("r");
        terminal.send(ALT_F);
        terminal.wait_for("case `parcel`: label: expected");
        terminal.wait_for("ask made:m: ~");
        terminal.send(ENTER);
        terminal.wait_for("● made:m is asked for a fix of r0/t1");
        terminal
    });
    arrived(&server).await;
    tokio::task::block_in_place(|| {
        terminal.send(ESC);
        terminal.wait_for("stopped asking made:m for a fix of r0/t1");
        terminal.wait_until_gone("Esc stops");
    });
    let hung_up = server.client_hung_up().await;
    assert!(is_suggestion(&server.received()[hung_up]), "the model is not asked any more");
    tokio::task::block_in_place(|| {
        assert_eq!(file(), AGENT, "stopping changes nothing");
        // Refused.
        ask(&mut terminal);
        terminal.wait_for("Suggested fix");
        terminal.wait_for("+Label the request. A parcel is ship.");
        terminal.send(ESC);
        terminal.wait_until_gone("Suggested fix");
        assert!(!terminal.screen().contains("● unsaved"), "{}", terminal.screen());
        // Accepted; the footer names the key when it can be accepted.
        ask(&mut terminal);
        terminal.wait_for("Suggested fix");
        terminal.wait_for("Enter do it");
        terminal.send(ENTER);
        terminal.wait_for("changed: prompt, line 1");
        terminal.wait_for("● unsaved");
        assert_eq!(file(), AGENT, "the file is written when it is saved");
        terminal.send(CTRL_S);
        terminal.wait_for("saved desk.toml");
        let saved = file();
        assert!(saved.contains("A parcel is ship.\n{{text}}") && saved.starts_with("# the help desk\n"), "{saved}");
        assert!(saved.ends_with(&AGENT[AGENT.find("[[cases]]").unwrap()..]), "{saved}");
        terminal.send(CTRL_Q);
        assert_eq!(terminal.exit_code(), 0);
        terminal.assert_restored();
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_the_program_stops_a_model_that_is_asked() {
    let mut server = server().await;
    let home = tempfile::tempdir().unwrap();
    let config = format!("[providers.made]\nkind = \"openai\"\nbase_url = \"{}\"\n", server.base_url);
    std::fs::write(home.path().join("config.toml"), config).unwrap();
    std::fs::write(home.path().join("desk.toml"), AGENT).unwrap();
    let mut terminal = tokio::task::block_in_place(|| {
        let start = Start::workbench(home.path()).args(&["--config", "config.toml", "desk.toml"]).size(80, 24);
        let mut terminal = start.spawn();
        terminal.wait_for("desk");
        terminal.send(F5);
        terminal.wait_for("✓ returned");
        terminal.send("\x1bg");
        terminal.send("r");
        ask(&mut terminal);
        terminal.wait_for("Esc stops");
        terminal
    });
    arrived(&server).await;
    tokio::task::block_in_place(|| {
        terminal.send(CTRL_Q);
        assert_eq!(terminal.exit_code(), 0);
        terminal.assert_restored();
    });
    let hung_up = server.client_hung_up().await;
    assert!(is_suggestion(&server.received()[hung_up]));
}
