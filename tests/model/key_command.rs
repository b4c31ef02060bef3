//! Keys from a command: when it runs, when its key is used again, and that its output is never reported.

use std::path::Path;

use ptc_workbench::config::{KeyCommand, KeySource};
use ptc_workbench::model::{Adapter, ErrorClass, listed};

use super::ask;
use super::kit::{ALL, Kit};
use crate::cli::program::Program;
use crate::openai::request;
use crate::openai::server::{Play, Server, answer};

/// A command that prints `NAME-n-Kw83jdLq0s` at its n-th run.
fn counting(dir: &Path, name: &str) -> Vec<String> {
    let runs = dir.join("runs");
    let script = format!("echo run >> '{0}'; echo {name}-$(grep -c run '{0}')-Kw83jdLq0s", runs.display());
    ["/bin/sh", "-c", &script].map(String::from).to_vec()
}

fn runs(dir: &Path) -> usize {
    std::fs::read_to_string(dir.join("runs")).unwrap_or_default().lines().count()
}

fn model(kit: Kit, server: &Server, argv: Vec<String>, ttl_s: Option<u64>) -> Adapter {
    let mut endpoint = kit.endpoint(server);
    endpoint.key = Some(KeySource::Command(KeyCommand { argv, ttl_s }));
    Adapter::new(endpoint).unwrap()
}

#[tokio::test]
async fn a_key_is_fetched_once_and_again_after_a_refusal() {
    for kit in ALL {
        let dir = tempfile::tempdir().unwrap();
        let refused = Play::json("401 Unauthorized", kit.error("authentication_error", "expired").to_string());
        let server = Server::play([kit.answer("one"), kit.answer("two"), refused, kit.answer("three")]).await;
        let argv = counting(dir.path(), "first");
        let model = model(kit, &server, argv, None);
        model.check_key().unwrap();
        assert_eq!(runs(dir.path()), 0, "a check runs nothing");
        for expected in ["one", "two", "three"] {
            let asked = ask(kit, &server, &model, &request("hi")).await;
            assert_eq!(asked.reply().text, expected, "{kit:?}");
            assert!(!asked.everything().contains("Kw83jdLq0s"), "{kit:?}: {}", asked.everything());
            if expected == "three" {
                let notices = asked.notices();
                assert!(
                    notices[0].contains("refused the key (401): api_key_command /bin/sh runs again"),
                    "{notices:?}"
                );
            }
        }
        let sent: Vec<bool> =
            server.received().iter().map(|received| received.head.contains("first-1-Kw83jdLq0s")).collect();
        assert_eq!(sent, [true, true, true, false], "{kit:?}");
        assert!(server.received()[3].head.contains("first-2-Kw83jdLq0s"), "{kit:?}");
        assert_eq!(runs(dir.path()), 2, "{kit:?}");
    }
}

