//! Runs side by side: their transcripts, which scroll together by turns, or their turns aligned with the differences under them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{alignment, explain, line_row};
use crate::session::diff::Comparison;
use crate::tui::actions::Action;
use crate::tui::compare::{Compare, Item, Step, Target};
use crate::tui::model::{Model, Phase, RunView};
use crate::tui::row::{Piece, Row};
use crate::tui::sessions::SessionAction;
use crate::tui::theme::Role;
use crate::tui::transcript::card::Card;
use crate::tui::view::areas::line_of;
use crate::tui::view::{bars, run};
use crate::workbench::comparison::{
    Frame, Line, cell_columns, ends, first_difference, metrics, of_definitions, of_ends, of_turns, summarize_turn,
};
use crate::workbench::format::{cost, count, plural};
use ptc_core::text::SafeText;
use ptc_core::text::width::{pad, truncate, wrap};

/// Minimum rows of a screen that shows the figures above the turns.
const ROWS_FOR_FIGURES: u16 = 18;
/// Rows of differences that are laid out.
const MOST_ROWS: usize = 5_000;
/// The text before the later rows of a wrapped line.
const HANG: &str = "        ";
const HANGING: usize = HANG.len();
/// Characters of a line that are laid out.
const MOST_CHARS: usize = 4_000;

/// Layout of the page.
struct Areas {
    heads: Rect,
    figures: Rect,
    rule: Rect,
    turns: Rect,
    below: Rect,
    detail: Rect,
}

fn areas(body: Rect, figures: usize, turns: usize) -> Areas {
    let row = |y: u16, height: u16| Rect { y, height: height.min(body.bottom().saturating_sub(y)), ..body };
    let figures =
        if body.height >= ROWS_FOR_FIGURES { u16::try_from(figures).unwrap_or(0).min(body.height / 2) } else { 0 };
    let heads = row(body.y, 1);
    let figures = row(heads.bottom(), figures);
    let rule = row(figures.bottom(), 1);
    let left = body.bottom().saturating_sub(rule.bottom());
    let most = (left / 2).max(3).min(left);
    let turns = row(rule.bottom(), u16::try_from(turns).unwrap_or(u16::MAX).min(most));
    let below = row(turns.bottom(), 1);
    Areas {
        heads,
        figures,
        rule,
        turns,
        below,
        detail: row(below.bottom(), body.bottom().saturating_sub(below.bottom())),
    }
}

fn frame(width: u16) -> Frame {
    Frame { columns: usize::from(width.saturating_sub(2)), whole: true, words: false }
}

/// The columns that are shown: all, or on narrow screens the one with the focus.
fn shown(compare: &Compare, wide: bool) -> Vec<usize> {
    if wide { (0..compare.sides.len()).collect() } else { vec![compare.column] }
}

/// Areas of the transcripts: rule, strip of figures, rows.
fn transcripts(compare: &Compare, body: Rect, wide: bool) -> Vec<(usize, [Rect; 3])> {
    let shown = shown(compare, wide);
    let number = u16::try_from(shown.len()).unwrap_or(1).max(1);
    let each = body.width / number;
    let area = |(place, column): (usize, usize)| {
        let x = body.x + u16::try_from(place).unwrap_or(0) * each;
        let rule = Rect { x, width: each, height: 1.min(body.height), ..body };
        let strip = Rect { y: rule.bottom(), height: 1.min(body.height.saturating_sub(1)), ..rule };
        (column, [rule, strip, Rect { y: strip.bottom(), height: body.height.saturating_sub(2), ..rule }])
    };
    shown.into_iter().enumerate().map(area).collect()
}

