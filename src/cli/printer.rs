//! The linear face of a run: each event as lines on stderr, as it happens.

mod thought;
mod work;

use std::collections::{HashMap, HashSet};
use std::io::Write;

use ptc_core::reasons::Reason;
use ptc_core::text::{SafeText, width};

use crate::agent::{Agent, Mode, Plan, Step};
use crate::event::{
    Address, Envelope, Event, Gaps, IssueRecord, PartKind, Price, ReplyEnd, ReplyPart, ReplyStatus, RunEnd, RunStart,
    RunText, Sent, Source, Tokens, TurnEnd, cost_of, elapsed_ms,
};
use crate::model::OtherModel;

use crate::workbench::format::{cached, cost, plural};
use crate::workbench::{Definitions, next_step};
use thought::{Rest, Thought};

/// Columns that the new text of an edit may take.
const EDIT_COLUMNS: usize = 60;

/// Marks in front of lines.
struct Marks {
    good: &'static str,
    bad: &'static str,
    warning: &'static str,
    /// Between parts of one line.
    dot: &'static str,
    /// From what was to what is.
    to: &'static str,
    /// Before a name that is new, changed, gone.
    new: &'static str,
    changed: &'static str,
    gone: &'static str,
}

const SIGNS: Marks =
    Marks { good: "✓", bad: "✗", warning: "!", dot: " · ", to: "→", new: "+", changed: "~", gone: "-" };
const WORDS: Marks = Marks {
    good: "ok:",
    bad: "error:",
    warning: "warning:",
    dot: ", ",
    to: "to",
    new: "new",
    changed: "changed",
    gone: "gone",
};

/// Prints events in order.
pub(super) struct Printer<W: Write> {
    out: W,
    marks: &'static Marks,
    /// When each run that has not ended began, Unix time in ms.
    started_ms: HashMap<Address, i64>,
    /// What the model of each of them costs, where that is known.
    prices: HashMap<Address, Price>,
    /// What each turn that has not ended sent last.
    sent: HashMap<Address, Sent>,
    /// The other model that answers a run, as it was told last.
    others: HashMap<Address, OtherModel>,
    /// How the root run started.
    start: RunStart,
    gaps: Gaps,
    /// The reply of each turn that has not ended.
    replies: RunText,
    /// The program of each turn that has not ended.
    programs: HashMap<Address, String>,
    /// Runs whose replies are control objects.
    controlled: HashSet<Address>,
    /// The control object that arrives, and its attempt.
    thought: Option<(Address, u32, Thought)>,
    definitions: Definitions,
    /// Turns that have not ended and whose failure was told.
    failed: HashSet<Address>,
    /// Turns that have not ended and to which something was answered: feedback, or only results of tools.
    answered: HashMap<Address, Source>,
    /// Native calls of the reply were shown as they arrived.
    calling: bool,
    in_reply: Option<(Address, u32, PartKind)>,
    at_line_start: bool,
    /// Columns before every line: agents below stand to the right of who called them.
    indent: usize,
    ended: bool,
}

/// Columns per level of agents.
const DEPTH_COLUMNS: usize = 4;
/// Levels that are shown by columns.
const MOST_LEVELS: usize = 6;

impl Printer<Vec<u8>> {
    /// What was printed since the last time.
    pub(super) fn taken(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
}

impl<W: Write> Printer<W> {
    /// Prints with marks, or with words when `plain`.
    pub(super) fn new(out: W, plain: bool) -> Self {
        let marks = if plain { &WORDS } else { &SIGNS };
        Self {
            out,
            marks,
            started_ms: HashMap::new(),
            prices: HashMap::new(),
            sent: HashMap::new(),
            others: HashMap::new(),
            start: RunStart::default(),
            gaps: Gaps::default(),
            replies: RunText::new(),
            programs: HashMap::new(),
            controlled: HashSet::new(),
            thought: None,
            definitions: Definitions::default(),
            failed: HashSet::new(),
            answered: HashMap::new(),
            calling: false,
            in_reply: None,
            at_line_start: true,
            indent: 0,
            ended: false,
        }
    }

    fn line(&mut self, text: &str) {
        for line in SafeText::multi_line(text).lines() {
            // A closed pipe must not end the run.
            _ = writeln!(self.out, "{:indent$}{line}", "", indent = self.indent);
        }
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
        // That a run waits is told where it happens.
        let told = self.ended || step.waits_for.is_some();
        if let Some(fail) = step.fail.as_ref().filter(|_| !told) {
            self.failure(&format!("{}: {}", fail.reason, fail.message), fail.hint.as_deref());
        }
    }

