//! Checks of requests: the body of each attempt, rebuilt from the recorded messages, against the hash and size of the body that was sent.
//!
//! In: the events of a session. Out: findings at the attempts whose bodies are others. Attempts without their frame, as in bundles, are not
//! checked: nothing can be rebuilt from them.

use super::{Check, Finding};
use crate::event::{Envelope, Event, JsonText};
use crate::port::Attachments;
use crate::replay::body::{RecordedBodies, came_body, came_of};

pub(super) fn check(events: &[Envelope], files: &dyn Attachments) -> Vec<Finding> {
    let mut bodies = RecordedBodies::new(files);
    let mut found = Vec::new();
    for envelope in events {
        bodies.apply(envelope);
        if let Some(came) = came_of(&envelope.event)
            && let Err(why) = came_body(came)
        {
            let message = format!("the replaced body does not match its recorded hash (SHA-256 {}): {why}", came.sha);
            found.push(Finding::at(envelope, Check::Request, message));
        }
        let Event::Sent(sent) = &envelope.event else { continue };
        if sent.frame == JsonText::default() {
            continue;
        }
        if let Err(error) = bodies.body(&envelope.address, sent) {
            let message = format!(
                "the body of attempt {} does not match the body that was sent (SHA-256 {}, {} bytes): {error}",
                sent.attempt, sent.sha, sent.bytes
            );
            found.push(Finding::at(envelope, Check::Request, message));
        }
    }
    found
}
