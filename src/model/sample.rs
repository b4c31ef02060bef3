//! The model `sample`: answers any signature with generated, valid data, and with faults on demand.
//!
//! In: a request with its signature or schema. Out: replies in the shape that the mode wants, each tool called once before the answer. They
//! depend only on the seed, the history and the fault.

mod calls;
mod shape;

use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::text::did_you_mean;

use super::{Call, ErrorClass, Finish, Model, ModelError, ModelEvent, Reply, Request};
use crate::event::{ModelRecord, NativeCall, PartKind, ReplyEnd, ReplyStatus, RetryWait};

macro_rules! faults {
    ($($variant:ident $name:literal $meaning:literal;)*) => {
        /// A fault that the model makes on purpose.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Fault {
            $(#[doc = $meaning] $variant,)*
        }

        /// Every fault: name and what it does.
        pub const FAULTS: &[(Fault, &str, &str)] = &[$((Fault::$variant, $name, $meaning),)*];
    };
}

faults! {
    BadJson "bad_json" "The reply is JSON that cannot be repaired; or an invalid program, or invalid arguments.";
    MissingField "missing_field" "The first field is missing: of the answer, or of a call's arguments.";
    WrongType "wrong_type" "The first field has another type.";
    Prose "prose" "The answer is surrounded by prose; calls have prose next to them.";
    TwoBlocks "two_blocks" "An invalid draft precedes the answer, each in its own fence.";
    EndlessLoop "endless_loop" "The reply repeats itself until its length limit.";
    CutReply "cut_reply" "The length limit cuts the reply in the middle.";
    Slow "slow" "The reply arrives slowly, a few characters at a time.";
    ProviderError "provider_error" "The first attempt ends with a server error; with `every`, all of them.";
}

/// Settings of the model, as in `sample:missing_field,seed=7,every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// The fault.
    pub fault: Option<Fault>,
    /// Seed of the data; the run's seed counts when it is absent.
    pub seed: Option<u64>,
    /// The fault happens in every turn instead of the first one only.
    pub every: bool,
}

impl Sample {
    /// Settings from the text after `sample:`. Errors name the word and what is known.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut sample = Self::default();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if word == "every" {
                sample.every = true;
            } else if let Some(seed) = word.strip_prefix("seed=") {
                let seed = seed.parse().map_err(|_| format!("seed={seed} is not a whole number"))?;
                sample.seed = Some(seed);
            } else if let Some((fault, ..)) = FAULTS.iter().find(|(_, name, _)| *name == word) {
                if sample.fault.replace(*fault).is_some() {
                    return Err(format!("{word}: only one fault is allowed"));
                }
            } else {
                let names = || FAULTS.iter().map(|(_, name, _)| *name);
                let near = did_you_mean(word, names());
                let all = names().collect::<Vec<_>>().join(", ");
                return Err(format!("unknown fault {word:?}{near} (faults: {all}; also seed=N and every)"));
            }
        }
        Ok(sample)
    }

    fn alias(&self) -> String {
        let mut words = Vec::new();
        if let Some(fault) = self.fault {
            words.extend(FAULTS.iter().find(|(known, ..)| *known == fault).map(|(_, name, _)| (*name).to_owned()));
        }
        words.extend(self.seed.map(|seed| format!("seed={seed}")));
        words.extend(self.every.then(|| "every".to_owned()));
        if words.is_empty() { "sample".to_owned() } else { format!("sample:{}", words.join(",")) }
    }
}

/// About the most deltas of a reply: a long one streams for three seconds, whatever its length.
const MAX_DELTAS: usize = 200;
/// Bytes of a delta at normal speed.
const DELTA_BYTES: usize = 12;
/// Pause between deltas, in ms.
const PAUSE_MS: u64 = 15;
/// Pause between deltas of a slow reply, in ms.
const SLOW_PAUSE_MS: u64 = 250;
/// Length of an endless reply, in repetitions.
const REPETITIONS: usize = 400;
/// Attempts before a provider error is given up.
const ATTEMPTS: u32 = 3;
/// Wait between attempts, in ms.
const RETRY_MS: u64 = 400;

/// Text and calls of a reply.
#[derive(Debug, Default)]
struct Made {
    text: String,
    calls: Vec<NativeCall>,
}

