//! Exports: every format is what its own readers expect, nothing hostile gets through, what must go is gone; imports of traces.

mod formats;
mod hostile;
mod redaction;
mod traces;

use ptc_workbench::event::{Address, Envelope, Event};
use ptc_workbench::export::{Content, Removal, Rules, redact};
use ptc_workbench::model::{Scrub, Secret};
use ptc_workbench::session::Session;
use ptc_workbench::workbench::example_sessions;
use serde_json::Value;

/// Unix time in ms of the first event of made-up sessions.
const START_MS: i64 = 1_795_305_600_000;

/// An event as it is in a file.
fn event(address: &str, kind: &str, data: &Value) -> (Address, Event) {
    let text = serde_json::value::to_raw_value(data).unwrap();
    (Address::from(address), Event::read(kind, &text).unwrap_or_else(|error| panic!("{kind}: {error}")))
}

/// Events one after the other, 10 ms apart.
fn content(events: impl IntoIterator<Item = (Address, Event)>) -> Content {
    let numbered = events.into_iter().zip(1_u8..).map(|((address, event), seq)| Envelope {
        seq: seq.into(),
        at_ms: START_MS + i64::from(seq) * 10,
        address,
        event,
    });
    Content {
        session: "2026-11-22T00-00-00Z-00000000".to_owned(),
        created_ms: START_MS,
        program: "ptc-workbench 0.1.0".to_owned(),
        events: numbered.collect(),
        ..Content::default()
    }
}

/// A saved session as the content of an export.
pub(crate) fn content_of(session: &Session) -> Content {
    Content {
        session: session.header.id.to_string(),
        created_ms: session.header.created_ms,
        program: session.header.program.clone(),
        events: session.events().collect(),
        ..Content::default()
    }
}

fn examples() -> Vec<Content> {
    example_sessions().iter().map(content_of).collect()
}

/// The content without what these rules name, and what was removed. `known` are keys of this machine.
fn redacted(content: &Content, rules: &[&str], known: &[&str]) -> (Content, Vec<Removal>) {
    let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
    let known = Scrub::new(known.iter().map(|secret| Secret::new(*secret)));
    let done = redact(content.events.clone(), &Rules::parse(&rules, known).unwrap()).unwrap();
    (Content { events: done.events, ..content.clone() }, done.removals)
}
