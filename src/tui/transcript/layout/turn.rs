//! A turn: its reply, the extracted content, checks and errors.

use ptc_core::text::{LineCol, cut, estimate_tokens};
use ptc_core::value::Json;

use super::block::{error, indent, prose};
use super::{Frame, Laid, Shown, What, repair, wire, work};
use crate::event::{Check, Extract, ExtractKind, IssueRecord, IssueSeverity, ReplyStatus, RunStart};
use crate::model::OtherModel;
use crate::record::{Attempt, QuestionRecord, Retry};
use crate::tui::colours::Language;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::card::{Part, Progress, TurnCard};
use crate::tui::transcript::format::{cached, cost, count, distinct, duration, plural, running};
use crate::tui::transcript::outline::Scope;
use crate::tui::transcript::partial::{self, PartialReply};
use crate::tui::transcript::wrapped_text::View;
use crate::tui::transcript::wrapped_text::WrappedText;
use crate::workbench::wording::describe_issue;
use ptc_core::text::width::width;

/// Minimum columns of a header that shows the cost of a turn.
const COST_FROM: usize = 78;
/// Minimum columns of a header that shows the cached tokens.
const CACHED_FROM: usize = 96;

pub(super) fn lay<'a>(card: &'a TurnCard, frame: &Frame<'_>) -> Laid<'a> {
    if card.part == Part::After {
        let rows = if card.outline.is_some() || frame.view == View::Wire { Vec::new() } else { after(card, frame) };
        return indent(rows, 3).into();
    }
    let mut head = vec![header(card, frame)];
    if !frame.open {
        return head.into();
    }
    if card.outline.is_some() {
        head.push(Row::new([Piece::literal(Role::Dim, "reading …")]).indented(3));
        return head.into();
    }
    if frame.view == View::Wire {
        head.extend(wire::rows(card, frame));
        return head.into();
    }
    head.extend(indent(work::edits(&card.record.edits, frame.body()), 3));
    if let Some(done) = &card.record.compaction {
        head.extend(indent(work::compaction(done, frame.body()), 3));
    }
    let counted = card.counted_attempt(frame.over);
    let earlier = card.record.attempts.len() - usize::from(counted.is_some());
    head.extend(card.record.attempts.iter().take(earlier).flat_map(|attempt| discarded_attempt(attempt, frame)));
    let body = body(card, frame, &mut head);
    let mut tail = before(card, frame);
    if card.part == Part::Whole {
        tail.extend(after(card, frame));
    }
    Laid { head, body, tail: indent(tail, 3) }
}

/// Returns the content that was read from the reply, else the reply itself; adds the thought of a control object to the head.
fn body<'a>(card: &'a TurnCard, frame: &Frame<'_>, head: &mut Vec<Row>) -> Option<Shown<'a>> {
    let counted = card.counted_attempt(frame.over);
    let shown = |what, look| {
        let attempt = counted.map_or(0, |attempt| attempt.number);
        Shown { what, columns: frame.body(), look: frame.look(look), attempt }
    };
    let found = card.record.extract.as_ref().filter(|extract| frame.view == View::Rich && extract.error.is_none());
    if found.is_some()
        && let Some(program) = card.program_text()
    {
        return Some(shown(What::Whole(program.trim_end()), Language::Lisp));
    }
    if let Some((extract, text)) = found
        .and_then(|extract| Some((extract, extract.found_in(card.reply())?)))
        .filter(|(extract, _)| extract.kind != ExtractKind::Text)
    {
        let control = extract.kind == ExtractKind::Control;
        let scope = if control { Scope::Control } else { Scope::All };
        if control {
            let object = ptc_core::value::json::parse(text).unwrap_or_default();
            head.extend(thought(object.get("thought").and_then(Json::as_str).unwrap_or_default(), frame));
        }
        return Some(shown(What::Value(text.to_owned(), &card.record.checks, scope), Language::Json));
    }
    let attempt = counted.filter(|attempt| !attempt.text.is_empty())?;
    let partial = card.partial_reply(attempt.number).filter(|_| frame.view == View::Rich);
    let what = match (card.record.want(), partial) {
        ("json", Some(partial)) => What::Reply(&attempt.text, partial, Scope::All),
        ("control_json", Some(partial)) => {
            head.extend(thought(partial.thought().unwrap_or_default(), frame));
            What::Reply(&attempt.text, partial, Scope::Control)
        }
        _ => What::Text(&attempt.text),
    };
    Some(shown(what, language(card)))
}

