//! A deferred reply that a request fetches as a stream of events.
//!
//! In: the events and the pieces that they add. Out: the reply as the last event contains it, else what the pieces make. A stream may begin
//! after any event of the reply (`starting_after`): its pieces may be only the end of the text. It must never take them for the whole text
//! if the last event has it.

use ptc_core::value::{Json, json};

use super::coding::Coding;
use super::reply::{CapturedReply, Echoes, ReplyOutcome};
use crate::config::Protocol;
use crate::event::PartKind;
use crate::model::scrub::Scrub;

/// Pieces of a reply, in order.
type Pieces = Vec<(PartKind, String)>;

/// The events that end a stream with a whole response.
const LAST_EVENTS: [&str; 2] = ["response.completed", "response.incomplete"];

/// A stream of a deferred reply.
#[derive(Default)]
pub(super) struct FetchedStream {
    /// The pieces that its events added.
    pieces: Pieces,
    /// The reply in its last event.
    whole: Option<(Pieces, ReplyOutcome)>,
}

impl FetchedStream {
    /// Takes an event; returns the secrets in the reply that it contains.
    pub(super) fn take(&mut self, event: &str, scrub: &Scrub) -> Echoes {
        let Some(response) = whole_response(event) else { return Echoes::default() };
        let (protocol, scrub) = (Some(Protocol::Responses), scrub.clone());
        let mut reader = CapturedReply::new(protocol, 200, "application/json", Coding::Identity, scrub);
        _ = reader.push(response.to_text().as_bytes());
        let (pieces, outcome) = reader.finish();
        let echoes = outcome.echoes;
        if outcome.is_final() {
            self.whole = Some((pieces, outcome));
        }
        echoes
    }

    /// Holds pieces until the end.
    pub(super) fn hold(&mut self, pieces: Pieces) {
        self.pieces.extend(pieces);
    }

    /// Returns the outcome of the reply in its last event.
    pub(super) fn outcome(&self) -> Option<&ReplyOutcome> {
        self.whole.as_ref().map(|(_, outcome)| outcome)
    }

    /// Takes the last pieces and what its events make; returns the pieces and the outcome of the reply.
    pub(super) fn finish(self, last: Pieces, outcome: ReplyOutcome) -> (Pieces, ReplyOutcome) {
        match self.whole {
            Some((pieces, whole)) => (pieces, ReplyOutcome { echoes: outcome.echoes, ..whole }),
            None => (self.pieces.into_iter().chain(last).collect(), outcome),
        }
    }
}

/// The response in the last event of a stream; `None` for other events, and where it has no output.
fn whole_response(event: &str) -> Option<Json> {
    // Most events are pieces, which are not parsed twice.
    if !LAST_EVENTS.iter().any(|kind| event.contains(kind)) {
        return None;
    }
    let event = json::parse(event).ok()?;
    let kind = event.get("type")?.as_str()?;
    let response = event.get("response").filter(|_| LAST_EVENTS.contains(&kind))?;
    let output = response.get("output")?.items()?;
    (!output.is_empty()).then(|| response.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Secret;

    const KEY: &str = "sk-fetched-0123456789";

    /// The text, the number of secrets and whether the reply is final, of a stream with these events.
    fn read(events: &[serde_json::Value]) -> (String, usize, bool) {
        let scrub = Scrub::new([Secret::new(KEY)]);
        let protocol = Some(Protocol::Responses);
        let mut reader = CapturedReply::new(protocol, 200, "text/event-stream", Coding::Identity, scrub).fetched();
        for event in events {
            let kind = event["type"].as_str().unwrap();
            assert_eq!(reader.push(format!("event: {kind}\ndata: {event}\n\n").as_bytes()), []);
        }
        let marked = reader.outcome_at_end_mark().map(|outcome| outcome.text);
        let (pieces, outcome) = reader.finish();
        let text: String = pieces.into_iter().map(|(_, text)| text).collect();
        assert_eq!(text, outcome.text);
        assert_eq!(marked.is_some(), outcome.is_final());
        assert!(marked.is_none_or(|marked| marked == text));
        (text, outcome.echoes.found, outcome.is_final())
    }

    fn piece(text: &str) -> serde_json::Value {
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": text})
    }

    fn completed(text: &str) -> serde_json::Value {
        let output =
            json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}]);
        let response = json!({"id": "resp_1", "object": "response", "status": "completed", "output": output});
        json!({"type": "response.completed", "response": response})
    }

    #[test]
    fn a_stream_that_begins_after_the_first_pieces_has_the_whole_text_of_its_last_event() {
        assert_eq!(read(&[piece("the end"), completed("the beginning and the end")]).0, "the beginning and the end");
        let bare = json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}});
        assert_eq!(read(&[piece("all "), piece("of it"), bare]), ("all of it".to_owned(), 0, true));
        assert_eq!(read(&[piece("the end")]), ("the end".to_owned(), 0, false));
    }

    #[test]
    fn a_response_that_failed_is_final_and_an_error_of_the_stream_is_not() {
        let failed = json!({"status": "failed", "error": {"code": "server_error", "message": "no"}, "output": []});
        assert!(fails_finally(&json!({"type": "response.failed", "response": failed})));
        assert!(!fails_finally(&json!({"type": "error", "message": "try again"})));
    }

    /// Returns whether the reply is final after an event that reports an error.
    fn fails_finally(event: &serde_json::Value) -> bool {
        let (protocol, scrub) = (Some(Protocol::Responses), Scrub::default());
        let mut reader = CapturedReply::new(protocol, 200, "text/event-stream", Coding::Identity, scrub).fetched();
        _ = reader.push(format!("data: {event}\n\n").as_bytes());
        let (_, outcome) = reader.finish();
        assert!(outcome.error.is_some());
        outcome.is_final()
    }

    #[test]
    fn secrets_of_pieces_and_of_the_last_event_are_counted() {
        let (text, found, _) = read(&[piece(KEY), completed(KEY)]);
        assert!(found == 2 && !text.contains(KEY), "{text}");
    }
}