impl Made {
    fn bytes(&self) -> usize {
        self.text.len() + self.calls.iter().map(|call| call.args.len()).sum::<usize>()
    }
}

impl Model for Sample {
    fn info(&self) -> ModelRecord {
        ModelRecord { alias: self.alias(), provider: "sample".into(), id: "sample".into(), price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let fault = self.fault.filter(|_| self.every || request.turn() == 1);
            let attempt = if fault == Some(Fault::ProviderError) { self.fail(call).await? } else { 1 };
            let seed = self.seed.unwrap_or(request.seed);
            let mut made = match fault {
                Some(Fault::EndlessLoop) => Made { text: "I repeat myself. ".repeat(REPETITIONS), calls: Vec::new() },
                _ => shape::reply(request, seed, fault),
            };
            if fault == Some(Fault::CutReply) {
                cut(&mut made);
            }
            let (step, pause_ms) = match fault {
                Some(Fault::Slow) => (3, SLOW_PAUSE_MS),
                Some(Fault::EndlessLoop) => (DELTA_BYTES, 1),
                _ => (DELTA_BYTES.max(made.bytes() / MAX_DELTAS), PAUSE_MS),
            };
            for delta in chunks(&made.text, step) {
                pause(call, pause_ms).await?;
                call.text(attempt, delta).await;
            }
            for piece in call_pieces(&made.calls, step) {
                pause(call, pause_ms).await?;
                call.emit(ModelEvent::Delta { attempt, kind: PartKind::Call, text: piece }).await;
            }
            let finish = match fault {
                Some(Fault::EndlessLoop | Fault::CutReply) => Finish::Length,
                _ if made.calls.is_empty() => Finish::Stop,
                _ => Finish::ToolCalls,
            };
            Ok(Reply { finish: Some(finish), attempt, calls: made.calls, ..Reply::from(made.text) })
        })
    }
}

impl Sample {
    /// Fails as a server would; returns the attempt that may continue.
    async fn fail(&self, call: &Call) -> Result<u32, ModelError> {
        let error = || {
            let mut error =
                ModelError::new(ErrorClass::Server, "the sample server answered 503: overloaded on purpose");
            error.status = Some(503);
            error.hint("this fault was asked for by the model's name, sample:provider_error")
        };
        let failing = if self.every { ATTEMPTS } else { 1 };
        for attempt in 1..=failing {
            pause(call, PAUSE_MS).await?;
            if attempt == ATTEMPTS {
                return Err(ModelError { attempt, requests: attempt, ..error() });
            }
            let end = ReplyEnd { error: Some(error().record()), ..ReplyEnd::new(attempt, ReplyStatus::Discarded) };
            call.emit(ModelEvent::Discarded(Box::new(end))).await;
            let wait = RetryWait {
                attempt,
                wait_ms: RETRY_MS,
                class: ErrorClass::Server.name().to_owned(),
                retry_after: false,
                message: error().message,
                of: Some(ATTEMPTS),
            };
            call.emit(ModelEvent::RetryWait(wait)).await;
            pause(call, RETRY_MS).await?;
        }
        Ok(failing + 1)
    }
}

/// The first half of the last part.
fn cut(made: &mut Made) {
    let last = made.calls.last_mut().map_or(&mut made.text, |call| &mut call.args);
    *last = last.chars().take(last.chars().count() / 2).collect();
}

/// Calls as they arrive from a provider: the name first, then the arguments in pieces.
fn call_pieces(calls: &[NativeCall], bytes: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    for (place, call) in calls.iter().enumerate() {
        let gap = if place == 0 { "" } else { "\n" };
        pieces.push(format!("{gap}{} ", call.name));
        pieces.extend(chunks(&call.args, bytes));
    }
    pieces
}

/// Pieces of about `bytes` bytes, cut between characters.
fn chunks(text: &str, bytes: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for c in text.chars() {
        match pieces.last_mut() {
            Some(piece) if piece.len() < bytes => piece.push(c),
            _ => pieces.push(c.to_string()),
        }
    }
    pieces
}

async fn pause(call: &Call, ms: u64) -> Result<(), ModelError> {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(ms)) => Ok(()),
        () = call.cancel.cancelled() => Err(ModelError::cancelled()),
    }
}

#[cfg(test)]
mod tests;
