//! The candidates screen: the candidates of a search as a tree, the change of the selected one and its cases; or the hunks of it that are
//! written into the agent file. Only visible rows are made.

mod hunk_selection;

use ptc_core::text::SafeText;
use ptc_core::text::width::{truncate, width};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::bars;
use crate::tui::actions::Action;
use crate::tui::candidates::{Candidates, Pane, Step, change_rows};
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::{cost, count, plural};
use crate::workbench::optimize::{CandidateCase, CandidateLine, CandidateStatus, Ending, Gain, SearchOutline};

/// Minimum columns for showing the selected candidate next to the tree.
const SIDE_BY_SIDE_FROM: u16 = 100;
/// Minimum columns of a tree with all figures.
const FIGURES_FROM: u16 = 56;
/// Deepest indentation.
const DEEPEST: usize = 8;

struct Areas {
    title: Rect,
    tree_rule: Rect,
    heads: Rect,
    tree: Rect,
    /// Rule and rows; empty while the cases are in its place.
    change: (Rect, Rect),
    /// Rule and rows; empty while the change is in its place.
    cases: (Rect, Rect),
    status: Rect,
    footer: Rect,
}

fn areas(screen: Rect, focus: Pane) -> Areas {
    let line = |y: u16| Rect { y, height: 1, ..screen };
    let body = Rect { y: screen.y + 1, height: screen.height.saturating_sub(3), ..screen };
    let split = |area: Rect, rows: u16| {
        let rule = Rect { height: area.height.min(rows), ..area };
        (rule, Rect { y: area.y + rule.height, height: area.height - rule.height, ..area })
    };
    let none = (Rect::default(), Rect::default());
    let (left, change, cases) = if screen.width >= SIDE_BY_SIDE_FROM {
        let left = Rect { width: screen.width / 5 * 3, ..body };
        let right = Rect { x: left.right() + 1, width: body.width - left.width - 1, ..body };
        let (upper, lower) = split(right, right.height * 3 / 5);
        (left, split(upper, 1), split(lower, 1))
    } else {
        let (upper, lower) = split(body, (body.height * 9 / 20).max(4));
        if focus == Pane::Cases { (upper, none, split(lower, 1)) } else { (upper, split(lower, 1), none) }
    };
    let (tree_rule, below) = split(left, 1);
    let (heads, tree) = split(below, 1);
    Areas {
        title: line(screen.y),
        tree_rule,
        heads,
        tree,
        change,
        cases,
        status: line(screen.bottom() - 2),
        footer: line(screen.bottom() - 1),
    }
}

/// The columns for texts in an area: one on the left is free.
fn text_columns(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(2)).max(1)
}

pub(super) fn layout(model: &mut Model) {
    let screen = Rect::new(0, 0, model.size.0, model.size.1);
    let candidates = &mut model.candidates;
    if let Some(selection) = &mut candidates.hunk_selection {
        hunk_selection::layout(selection, screen);
        return;
    }
    let areas = areas(screen, candidates.focus);
    let count = candidates.lines().len();
    candidates.tree.show(areas.tree, count);
    let cases = candidates.current_detail().map_or(0, |detail| detail.cases.len());
    candidates.cases.show(areas.cases.1, cases);
    candidates.change_area = areas.change.1;
    let columns = text_columns(areas.change.1);
    if !areas.change.1.is_empty() && candidates.change.as_ref().is_none_or(|(made_for, _)| *made_for != columns) {
        candidates.change = candidates.detail.as_ref().map(|detail| (columns, change_rows(detail, columns)));
    }
    let rows = candidates.change.as_ref().map_or(0, |(_, rows)| rows.len());
    candidates.change_top = candidates.change_top.min(rows.saturating_sub(usize::from(areas.change.1.height)));
}

/// The parts whose texts can be selected.
pub(super) fn text_areas(model: &Model, screen: Rect) -> Vec<Rect> {
    if let Some(selection) = &model.candidates.hunk_selection {
        return vec![selection.area];
    }
    let areas = areas(screen, model.candidates.focus);
    vec![areas.tree, areas.change.1, areas.cases.1]
}

pub(super) fn draw(model: &Model, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let candidates = &model.candidates;
    let areas = areas(screen, candidates.focus);
    title(model).draw(areas.title, buffer, model.theme);
    match (&candidates.hunk_selection, candidates.outline.as_deref()) {
        (Some(selection), _) => hunk_selection::draw(model, selection, screen, buffer),
        (None, Some(outline)) => {
            draw_tree(model, outline, &areas, buffer);
            draw_change(model, &areas, buffer);
            draw_cases(model, &areas, buffer);
            if areas.cases.1.x > areas.tree.x {
                let style = model.theme.style(Role::Border);
                for y in areas.tree_rule.y..areas.tree.bottom().min(buffer.area.bottom()) {
                    buffer.set_string(areas.tree.right(), y, "│", style);
                }
            }
        }
        (None, None) => {
            let key = model.keymap.first_name(Action::OpenCandidates);
            let text = format!("no search is open: {key} opens the folder of one");
            Row::new([Piece::new(Role::Dim, &text)]).indented(2).draw(areas.tree, buffer, model.theme);
        }
    }
    let status = if model.screen_toast().is_some() { bars::toast(model) } else { status(candidates) };
    status.draw(areas.status, buffer, model.theme);
    if model.popups.is_empty() {
        bars::footer(model, areas.footer, buffer);
    }
    None
}

