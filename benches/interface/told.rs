//! Runs that tell what they are given: finished turns of 100,000 lines, and a reply in small pieces.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::value::json;
use ptc_workbench::event::{
    Address, Envelope, Event, JsonText, PartKind, ReplyEnd, ReplyPart, ReplyStatus, RequestMade, RunEnd, RunStart,
    TurnEnd, TurnStart, Want,
};
use ptc_workbench::tui::backend::{Ended, Happening, Run};
use tokio::sync::Notify;

use crate::lock;

/// Finished turns before the one that is answered.
pub(crate) const TURNS: u64 = 2_000;
/// Lines of each.
pub(crate) const LINES: usize = 50;

/// What the reply that streams is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Words and lines.
    Text,
    /// One list of objects.
    Json,
    /// A program in a block.
    Program,
}

impl Reply {
    fn want(self) -> Want {
        match self {
            Self::Text => Want::Text,
            Self::Json => Want::Json,
            Self::Program => Want::Program,
        }
    }

    /// The piece of this number.
    pub(crate) fn delta(self, number: u64) -> String {
        match self {
            Self::Text => format!("word{number}{}", if number % 12 == 11 { "\n" } else { " " }),
            Self::Json => match number % 4 {
                _ if number == 0 => "{\"rows\": [{".to_owned(),
                0 => ", {".to_owned(),
                1 => format!("\"id\": {number}, "),
                2 => format!("\"name\": \"row{number}\", "),
                _ => "\"tags\": [1, 2]}".to_owned(),
            },
            Self::Program if number == 0 => "```clojure\n(def rows [\n".to_owned(),
            Self::Program => format!("{{:id {number}}}{}", if number % 4 == 3 { "\n" } else { " " }),
        }
    }

    /// What the last frame shows once this many pieces have come.
    pub(crate) fn last(self, told: u64) -> String {
        match self {
            Self::Text => format!("word{}", told.saturating_sub(1)),
            // Ids stand in every fourth piece.
            Self::Json => format!("\"id\": {}", told.saturating_sub(2) / 4 * 4 + 1),
            Self::Program => format!("{{:id {}}}", told.saturating_sub(1)),
        }
    }

    /// An event with the piece of this number.
    pub(crate) fn event(self, number: u64) -> Happening {
        Happening::Event(Box::new(part(&last_turn(), self.delta(number))))
    }

    /// A run whose finished turns hold 100,000 lines, and one more turn that waits for its reply.
    pub(crate) fn long_run(self) -> Vec<Happening> {
        let mut events = vec![envelope("r0", RunStart { mode: "json".to_owned(), ..RunStart::default() })];
        for number in 1..=TURNS {
            let turn = format!("r0/t{number}");
            let lines =
                (0..LINES).map(|line| format!("line {line} of turn {number}: {{\"key\": \"value\", \"n\": {line}}}"));
            let text = lines.collect::<Vec<_>>().join("\n");
            events.push(envelope(&turn, turn_start()));
            events.push(part(&turn, text));
            events.push(envelope(&turn, ReplyEnd::new(1, ReplyStatus::Ok)));
            events.push(envelope(&turn, TurnEnd { success: true, ..TurnEnd::default() }));
        }
        events.push(envelope(&last_turn(), turn_start()));
        events.push(envelope(&last_turn(), self.request()));
        events.into_iter().map(|event| Happening::Event(Box::new(event))).collect()
    }

    fn request(self) -> RequestMade {
        let schema = r#"{"type": "object", "properties": {"rows": {"type": "array"}}}"#;
        RequestMade {
            messages: Vec::new(),
            want: self.want(),
            schema: (self == Self::Json).then(|| JsonText::of(&json::parse(schema).unwrap_or_default())),
            tools: Vec::new(),
            tool_names: Vec::new(),
            options: ptc_workbench::event::Options::default(),
            cache: false,
        }
    }
}

/// The end of a run.
pub(crate) fn end() -> Vec<Happening> {
    vec![Happening::Event(Box::new(envelope("r0", RunEnd::default()))), Happening::Ended(Ended::Run)]
}

/// The turn that is being answered.
pub(crate) fn last_turn() -> String {
    format!("r0/t{}", TURNS + 1)
}

fn envelope(address: &str, event: impl Into<Event>) -> Envelope {
    Envelope { seq: 1, at_ms: 0, address: Address::from(address), event: event.into() }
}

fn part(turn: &str, text: String) -> Envelope {
    let lens = vec![u32::try_from(text.len()).unwrap_or(u32::MAX)];
    envelope(turn, ReplyPart { attempt: 1, kind: PartKind::Text, text, lens, ms: vec![0] })
}

fn turn_start() -> TurnStart {
    TurnStart { now: 0, kind: None, remaining: ptc_workbench::event::Remaining::default(), waited_ms: 0, stop: None }
}

/// A run that tells what it is given.
#[derive(Default)]
pub(crate) struct Told {
    queue: Mutex<VecDeque<Happening>>,
    changed: Notify,
    /// The interface has asked what there is.
    pub(crate) heard: AtomicBool,
}

impl Told {
    pub(crate) fn tell(&self, happenings: Vec<Happening>) {
        lock(&self.queue).extend(happenings);
        self.changed.notify_one();
    }
}

impl Run for Told {
    fn session(&self) -> Option<String> {
        None
    }

    fn drain(&self) -> Vec<Happening> {
        self.heard.store(true, Ordering::Relaxed);
        lock(&self.queue).drain(..).collect()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.changed.notified().boxed()
    }

    fn cancel(&self) {
        self.tell(vec![Happening::Ended(Ended::Run)]);
    }

    fn save_to(&self, _: Option<PathBuf>) {}

    fn answer(&self, _: &Address, _: String) {}

    fn put_down(&self) {}
}
