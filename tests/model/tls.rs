//! Servers whose certificate no system trusts, and servers that require one of the client: through the files of the configuration.
//!
//! The certificates in `fixtures/tls` are valid for a hundred years. They were made with `openssl req` and `openssl x509`; the key of
//! their authority was discarded.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_workbench::config::TlsFiles;
use ptc_workbench::model::{Adapter, Endpoint, ErrorClass};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, Stream};

use crate::cli::program::Program;
use crate::openai::request;

const CA: &str = include_str!("fixtures/tls/ca.pem");
const SERVER: &str = include_str!("fixtures/tls/server.pem");
const CLIENT: &str = include_str!("fixtures/tls/client.pem");

const AGENT: &str = r#"name = "a"
mode = "ptc_lisp"
prompt = "go"
max_turns = 1
program = '''
(return (tool/read-file {:file_path "a.txt"}))
'''
[tools.read-file]
kind = "mcp"
server = "files"
"#;

fn certificates(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).map(Result::unwrap).collect()
}

/// Clients that a server accepts.
#[derive(Clone, Copy)]
enum Clients {
    All,
    WithCertificate,
}

/// A server with the certificate of the fixtures that gives this answer to every request. Returns its address.
fn server(clients: Clients, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> String {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(certificates(CA).remove(0)).unwrap();
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        Clients::All => builder.with_no_client_auth(),
        Clients::WithCertificate => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap(),
        ),
    };
    let key = PrivateKeyDer::from_pem_slice(SERVER.as_bytes()).unwrap();
    let config = Arc::new(builder.with_single_cert(certificates(SERVER), key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (config, answer, mut socket) = (Arc::clone(&config), Arc::clone(&answer), socket.unwrap());
            std::thread::spawn(move || {
                let mut connection = ServerConnection::new(config).unwrap();
                let mut stream = Stream::new(&mut connection, &mut socket);
                let Some(body) = read_body(&mut stream) else { return };
                let text = answer(&body);
                let (status, kind) = if text.is_empty() {
                    ("202 Accepted", "")
                } else {
                    ("200 OK", "content-type: application/json\r\n")
                };
                let head =
                    format!("HTTP/1.1 {status}\r\n{kind}connection: close\r\ncontent-length: {}\r\n\r\n", text.len());
                drop(stream.write_all(format!("{head}{text}").as_bytes()));
                stream.conn.send_close_notify();
                drop(stream.flush());
            });
        }
    });
    address
}

/// The body of a request; `None` where there is no whole one.
fn read_body(stream: &mut impl std::io::Read) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(body.to_owned());
            }
        }
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&piece[..read]);
    }
}

fn completion(_: &str) -> String {
    r#"{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"safe"}}]}"#
        .to_owned()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model/fixtures/tls").join(name)
}

fn model(address: &str, tls: TlsFiles) -> Adapter {
    let mut endpoint = Endpoint::new("local", "m", format!("{address}/v1"));
    endpoint.retry.max_attempts = 1;
    endpoint.tls = tls;
    Adapter::new(endpoint).unwrap()
}

async fn heard(model: &Adapter) -> crate::openai::Asked {
    crate::openai::hear(model, &request("hi"), tokio_util::sync::CancellationToken::new()).await
}

#[tokio::test]
async fn a_server_of_an_own_authority_is_reached_with_its_certificate_only() {
    let address = server(Clients::All, completion);
    let with_ca = TlsFiles { ca_file: Some(fixture("ca.pem")), ..TlsFiles::default() };
    let without = heard(&model(&address, TlsFiles::default())).await;
    assert_eq!(without.error().class, ErrorClass::Configuration, "{}", without.error());
    assert!(without.error().hint.as_deref().unwrap().contains("ca_file names a further authority"));
    assert_eq!(heard(&model(&address, with_ca)).await.reply().text, "safe");
}