/// The agent, mode and models of the search, and whether it has ended.
fn title(model: &Model) -> Row {
    let mut left = vec![Piece::literal(Role::Title, " Candidates  ")];
    let Some(outline) = &model.candidates.outline else { return Row::new(left) };
    left.push(Piece::new(Role::Text, &outline.agent));
    let models = format!("  {} · {} · proposals by {}", outline.mode, outline.model, outline.reflect_model);
    left.push(Piece::new(Role::Dim, &models));
    let state = match outline.ending {
        None => Piece::literal(Role::Accent, "● not ended "),
        Some(Ending::Solved) => Piece::literal(Role::Good, "✓ every validation case passes "),
        Some(Ending::Candidates) => Piece::literal(Role::Dim, "■ maximum number of candidates reached "),
        Some(Ending::Budget) => Piece::literal(Role::Dim, "■ the budget is exhausted "),
        Some(Ending::Idle) => Piece::literal(Role::Dim, "■ no better candidate in many rounds "),
        Some(Ending::Exhausted) => Piece::literal(Role::Dim, "■ no new proposals "),
    };
    Row::new(left).ending([state])
}

/// The best candidate against the agent as it is, and what the search used; what cannot be read.
fn status(candidates: &Candidates) -> Row {
    if let Some(problem) = &candidates.problem {
        return Row::new([Piece::literal(Role::Bad, " ✗ "), Piece::new(Role::Text, problem)]);
    }
    let Some(outline) = &candidates.outline else { return Row::default() };
    let gain = |name: &str, gain: &Gain| format!("{name} {:.2} → {:.2}", gain.before, gain.after);
    let gains = [("validation", &outline.validation), ("held out", &outline.held_out)];
    let gains: Vec<String> = gains.into_iter().filter_map(|(name, one)| Some(gain(name, one.as_ref()?))).collect();
    let mut pieces = vec![Piece::literal(Role::Text, " ")];
    if !gains.is_empty() {
        pieces.push(Piece::new(Role::Text, &format!("c{:02}: {}   ", outline.best, gains.join(", "))));
    }
    let used = format!(
        "{}   cost {}   {} refused   ",
        plural(outline.calls, "request"),
        cost(Some(outline.cost)),
        plural(outline.refused.into(), "proposal")
    );
    pieces.push(Piece::new(Role::Dim, &used));
    if !outline.given_up.is_empty() {
        let names: Vec<String> = outline.given_up.iter().map(ToString::to_string).collect();
        pieces.push(Piece::new(Role::Warn, &format!("nothing new for {}", names.join(", "))));
    }
    Row::new(pieces)
}

fn draw_tree(model: &Model, outline: &SearchOutline, areas: &Areas, buffer: &mut Buffer) {
    let candidates = &model.candidates;
    let mark = Piece::new(Role::Dim, &count(outline.lines.len() as u64));
    bars::rule(areas.tree_rule, "Tree", candidates.focus == Pane::Tree, vec![mark], buffer, model.theme);
    let columns = Columns { width: areas.tree.width };
    columns.heads().draw(areas.heads, buffer, model.theme);
    let lines = outline.lines.iter().enumerate().skip(candidates.tree.top).take(usize::from(areas.tree.height));
    for (row, (place, line)) in lines.enumerate() {
        let is_selected = place == candidates.tree.selected;
        let drawn = columns.candidate(line, is_selected, line.number == outline.best && outline.best > 0);
        drawn.draw(line_of(areas.tree, row), buffer, model.theme);
    }
}

fn draw_change(model: &Model, areas: &Areas, buffer: &mut Buffer) {
    let candidates = &model.candidates;
    let (rule, area) = areas.change;
    let Some(line) = candidates.current() else { return };
    let heading = match candidates.parent() {
        Some(parent) => format!("c{:02} against c{parent:02}", line.number),
        None => format!("c{:02}, the original agent", line.number),
    };
    let heading = match candidates.other_parent() {
        Some(other) => {
            let key = model.keymap.first_name(Action::InCandidates(Step::OtherParent));
            format!("{heading} · {key}: against c{other:02}")
        }
        None => heading,
    };
    let rows = candidates.change.as_ref().map_or(&[][..], |(_, rows)| rows);
    let rows = if candidates.current_detail().is_some() { rows } else { &[] };
    let seen = usize::from(area.height);
    let hidden = rows.len().saturating_sub(candidates.change_top + seen);
    let mark = bars::more(candidates.change_top, hidden, area.width);
    bars::rule(rule, &heading, candidates.focus == Pane::Change, mark, buffer, model.theme);
    for (at, row) in rows.iter().skip(candidates.change_top).take(seen).enumerate() {
        row.clone().indented(1).draw(line_of(area, at), buffer, model.theme);
    }
}