pub(super) fn layout(compare: &mut Compare, body: Rect, wide: bool, now_ms: i64) {
    if compare.shows_transcripts() {
        return layout_transcripts(compare, &transcripts(compare, body, wide), now_ms);
    }
    let Some(comparison) = compare.compared.clone() else { return };
    let areas = areas(body, metrics(&comparison, frame(body.width)).len(), compare.items.len());
    compare.area = areas.turns;
    let rows = usize::from(areas.turns.height).max(1);
    compare.top = compare.top.clamp((compare.selected + 1).saturating_sub(rows), compare.selected);
    let columns = usize::from(areas.detail.width.saturating_sub(2)).max(1);
    let made_for = Some((compare.selected, columns));
    if compare.detail.made_for != made_for {
        compare.detail.rows = detail(&comparison, compare.items.get(compare.selected), columns);
        compare.detail.made_for = made_for;
    }
    compare.detail.height = usize::from(areas.detail.height);
    let last = compare.detail.rows.len().saturating_sub(compare.detail.height);
    compare.detail.top = compare.detail.top.min(last);
}

/// Lays out the transcripts, and finds what differs inside corresponding turns.
fn layout_transcripts(compare: &mut Compare, areas: &[(usize, [Rect; 3])], now_ms: i64) {
    let rows: Vec<(usize, Rect)> = areas.iter().map(|(column, [.., rows])| (*column, *rows)).collect();
    alignment::layout(compare, &rows, now_ms);
    let mut marks = std::mem::take(&mut compare.marks);
    let columns: Vec<usize> = rows.iter().map(|(column, _)| *column).collect();
    marks.refresh(compare, &columns, now_ms);
    compare.marks = marks;
}

/// Returns the differences at a line, wrapped.
fn detail(comparison: &Comparison, item: Option<&Item>, columns: usize) -> Vec<Line> {
    let frame = Frame { columns, whole: true, words: false };
    let lines = match item.map(|item| item.target) {
        Some(Target::Definition) => of_definitions(comparison, frame),
        Some(Target::Turns(row)) => {
            comparison.rows.get(row).map(|row| of_turns(comparison, row, frame)).unwrap_or_default()
        }
        Some(Target::Answers) => of_ends(comparison, frame),
        None => Vec::new(),
    };
    let wrapped = |line: Line| {
        let cut: String = line.text.chars().take(MOST_CHARS).collect();
        let text = SafeText::single_line(&cut);
        // The rest continues under its start, after the signs.
        let ranges = wrap(&text, columns.saturating_sub(HANGING).max(1));
        let row = |(place, range): (usize, std::ops::Range<usize>)| {
            let before = if place == 0 { "" } else { HANG };
            Line { tone: line.tone, text: format!("{before}{}", text.slice(range)) }
        };
        ranges.into_iter().enumerate().map(row).collect::<Vec<_>>()
    };
    lines.into_iter().flat_map(wrapped).take(MOST_ROWS).collect()
}

pub(super) fn title(compare: &Compare) -> String {
    let agent = compare.compared.as_ref().and_then(|compared| compared.columns.first()?.side.runs.first());
    let agent = agent.map(|run| format!("{} · ", run.step.name)).unwrap_or_default();
    if compare.sides.is_empty() {
        String::new()
    } else {
        format!("{agent}{}", plural(compare.sides.len() as u64, "run"))
    }
}

/// The progress.
pub(super) fn progress_row(model: &Model) -> Row {
    let compare = &model.compare;
    if let Some(warning) = compare.warnings.first() {
        return Row::new([Piece::literal(Role::Warn, " ! "), Piece::new(Role::Text, warning)]);
    }
    let running = compare.sides.iter().filter(|side| side.run.as_ref().is_some_and(|run| run.phase != Phase::Done));
    let running = running.count();
    let text = match &compare.compared {
        _ if running > 0 => {
            format!(" {} in progress; they are compared when both have ended", plural(running as u64, "run"))
        }
        _ if compare.reading => " comparing …".to_owned(),
        Some(comparison) => {
            let parts = comparison
                .pairs
                .iter()
                .map(|pair| format!("run {} against run 1: {}", pair.column + 1, first_difference(pair)));
            format!(" {}", parts.collect::<Vec<_>>().join("   "))
        }
        None => String::new(),
    };
    Row::new([Piece::new(Role::Dim, &text)])
}

