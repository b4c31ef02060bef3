//! The body of a request as it was sent.
//!
//! In: a session and an attempt: `r0/t2`, or `r0/t2:1` for its first attempt; `r0/t2:client` and `r0/t2:service` are the request and the
//! reply that the proxy replaced by others. Out: the exact bytes, rebuilt from the recorded messages and checked against the recorded hash.
//! It must never return bytes with another hash.

use ptc_core::text::did_you_mean;

use super::OpenError;
use crate::event::{Address, Event, Sent};
use crate::model::Coding;
use crate::replay::{RecordedBodies, came_body, came_of};
use crate::session::{AttachmentStore, Session};

/// Turns that an error names.
const NAMED: usize = 8;

/// Returns the body that an attempt sent, as text: bytes that are not text become U+FFFD. Errors: see [`sent_bytes`].
pub fn sent_body(session: &Session, at: &str) -> Result<String, OpenError> {
    sent_bytes(session, at).map(|body| String::from_utf8_lossy(&body).into_owned())
}

/// Returns the body that an attempt sent. Without the number of an attempt it is the last one.
///
/// Errors: no such turn or attempt, nothing left the machine, or the rebuilt body is not the one that was sent.
pub fn sent_bytes(session: &Session, at: &str) -> Result<Vec<u8>, OpenError> {
    let (turn, attempt) = match at.split_once(':') {
        Some((turn, side @ ("client" | "service"))) => return replaced_body(session, &Address::from(turn), side),
        None => (Address::from(at), None),
        Some((turn, number)) => {
            let number = number.parse::<u32>();
            let number = number.map_err(|_| OpenError(format!("{at}: the attempt after the colon is not a number")))?;
            (Address::from(turn), Some(number))
        }
    };
    let files = AttachmentStore::of_session(&session.path);
    let bodies = bodies(session, &turn, &files).ok_or_else(|| no_request(session, &turn))?;
    let sent = attempts(session, &turn);
    let found = match attempt {
        Some(number) => sent.iter().find(|sent| sent.attempt == number),
        None => sent.last(),
    };
    let Some(found) = found else {
        let numbers: Vec<String> = sent.iter().map(|sent| sent.attempt.to_string()).collect();
        return Err(OpenError(match (attempt, numbers.as_slice()) {
            (_, []) => {
                format!(
                    "nothing was sent at {turn}: its model runs inside the program, or the reply was edited or came from the cache"
                )
            }
            (number, numbers) => {
                let number = number.unwrap_or_default();
                format!("attempt {number} was not sent at {turn}; its attempts are {}", numbers.join(", "))
            }
        }));
    };
    bodies.body(&turn, found).map_err(|error| {
        OpenError(format!(
            "the body of attempt {} at {turn} could not be rebuilt: {error}; the sent body has the SHA-256 {} ({} bytes). The \
             session was changed after recording, or {} builds requests differently from this program",
            found.attempt, found.sha, found.bytes, session.header.program
        ))
    })
}

/// Returns the body that an attempt sent, as text, as it was before it was compressed. Errors: see [`sent_bytes`].
pub(super) fn plain_body(session: &Session, at: &str) -> Result<String, OpenError> {
    let body = sent_bytes(session, at)?;
    let turn = Address::from(at.split(':').next().unwrap_or_default());
    Ok(plain_text(session, &turn, &body))
}

/// Returns the body of a turn as text, as it was before it was compressed.
pub(super) fn plain_text(session: &Session, turn: &Address, body: &[u8]) -> String {
    let coding = events_of(session, turn).find_map(|event| match event {
        Event::RawRequest(request) => Some(Coding::of_headers(&request.headers)),
        _ => None,
    });
    String::from_utf8_lossy(&coding.unwrap_or(Coding::Identity).plain(body)).into_owned()
}

/// The events of a turn.
pub(super) fn events_of<'s>(session: &'s Session, turn: &Address) -> impl Iterator<Item = Event> + use<'s> {
    let turn = turn.clone();
    let places = session.skeleton().turn(&turn).map(|entry| entry.events.range()).unwrap_or_default();
    let events = places.filter_map(|place| session.event(place));
    events.filter(move |envelope| envelope.address == turn).map(|envelope| envelope.event)
}

/// The error for a turn without a request: it names those that the session has.
fn no_request(session: &Session, turn: &Address) -> OpenError {
    let runs = session.skeleton().runs.iter();
    let all: Vec<&str> = runs.flat_map(|run| &run.turns).map(|known| known.address.as_str()).collect();
    if all.contains(&turn.as_str()) {
        return OpenError(format!("no request was made at {turn}"));
    }
    if all.is_empty() {
        return OpenError(format!("no request was made at {turn}: the session has no turns"));
    }
    let near = did_you_mean(turn.as_str(), all.iter().copied());
    let more = if all.len() > NAMED { ", …" } else { "" };
    let known = all.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    OpenError(format!("no request was made at {turn}{near} (turns: {known}{more})"))
}

/// The body that came from a side, where the proxy passed on another one.
fn replaced_body(session: &Session, turn: &Address, side: &str) -> Result<Vec<u8>, OpenError> {
    if session.skeleton().turn(turn).is_none() {
        return Err(no_request(session, turn));
    }
    let is_of_side = |event: &Event| matches!(event, Event::RawRequest(_)) == (side == "client");
    let came = events_of(session, turn).filter(is_of_side).find_map(|event| came_of(&event).cloned());
    let came = came.ok_or_else(|| {
        OpenError(format!("the body from the {side} at {turn} was not replaced: omit `:{side}` to get it"))
    })?;
    came_body(&came).map_err(|why| OpenError(format!("the body from the {side} at {turn}: {why}")))
}

/// The attempts of a turn that left the machine.
fn attempts(session: &Session, turn: &Address) -> Vec<Sent> {
    let sent = events_of(session, turn).filter_map(|event| match event {
        Event::Sent(sent) => Some(sent),
        _ => None,
    });
    sent.collect()
}

/// The events that the bodies of a turn are made of.
fn bodies<'f>(session: &Session, turn: &Address, files: &'f AttachmentStore) -> Option<RecordedBodies<'f>> {
    let (request, parts) = session.request_indexes(turn)?;
    let mut bodies = RecordedBodies::new(files);
    if session.header.captured.is_some() {
        // Each body holds what differs from the one before.
        let all = (0..session.len()).filter_map(|index| session.event(index));
        let raw = all.filter(|envelope| matches!(envelope.event, Event::RawRequest(_)));
        raw.for_each(|envelope| bodies.apply(&envelope));
    }
    let events = parts.into_iter().chain([request]).filter_map(|index| session.event(index));
    events.for_each(|envelope| bodies.apply(&envelope));
    Some(bodies)
}
