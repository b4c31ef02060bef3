//! The work of a turn: compaction, tool calls, questions, prints, value, error at its place, memory, checklist.

use ptc_core::text::width::width;
use ptc_core::text::{SafeText, cut};

use super::block::{error, prose};
use crate::event::{
    AnswerGiven, CallStatus, CompactionDone, Edit, JsonText, MemoryChange, PlanState, ProgramEnd, QuestionAsked,
    TasksKept, TextRecord,
};
use crate::port::Gate;
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::card::{CallLine, TurnCard};
use crate::tui::transcript::format::{count, duration, plural, running};
use crate::tui::transcript::wrapped_text::{Look, WrappedText};
use crate::workbench::wording::{self, Excerpt};

/// Columns of the words before what they name.
const LABEL: usize = 8;
/// Characters of a value that is no longer there.
const OLD: usize = 80;
/// Rows of a printed text or a value that are shown.
const ROWS: usize = 12;

/// Rows after a label before the first of them.
fn labelled(label: &'static str, rows: Vec<Row>) -> Vec<Row> {
    let mut label = Some(label);
    rows.into_iter()
        .map(|mut row| {
            let text = format!("{:<LABEL$}", label.take().unwrap_or_default());
            row.left.insert(0, Piece::new(Role::Dim, &text));
            row
        })
        .collect()
}

/// A text as rows, cut after the first ones.
fn some_rows(text: &str, columns: usize, language: Language) -> Vec<Row> {
    let mut rows = WrappedText::of(text, columns.saturating_sub(LABEL).max(1), Look::Rich(language));
    let more = rows.len().saturating_sub(ROWS);
    if more > 0 {
        rows.truncate(ROWS);
        rows.push(Row::new([Piece::new(Role::Dim, &format!("… {}", plural(more as u64, "more row")))]));
    }
    rows
}

/// Returns the summary of a compaction: the part of the history that a request omits.
pub(super) fn compaction(done: &CompactionDone, columns: usize) -> Vec<Row> {
    let counts: Vec<String> =
        done.counts.iter().map(|(name, number)| format!("{} {}", count(*number), name.replace('_', " "))).collect();
    let counts = if counts.is_empty() { String::new() } else { format!(" · {}", counts.join(", ")) };
    let text = format!(
        "history shortened ({}, {}): {} → {}, ~{} → ~{} tok{counts}",
        done.strategy,
        done.reason.name().replace('_', " "),
        done.messages_before,
        plural(u64::from(done.messages_after), "message"),
        count(done.tokens_before),
        count(done.tokens_after),
    );
    prose(vec![Piece::literal(Role::Accent, "⋯ ")], &text, Role::Dim, columns)
}

/// The tool calls, one under the other, each with its outcome.
pub(super) fn calls(card: &TurnCard, over: bool, now_ms: i64, columns: usize) -> Vec<Row> {
    let room = columns.saturating_sub(LABEL).max(1);
    let mut rows: Vec<Row> = card.calls.iter().flat_map(|line| call(line, over, now_ms, room)).collect();
    for asked in card.asked_calls() {
        let name = Piece::new(Role::Accent, &format!("{} ", asked.name));
        rows.extend(prose(vec![name], &cut(&asked.args, 300), Role::Text, room));
    }
    labelled("tools", rows)
}

fn call(line: &CallLine, over: bool, now_ms: i64, columns: usize) -> Vec<Row> {
    let time = |ms: u64| if line.cached { "cached".to_owned() } else { duration(ms) };
    let (role, state) = match line.status {
        Some(CallStatus::Ok) => (Role::Good, format!("{} ✓", time(line.ms))),
        Some(CallStatus::Error) => (Role::Bad, format!("{} ✗", time(line.ms))),
        Some(CallStatus::Refused) => (Role::Bad, "refused ✗".to_owned()),
        Some(CallStatus::Cancelled) => (Role::Bad, "stopped ✗".to_owned()),
        Some(CallStatus::Unknown) => (Role::Warn, "outcome unknown !".to_owned()),
        None if over => (Role::Bad, "no answer ✗".to_owned()),
        None => (Role::Accent, format!("{} ●", running(crate::event::elapsed_ms(line.started_ms, now_ms)))),
    };
    let effect = if line.effectful { "! " } else { "" };
    let head = [Piece::literal(Role::Warn, effect), Piece::new(Role::Accent, &format!("{} ", line.name))];
    let shown =
        if line.outcome.is_empty() { line.args.clone() } else { format!("{}  →  {}", line.args, line.outcome) };
    let room = columns.saturating_sub(width(&state) + 2).max(1);
    let mut rows = prose(head.into_iter().filter(|piece| !piece.text.is_empty()).collect(), &shown, Role::Text, room);
    if let Some(first) = rows.first_mut() {
        first.right.push(Piece::new(role, &state));
    }
    rows
}