pub(super) fn draw(model: &Model, body: Rect, buffer: &mut Buffer) {
    let compare = &model.compare;
    if let Some(error) = &compare.error {
        return explain(&format!("These sessions cannot be compared: {error}"), Role::Text, body, model, buffer);
    }
    if compare.shows_transcripts() {
        return draw_transcripts(model, body, buffer);
    }
    match &compare.compared {
        Some(comparison) => draw_turns(model, comparison, body, buffer),
        None if compare.reading => explain("comparing …", Role::Dim, body, model, buffer),
        None => {
            explain("Nothing is compared yet.", Role::Text, body, model, buffer);
            bars::keys(&beginnings(model), 2 + usize::from(body.height > 4), body, buffer, model.theme);
        }
    }
}

/// Returns the keys that are useful before there are runs, with their effects.
fn beginnings(model: &Model) -> Vec<(String, String)> {
    let (mark, beside) =
        (model.keymap.first_name(Action::Session(SessionAction::Mark)), model.keymap.first_name(Action::CompareMarked));
    let marks = format!("lists the sessions: {mark} marks two to four of them, {beside} shows them side by side");
    let lines = [
        (Action::BothModes, "runs the draft in ptc_lisp and json side by side"),
        (Action::Sessions, marks.as_str()),
        (
            Action::Comparing(Step::NewMatrix),
            "starts a matrix: the draft in several modes and models, several trials each",
        ),
        (Action::Comparing(Step::Matrices), "lists earlier matrices"),
    ];
    lines.map(|(action, text)| (model.keymap.first_name(action), text.to_owned())).into()
}

fn draw_transcripts(model: &Model, body: Rect, buffer: &mut Buffer) {
    let compare = &model.compare;
    for (column, [rule, strip, rows]) in transcripts(compare, body, model.wide()) {
        let focused = column == compare.column;
        match compare.sides.get(column).map(|side| (&side.run, &side.name)) {
            Some((Some(run), name)) if run.phase == Phase::Starting => {
                bars::rule(rule, name, focused, vec![Piece::literal(Role::Accent, "● starting")], buffer, model.theme);
            }
            Some((Some(run), _)) => {
                run::draw_rule(model, run, rule, focused, buffer);
                draw_strip(model, column, run, strip, buffer);
                run::draw_rows(model, run, rows, buffer);
                mark_differences(model, column, run, rows, buffer);
            }
            _ => {}
        }
    }
}

/// The figures of a run in one row, and its answer where it differs from that of the first.
fn draw_strip(model: &Model, column: usize, run: &RunView, area: Rect, buffer: &mut Buffer) {
    let facts = &run.transcript.facts;
    let mut parts = vec![format!(" {}", column + 1), plural(facts.all_turns(), "turn")];
    parts.extend(facts.all_tokens().map(|tokens| format!("↑ {} ↓ {}", count(tokens.input), count(tokens.output))));
    parts.push(format!("cost {}", cost(facts.all_cost())));
    parts.push(facts.all_time(model.now_ms));
    let mut pieces = vec![Piece::new(Role::Dim, &parts.join(" · "))];
    let pair = model.compare.compared.as_ref().and_then(|known| known.pairs.iter().find(|pair| pair.column == column));
    if let Some(pair) = pair.filter(|pair| !pair.answers.is_empty() || !pair.ends.is_empty()) {
        let what = if pair.ends.is_empty() { "answer" } else { "end" };
        pieces.push(Piece::new(Role::Warn, &format!(" · ≠ {what}")));
    }
    Row::new(pieces).draw(area, buffer, model.theme);
}

