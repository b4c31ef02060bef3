//! Exchanges of clients of 2026 (the SDKs of `OpenAI`, Anthropic, Google and Ollama, and pydantic-ai) with a mock of the services
//! (`fixtures/clients.json`), streamed and not, with tools, schemas, images and conversations that the service keeps.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ptc_workbench::agent::Agent;
use ptc_workbench::event::{Address, Event};
use ptc_workbench::proxy::Answers;
use ptc_workbench::replay::verify;
use ptc_workbench::session::Session;
use ptc_workbench::workbench::{FileNaming, agent_of_request, captured_agent, write_new_agent};
use serde::Deserialize;
use serde_json::Value;

use super::kit::{Got, Proxied, Wish, fetch};
use crate::cli::program::Program;
use crate::openai::server::{Play, Server};

/// A request of a client, and the reply.
#[derive(Debug, Clone, Deserialize)]
struct Exchange {
    scenario: String,
    client: String,
    path: String,
    request: String,
    status: u16,
    r#type: String,
    reply: String,
}

/// The exchanges of each scenario, in order.
fn scenarios() -> BTreeMap<String, Vec<Exchange>> {
    let all: Vec<Exchange> = serde_json::from_str(include_str!("fixtures/clients.json")).unwrap();
    let mut by_name: BTreeMap<String, Vec<Exchange>> = BTreeMap::new();
    for exchange in all {
        by_name.entry(exchange.scenario.clone()).or_default().push(exchange);
    }
    by_name
}

async fn ask(proxied: &Proxied, exchanges: &[Exchange]) -> Vec<Got> {
    let mut got = Vec::new();
    for exchange in exchanges {
        let request = proxied.post(&exchange.path, exchange.request.clone()).header("user-agent", &exchange.client);
        got.push(fetch(request).await);
    }
    got
}

