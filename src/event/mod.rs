//! Events of a run: each kind as a stored struct, its class, and the envelope of a session line.
//!
//! In: events. Out: one JSON line per event, and back. Kinds that this program does not know are kept as they are.
//! It must never hold a time, a price or a file offset inside a derived event: replay compares those byte for byte.

mod address;
mod classes;
mod digest;
mod escapes;
mod gaps;
mod kinds;
mod ledger;
mod messages;
mod raw;
mod usage;
mod waits;
mod words;

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use address::Address;
#[doc(hidden)]
pub use classes::{FIELDS, FieldClass, class_of_field};
#[doc(hidden)]
pub use digest::InputDigest;
pub(crate) use escapes::escape_json;
#[doc(hidden)]
pub use gaps::Gaps;
pub use kinds::*;
#[doc(hidden)]
pub use ledger::{RunLedger, turn_spending};
pub use messages::{RepeatedReply, Replies, RunText, SentMessage, SentPart};
pub(crate) use messages::{in_order, ranges, slice};
pub use raw::JsonText;
#[doc(hidden)]
pub use usage::{FromCache, OwnUsage, Spending, TotalUsage};
#[doc(hidden)]
pub use waits::Waits;
pub(crate) use words::words;

/// Treatment of an event by replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Came from outside: recorded, fed back on replay.
    Input,
    /// Computed: recomputed on replay and compared.
    Derived,
    /// Shown, never compared.
    Note,
}

macro_rules! events {
    ($($variant:ident $kind:literal $class:ident $meaning:literal;)*) => {
        /// An event.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Event {
            $(#[doc = $meaning] $variant($variant),)*
            /// A kind this program does not know, kept as it was read.
            Unknown(Unknown),
        }

        /// The schema of every kind's data, in the order of [`KINDS`].
        #[cfg(test)]
        pub(crate) fn data_schemas(generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema> {
            vec![$(generator.subschema_for::<$variant>()),*]
        }

        /// Every kind: name, class, meaning.
        pub const KINDS: &[(&str, Class, &str)] = &[$(($kind, Class::$class, $meaning),)*];

        impl Event {
            /// The stored name of the kind.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            /// Returns its class; unknown kinds are notes. A program that was ended from outside is not run again: its end is an input.
            pub fn class(&self) -> Class {
                match self {
                    Self::ProgramEnd(end) if end.interrupted => Class::Input,
                    $(Self::$variant(_) => Class::$class,)*
                    Self::Unknown(_) => Class::Note,
                }
            }

            /// Its data as JSON text.
            pub fn data(&self) -> Result<Box<RawValue>, serde_json::Error> {
                match self {
                    $(Self::$variant(data) => serde_json::value::to_raw_value(data),)*
                    Self::Unknown(unknown) => Ok(unknown.data.clone()),
                }
            }

            /// The event of this kind with this data. Errors name the kind.
            pub fn read(kind: &str, data: &RawValue) -> Result<Self, serde_json::Error> {
                match kind {
                    $($kind => parse(data).map(Self::$variant),)*
                    _ => Ok(Self::Unknown(Unknown { kind: kind.to_owned(), data: data.to_owned() })),
                }
            }
        }

        $(impl From<$variant> for Event {
            fn from(data: $variant) -> Self {
                Self::$variant(data)
            }
        })*
    };
}

events! {
    RunStart "run.start" Input "a run starts: agent, model, limits, context";
    TurnStart "turn.start" Input "a turn starts: the time and the remaining budgets";
    MessageAdded "message" Derived "a message that a request will carry";
    RequestMade "request" Derived "the request of a turn: which messages, schema, options";
    Sent "sent" Note "an attempt was sent";
    Wire "wire" Note "the raw frames of an attempt, compressed";
    RawRequest "raw.request" Note "the bytes of a request of another program, as it passed the proxy";
    RawReply "raw.reply" Note "the head of the reply to it";
    RetryWait "retry.wait" Note "waiting before the next attempt";
    ReplyPart "reply.part" Input "text of a reply as it arrived";
    ReplyEnd "reply.end" Input "an attempt ended";
    Extract "extract" Derived "what was found in the reply, by which rule, after which repairs";
    Check "check" Derived "a check of inputs, an answer or memory against its type";
    ProgramEnd "program.end" Derived "a program ended: value, prints, error";
    ToolCall "tool.call" Derived "a tool is called";
    ToolEnd "tool.end" Input "a tool answered";
    QuestionAsked "question" Derived "the user is asked";
    AnswerGiven "answer" Input "the user answered";
    MemoryChange "memory" Derived "the definitions of a program";
    TasksKept "tasks" Note "the journal of finished tasks";
    CompactionDone "compaction" Derived "a request omits a part of the history";
    PlanState "plan" Derived "the checklist after a turn";
    Edit "edit" Input "an edit at the point of a fork";
    Interrupt "interrupt" Input "the run was stopped from outside";
    TurnEnd "turn.end" Derived "a turn ended, with running totals";
    RunEnd "run.end" Derived "the run returned or failed";
    RunWait "run.wait" Note "the run waits for the user";
    Resume "resume" Note "a suspended or interrupted run continues";
    Notice "notice" Note "a notice to the user";
}

/// An event of a kind this program does not know.
#[derive(Debug, Clone)]
pub struct Unknown {
    /// Its kind.
    pub kind: String,
    /// Its data as read.
    pub data: Box<RawValue>,
}

impl PartialEq for Unknown {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.data.get() == other.data.get()
    }
}