#[tokio::test]
async fn a_server_that_requires_a_certificate_gets_that_of_the_configuration() {
    let address = server(Clients::WithCertificate, completion);
    let with_ca = TlsFiles { ca_file: Some(fixture("ca.pem")), ..TlsFiles::default() };
    let without = heard(&model(&address, with_ca.clone())).await;
    assert!(without.result.is_err());
    let both = TlsFiles { client_certificate_file: Some(fixture("client.pem")), ..with_ca };
    let asked = heard(&model(&address, both)).await;
    assert_eq!(asked.reply().text, "safe");
    let key = CLIENT.lines().skip_while(|line| !line.contains("PRIVATE")).nth(1).unwrap();
    assert!(!asked.everything().contains(key));
}

#[tokio::test]
async fn a_file_without_what_it_must_contain_is_named_before_anything_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).unwrap();
        Some(dir.path().join(name))
    };
    let (certificate, key) = CLIENT.split_at(CLIENT.find("-----BEGIN PRIVATE").unwrap());
    let strange = SERVER.find("-----BEGIN PRIVATE").map(|at| format!("{certificate}{}", &SERVER[at..])).unwrap();
    let of_ca = |file| TlsFiles { ca_file: file, client_certificate_file: None };
    let of_client = |file| TlsFiles { ca_file: None, client_certificate_file: file };
    let cases = [
        (of_ca(Some(dir.path().join("none"))), "none cannot be read"),
        (of_ca(Some(dir.path().to_owned())), "it is a folder"),
        (of_ca(write("a.pem", key)), "a.pem contains no certificate"),
        (of_client(write("b.pem", certificate)), "b.pem contains no private key"),
        (of_client(write("c.pem", key)), "c.pem contains no certificate"),
        (of_client(write("d.pem", &strange)), "d.pem contains a private key that is not that of its first certificate"),
    ];
    let address = server(Clients::All, completion);
    for (tls, words) in cases {
        let asked = heard(&model(&address, tls)).await;
        let error = asked.error();
        assert_eq!(error.class, ErrorClass::Configuration, "{words}: {error}");
        assert!(error.message.contains(words), "{words}: {error}");
        assert!(!asked.everything().contains(key.lines().nth(1).unwrap()));
    }
}

#[tokio::test]
async fn a_changed_file_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    let address = server(Clients::All, completion);
    let model = model(&address, TlsFiles { ca_file: Some(file.clone()), ..TlsFiles::default() });
    assert!(heard(&model).await.result.is_err());
    std::fs::write(&file, CA).unwrap();
    assert_eq!(heard(&model).await.reply().text, "safe");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_tools_is_reached_with_the_files_of_its_section_or_of_the_whole_configuration() {
    let address = server(Clients::WithCertificate, |body| {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(body) else { return String::new() };
        let result = match message["method"].as_str() {
            Some("initialize") => serde_json::json!({"protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}),
            Some("tools/list") => serde_json::json!({"tools": [{"name": "read-file", "inputSchema":
                {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}}]}),
            Some("tools/call") => serde_json::json!({"content": [{"type": "text", "text": "safe"}]}),
            _ => return String::new(),
        };
        serde_json::json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string()
    });
    let program = Program::new();
    for (name, text) in [("ca.pem", CA), ("client.pem", CLIENT)] {
        program.file(name, text);
    }
    let section = "ca_file = \"ca.pem\"\nclient_certificate_file = \"client.pem\"\n";
    for (before, within) in [("", section), (section, "")] {
        program.file("config.toml", format!("{before}[mcp.files]\nurl = \"{address}/mcp\"\n{within}"));
        program.file("a.toml", AGENT);
        let done = tokio::task::block_in_place(|| {
            program.run(["--config", "config.toml", "run", "a.toml", "--allow-tools", "--json"])
        });
        assert_eq!(done.exits(0).json()["return"], "safe", "{}", done.stderr);
    }
    program.file("config.toml", format!("[mcp.files]\nurl = \"{address}/mcp\"\n"));
    let done = tokio::task::block_in_place(|| program.run(["--config", "config.toml", "tools", "--server", "files"]));
    done.exits(1).reports("cannot be reached: ");
}