    /// Prints one event.
    pub(super) fn print(&mut self, envelope: &Envelope) {
        // Time in which nobody ran does not count.
        let gap_ms = self.gaps.before(envelope);
        self.started_ms.values_mut().for_each(|started_ms| *started_ms = started_ms.saturating_add(gap_ms));
        if !matches!(envelope.event, Event::ReplyPart(_)) {
            self.end_reply();
        }
        self.indent = envelope.run().depth().min(MOST_LEVELS) * DEPTH_COLUMNS;
        let at = &envelope.address;
        if let Event::ReplyPart(_) | Event::ReplyEnd(_) = &envelope.event {
            self.replies.entry(at.clone()).or_default().apply(&envelope.event);
        }
        match &envelope.event {
            Event::RunStart(start) => {
                self.definitions.apply(envelope);
                if Mode::from_name(&start.mode) == Some(Mode::JsonLoop) {
                    self.controlled.insert(at.clone());
                }
                self.run_start(start, envelope);
            }
            Event::TurnStart(start) if start.stop.is_none() => {
                let kind = match start.kind.as_str() {
                    "" | "normal" => String::new(),
                    kind => format!(" ({})", kind.replace('_', " ")),
                };
                self.line(&format!("turn {}{kind}", envelope.address.turn_number().unwrap_or_default()));
            }
            Event::ReplyPart(part) => self.reply(at, part),
            Event::ReplyEnd(end) => {
                self.reply_end(end);
                self.answered_by(at, end);
            }
            Event::Sent(sent) => _ = self.sent.insert(at.clone(), sent.clone()),
            Event::RetryWait(wait) => {
                let asked = if wait.retry_after { ", as the server asked" } else { "" };
                let of = wait.of.map(|of| format!(" of {of}")).unwrap_or_default();
                let next = wait.attempt.saturating_add(1);
                self.line(&format!("  waiting {} ms before attempt {next}{of}{asked}: {}", wait.wait_ms, wait.message));
            }
            Event::Extract(extract) => {
                let fixes: Vec<_> = extract.fixes.iter().map(|(name, ..)| name.as_str()).collect();
                if !fixes.is_empty() {
                    self.line(&format!("  {} repaired: {}", self.marks.warning, fixes.join(", ")));
                }
                if let Some(error) = &extract.error {
                    self.failed.insert(at.clone());
                    self.line(&format!("  {} {}: {}", self.marks.bad, error.reason, error.message));
                }
                self.keep_program(at, extract);
                self.program(at, extract);
            }
            Event::ToolCall(call) => self.call(call),
            Event::ToolEnd(end) => self.call_end(at, end),
            Event::QuestionAsked(question) => self.question(question),
            Event::AnswerGiven(answer) => self.answer(answer),
            Event::ProgramEnd(end) => {
                if end.error.is_some() {
                    self.failed.insert(at.clone());
                }
                self.program_end(at, end);
            }
            Event::MemoryChange(change) => {
                let replaced = self.definitions.apply(envelope);
                self.memory(change, &replaced);
            }
            Event::TasksKept(tasks) => self.tasks(tasks),
            Event::PlanState(plan) => self.plan(plan),
            Event::CompactionDone(done) => self.compaction(done),
            Event::RunWait(wait) => self.line(&format!("waiting for the answer to {}", wait.question)),
            Event::Resume(resume) => self.line(&format!("going on after event {}", resume.after)),
            Event::Edit(edit) => {
                let after = SafeText::single_line(&edit.text());
                let after = width::truncate(after.as_str(), EDIT_COLUMNS);
                self.line(&format!("  edited by {}: {} at {}: {after}", edit.by, edit.target, edit.at));
            }
            Event::Interrupt(interrupt) => {
                self.line(&format!("  {} {} by {}", self.marks.bad, interrupt.reason.replace('_', " "), interrupt.by));
            }
            Event::Check(check) => {
                if !check.ok {
                    self.failed.insert(at.clone());
                }
                check.issues.iter().for_each(|issue| self.issue(issue));
            }
            Event::Message(message) if matches!(message.source, Source::Feedback | Source::Tool) => {
                self.answered.insert(at.clone(), message.source);
            }
            Event::Notice(notice) => self.line(&format!("  {} {}", self.marks.warning, notice.text)),
            Event::TurnEnd(end) => {
                self.replies.remove(at);
                self.programs.remove(at);
                self.sent.remove(at);
                self.turn_end(at, end);
            }
            Event::RunEnd(end) => self.run_end(end, envelope),
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

    fn run_start(&mut self, start: &RunStart, envelope: &Envelope) {
        self.started_ms.insert(envelope.address.clone(), envelope.at_ms);
        self.prices.extend(start.model.price.map(|price| (envelope.address.clone(), price)));
        let who = if envelope.address.is_call() { "agent " } else { "" };
        if !envelope.address.is_call() {
            (self.ended, self.start) = (false, start.clone());
        }
        let dot = self.marks.dot;
        self.line(&format!("{who}{}{dot}{}{dot}{}", start.agent.name, mode(start), start.model.alias));
    }

    /// Reply text as it arrives, each line behind a bar.
    fn reply(&mut self, at: &Address, part: &ReplyPart) {
        let now = Some((at.clone(), part.attempt, part.kind));
        if self.in_reply != now {
            self.end_reply();
            self.in_reply = now;
        }
        self.calling |= part.kind == PartKind::Call;
        if part.kind == PartKind::Text && self.controlled.contains(&at.run_part()) {
            return self.control(at, part);
        }
        let bar = match part.kind {
            PartKind::Text => "  | ",
            PartKind::Reasoning => "  ~ ",
            PartKind::Call => "  > ",
        };
        self.behind(bar, &part.text);
    }

    /// A control object as it arrives: its thought.
    fn control(&mut self, at: &Address, part: &ReplyPart) {
        let is_new = !matches!(&self.thought, Some((here, attempt, _)) if here == at && *attempt == part.attempt);
        if is_new {
            self.thought = Some((at.clone(), part.attempt, Thought::new()));
        }
        let Some((.., thought)) = &mut self.thought else { return };
        let more = thought.take(&part.text);
        self.behind("  | ", &more);
    }

    /// What a control object said beside its thought.
    fn end_control(&mut self) {
        let Some((.., thought)) = self.thought.take() else { return };
        match thought.rest() {
            Some(Rest::Answer(answer)) => self.line(&format!("  answers {}", work::short(&answer))),
            Some(Rest::Raw(reply)) => {
                self.behind("  | ", &reply);
                if !self.at_line_start {
                    _ = writeln!(self.out);
                    self.at_line_start = true;
                }
            }
            None => {}
        }
    }

    /// Text behind a bar at the start of each line.
    fn behind(&mut self, bar: &str, text: &str) {
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
        // What was seen as it arrived is not told again.
        let seen = std::mem::take(&mut self.calling);
        for call in end.calls.iter().filter(|_| !seen) {
            self.line(&format!(
                "  asks for {} {}",
                call.name,
                crate::workbench::wording::cut(&call.args, work::LONGEST)
            ));
        }
        let Some(error) = &end.error else { return };
        let said = match end.status {
            ReplyStatus::Discarded => {
                format!("  {} attempt {} discarded: {}", self.marks.warning, end.attempt, error.message)
            }
            _ => format!("  {} {}: {}", self.marks.bad, error.reason, error.message),
        };
        self.line(&said);
    }

    /// Another model than the one that was asked is told when it answers for the first time.
    fn answered_by(&mut self, turn: &Address, end: &ReplyEnd) {
        let other = self.sent.get(turn).and_then(|sent| OtherModel::of(sent, end));
        let run = turn.run_part();
        let before = match other.clone() {
            Some(other) => self.others.insert(run, other),
            None => self.others.remove(&run),
        };
        if let Some(other) = other.filter(|other| before.as_ref() != Some(other)) {
            self.line(&format!("  {} {other}", self.marks.warning));
        }
    }

    fn issue(&mut self, issue: &IssueRecord) {
        let mark = if issue.severity == "error" { self.marks.bad } else { self.marks.warning };
        let path = if issue.path.is_empty() { "root" } else { &issue.path };
        self.line(&format!("  {mark} {path}: {}", issue.message));
    }

    fn turn_end(&mut self, at: &Address, end: &TurnEnd) {
        let was_told = self.failed.remove(at);
        // A turn that nothing is answered to ends the run, which says why.
        if let Some(source) = self.answered.remove(at) {
            if let Some(reason) = end.reason.as_deref().filter(|_| !was_told) {
                let about = Reason::from_name(reason).map(|reason| format!(": {}", reason.row().meaning));
                self.line(&format!("  {} {reason}{}", self.marks.bad, about.unwrap_or_default()));
            }
            if source == Source::Feedback {
                self.line("  feedback sent to the model");
            }
        }
        if let Some(tokens) = &end.usage {
            self.line(&format!("  tokens {} in, {} out{}", tokens.input, tokens.output, self.spent(at, *tokens)));
        }
    }

    /// What of these tokens of a run's turn, or of all of them, came from the cache, and what they cost.
    fn spent(&self, at: &Address, tokens: Tokens) -> String {
        let price = self.prices.get(&at.run_part()).copied();
        let amount = cost_of(price, Some(tokens)).map(|amount| format!("cost {}", cost(Some(amount))));
        let parts: Vec<String> =
            cached(Some(tokens)).into_iter().chain(amount).map(|told| format!(", {told}")).collect();
        parts.concat()
    }

    fn run_end(&mut self, end: &RunEnd, envelope: &Envelope) {
        let root = !envelope.address.is_call();
        self.ended |= root;
        let started_ms = self.started_ms.remove(&envelope.address).unwrap_or(envelope.at_ms);
        let seconds = std::time::Duration::from_millis(elapsed_ms(started_ms, envelope.at_ms)).as_secs_f64();
        let turns = plural(end.usage.totals.turns.into(), "turn");
        let spent = end.usage.totals.tokens.map(|tokens| self.spent(&envelope.address, tokens)).unwrap_or_default();
        self.prices.remove(&envelope.address);
        match &end.fail {
            None => {
                let from = end.from_turn.map(|turn| format!(" with the value of turn {turn}")).unwrap_or_default();
                self.line(&format!("{} returned after {turns}, {seconds:.1} s{spent}{from}", self.marks.good));
            }
            Some(fail) => {
                let said = format!("{} after {turns}, {seconds:.1} s{spent}: {}", fail.reason, fail.message);
                let next = root.then(|| next_step(&self.start, end)).flatten();
                self.failure(&said, next.as_deref());
            }
        }
        self.extras(end);
    }
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
