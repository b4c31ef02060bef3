//! Cost of streaming: 10,000 deltas of 20 bytes from a server on loopback through reader, engine and recorder, alone and with the real loop
//! of the interface, which merges them and draws a screen of 120×40 in memory up to sixty times a second.
//!
//! `cargo bench --bench streaming -- [DELTAS]` prints processor time and what arrived, for each protocol, and fails when a delta is lost in
//! the session or on the screen, or when the time exceeds its limit (optimised builds only).

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyModifiers};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::value::json;
use ptc_workbench::agent::{Agent, Place, Plan};
use ptc_workbench::config::{Config, Folders, Protocol};
use ptc_workbench::engine::{self, Input as RunInput, Ports};
use ptc_workbench::event::Event;
use ptc_workbench::model::{Adapter, Endpoint};
use ptc_workbench::port::{Stop, SystemClock};
use ptc_workbench::session::{Header, Recorder, Session, SessionId};
use ptc_workbench::tui::drive::{Clock, Driver};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::stage::{Input, Stage};
use ptc_workbench::tui::{draw, layout};
use ptc_workbench::workbench::Workbench;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::mpsc;

#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

type Failure = Box<dyn std::error::Error>;

const PIECE: &str = "twenty bytes a delta";
const AGENT: &str = "mode = \"text\"\nprompt = \"go\"\n";
const SIZE: (u16, u16) = (120, 40);
/// Limit of processor time for 10,000 deltas from the reader to the screen, in ms.
const MOST_MS: u64 = 300;

/// Returns the arguments without the `--bench` that `cargo bench` adds.
fn arguments() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|word| word != "--bench")
}

fn main() -> Result<(), Failure> {
    let deltas = arguments().next().map_or(Ok(10_000), |text| text.parse::<usize>())?;
    println!("{deltas} deltas of {} bytes        processor ms    wall ms    parts   frames   session kB", PIECE.len());
    let mut slow = Vec::new();
    for protocol in [Protocol::OpenAi, Protocol::Responses, Protocol::Anthropic, Protocol::Gemini, Protocol::Ollama] {
        let journal = to_the_journal(protocol, deltas)?;
        println!("{:<12} {:<22} {journal}", protocol.name(), "to the journal");
        let screen = to_the_screen(protocol, deltas)?;
        println!("{:<12} {:<22} {screen}", "", "and the interface");
        if screen.processor_ms > MOST_MS {
            slow.push(protocol.name());
        }
    }
    if !slow.is_empty() && !cfg!(debug_assertions) {
        return Err(format!("more than {MOST_MS} ms of processor time: {}", slow.join(", ")).into());
    }
    Ok(())
}

/// Measurements of one reply.
struct Figures {
    processor_ms: u64,
    wall_ms: u128,
    parts: usize,
    frames: u64,
    session_kb: u64,
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { processor_ms, wall_ms, parts, frames, session_kb } = self;
        write!(f, "{processor_ms:>8} {wall_ms:>10} {parts:>8} {frames:>8} {session_kb:>12}")
    }
}

/// Looks whether a session has every delta.
fn complete(path: &Path, deltas: usize) -> Result<(usize, u64), Failure> {
    let session = Session::open(path)?;
    let (mut parts, mut arrived, mut bytes) = (0, 0, 0);
    for envelope in session.events() {
        if let Event::ReplyPart(part) = &envelope.event {
            parts += 1;
            arrived += part.lens.len();
            bytes += part.text.len();
        }
    }
    assert_eq!((arrived, bytes), (deltas, deltas * PIECE.len()), "deltas are lost");
    Ok((parts, std::fs::metadata(path)?.len() / 1_024))
}

fn to_the_journal(protocol: Protocol, deltas: usize) -> Result<Figures, Failure> {
    let address = serve(reply(protocol, deltas))?;
    let endpoint = Endpoint { protocol, ..Endpoint::new("local", "m", format!("http://{address}/v1")) };
    let model = Adapter::new(endpoint)?;
    let agent = Agent::from_toml(AGENT, "streaming.toml")?;
    let plan = Plan::new(&agent).map_err(|findings| format!("{findings:?}"))?;
    let folder = tempfile::tempdir()?;
    let recorder = Recorder::create(folder.path(), &Header::new(SessionId::new(0, 1), 0), Arc::new(SystemClock))?;
    let path = recorder.path().to_owned();
    let runtime = tokio::runtime::Runtime::new()?;
    let (started, before) = (Instant::now(), processor_ms());
    let ports = Ports::new(&model, &SystemClock, &recorder, Stop::default());
    let step = runtime.block_on(engine::run(&plan, RunInput::new(json::parse("{}").unwrap_or_default()), &ports));
    drop(recorder);
    let (wall_ms, processor_ms) = (started.elapsed().as_millis(), processor_ms() - before);
    if let Some(fail) = step.fail {
        return Err(fail.message.into());
    }
    let (parts, session_kb) = complete(&path, deltas)?;
    Ok(Figures { processor_ms, wall_ms, parts, frames: 0, session_kb })
}

