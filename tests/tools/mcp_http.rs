//! Servers of tools over HTTP that refuse, redirect or speak something else: what the user reads, and how the program introduces itself.

use std::io::Write as _;

use super::mcp::{CALL, ran};
use crate::cli::program::Program;
use crate::openai::server::{Play, Server};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_is_described_by_its_status_and_what_to_do() {
    let page = "<!doctype html><html><body>hello</body></html>";
    let html = "content-type: text/html\r\n";
    let cases = [
        (
            Play::page("401 Unauthorized", "www-authenticate: Bearer\r\n", ""),
            "answered 401 Unauthorized; it requires a token",
        ),
        (Play::json("401 Unauthorized", "{}"), "answered 401 Unauthorized: {}; it requires a token"),
        (
            Play::json("403 Forbidden", ""),
            "answered 403 Forbidden; its token does not allow this: run `ptc-workbench tools login files`",
        ),
        (
            Play::page("307 Temporary Redirect", "location: /other\r\n", ""),
            "answered 307 Temporary Redirect; redirects are not followed",
        ),
        (Play::page("404 Not Found", html, page), "answered 404 Not Found: a web page; check url under [mcp.files]"),
        (
            Play::page("500 Internal Server Error", html, page),
            "answered 500 Internal Server Error; the server has a problem",
        ),
        (Play::page("200 OK", html, page), "answered with a web page, not with MCP"),
        (Play::page("200 OK", "content-type: text/plain\r\n", "hi"), "answered with text/plain, not with MCP"),
        (
            Play::page("429 Too Many Requests", "retry-after: 7\r\n", ""),
            "answered 429 Too Many Requests; Retry-After: 7",
        ),
        (
            Play::json("200 OK", r#"{"hello": "world"}"#),
            "answered with something other than MCP: {\"hello\": \"world\"}; check url under [mcp.files]",
        ),
        (Play::json("200 OK", ""), "answered with an empty body, not with MCP; check url under [mcp.files]"),
        (
            Play::events([": nothing\n\n"]),
            "did not start: it ended its reply before it answered; check url under [mcp.files]",
        ),
    ];
    for (play, words) in cases {
        let server = Server::play([play]).await;
        let program = Program::new();
        program.file("config.toml", format!("[mcp.files]\nurl = \"{}\"\n", server.base_url));
        let done = tokio::task::block_in_place(|| ran(&program, CALL, ""));
        let done = done.exits(1).reports(&format!("the server files at {} {words}", server.base_url));
        assert!(!done.stderr.contains("rmcp") && !done.stderr.contains("Transport"), "{}", done.stderr);
        assert!(
            server.received()[0].body.contains("\"clientInfo\":{\"name\":\"ptc-workbench\""),
            "{:?}",
            server.received()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_described_by_its_address() {
    let program = Program::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    program.file("config.toml", format!("[mcp.files]\nurl = \"http://{free}/mcp\"\n"));
    let done = tokio::task::block_in_place(|| ran(&program, CALL, ""));
    done.exits(1).reports(&format!("the server files at http://{free}/mcp cannot be reached: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_described_by_what_to_check() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answering = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n").unwrap();
        // The client closes first, so that it reads the answer.
        std::io::copy(&mut client, &mut std::io::sink()).unwrap_or_default();
    });
    let program = Program::new();
    program.file("config.toml", format!("[mcp.files]\nurl = \"https://{address}/mcp\"\n"));
    let done = tokio::task::block_in_place(|| ran(&program, CALL, ""));
    done.exits(1).reports("cannot be reached: ").reports("check that the address has the right scheme (http or https)");
    answering.join().unwrap();
}
