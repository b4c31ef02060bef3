//! A question to the user: its text, and the reply that is being typed, with its interpretation: its state on the rule above it, what
//! does not fit under it.

use ptc_core::text::width::truncate;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::{line_of, scroll_limit};
use super::{bars, editor};
use crate::engine::{Remark, ReplyValidity};
use crate::event::Address;
use crate::event::Decision;
use crate::port::Gate;
use crate::port::Question;
use crate::proxy::HeldForm;
use crate::tool::file_meaning;
use crate::tui::colours::Language;
use crate::tui::model::{Asker, Editor, Model, REFUSALS};
use crate::tui::row::{Piece, Row};
use crate::tui::sessions::check::{self, ReplyChecker};
use crate::tui::theme::{Role, Theme};
use crate::tui::traffic::Writes;
use crate::tui::transcript::input_check::InputCheck;
use crate::tui::transcript::wrapped_text::{Look, WrappedText};

/// Issues that are shown at the same time.
const MOST_ISSUES: usize = 4;
/// Minimum bytes of a question that fills half of any box, and is not measured.
const LONG_QUESTION: usize = 10_000;
/// Columns of the arguments of a call in a heading.
const ARGS: usize = 40;

/// Source of a question, and how much of it was visible.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerLooks<'a> {
    /// Source of the question.
    pub(super) asker: &'a Asker,
    /// First visible row.
    pub(super) top: usize,
    /// Its last row was visible.
    pub(super) end_seen: bool,
}

/// Draws the question, from its first visible row on, and the reply under it; returns the place of the cursor, where a text is typed.
pub(super) fn draw(
    model: &Model,
    (question, looks, editor): (&Question, AnswerLooks<'_>, &Editor),
    inner: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let (above, rule, reply) = areas(inner, question);
    let rows = asked(question, above.width);
    let top = looks.top;
    for (line, row) in rows.iter().skip(top).take(usize::from(above.height)).enumerate() {
        row.draw(line_of(above, line), buffer, model.theme);
    }
    let below = scroll_limit(rows.len(), above.height).saturating_sub(top);
    let more = match (top, below) {
        (0, 0) => None,
        (0, below) => Some(format!("▼ {below} more")),
        (above, 0) => Some(format!("▲ {above} more")),
        (above, below) => Some(format!("▲ {above} ▼ {below} more")),
    };
    let more = more.map(|more| Piece::new(Role::Accent, &more));
    if !question.options.is_empty() {
        bars::rule(rule, "Your decision", true, more.into_iter().collect(), buffer, model.theme);
        draw_choices(model, (&question.options, looks), reply, buffer);
        return None;
    }
    let check = input_check(model, question, editor.draft.text());
    let gap = more.is_some().then(|| Piece::literal(Role::Text, "  "));
    // What of the text is hidden, once all that is asked is seen.
    let hidden = if below > 0 {
        Vec::new()
    } else {
        bars::more(editor::hidden_above(editor), editor::hidden_below(editor), rule.width)
    };
    let mark = more.into_iter().chain(gap).chain(hidden).chain(check.iter().map(state)).collect();
    bars::rule(rule, &heading(model, question, looks.asker), true, mark, buffer, model.theme);
    let reply = draw_issues(check.as_ref(), reply, buffer, model.theme);
    let is_text = match looks.asker {
        Asker::Held(asks) => asks.form != HeldForm::Body || asks.writes == Writes::Answer,
        _ => question.address.is_question() && !matches!(question.gate, Some(Gate::Apply | Gate::Result)),
    };
    let looks = editor::Looks {
        language: if is_text { Language::Plain } else { Language::Json },
        findings: &[],
        found: &[],
        focused: true,
        theme: model.theme,
        placeholder: if is_text { "Write your answer." } else { "Write what the model would answer." },
    };
    editor::draw(editor, reply, &looks, buffer)
}

/// Returns the heading of the text below the rule.
fn heading(model: &Model, question: &Question, asker: &Asker) -> String {
    if let Asker::Held(asks) = asker {
        return match asks.writes {
            Writes::Request => "The request",
            Writes::Reply => "The reply",
            Writes::Answer => "Your reply",
        }
        .to_owned();
    }
    match question.gate {
        Some(Gate::Send) => "The request".to_owned(),
        Some(Gate::Apply) => "The reply".to_owned(),
        Some(Gate::Result) => format!("The result of {}", asked_tool(model, question)),
        None if question.address.is_question() => "Your answer".to_owned(),
        None => "Your reply".to_owned(),
    }
}

/// The tool whose result waits at a gate, with its arguments in short.
fn asked_tool(model: &Model, question: &Question) -> String {
    let Some((name, args)) = asked_call(model, question) else { return "the call".to_owned() };
    format!("{name} {}", truncate(args, ARGS))
}

/// Name and arguments of the call whose result waits at a gate.
fn asked_call<'m>(model: &'m Model, question: &Question) -> Option<(&'m str, &'m str)> {
    let call = question.address.as_str().rsplit_once('/').map(|(call, _)| call);
    let card = model.workbench.run.as_ref()?.transcript.turn_card(&question.address.turn_part())?;
    let made = card.calls.iter().find(|made| made.address.as_ref().map(Address::as_str) == call)?;
    Some((&made.name, &made.args))
}

