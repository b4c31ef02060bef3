//! Linear output of a run: each event as lines on stderr, as it happens.

mod pending_lines;
mod thought;
mod work;

use std::collections::HashMap;
use std::io::Write;

use ptc_core::text::{SafeText, cut, width};

use crate::agent::{Agent, Mode, Plan, Step, edited_start};
use crate::event::{
    Address, Envelope, Event, Gaps, IssueRecord, IssueSeverity, PartKind, ReplyEnd, ReplyPart, ReplyStatus, RunEnd,
    RunStart, Source, Spending, TurnEnd,
};
use crate::model::OtherModel;
use crate::record::{Records, RunRecord, TurnRecord};

use crate::workbench::format::{Marks, cached, cost, inflected, plural, running};
use crate::workbench::wording::{describe_issue, describe_reason, in_plain_words};
use crate::workbench::{Definitions, next_step};
use pending_lines::is_closed;
use thought::{Rest, Thought};

/// Columns that the new text of an edit may take.
const EDIT_COLUMNS: usize = 60;

/// Prints events in order.
pub(super) struct Printer<W: Write> {
    out: W,
    marks: &'static Marks,
    /// Runs and open turns so far.
    records: Records,
    gaps: Gaps,
    /// The other model that answers a run, as it was printed last.
    others: HashMap<Address, OtherModel>,
    /// The control object that arrives, and its attempt.
    thought: Option<(Address, u32, Thought)>,
    definitions: Definitions,
    /// Native calls of the reply were shown as they arrived.
    calling: bool,
    in_reply: Option<(Address, u32, PartKind)>,
    at_line_start: bool,
    /// Columns before every line: child runs are indented.
    indent: usize,
    /// The text before the address of a run, turn, call or question; `None` where addresses are not printed.
    before_address: Option<&'static str>,
    ended: bool,
    questions: Questions,
    /// The last event that was printed before; `None` prints all events.
    printed_until: Option<u64>,
    /// The line of a wait that may be over: a resumption follows where it is.
    waiting: Option<String>,
}

/// Destination of questions.
enum Questions {
    /// The printer.
    Here,
    /// The user, who may be asked. Until that is decided, the questions are held, in order.
    Held(Vec<Envelope>),
}

/// Columns per level of agents.
const DEPTH_COLUMNS: usize = 4;
/// Levels that are shown by columns.
const MOST_LEVELS: usize = 6;