fn draw_cases(model: &Model, areas: &Areas, buffer: &mut Buffer) {
    let candidates = &model.candidates;
    let (rule, area) = areas.cases;
    let detail = candidates.current_detail();
    let (won, lost) = detail.map_or((0, 0), crate::workbench::optimize::CandidateDetail::won_and_lost);
    let heading = match (candidates.current(), candidates.parent()) {
        (Some(_), Some(parent)) => format!("Cases against c{parent:02}"),
        (Some(line), None) => format!("Cases of c{:02}", line.number),
        (None, _) => String::new(),
    };
    let mark = vec![
        Piece::new(if won > 0 { Role::Good } else { Role::Dim }, &format!("{won} won  ")),
        Piece::new(if lost > 0 { Role::Bad } else { Role::Dim }, &format!("{lost} lost")),
    ];
    bars::rule(rule, &heading, candidates.focus == Pane::Cases, mark, buffer, model.theme);
    let cases = detail.map_or(&[][..], |detail| &detail.cases);
    let shown = cases.iter().enumerate().skip(candidates.cases.top).take(usize::from(area.height));
    for (at, (place, case)) in shown.enumerate() {
        let is_selected = candidates.focus == Pane::Cases && place == candidates.cases.selected;
        case_row(case, is_selected, area.width).draw(line_of(area, at), buffer, model.theme);
    }
}

fn case_row(case: &CandidateCase, is_selected: bool, columns: u16) -> Row {
    let (role, mark) = match case {
        _ if case.is_won() => (Role::Good, "✓ won   "),
        _ if case.is_lost() => (Role::Bad, "✗ lost  "),
        _ if case.passed => (Role::Good, "✓ passes"),
        _ => (Role::Bad, "✗ fails "),
    };
    let text = if is_selected { Role::Title } else { Role::Text };
    let left = [
        Piece::literal(Role::Accent, if is_selected { " ▸ " } else { "   " }),
        Piece::literal(role, mark),
        Piece::new(text, &format!("  {}", case.name)),
    ];
    let part = if columns >= 44 { case.part.name() } else { "" };
    Row::new(left).ending([Piece::new(Role::Dim, &format!("{part}  {:>4.2} ", case.score))])
}

/// The columns that fit the width.
struct Columns {
    width: u16,
}

impl Columns {
    fn heads(&self) -> Row {
        let left = [Piece::literal(Role::Dim, "     candidate")];
        let figures = ["score", "held", "cost", "runs"];
        Row::new(left).ending([self.figures(Role::Dim, figures, "won lost")])
    }

    fn candidate(&self, line: &CandidateLine, is_selected: bool, is_best: bool) -> Row {
        let (role, mark) = match line.status {
            CandidateStatus::Accepted => (Role::Good, "✓ "),
            CandidateStatus::Rejected => (Role::Dim, "✗ "),
            CandidateStatus::Trying => (Role::Accent, "● "),
        };
        let text = match (is_selected, line.status) {
            (true, _) => Role::Title,
            (false, CandidateStatus::Rejected) => Role::Dim,
            (false, _) => Role::Text,
        };
        let indent = "  ".repeat(line.depth.min(DEEPEST));
        let deeper = if line.depth > DEEPEST { "… " } else { "" };
        let mut left = vec![
            Piece::literal(Role::Accent, if is_selected { " ▸ " } else { "   " }),
            Piece::literal(role, mark),
            Piece::new(text, &format!("{indent}{deeper}c{:02}  {}", line.number, line.change())),
        ];
        if is_best {
            left.push(Piece::literal(Role::Accent, "  best"));
        }
        left.push(Piece::new(Role::Dim, &format!("  {}", line.reason)));
        let score = |mean: Option<f64>| mean.map_or_else(|| "–".to_owned(), |mean| format!("{mean:.2}"));
        let against = line.against_parents.first().map_or_else(String::new, |(won, lost)| format!("{won} {lost:>4}"));
        let figures = [score(line.score), score(line.held_out), cost(Some(line.cost)), count(line.tries as u64)];
        let figures = figures.each_ref().map(String::as_str);
        Row::new(left).ending([self.figures(if is_selected { Role::Title } else { Role::Dim }, figures, &against)])
    }

    /// Figures below each other.
    fn figures(&self, role: Role, [score, held_out, cost, runs]: [&str; 4], against: &str) -> Piece {
        let right = |text: &str, columns: usize| {
            let text = SafeText::single_line(text);
            let text = truncate(&text, columns).into_owned();
            format!("{}{text}", " ".repeat(columns.saturating_sub(width(&text))))
        };
        let mut text = right(score, 6);
        if self.width >= FIGURES_FROM {
            text += &right(held_out, 6);
            text += &right(cost, 8);
            text += &right(runs, 6);
        }
        Piece::new(role, &format!("{text}{} ", right(against, 9)))
    }
}
