//! Telemetry: what a collector gets while a run happens, and that it never disturbs the run.

use serde_json::Value;

use super::program::{Done, Program};
use crate::openai::server::{Play, Server};

/// A program that reports to this address, with more keys of the section.
fn program(endpoint: &str, more: &str) -> Program {
    let program = Program::new().with_env("COLLECTOR_KEY", "collector-key-0123456789");
    program.file("config.toml", format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\n{more}"));
    program
}

async fn run(program: Program, arguments: &'static [&'static str]) -> (Program, Done) {
    let call = move || {
        let done = program.run(["--config", "config.toml"].into_iter().chain(arguments.iter().copied()));
        (program, done)
    };
    tokio::task::spawn_blocking(call).await.unwrap()
}

fn spans(document: &Value) -> Vec<Value> {
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

/// The spans of all requests, by their ids.
fn received(server: &Server) -> Vec<Value> {
    sorted(server.received().iter().flat_map(|received| spans(&received.json())).collect())
}

fn sorted(mut spans: Vec<Value>) -> Vec<Value> {
    spans.sort_by_key(|span| span["spanId"].to_string());
    spans
}

const RUN: &[&str] = &["run", "sales", "--model", "sample"];

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_the_spans_of_the_export_while_the_run_happens() {
    let server = Server::script(|_, _| Play::json("200 OK", "{}")).await;
    let root = server.base_url.trim_end_matches("/v1").to_owned();
    let headers = "content = true\nheaders = { \"X-Api-Key\" = \"${COLLECTOR_KEY}\" }\n";
    let (program, done) = run(program(&root, headers), RUN).await;
    assert!(!done.stderr.contains("telemetry"), "{}", done.stderr);
    let requests = server.received();
    assert!(requests.iter().all(|request| request.head.starts_with("POST /v1/traces ")), "{:?}", requests[0].head);
    assert_eq!(requests[0].header("x-api-key"), "collector-key-0123456789");
    assert_eq!(requests[0].header("content-type"), "application/json");
    let session = program.session_file();
    let turns = program.session().events().filter(|envelope| envelope.event.kind() == "turn.end").count();
    assert_eq!(requests.len(), turns + 1, "one for each turn, one for the run");
    let id = session.file_stem().unwrap().to_string_lossy().into_owned();
    let exported = program.run(["sessions", "export", &id, "--format", "otlp"]).exits(0).json();
    assert_eq!(received(&server), sorted(spans(&exported)));
    assert!(!std::fs::read_to_string(session).unwrap().contains("collector-key"), "the key is in the session");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_content_nothing_that_was_written_is_sent() {
    let server = Server::script(|_, _| Play::json("200 OK", "{}")).await;
    let endpoint = format!("{}/custom/path", server.base_url);
    let program = program(&endpoint, "");
    program.file(
        "own.toml",
        "name = \"own\"\nmode = \"json\"\nmodel = \"sample\"\nprompt = \"planted-prompt {{text}}\"\nsignature = \"(text :string) -> {word :string}\"\n\
         [context]\ntext = \"planted-input\"\n",
    );
    let (program, done) = run(program, &["run", "own.toml", "--json"]).await;
    let answer = done.exits(0).json()["return"]["word"].as_str().unwrap().to_owned();
    let bodies: String = server.received().iter().map(|received| received.body.clone()).collect();
    for planted in
        ["planted-prompt", "planted-input", answer.as_str(), "gen_ai.input.messages", "ptc_workbench.context"]
    {
        assert!(!bodies.contains(planted), "{planted}: {bodies}");
    }
    let all = received(&server);
    let names: Vec<&str> = all.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"invoke_agent own") && names.iter().any(|name| name.starts_with("chat ")), "{names:?}");
    assert!(bodies.contains("gen_ai.response.finish_reasons"), "{bodies}");
    assert!(server.received().iter().all(|request| request.head.contains("/custom/path")));
    drop(program);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_costs_no_run_and_is_reported_at_the_end() {
    let server = Server::script(|_, _| Play::json("503 Service Unavailable", "{}")).await;
    let (program, done) = run(program(&server.base_url, ""), RUN).await;
    let lost =
        done.stderr.lines().find(|line| line.contains("telemetry:")).unwrap_or_else(|| panic!("{}", done.stderr));
    assert!(lost.contains("did not reach http://127.0.0.1") && lost.contains("status 503"), "{lost}");
    let expected = program.run(RUN.iter().copied());
    assert_eq!(done.code, expected.code, "the exit code is that of the run");
    let missing = self::program("http://127.0.0.1:9/", "headers = { \"X-Api-Key\" = \"${NOT_THERE}\" }\n");
    let (_, done) = run(missing, RUN).await;
    assert!(done.stderr.contains("NOT_THERE is not set"), "{}", done.stderr);
    assert_eq!(done.code, expected.code);
}

#[test]
fn an_address_that_is_none_is_refused_and_inspect_names_the_collector() {
    let odd = program("localhost:4318", "");
    let refused = odd.run(["--config", "config.toml", "models"]);
    assert!(refused.exits(2).stderr.contains("must begin with http:// or https://"), "{}", refused.stderr);
    let program = program("http://collector.example:4318", "headers = { \"X-Api-Key\" = \"${COLLECTOR_KEY}\" }\n");
    let done = program.run(["inspect", "config.toml"]);
    assert!(done.stdout.contains("http://collector.example:4318, with every run"), "{}", done.stdout);
    assert!(done.stdout.contains("X-Api-Key") && !done.stdout.contains("collector-key"), "{}", done.stdout);
}
