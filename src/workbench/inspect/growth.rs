//! The content of the requests of a run by kind, turn by turn.
//!
//! In: a session and a run. Out: a [`TurnPrompt`] for each request. Every message is read and counted once, regardless of the number of
//! requests that repeat it.

use crate::event::{Address, Event, SentMessage, Tokens};
use crate::record::TurnAttempts;
use crate::session::Session;
use crate::workbench::format::{cached, count};
use crate::workbench::prompt_kinds::PromptSizes;

/// Maximum size of all messages in bytes; larger runs are not read.
const MOST_BYTES: u64 = 64_000_000;

/// Sizes of the request of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnPrompt {
    /// The turn.
    pub turn: Address,
    /// Its content by kind.
    pub sizes: PromptSizes,
    /// Tokens counted by the provider for the last attempt, else for the turn; the estimate is of one attempt.
    pub counted: Option<Tokens>,
}

impl TurnPrompt {
    /// Formats the request as a line: tokens by kind, the sum, the provider's count.
    pub fn line(&self) -> String {
        let kinds: Vec<String> =
            self.sizes.present().map(|(kind, _, tokens)| format!("{} ~{}", kind.name(), count(tokens))).collect();
        let counted = self.counted.map(|counted| format!("  counted {}", count(counted.input))).unwrap_or_default();
        let cached = cached(self.counted).map(|cached| format!(", {cached}")).unwrap_or_default();
        format!("{}  ~{}  {}{counted}{cached}", self.turn, count(self.sizes.tokens()), kinds.join("  "))
    }
}

/// Returns the requests of a run in order; empty when its messages are too large to be read.
pub(super) fn growth(session: &Session, run: &Address) -> Vec<TurnPrompt> {
    let Some(entry) = session.skeleton().run(run) else { return Vec::new() };
    if session.bytes_of(entry.messages.iter().copied()) > MOST_BYTES {
        return Vec::new();
    }
    let mut replies = TurnAttempts::new();
    for turn in &entry.turns {
        let events = turn.reply.range().filter_map(|place| session.event(place));
        for envelope in events.filter(|envelope| envelope.address == turn.address) {
            replies.entry(envelope.address).or_default().apply(&envelope.event);
        }
    }
    let message = |place: &usize| match session.event(*place)?.event {
        Event::MessageAdded(message) => {
            let mut sizes = PromptSizes::default();
            sizes.add_message(&SentMessage::of(&message, &replies));
            Some(sizes)
        }
        _ => None,
    };
    let messages: Vec<PromptSizes> = entry.messages.iter().map(|place| message(place).unwrap_or_default()).collect();
    let prompt = |turn: &Address, places: std::ops::Range<usize>| {
        let (mut found, mut counted) = (None, None);
        for envelope in places.filter_map(|place| session.event(place)).filter(|envelope| envelope.address == *turn) {
            match envelope.event {
                Event::RequestMade(made) => {
                    let mut sizes = PromptSizes::default();
                    for (first, last) in &made.messages {
                        let end = (*last as usize).saturating_add(1).min(messages.len());
                        messages[(*first as usize).min(end)..end].iter().for_each(|more| sizes.add_all(more));
                    }
                    sizes.add_tools_and_schema(&made.tools, made.schema.as_ref());
                    found = Some(sizes);
                }
                Event::ReplyEnd(end) => counted = end.usage.or(counted),
                Event::TurnEnd(end) if counted.is_none() => counted = end.usage,
                _ => {}
            }
        }
        found.map(|sizes| TurnPrompt { turn: turn.clone(), sizes, counted })
    };
    entry.turns.iter().filter_map(|turn| prompt(&turn.address, turn.events.range())).collect()
}
