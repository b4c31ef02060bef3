//! The line of one turn: its action, tools, failures, cost and times.
//!
//! In: the record of a turn, the start of its run, the sizes of its messages. Out: a [`TurnLine`]. Times are in ms. It must never read
//! events.

use ptc_core::text::cut;

use crate::event::{Address, CallStatus, IssueRecord, RunStart, Tokens};
use crate::record::{CallRecord, TurnRecord, TurnState};
use crate::workbench::PromptSizes;
use crate::workbench::wording::describe_issue;

/// Characters of the action and of the error that are kept.
const TEXT_CHARS: usize = 160;

/// A turn in one line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnLine {
    /// Its address.
    pub address: Address,
    /// The agent of its run.
    pub agent: Option<String>,
    /// The action in a few words: the first line of the program, the called tools, the answer.
    pub action: String,
    /// The tool calls, in order.
    pub calls: Vec<CallMark>,
    /// Its progress.
    pub state: TurnState,
    /// Its run has ended.
    pub is_over: bool,
    /// Number of failures in it.
    pub failures: usize,
    /// The first error.
    pub error: Option<String>,
    /// Repairs of the reply.
    pub repairs: usize,
    /// Attempts that were repeated.
    pub retries: usize,
    /// Tokens of all attempts.
    pub tokens: Option<Tokens>,
    /// Tokens of the prompt: those that the provider counted, else estimated.
    pub prompt: u64,
    /// The provider counted them.
    pub is_counted: bool,
    /// Its cost, where prices and tokens are known.
    pub cost: Option<f64>,
    /// Its time, by activity.
    pub time: TimeSplit,
}

/// A tool call of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallMark {
    /// The tool.
    pub name: String,
    /// Its end status; absent while it runs.
    pub status: Option<CallStatus>,
    /// The error of a failed call: tool, reason and message.
    pub error: Option<String>,
}

impl CallMark {
    fn of(call: &CallRecord) -> Self {
        let error = call_error(call).map(|error| short(&error));
        Self { name: call.name.clone(), status: call.status, error }
    }

    /// Returns whether it failed or was refused, or its outcome is unknown.
    pub fn has_failed(&self) -> bool {
        self.status.is_some_and(CallStatus::is_failure)
    }
}

/// The time of a turn, in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeSplit {
    /// From its start to its last event, without the time in which a user was waited for.
    pub total: u64,
    /// Time in which the model was asked.
    pub model: u64,
    /// Time in which at least one tool ran.
    pub tools: u64,
    /// The rest of a turn with a program.
    pub program: u64,
    /// Waits between attempts and in the provider's gate.
    pub waiting: u64,
}

impl TimeSplit {
    /// The parts with their names, in this order.
    pub fn parts(self) -> [(&'static str, u64); 4] {
        [("model", self.model), ("tools", self.tools), ("program", self.program), ("waiting", self.waiting)]
    }

    fn of(record: &TurnRecord) -> Self {
        let total = record.elapsed_ms();
        let retries: u64 = record.retries.iter().map(|retry| retry.wait.wait_ms).sum();
        let ends = record.attempts.iter().filter_map(|attempt| attempt.end.as_ref());
        let queued: u64 = ends.filter_map(|end| end.queued_ms).sum();
        let waiting = retries.saturating_add(queued).min(total);
        let asked = record.asked_ms.map_or(0, |(from_ms, to_ms)| {
            let is_open = record.last_end().is_none() && record.end.is_none();
            crate::event::elapsed_ms(from_ms, if is_open { record.last_ms } else { to_ms })
        });
        let model = asked.saturating_sub(waiting).min(total - waiting);
        let tools = tool_ms(record).min(total - waiting - model);
        let rest = total - waiting - model - tools;
        let program = if record.program().is_some() { rest } else { 0 };
        Self { total, model, tools, program, waiting }
    }
}

/// The time in which at least one tool ran: calls may run at the same time.
fn tool_ms(record: &TurnRecord) -> u64 {
    let mut spans: Vec<(i64, i64)> = record
        .calls
        .iter()
        .map(|call| {
            let took = i64::try_from(call.ms).unwrap_or(i64::MAX);
            let end = call.ended_ms.unwrap_or(record.last_ms);
            (call.started_ms, end.max(call.started_ms.saturating_add(took)))
        })
        .collect();
    spans.sort_unstable();
    let (mut sum, mut until) = (0, i64::MIN);
    for (start, end) in spans {
        sum += crate::event::elapsed_ms(start.max(until), end);
        until = until.max(end);
    }
    sum
}

impl TurnLine {
    /// The line of a turn. `sizes` are the estimated tokens of the messages of its run, by number.
    pub(super) fn of(record: &TurnRecord, start: &RunStart, sizes: &[u64]) -> Self {
        let counted = record.last_end().and_then(|end| end.usage).map(|usage| usage.input).filter(|input| *input > 0);
        let estimated = || {
            let ranges = record.sent.iter().flat_map(|(from, to)| *from..=*to);
            let messages: u64 = ranges.filter_map(|m| sizes.get(m as usize)).sum();
            messages + tools_and_schema_tokens(record)
        };
        Self {
            address: record.address.clone(),
            agent: Some(start.agent.name.clone()).filter(|name| !name.is_empty()),
            action: short(&action(record)),
            calls: record.calls.iter().map(CallMark::of).collect(),
            state: record.state,
            is_over: false,
            failures: record.failures(),
            error: first_error(record).map(|error| short(&error)),
            repairs: record.fixes().count(),
            retries: record.retries.len(),
            tokens: record.tokens(),
            prompt: counted.unwrap_or_else(estimated),
            is_counted: counted.is_some(),
            cost: record.spending(&start.model).cost(),
            time: TimeSplit::of(record),
        }
    }

