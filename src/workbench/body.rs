//! The body of a request as it was sent.
//!
//! In: a session and an attempt: `r0/t2`, or `r0/t2:1` for its first attempt. Out: the exact bytes, rebuilt from the recorded messages and
//! checked against the recorded hash. It must never return bytes with another hash.

use std::collections::HashMap;
use std::sync::Arc;

use ptc_core::reasons::Reason;

use crate::event::{Address, ErrorRecord, Event, JsonText, Message, RequestMade, Role, RunText, Sent};
use crate::model::{self, Request, Retry, rebuild_body};
use crate::prompt::outgoing;
use crate::record::TurnAttempts;
use crate::session::Session;

/// Returns the body that an attempt sent. Without the number of an attempt it is the last one.
///
/// Errors: no such turn or attempt, nothing left the machine, or the rebuilt body is not the one that was sent.
pub fn sent_body(session: &Session, at: &str) -> Result<String, ErrorRecord> {
    let unknown = |message: String| ErrorRecord::new(Reason::SessionUnreadable, message);
    let (turn, attempt) = match at.split_once(':') {
        None => (Address::from(at), None),
        Some((turn, number)) => {
            let number = number.parse::<u32>();
            let number = number.map_err(|_| unknown(format!("{at}: the attempt after the colon is not a number")))?;
            (Address::from(turn), Some(number))
        }
    };
    let (made, messages) = request(session, &turn).ok_or_else(|| {
        unknown(format!("no request was made at {turn}; `sessions show` prints the address of each turn"))
    })?;
    let sent = attempts(session, &turn);
    let found = match attempt {
        Some(number) => sent.iter().find(|sent| sent.attempt == number),
        None => sent.last(),
    };
    let Some(found) = found else {
        let numbers: Vec<String> = sent.iter().map(|sent| sent.attempt.to_string()).collect();
        return Err(unknown(match (attempt, numbers.as_slice()) {
            (_, []) => {
                format!("nothing was sent at {turn}: its model answers inside the program, or the reply was edited")
            }
            (number, numbers) => {
                let number = number.unwrap_or_default();
                format!("attempt {number} was not sent at {turn}; its attempts are {}", numbers.join(", "))
            }
        }));
    };
    rebuild_body(&recorded_request(&turn, &made, messages), found).map_err(|hash| {
        unknown(format!(
            "the body of attempt {} at {turn} could not be rebuilt: its SHA-256 is {hash}, that of the body that was sent is {}; the \
             session was changed after it was recorded, or {} builds requests in another way than this program",
            found.attempt, found.sha, session.header.program
        ))
    })
}

/// The attempts of a turn that left the machine.
fn attempts(session: &Session, turn: &Address) -> Vec<Sent> {
    let places = session.skeleton().turn(turn).map(|entry| entry.events.range()).unwrap_or_default();
    let events = places.filter_map(|place| session.event(place)).filter(|envelope| envelope.address == *turn);
    events
        .filter_map(|envelope| match envelope.event {
            Event::Sent(sent) => Some(sent),
            _ => None,
        })
        .collect()
}

/// The request of a turn and its messages as the model got them.
fn request(session: &Session, turn: &Address) -> Option<(RequestMade, Vec<Arc<model::Message>>)> {
    let (place, places) = session.request_indexes(turn)?;
    let Event::RequestMade(made) = session.event(place)?.event else { return None };
    let run = turn.run_part();
    let (mut replies, mut messages) = (TurnAttempts::new(), HashMap::<u32, Message>::new());
    for envelope in places.into_iter().filter_map(|place| session.event(place)).filter(|known| known.run() == run) {
        match envelope.event {
            Event::Message(message) => _ = messages.insert(message.m, message),
            event => replies.entry(envelope.address).or_default().apply(&event),
        }
    }
    let repeated: RunText = replies.into_iter().map(|(turn, attempts)| (turn, attempts.repeated())).collect();
    let numbers = made.messages.iter().flat_map(|(first, last)| *first..=*last);
    let messages = numbers.filter_map(|m| messages.get(&m)).map(|message| Arc::new(outgoing(message, &repeated)));
    Some((made.clone(), messages.collect()))
}

/// The request as far as bodies depend on it: their frames are recorded, only their messages are not.
fn recorded_request(turn: &Address, made: &RequestMade, messages: Vec<Arc<model::Message>>) -> Request {
    let (system, messages): (Vec<_>, Vec<_>) = messages.into_iter().partition(|message| message.role == Role::System);
    let system: Vec<String> = system.iter().map(|message| message.joined()).collect();
    Request {
        address: turn.clone(),
        agent: String::new(),
        mode: String::new(),
        want: made.want,
        system: (!system.is_empty()).then(|| system.concat()),
        messages,
        schema: made.schema.as_ref().map(JsonText::json),
        tools: made.tools.clone(),
        tool_choice: None,
        tool_names: made.tool_names.clone(),
        tool_signatures: Vec::new(),
        signature: None,
        options: made.options.clone(),
        retry: Retry::default(),
        cache: made.cache,
        seed: 0,
    }
}