/// Marks the turns that differ, at their first rows: `◆` where the runs part first, `≠` elsewhere; and the words that differ inside them.
fn mark_differences(model: &Model, column: usize, run: &RunView, area: Rect, buffer: &mut Buffer) {
    let compare = &model.compare;
    let Some(comparison) = &compare.compared else { return };
    let first = comparison.first_row();
    for (line, visible) in run.transcript.rows().enumerate() {
        let place = line_of(area, line);
        for words in compare.marks.at(column, visible.cell, visible.line) {
            let indent = usize::from(run::MARGIN + visible.indent);
            let x = |column: usize| u16::try_from(indent + column).unwrap_or(u16::MAX).min(place.width);
            let at = Rect { x: place.x + x(words.start), width: x(words.end) - x(words.start), ..place };
            buffer.set_style(at.intersection(place), model.theme.style(Role::Differs));
        }
        if visible.line > 0 {
            continue;
        }
        let Some(cell) = run.transcript.cells().get(visible.cell) else { continue };
        let row = compare.row_of(column, &cell.at).filter(|row| comparison.differs_at(column, *row));
        if let (Some(row), Card::Turn(_)) = (row, &cell.card) {
            let mark = if first == Some(row) { "◆" } else { "≠" };
            let at = Rect { x: place.x + 1, width: 1.min(place.width), ..place };
            Row::new([Piece::literal(Role::Warn, mark)]).draw(at, buffer, model.theme);
        }
    }
}

fn draw_turns(model: &Model, comparison: &Comparison, body: Rect, buffer: &mut Buffer) {
    let compare = &model.compare;
    let frame = frame(body.width);
    let figures = metrics(comparison, frame);
    let areas = areas(body, figures.len(), compare.items.len());
    let columns = Columns::of(compare, model.wide(), frame);
    Columns::of_figures(compare, model.wide(), frame).heads(compare, comparison).draw(areas.heads, buffer, model.theme);
    for (line, figure) in figures.iter().take(usize::from(areas.figures.height)).enumerate() {
        line_row(figure).draw(line_of(areas.figures, line), buffer, model.theme);
    }
    let first = compare.items.iter().filter(|item| item.differs).count();
    let mark = match first {
        0 => Piece::literal(Role::Good, "✓ no difference"),
        more => Piece::new(Role::Accent, &plural(more as u64, "difference")),
    };
    let hidden = bars::more(
        compare.top,
        compare.items.len().saturating_sub(compare.top + usize::from(areas.turns.height)),
        body.width,
    );
    let heading = match columns.shown.as_slice() {
        [one] if compare.sides.len() > 1 => &format!("Turns of {}", one + 1),
        _ => "Turns",
    };
    bars::rule(areas.rule, heading, true, hidden.into_iter().chain([mark]).collect(), buffer, model.theme);
    let visible = compare.items.iter().enumerate().skip(compare.top).take(usize::from(areas.turns.height));
    for (line, (place, item)) in visible.enumerate() {
        columns.row(comparison, item, place == compare.selected, frame).draw(
            line_of(areas.turns, line),
            buffer,
            model.theme,
        );
    }
    let detail = &compare.detail;
    let above = detail.top;
    let below = detail.rows.len().saturating_sub(above + usize::from(areas.detail.height));
    let heading = match compare.items.get(compare.selected) {
        Some(item) if item.first => "First difference",
        Some(item) if item.differs => "Difference",
        _ => "The same",
    };
    bars::rule(areas.below, heading, false, bars::more(above, below, body.width), buffer, model.theme);
    for (line, row) in detail.rows.iter().skip(above).take(usize::from(areas.detail.height)).enumerate() {
        line_row(row).draw(line_of(areas.detail, line), buffer, model.theme);
    }
}

/// The columns of the turns: a label in front, a cell for each run that is shown.
struct Columns {
    shown: Vec<usize>,
    focus: usize,
    label: usize,
    cell: usize,
    gap: usize,
}

impl Columns {
    fn of(compare: &Compare, wide: bool, frame: Frame) -> Self {
        let shown = shown(compare, wide);
        let (label, cell, gap) = cell_columns(shown.len(), frame);
        Self { shown, focus: compare.column, label, cell, gap }
    }