/// A gate at which a user looked at a request or a reply.
fn gate(gate: Gate, answer: Option<&AnswerGiven>, over: bool) -> Vec<Row> {
    let what = gate.subject();
    let row = match answer {
        Some(answer) if answer.edited => {
            Row::new([Piece::new(Role::Accent, &format!("✎ {what} edited by {}", answer.by))])
        }
        Some(answer) => Row::new([Piece::new(Role::Dim, &format!("· {what} passed unchanged by {}", answer.by))]),
        None if over => Row::new([Piece::new(Role::Dim, &format!("– the {what} was not passed before the run ended"))]),
        None => Row::new([Piece::new(Role::Accent, &format!("● the {what} waits for you"))]),
    };
    labelled("gate", vec![row])
}

/// Returns the edits with which a session was forked, and their authors.
pub(super) fn edits(edits: &[Edit], columns: usize) -> Vec<Row> {
    let row = |edit: &Edit| {
        let head = vec![Piece::new(Role::Accent, &format!("✎ {} edited by {}  ", edit.target, edit.by))];
        prose(head, &cut(&edit.text(), OLD), Role::Dim, columns)
    };
    edits.iter().flat_map(row).collect()
}

/// A question to a user, and the answer; `over` = its turn has ended.
pub(super) fn question(question: &QuestionAsked, answer: Option<&AnswerGiven>, over: bool, columns: usize) -> Vec<Row> {
    let room = columns.saturating_sub(LABEL).max(1);
    if let Some(met) = Gate::ALL.into_iter().find(|gate| gate.question_kind() == question.kind) {
        return gate(met, answer, over);
    }
    let options =
        if question.options.is_empty() { String::new() } else { format!("  ({})", question.options.join(" | ")) };
    let mut rows = prose(Vec::new(), &format!("{}{options}", question.text), Role::Text, room);
    match answer {
        Some(answer) => {
            let answer_text = answer.value.json();
            let answer_text = answer_text.as_str().map_or_else(|| answer.value.as_str().to_owned(), str::to_owned);
            rows.extend(prose(vec![Piece::literal(Role::Good, "→ ")], &answer_text, Role::JsonString, room));
        }
        None if over => rows.push(Row::new([Piece::literal(Role::Dim, "– was not answered")])),
        None => rows.push(Row::new([Piece::literal(Role::Accent, "● waits for the answer")])),
    }
    labelled("asks", rows)
}

/// Returns the prints and the value of a program, and its error at its place.
pub(super) fn program(end: &ProgramEnd, text: Option<&str>, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if !end.prints.is_empty() {
        rows.extend(labelled("prints", some_rows(&end.prints.join("\n"), columns, Language::Plain)));
    }
    if let Some(value) = &end.value {
        let label = match end.status.name() {
            "return" => "return",
            "fail" => "fail",
            _ => "value",
        };
        let text = match value {
            TextRecord::Whole(text) => text.clone(),
            TextRecord::Head { head, bytes, .. } => {
                format!("{head}… ({} in all)", crate::tui::transcript::format::size(*bytes))
            }
        };
        rows.extend(labelled(label, some_rows(&text, columns, Language::Lisp)));
    }
    if let Some(record) = &end.error {
        rows.extend(error(record, columns));
        let excerpt = end.span.zip(text).and_then(|(span, text)| Excerpt::of(text, span));
        rows.extend(excerpt.iter().flat_map(at_its_place));
        if let Some(hint) = wording::own_hint(record) {
            rows.extend(prose(vec![Piece::literal(Role::Accent, "  → ")], hint, Role::Text, columns));
        }
        if let Some(details) = record.details.as_ref().map(JsonText::as_str) {
            rows.extend(prose(vec![Piece::literal(Role::Dim, "  ")], details, Role::Dim, columns));
        }
    }
    for (id, text) in &end.summaries {
        rows.extend(labelled(
            "done",
            prose(vec![Piece::new(Role::JsonKey, &format!("{id}  "))], text, Role::Text, columns),
        ));
    }
    for warning in &end.warnings {
        rows.extend(prose(vec![Piece::literal(Role::Warn, "! ")], warning, Role::Dim, columns));
    }
    rows
}

