//! Proxies of the environment, through the real program: who is asked for what, and that no password of a proxy is shown.
//!
//! The proxy is the test's own server. `models.invalid` does not exist: it is reached through the proxy only. 0.0.0.0 is this
//! machine by a name that is none of loopback's, so that it can be asked with and without proxy.

use crate::cli::program::{Done, Program};
use crate::openai::server::{Play, Received, Server, answer};

const PASSWORD: &str = "pass-word-of-the-proxy";
/// `me:pass-word-of-the-proxy` as it is sent.
const SENT: &str = "bWU6cGFzcy13b3JkLW9mLXRoZS1wcm94eQ==";

/// Runs the program with a provider at `base_url`, in an environment where `{proxy}` is the proxy with name and password. Searches all of
/// the program's output for the password.
async fn ran(server: &Server, base_url: String, variables: &[(&str, &str)]) -> Done {
    let proxy = server.base_url.replace("http://", "").replace("/v1", "");
    let filled =
        |value: &str| value.replace("{proxy}", &format!("http://me:{PASSWORD}@{proxy}")).replace("{at}", &proxy);
    let variables: Vec<(String, String)> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), filled(value))).collect();
    let base_url = filled(&base_url);
    let work = tokio::task::spawn_blocking(move || {
        let program = Program::new().with_env("RUST_LOG", "trace");
        let program = variables.iter().fold(program, |program, (name, value)| program.with_env(name, value));
        let text =
            format!("[providers.far]\nkind = \"openai\"\nbase_url = \"{base_url}\"\n[retry]\nmax_attempts = 1\n");
        program.file("config.toml", text);
        let shared = ["--config", "config.toml", "--log", "log.txt"];
        let asked = ["run", "--prompt", "hi", "--signature", "() -> :string", "--model", "far:m", "--json"];
        let done = program.run(shared.into_iter().chain(asked));
        let others = [&["doctor"][..], &["models", "far"]]
            .map(|others| program.run(shared.into_iter().chain(others.iter().copied())));
        let mut everything = vec![std::fs::read_to_string(program.dir().join("log.txt")).unwrap()];
        everything.extend(program.session_files().iter().map(|file| std::fs::read_to_string(file).unwrap()));
        everything.extend([&done].into_iter().chain(&others).map(|done| format!("{}{}", done.stdout, done.stderr)));
        for text in everything {
            assert!(!text.contains(PASSWORD) && !text.contains(SENT), "{text}");
        }
        done
    });
    work.await.unwrap()
}

fn first_line(received: &Received) -> String {
    received.head.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_asked_through_the_proxy_of_its_scheme() {
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        let proxy = Server::play([answer("\"through it\"")]).await;
        let done = ran(&proxy, "http://models.invalid/v1".to_owned(), &[(name, "{proxy}")]).await;
        assert_eq!(done.exits(0).json()["return"], "through it", "{name}");
        let asked = &proxy.received()[0];
        assert_eq!(first_line(asked), "POST http://models.invalid/v1/chat/completions HTTP/1.1", "{name}");
        assert_eq!(asked.header("proxy-authorization"), format!("Basic {SENT}"), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secure_address_is_asked_for_as_a_tunnel_and_its_refusal_names_the_variable() {
    let proxy =
        Server::play([Play::page("407 Proxy Authentication Required", "", format!("not you, me:{PASSWORD}"))]).await;
    let done = ran(&proxy, "https://models.invalid/v1".to_owned(), &[("HTTPS_PROXY", "{proxy}")]).await;
    let fail = done.exits(1).json()["fail"].clone();
    assert_eq!(first_line(&proxy.received()[0]), "CONNECT models.invalid:443 HTTP/1.1");
    assert_eq!(fail["reason"], "llm_error", "{fail}");
    assert!(fail.to_string().contains("a proxy is set in HTTPS_PROXY"), "{fail}");
}

/// Address, variables, and how the request begins that the server got.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

#[tokio::test(flavor = "multi_thread")]
async fn no_proxy_and_this_machine_are_reached_directly() {
    let cases: [Case<'_>; 4] = [
        ("http://0.0.0.0:{port}/v1", &[("HTTP_PROXY", "{proxy}")], "POST http://0.0.0.0:"),
        ("http://0.0.0.0:{port}/v1", &[("HTTP_PROXY", "{proxy}"), ("NO_PROXY", "other.example, 0.0.0.0")], "POST /v1/"),
        ("http://127.0.0.1:{port}/v1", &[("HTTP_PROXY", "{proxy}"), ("ALL_PROXY", "{proxy}")], "POST /v1/"),
        ("http://localhost:{port}/v1", &[("HTTP_PROXY", "{proxy}")], "POST /v1/"),
    ];
    for (base_url, variables, line) in cases {
        let server = Server::play([answer("\"ok\"")]).await;
        let port = server.base_url.rsplit(':').next().unwrap().replace("/v1", "");
        let done = ran(&server, base_url.replace("{port}", &port), variables).await;
        assert_eq!(done.exits(0).json()["return"], "ok", "{base_url} {variables:?}");
        assert!(first_line(&server.received()[0]).starts_with(line), "{base_url} {:?}", server.received()[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_is_not_there_is_named_by_its_variable() {
    let server = Server::play([answer("\"ok\"")]).await;
    let gone = format!("socks5h://me:{PASSWORD}@127.0.0.1:1");
    for value in [gone.as_str(), &gone.replace("socks5h", "http")] {
        let done = ran(&server, "http://models.invalid/v1".to_owned(), &[("ALL_PROXY", value)]).await;
        let fail = done.exits(1).json()["fail"].to_string();
        assert!(fail.contains("a proxy is set in ALL_PROXY"), "{fail}");
        assert!(server.received().is_empty());
    }
}
