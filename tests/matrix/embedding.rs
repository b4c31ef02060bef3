//! Similarity by embeddings: what is asked of which provider, that it is asked once and counted, and that recordings need nothing.

use ptc_workbench::config::Config;
use ptc_workbench::session::read_rulings;
use serde_json::json;

use super::{ran, spec, trials, workbench};
use crate::cli::program::Program;
use crate::openai::server::{Play, Received, Server};

/// A run whose answer is fixed.
fn agent(expect: &str) -> String {
    format!(
        "name = \"a\"\nmode = \"ptc_lisp\"\nprompt = \"{{{{q}}}}\"\nsignature = \"(q :string) -> {{text :string, n :int}}\"\n\
         program = \"(return {{:text data/q :n 1}})\"\n[[cases]]\nname = \"one\"\n\
         context = {{ q = \"Returns are possible within 30 days\" }}\nexpect = {expect}\n"
    )
}

fn near(path: &str, to: &str, more: &str) -> String {
    format!("{{ at = {{ {path} = {{ similar = {{ to = \"{to}\", by = \"embedding\", {more} }} }} }} }}")
}

#[test]
fn without_a_provider_words_are_compared() {
    let program = Program::new();
    let test = |expect: &str| {
        program.file("a.toml", agent(expect));
        program.run(["test", "a.toml"])
    };
    let of_sample = |to: &str| near("text", to, "model = \"sample\", at_least = 0.5");
    let done = test(&of_sample("Return it within 30 days"));
    assert!(done.exits(0).stdout.contains("at least 0.5 passes: embeddings of sample"), "{}", done.stdout);
    let done = test(&of_sample("Bananas grow in hot countries"));
    assert!(done.exits(1).stdout.contains("text: the similarity is 0."), "{}", done.stdout);
    test(&format!("{{ not = {} }}", of_sample("Bananas grow in hot countries"))).exits(0);
    let number = test(&near("n", "one", "model = \"sample\""));
    assert!(number.exits(1).stdout.contains("n: expected a text, got 1"), "{}", number.stdout);
    // It is found again next to the session, and by every face.
    program.run(["sessions", "show", "last"]).exits(0);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn what_cannot_be_compared_is_an_error_before_anything_runs() {
    let program = Program::new();
    let refused = |expect: &str, words: &str| {
        program.file("a.toml", agent(expect));
        for command in [&["test", "a.toml"][..], &["compare", "a.toml", "--modes", "ptc_lisp"]] {
            program.run(command).exits(2).reports(words);
        }
    };
    refused(&near("text", "x", "model = \"demo\""), "the model `demo` makes no embeddings: name an embedding model");
    refused(&near("text", "x", "model = \"anthropic:claude\""), "makes no embeddings");
    refused(&near("text", "x", "model = \"nowhere\""), "nowhere");
    refused(&near("text", "x", "at_least = 0.5"), "model");
    refused("{ similar = { to = \"x\", model = \"sample\" } }", "needs by = \"embedding\"");
    refused("{ similar = { to = \"x\", by = \"magic\" } }", "unknown way to compare texts `magic`");
    assert_eq!(program.session_files().len(), 0);
}

/// An answer of each protocol for an embedding request; texts with `30` are near each other.
fn embedding(request: &Received) -> Play {
    let vector = if request.body.contains("30") { json!([0.6, 0.8, 0.0]) } else { json!([0.0, 0.0, 2.0]) };
    let path = request.head.split_whitespace().nth(1).unwrap_or_default();
    let body = match path {
        path if path.ends_with("/embeddings") => {
            json!({ "object": "list", "data": [{ "object": "embedding", "index": 0, "embedding": vector }], "usage": { "prompt_tokens": 7 } })
        }
        path if path.ends_with(":embedContent") => json!({ "embedding": { "values": vector } }),
        path if path.ends_with("/api/embed") => json!({ "embeddings": [vector], "prompt_eval_count": 7 }),
        _ => return Play::json("404 Not Found", "{}"),
    };
    Play::json("200 OK", body.to_string())
}

fn config(server: &Server, kind: &str) -> Config {
    let root = server.base_url.trim_end_matches("/v1");
    let url = if kind == "openai" { server.base_url.as_str() } else { root };
    let toml = format!(
        "[providers.local]\nkind = \"{kind}\"\nbase_url = \"{url}\"\n[models.near]\nprovider = \"local\"\nid = \"embed-1\"\n\
         price = {{ input = 1000000.0, output = 0.0 }}\n"
    );
    Config::from_toml(&toml, "config.toml", &|_| None).unwrap()
}

#[tokio::test]
async fn each_protocol_is_asked_once_for_each_text_and_its_cost_is_counted() {
    for (kind, counted) in [("openai", true), ("gemini", false), ("ollama", true)] {
        let server = Server::script(|_, request| embedding(request)).await;
        let dir = tempfile::tempdir().unwrap();
        let toml = agent(&near("text", "Give it back in 30 days", "model = \"near\""));
        let state = ran(&workbench(config(&server, kind), dir.path()), &spec("a", &toml, &[], 3), 2).await;
        let trials = trials(&state);
        assert!(trials.len() == 3 && trials.iter().all(|trial| trial.passed), "{kind}: {trials:?}");
        let received = server.received();
        assert_eq!(received.len(), 2, "{kind}: the expected text and the answer, which is the same in each trial");
        for text in ["Give it back in 30 days", "Returns are possible within 30 days"] {
            assert_eq!(received.iter().filter(|request| request.body.contains(text)).count(), 1, "{kind}");
        }
        // The model is named where the protocol has it.
        let named = received.iter().all(|request| (request.head.clone() + &request.body).contains("embed-1"));
        assert!(named, "{kind}: {}", received[0].head);
        let judges = state.judges().unwrap();
        let cost = if counted { 14.0 } else { 0.0 };
        assert_eq!((judges.votes, judges.cost, state.spent()), (3, cost, cost), "{kind}");
        let known = read_rulings(dir.path(), &trials[0].session).unwrap();
        assert!((known[0].ruling.score - 1.0).abs() < 1e-6 && known[0].ruling.answer_sha.is_some(), "{known:?}");
    }
}

#[tokio::test]
async fn a_failure_that_passes_is_tried_again_and_another_makes_the_trial_an_error() {
    let server = Server::script(|number, request| match number {
        0 => Play::page("429 Too Many Requests", "retry-after: 0\r\n", "{}"),
        _ => embedding(request),
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let toml = agent(&near("text", "30 days", "model = \"near\""));
    let state = ran(&workbench(config(&server, "openai"), dir.path()), &spec("a", &toml, &[], 1), 1).await;
    assert_eq!((state.done(), state.failed(), server.received().len()), (1, 0, 3));
    let server = Server::script(|_, _| Play::json("200 OK", "{\"data\":[]}")).await;
    let state = ran(&workbench(config(&server, "openai"), dir.path()), &spec("a", &toml, &[], 1), 1).await;
    let why: Vec<&String> = state.untried().values().collect();
    assert!(why.len() == 1 && why[0].contains("not with an embedding; is embed-1 an embedding model?"), "{why:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_needs_no_provider() {
    let server = Server::script(|_, request| embedding(request)).await;
    let program = Program::new();
    let toml = format!(
        "[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n[models.near]\nprovider = \"local\"\nid = \"embed-1\"\n",
        server.base_url
    );
    program.file("config.toml", toml);
    program.file("a.toml", agent(&near("text", "Give it back in 30 days", "model = \"near\"")));
    let program = tokio::task::spawn_blocking(move || {
        program.run(["--config", "config.toml", "test", "a.toml"]).exits(0);
        let made = [
            "--config",
            "config.toml",
            "sessions",
            "case",
            "last",
            "--agent",
            "a.toml",
            "--name",
            "recorded",
            "--cassette",
        ];
        program.run(made).exits(0);
        program
    })
    .await
    .unwrap();
    let asked = server.received().len();
    drop(server);
    // The case expects what the first one does.
    let text = std::fs::read_to_string(program.dir().join("a.toml")).unwrap();
    let expect = near("text", "Give it back in 30 days", "model = \"near\"");
    let text = text.replace("cassette =", &format!("expect = {expect}\ncassette ="));
    program.file("a.toml", text);
    std::fs::remove_dir_all(program.sessions_dir()).unwrap();
    let done = program.run(["--config", "config.toml", "test", "a.toml", "--filter", "recorded"]);
    assert!(done.exits(0).stdout.contains("recorded  replayed"), "{}", done.stdout);
    assert_eq!(asked, 2);
}
