//! The recorder: the form of its lines, one writer, what is on disk at any moment, and what happens when the disk refuses.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use ptc_workbench::event::{
    Address, Class, Envelope, Event, MessageAdded, MessagePart, Options, PartKind, ReplyEnd, ReplyPart, ReplyStatus,
    RequestMade, Role, RunStart, SentMessage, Source, TurnStart, Want,
};
use ptc_workbench::model::script;
use ptc_workbench::port::{Sink, SinkError};
use ptc_workbench::replay::Recording;
use ptc_workbench::session::{Header, Recorder, Session, SessionId};
use serde_json::Value;

use super::{recorder, run_into};
use crate::cli::program::{Program, keys, wait_for};
use crate::engine::{Memory, Ticks, agent, recorded_script};

const AGENT: (&str, &str) = ("Say {{x}}", "(x :string) -> {a :int, b :string}");
const REPLIES: [&str; 3] = [r#"{"b": "ü"}"#, "no JSON\r\nat all 🚀", r#"{"a": 1, "b": "x"}"#];

/// A run of three turns in a file.
async fn recorded(dir: &Path) -> std::path::PathBuf {
    let recorder = recorder(dir, 1_000, 1);
    let step = run_into(&recorder, &agent(AGENT.0, AGENT.1), r#"{"x": "hi"}"#, &script(REPLIES)).await;
    assert!(step.is_ok());
    recorder.path().to_owned()
}

#[tokio::test]
async fn each_line_is_numbered_without_gaps_and_has_its_keys_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(recorded(dir.path()).await).unwrap();
    assert!(text.ends_with('\n'));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(keys(&lines[0]), ["format", "version", "min_reader", "id", "created_ms", "program"]);
    for (number, line) in lines.iter().enumerate().skip(1) {
        assert_eq!(line["s"], number);
        let back: &[&str] = if line.get("b").is_some() { &["b"] } else { &[] };
        assert_eq!(keys(line), [&["s", "t", "r", "k", "d"], back].concat());
    }
}

#[tokio::test]
async fn a_turns_end_leads_to_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(recorded(dir.path()).await).unwrap();
    let mut at = 0;
    let mut ends = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.contains(r#""k":"turn.end""#) {
            let value: Value = serde_json::from_str(line).unwrap();
            ends.push((at, value["b"].as_u64()));
        }
        at += line.len() as u64;
    }
    let [(first, None), (second, Some(to_first)), (third, Some(to_second))] = ends[..] else { panic!("{ends:?}") };
    assert_eq!((second - to_first, third - to_second), (first, second));
}

#[tokio::test]
async fn every_request_can_be_rebuilt_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let (model, received) = recorded_script(&REPLIES);
    let recorder = recorder(dir.path(), 1_000, 1);
    run_into(&recorder, &agent(AGENT.0, AGENT.1), r#"{"x": "\u0000 \r\n {{x}} 🚀"}"#, &model).await;
    let recording = Recording::of(&Session::open(recorder.path()).unwrap()).unwrap();
    let received = received.lock().unwrap();
    assert_eq!(received.len(), 3);
    for request in received.iter() {
        let system = request.system.iter().map(|text| ("system".to_owned(), text.clone()));
        let others = request.messages.iter().map(|message| (message.role.name().to_owned(), message.joined()));
        let sent: Vec<_> = system.chain(others).collect();
        let rebuilt = recording.request(&request.address).unwrap();
        let rebuilt: Vec<_> = rebuilt.into_iter().map(|m| (m.role.name().to_owned(), m.text())).collect();
        assert_eq!(rebuilt, sent, "{}", request.address);
        let made = recording.at(&request.address).iter().find_map(|envelope| match &envelope.event {
            Event::RequestMade(made) => Some(made.clone()),
            _ => None,
        });
        let made = made.unwrap();
        assert_eq!(made.schema.map(|schema| schema.json()), request.schema);
        assert_eq!((made.want.name(), made.options), (request.want.name(), request.options.clone()));
    }
}

#[tokio::test]
async fn a_request_is_rebuilt_without_what_another_run_wrote_while_its_reply_came() {
    let message =
        |m: u32, role: Role, part: MessagePart| MessageAdded { m, role, source: Source::Prompt, parts: vec![part] };
    let text = |text: &str| MessagePart::Text { section: "task".to_owned(), text: text.to_owned(), untrusted: false };
    let part = |text: &str| ReplyPart {
        attempt: 1,
        kind: PartKind::Text,
        text: text.to_owned(),
        lens: Vec::new(),
        ms: Vec::new(),
    };
    let made = |first: u32, last: u32| RequestMade {
        messages: vec![(first, last)],
        tools: Vec::new(),
        tool_names: Vec::new(),
        want: Want::Text,
        schema: None,
        options: Options::default(),
        cache: false,
    };
    let (one, other) = ("r0/t1/c1", "r0/t1/c2");
    let (first, second) = ("r0/t1/c1/t1", "r0/t1/c1/t2");
    let reply = MessagePart::Reply { reply: Address::from(first) };
    let events: Vec<(&str, Event)> = vec![
        (one, RunStart::default().into()),
        (other, RunStart::default().into()),
        (one, message(0, Role::User, text("one")).into()),
        (first, TurnStart::default().into()),
        (first, made(0, 0).into()),
        (first, part("half ").into()),
        (other, message(0, Role::User, text("other")).into()),
        (first, part("whole").into()),
        (first, ReplyEnd::new(1, ReplyStatus::Ok).into()),
        (first, message(1, Role::Assistant, reply).into()),
        (second, TurnStart::default().into()),
        (second, made(0, 1).into()),
    ];
    let dir = tempfile::tempdir().unwrap();
    let recorder = recorder(dir.path(), 1_000, 1);
    for (at, event) in events {
        recorder.emit(Address::from(at), event).await.unwrap();
    }
    let path = recorder.path().to_owned();
    drop(recorder);
    let sent = Session::open(&path).unwrap().request(&Address::from(second)).unwrap();
    assert_eq!(sent.iter().map(SentMessage::text).collect::<Vec<_>>(), ["one", "half whole"]);
}

