//! Checks of the lines of a file: what cannot be read, and the distances between the ends of turns.

use super::{Check, Finding};
use crate::event::{Address, Line};
use crate::session::Session;

pub(super) fn check(session: &Session) -> Vec<Finding> {
    let of_file = |line: Option<u64>, message: String| Finding { line, address: None, check: Check::File, message };
    // A torn last line is the trace of an interrupted write: nothing is wrong with the others.
    let damaged = session.damage.iter().filter(|damage| !damage.torn);
    let mut found: Vec<Finding> =
        damaged.map(|damage| of_file(Some(damage.line as u64), damage.message.clone())).collect();
    if session.header.version < session.header.min_reader {
        let (version, reader) = (session.header.version, session.header.min_reader);
        found.push(of_file(Some(1), format!("version {version} needs a reader of version {reader}")));
    }
    let mut last_turn_end = None;
    for index in 0..session.len() {
        let Some(text) = session.line(index) else {
            found.push(of_file(None, format!("event {} can no longer be read", index + 1)));
            continue;
        };
        let Ok(line) = serde_json::from_str::<Line<'_>>(&text) else { continue };
        let mut add = |check: Check, message: String| {
            let address = Some(Address::from(&*line.r));
            found.push(Finding { line: Some(line.s.saturating_add(1)), address, check, message });
        };
        if let Err(error) = line.envelope() {
            add(Check::File, format!("the data of {} cannot be read: {error}", line.k));
        }
        if !Address::is_form(&line.r) {
            add(Check::File, "this is not an address".to_owned());
        }
        let start = session.offset(index);
        let ends_turn = line.k == "turn.end";
        let expected = if ends_turn { last_turn_end.and_then(|last| start?.checked_sub(last)) } else { None };
        if let Some(distance) = line.b.filter(|_| line.b != expected) {
            let expected =
                expected.map_or("there is none".to_owned(), |expected| format!("it is {expected} bytes back"));
            add(Check::Offset, format!("b is {distance}, the distance to the previous turn.end: {expected}"));
        }
        if ends_turn {
            last_turn_end = start;
        }
    }
    found
}