/// The thought of a control object.
fn thought(text: &str, frame: &Frame<'_>) -> Vec<Row> {
    if text.is_empty() {
        return Vec::new();
    }
    indent(prose(vec![Piece::literal(Role::Accent, "… ")], text, Role::Text, frame.body()), 3)
}

fn header(card: &TurnCard, frame: &Frame<'_>) -> Row {
    let progress = card.progress(frame.over);
    let live = !matches!(progress, Progress::Succeeded | Progress::Failed | Progress::Stopped);
    let elapsed = card.elapsed_ms(live.then_some(frame.now_ms));
    let time = if live { running(elapsed) } else { duration(elapsed) };
    let (role, state) = state(card, progress);
    let mut right = Vec::new();
    if frame.columns >= 34 {
        right.push(Piece::new(Role::Dim, &format!("{time:>10}  ")));
    }
    if frame.columns >= 58 {
        let tokens = card.tokens();
        let number = |pick: fn(crate::event::Tokens) -> u64| tokens.map_or_else(|| "–".to_owned(), |t| count(pick(t)));
        right.push(Piece::new(Role::Dim, &format!("↑ {:>5}  ↓ {:>5}  ", number(|t| t.input), number(|t| t.output))));
    }
    for (_, amount_text) in spent(card, frame).iter().filter(|(from, _)| frame.columns >= *from) {
        right.push(Piece::new(Role::Dim, &format!("{amount_text}  ")));
    }
    right.push(Piece::new(role, &format!("{state:<12}")));
    let kind = match card.record.kind_name() {
        "must_return" => " · must return",
        "retry" => " · retry",
        _ => "",
    };
    let mut row = frame.header(&format!("Turn {}{kind}", card.record.number()));
    if !frame.open {
        row.left.extend(summary(card));
    }
    row.ending(right)
}

/// Returns the summary of a folded turn: the first error, else the called tools, else the start of its text.
fn summary(card: &TurnCard) -> Vec<Piece> {
    let gap = Piece::literal(Role::Text, "  ");
    if let Some(error) = card.first_error() {
        return vec![gap, Piece::new(Role::Bad, &format!("✗ {error}"))];
    }
    if !card.calls.is_empty() {
        let names: Vec<&str> = distinct(card.calls.iter().map(|call| call.name.as_str()));
        return vec![gap, Piece::new(Role::Dim, &names.join(", "))];
    }
    let start = card.reply().lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("```"));
    start.map(|start| vec![gap, Piece::new(Role::Dim, start)]).unwrap_or_default()
}

/// Returns the cost of the turn and its tokens from the cache, each with the minimum columns of a header that shows it: on narrower screens
/// it follows the rest of the card.
fn spent(card: &TurnCard, frame: &Frame<'_>) -> Vec<(usize, String)> {
    let tokens = card.tokens();
    // A turn that was not read has its tokens only.
    let unread = |start: &RunStart| Some(start.model.price?.cost(&card.outline.as_ref()?.tokens?));
    let amount = frame.start.and_then(|start| card.record.spending(&start.model).cost().or_else(|| unread(start)));
    let amount = amount.map(|amount| (COST_FROM, format!("cost {}", cost(Some(amount)))));
    amount.into_iter().chain(cached(tokens).map(|amount_text| (CACHED_FROM, amount_text))).collect()
}

/// Returns the language of the reply.
fn language(card: &TurnCard) -> Language {
    match card.record.want() {
        "program" => Language::Lisp,
        "text" => Language::Plain,
        _ => Language::Json,
    }
}

/// The state of a turn in a word.
fn state(card: &TurnCard, progress: Progress) -> (Role, String) {
    let live = |word: &str| (Role::Accent, format!("● {word}"));
    match progress {
        Progress::Waiting => live("waiting"),
        Progress::Asked => live("your turn"),
        Progress::Running => live("running"),
        Progress::Thinking => live("thinking"),
        Progress::Streaming => live("streaming"),
        Progress::Retrying => live("retrying"),
        Progress::Checking => live("checking"),
        // The calls of the turn succeeded or failed by themselves: the model may still have continued.
        Progress::Succeeded if card.failed_calls() > 0 => (Role::Warn, format!("! {} failed", card.failed_calls())),
        Progress::Succeeded => (Role::Good, "✓".to_owned()),
        Progress::Stopped => (Role::Bad, "✗ stopped".to_owned()),
        Progress::Failed => {
            let word = match card.reason() {
                Some("validation_error") => "check",
                Some("json_parse_error") => "no JSON",
                Some("reply_truncated") => "cut",
                Some("content_filtered") => "filtered",
                Some("empty_response") => "empty",
                Some(other) => other,
                None => "failed",
            };
            (Role::Bad, format!("✗ {word}"))
        }
    }
}