/// The same run started by a key in the interface, until its end was drawn.
fn to_the_screen(protocol: Protocol, deltas: usize) -> Result<Figures, Failure> {
    let address = serve(reply(protocol, deltas))?;
    let folder = tempfile::tempdir()?;
    // Both protocols of OpenAI are of one kind of provider.
    let kind = match protocol {
        Protocol::Responses => "openai\"\napi = \"responses",
        other => other.name(),
    };
    let provider = format!("[providers.here]\nkind = \"{kind}\"\nbase_url = \"http://{address}/v1\"\n");
    let config = Config::from_toml(&format!("default_model = \"here:m\"\n{provider}"), "config.toml", &|_| None)?;
    let folders = Folders::at(folder.path().to_owned(), folder.path(), None);
    let sessions = folders.sessions_dir.clone();
    let agent = Agent::from_toml(AGENT, "streaming.toml")?;
    let services = Arc::new(Services::new(Workbench::new(config, folders), &agent, None));
    let mut model = Model::new(services.opened(), SIZE, 0);
    let (inputs, queue) = mpsc::unbounded_channel();
    let key = |code, modifiers| Input::Terminal(TerminalEvent::Key(KeyEvent::new(code, modifiers)));
    inputs.send(key(KeyCode::F(5), KeyModifiers::NONE))?;
    let leave = key(KeyCode::Char('q'), KeyModifiers::CONTROL);
    let mut screen = Screen { queue, inputs, leave: Some(leave), frames: 0, reply_bytes: 0 };
    let runtime = tokio::runtime::Runtime::new()?;
    let (started, before) = (Instant::now(), processor_ms());
    runtime.block_on(async {
        let mut driver = Driver::new(services, Clock::starting_at(0));
        tokio::time::timeout(Duration::from_mins(1), driver.run(&mut model, &mut screen, None)).await
    })??;
    let (wall_ms, processor_ms) = (started.elapsed().as_millis(), processor_ms() - before);
    assert_eq!(screen.reply_bytes, deltas * PIECE.len(), "deltas are lost on the way to the screen");
    let file = std::fs::read_dir(&sessions)?.filter_map(Result::ok).map(|entry| entry.path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let (parts, session_kb) = complete(&file.ok_or("no session was written")?, deltas)?;
    Ok(Figures { processor_ms, wall_ms, parts, frames: screen.frames, session_kb })
}

/// A screen in memory that leaves when the run is over.
struct Screen {
    queue: mpsc::UnboundedReceiver<Input>,
    inputs: mpsc::UnboundedSender<Input>,
    leave: Option<Input>,
    frames: u64,
    /// Bytes of the reply that the interface holds.
    reply_bytes: usize,
}

impl Stage for Screen {
    fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
        layout(model);
        draw(model, &mut buffer);
        self.frames += 1;
        let Some(run) = model.workbench.run.as_ref().filter(|run| run.ended.is_some()) else { return Ok(()) };
        let turn = run.transcript.turn_card(&"r0/t1".into());
        self.reply_bytes = turn.and_then(|card| card.record.attempts.last()).map_or(0, |attempt| attempt.text.len());
        if let Some(leave) = self.leave.take() {
            self.inputs.send(leave).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn redraw(&mut self) {}

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn edit<'a>(&'a mut self, _: Place, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        futures::future::ready(Err("there is no editor".to_owned())).boxed()
    }

    fn suspend(&mut self) -> BoxFuture<'_, Result<(), String>> {
        futures::future::ready(Err("it cannot be suspended".to_owned())).boxed()
    }

    fn clip(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Option<Input>> {
        self.queue.recv().boxed()
    }

    fn pending(&mut self) -> Option<Input> {
        self.queue.try_recv().ok()
    }
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
        Protocol::Responses => (
            "text/event-stream",
            event(&format!(r#"{{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"{PIECE}"}}"#)),
            event(r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":7}}}"#),
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
        // Its streams are binary frames, not texts.
        Protocol::Bedrock => return String::new(),
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

/// Processor time of this process so far, in ms; 0 where the system does not report it.
fn processor_ms() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return 0 };
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    // User and system time in hundredths of a second.
    (ticks(11) + ticks(12)) * 10
}
