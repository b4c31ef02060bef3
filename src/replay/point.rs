//! Points of a session at which another one can branch off: an address and a stage.
//!
//! In: `r0/t2:reply`. Out: the last event to copy, and the turn or call that the edits apply to.

use ptc_core::text::did_you_mean;

use super::Recording;
use crate::event::{Address, Envelope, Event};

/// Stage of a turn or call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Before the turn starts.
    Request,
    /// After the request: the reply is open.
    Reply,
    /// After the start of a call: its result is open.
    Call,
    /// After a question to the user: the answer is open.
    Answer,
    /// After the turn, before the next one starts.
    After,
}

impl Stage {
    /// All stages.
    pub const ALL: [Self; 5] = [Self::Request, Self::Reply, Self::Call, Self::Answer, Self::After];

    /// Returns the name that follows the address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Reply => "reply",
            Self::Call => "call",
            Self::Answer => "answer",
            Self::After => "after",
        }
    }
}

/// A point of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The turn, call or question.
    pub address: Address,
    /// The stage.
    pub stage: Stage,
    /// Sequence number of the last copied event.
    pub seq: u64,
    /// The turn, call or question that the edits apply to.
    pub target: Address,
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.address, self.stage.name())
    }
}

impl Point {
    /// Parses `ADDRESS[:STAGE]`. Without a stage, turns use `usual`; calls and questions have one stage each.
    ///
    /// Errors: unknown address (with the known ones), or the stage does not exist there.
    pub fn find(recording: &Recording, text: &str, usual: Stage) -> Result<Self, String> {
        let (address, stage) = match text.split_once(':') {
            Some((address, stage)) => (Address::from(address), Some(parse_stage(stage)?)),
            None => (Address::from(text), None),
        };
        if address.is_call() {
            return match stage.unwrap_or(Stage::Call) {
                Stage::Call => Self::at_call(recording, &address),
                other => Err(format!("{address} is a call: it has the stage call, not {}", other.name())),
            };
        }
        if address.is_question() {
            return match stage.unwrap_or(Stage::Answer) {
                Stage::Answer => Self::at_question(recording, &address),
                other => Err(format!("{address} is a question: it has the stage answer, not {}", other.name())),
            };
        }
        let stage = stage.unwrap_or(usual);
        let start = seq(recording, &address, |event| matches!(event, Event::TurnStart(_)))
            .ok_or_else(|| missing(recording, &address))?;
        match stage {
            Stage::Request => Ok(Self { stage, seq: start.saturating_sub(1), target: address.clone(), address }),
            Stage::Reply => match seq(recording, &address, |event| matches!(event, Event::RequestMade(_))) {
                Some(seq) => Ok(Self { stage, seq, target: address.clone(), address }),
                None => Err(format!("no request was made at {address}")),
            },
            Stage::Call => match calls(recording, &address).as_slice() {
                [call] => Self::at_call(recording, call),
                [] => Err(format!("no tool was called at {address}")),
                several => Err(ambiguous(&address, "calls", several)),
            },
            Stage::Answer => match questions(recording, &address).as_slice() {
                [question] => Self::at_question(recording, question),
                [] => Err(format!("no question was asked at {address}")),
                several => Err(ambiguous(&address, "questions", several)),
            },
            Stage::After => Self::after(recording, address),
        }
    }

    fn at_call(recording: &Recording, call: &Address) -> Result<Self, String> {
        let made = |event: &Event| matches!(event, Event::ToolCall(_));
        let seq = seq(recording, call, made).ok_or_else(|| missing(recording, call))?;
        Ok(Self { address: call.clone(), stage: Stage::Call, seq, target: call.clone() })
    }

    fn at_question(recording: &Recording, question: &Address) -> Result<Self, String> {
        let asked = |event: &Event| matches!(event, Event::QuestionAsked(_));
        let seq = seq(recording, question, asked).ok_or_else(|| missing(recording, question))?;
        Ok(Self { address: question.clone(), stage: Stage::Answer, seq, target: question.clone() })
    }

    fn after(recording: &Recording, address: Address) -> Result<Self, String> {
        let end = seq(recording, &address, |event| matches!(event, Event::TurnEnd(_)))
            .ok_or_else(|| format!("{address} has not ended"))?;
        let run = address.run_part();
        let next = run.turn(address.turn_number().unwrap_or_default() + 1);
        if recording.is_complete(&run) && recording.turn_start(&next).is_none() {
            return Err(format!(
                "{run} ended with {address}: nothing follows it (`continue` adds a new message, {address}:reply requests another reply)"
            ));
        }
        Ok(Self { address, stage: Stage::After, seq: end, target: next })
    }
}

fn parse_stage(name: &str) -> Result<Stage, String> {
    Stage::ALL.into_iter().find(|stage| stage.name() == name).ok_or_else(|| {
        let names = Stage::ALL.map(Stage::name);
        let near = did_you_mean(name, names);
        format!("unknown stage {name:?}{near} (stages: {})", names.join(", "))
    })
}

fn seq(recording: &Recording, at: &Address, wanted: fn(&Event) -> bool) -> Option<u64> {
    recording.at(at).iter().find(|envelope| wanted(&envelope.event)).map(|envelope| envelope.seq)
}

fn calls(recording: &Recording, turn: &Address) -> Vec<Address> {
    all(recording, turn, |event| matches!(event, Event::ToolCall(_)))
}

fn questions(recording: &Recording, turn: &Address) -> Vec<Address> {
    all(recording, turn, |event| matches!(event, Event::QuestionAsked(_)))
}

/// Returns the addresses of matching events of a turn.
fn all(recording: &Recording, turn: &Address, wanted: fn(&Event) -> bool) -> Vec<Address> {
    let of_turn = |envelope: &Envelope| wanted(&envelope.event) && envelope.address.turn_part() == *turn;
    recording.events_within(turn).into_iter().filter(of_turn).map(|envelope| envelope.address).collect()
}

/// The turn alone is ambiguous.
fn ambiguous(turn: &Address, what: &str, several: &[Address]) -> String {
    let more = if several.len() > NAMED { ", …" } else { "" };
    let names: Vec<_> = several.iter().take(NAMED).map(Address::as_str).collect();
    format!("{turn} has several {what}: name one of {}{more}", names.join(", "))
}

/// Maximum number of addresses in an error message.
const NAMED: usize = 8;

fn missing(recording: &Recording, address: &Address) -> String {
    let calls = || recording.calls_and_questions().into_iter();
    let turns = || {
        let runs = recording.all_runs().iter();
        runs.flat_map(|run| (1..=recording.turns(run)).map(move |number| run.turn(number)))
    };
    let mut all: Vec<Address> = turns().chain(calls()).collect();
    all.sort();
    let near = did_you_mean(address.as_str(), all.iter().map(Address::as_str));
    let within = |known: &&Address| known.run_part() == address.run_part();
    let mut shown: Vec<&Address> = all.iter().filter(within).collect();
    if shown.is_empty() {
        shown = all.iter().collect();
    }
    let more = if shown.len() > NAMED { ", …" } else { "" };
    let names: Vec<_> = shown.iter().take(NAMED).map(|known| known.as_str()).collect();
    if names.is_empty() {
        return format!("unknown address {address}: the session has no turns");
    }
    format!("no turn, call or question {address}{near} (known: {}{more})", names.join(", "))
}
