//! Files as inputs, from the agent file or the command line to the request, the session, and what is made from it.

use std::path::PathBuf;

use ptc_workbench::event::{Event, FileRecord, MessagePart, hex_sha};
use serde_json::{Value, json};

use super::program::{Done, Program};
use crate::openai::server::{Server, answer};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe picture";

const AGENT: &str = "mode = \"text\"\nmodel = \"mine:m\"\nprompt = \"What is on {{photo}}?\"\n\
                     signature = \"(photo :file) -> :string\"\n[context]\nphoto = { file = \"pictures/a.png\" }\n";

fn program(server: &Server) -> Program {
    let program = Program::new();
    let provider = format!("[providers.mine]\nkind = \"openai\"\nbase_url = \"{}\"\n", server.base_url);
    program.file("config.toml", format!("[retry]\nmax_attempts = 1\n{provider}"));
    program.file("agent.toml", AGENT);
    std::fs::create_dir(program.dir().join("pictures")).unwrap();
    program.file("pictures/a.png", PNG);
    program
}

/// Runs the program next to the server.
async fn run(program: Program, arguments: &[&str]) -> (Program, Done) {
    let arguments: Vec<String> = ["--config", "config.toml"].iter().chain(arguments).map(ToString::to_string).collect();
    let call = move || {
        let done = program.run(arguments);
        (program, done)
    };
    tokio::task::spawn_blocking(call).await.unwrap()
}

fn stored(program: &Program) -> PathBuf {
    program.sessions_dir().join("files").join(hex_sha(PNG))
}