#[tokio::test]
async fn a_second_refusal_is_the_error() {
    let kit = ALL[0];
    let dir = tempfile::tempdir().unwrap();
    let echo = |key: &str| Play::json("403 Forbidden", format!(r#"{{"error":{{"message":"no rights for {key}"}}}}"#));
    let server = Server::script(move |_, received| echo(&received.header("authorization"))).await;
    let model = model(kit, &server, counting(dir.path(), "second"), None);
    let asked = ask(kit, &server, &model, &request("hi")).await;
    let error = asked.error();
    assert_eq!((error.class, error.status, server.received().len()), (ErrorClass::Auth, Some(403), 2));
    assert!(error.message.contains("no rights for Bearer [secret]"), "{}", error.message);
    assert!(!asked.everything().contains("Kw83jdLq0s"), "{}", asked.everything());
    assert_eq!(runs(dir.path()), 2);
}

#[tokio::test]
async fn a_list_of_models_renews_the_key_once() {
    let dir = tempfile::tempdir().unwrap();
    let list = Play::json("200 OK", r#"{"data":[{"id":"m-1"}]}"#);
    let server = Server::play([Play::json("401 Unauthorized", "{}"), list]).await;
    let mut endpoint = ALL[0].endpoint(&server);
    let argv = counting(dir.path(), "listed");
    endpoint.key = Some(KeySource::Command(KeyCommand { argv, ttl_s: None }));
    assert_eq!(listed(&endpoint).await.unwrap(), ["m-1"]);
    assert_eq!(runs(dir.path()), 2);
}

#[tokio::test]
async fn a_key_is_fetched_again_after_its_time() {
    let kit = ALL[0];
    let dir = tempfile::tempdir().unwrap();
    let server = Server::play([kit.answer("ok")]).await;
    let model = model(kit, &server, counting(dir.path(), "timed"), Some(600));
    for (seconds, expected) in [(0, 1), (599, 1), (2, 2), (10, 2)] {
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
        tokio::time::resume();
        ask(kit, &server, &model, &request("hi")).await.reply();
        assert_eq!(runs(dir.path()), expected, "after {seconds} s more");
    }
}

#[tokio::test]
async fn a_command_that_gives_no_key_is_described_without_its_output() {
    let kit = ALL[0];
    let server = Server::play([kit.answer("ok")]).await;
    let long = "head -c 70000 /dev/zero | tr '\\0' x; echo hidden";
    let cases = [
        (
            vec!["/bin/sh", "-c", "echo hidden; echo hidden >&2; exit 3"],
            "api_key_command /bin/sh ended with exit status: 3",
        ),
        (vec!["/bin/sh", "-c", "echo hidden words"], "api_key_command /bin/sh printed more than one word"),
        (vec!["/bin/sh", "-c", "echo"], "api_key_command /bin/sh printed nothing"),
        (vec!["/bin/sh", "-c", long], "api_key_command /bin/sh printed more than 65536 bytes"),
        (vec!["/no/such/hidden-program"], "api_key_command /no/such/hidden-program could not be started"),
    ];
    for (argv, words) in cases {
        let program = argv[0];
        let model = model(kit, &server, argv.iter().map(|word| (*word).to_owned()).collect(), None);
        let asked = ask(kit, &server, &model, &request("hi")).await;
        let error = asked.error();
        assert_eq!(error.class, ErrorClass::Auth, "{words}");
        assert!(error.message.contains(words), "{words}: {}", error.message);
        let advice = format!("run {program} in a terminal, with the arguments of api_key_command");
        assert_eq!(error.hint.as_deref(), Some(advice.as_str()));
        assert!(!asked.everything().replace("hidden-program", "").contains("hidden"), "{}", asked.everything());
    }
    assert_eq!(server.received().len(), 0, "nothing was sent");
}

#[tokio::test]
async fn a_command_that_hangs_is_stopped_with_what_it_started() {
    let kit = ALL[0];
    let dir = tempfile::tempdir().unwrap();
    let server = Server::play([kit.answer("ok")]).await;
    let pid = dir.path().join("pid");
    let script = format!("sleep 1000 & echo $! > '{0}.new'; mv '{0}.new' '{0}'; wait", pid.display());
    let model = model(kit, &server, ["/bin/sh", "-c", &script].map(String::from).to_vec(), None);
    let cancel = tokio_util::sync::CancellationToken::new();
    let stop = async {
        while !pid.exists() {
            tokio::time::sleep(crate::POLL).await;
        }
        cancel.cancel();
    };
    let request = request("hi");
    let (asked, ()) = futures::join!(crate::openai::hear(&model, &request, cancel.clone()), stop);
    assert_eq!(asked.error().class, ErrorClass::Cancelled);
    let pid = std::fs::read_to_string(pid).unwrap();
    let is_gone = || {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        status.is_err() || status.is_ok_and(|status| status.contains(") Z "))
    };
    crate::cli::program::wait_for("the end of the process", || is_gone().then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_runs_the_command_for_a_request_only_and_keeps_its_key_to_itself() {
    let server =
        Server::script(|_, received| answer(&format!(r#"{{\"text\": \"{}\"}}"#, received.header("authorization"))))
            .await;
    let program = Program::new();
    let argv = counting(program.dir(), "program");
    let argv: Vec<String> = argv.iter().map(|word| format!("{word:?}")).collect();
    let config = format!(
        "[providers.mine]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key_command = [{}]\napi_key_ttl_s = 600\n",
        server.base_url,
        argv.join(", ")
    );
    program.file("config.toml", config);
    program.file("a.toml", "name = \"a\"\nmode = \"text\"\nmodel = \"mine:m\"\nprompt = \"Hi\"\n");
    let run = |arguments: &[&str]| {
        tokio::task::block_in_place(|| program.run(["--config", "config.toml"].iter().chain(arguments)))
    };
    for looked in [&["doctor"][..], &["models"], &["audit", "config.toml"], &["prompt", "a.toml"]] {
        let done = run(looked);
        assert_eq!(runs(program.dir()), 0, "{looked:?}: {}{}", done.stdout, done.stderr);
    }
    let done = run(&["run", "a.toml"]);
    done.exits(0);
    assert_eq!(runs(program.dir()), 1, "{}", done.reported());
    let session = std::fs::read_to_string(program.session_file()).unwrap();
    for text in [session, done.stdout, done.stderr] {
        assert!(!text.contains("Kw83jdLq0s"), "{text}");
    }
    assert!(server.received().iter().any(|received| received.head.contains("program-1-Kw83jdLq0s")));
}