/// One row per answer: its key and what it means. Consent is dim until the question was read to its end.
fn draw_choices(model: &Model, (options, looks): (&[String], AnswerLooks<'_>), area: Rect, buffer: &mut Buffer) {
    for (line, option) in options.iter().take(usize::from(area.height)).enumerate() {
        let meaning = meaning(option, looks.asker);
        let key = option.get(..1).unwrap_or_default();
        let is_ready = looks.end_seen || REFUSALS.contains(&option.as_str());
        let (key_role, role) = if is_ready { (Role::Key, Role::Text) } else { (Role::Dim, Role::Dim) };
        let row = Row::new([Piece::new(key_role, key), Piece::new(role, &format!("  {meaning}"))]);
        row.draw(line_of(area, line), buffer, model.theme);
    }
}

/// Returns the meaning of an answer.
pub(super) fn meaning<'o>(option: &'o str, asker: &Asker) -> &'o str {
    match Decision::read(option) {
        Some(decision) if matches!(asker, Asker::Agent(..)) => file_meaning(decision),
        Some(Decision::Once) if matches!(asker, Asker::Prompts(_)) => "once: for this prompt",
        Some(Decision::Deny) if matches!(asker, Asker::Prompts(_)) => "deny: the server is not started",
        Some(decision) => decision.meaning(),
        None => option,
    }
}

/// At a gate the text itself is edited, and the lines above it only show where the run is.
fn asked_text(question: &Question) -> &str {
    match question.gate {
        Some(gate) => gate.prompt(),
        None => &question.text,
    }
}

/// Returns the question as rows of at most `columns` columns.
pub(super) fn asked(question: &Question, columns: u16) -> Vec<Row> {
    WrappedText::of(asked_text(question), usize::from(columns), Look::Rich(Language::Plain))
}

/// Returns the areas of the question with an empty row after it, of the rule and of the reply. A long question gets half of the room; one
/// with options gets all of it except their rows.
pub(super) fn areas(inner: Rect, question: &Question) -> (Rect, Rect, Rect) {
    let rows = match asked_text(question) {
        long if long.len() > LONG_QUESTION => u16::MAX,
        _ => u16::try_from(asked(question, inner.width).len()).unwrap_or(u16::MAX),
    };
    let most = match u16::try_from(question.options.len()) {
        Ok(0) | Err(_) => inner.height / 2,
        Ok(options) => inner.height.saturating_sub(options + 1).max(inner.height / 2),
    };
    let asked = rows.saturating_add(1).min(most);
    let text = Rect { height: asked, ..inner };
    let rule = Rect { y: inner.y + asked, height: 1.min(inner.height), ..inner };
    let reply = Rect { y: inner.y + asked + 1, height: inner.height.saturating_sub(asked + 1), ..inner };
    (text, rule, reply)
}

/// Returns the interpretation of the text, when it is a reply or the result of a tool.
fn input_check(model: &Model, question: &Question, text: &str) -> Option<InputCheck> {
    if question.gate == Some(Gate::Result) {
        let card = model.workbench.run.as_ref()?.transcript.turn_card(&question.address.turn_part());
        let reader = card.and_then(|card| card.reader.as_deref());
        let tool = asked_call(model, question).map(|(name, _)| name);
        return Some(check::result(text, reader.zip(tool)));
    }
    let is_reply = !question.address.is_question() || question.gate == Some(Gate::Apply);
    let transcript = &model.workbench.run.as_ref().filter(|_| is_reply)?.transcript;
    let turn = question.address.turn_part();
    let card = transcript.turn_card(&turn)?;
    let tools = transcript.tools_of(&turn);
    let reader = card.reader.clone();
    let schema = card.record.request.as_ref().and_then(|request| request.schema.clone());
    Some(ReplyChecker { want: card.record.want().to_owned(), schema, tools, reader }.reply(text))
}

/// Its state as a mark and words.
pub(super) fn state(check: &InputCheck) -> Piece {
    match check.validity {
        ReplyValidity::Fits => Piece::new(Role::Good, &format!("✓ fits · {}", check.state)),
        ReplyValidity::Reads => Piece::new(Role::Good, &format!("✓ valid · {}", check.state)),
        ReplyValidity::Wrong => Piece::new(Role::Bad, &format!("✗ does not fit · {}", check.state)),
        ReplyValidity::Open => Piece::new(Role::Dim, &check.state),
    }
}

/// Draws what does not fit into the last lines of the area; the lines that are left for the text.
pub(super) fn draw_issues(check: Option<&InputCheck>, area: Rect, buffer: &mut Buffer, theme: Theme) -> Rect {
    let remarks = check.map_or(&[][..], |check| &check.remarks);
    let shown = remarks.len().min(MOST_ISSUES).min(usize::from(area.height / 2));
    let height = area.height - u16::try_from(shown).unwrap_or_default();
    let mut sorted: Vec<&Remark> = remarks.iter().collect();
    sorted.sort_by_key(|remark| !remark.is_error);
    for (line, remark) in sorted.into_iter().take(shown).enumerate() {
        let place = if remark.place.is_empty() { "(answer)" } else { &remark.place };
        let mark = if remark.is_error { Piece::literal(Role::Bad, "✗ ") } else { Piece::literal(Role::Warn, "! ") };
        let pieces = [mark, Piece::new(Role::JsonKey, &format!("{place}  ")), Piece::new(Role::Text, &remark.message)];
        Row::new(pieces).draw(line_of(area, usize::from(height) + line), buffer, theme);
    }
    Rect { height, ..area }
}