impl Printer<Vec<u8>> {
    /// Returns the output since the last call, and clears it.
    pub(super) fn taken(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

impl<W: Write> Printer<W> {
    /// Prints with marks, or with words when `plain`.
    pub(super) fn new(out: W, plain: bool) -> Self {
        let marks = Marks::of(plain);
        Self {
            out,
            marks,
            records: Records::default(),
            gaps: Gaps::default(),
            others: HashMap::new(),
            thought: None,
            definitions: Definitions::default(),
            calling: false,
            in_reply: None,
            at_line_start: true,
            indent: 0,
            before_address: None,
            ended: false,
            questions: Questions::Here,
            printed_until: None,
            waiting: None,
        }
    }

    /// Omits the questions that the user is asked.
    pub(super) fn with_user(self) -> Self {
        Self { questions: Questions::Held(Vec::new()), ..self }
    }

    /// Omits the events up to this number, which were printed before. Later lines know them.
    pub(super) fn after(self, last: u64) -> Self {
        Self { printed_until: Some(last), ..self }
    }

    /// Also prints the addresses that other commands accept.
    pub(super) fn with_addresses(self) -> Self {
        Self { before_address: Some(self.marks.dot), ..self }
    }

    /// An address after a line, where addresses are printed, and in parallel branches, whose lines are mixed.
    fn address_suffix(&self, at: &Address) -> String {
        let before = self.before_address.or_else(|| at.is_in_branch().then_some(self.marks.dot));
        before.map(|dot| format!("{dot}{at}")).unwrap_or_default()
    }

    fn line(&mut self, text: &str) {
        for line in SafeText::multi_line(text).lines() {
            // A closed pipe must not end the run.
            _ = writeln!(self.out, "{:indent$}{line}", "", indent = self.indent);
        }
    }

    /// A line within a turn that begins with a mark.
    fn marked(&mut self, mark: &str, text: &str) {
        self.line(&format!("  {}", self.marks.line(mark, text)));
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

    /// Nothing follows: prints how the run ended when its events could not be emitted.
    pub(super) fn close(&mut self, step: &Step) {
        self.print_held(|_| true);
        self.end_reply();
        if let Some(line) = self.waiting.take() {
            self.line(&line);
        }
        // Prints a notice when a run starts waiting for input.
        let is_reported = self.ended || step.waits_for.is_some();
        if let Some(fail) = step.fail.as_ref().filter(|_| !is_reported) {
            self.failure(&format!("{}: {}", fail.reason, in_plain_words(&fail.message)), fail.hint.as_deref());
        }
    }

    /// Prints one event.
    pub(super) fn print(&mut self, envelope: &Envelope) {
        if self.printed_until.is_some_and(|last| envelope.seq <= last) {
            return self.take_printed(envelope);
        }
        self.print_held(|question| is_closed(question, envelope));
        self.apply(envelope);
        match (&mut self.questions, &envelope.event) {
            (Questions::Held(held), Event::QuestionAsked(_)) => held.push(envelope.clone()),
            _ => self.print_applied(envelope),
        }
    }

    fn apply(&mut self, envelope: &Envelope) {
        // Durations exclude pauses.
        self.records.exclude(&envelope.address.root(), self.gaps.before(envelope).unsigned_abs());
        self.records.apply(envelope);
    }

    fn print_applied(&mut self, envelope: &Envelope) {
        if !matches!(envelope.event, Event::ReplyPart(_)) {
            self.end_reply();
        }
        self.indent = envelope.run().depth().min(MOST_LEVELS) * DEPTH_COLUMNS;
        let at = &envelope.address;
        match &envelope.event {
            Event::RunStart(start) => {
                self.definitions.apply(envelope);
                self.run_start(start, envelope);
            }
            Event::TurnStart(start) if start.is_allowed() => {
                let kind = match start.kind_name() {
                    "" | "normal" => String::new(),
                    kind => format!(" ({})", kind.replace('_', " ")),
                };
                self.line(&format!("turn {}{kind}{}", at.turn_number().unwrap_or_default(), self.address_suffix(at)));
            }
            Event::ReplyPart(part) => self.reply(at, part),
            Event::ReplyEnd(end) => {
                self.reply_end(end);
                self.answered_by(at, end);
                if end.cached {
                    self.marked(self.marks.none, "the reply came from the cache: no model was called");
                }
            }
            Event::RetryWait(wait) => {
                let asked = if wait.retry_after { ", as the server requested" } else { "" };
                let of = wait.of.map(|of| format!(" of {of}")).unwrap_or_default();
                let next = wait.attempt.saturating_add(1);
                self.line(&format!("  waiting {} ms before attempt {next}{of}{asked}: {}", wait.wait_ms, wait.message));
            }
            Event::Extract(extract) => {
                let fixes: Vec<_> = extract.fixes.iter().map(|(name, ..)| name.as_str()).collect();
                if !fixes.is_empty() {
                    self.marked(self.marks.warning, &format!("repaired: {}", fixes.join(", ")));
                }
                if let Some(error) = &extract.error {
                    self.marked(self.marks.bad, &format!("{}: {}", error.reason, in_plain_words(&error.message)));
                }
                self.program(at);
            }
            Event::ToolCall(call) => self.call(at, call),
            Event::ToolEnd(end) => self.call_end(at, end),
            Event::QuestionAsked(question) => self.question(at, question),
            Event::AnswerGiven(answer) => self.answer(answer),
            Event::ProgramEnd(end) => self.program_end(at, end),
            Event::MemoryChange(change) => {
                let replaced = self.definitions.apply(envelope);
                self.memory(change, &replaced);
            }
            Event::TasksKept(tasks) => self.tasks(tasks),
            Event::PlanState(plan) => self.plan(plan),
            Event::CompactionDone(done) => self.compaction(done),
            Event::RunWait(wait) => self.wait(&wait.question),
            Event::Resume(resume) => {
                self.waiting = None;
                self.line(&format!("resuming after event {}", resume.after));
            }
            Event::Edit(edit) => {
                let after = SafeText::single_line(&edit.text());
                let after = width::truncate(after.as_str(), EDIT_COLUMNS);
                self.line(&format!("  edited by {}: {} at {}: {after}", edit.by, edit.target, edit.at));
            }
            Event::Interrupt(interrupt) => {
                let text = format!("{} by {}", interrupt.reason.name().replace('_', " "), interrupt.by);
                self.marked(self.marks.bad, &text);
            }
            Event::Check(check) => check.issues.iter().for_each(|issue| self.issue(issue)),
            Event::Notice(notice) => self.marked(self.marks.warning, &notice.text),
            Event::TurnEnd(end) => {
                self.turn_end(at, end);
                self.records.forget(at);
            }
            Event::RunEnd(end) => self.run_end(end, envelope),
            Event::Unknown(unknown) => {
                let text = format!("an event of the unknown kind {:?}", unknown.kind);
                self.marked(self.marks.warning, &text);
            }
            // The end of the run explains why a turn does not start; other commands print requests and replies.
            Event::TurnStart(_)
            | Event::MessageAdded(_)
            | Event::RequestMade(_)
            | Event::Sent(_)
            | Event::Wire(_)
            | Event::RawRequest(_)
            | Event::RawReply(_) => {}
        }
    }

    fn failure(&mut self, text: &str, hint: Option<&str>) {
        self.line(&self.marks.line(self.marks.bad, text));
        if let Some(hint) = hint {
            self.line(&format!("  {hint}"));
        }
    }

    fn run_start(&mut self, start: &RunStart, envelope: &Envelope) {
        let who = if envelope.address.is_call() { "agent " } else { "" };
        if !envelope.address.is_call() {
            self.ended = false;
        }
        let dot = self.marks.dot;
        let at = self.address_suffix(&envelope.address);
        self.line(&format!("{who}{}{dot}{}{dot}{}{at}", start.agent.name, mode(start), start.model.alias));
    }

    /// Reply text as it arrives, each line after a bar.
    fn reply(&mut self, at: &Address, part: &ReplyPart) {
        let now = Some((at.clone(), part.attempt, part.kind));
        if self.in_reply != now {
            self.end_reply();
            self.in_reply = now;
        }
        self.calling |= part.kind == PartKind::Call;
        if part.kind == PartKind::Text && self.is_controlled(&at.run_part()) {
            return self.control(at, part);
        }
        let bar = match part.kind {
            PartKind::Text => "  | ",
            PartKind::Reasoning => "  ~ ",
            PartKind::Call => "  > ",
        };
        self.after_bar(bar, &part.text);
    }

    /// Returns whether the replies of a run are control objects.
    fn is_controlled(&self, run: &Address) -> bool {
        self.records.run(run).is_some_and(|run| Mode::from_name(&run.start.mode) == Some(Mode::JsonLoop))
    }

    /// A control object as it arrives: its thought.
    fn control(&mut self, at: &Address, part: &ReplyPart) {
        let is_new = !matches!(&self.thought, Some((here, attempt, _)) if here == at && *attempt == part.attempt);
        if is_new {
            self.thought = Some((at.clone(), part.attempt, Thought::new()));
        }
        let Some((.., thought)) = &mut self.thought else { return };
        let more = thought.take(&part.text);
        self.after_bar("  | ", &more);
    }

    /// Prints the text of a control object other than its thought.
    fn end_control(&mut self) {
        let Some((.., thought)) = self.thought.take() else { return };
        match thought.rest() {
            Some(Rest::Answer(answer)) => self.line(&format!("  answers {}", work::short(&answer))),
            Some(Rest::Raw(reply)) => {
                self.after_bar("  | ", &reply);
                if !self.at_line_start {
                    _ = writeln!(self.out);
                    self.at_line_start = true;
                }
            }
            None => {}
        }
    }

    /// Text after a bar at the start of each line.
    fn after_bar(&mut self, bar: &str, text: &str) {
        for piece in SafeText::multi_line(text).as_str().split_inclusive('\n') {
            let start =
                if self.at_line_start { format!("{:indent$}{bar}", "", indent = self.indent) } else { String::new() };
            _ = write!(self.out, "{start}{piece}");
            self.at_line_start = piece.ends_with('\n');
        }
        _ = self.out.flush();
    }

    fn reply_end(&mut self, end: &ReplyEnd) {
        self.end_control();
        // Text that was printed as it arrived is not printed again.
        let seen = std::mem::take(&mut self.calling);
        for call in end.calls.iter().filter(|_| !seen) {
            self.line(&format!("  asks for {} {}", call.name, cut(&call.args, work::LONGEST)));
        }
        let Some(error) = &end.error else { return };
        let (mark, text) = match end.status {
            ReplyStatus::Discarded => {
                (self.marks.warning, format!("attempt {} discarded: {}", end.attempt, error.message))
            }
            _ => (self.marks.bad, format!("{}: {}", error.reason, in_plain_words(&error.message))),
        };
        self.marked(mark, &text);
    }

    /// A model other than the requested one is reported when it answers for the first time.
    fn answered_by(&mut self, turn: &Address, end: &ReplyEnd) {
        let record = self.records.turn(turn);
        let attempt = record.and_then(|record| record.attempts.iter().find(|attempt| attempt.number == end.attempt));
        let other = attempt.and_then(|attempt| OtherModel::of(attempt.sent.as_ref()?, end));
        let run = turn.run_part();
        let before = match other.clone() {
            Some(other) => self.others.insert(run, other),
            None => self.others.remove(&run),
        };
        if let Some(other) = other.filter(|other| before.as_ref() != Some(other)) {
            self.marked(self.marks.warning, &other.to_string());
        }
    }

    fn issue(&mut self, issue: &IssueRecord) {
        let mark = if issue.severity == IssueSeverity::Error { self.marks.bad } else { self.marks.warning };
        let path = if issue.path.is_empty() { "root" } else { &issue.path };
        self.marked(mark, &format!("{path}: {}", describe_issue(issue)));
    }

    fn turn_end(&mut self, at: &Address, end: &TurnEnd) {
        let record = self.records.turn(at);
        let is_reported = record.is_some_and(TurnRecord::has_failure);
        let answered = record.and_then(|record| record.answered);
        let first = self.records.run(&at.run_part()).map(|run| &run.start.model);
        let spending = record.zip(first).map(|(record, first)| record.spending(first)).unwrap_or_default();
        // A turn without feedback ends the run, which has the reason.
        if let Some(source) = answered {
            if let Some(reason) = end.reason.as_deref().filter(|_| !is_reported) {
                self.marked(self.marks.bad, &describe_reason(reason));
            }
            if source == Source::Feedback {
                self.line("  feedback sent to the model");
            }
        }
        if let Some(tokens) = &spending.tokens {
            self.line(&format!("  tokens {} in, {} out{}", tokens.input, tokens.output, spent(&spending)));
        }
    }

    fn run_end(&mut self, end: &RunEnd, envelope: &Envelope) {
        let root = !envelope.address.is_call();
        self.ended |= root;
        let Some(run) = self.records.run(&envelope.address) else { return };
        let time = running(run.elapsed_ms());
        let turns = plural(run.ledger.own().turns.into(), "turn");
        let usage = self.records.usage(&envelope.address);
        let tokens = usage
            .tokens
            .map(|tokens| format!(", {} {} in, {} out", tokens.input, inflected(tokens.input, "token"), tokens.output));
        let spent = format!("{}{}", tokens.unwrap_or_default(), spent(&usage));
        let next =
            end.fail.as_ref().filter(|_| root).and_then(|_| next_step(&edited(run), end, run.last_call_error.as_ref()));
        match &end.fail {
            None => {
                let from = end.from_turn.map(|turn| format!(" with the value of turn {turn}")).unwrap_or_default();
                let text = format!("returned after {turns}, {time}{spent}{from}");
                self.line(&self.marks.line(self.marks.good, &text));
            }
            Some(fail) => {
                let text = format!("{} after {turns}, {time}{spent}: {}", fail.reason, in_plain_words(&fail.message));
                self.failure(&text, next.as_deref());
            }
        }
        self.extras(end, &envelope.address);
    }
}

/// The start of a run with the edits of a fork.
fn edited(run: &RunRecord) -> RunStart {
    let edit = |start: RunStart, edit| edited_start(&start, edit).unwrap_or(start);
    run.edits.iter().fold(run.start.clone(), edit)
}

/// The part of these tokens that came from the cache, and the cost of all.
fn spent(spending: &Spending) -> String {
    let amount = spending.cost().map(|amount| format!("cost {}", cost(Some(amount))));
    let parts: Vec<String> =
        cached(spending.tokens).into_iter().chain(amount).map(|part| format!(", {part}")).collect();
    parts.concat()
}

/// The mode, and for `text` which of its variants the agent has.
fn mode(start: &RunStart) -> String {
    let is_text = Mode::from_name(&start.mode) == Some(Mode::Text);
    let agent = is_text.then(|| Agent::recorded(&start.agent.toml).ok()).flatten();
    match agent.and_then(|agent| Plan::new(&agent).ok()) {
        Some(plan) => format!("{} ({})", start.mode, plan.variant.name()),
        None => start.mode.clone(),
    }
}

#[cfg(test)]
mod tests;
