//! Logins at servers over HTTP: an authorisation server and an MCP server in one, and a browser that does what the test wants.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::model::Url;
use ptc_workbench::tool::{Login, LoginError, LoginReport, LogoutReport};
use ptc_workbench::workbench::Workbench;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::agent;
use super::mcp::CALL;
use crate::cli::program::{Done, Program};
use crate::openai::server::{Play, Received, Server};

/// Everything that must not leave the private file.
const TOKENS: [&str; 4] = ["access-one-3141", "refresh-one-3141", "access-two-2718", "refresh-two-2718"];

/// Behaviour of the servers.
#[derive(Clone, Copy)]
struct Behaviour {
    /// Lifetime of the first token.
    expires_in: u64,
    /// The token that the MCP server accepts.
    accepted: &'static str,
    /// The authorisation server renews tokens.
    renews: bool,
    /// It registers clients.
    registers: bool,
    /// Its answer to a revocation; `None`: it has no endpoint for it.
    revokes: Option<&'static str>,
}

impl Behaviour {
    const USUAL: Self =
        Self { expires_in: 3_600, accepted: TOKENS[0], renews: true, registers: true, revokes: Some("200 OK") };
}

/// A text of a form.
fn field(body: &str, name: &str) -> String {
    let url = Url::parse(&format!("http://form/?{body}")).unwrap();
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

async fn servers(behaviour: Behaviour) -> Server {
    Server::script(move |_, received| reply(behaviour, received)).await
}

fn reply(behaviour: Behaviour, received: &Received) -> Play {
    let origin = format!("http://{}", received.header("host"));
    let path = received.head.split(' ').nth(1).unwrap_or_default().to_owned();
    match path.as_str() {
        "/v1" => mcp(behaviour, received, &origin),
        "/resource" => Play::json(
            "200 OK",
            json!({"resource": format!("{origin}/v1"), "authorization_servers": [origin], "scopes_supported": ["files"]}).to_string(),
        ),
        "/.well-known/oauth-authorization-server" => {
            let mut metadata = json!({"issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"), "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"]});
            if behaviour.registers {
                metadata["registration_endpoint"] = json!(format!("{origin}/register"));
            }
            if behaviour.revokes.is_some() {
                metadata["revocation_endpoint"] = json!(format!("{origin}/revoke"));
            }
            Play::json("200 OK", metadata.to_string())
        }
        "/register" => {
            let asked = received.json();
            Play::json("201 Created", json!({"client_id": "client-1", "redirect_uris": asked["redirect_uris"]}).to_string())
        }
        "/revoke" => Play::page(behaviour.revokes.unwrap_or("404 Not Found"), "", ""),
        "/token" => token(behaviour, &received.body),
        _ => Play::json("404 Not Found", "{}"),
    }
}