#[test]
fn a_session_file_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let header = Header::new(SessionId::new(1_000, 1), 1_000);
    let first = Recorder::create(dir.path(), &header, std::sync::Arc::new(Ticks(10))).unwrap();
    let second = Recorder::create(dir.path(), &header, std::sync::Arc::new(Ticks(10))).map(|_| ()).unwrap_err();
    assert_eq!(second.error.kind(), std::io::ErrorKind::AlreadyExists);
    let other = File::options().append(true).open(first.path()).unwrap();
    assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)), "the file is not locked");
    let path = first.path().to_owned();
    drop(first);
    File::open(path).unwrap().try_lock().unwrap();
}

#[test]
fn what_was_written_before_a_kill_is_read_back() {
    let program = Program::new();
    let mut child = program.command(["run", "sentiment", "--model", "sample:slow"]).spawn().unwrap();
    // The file grows while the reply arrives.
    let path = wait_for("two parts of the reply in the file", || {
        let file = program.session_files().into_iter().next()?;
        let text = std::fs::read_to_string(&file).ok()?;
        (text.matches(r#""k":"reply.part""#).count() >= 2).then_some(file)
    });
    child.kill().unwrap();
    child.wait().unwrap();

    let session = Session::open(&path).unwrap();
    let events: Vec<Envelope> = session.events().collect();
    assert!(session.damage.iter().all(|damage| damage.torn), "{:?}", session.damage);
    assert!(events.iter().map(|envelope| envelope.seq).eq(1..=events.len() as u64));
    assert!(matches!(events.last().map(|last| &last.event), Some(Event::ReplyPart(_))));
    let replayed = program.run(["replay", "last"]);
    assert_eq!(
        replayed.exits(0).stdout,
        "identical up to r0/t1, where the recording ends: 3 derived events compared\n"
    );

    // The same file as if the kill had come in the middle of a line.
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &whole[..whole.trim_end().len() - 10]).unwrap();
    let torn = Session::open(&path).unwrap();
    assert_eq!(torn.len(), events.len() - 1);
    assert!(torn.events().eq(events[..events.len() - 1].iter().cloned()));
    let replayed = program.run(["replay", "last", "--check"]);
    replayed
        .exits(0)
        .reports("it is incomplete because the program stopped while writing it; all events before it are kept");
    let listed = program.run(["sessions", "list", "--json"]).exits(0).json();
    assert_eq!(listed[0]["state"], "open");
}

#[test]
fn an_unfinished_session_replays_to_wherever_it_ends() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample:missing_field"]).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    std::thread::scope(|scope| {
        for half in ends.chunks(ends.len().div_ceil(2)) {
            let (program, text) = (&program, &text);
            scope.spawn(move || {
                for end in half {
                    let name = format!("cut-{end}.jsonl");
                    program.file(&name, &text[..*end]);
                    let done = program.run(["replay", &name, "--json"]);
                    let outcome = if *end == text.len() { "identical" } else { "unfinished" };
                    assert_eq!(done.exits(0).json()["outcome"], outcome, "{end}: {}", done.stdout);
                }
            });
        }
    });
}

/// Takes this many events and then refuses everything.
struct Full {
    left: AtomicUsize,
    taken: Memory,
}

impl Sink for Full {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            let has_room = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            match has_room {
                Ok(_) => self.taken.emit(address, event).await,
                Err(_) => Err(SinkError::Storage("no space left".to_owned())),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_refuses_ends_the_run_at_that_event() {
    let whole = Memory::default();
    run_into(&whole, &agent(AGENT.0, AGENT.1), r#"{"x": "hi"}"#, &script(REPLIES)).await;
    let all = whole.events();
    for room in 0..all.len() {
        let (model, received) = recorded_script(&REPLIES);
        let sink = Full { left: room.into(), taken: Memory::default() };
        let step = run_into(&sink, &agent(AGENT.0, AGENT.1), r#"{"x": "hi"}"#, &model).await;
        let fail = step.fail.unwrap();
        assert_eq!((fail.reason.as_str(), fail.message.as_str()), ("recorder_failed", "no space left"), "{room}");
        assert_eq!(sink.taken.events(), all[..room], "{room}");
        // Nothing is asked that was not written first.
        let requests = all[..room].iter().filter(|envelope| envelope.event.kind() == "request").count();
        assert_eq!(received.lock().unwrap().len(), requests, "{room}");
    }
    assert!(all.iter().any(|envelope| envelope.event.class() == Class::Input));
}
