//! The model `sample`: answers any signature with generated, valid data, and with faults on demand.
//!
//! In: a request with its signature or schema. Out: replies that depend only on the seed, the turn and the fault.

use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::signature::{self, json_schema};
use ptc_core::text::nearest;
use ptc_core::value::{Json, json::Node};

use super::{Call, ErrorClass, Finish, Model, ModelError, ModelEvent, Reply, Request};
use crate::event::{ModelRecord, ReplyEnd, ReplyStatus, RetryWait};

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
    BadJson "bad_json" "The reply is broken JSON that no repair can read.";
    MissingField "missing_field" "The first field is missing.";
    WrongType "wrong_type" "The first field has another type.";
    Prose "prose" "Sentences stand around the answer.";
    TwoBlocks "two_blocks" "A draft that does not fit stands before the answer, each in a fence.";
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
                    return Err(format!("{word}: one fault at a time; another one is named before it"));
                }
            } else {
                let names = || FAULTS.iter().map(|(_, name, _)| *name);
                let near = nearest(word, names()).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
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

/// What a reply is made of.
struct Made {
    text: String,
    finish: Finish,
    pause_ms: u64,
}

impl Model for Sample {
    fn info(&self) -> ModelRecord {
        ModelRecord { alias: self.alias(), provider: "sample".into(), id: "sample".into(), price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let fault = self.fault.filter(|_| self.every || request.turn() == 1);
            let attempt = if fault == Some(Fault::ProviderError) { self.fail(call).await? } else { 1 };
            let made = self.make(request, fault);
            let step = if fault == Some(Fault::Slow) { 3 } else { DELTA_BYTES };
            for delta in chunks(&made.text, step) {
                pause(call, made.pause_ms).await?;
                call.text(attempt, delta).await;
            }
            Ok(Reply { finish: Some(made.finish), attempt, ..Reply::from(made.text) })
        })
    }
}

impl Sample {
    /// Fails as a server would; returns the attempt that may go on.
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
            call.tell(ModelEvent::Discarded(end)).await;
            let wait = RetryWait {
                attempt,
                wait_ms: RETRY_MS,
                class: ErrorClass::Server.name().to_owned(),
                retry_after: false,
                message: error().message,
            };
            call.tell(ModelEvent::RetryWait(wait)).await;
            pause(call, RETRY_MS).await?;
        }
        Ok(failing + 1)
    }

    fn make(&self, request: &Request, fault: Option<Fault>) -> Made {
        let answer = generate(request, self.seed.unwrap_or(request.seed));
        let text = answer.to_text();
        let whole = |text: String| Made { text, finish: Finish::Stop, pause_ms: PAUSE_MS };
        match fault {
            None | Some(Fault::ProviderError) => whole(text),
            Some(Fault::Slow) => Made { pause_ms: SLOW_PAUSE_MS, ..whole(text) },
            Some(Fault::BadJson) => whole("{\"answer\" ]: ,,, {{ broken on purpose".to_owned()),
            Some(Fault::MissingField) => whole(without_first(&answer).to_text()),
            Some(Fault::WrongType) => whole(with_wrong_first(&answer).to_text()),
            Some(Fault::Prose) => whole(format!("Here is {{what}} you asked for:\n\n{text}\n\nAnything else?")),
            Some(Fault::TwoBlocks) => {
                let draft = without_first(&answer).to_text();
                whole(format!("A draft:\n```json\n{draft}\n```\nThe answer:\n```json\n{text}\n```\n"))
            }
            Some(Fault::EndlessLoop) => {
                Made { text: "I repeat myself. ".repeat(REPETITIONS), finish: Finish::Length, pause_ms: 1 }
            }
            Some(Fault::CutReply) => {
                let half = text.chars().take(text.chars().count() / 2).collect();
                Made { finish: Finish::Length, ..whole(half) }
            }
        }
    }
}

/// Valid data for what the request wants.
fn generate(request: &Request, seed: u64) -> Json {
    let output = request.signature.as_deref().and_then(|text| signature::parse_inputs(text).ok()?.output);
    match (output, &request.schema) {
        (Some(output), _) => json_schema::Wrap::of(&output).around(signature::sample(&output, seed, "")),
        (None, Some(schema)) => json_schema::from_json_schema(schema)
            .map_or_else(|_| Json::object::<String>([]), |ty| signature::sample(&ty, seed, "")),
        (None, None) => Json::object::<String>([]),
    }
}

/// The answer without its first field, or an empty object.
fn without_first(answer: &Json) -> Json {
    let members = answer.members().unwrap_or_default();
    Json::object(members.iter().skip(1).map(|member| (member.key.clone(), member.value.clone())))
}

/// The answer with a first field that has another type.
fn with_wrong_first(answer: &Json) -> Json {
    let wrong = |value: &Json| match &value.node {
        Node::List(_) | Node::Object(_) => Json::str("not what was asked for"),
        _ => Json::list([value.clone()]),
    };
    let Some(members) = answer.members() else { return wrong(answer) };
    Json::object(members.iter().enumerate().map(|(place, member)| {
        (member.key.clone(), if place == 0 { wrong(&member.value) } else { member.value.clone() })
    }))
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
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_written_the_same_way() {
        let sample = Sample::parse("missing_field,seed=7,every").unwrap();
        assert_eq!(sample, Sample { fault: Some(Fault::MissingField), seed: Some(7), every: true });
        assert_eq!(sample.alias(), "sample:missing_field,seed=7,every");
        assert_eq!(Sample::parse("").unwrap().alias(), "sample");
    }

    #[test]
    fn an_unknown_fault_names_the_nearest() {
        let error = Sample::parse("mising_field").unwrap_err();
        assert!(error.starts_with("unknown fault \"mising_field\"; did you mean missing_field?"), "{error}");
        assert_eq!(
            Sample::parse("prose,two_blocks").unwrap_err(),
            "two_blocks: one fault at a time; another one is named before it"
        );
        assert_eq!(Sample::parse("seed=x").unwrap_err(), "seed=x is not a whole number");
    }
}
