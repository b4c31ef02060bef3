//! Lines about a turn, one or two per item: program, calls, prints, value, memory, questions, checklist, compaction.

use std::io::Write;

use ptc_core::lisp::format;
use ptc_core::text::width::width;
use ptc_core::text::{SafeText, cut};

use super::Printer;
use crate::event::{
    Address, AnswerGiven, CallStatus, CompactionDone, JsonText, MemoryChange, PlanState, ProgramEnd, ProgramStatus,
    QuestionAsked, RunEnd, TasksKept, ToolCall, ToolEnd,
};
use crate::workbench::format::{cost, inflected, plural};
use crate::workbench::wording::{self, Excerpt};

/// Characters of a value, an argument or a text that are printed.
pub(super) const LONGEST: usize = 200;
/// Items of a list of texts that are printed.
const ITEMS: usize = 3;
/// Columns that a program is laid out within.
const COLUMNS: usize = 96;

/// A text on one line, cut.
pub(super) fn short(text: &str) -> String {
    cut(SafeText::single_line(text.trim()).as_str(), LONGEST)
}

impl<W: Write> Printer<W> {
    /// The program laid out, unless the reply contains it in the same layout.
    pub(super) fn program(&mut self, at: &Address) {
        let Some(turn) = self.records.turn(at) else { return };
        let Some(program) = turn.program() else { return };
        let laid = format::program(program, COLUMNS).unwrap_or_else(|| program.to_owned());
        if turn.reply().contains(laid.trim()) {
            return;
        }
        let lines: Vec<String> = laid.trim_end().lines().map(|line| format!("    {line}")).collect();
        self.line(&format!("  program\n{}", lines.join("\n")));
    }

    pub(super) fn call(&mut self, at: &Address, call: &ToolCall) {
        let args = wording::in_short(&call.args, LONGEST);
        let effect = if call.effectful { " (has external effects)" } else { "" };
        self.line(&format!("  call {} {args}{effect}{}", call.name, self.address_suffix(at)));
    }

    pub(super) fn call_end(&mut self, at: &Address, end: &ToolEnd) {
        let mark = if end.status == CallStatus::Ok { self.marks.good } else { self.marks.bad };
        let time = if end.cached { "cached".to_owned() } else { format!("{} ms", end.ms) };
        let outcome_text = match end.status {
            CallStatus::Refused => format!("refused: {}", wording::outcome(end, LONGEST)),
            CallStatus::Cancelled => "stopped".to_owned(),
            CallStatus::Unknown => "its outcome is unknown".to_owned(),
            CallStatus::Ok | CallStatus::Error => format!("{} ({time})", short(&wording::outcome(end, LONGEST))),
        };
        // Calls of parallel branches have the same number: the branch is part of the name.
        let number = at.as_str().strip_prefix(at.turn_part().as_str()).unwrap_or_default().trim_start_matches('/');
        let outcome_text = self.marks.line(mark, &format!("{number} {} {outcome_text}", self.marks.gives));
        self.line(&format!("    {outcome_text}"));
    }

    pub(super) fn question(&mut self, at: &Address, question: &QuestionAsked) {
        let options =
            if question.options.is_empty() { String::new() } else { format!(" ({})", question.options.join(" | ")) };
        self.line(&format!("  asks: {}{options}{}", question.text, self.address_suffix(at)));
    }

    pub(super) fn answer(&mut self, answer: &AnswerGiven) {
        // A text that passed a gate unchanged is nothing new.
        let outcome_text = if answer.edited { "changed" } else { "answered" };
        self.line(&format!("  {outcome_text} by {}: {}", answer.by, short(answer.value.as_str())));
    }

    pub(super) fn program_end(&mut self, at: &Address, end: &ProgramEnd) {
        for print in end.prints.iter().take(ITEMS) {
            self.line(&format!("  prints {}", short(print)));
        }
        if let Some(more) = end.prints.len().checked_sub(ITEMS).filter(|more| *more > 0) {
            self.line(&format!("  … {more} more printed"));
        }
        if let Some(value) = &end.value {
            let word = if end.status == ProgramStatus::Return || end.status == ProgramStatus::Fail {
                end.status.name()
            } else {
                "value"
            };
            self.line(&format!("  {word} {}", short(value.text())));
        }
        if let Some(error) = &end.error {
            let excerpt = end.span.and_then(|span| Excerpt::of(self.records.turn(at)?.program()?, span));
            let place = excerpt.as_ref().map(|found| format!(" ({})", found.place));
            let place = place.filter(|_| !error.message.contains("line ")).unwrap_or_default();
            self.marked(self.marks.bad, &format!("{}: {}{place}", error.reason, error.message));
            if let Some(found) = excerpt {
                self.excerpt(&found);
            }
            if let Some(hint) = wording::own_hint(error) {
                self.line(&format!("    {hint}"));
            }
            if let Some(details) = &error.details {
                self.line(&format!("    {}", wording::in_short(details, LONGEST)));
            }
        }
        for (id, text) in &end.summaries {
            self.line(&format!("  done {id}: {}", short(text)));
        }
        for warning in &end.warnings {
            self.marked(self.marks.warning, warning);
        }
    }