/// The line of a program with what is wrong in it underlined.
fn at_its_place(excerpt: &Excerpt) -> [Row; 2] {
    let line = format!("{:>3} │ ", excerpt.place.line);
    let before = SafeText::single_line(&excerpt.before);
    let marked = SafeText::single_line(&excerpt.marked);
    let under = format!("{}{}", " ".repeat(width(&before)), "^".repeat(width(&marked).max(1)));
    [
        Row::new([
            Piece::new(Role::Dim, &line),
            Piece::safe(Role::Text, before),
            Piece::safe(Role::Bad, marked),
            Piece::new(Role::Text, &excerpt.after),
        ]),
        Row::new([Piece::literal(Role::Dim, "    │ "), Piece::new(Role::Bad, &under)]),
    ]
}

/// Returns the definitions that a program set and removed; `replaced`: the previous values of names.
pub(super) fn memory(change: &MemoryChange, replaced: &[(String, String)], columns: usize) -> Vec<Row> {
    let room = columns.saturating_sub(LABEL).max(1);
    let mut rows = Vec::new();
    let old = |name: &String| replaced.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    for (name, value) in &change.set {
        let key = Piece::new(Role::JsonKey, &format!("{name} "));
        let (mark, text) = match old(name) {
            Some(old) => {
                let (old, new) = (cut(old, OLD), cut(value.text(), 200));
                (Piece::literal(Role::Accent, "~ "), format!("{old}  →  {new}"))
            }
            None => (Piece::literal(Role::Good, "+ "), cut(value.text(), 200)),
        };
        rows.extend(prose(vec![mark, key], &text, Role::Text, room));
    }
    for name in &change.del {
        let head = vec![Piece::literal(Role::Bad, "- "), Piece::new(Role::JsonKey, &format!("{name} "))];
        rows.extend(prose(head, &cut(old(name).unwrap_or_default(), OLD), Role::Dim, room));
    }
    if change.rolled_back {
        let text = format!("{} bytes are too many: the turn's definitions are dropped", count(change.bytes));
        rows.extend(prose(vec![Piece::literal(Role::Warn, "! ")], &text, Role::Text, room));
    }
    labelled("memory", rows)
}

/// Returns the changes in the journal of finished tasks.
pub(super) fn tasks(tasks: &TasksKept, columns: usize) -> Vec<Row> {
    let room = columns.saturating_sub(LABEL).max(1);
    let kept = tasks.set.iter().flat_map(|(id, value)| {
        let head = vec![Piece::literal(Role::Good, "✓ "), Piece::new(Role::JsonKey, &format!("{id}  "))];
        prose(head, &cut(value.text(), 200), Role::Text, room)
    });
    let forgotten = tasks.del.iter().map(|id| {
        let head = [Piece::literal(Role::Bad, "- "), Piece::new(Role::JsonKey, &format!("{id}  "))];
        Row::new(head.into_iter().chain([Piece::literal(Role::Dim, "forgotten")]))
    });
    labelled("tasks", kept.chain(forgotten).collect())
}

/// The checklist.
pub(super) fn plan(plan: &PlanState, columns: usize) -> Vec<Row> {
    let room = columns.saturating_sub(LABEL).max(1);
    let item = |(id, what, done): &(String, String, Option<String>)| {
        let mark = if done.is_some() { Piece::literal(Role::Good, "✓ ") } else { Piece::literal(Role::Dim, "○ ") };
        let parts = [Some(what.as_str()), done.as_deref()].into_iter().flatten().filter(|part| !part.is_empty());
        let summary = parts.collect::<Vec<_>>().join(" · ");
        prose(vec![mark, Piece::new(Role::JsonKey, &format!("{id}  "))], &summary, Role::Text, room)
    };
    labelled("plan", plan.items.iter().flat_map(item).collect())
}
