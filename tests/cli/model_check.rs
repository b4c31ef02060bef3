//! `models check` as a command: it asks first, prints a table or JSON, and stores the result for later runs.

use serde_json::json;

use super::program::{Done, Program};
use crate::openai::server::{Play, Server, answer};

/// A server that refuses schemas and answers everything else with one JSON object.
async fn server() -> Server {
    Server::script(|_, received| {
        if received.body.contains("json_schema") {
            let error = json!({"error": {"message": "response_format json_schema is not supported"}});
            return Play::json("400 Bad Request", error.to_string());
        }
        if received.body.contains("\"stream\":true") {
            return answer(r#"{"sentiment":"positive","score":9}"#);
        }
        let message = json!({"role": "assistant", "content": "ready \u{1b}[31mred"});
        let whole = json!({"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 7}});
        Play::json("200 OK", whole.to_string())
    })
    .await
}

fn program(server: &Server) -> Program {
    let program = Program::new();
    let key = "api_key_env = \"MINE_KEY\"\n";
    let provider =
        format!("[providers.mine]\nkind = \"openai\"\nbase_url = \"{}?tenant=acme\"\n{key}", server.base_url);
    let model = "[models.small]\nprovider = \"mine\"\nid = \"m\"\nprice = { input = 1, output = 10 }\n";
    program.file("config.toml", format!("[retry]\nmax_attempts = 1\n{provider}{model}"));
    program.with_env("MINE_KEY", "sk-0123456789abcdef")
}

/// Runs the program next to the server, with this text on stdin.
async fn run(program: Program, arguments: &'static [&'static str], stdin: &'static str) -> (Program, Done) {
    let call = move || {
        let done = program.fed(["--config", "config.toml"].into_iter().chain(arguments.iter().copied()), stdin);
        (program, done)
    };
    tokio::task::spawn_blocking(call).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_before_the_user_agreed() {
    let server = server().await;
    let (program, done) = run(program(&server), &["models", "check", "small"], "").await;
    done.exits(2).reports("--yes");
    // The estimate comes first, with the price of the model.
    done.reports("12 requests, about ").reports(" at most; a refused request is sent again");
    let (_, done) = run(program, &["models", "check", "small"], "n\n").await;
    done.exits(130);
    assert!(server.received().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_is_a_table_and_later_runs_begin_with_it() {
    let server = server().await;
    let (program, done) = run(program(&server), &["models", "check", "small"], "y\n").await;
    let output = done.exits(0).stdout.clone();
    assert!(output.contains("✓ text ") && output.contains("✓ schema ") && output.contains("✗ tools "), "{output}");
    assert!(output.contains("structured output by tool"), "{output}");
    assert!(output.contains("refuses structured output by json_schema"), "{output}");
    assert!(!output.contains('\x1b'), "text of the server is made safe: {output}");
    done.reports("catalog.toml; later requests to this model use it");
    let path = done.stderr.split("stored in ").nth(1).unwrap().split(';').next().unwrap().to_owned();
    let stored = std::fs::read_to_string(program.dir().join(path)).unwrap();
    assert!(stored.contains("structured_output = \"tool\""), "{stored}");
    for secret in ["0123456789", "tenant", "ready"] {
        assert!(!stored.contains(secret) && !done.stderr.contains("0123456789"), "{secret}: {stored}");
    }
    let before = server.received().len();
    let source =
        ["run", "--prompt", "json please", "--signature", "() -> {sentiment :string, score :int}", "--model", "small"];
    let arguments: &'static [&'static str] = Vec::leak(source.to_vec());
    let (program, done) = run(program, arguments, "").await;
    done.exits(0);
    assert_eq!(server.received().len(), before + 1, "no request is refused any more");
    let (_, done) = run(program, &["models"], "").await;
    let listed = done.exits(0).stdout.clone();
    let line = listed.lines().find(|line| line.contains(" small ")).unwrap();
    assert!(line.contains("; checked 20"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_is_there_as_json() {
    let server = server().await;
    let (_, done) = run(program(&server), &["models", "check", "mine:m", "--yes", "--json"], "").await;
    let report = done.exits(0).json();
    assert_eq!((&report["provider"], &report["id"], &report["kind"]), (&json!("mine"), &json!("m"), &json!("openai")));
    assert_eq!(report["structured_output"], "tool");
    let text = &report["abilities"][0];
    assert_eq!((&text["name"], &text["ability"]), (&json!("text"), &json!("yes")));
    assert_eq!(report["requests"], server.received().len());
    assert!(report["catalogue"].as_str().unwrap().ends_with("catalog.toml"));
    let page = include_str!("../../docs/structured-output.md");
    for key in report.as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{key}`")), "{key} is not on the page");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_be_asked_is_an_error() {
    let server = Server::play([Play::json("404 Not Found", "{\"error\":{\"message\":\"no such model\"}}")]).await;
    let (program, done) = run(program(&server), &["models", "check", "mine:m", "--yes"], "").await;
    done.exits(1).reports("mine:m does not reply to a simple request: ");
    let (_, done) = run(program, &["models", "check", "demo", "--yes"], "").await;
    done.exits(2).reports("`demo` is built in");
}