    /// The columns of the figures, which are shown side by side also where only one run's turns are shown.
    fn of_figures(compare: &Compare, wide: bool, frame: Frame) -> Self {
        Self::of(compare, wide || compare.sides.len() == 2, frame)
    }

    /// Number, mode, model and session of each run.
    fn heads(&self, compare: &Compare, comparison: &Comparison) -> Row {
        let mut pieces = vec![Piece::new(Role::Dim, &" ".repeat(self.label + 1))];
        for column in &self.shown {
            let side = comparison.columns.get(*column).map(|column| &column.side);
            let (run, name) = (side.and_then(|side| side.runs.first()), side.map_or("", |side| &side.name));
            let what = run.map(|run| format!("{} · {}  ", run.mode, run.model)).unwrap_or_default();
            let focused = *column == self.focus;
            let mark = if focused && compare.sides.len() > 1 { "▸" } else { " " };
            let text = format!("{mark}{} {what}{name}", column + 1);
            pieces.push(self.piece(if focused { Role::Title } else { Role::Text }, &text));
        }
        Row::new(pieces)
    }

    /// A line of the list.
    fn row(&self, comparison: &Comparison, item: &Item, selected: bool, frame: Frame) -> Row {
        let marks = match (item.first, item.differs) {
            (true, _) => ("◆≠", Role::Accent),
            (false, true) => (" ≠", Role::Accent),
            (false, false) => ("  ", Role::Dim),
        };
        let label = match item.target {
            Target::Definition => "agent",
            Target::Turns(_) => "",
            Target::Answers => "end",
        };
        let mut pieces = vec![
            Piece::literal(Role::Accent, if selected { " ▸" } else { "  " }),
            Piece::literal(marks.1, marks.0),
            Piece::new(Role::Dim, &pad(&format!(" {label}"), self.label - 3)),
        ];
        let role = match (selected, item.differs) {
            (true, _) => Role::Title,
            (false, true) => Role::Text,
            (false, false) => Role::Dim,
        };
        for column in &self.shown {
            let text = text(comparison, item.target, *column, frame).unwrap_or_else(|| "–".to_owned());
            pieces.push(self.piece(role, &text));
        }
        Row::new(pieces)
    }

    fn piece(&self, role: Role, text: &str) -> Piece {
        let text = SafeText::single_line(text);
        Piece::new(role, &format!("{}{}", pad(&truncate(&text, self.cell), self.cell), " ".repeat(self.gap)))
    }
}

/// The first line of a run's definition that differs: of the first run that no other run has, of another one that the first has not.
fn different_line(comparison: &Comparison, column: usize) -> Option<&str> {
    let (sign, pairs) = match column {
        0 => ('-', comparison.pairs.as_slice()),
        _ => ('+', comparison.pairs.get(column - 1..column)?),
    };
    let lines = pairs.iter().flat_map(|pair| &pair.definition);
    lines.filter(|line| line.sign() == sign).map(|line| line.text.trim()).find(|line| !line.is_empty())
}

/// Returns the content of a line for one run.
fn text(comparison: &Comparison, target: Target, column: usize, frame: Frame) -> Option<String> {
    let shown = comparison.columns.get(column)?;
    match target {
        Target::Turns(row) => {
            let place = comparison.rows.get(row)?.cells.get(column).copied().flatten()?;
            summarize_turn(comparison, column, place, frame)
        }
        Target::Definition => shown.side.runs.first().map(|run| {
            let signature = run.step.signature.as_deref().unwrap_or_default();
            let line = different_line(comparison, column).unwrap_or(signature);
            format!("{}  {line}", run.step.name)
        }),
        Target::Answers => {
            let answer =
                shown.side.runs.last().and_then(|run| run.step.answer.as_ref()).map(ptc_core::value::Json::to_text);
            Some(format!("{}  {}", ends(shown, frame), answer.unwrap_or_default()))
        }
    }
}
