//! `suggest`: a fix for a failing turn against a model whose answers are made: which texts change, what is refused, and that nothing is
//! written unasked.

use std::fs;

use serde_json::{Value, json};

use crate::cli::program::Program;
use crate::openai::server::{Play, Received, Server, answer};

/// Beginning of the mission of the model that suggests.
const MISSION: &str = "Fix an AI agent";
/// The agent file; its comments stay.
const AGENT: &str = "# the help desk\nname = \"desk\"\nmode = \"json\"\nmodel = \"made:m\"\nprompt = \"\"\"\nLabel the request.\n{{text}}\"\"\"   # stays\nsignature = \"(text :string) -> {label :string}\"\n\n[[cases]]\nname = \"parcel\"\ncontext = { text = \"Where is my parcel?\" }\nexpect = { label = \"ship\" }\n";

fn sent(received: &Received) -> String {
    let messages = received.json()["messages"].as_array().cloned().unwrap_or_default();
    messages.iter().filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
}

/// A model that labels everything `other`, and suggests these changes.
fn play(received: &Received, changes: &Value) -> Play {
    if sent(received).contains(MISSION) {
        return answer(&json!({"reason": "parcels are not named", "changes": changes}).to_string());
    }
    answer(&json!({"label": "other"}).to_string())
}

async fn server(changes: Value) -> Server {
    Server::script(move |_, received| play(received, &changes)).await
}

/// A folder with the agent, and the session of its run.
fn program(server: &Server) -> (Program, String) {
    let program = Program::new();
    program.file("config.toml", format!("[providers.made]\nkind = \"openai\"\nbase_url = \"{}\"\n", server.base_url));
    program.file("desk.toml", AGENT);
    let tested = program.run(["--config", "config.toml", "test", "desk.toml", "--json"]).exits(1).json();
    let text = tested.to_string();
    let at = text.find("\"session\":\"").unwrap() + "\"session\":\"".len();
    (program, text[at..].split('"').next().unwrap().to_owned())
}

fn suggest(program: &Program, arguments: &[&str]) -> crate::cli::program::Done {
    program.run(["--config", "config.toml", "suggest"].iter().chain(arguments))
}

fn agent_file(program: &Program) -> String {
    fs::read_to_string(program.dir().join("desk.toml")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suggestion_reads_the_failure_and_is_written_only_when_it_is_accepted() {
    let prompt = "Label the request. A parcel is ship.\n{{text}}";
    let changes = json!([
        {"name": "prompt", "text": prompt},
        {"name": "field_descriptions.label", "text": "ship, bill or access"},
        {"name": "signature", "text": "() -> :int"},
        {"name": "system_prompt.suffix", "text": ""},
    ]);
    let server = server(changes).await;
    tokio::task::block_in_place(|| {
        let (program, session) = program(&server);
        program.run(["sessions", "label", &session, "fail", "--note", "it is about shipping"]).exits(0);
        let shown = suggest(&program, &[&session]);
        shown
            .exits(0)
            .reports("asks made:m for a fix of r0/t1: ~")
            .reports("nothing was written; --write writes all hunks");
        shown.reports("not used: unknown text `signature` of the agent").reports("used ");
        assert!(shown.stdout.starts_with("parcels are not named\n"), "{}", shown.stdout);
        assert!(shown.stdout.contains("+Label the request. A parcel is ship."), "{}", shown.stdout);
        assert_eq!(agent_file(&program), AGENT, "nothing is written unasked");
        let asked = server.received().iter().map(sent).rfind(|text| text.contains(MISSION)).unwrap();
        for known in [
            "case `parcel`: label: expected",
            "it is about shipping",
            "Where is my parcel?",
            "field_descriptions.label",
        ] {
            assert!(asked.contains(known), "{known}:\n{asked}");
        }
        let found = suggest(&program, &[&session, "--json"]).exits(0).json();
        assert_eq!(found["changed"], json!(["prompt", "field_descriptions.label"]), "{found}");
        let run = found["session"].as_str().unwrap();
        assert!(program.sessions_dir().join(format!("{run}.jsonl")).exists(), "the model's run is a session");
        suggest(&program, &[&session, "--turn", "1", "--write"]).exits(0).reports("into desk.toml");
        let written = agent_file(&program);
        assert!(written.starts_with("# the help desk\n") && written.contains("\"\"\"   # stays\n"), "{written}");
        assert!(
            written.contains("A parcel is ship.\n{{text}}") && written.contains("ship, bill or access"),
            "{written}"
        );
        assert!(written.contains(&AGENT[AGENT.find("[[cases]]").unwrap()..]), "cases stay: {written}");
        assert!(written.contains("signature = \"(text :string) -> {label :string}\"\n"), "{written}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_suggested_is_refused_with_its_reason() {
    let server = server(json!([{"name": "prompt", "text": "Say ship."}])).await;
    tokio::task::block_in_place(|| {
        let (program, session) = program(&server);
        let refused = |arguments: &[&str], words: &str| _ = suggest(&program, arguments).exits(2).reports(words);
        refused(&[&session], "no suggestion of made:m can be used: prompt: the text lacks {{text}}");
        refused(&[&session, "--turn", "7"], "contains no turn r0/t7");
        refused(&[&session, "--turn", "r0"], "r0 is not a turn");
        refused(&[&session, "--agent", "none.toml"], "none.toml");
        program.file("other.toml", AGENT.replace("\"desk\"", "\"other\""));
        refused(&[&session, "--agent", "other.toml"], "contains the agent `other`, and the session ran `desk`");
        program.file("desk.toml", AGENT.replace("\"ship\"", "\"other\""));
        refused(&[&session], "no problem is known at r0/t1");
        refused(&[&session, "--problem", "too short"], "the text lacks {{text}}");
        let asked = server.received().iter().map(sent).rfind(|text| text.contains(MISSION)).unwrap();
        assert!(asked.contains("too short"), "{asked}");
    });
}

#[test]
fn a_largest_cost_is_a_number() {
    let program = Program::new();
    for command in ["test", "compare", "optimize", "judge"] {
        for cost in ["NaN", "inf", "-1", "much"] {
            let cost = format!("--max-cost={cost}");
            program.run([command, "sentiment", &cost]).exits(2).reports("a cost is a number from 0 up");
        }
    }
}