    /// Returns whether the turn, a check, the program or a tool call failed, or the run ended before the turn did.
    pub fn has_failed(&self) -> bool {
        self.state == TurnState::Failed || self.failures > 0 || self.is_over && !self.state.is_end()
    }

    /// Returns the nesting depth of its run.
    pub fn depth(&self) -> usize {
        self.address.depth()
    }

    /// The tools with how often each was called and failed, in the order of their first calls.
    pub fn tools(&self) -> Vec<(&str, usize, usize)> {
        let mut found: Vec<(&str, usize, usize)> = Vec::new();
        for call in &self.calls {
            let failed = usize::from(call.has_failed());
            match found.iter_mut().find(|(name, ..)| *name == call.name) {
                Some((_, calls, failures)) => (*calls, *failures) = (*calls + 1, *failures + failed),
                None => found.push((&call.name, 1, failed)),
            }
        }
        found
    }
}

/// Estimated tokens of what the request of a turn contains next to its messages.
fn tools_and_schema_tokens(record: &TurnRecord) -> u64 {
    let mut sizes = PromptSizes::default();
    if let Some(request) = &record.request {
        sizes.add_tools_and_schema(&request.tools, request.schema.as_ref());
    }
    sizes.tokens()
}

/// The action of a turn.
fn action(record: &TurnRecord) -> String {
    if let Some(program) = record.program() {
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with(';');
        return program.lines().map(str::trim).find(is_code).unwrap_or_default().to_owned();
    }
    let asked = record.native_calls();
    if !asked.is_empty() {
        return asked.iter().map(|call| format!("{} {}", call.name, call.args)).collect::<Vec<_>>().join(", ");
    }
    let reply = match record.json() {
        Some(json) => json.to_text(),
        None => record.reply().trim().to_owned(),
    };
    reply
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("```"))
        .unwrap_or_default()
        .to_owned()
}

fn named(reason: &str, message: &str) -> String {
    if message.is_empty() || message == reason { reason.to_owned() } else { format!("{reason}: {message}") }
}

/// Returns the error of a failed call, after the name of its tool; `None` if it did not fail.
fn call_error(call: &CallRecord) -> Option<String> {
    call.status.filter(|status| status.is_failure())?;
    let error = call.error.as_ref().map_or_else(|| "failed".to_owned(), |e| named(&e.reason, &e.message));
    Some(format!("{}: {error}", call.name))
}

/// The first error of a turn, with its reason.
pub fn first_error(record: &TurnRecord) -> Option<String> {
    let extract = record.extract.as_ref().and_then(|extract| extract.error.as_ref());
    let issue =
        || record.checks.iter().filter(|check| !check.ok).flat_map(|check| &check.issues).next().map(issue_text);
    let call = || record.calls.iter().find_map(call_error);
    let program = || record.program_end.as_ref().and_then(|end| end.error.as_ref());
    let attempt = || record.last_end().and_then(|end| end.error.as_ref());
    let reason = || record.end.as_ref().and_then(|end| end.reason.clone());
    extract
        .map(|error| named(&error.reason, &error.message))
        .or_else(call)
        .or_else(|| program().map(|error| named(&error.reason, &error.message)))
        .or_else(issue)
        .or_else(|| attempt().map(|error| named(&error.reason, &error.message)))
        .or_else(reason)
}

fn issue_text(issue: &IssueRecord) -> String {
    let path = if issue.path.is_empty() { String::new() } else { format!("{}: ", issue.path) };
    format!("{path}{}", describe_issue(issue))
}

/// The first line of a text, as far as it is kept.
fn short(text: &str) -> String {
    cut(text.lines().next().unwrap_or_default(), TEXT_CHARS)
}