/// An attempt that does not count: why, and the start of its text.
fn discarded_attempt(attempt: &Attempt, frame: &Frame<'_>) -> Vec<Row> {
    let error = attempt.end.as_ref().and_then(|end| end.error.as_ref());
    let was_whole = attempt.end.as_ref().is_some_and(|end| end.status == ReplyStatus::Ok);
    let warning = Piece::literal(Role::Warn, "! ");
    let (mark, title, message) = match error {
        _ if was_whole => (Piece::literal(Role::Accent, "✎ "), "the model's own reply, edited below".to_owned(), ""),
        // It was under way when the program ended; the run was resumed later.
        None => (warning, format!("attempt {} broke off  ", attempt.number), "the program ended before the reply did"),
        Some(error) => {
            let class = error.class.as_deref().unwrap_or("failed");
            (warning, format!("attempt {} discarded ({class})  ", attempt.number), error.message.as_str())
        }
    };
    let mut rows = prose(vec![mark, Piece::new(Role::Dim, &title)], message, Role::Dim, frame.body());
    let limit = if frame.view == View::Rich { 2 } else { usize::MAX };
    let text = WrappedText::of(&attempt.text, frame.body().saturating_sub(2).max(1), frame.look(Language::Plain));
    rows.extend(text.into_iter().take(limit).map(|row| {
        let rule = Piece::literal(Role::Border, "│ ");
        Row::new(std::iter::once(rule).chain(dimmed(row.left)))
    }));
    indent(rows, 3)
}

fn dimmed(pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.into_iter().map(|piece| Piece::safe(Role::Dim, piece.text)).collect()
}

/// After the reply: what the turn is doing, how the reply was read, the calls that were made.
fn before(card: &TurnCard, frame: &Frame<'_>) -> Vec<Row> {
    let columns = frame.body();
    let mut rows = Vec::new();
    let progress = card.progress(frame.over);
    if let Some(line) = going_on(card, progress, frame.now_ms) {
        rows.extend(prose(vec![Piece::literal(Role::Accent, "● ")], &line, Role::Dim, columns));
    }
    if progress == Progress::Thinking {
        rows.extend(thoughts(card, frame));
    }
    let partial = card.last_attempt().and_then(|attempt| card.partial_reply(attempt.number));
    for remark in partial.filter(|_| progress == Progress::Streaming).map(PartialReply::remarks).unwrap_or_default() {
        let pieces = vec![Piece::literal(Role::Bad, "✗ "), Piece::new(Role::JsonKey, &format!("{}  ", remark.place))];
        rows.extend(prose(pieces, &remark.message, Role::Text, columns));
    }
    if let Some(extract) = &card.record.extract {
        rows.extend(read_from(extract, card.reply(), columns));
        rows.extend(repaired(card, extract, columns).filter(|_| frame.view == View::Rich).unwrap_or_default());
    }
    rows.extend(work::calls(card, frame.over, frame.now_ms, columns));
    for QuestionRecord { asked, answer, .. } in &card.record.questions {
        rows.extend(work::question(asked, answer.as_ref(), card.record.end.is_some(), columns));
    }
    rows
}