/// Passes the exchanges through a proxy; returns its one session.
async fn captured(name: &str, exchanges: &[Exchange]) -> (Session, tempfile::TempDir) {
    let replies = exchanges.to_vec();
    let proxied = Proxied::script(move |number, _| {
        let exchange = &replies[number];
        Play::page(
            &format!("{} OK", exchange.status),
            &format!("content-type: {}\r\n", exchange.r#type),
            &exchange.reply,
        )
    })
    .await;
    for (got, exchange) in ask(&proxied, exchanges).await.iter().zip(exchanges) {
        assert_eq!((got.status, got.text()), (exchange.status, exchange.reply.clone()), "{name}");
    }
    let (mut sessions, dir) = proxied.end().await;
    assert_eq!(sessions.len(), 1, "{name}: a conversation is one session");
    (sessions.remove(0), dir)
}

fn turns(session: &Session) -> Vec<Address> {
    let runs = session.skeleton().roots();
    runs.flat_map(|run| run.turns.iter().map(|turn| turn.address.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_conversation_is_one_session_that_verifies_answers_again_and_makes_agents() {
    for (name, exchanges) in scenarios() {
        let (session, _dir) = captured(&name, &exchanges).await;
        assert_eq!(turns(&session).len(), exchanges.len(), "{name}");
        let verified = verify(&session).await;
        assert!(verified.findings.is_empty(), "{name}: {:?}", verified.findings);
        for envelope in session.events() {
            if let Event::TurnEnd(end) = envelope.event {
                assert!(end.success, "{name} {}: {end:?}", envelope.address);
            }
        }
        for turn in turns(&session) {
            let text = agent_of_request(&session, &turn, "captured").unwrap();
            let agent = Agent::from_toml(&text, "captured.toml")
                .unwrap_or_else(|error| panic!("{name} {turn}: {error}\n{text}"));
            assert!(!agent.prompt.is_empty(), "{name} {turn}: {text}");
            if name.contains("weather") {
                assert!(text.contains("\"city\"") && text.contains("12 degrees"), "{name} {turn}: {text}");
            }
        }
        let files: Vec<PathBuf> = vec![session.path.clone()];
        let recorded = Some(Answers::read(&files, &[]).unwrap());
        let proxied = Proxied::start(Server::play([]).await, Wish { recorded, ..Wish::default() }).await;
        for (got, exchange) in ask(&proxied, &exchanges).await.iter().zip(&exchanges) {
            assert_eq!(
                (got.status, got.text(), got.is_whole),
                (exchange.status, exchange.reply.clone(), true),
                "{name}"
            );
        }
        assert_eq!(proxied.misses(), 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_the_service_keeps_are_part_of_the_request() {
    let all = scenarios();
    // By the id of the reply in the Responses API, and by a thread in the Messages API, whose tools stay as well.
    for (name, roles) in [
        ("oa_resp_n1_weather", vec!["system", "user", "assistant", "tool"]),
        ("oa_resp_s1_weather", vec!["system", "user", "assistant", "tool"]),
        ("an_runner", vec!["user", "assistant", "tool"]),
    ] {
        let (session, _dir) = captured(name, &all[name]).await;
        let turn = turns(&session).pop().unwrap();
        let sent: Vec<&str> = session.request(&turn).unwrap().iter().map(|message| message.role.name()).collect();
        assert_eq!(sent, roles, "{name}");
        let of_turn = session.events().filter(|envelope| envelope.address == turn);
        let (mut tools, mut notices) = (Vec::new(), Vec::new());
        for envelope in of_turn {
            match envelope.event {
                Event::RequestMade(made) => tools = made.tool_names,
                Event::Notice(notice) => notices.push(notice.text),
                _ => {}
            }
        }
        assert!(tools.contains(&"get_weather".to_owned()), "{name}: {tools:?}");
        assert!(notices.iter().any(|text| text.contains("kept by the service")), "{name}: {notices:?}");
        let agent = agent_of_request(&session, &turn, "captured").unwrap();
        assert!(agent.contains("weather now") && agent.contains("role = \"tool\""), "{name}: {agent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_continues_a_reply_is_sent_again_after_a_failure() {
    let mut exchanges = scenarios().remove("oa_resp_n1_weather").unwrap();
    let failed = Exchange {
        status: 500,
        r#type: "application/json".to_owned(),
        reply: "{\"error\":{\"message\":\"oh\"}}".to_owned(),
        ..exchanges[1].clone()
    };
    exchanges.insert(1, failed);
    let (session, _dir) = captured("a retry", &exchanges).await;
    let all = turns(&session);
    let roles = |turn: &Address| -> Vec<&'static str> {
        session.request(turn).unwrap().iter().map(|message| message.role.name()).collect()
    };
    assert_eq!(all.len(), 3);
    assert_eq!(roles(&all[1]), ["system", "user", "assistant", "tool"]);
    // The service kept nothing of the request that failed; only the reply before it is not repeated.
    assert_eq!(roles(&all[2]), ["system", "user", "assistant", "tool"]);
    assert!(verify(&session).await.findings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_captured_agent_answer_what_they_answered() {
    let all = scenarios();
    // Results of the last two protocols do not name their calls.
    for (name, call, result) in [
        ("oa_chat_n_weather", "/call get_weather {\"city\": \"Oslo\"}", "12 degrees"),
        ("oa_resp_n1_weather", "/call get_weather {\"city\": \"Oslo\"}", "12 degrees"),
        ("an_runner", "/call get_weather {\"city\": \"Oslo\"}", "12 degrees"),
        ("ge_s_two", "/call read_file {\"path\": \"a.txt\"}", "{\"result\":\"12 degrees\"}"),
        ("ol_s_two", "/call read_file {\"path\": \"a.txt\"}", "12 degrees"),
    ] {
        let (session, _dir) = captured(name, &all[name]).await;
        let program = Program::new();
        program.file("a.toml", agent_of_request(&session, &"r0/t1".into(), "captured").unwrap());
        let arguments = ["run", "a.toml", "--model", "human", "--allow-tools", "--json"];
        let done = tokio::task::block_in_place(|| program.fed(arguments, format!("{call}\n.\nfine\n.\n")));
        done.exits(0);
        let recorded = program.session();
        let results: Vec<Value> = recorded
            .events()
            .filter(|envelope| envelope.event.kind() == "tool.end")
            .map(|envelope| serde_json::from_str(envelope.event.data().unwrap().get()).unwrap())
            .collect();
        let [end] = results.as_slice() else { panic!("{name}: {results:?}") };
        let given = end["result"].as_str().map_or_else(|| end["result"].to_string(), ToOwned::to_owned);
        assert_eq!(given, result, "{name}: {end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_images_of_a_captured_request_are_inputs_of_its_agent_and_are_sent() {
    let all = scenarios();
    let names: Vec<&String> = all.keys().filter(|name| name.contains("image")).collect();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        let (session, _dir) = captured(name, &all[name]).await;
        let agent = captured_agent(&session, &"r0/t1".into(), "seen", FileNaming::Name).unwrap();
        assert!(agent.unsent.is_empty(), "{name}: {:?}", agent.unsent);
        let [file] = agent.files.as_slice() else { panic!("{name}: {:?}", agent.files) };
        assert_eq!((file.path.as_str(), file.record.media_type.as_str()), ("seen-image-1.png", "image/png"), "{name}");
        let program = Program::new();
        write_new_agent(&program.dir().join("seen.toml"), &agent).unwrap();
        assert_eq!(std::fs::read(program.dir().join("seen-image-1.png")).unwrap(), *file.bytes, "{name}");
        tokio::task::block_in_place(|| program.run(["run", "seen.toml", "--model", "sample"])).exits(0);
        let recorded = program.session();
        let messages: Vec<Value> = recorded
            .events()
            .filter(|envelope| envelope.event.kind() == "message")
            .map(|envelope| serde_json::from_str(envelope.event.data().unwrap().get()).unwrap())
            .collect();
        let user = messages.iter().find(|message| message["role"] == "user").unwrap();
        let texts: Vec<&str> =
            user["parts"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect();
        let text = texts.concat();
        // The text that stood for the image is gone.
        assert_eq!(text, "hello look", "{name}");
        assert!(user["parts"].to_string().contains(&file.record.sha256), "{name}: {user}");
        // The draft on the screen has no folder: its files are known by their hashes.
        let text = agent_of_request(&session, &"r0/t1".into(), "seen").unwrap();
        assert!(text.contains(&file.record.sha256), "{name}: {text}");
        Agent::from_toml(&text, "seen.toml").unwrap();
    }
}