fn parse<T: DeserializeOwned>(data: &RawValue) -> Result<T, serde_json::Error> {
    serde_json::from_str(data.get())
}

/// Returns the time from one Unix time to a later one, in ms; 0 when it is not later. Files may hold any numbers.
#[doc(hidden)]
pub fn elapsed_ms(from_ms: i64, to_ms: i64) -> u64 {
    u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or_default()
}

/// One line of a session file after the header.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// Number in the session, from 1, without gaps.
    pub seq: u64,
    /// Unix time in ms.
    pub at_ms: i64,
    /// Address of the run, turn, call or question.
    pub address: Address,
    /// The event.
    pub event: Event,
}

/// An event as a line of the file; the data is borrowed and not parsed.
#[doc(hidden)]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Line<'a> {
    /// Number in the session, from 1, without gaps.
    pub s: u64,
    /// Unix time in ms.
    pub t: i64,
    /// Address of the run, turn, call or question.
    #[serde(borrow)]
    pub r: Cow<'a, str>,
    /// Kind of the event.
    #[serde(borrow)]
    pub k: Cow<'a, str>,
    /// Data of the event, by its kind.
    #[serde(borrow)]
    #[cfg_attr(test, schemars(with = "serde_json::Value"))]
    pub d: &'a RawValue,
    /// On `turn.end`: bytes back to the start of the previous `turn.end` line of the file (absent on the first).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<u64>,
}

impl Envelope {
    /// The run it belongs to. At the address of a call the caller records the call, and the run that the call starts records the rest.
    pub fn run(&self) -> Address {
        let of_caller = matches!(self.event, Event::ToolCall(_) | Event::ToolEnd(_));
        if self.address.is_call() && !of_caller { self.address.clone() } else { self.address.run_part() }
    }

    /// The line of this envelope, without its line end. Characters that a terminal could act on are escaped.
    pub fn to_line(&self, back: Option<u64>) -> Result<String, serde_json::Error> {
        let data = self.event.data()?;
        let line = serde_json::to_string(&Line {
            s: self.seq,
            t: self.at_ms,
            r: Cow::Borrowed(self.address.as_str()),
            k: Cow::Borrowed(self.event.kind()),
            d: &data,
            b: back,
        })?;
        Ok(match escape_json(&line) {
            Cow::Borrowed(_) => line,
            Cow::Owned(escaped) => escaped,
        })
    }

    /// The envelope of a line.
    pub fn from_line(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Line<'_>>(line)?.envelope()
    }
}

impl<'l> Line<'l> {
    /// Reads a line without its line end. Errors: what is wrong with it.
    pub fn parse(text: &'l [u8]) -> Result<Self, serde_json::Error> {
        let line: Self = serde_json::from_slice(text)?;
        match line.r.len() {
            0..=Address::MAX_BYTES => Ok(line),
            length => {
                let message = format!("its address has {length} bytes, the limit is {}", Address::MAX_BYTES);
                Err(serde::de::Error::custom(message))
            }
        }
    }
}

impl Line<'_> {
    /// The envelope, its data read.
    pub fn envelope(&self) -> Result<Envelope, serde_json::Error> {
        let event = Event::read(&self.k, self.d)?;
        Ok(Envelope { seq: self.s, at_ms: self.t, event, address: Address::from(&*self.r) })
    }

    /// The run it belongs to, as in [`Envelope::run`].
    pub fn run(&self) -> &str {
        let of_caller = self.k == "tool.call" || self.k == "tool.end";
        let is_call = self.r.rsplit('/').next().is_some_and(|last| last.starts_with('c'));
        if is_call && !of_caller { &self.r } else { self.r.rfind("/t").map_or(&*self.r, |at| &self.r[..at]) }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Derived => "derived",
            Self::Note => "note",
        })
    }
}
