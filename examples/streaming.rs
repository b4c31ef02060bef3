//! What streaming costs: 10,000 deltas of 20 bytes from a server on loopback through reader, engine and recorder.
//!
//! `cargo run --release --example streaming [DELTAS]` prints processor time and what arrived, for each protocol, and fails when a
//! delta is lost.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Instant;

use ptc_core::value::json;
use ptc_workbench::agent::{Agent, Plan};
use ptc_workbench::config::Protocol;
use ptc_workbench::engine::{self, Input, Ports};
use ptc_workbench::event::Event;
use ptc_workbench::model::{Adapter, Endpoint};
use ptc_workbench::port::{Stop, SystemClock};
use ptc_workbench::session::{Header, Recorder, Session, SessionId};

type Failure = Box<dyn std::error::Error>;

const PIECE: &str = "twenty bytes a delta";

fn main() -> Result<(), Failure> {
    let deltas = std::env::args().nth(1).map_or(Ok(10_000), |text| text.parse::<usize>())?;
    println!("{deltas} deltas of {} bytes    processor ms    wall ms    parts   session kB", PIECE.len());
    for protocol in [Protocol::OpenAi, Protocol::Anthropic, Protocol::Gemini, Protocol::Ollama] {
        measure(protocol, deltas)?;
    }
    Ok(())
}

fn measure(protocol: Protocol, deltas: usize) -> Result<(), Failure> {
    let address = serve(reply(protocol, deltas))?;
    let endpoint = Endpoint { protocol, ..Endpoint::new("local", "m", format!("http://{address}/v1")) };
    let model = Adapter::new(endpoint)?;
    let agent = Agent::from_toml("mode = \"text\"\nprompt = \"go\"\n", "streaming.toml")?;
    let plan = Plan::new(&agent).map_err(|findings| format!("{findings:?}"))?;
    let folder = tempfile::tempdir()?;
    let recorder = Recorder::create(folder.path(), &Header::new(SessionId::new(0, 1), 0), Arc::new(SystemClock))?;
    let path = recorder.path().to_owned();
    let runtime = tokio::runtime::Runtime::new()?;
    let (started, before) = (Instant::now(), processor_ms());
    let ports = Ports::new(&model, &SystemClock, &recorder, Stop::default());
    let step = runtime.block_on(engine::run(&plan, Input::new(json::parse("{}").unwrap_or_default()), &ports));
    drop(recorder);
    let (wall, processor) = (started.elapsed().as_millis(), processor_ms() - before);
    if let Some(fail) = step.fail {
        return Err(fail.message.into());
    }
    let session = Session::open(&path)?;
    let (mut parts, mut arrived, mut bytes) = (0, 0, 0);
    for envelope in session.events() {
        if let Event::ReplyPart(part) = &envelope.event {
            parts += 1;
            arrived += part.lens.len();
            bytes += part.text.len();
        }
    }
    assert_eq!((arrived, bytes), (deltas, deltas * PIECE.len()), "deltas are lost");
    let size = std::fs::metadata(&path)?.len() / 1_024;
    println!("{:<32} {processor:>8} {wall:>10} {parts:>8} {size:>12}", protocol.name());
    Ok(())
}

/// The whole answer of a server: head and body.
fn reply(protocol: Protocol, deltas: usize) -> String {
    let event = |json: &str| format!("data: {json}\n\n");
    let (kind, delta, end) = match protocol {
        Protocol::OpenAi => (
            "text/event-stream",
            event(&format!(r#"{{"id":"c","model":"m","choices":[{{"index":0,"delta":{{"content":"{PIECE}"}},"finish_reason":null}}]}}"#)),
            event(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#) + &event("[DONE]"),
        ),
        Protocol::Anthropic => (
            "text/event-stream",
            format!("event: content_block_delta\n{}", event(&format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{PIECE}"}}}}"#))),
            event(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#)
                + &event(r#"{"type":"message_stop"}"#),
        ),
        Protocol::Gemini => (
            "text/event-stream",
            event(&format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{PIECE}"}}],"role":"model"}},"index":0}}],"modelVersion":"m"}}"#)),
            event(r#"{"candidates":[{"finishReason":"STOP"}]}"#),
        ),
        Protocol::Ollama => (
            "application/x-ndjson",
            format!("{{\"model\":\"m\",\"message\":{{\"role\":\"assistant\",\"content\":\"{PIECE}\"}},\"done\":false}}\n"),
            "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n".to_owned(),
        ),
    };
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: {kind}\r\n\r\n{}{end}", delta.repeat(deltas))
}

/// A server that gives this answer once.
fn serve(answer: String) -> std::io::Result<std::net::SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || -> std::io::Result<()> {
        let (mut socket, _) = listener.accept()?;
        let mut asked = vec![0; 64 * 1024];
        let _read = socket.read(&mut asked)?;
        socket.write_all(answer.as_bytes())
    });
    Ok(address)
}

/// Processor time of this process so far, in ms; 0 where the system does not tell it.
fn processor_ms() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return 0 };
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    // User and system time in hundredths of a second.
    (ticks(11) + ticks(12)) * 10
}