    /// The line of the program with a caret under what is wrong.
    fn excerpt(&mut self, found: &Excerpt) {
        let before = SafeText::single_line(&found.before);
        let marked = SafeText::single_line(&found.marked);
        let line = found.place.line;
        self.line(&format!("    {line:>3} | {before}{marked}{}", SafeText::single_line(&found.after)));
        let under = format!("{}{}", " ".repeat(width(&before)), "^".repeat(width(&marked).max(1)));
        self.line(&format!("        | {under}"));
    }

    /// Prints the definitions of a program; `replaced`: the previous values of names.
    pub(super) fn memory(&mut self, change: &MemoryChange, replaced: &[(String, String)]) {
        if change.rolled_back {
            return self.marked(self.marks.warning, "memory: too large, the definitions are dropped");
        }
        let marks = self.marks;
        let old = |name: &String| replaced.iter().find(|(known, _)| known == name).map(|(_, value)| short(value));
        let set = change.set.iter().map(|(name, value)| match old(name) {
            Some(old) => format!("{} {name} {old} {} {}", marks.changed, marks.to, short(value.text())),
            None => format!("{} {name} {}", marks.new, short(value.text())),
        });
        let del = change.del.iter().map(|name| format!("{} {name}", marks.gone));
        let all: Vec<String> = set.chain(del).collect();
        for line in all.iter().take(ITEMS) {
            self.line(&format!("  memory {line}"));
        }
        if let Some(more) = all.len().checked_sub(ITEMS).filter(|more| *more > 0) {
            self.line(&format!("  memory … {more} more"));
        }
    }

    pub(super) fn plan(&mut self, plan: &PlanState) {
        let done = plan.items.iter().filter(|(.., note)| note.is_some()).count();
        self.line(&format!("  plan {done} of {} done", plan.items.len()));
        for (id, what, note) in &plan.items {
            let mark = if note.is_some() { self.marks.done } else { self.marks.open };
            let note = note.as_deref().filter(|note| !note.is_empty()).map(|note| format!(" — {}", short(note)));
            self.line(&format!("    {mark} {id} {}{}", short(what), note.unwrap_or_default()));
        }
    }

    /// Prints the changes to the journal of finished tasks.
    pub(super) fn tasks(&mut self, tasks: &TasksKept) {
        let marks = self.marks;
        let set = tasks.set.iter().map(|(id, value)| format!("{} {id} {}", marks.new, short(value.text())));
        let del = tasks.del.iter().map(|id| format!("{} {id}", marks.gone));
        set.chain(del).collect::<Vec<_>>().iter().for_each(|line| self.line(&format!("  task {line}")));
    }

    pub(super) fn compaction(&mut self, done: &CompactionDone) {
        let to = self.marks.to;
        self.line(&format!(
            "  history shortened ({}, {}): {} {to} {}, ~{} {to} ~{} {}",
            done.strategy,
            done.reason.name().replace('_', " "),
            done.messages_before,
            plural(u64::from(done.messages_after), "message"),
            done.tokens_before,
            done.tokens_after,
            inflected(done.tokens_after, "token")
        ));
    }

    /// The text that came with the answer, and the part of the usage that is of child runs.
    pub(super) fn extras(&mut self, end: &RunEnd, run: &Address) {
        if let Some(summary) = &end.summary {
            self.line(&format!("  summary {}", short(summary)));
        }
        if let Some(refs) = end.refs.as_ref().map(JsonText::as_str) {
            self.line(&format!("  refs {}", short(refs)));
        }
        let children = self.records.child_usage(run);
        if children.turns > 0 {
            let tokens = children.tokens.map(|tokens| tokens.total());
            let tokens = tokens.map(|total| format!(", {total} {}", inflected(total, "token"))).unwrap_or_default();
            let turns = plural(children.turns.into(), "turn");
            let amount = children.cost().map(|amount| format!(", cost {}", cost(Some(amount)))).unwrap_or_default();
            self.line(&format!("  child runs: {turns}{tokens}{amount}"));
        }
    }
}