/// The content of the user's message in the last request of the server.
fn sent(server: &Server) -> Value {
    let body = server.received().last().unwrap().json();
    body["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

fn assert_has_picture(content: &Value) {
    let url = "data:image/png;base64,iVBORw0KGgp0aGUgcGljdHVyZQ==";
    assert_eq!(content[0], json!({"type": "image_url", "image_url": {"url": url}}), "{content}");
    assert!(content[1]["text"].as_str().unwrap().contains("What is on a.png (image/png, 19 bytes)?"), "{content}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_agent_is_sent_and_the_session_holds_its_hash_and_not_its_bytes() {
    let server = Server::play([answer("a lamp")]).await;
    let (program, done) = run(program(&server), &["run", "agent.toml", "--json"]).await;
    assert_eq!(done.exits(0).json()["return"], "a lamp");
    assert_has_picture(&sent(&server));
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    assert!(!text.contains("iVBORw0KGgp0aGU") && text.contains(&hex_sha(PNG)), "{text}");
    let session = program.session();
    let record = FileRecord {
        name: "a.png".into(),
        media_type: "image/png".into(),
        size: PNG.len() as u64,
        sha256: hex_sha(PNG),
    };
    let files: Vec<FileRecord> = session
        .events()
        .flat_map(|envelope| match envelope.event {
            Event::RunStart(start) => FileRecord::all_in(&start.context.json()),
            Event::MessageAdded(message) => message
                .parts
                .into_iter()
                .filter_map(|part| if let MessagePart::File { file } = part { Some(file) } else { None })
                .collect(),
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(files, [record.clone(), record]);
    assert_eq!(std::fs::read(stored(&program)).unwrap(), PNG);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(stored(&program).metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    // The session replays, is verified with the bodies of its requests, and gives the exact body again.
    program.run(["replay", "last", "--check"]).exits(0);
    program.run(["sessions", "verify", "last"]).exits(0);
    let body = program.run(["sessions", "show", "last", "--body", "r0/t1"]).exits(0).stdout.clone();
    assert_eq!(body.trim_end(), server.received()[0].body);
    // A second run stores the same bytes once.
    let (program, done) = run(program, &["run", "agent.toml"]).await;
    done.exits(0);
    assert_eq!(std::fs::read_dir(program.sessions_dir().join("files")).unwrap().count(), 1);
    std::fs::write(stored(&program), "another picture").unwrap();
    program.run(["sessions", "verify", "last"]).exits(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_from_a_session_has_its_files() {
    let server = Server::play([answer("a lamp")]).await;
    let (program, done) = run(program(&server), &["run", "agent.toml"]).await;
    done.exits(0);
    std::fs::remove_file(program.dir().join("pictures/a.png")).unwrap();
    let (program, done) = run(program, &["rerun", "last"]).await;
    done.exits(0);
    assert_has_picture(&sent(&server));
    // The bundle carries the bytes; a re-run of the session in it sends them, and stores them with the new session.
    program.run(["sessions", "export", "last", "--format", "bundle", "-o", "bundle"]).exits(0);
    assert_eq!(std::fs::read(program.dir().join("bundle/files").join(hex_sha(PNG))).unwrap(), PNG);
    std::fs::remove_dir_all(program.sessions_dir()).unwrap();
    let inside = std::fs::read_dir(program.dir().join("bundle")).unwrap().map(|entry| entry.unwrap().path());
    let file = inside.into_iter().find(|path| path.extension().is_some_and(|ext| ext == "jsonl")).unwrap();
    let (program, done) = run(program, &["rerun", file.to_str().unwrap()]).await;
    done.exits(0);
    assert_has_picture(&sent(&server));
    assert_eq!(std::fs::read(stored(&program)).unwrap(), PNG);
    // Redaction of the context removes the file.
    program.run(["sessions", "export", "last", "--format", "bundle", "-o", "shared", "--redact", "context"]).exits(0);
    assert!(!program.dir().join("shared/files").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_the_command_line_is_read_from_where_the_user_is() {
    let server = Server::play([answer("a lamp")]).await;
    let program = program(&server);
    program.file("elsewhere.png", [PNG, b"2"].concat());
    let (program, done) = run(program, &["run", "agent.toml", "--set", "photo=@elsewhere.png"]).await;
    done.exits(0);
    assert!(sent(&server)[1]["text"].as_str().unwrap().contains("elsewhere.png (image/png, 20 bytes)"));
    program.file("empty.bin", b"\x00\xff");
    let (program, done) = run(program, &["run", "agent.toml", "--set", "photo=@empty.bin"]).await;
    done.exits(2).reports("its type is unknown; supported: image/png, image/jpeg");
    let (program, done) = run(program, &["run", "agent.toml", "--set", "photo=@missing.png"]).await;
    done.exits(2).reports("--set photo: missing.png: ");
    assert_eq!(server.received().len(), 1);
    // The file that it replaces is not needed.
    std::fs::remove_file(program.dir().join("pictures/a.png")).unwrap();
    let (program, done) = run(program, &["run", "agent.toml", "--set", "photo=@elsewhere.png"]).await;
    done.exits(0);
    let (program, done) =
        run(program, &["run", "agent.toml", "--context", r#"{"photo":{"file":"elsewhere.png"}}"#]).await;
    done.exits(0);
    program.file("pipeline.toml", "[[steps]]\nfile = \"agent.toml\"\n");
    let (program, done) = run(program, &["run", "pipeline.toml", "--set", "photo=@elsewhere.png"]).await;
    done.exits(0);
    let (program, done) = run(program, &["run", "pipeline.toml"]).await;
    done.exits(2).reports("`context.photo` names the file pictures/a.png, which cannot be read");
    let (_, done) = run(program, &["run", "agent.toml"]).await;
    done.exits(2).reports("`context.photo` names the file pictures/a.png, which cannot be read");
    assert_eq!(server.received().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_names_files_of_its_own_folder_only_and_no_key() {
    let server = Server::play([answer("a lamp")]).await;
    let program = program(&server);
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("b.png"), PNG).unwrap();
    let outside = AGENT.replace("pictures/a.png", other.path().join("b.png").to_str().unwrap());
    program.file("outside.toml", outside);
    let (program, done) = run(program, &["run", "outside.toml"]).await;
    done.exits(2).reports("`context.photo` names the file").reports("--allow-files");
    // Nothing is read where the parameter is no file.
    program.file(
        "map.toml",
        AGENT.replace(":file", ":map").replace("{{photo}}", "{{photo.file}}").replace("a.png", "missing.png"),
    );
    let (program, done) = run(program, &["run", "map.toml"]).await;
    done.exits(0);
    assert_eq!(server.received().len(), 1);
    let program = program.with_env("OTHER_KEY", "sk-0123456789abcdef");
    let config = std::fs::read_to_string(program.dir().join("config.toml")).unwrap();
    let keyed =
        "[providers.other]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"OTHER_KEY\"\n";
    program.file("config.toml", config + keyed);
    program.file("pictures/a.png", [PNG, b" sk-0123456789abcdef"].concat());
    let (program, done) = run(program, &["run", "agent.toml"]).await;
    assert_ne!(done.code, Some(0));
    done.reports("the file a.png contains the key of a provider");
    assert!(!done.stderr.contains("0123456789") && !program.sessions_dir().join("files").exists());
    assert_eq!(server.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_sees_name_type_and_size() {
    let server =
        Server::play([answer("```clojure\n(return (str (:type data/photo) \" \" (:size data/photo)))\n```")]).await;
    let program = program(&server);
    program.file("lisp.toml", AGENT.replace("mode = \"text\"", "mode = \"ptc_lisp\""));
    let (_, done) = run(program, &["run", "lisp.toml", "--json"]).await;
    assert_eq!(done.exits(0).json()["return"], "image/png 19");
    assert!(sent(&server)[0]["image_url"].is_object());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_has_the_body_that_a_run_sends() {
    let server = Server::play([answer("a lamp")]).await;
    let (program, done) = run(program(&server), &["prompt", "agent.toml"]).await;
    let shown = done.exits(0).json();
    assert_eq!(
        shown["request"]["messages"][1]["files"],
        json!([{"name": "a.png", "type": "image/png", "size": PNG.len(), "sha256": hex_sha(PNG)}])
    );
    let (program, done) = run(program, &["run", "agent.toml"]).await;
    done.exits(0);
    assert_eq!(shown["body"]["messages"], server.received()[0].json()["messages"]);
    // Also of a file that the user names; an optional one that is absent is not sent.
    program.file("b.png", PNG);
    let (program, done) = run(program, &["prompt", "agent.toml", "--set", "photo=@b.png"]).await;
    assert_has_picture_named(&done.exits(0).json()["body"]["messages"][1]["content"], "b.png");
    program.file(
        "optional.toml",
        "mode = \"json\"\nmodel = \"mine:m\"\nprompt = \"go\"\nsignature = \"(photo :file?) -> :string\"\n",
    );
    let (program, done) = run(program, &["prompt", "optional.toml"]).await;
    assert_eq!(done.exits(0).json()["inputs"], json!({"photo": "nowhere"}));
    let (_, done) = run(program, &["prompt", "optional.toml", "--set", "photo=@b.png"]).await;
    assert_eq!(done.exits(0).json()["inputs"], json!({"photo": "file"}));
}

fn assert_has_picture_named(content: &Value, name: &str) {
    assert!(content[0]["image_url"]["url"].as_str().unwrap().starts_with("data:image/png;base64,"), "{content}");
    assert!(content[1]["text"].as_str().unwrap().contains(name), "{content}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_with_files_are_tested_and_compared() {
    let server = Server::play((0..6).map(|_| answer("a lamp"))).await;
    let program = program(&server);
    program.file("pictures/b.png", [PNG, b"2"].concat());
    let cases = "cases = [\"c.csv\", { name = \"own\" }, { name = \"inline\", context = { photo = { file = \"pictures/b.png\" } } }]\n";
    program.file("c.csv", "name,context.photo\nrow,pictures/b.png\n");
    program.file("cases.toml", format!("{cases}{AGENT}"));
    let (program, done) = run(program, &["test", "cases.toml", "--jobs", "1"]).await;
    assert!(done.exits(0).stdout.contains("3 cases: 3 passed, 0 failed, 0 errors"), "{}", done.stdout);
    // A stopped matrix is resumed without the files of the agent.
    let (program, done) =
        run(program, &["compare", "cases.toml", "--modes", "text", "--jobs", "1", "--max-cost", "0"]).await;
    done.exits(1);
    std::fs::remove_dir_all(program.dir().join("pictures")).unwrap();
    assert_eq!(server.received().len(), 3);
    let (_, done) = run(program, &["compare", "--resume", "last", "--jobs", "1", "--json"]).await;
    let matrix = done.exits(0).json();
    let passed: Vec<&Value> = matrix["cells"].as_array().unwrap().iter().map(|cell| &cell["passed"]).collect();
    assert_eq!(passed, [1, 1, 1], "{}", done.stderr);
    let bodies: Vec<String> = server.received().iter().map(|received| received.body.clone()).collect();
    assert_eq!(bodies.len(), 6);
    assert!(bodies.iter().all(|body| body.contains("data:image/png;base64,")), "{bodies:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_case_of_a_session_names_its_file_next_to_the_agent() {
    let server = Server::play([answer("a lamp"), answer("a chair"), answer("a chair")]).await;
    let (program, done) = run(program(&server), &["run", "agent.toml"]).await;
    done.exits(0);
    program.run(["sessions", "case", "last", "--agent", "agent.toml", "--name", "own"]).exits(0);
    let text = || std::fs::read_to_string(program.dir().join("agent.toml")).unwrap();
    assert!(text().contains("context = { photo = { file = \"pictures/a.png\" } }"), "{}", text());
    // One that is not in the folder of the agent is copied there.
    let other = tempfile::tempdir().unwrap();
    let chair = other.path().join("chair.png");
    std::fs::write(&chair, [PNG, b"2"].concat()).unwrap();
    let set = format!("photo=@{}", chair.display());
    let (program, done) = run(program, &["run", "agent.toml", "--set", &set]).await;
    done.exits(0);
    program.run(["sessions", "case", "last", "--agent", "agent.toml", "--name", "other"]).exits(0);
    let text = std::fs::read_to_string(program.dir().join("agent.toml")).unwrap();
    assert!(text.contains("context = { photo = { file = \"chair.png\" } }") && !text.contains("sha256"), "{text}");
    assert_eq!(std::fs::read(program.dir().join("chair.png")).unwrap(), [PNG, b"2"].concat());
    // A machine without the sessions can test it.
    std::fs::remove_dir_all(program.sessions_dir()).unwrap();
    let (_, done) = run(program, &["test", "agent.toml", "--filter", "other"]).await;
    done.exits(0);
    assert_has_picture_named(&sent(&server), "chair.png");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_of_the_command_line_and_a_fork_take_files() {
    let server = Server::play([answer("a lamp"), answer("a chair")]).await;
    let program = program(&server);
    program.file("b.png", [PNG, b"2"].concat());
    let (program, done) = run(program, &["run", "agent.toml", "--context", r#"{"photo": {"file": "b.png"}}"#]).await;
    done.exits(0);
    assert_has_picture_named(&sent(&server), "b.png (image/png, 20 bytes)");
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("c.png"), PNG).unwrap();
    let outside = json!({"photo": {"file": other.path().join("c.png")}}).to_string();
    let (program, done) = run(program, &["run", "agent.toml", "--context", &outside]).await;
    done.exits(2).reports("--context: `context.photo` names the file").reports("--allow-files");
    program.file("d.png", [PNG, b"33"].concat());
    let (program, done) = run(program, &["fork", "last", "--at", "r0/t1", "--set", "photo=@d.png"]).await;
    done.exits(0);
    assert_has_picture_named(&sent(&server), "d.png (image/png, 21 bytes)");
    assert_eq!(server.received().len(), 2);
    program.run(["replay", "last", "--check"]).exits(0);
}

#[test]
fn an_agent_that_needs_a_file_is_not_served() {
    let program = Program::new();
    program.file("agent.toml", AGENT.replace("mine:m", "sample"));
    std::fs::create_dir(program.dir().join("pictures")).unwrap();
    program.file("pictures/a.png", PNG);
    let words = "agent.toml: it needs the file `photo`, and clients cannot give files; declare it as `photo :file?`";
    program.run(["serve", "agent.toml", "--port", "0"]).exits(2).reports(words);
    program.run(["mcp", "--agent", "agent.toml"]).exits(2).reports(words);
}
