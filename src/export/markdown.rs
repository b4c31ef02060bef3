//! The export `md`: a session to read, in Markdown.
//!
//! Content appears only in fenced blocks whose fence is longer than any run of backticks in it, or in code spans made the same way. It
//! can therefore neither close its block nor become markup.

use ptc_core::lisp::format;
use ptc_core::value::Json;

use super::iso;
use super::story::{Content, Run, calls, child_runs, definitions, notices, roots, runs, usage_facts};
use super::text::{one_line, visible};
use crate::event::CallStatus;
use crate::record::{CallRecord, QuestionRecord, TurnRecord};

/// Columns that programs are laid out within.
const COLUMNS: usize = 96;

pub(super) fn markdown(content: &Content) -> String {
    let runs = runs(content);
    let mut page = Page::default();
    page.line(&format!("# Session {}", span(&content.session)));
    page.line(&format!("Recorded {} by {}.", iso(content.created_ms), span(&content.program)));
    if let Some(from) = &content.imported {
        page.line(&format!("Imported from {}; it cannot be replayed.", span(from)));
    }
    if let Some(from) = &content.captured {
        page.line(&format!("Captured: {}; it cannot be replayed.", span(from)));
    }
    if let Some(damage) = &content.damage {
        page.line(&format!("Not all of it could be read: {}", span(damage)));
    }
    for run in roots(&runs) {
        page.run(&runs, run, 2);
    }
    page.out
}

/// The longest run of backticks in a text.
fn backticks(text: &str) -> usize {
    let mut longest = 0;
    let mut now = 0;
    for c in text.chars() {
        now = if c == '`' { now + 1 } else { 0 };
        longest = longest.max(now);
    }
    longest
}

/// A text as a code span.
fn span(text: &str) -> String {
    let text = one_line(text);
    let text = if text.trim().is_empty() { "–".to_owned() } else { text };
    let ticks = "`".repeat(backticks(&text) + 1);
    let edge = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{edge}{text}{edge}{ticks}")
}

#[derive(Default)]
struct Page {
    out: String,
}

