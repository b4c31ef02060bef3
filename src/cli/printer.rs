//! The linear face of a run: each event as lines on stderr, as it happens.

use std::io::Write;

use ptc_core::text::SafeText;

use crate::agent::Step;
use crate::event::{
    Envelope, Event, IssueRecord, PartKind, ReplyEnd, ReplyStatus, RunEnd, RunStart, Source, TurnEnd, elapsed_ms,
};

/// Marks in front of lines.
struct Marks {
    good: &'static str,
    bad: &'static str,
    warning: &'static str,
}

const SIGNS: Marks = Marks { good: "✓", bad: "✗", warning: "!" };
const WORDS: Marks = Marks { good: "ok:", bad: "error:", warning: "warning:" };

/// Prints events in order.
pub(super) struct Printer<W: Write> {
    out: W,
    marks: &'static Marks,
    started_ms: i64,
    in_reply: Option<(u32, PartKind)>,
    at_line_start: bool,
    ended: bool,
}

impl<W: Write> Printer<W> {
    /// Prints with marks, or with words when `plain`.
    pub(super) fn new(out: W, plain: bool) -> Self {
        let marks = if plain { &WORDS } else { &SIGNS };
        Self { out, marks, started_ms: 0, in_reply: None, at_line_start: true, ended: false }
    }

    fn line(&mut self, text: &str) {
        // A closed pipe must not end the run.
        _ = writeln!(self.out, "{}", SafeText::multi_line(text));
    }

    fn end_reply(&mut self) {
        if self.in_reply.take().is_some() && !self.at_line_start {
            _ = writeln!(self.out);
        }
        self.at_line_start = true;
    }

    /// Prints these events.
    pub(super) fn print_all<'e>(&mut self, events: impl IntoIterator<Item = &'e Envelope>) {
        events.into_iter().for_each(|envelope| self.print(envelope));
    }

    /// Nothing follows: says how the run ended when its events could not (they were not taken any more).
    pub(super) fn close(&mut self, step: &Step) {
        self.end_reply();
        if let Some(fail) = step.fail.as_ref().filter(|_| !self.ended) {
            self.failure(&format!("{}: {}", fail.reason, fail.message), fail.hint.as_deref());
        }
    }

    /// Prints one event.
    pub(super) fn print(&mut self, envelope: &Envelope) {
        if !matches!(envelope.event, Event::ReplyPart(_)) {
            self.end_reply();
        }
        match &envelope.event {
            Event::RunStart(start) => self.run_start(start, envelope.at_ms),
            Event::TurnStart(start) if start.stop.is_none() => {
                self.line(&format!("turn {}", envelope.address.turn_number().unwrap_or_default()));
            }
            Event::ReplyPart(part) => self.reply(part.attempt, part.kind, &part.text),
            Event::ReplyEnd(end) => self.reply_end(end),
            Event::RetryWait(wait) => {
                let asked = if wait.retry_after { ", as the server asked" } else { "" };
                self.line(&format!(
                    "  waiting {} ms before attempt {}{asked}: {}",
                    wait.wait_ms,
                    wait.attempt.saturating_add(1),
                    wait.message
                ));
            }
            Event::Extract(extract) => {
                let fixes: Vec<_> = extract.fixes.iter().map(|(name, ..)| name.as_str()).collect();
                if !fixes.is_empty() {
                    self.line(&format!("  {} repaired: {}", self.marks.warning, fixes.join(", ")));
                }
                if let Some(error) = &extract.error {
                    self.line(&format!("  {} {}: {}", self.marks.bad, error.reason, error.message));
                }
            }
            Event::Check(check) => check.issues.iter().for_each(|issue| self.issue(issue)),
            Event::Message(message) if message.source == Source::Feedback => self.line("  feedback sent to the model"),
            Event::Notice(notice) => self.line(&format!("  {} {}", self.marks.warning, notice.text)),
            Event::TurnEnd(end) => self.turn_end(end),
            Event::RunEnd(end) => self.run_end(end, envelope.at_ms),
            Event::Unknown(unknown) => {
                let known = "which this program does not know";
                self.line(&format!("  {} an event of the kind {:?}, {known}", self.marks.warning, unknown.kind));
            }
            _ => {}
        }
    }

    fn failure(&mut self, said: &str, hint: Option<&str>) {
        self.line(&format!("{} {said}", self.marks.bad));
        if let Some(hint) = hint {
            self.line(&format!("  {hint}"));
        }
    }

    fn run_start(&mut self, start: &RunStart, at_ms: i64) {
        self.started_ms = at_ms;
        self.line(&format!("{} · {} · {}", start.agent.name, start.mode, start.model.alias));
    }

    /// Reply text as it arrives, each line behind a bar.
    fn reply(&mut self, attempt: u32, kind: PartKind, text: &str) {
        if self.in_reply != Some((attempt, kind)) {
            self.end_reply();
            self.in_reply = Some((attempt, kind));
        }
        let bar = if kind == PartKind::Reasoning { "  ~ " } else { "  | " };
        for piece in SafeText::multi_line(text).as_str().split_inclusive('\n') {
            let start = if self.at_line_start { bar } else { "" };
            _ = write!(self.out, "{start}{piece}");
            self.at_line_start = piece.ends_with('\n');
        }
        _ = self.out.flush();
    }

    fn reply_end(&mut self, end: &ReplyEnd) {
        let Some(error) = &end.error else { return };
        let said = match end.status {
            ReplyStatus::Discarded => {
                format!("  {} attempt {} discarded: {}", self.marks.warning, end.attempt, error.message)
            }
            _ => format!("  {} {}: {}", self.marks.bad, error.reason, error.message),
        };
        self.line(&said);
    }

    fn issue(&mut self, issue: &IssueRecord) {
        let mark = if issue.severity == "error" { self.marks.bad } else { self.marks.warning };
        let path = if issue.path.is_empty() { "root" } else { &issue.path };
        self.line(&format!("  {mark} {path}: {}", issue.message));
    }

    fn turn_end(&mut self, end: &TurnEnd) {
        if let Some(tokens) = &end.usage {
            self.line(&format!("  tokens {} in, {} out", tokens.input, tokens.output));
        }
    }

    fn run_end(&mut self, end: &RunEnd, at_ms: i64) {
        self.ended = true;
        let seconds = std::time::Duration::from_millis(elapsed_ms(self.started_ms, at_ms)).as_secs_f64();
        let turns = match end.usage.totals.turns {
            1 => "1 turn".to_owned(),
            n => format!("{n} turns"),
        };
        match &end.fail {
            None => self.line(&format!("{} returned after {turns}, {seconds:.1} s", self.marks.good)),
            Some(fail) => {
                let said = format!("{} after {turns}, {seconds:.1} s: {}", fail.reason, fail.message);
                self.failure(&said, fail.hint.as_deref());
            }
        }
    }
}