/// Returns the rows of the outcome of a turn.
fn after(card: &TurnCard, frame: &Frame<'_>) -> Vec<Row> {
    let columns = frame.body();
    let mut rows = Vec::new();
    if let Some(end) = &card.record.program_end {
        rows.extend(work::program(end, card.program_text(), columns));
    }
    if let Some(change) = &card.record.memory {
        rows.extend(work::memory(change, &card.replaced, columns));
    }
    if let Some(tasks) = &card.record.tasks {
        rows.extend(work::tasks(tasks, columns));
    }
    if let Some(plan) = &card.record.plan {
        rows.extend(work::plan(plan, columns));
    }
    for check in &card.record.checks {
        rows.extend(issues(check, columns));
    }
    // A stop shows who stopped it.
    let ended = card.last_attempt().and_then(|attempt| attempt.end.as_ref());
    let stopped = !card.record.interrupts.is_empty() && ended.is_some_and(|end| end.status == ReplyStatus::Cancelled);
    if let Some(record) = card.error(frame.over).filter(|_| !stopped) {
        rows.extend(error(record, columns));
    }
    for interrupt in &card.record.interrupts {
        let text = format!("{} by {}", interrupt.reason.name().replace('_', " "), interrupt.by);
        rows.extend(prose(vec![Piece::literal(Role::Bad, "✗ ")], &text, Role::Text, columns));
    }
    if ended.is_some_and(|end| end.cached) {
        let text = "the reply came from the cache: no model was called";
        rows.extend(prose(vec![Piece::literal(Role::Dim, "· ")], text, Role::Dim, columns));
    }
    // A reply that a user changed is one more attempt.
    let sent = card.record.last_sent();
    if let Some(other) = sent.and_then(|attempt| OtherModel::of(attempt.sent.as_ref()?, attempt.end.as_ref()?)) {
        rows.extend(super::notice("warning", &other.to_string(), columns));
    }
    for notice in &card.record.notices {
        rows.extend(super::notice(notice.level.name(), &notice.text, columns));
    }
    for unknown in &card.record.unknown {
        let text = format!("{}  {}", unknown.kind, unknown.data.get());
        rows.extend(prose(vec![Piece::literal(Role::Dim, "? ")], &text, Role::Dim, columns));
    }
    let below: Vec<String> = spent(card, frame)
        .into_iter()
        .filter(|(from, _)| frame.columns < *from)
        .map(|(from, amount_text)| if from == CACHED_FROM { format!("{amount_text} tokens") } else { amount_text })
        .collect();
    if !below.is_empty() {
        rows.extend(prose(Vec::new(), &below.join(" · "), Role::Dim, columns));
    }
    rows
}

/// Rows of reasoning that are shown while it arrives; all of it is in the card of the reasoning.
const THOUGHT_ROWS: usize = 6;
/// Bytes of reasoning that are laid out for them.
const THOUGHT_BYTES: usize = 4_000;

/// The end of the reasoning that arrives.
fn thoughts(card: &TurnCard, frame: &Frame<'_>) -> Vec<Row> {
    let text = card.last_attempt().map_or("", |attempt| attempt.reasoning.trim_end());
    let from = (text.len().saturating_sub(THOUGHT_BYTES)..=text.len()).find(|at| text.is_char_boundary(*at));
    let end = &text[from.unwrap_or_default()..];
    let rows = WrappedText::of(end, frame.body().saturating_sub(2).max(1), frame.look(Language::Plain));
    let first = rows.len().saturating_sub(THOUGHT_ROWS);
    let ruled = |row: Row| {
        let rule = Piece::literal(Role::Border, "│ ");
        Row::new(std::iter::once(rule).chain(dimmed(row.left)))
    };
    rows.into_iter().skip(first).map(ruled).collect()
}

/// Estimated tokens per second since the first part of the attempt arrived; empty in its first second.
fn rate(card: &TurnCard, now_ms: i64) -> String {
    let Some((attempt, (_, since_ms))) = card.last_attempt().zip(card.arriving) else { return String::new() };
    let passed_ms = crate::event::elapsed_ms(since_ms, now_ms);
    let texts = [&attempt.reasoning, &attempt.text, &attempt.calling];
    let tokens: u64 = texts.iter().filter(|text| !text.is_empty()).map(|text| estimate_tokens(text)).sum();
    match (tokens * 1_000).checked_div(passed_ms) {
        Some(rate) if passed_ms >= 1_000 => format!(", ~{} tok/s", count(rate)),
        _ => String::new(),
    }
}