fn token(behaviour: Behaviour, body: &str) -> Play {
    if field(body, "grant_type") == "refresh_token" {
        if !behaviour.renews || field(body, "refresh_token") != TOKENS[1] {
            return Play::json("400 Bad Request", r#"{"error": "invalid_grant"}"#);
        }
        let token =
            json!({"access_token": TOKENS[2], "token_type": "Bearer", "expires_in": 3_600, "refresh_token": TOKENS[3]});
        return Play::json("200 OK", token.to_string());
    }
    // The browser of these tests makes the challenge the code.
    let verifier = Sha256::digest(field(body, "code_verifier").as_bytes());
    if base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(verifier) != field(body, "code") {
        return Play::json("400 Bad Request", r#"{"error": "invalid_grant", "error_description": "no such code"}"#);
    }
    let token = json!({"access_token": TOKENS[0], "token_type": "Bearer", "expires_in": behaviour.expires_in,
        "refresh_token": TOKENS[1]});
    Play::json("200 OK", token.to_string())
}

/// One tool, which repeats the token that it got.
fn mcp(behaviour: Behaviour, received: &Received, origin: &str) -> Play {
    if received.header("authorization") != format!("Bearer {}", behaviour.accepted) {
        let challenge = format!("www-authenticate: Bearer resource_metadata=\"{origin}/resource\"\r\n");
        return Play::page("401 Unauthorized", &challenge, "");
    }
    let Ok(message) = serde_json::from_str::<Value>(&received.body) else {
        return Play::page("405 Method Not Allowed", "", "");
    };
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "read-file", "inputSchema": {"type": "object",
            "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}}]}),
        _ => json!({"content": [{"type": "text", "text": format!("the token is {}", behaviour.accepted)}]}),
    };
    match message.get("id") {
        Some(id) => Play::json("200 OK", json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()),
        None => Play::page("202 Accepted", "", ""),
    }
}

/// Returns the address that a browser requests after the user has agreed.
fn agreed(address: &str) -> String {
    let url = Url::parse(address).unwrap();
    let query = url.query().unwrap();
    assert_eq!((field(query, "code_challenge_method"), field(query, "response_type")), ("S256".into(), "code".into()));
    format!("{}?code={}&state={}", field(query, "redirect_uri"), field(query, "code_challenge"), field(query, "state"))
}

/// Sends a request like a browser and returns the reply.
async fn visit(address: &str) -> String {
    let url = Url::parse(address).unwrap();
    let place = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let mut socket = tokio::net::TcpStream::connect(&place).await.unwrap();
    let query = url.query().unwrap_or_default();
    let request = format!("GET {}?{query} HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n\r\n", url.path());
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).await.unwrap();
    reply
}

fn program(server: &Server, more: &str) -> Program {
    let program = Program::new();
    program.file("config.toml", format!("[mcp.files]\nurl = \"{}\"\n{more}", server.base_url));
    program
}

/// Runs `tools login files`, and visits what `answer` makes of the address of the login page.
fn log_in(program: &Program, answer: impl Fn(&str) -> String) -> Done {
    let arguments = ["--config", "config.toml", "tools", "login", "files", "--no-browser"];
    let mut child = program.command(arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut shown = String::new();
    while !shown.lines().any(|line| line.starts_with("http://")) && errors.read_line(&mut shown).unwrap() > 0 {}
    if let Some(address) = shown.lines().find(|line| line.starts_with("http://")) {
        let address = answer(address);
        tokio::runtime::Handle::current().block_on(visit(&address));
    }
    errors.read_to_string(&mut shown).unwrap();
    let mut done = program.done(child.wait_with_output().unwrap());
    done.stderr = shown;
    done
}

fn call(program: &Program) -> Done {
    program.file("a.toml", agent(CALL, "[tools.read-file]\nkind = \"mcp\"\nserver = \"files\"\n"));
    program.run(["--config", "config.toml", "run", "a.toml", "--allow-tools", "--json"])
}

/// Files below this folder with their content.
fn files(folder: &std::path::Path) -> Vec<(std::path::PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}

/// Fails where a token is in a file other than those of tokens, or in the output.
fn assert_no_token(program: &Program, outputs: &[&Done]) {
    for (path, text) in files(program.dir()) {
        if path.parent().is_some_and(|folder| folder.ends_with("tools/tokens")) {
            #[cfg(unix)]
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o600);
            continue;
        }
        assert!(TOKENS.iter().all(|token| !text.contains(token)), "{}", path.display());
    }
    for done in outputs {
        assert!(TOKENS.iter().all(|token| !done.stdout.contains(token) && !done.stderr.contains(token)), "{done:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_gives_runs_a_token_that_no_session_shows_and_a_logout_takes_it() {
    let server = servers(Behaviour::USUAL).await;
    let program = program(&server, "");
    tokio::task::block_in_place(|| {
        let before = call(&program);
        before
            .exits(1)
            .reports("answered 401 Unauthorized; it requires a token: run `ptc-workbench tools login files`");
        let done = log_in(&program, agreed);
        done.exits(0);
        assert_eq!(
            done.stdout,
            format!("logged in to {}; the token expires in 60 min and is renewed without a login\n", server.base_url)
        );
        let ran = call(&program);
        assert_eq!(ran.exits(0).json()["return"], "the token is [secret]");
        assert_no_token(&program, &[&done, &ran]);
        let out =
            |arguments: &[&str]| program.run(["--config", "config.toml", "tools", "logout"].iter().chain(arguments));
        assert_eq!(
            out(&["files"]).exits(0).stdout,
            format!("logged out of {}; the token is revoked\n", server.base_url)
        );
        out(&[&server.base_url]).exits(0).reports("no token for");
        call(&program).exits(1).reports("answered 401 Unauthorized");
    });
    let registered = server.received().into_iter().find(|received| received.head.starts_with("POST /register"));
    let registered = registered.unwrap().json();
    assert_eq!((&registered["client_name"], &registered["scope"]), (&json!("ptc-workbench"), &json!("files")));
    let exchanged = server.received().into_iter().find(|received| received.head.starts_with("POST /token")).unwrap();
    assert_eq!(field(&exchanged.body, "resource"), server.base_url, "the token is for this server");
    let revoked = server.received().into_iter().filter(|received| received.head.starts_with("POST /revoke"));
    let revoked: Vec<_> = revoked
        .map(|received| ["token_type_hint", "token", "client_id"].map(|name| field(&received.body, name)))
        .collect();
    let expected = [["refresh_token", TOKENS[1], "client-1"], ["access_token", TOKENS[0], "client-1"]];
    assert_eq!(revoked, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_cannot_be_revoked_is_removed_and_the_reason_is_reported() {
    let answers = [
        (None, "the authorisation server has no endpoint that revokes tokens"),
        (Some("503 Service Unavailable"), "the authorisation server answered 503 to the revocation"),
    ];
    for (revokes, reason) in answers {
        let server = servers(Behaviour { revokes, ..Behaviour::USUAL }).await;
        let program = program(&server, "");
        let run = |verb: &str| program.run(["--config", "config.toml", "tools", verb, "files"]);
        tokio::task::block_in_place(|| {
            log_in(&program, agreed).exits(0);
            let out = run("logout");
            let line = format!("logged out of {}; the token is removed from this machine\n", server.base_url);
            assert_eq!(out.exits(0).stdout, line);
            out.reports("the token was not revoked and may still be valid").reports(reason);
            assert_no_token(&program, &[&out]);
            run("logout").exits(0).reports("no token for");
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_or_refused_token_is_renewed_once_and_kept() {
    // The first has expired when it is used; the second is refused by the server.
    for expires_in in [1, 3_600] {
        let server = servers(Behaviour { expires_in, accepted: TOKENS[2], ..Behaviour::USUAL }).await;
        let program = program(&server, "");
        tokio::task::block_in_place(|| {
            log_in(&program, agreed).exits(0);
            for _ in 0..2 {
                let ran = call(&program);
                assert_eq!(ran.exits(0).json()["return"], "the token is [secret]");
                assert_no_token(&program, &[&ran]);
            }
        });
        let renewed =
            server.received().iter().filter(|received| received.body.contains("grant_type=refresh_token")).count();
        assert_eq!(renewed, 1, "expires_in = {expires_in}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_cannot_be_renewed_asks_for_a_login() {
    for expires_in in [1, 3_600] {
        let server = servers(Behaviour { expires_in, accepted: "none", renews: false, ..Behaviour::USUAL }).await;
        let program = program(&server, "");
        let ran = tokio::task::block_in_place(|| {
            log_in(&program, agreed).exits(0);
            call(&program)
        });
        ran.exits(1).reports("run `ptc-workbench tools login files`");
        assert_no_token(&program, &[&ran]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_client_needs_no_registration() {
    let server = servers(Behaviour { registers: false, ..Behaviour::USUAL }).await;
    let own = program(&server, "");
    let refused = tokio::task::block_in_place(|| log_in(&own, agreed));
    refused.exits(1).reports("set oauth_client_id under [mcp.NAME]");
    let keys = "oauth_client_id = \"mine\"\noauth_client_secret_env = \"MY_SECRET\"\noauth_scopes = [\"a\", \"b\"]\n";
    let own = program(&server, keys).with_env("MY_SECRET", "secret-of-the-client");
    let done = tokio::task::block_in_place(|| {
        log_in(&own, |address| {
            assert_eq!((field(Url::parse(address).unwrap().query().unwrap(), "scope")), "a b");
            agreed(address)
        })
    });
    done.exits(0);
    let exchanged = server.received().into_iter().rfind(|received| received.head.starts_with("POST /token")).unwrap();
    let expected = base64::engine::general_purpose::STANDARD.encode("mine:secret-of-the-client");
    assert_eq!(exchanged.header("authorization"), format!("Basic {expected}"));
    assert!(files(own.dir()).iter().all(|(_, text)| !text.contains("secret-of-the-client")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_an_authorisation_server_and_a_program_have_no_login() {
    let server = Server::play([Play::json("404 Not Found", "{}")]).await;
    let own = program(&server, "[mcp.local]\ncommand = [\"true\"]\n");
    let run = |name: &str| {
        tokio::task::block_in_place(|| own.run(["--config", "config.toml", "tools", "login", name, "--no-browser"]))
    };
    run("files").exits(1).reports("could not log in: the server names no authorisation server");
    run("local").exits(2).reports("the server local is a program of this machine");
    run("fles").exits(2).reports("the configuration has no section [mcp.fles]");
    run("http://tools.example/mcp").exits(1).reports("over which no token is sent; use https");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_browser_and_a_terminal_the_login_ends_at_once() {
    let server = servers(Behaviour::USUAL).await;
    // As on a machine that is used from elsewhere, where no window could appear.
    let own = program(&server, "").with_env("SSH_TTY", "/dev/pts/0");
    let done = tokio::task::block_in_place(|| own.run(["--config", "config.toml", "tools", "login", "files"]));
    done.exits(1).reports("the login needs a browser: run it in a terminal, or add --no-browser");
}

/// A login through the library, and what a test does with it.
struct Attempt {
    server: Server,
    workbench: Workbench,
    login: Login,
    _dir: tempfile::TempDir,
}

impl Attempt {
    async fn new() -> Self {
        let server = servers(Behaviour::USUAL).await;
        let dir = tempfile::tempdir().unwrap();
        let folders = Folders::at(dir.path().to_owned(), dir.path(), None);
        let workbench = Workbench::new(Config::built_in().unwrap(), folders);
        let login = workbench.begin_login(&server.base_url).await.unwrap();
        Self { server, workbench, login, _dir: dir }
    }

    /// Waits for the end while the user does something with the address.
    async fn finish<F: Future<Output = ()>>(
        self,
        user: impl FnOnce(String, mpsc::UnboundedSender<String>, CancellationToken) -> F,
    ) -> (Result<LoginReport, LoginError>, bool) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let acts = user(self.login.address().to_owned(), sender, cancel.clone());
        let (done, ()) = tokio::join!(self.login.finish(receiver, Duration::from_mins(1), &cancel), acts);
        let is_stored = self.workbench.log_out(&self.server.base_url).await.unwrap() != LogoutReport::NoToken;
        (done, is_stored)
    }
}

#[tokio::test]
async fn a_redirect_with_another_state_does_not_end_the_login() {
    let replies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&replies);
    let (done, is_stored) = Attempt::new()
        .await
        .finish(|address, _, _| async move {
            let right = agreed(&address);
            let forged = right.replace("state=", "state=x");
            let other_path = right.replace("/callback", "/other");
            for address in [forged, other_path, right] {
                let reply = visit(&address).await;
                seen.lock().unwrap().push(reply.split(' ').nth(1).unwrap().to_owned());
            }
        })
        .await;
    assert_eq!(*replies.lock().unwrap(), ["400", "400", "200"]);
    assert!(done.is_ok_and(|report| report.is_renewable) && is_stored);
}

#[tokio::test]
async fn a_login_that_is_denied_cancelled_or_forged_stores_nothing() {
    let (done, is_stored) = Attempt::new()
        .await
        .finish(|address, _, _| async move {
            let state = field(Url::parse(&address).unwrap().query().unwrap(), "state");
            let redirect = agreed(&address);
            let place = redirect.split_once('?').unwrap().0;
            visit(&format!("{place}?error=access_denied&error_description=not+today&state={state}")).await;
        })
        .await;
    assert_eq!((done, is_stored), (Err(LoginError::Denied("access_denied: not today".into())), false));

    let (done, is_stored) = Attempt::new().await.finish(|_, _, cancel| async move { cancel.cancel() }).await;
    assert_eq!((done, is_stored), (Err(LoginError::Cancelled), false));

    let (done, is_stored) = Attempt::new()
        .await
        .finish(|address, _, _| async move {
            let address = agreed(&address).replace("code=", "code=x");
            visit(&address).await;
        })
        .await;
    assert!(matches!(&done, Err(LoginError::Failed(why)) if why.contains("no such code")), "{done:?}");
    assert!(!is_stored);
}

#[tokio::test]
async fn the_address_of_the_last_page_can_be_pasted() {
    let (done, is_stored) = Attempt::new()
        .await
        .finish(|address, pasted, _| async move { pasted.send(format!(" {}\n", agreed(&address))).unwrap() })
        .await;
    assert!(done.is_ok() && is_stored);
    let (done, _) =
        Attempt::new().await.finish(|_, pasted, _| async move { pasted.send("hello".to_owned()).unwrap() }).await;
    assert!(matches!(done, Err(LoginError::Failed(why)) if why.contains("pasted text")));
}

#[tokio::test]
async fn a_login_without_an_answer_ends_after_its_time() {
    let attempt = Attempt::new().await;
    let (_sender, receiver) = mpsc::unbounded_channel();
    let done = attempt.login.finish(receiver, Duration::from_millis(1), &CancellationToken::new()).await;
    assert_eq!(done, Err(LoginError::TimedOut(Duration::from_millis(1))));
}
