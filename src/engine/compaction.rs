//! Shortening a long history: what a request leaves out, and what it says instead (agent contract §11).
//!
//! Only the request is shortened; the run keeps every message. `trim` leaves out the oldest messages, `coalesce` sends one user
//! message that tells what was done.

use ptc_core::lisp::Outcome;
use ptc_core::lisp::firewall::visible;
use ptc_core::text::estimate_tokens;
use ptc_core::value::{Json, Value};

use super::Halt;
use super::conversation::ranges as ranges_of;
use super::cycle::Cycle;
use super::ptc_lisp::Work;
use crate::agent::Compaction;
use crate::event::{Address, CompactionDone, Role};
use crate::model::Reply;
use crate::prompt::{Asked, ptc_lisp::digest as texts};

/// What programs did so far, for a coalesced history and for the results of native calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Digest {
    /// Calls of turns that ended well: tool and arguments as text.
    pub(super) calls: Vec<(String, String)>,
    /// What they printed.
    pub(super) prints: Vec<String>,
    /// Turns that failed.
    pub(super) failed: u32,
    /// The last program, and what was wrong with it.
    pub(super) last: Option<(String, Option<String>)>,
    last_prints: Vec<String>,
    /// Characters of printed lines that feedback shows.
    feedback_chars: usize,
    /// Names that start with `_` are kept from the model.
    hides: bool,
}

impl Digest {
    /// Of a run whose feedback shows so many characters of printed lines.
    pub(super) fn showing(feedback_chars: usize, hides: bool) -> Self {
        Self { feedback_chars, hides, ..Self::default() }
    }

    /// Takes what a program did.
    pub(super) fn note(&mut self, program: &str, outcome: &Outcome) {
        self.last_prints.clone_from(&outcome.prints);
        match &outcome.result {
            Ok(_) => {
                let shown = |args: &Value| if self.hides { visible(args).to_string() } else { args.to_string() };
                self.calls.extend(outcome.calls.iter().map(|call| (call.tool.clone(), shown(&call.args))));
                self.prints.extend(outcome.prints.iter().cloned());
                self.last = Some((program.to_owned(), None));
            }
            Err(error) => {
                self.failed += 1;
                self.last = Some((program.to_owned(), Some(format!("{}: {}", error.reason, error.message()))));
            }
        }
    }

    /// What the last program printed, and whether feedback shows a part of it only.
    pub(super) fn last_prints(&self) -> (Json, bool) {
        let cut = self.last_prints.join("\n").chars().count() > self.feedback_chars;
        let prints = self.last_prints.iter().map(|line| Json::str(line.as_str()));
        (Json::list(prints), cut)
    }
}

fn tokens(cycle: &Cycle<'_>, ranges: &[(u32, u32)]) -> u64 {
    let sent = |place: usize| ranges.iter().any(|(from, to)| (*from as usize..=*to as usize).contains(&place));
    let messages = cycle.messages.iter().enumerate().filter(|(place, _)| sent(*place));
    messages.map(|(_, message)| estimate_tokens(&message.joined()) as u64).sum()
}

fn count(ranges: &[(u32, u32)]) -> u32 {
    ranges.iter().map(|(from, to)| to - from + 1).sum()
}

/// Asks with the oldest messages left out, when there are too many turns or tokens.
pub(super) async fn trimmed(cycle: &mut Cycle<'_>, at: &Address, asked: &Asked) -> Result<Reply, Halt> {
    let Some(Compaction::Trim { turns, tokens: most, keep_turns, keep_first }) = cycle.plan.settings.compaction else {
        return cycle.ask(at, asked).await;
    };
    let whole = cycle.conversation.whole();
    let before = tokens(cycle, &whole);
    let by_turns = cycle.totals.turns + 1 > turns;
    let by_tokens = most.is_some_and(|most| before >= most);
    if cycle.plan.agent.max_turns <= 1 || !(by_turns || by_tokens) {
        return cycle.ask(at, asked).await;
    }
    let ranges = kept(cycle, keep_turns, keep_first);
    if ranges == whole {
        return cycle.ask(at, asked).await;
    }
    let tokens_after = tokens(cycle, &ranges);
    let over = most.is_some_and(|most| tokens_after >= most);
    let done = CompactionDone {
        strategy: "trim".to_owned(),
        reason: if by_turns { "turn_pressure" } else { "token_pressure" }.to_owned(),
        messages_before: count(&whole),
        messages_after: count(&ranges),
        tokens_before: before,
        tokens_after,
        counts: vec![
            ("kept_recent_turns".to_owned(), keep_turns.into()),
            ("kept_initial_user".to_owned(), u64::from(keep_first)),
            ("over_budget".to_owned(), u64::from(over)),
        ],
    };
    cycle.emit(at, done).await?;
    cycle.ask_with(at, asked, ranges).await
}