impl Page {
    /// A block of its own.
    fn line(&mut self, text: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn heading(&mut self, level: usize, text: &str) {
        self.line(&format!("{} {text}", "#".repeat(level.min(6))));
    }

    /// A fenced block with a word above it.
    fn block(&mut self, title: &str, language: &str, text: &str) {
        let text = visible(text);
        let fence = "`".repeat((backticks(&text) + 1).max(3));
        let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        self.line(&format!("{title}:\n\n{fence}{language}\n{text}{end}{fence}"));
    }

    fn json(&mut self, title: &str, json: &Json) {
        self.block(title, "json", &json.to_pretty());
    }

    fn run(&mut self, all: &[Run], run: &Run, level: usize) {
        let step = &run.step;
        let what = if level > 2 { "Agent" } else { "Run" };
        self.heading(level, &format!("{what} {}: {}", span(run.record().address.as_str()), span(&step.name)));
        self.line(&facts(run).join("\n"));
        self.json("Context", &run.record().start.context.json());
        for notice in &run.record().notices {
            self.block("Notice", "text", &notice.text);
        }
        let mut shown = 0;
        for turn in run.turns() {
            self.turn(all, run, turn, level + 1, &mut shown);
        }
        match (&step.answer, &step.fail) {
            (_, Some(fail)) => {
                self.heading(level + 1, &format!("Failed: {}", span(&fail.reason)));
                self.block("Error", "text", &fail.message);
            }
            (Some(answer), None) => {
                self.heading(level + 1, "Returned");
                match answer.as_str() {
                    Some(text) => self.block("Answer", "text", text),
                    None => self.json("Answer", answer),
                }
            }
            (None, None) => self.line("The run has not ended."),
        }
        if let Some(summary) = &step.summary {
            self.block("Beside it", "text", summary);
        }
        if let Some(refs) = &step.refs {
            self.json("Refs", refs);
        }
    }

    fn turn(&mut self, all: &[Run], run: &Run, turn: &TurnRecord, level: usize, shown: &mut u32) {
        let state = if turn.success() { "ok" } else { "no answer yet" };
        self.heading(level, &format!("Turn {} ({state})", turn.number()));
        let new = run.sent(turn).filter(|message| message.m >= *shown && !message.is_repeated_reply());
        let new: Vec<_> = new.collect();
        for message in &new {
            self.block(&format!("Sent as {}", message.role.name()), "text", &message.lines());
        }
        *shown = new.iter().map(|message| message.m + 1).max().unwrap_or(0).max(*shown);
        for edit in &turn.edits {
            let language = if edit.after.json().as_str().is_some() { "text" } else { "json" };
            self.block(&format!("Edited by {}, {}", span(edit.by.name()), span(&edit.target)), language, &edit.text());
        }
        let reasoning = turn.attempts.reasoning();
        if !reasoning.is_empty() {
            self.block("Reasoning", "text", &reasoning);
        }
        self.block("Reply", "text", turn.reply());
        for call in turn.native_calls() {
            self.block(&format!("Asks for {}", span(&call.name)), "json", &call.args);
        }
        self.outcome(turn);
        for call in calls(turn) {
            self.call(call);
            let child = child_runs(all, run).find(|child| child.record().address == call.address);
            if let Some(child) = child {
                self.run(all, child, level + 1);
            }
        }
    }

    /// Writes the results of the reply: program, prints, value, definitions, findings, errors, questions, notices.
    fn outcome(&mut self, turn: &TurnRecord) {
        let fixes: Vec<&str> = turn.fixes().collect();
        if !fixes.is_empty() {
            self.line(&format!("Repaired: {}", fixes.into_iter().map(span).collect::<Vec<_>>().join(", ")));
        }
        if let Some(program) = turn.program() {
            self.block("Program", "clojure", &format::program(program, COLUMNS).unwrap_or_else(|| program.to_owned()));
        }
        if !turn.prints().is_empty() {
            self.block("Printed", "text", &turn.prints().join("\n"));
        }
        if let Some(value) = turn.value() {
            self.block("Value", "clojure", value);
        }
        for (name, value) in definitions(turn) {
            self.block(&format!("Defined {}", span(name)), "clojure", value);
        }
        for issue in turn.issues() {
            let path = if issue.path.is_empty() { "root" } else { &issue.path };
            self.line(&format!("- {} at {}: {}", span(issue.severity.name()), span(path), span(&issue.message)));
        }
        if let Some(error) = turn.error() {
            self.block(&format!("Error {}", span(&error.reason)), "text", &error.message);
        }
        for QuestionRecord { asked, answer, .. } in &turn.questions {
            self.block("Asked the user", "text", &asked.text);
            if let Some(answer) = answer {
                self.block(&format!("Answered by {}", span(answer.by.name())), "json", answer.value.as_str());
            }
        }
        for notice in &notices(turn) {
            self.block("Notice", "text", notice);
        }
    }

    fn call(&mut self, call: &CallRecord) {
        let status = call.status.map_or("not ended", CallStatus::name);
        self.line(&format!("**Call** {} {}: {status}, {} ms", span(call.address.as_str()), span(&call.name), call.ms));
        self.json("Arguments", &call.args.json());
        if let Some(error) = &call.error {
            self.block(&format!("Error {}", span(&error.reason)), "text", &error.message);
        }
        if let Some(result) = &call.result {
            self.json("Result", &result.json());
        }
    }
}

/// Mode, model, sizes and times as list items.
fn facts(run: &Run) -> Vec<String> {
    let step = &run.step;
    let mut facts = vec![
        format!("- mode {}", span(&run.record().start.mode)),
        format!("- model {}", span(&run.models())),
        format!("- started {}, {} ms", iso(run.record().started_ms), run.took_ms()),
        format!("- turns {}", step.turns.len()),
    ];
    facts.extend(usage_facts(&step.usage).into_iter().map(|(name, value)| format!("- {name} {value}")));
    facts.extend(step.signature.as_deref().map(|signature| format!("- signature {}", span(signature))));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_content_closes_its_block_or_its_span() {
        let mut page = Page::default();
        page.block("T", "text", "a\n````\n# not a heading");
        assert_eq!(page.out, "T:\n\n`````text\na\n````\n# not a heading\n`````\n");
        assert_eq!(span("a`b``c"), "```a`b``c```");
        assert_eq!(span("`x"), "`` `x ``");
        assert_eq!(span("a\nb"), "`a b`");
    }
}