/// Returns the current activity of the turn.
fn going_on(card: &TurnCard, progress: Progress, now_ms: i64) -> Option<String> {
    match progress {
        Progress::Waiting => {
            let elapsed = running(card.elapsed_ms(Some(now_ms)));
            Some(format!("{}waiting for the model for {elapsed}", attempt(card)))
        }
        Progress::Thinking => {
            let bytes = card.last_attempt().map_or(0, |attempt| attempt.reasoning.len() as u64);
            Some(format!("{}thinking: {} so far{}", attempt(card), plural(bytes, "byte"), rate(card, now_ms)))
        }
        Progress::Asked if card.record.questions.iter().any(|question| question.answer.is_none()) => None,
        Progress::Asked => Some("waiting for you: you are the model".to_owned()),
        Progress::Streaming => {
            let which = attempt(card);
            let attempt = card.last_attempt()?;
            if attempt.text.is_empty() {
                return Some(format!("{which}calling {}", cut(&attempt.calling, 120)));
            }
            let kind_text = match card.record.want() {
                "program" => {
                    partial::program(&attempt.text).map_or_else(|| "no program yet".to_owned(), partial::program_state)
                }
                "text" => "text".to_owned(),
                _ => card
                    .partial_reply(attempt.number)
                    .map(|partial| partial.describe(&attempt.text))
                    .unwrap_or_default(),
            };
            let bytes = plural(attempt.text.len() as u64, "byte");
            Some(format!("{which}{bytes} so far, {kind_text}{}", rate(card, now_ms)))
        }
        Progress::Running => match card.calls.iter().filter(|call| call.status.is_none()).count() {
            0 => Some("the program runs".to_owned()),
            1 => None,
            calls => Some(format!("{calls} calls at the same time")),
        },
        Progress::Retrying => {
            let Retry { wait, until_ms, .. } = card.record.pending_retry()?;
            let left = crate::event::elapsed_ms(now_ms, *until_ms);
            let asked = if wait.retry_after { ", as the server requested" } else { "" };
            let of = wait.of.map(|of| format!(" of {of}")).unwrap_or_default();
            let next = format!("attempt {}{of}", wait.attempt.saturating_add(1));
            Some(format!("{next} in {} ({}{asked}): {}", running(left), wait.class, wait.message))
        }
        _ => None,
    }
}

/// Returns the number of the attempt, when it is not the first.
fn attempt(card: &TurnCard) -> String {
    let last = card.last_attempt().map_or(1, |attempt| attempt.number + u32::from(attempt.is_discarded()));
    if last > 1 { format!("attempt {last}: ") } else { String::new() }
}

/// The reply next to what was read from it, when it had to be repaired.
fn repaired(card: &TurnCard, extract: &Extract, columns: usize) -> Option<Vec<Row>> {
    let (start, end) = extract.span.filter(|_| !extract.fixes.is_empty())?;
    let language = if extract.kind == ExtractKind::Program { Language::Lisp } else { Language::Json };
    Some(repair::rows(card.reply().get(start..end)?, extract.repaired.as_ref()?.text(), language, columns))
}

/// Returns the rule that found the content with its repairs, or the error.
fn read_from(extract: &Extract, reply: &str, columns: usize) -> Vec<Row> {
    if let Some(record) = &extract.error {
        let mut record = record.clone();
        if let Some(at) = extract.error_at {
            let place = LineCol::of(reply, at).to_string();
            if !record.message.contains(&place) {
                record.message = format!("{} (reply {place})", record.message);
            }
        }
        return error(&record, columns);
    }
    if extract.kind == ExtractKind::Text {
        return Vec::new();
    }
    let rule = match extract.rule.as_deref() {
        Some("whole") => "the whole reply".to_owned(),
        Some("start") => "the reply's start".to_owned(),
        Some("bracket") => "the first bracket".to_owned(),
        Some("scalar") => "a bare value".to_owned(),
        Some(other) => other.replace('_', " "),
        None => "the reply".to_owned(),
    };
    let others =
        if extract.candidates > 1 { format!(" (of {} candidates)", extract.candidates) } else { String::new() };
    let fixes: Vec<String> = extract
        .fixes
        .iter()
        .map(|(name, start, _)| {
            let place = LineCol::of(reply, *start);
            format!("{} {}:{}", name.replace('_', " "), place.line, place.column)
        })
        .collect();
    let repairs = match fixes.len() {
        0 => "no repairs".to_owned(),
        number => format!("{}: {}", plural(number as u64, "repair"), fixes.join(", ")),
    };
    prose(Vec::new(), &format!("read from: {rule}{others} · {repairs}"), Role::Dim, columns)
}

/// Validation errors and warnings, each at its path.
fn issues(check: &Check, columns: usize) -> Vec<Row> {
    let path = |issue: &IssueRecord| if issue.path.is_empty() { "(answer)".to_owned() } else { issue.path.clone() };
    let widest = check.issues.iter().map(|issue| width(&path(issue))).max().unwrap_or(0).min(columns / 3);
    let layer = match check.layer.name() {
        "return" | "schema" => String::new(),
        other => format!("{other}: "),
    };
    let mut rows = Vec::new();
    for issue in &check.issues {
        let warning = issue.severity == IssueSeverity::Warning;
        let mark = if warning { Piece::literal(Role::Warn, "! ") } else { Piece::literal(Role::Bad, "✗ ") };
        let path = Piece::new(Role::JsonKey, &format!("{:<widest$}  ", path(issue)));
        let text = format!("{layer}{}", describe_issue(issue));
        rows.extend(prose(vec![mark, path], &text, Role::Text, columns));
    }
    rows
}