/// The system text, the first user message, and the last turns: each starts with a message of the assistant and ends with what
/// came back; the first kept message after the gap is one of the user.
fn kept(cycle: &Cycle<'_>, keep_turns: u32, keep_first: bool) -> Vec<(u32, u32)> {
    let order = cycle.conversation.order();
    let message = |place: usize| order.get(place).and_then(|number| cycle.messages.get(*number as usize));
    let is_user = |place: usize| message(place).is_some_and(|message| message.role == Role::User);
    let last = order.len().saturating_sub(1);
    let mut from = last.saturating_sub((keep_turns as usize).saturating_mul(2).saturating_sub(1));
    while from < last && !is_user(from) {
        from += 1;
    }
    let first = usize::from(keep_first);
    if from <= first + 1 {
        return cycle.conversation.whole();
    }
    ranges_of(order[..=first].iter().chain(&order[from..]).copied())
}

/// Asks with the system text and one user message that stands for everything said so far.
pub(super) async fn coalesced(cycle: &mut Cycle<'_>, at: &Address, asked: &Asked, work: &Work) -> Result<Reply, Halt> {
    let Some(Compaction::Coalesce { prints, calls }) = cycle.plan.settings.compaction else {
        return cycle.ask(at, asked).await;
    };
    let turns = cycle.totals.turns;
    if turns == 0 {
        return cycle.ask(at, asked).await;
    }
    let whole = cycle.conversation.whole();
    let before = tokens(cycle, &whole);
    let digest = &work.digest;
    let shown = texts::Shown {
        calls: &digest.calls[digest.calls.len().saturating_sub(calls)..],
        prints: &digest.prints[digest.prints.len().saturating_sub(prints)..],
        failed: digest.last.as_ref().and_then(|(program, wrong)| Some((program.as_str(), wrong.as_deref()?))),
        memory: &work.memory,
        summaries: &work.summaries,
        progress: work.progress.text.as_deref(),
    };
    let parts = texts::coalesced(cycle.plan, &cycle.opening, &shown, super::ptc_lisp::standing(cycle));
    cycle.say(at, Role::User, crate::event::Source::Feedback, parts).await?;
    let order = cycle.conversation.order();
    let ranges = ranges_of(order.first().into_iter().chain(order.last()).copied());
    let counts = vec![
        ("turns_compressed".to_owned(), u64::from(turns)),
        ("tool_calls_total".to_owned(), digest.calls.len() as u64),
        ("tool_calls_shown".to_owned(), shown_count(digest.calls.len(), calls)),
        ("tool_calls_dropped".to_owned(), digest.calls.len() as u64 - shown_count(digest.calls.len(), calls)),
        ("printlns_total".to_owned(), digest.prints.len() as u64),
        ("printlns_shown".to_owned(), shown_count(digest.prints.len(), prints)),
        ("printlns_dropped".to_owned(), digest.prints.len() as u64 - shown_count(digest.prints.len(), prints)),
        ("error_turns_collapsed".to_owned(), u64::from(digest.failed)),
    ];
    let done = CompactionDone {
        strategy: "coalesce".to_owned(),
        reason: "turn_pressure".to_owned(),
        messages_before: count(&whole),
        messages_after: count(&ranges),
        tokens_before: before,
        tokens_after: tokens(cycle, &ranges),
        counts,
    };
    cycle.emit(at, done).await?;
    cycle.ask_with(at, asked, ranges).await
}

fn shown_count(all: usize, most: usize) -> u64 {
    all.min(most) as u64
}
