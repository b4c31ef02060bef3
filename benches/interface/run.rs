//! A run whose events come from the measurement: finished turns of 100,000 lines, and a reply in small pieces.

use std::sync::Arc;

use ptc_core::value::json;
use ptc_workbench::agent::Step;
use ptc_workbench::event::{
    Address, Envelope, Event, JsonText, PartKind, ReplyEnd, ReplyPart, ReplyStatus, RequestMade, RunEnd, RunStart,
    TurnEnd, TurnStart, Want,
};
use ptc_workbench::port::Stop;
use ptc_workbench::workbench::{BackgroundRun, Feed, QuestionQueue, RunHandle};
use tokio::sync::oneshot;

/// Finished turns before the one that is answered.
pub(crate) const TURNS: u64 = 2_000;
/// Lines of each.
pub(crate) const LINES: usize = 50;

/// Form of the streamed reply.
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

    /// Returns the text that the last frame shows once this many pieces have arrived.
    pub(crate) fn last(self, sent: u64) -> String {
        match self {
            Self::Text => format!("word{}", sent.saturating_sub(1)),
            // Ids are in every fourth piece.
            Self::Json => format!("\"id\": {}", sent.saturating_sub(2) / 4 * 4 + 1),
            Self::Program => format!("{{:id {}}}", sent.saturating_sub(1)),
        }
    }

    /// An event with the piece of this number.
    pub(crate) fn event(self, number: u64) -> Envelope {
        part(&last_turn(), self.delta(number))
    }

    /// A run whose finished turns hold 100,000 lines, and one more turn that waits for its reply.
    pub(crate) fn long_run(self) -> Vec<Envelope> {
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
        events
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
    TurnStart { now: 0, kind: None, remaining: ptc_workbench::event::BudgetRecord::default(), waited_ms: 0, stop: None }
}

/// A run that the interface follows.
pub(crate) struct Run {
    feed: Feed,
    end: oneshot::Sender<()>,
}

impl Run {
    /// The run, and its handle for the driver. Must be called inside of the runtime.
    pub(crate) fn new() -> (Self, RunHandle) {
        let (feed, (end, ended)) = (Feed::default(), oneshot::channel());
        let task = tokio::spawn(async move {
            drop(ended.await);
            Step::default()
        });
        let (session, path, saver, warnings) = (None, None, None, Vec::new());
        let run = BackgroundRun { session, path, saver, feed: feed.clone(), stop: Stop::default(), warnings, task };
        (Self { feed, end }, RunHandle::of_run(run, Arc::new(QuestionQueue::default())))
    }

    pub(crate) fn push(&self, events: impl IntoIterator<Item = Envelope>) {
        events.into_iter().for_each(|event| self.feed.push(event));
    }

    pub(crate) fn end(self) {
        self.push([envelope("r0", RunEnd::default())]);
        // The task waits for nothing else.
        _ = self.end.send(());
    }
}
