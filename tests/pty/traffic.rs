//! The traffic screen of the real program: a program's stream as it comes, a request that is edited, an answer in the model's place.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

use super::terminal::{Start, home};
use super::{CTRL_Q, ENTER};

const F7: &str = "\x1b[18~";
const ALT_A: &str = "\x1ba";
const ALT_ENTER: &str = "\x1b\r";
const ESC: &str = "\x1b";

/// Reads a request: its body.
fn read_request(connection: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = connection.read(&mut piece).unwrap();
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return body.to_owned();
            }
        }
        assert!(count > 0, "the request broke off: {text}");
    }
}

fn event(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

/// A service that answers each request in two pieces, the second one when the test asks for it; gives the bodies that it gets.
fn service() -> (SocketAddr, mpsc::Sender<()>, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (go, goes) = mpsc::channel::<()>();
    let (bodies, got) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            bodies.send(read_request(&mut connection)).unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            connection.write_all(format!("{head}{}", event("It is rai")).as_bytes()).unwrap();
            if goes.recv().is_err() {
                return;
            }
            let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            connection.write_all(format!("{}{end}", event("ning now.")).as_bytes()).unwrap();
        }
    });
    (address, go, got)
}

/// Asks the proxy; gives the whole reply when it is there.
fn ask(proxy: &str, text: &str) -> std::thread::JoinHandle<String> {
    let body = format!(r#"{{"model":"m-1","stream":true,"messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {proxy}\r\nuser-agent: crawler/2 (x)\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = TcpStream::connect(proxy).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    std::thread::spawn(move || {
        let mut reply = String::new();
        connection.read_to_string(&mut reply).unwrap();
        reply
    })
}

#[test]
fn a_program_is_followed_live_held_edited_and_answered() {
    let (home, _) = home("sample");
    let (address, go, bodies) = service();
    let upstream = format!("openai=http://{address}");
    let mut terminal =
        Start::workbench(home.path()).args(&["proxy", "--port", "0", "--upstream", &upstream]).size(120, 40).spawn();
    terminal.wait_for("Give a program this address");
    let screen = terminal.screen();
    let proxy = screen.split("OPENAI_BASE_URL=http://").nth(1).unwrap().split('/').next().unwrap().to_owned();

    // The text is there before the reply has ended.
    let whole = ask(&proxy, "Is it raining?");
    terminal.wait_for("crawler/2");
    terminal.wait_for("It is rai");
    terminal.wait_for("● streams");
    go.send(()).unwrap();
    terminal.wait_for("It is raining now.");
    terminal.wait_for("✓ answered");
    assert!(whole.join().unwrap().contains("[DONE]"));
    assert!(bodies.recv().unwrap().contains("Is it raining?"));

    // A request waits, and passes as it was edited.
    terminal.send(F7);
    terminal.wait_for("requests are held");
    let whole = ask(&proxy, "And tomorrow?");
    terminal.wait_for("Held request");
    terminal.wait_for("And tomorrow?");
    terminal.send(ESC);
    terminal.wait_for("still held: ");
    terminal.wait_for("‖ request");
    terminal.send("g");
    terminal.send(ENTER);
    terminal.wait_for("Held request");
    terminal.send(ALT_ENTER);
    terminal.wait_until_gone("Held request");
    assert!(bodies.recv().unwrap().contains("And tomorrow?"));
    go.send(()).unwrap();
    assert!(whole.join().unwrap().contains("[DONE]"));

    // The user answers in the model's place: the service is not asked.
    let whole = ask(&proxy, "Will it rain?");
    terminal.wait_for("Held request");
    // It has opened by itself: it takes keys when its footer names them.
    terminal.wait_for("F5 send it");
    terminal.send(ALT_A);
    terminal.wait_for("You are the model");
    terminal.send("Bring a coat.");
    terminal.wait_for("Bring a coat.");
    terminal.send(ALT_ENTER);
    terminal.wait_until_gone("You are the model");
    let reply = whole.join().unwrap();
    assert!(reply.contains("\"content\":\"coat.\"") && reply.contains("[DONE]"), "{reply}");
    assert!(bodies.try_recv().is_err());

    terminal.send(CTRL_Q);
    terminal.wait_for("The proxy listens at");
    terminal.send("d");
    assert_eq!(terminal.exit_code(), 0);
    let sessions = std::fs::read_dir(home.path().join(".local/share/ptc-workbench/sessions")).into_iter().flatten();
    let texts: Vec<String> =
        sessions.flatten().filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect();
    for text in ["It is raining now.", "Bring a coat."] {
        assert!(texts.iter().any(|session| session.contains("run.end") && session.contains(text)), "{text}: {texts:?}");
    }
}
