//! The tests screen: the cases of the draft with their results, and what the selected one expected and got.

use ptc_core::text::width::truncate;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::areas::line_of;
use super::bars;
use crate::agent::Verdict;
use crate::tui::actions::Action;
use crate::tui::cases::{CaseLine, Step};
use crate::tui::colours::Language;
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::transcript::format::{count, duration, plural};
use crate::tui::transcript::wrapped_text::{Look, WrappedText};

/// Minimum columns for showing the selected case next to the list.
const SIDE_BY_SIDE_FROM: u16 = 100;
/// Rows of each text of a case.
const TEXT_ROWS: usize = 12;

struct Areas {
    title: Rect,
    rule: Rect,
    list: Rect,
    detail_rule: Rect,
    detail: Rect,
    status: Rect,
    footer: Rect,
}

fn areas(screen: Rect) -> Areas {
    let line = |y: u16| Rect { y, height: 1, ..screen };
    let body = Rect { y: screen.y + 1, height: screen.height.saturating_sub(3), ..screen };
    let head = |area: Rect| Rect { height: area.height.min(1), ..area };
    let below = |area: Rect| Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let (list, detail) = if screen.width >= SIDE_BY_SIDE_FROM {
        let left = Rect { width: screen.width / 2, ..body };
        (left, Rect { x: left.right() + 1, width: body.width - left.width - 1, ..body })
    } else {
        let rows = (body.height * 2 / 5).max(3);
        (Rect { height: rows, ..body }, Rect { y: body.y + rows, height: body.height - rows, ..body })
    };
    Areas {
        title: line(screen.y),
        rule: head(list),
        list: below(list),
        detail_rule: head(detail),
        detail: below(detail),
        status: line(screen.bottom() - 2),
        footer: line(screen.bottom() - 1),
    }
}

pub(super) fn layout(model: &mut Model) {
    let list = areas(Rect::new(0, 0, model.size.0, model.size.1)).list;
    let tests = &mut model.tests;
    tests.area = list;
    let rows = usize::from(list.height).max(1);
    tests.top = tests.top.clamp((tests.selected + 1).saturating_sub(rows), tests.selected);
}

/// The parts whose texts can be selected.
pub(super) fn text_areas(screen: Rect) -> Vec<Rect> {
    let areas = areas(screen);
    vec![areas.list, areas.detail]
}

pub(super) fn draw(model: &Model, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    let (areas, tests) = (areas(screen), &model.tests);
    bars::title(model, areas.title, buffer);
    let state = state(model);
    bars::rule(areas.rule, "Tests", true, state, buffer, model.theme);
    match &tests.cases {
        Some(cases) if !cases.is_empty() => {
            for (line, (at, case)) in
                cases.iter().enumerate().skip(tests.top).take(usize::from(areas.list.height)).enumerate()
            {
                row(model, case, at == tests.selected, areas.list.width).draw(
                    line_of(areas.list, line),
                    buffer,
                    model.theme,
                );
            }
        }
        _ => draw_empty(model, areas.list, buffer),
    }
    let name = tests.current().map(|line| line.outline.name.as_str()).unwrap_or_default();
    bars::rule(areas.detail_rule, name, false, Vec::new(), buffer, model.theme);
    if let Some(case) = tests.current() {
        let rows = detail(model, case, usize::from(areas.detail.width).saturating_sub(4).max(1));
        for (line, row) in rows.into_iter().take(usize::from(areas.detail.height)).enumerate() {
            row.indented(2).draw(line_of(areas.detail, line), buffer, model.theme);
        }
    }
    if areas.detail.x > areas.list.x {
        let style = model.theme.style(Role::Border);
        for y in areas.rule.y..areas.list.bottom().min(buffer.area.bottom()) {
            buffer.set_string(areas.list.right(), y, "│", style);
        }
    }
    let status = match (model.screen_toast(), &tests.problem) {
        (Some(_), _) => bars::toast(model),
        (None, Some(problem)) => Row::new([Piece::literal(Role::Bad, " ✗ "), Piece::new(Role::Text, problem)]),
        (None, None) => {
            let denied: u64 = tests.cases.iter().flatten().map(CaseLine::denied_calls).sum();
            let notice = bars::denied(denied).map(|text| Piece::new(Role::Warn, &format!("   ! {text}")));
            let watch = if tests.watch { "   runs when the draft is saved" } else { "" };
            let cases = tests.cases.as_ref().map_or(0, Vec::len);
            let count = Piece::new(Role::Dim, &format!(" {}{watch}", plural(cases as u64, "case")));
            Row::new([count].into_iter().chain(notice))
        }
    };
    status.draw(areas.status, buffer, model.theme);
    if model.popups.is_empty() {
        bars::footer(model, areas.footer, buffer);
    }
    None
}

/// Returns the progress of the cases, or the counts of their results.
fn state(model: &Model) -> Vec<Piece> {
    let (passed, failed, rest) = model.tests.counts();
    if model.tests.runs() {
        let left = model.tests.running.len() + model.tests.queue.len();
        return vec![Piece::new(Role::Accent, &format!("● running {}", plural(left as u64, "case")))];
    }
    let mut pieces = Vec::new();
    if passed > 0 {
        pieces.push(Piece::new(Role::Good, &format!("✓ {passed} ")));
    }
    if failed > 0 {
        pieces.push(Piece::new(Role::Bad, &format!("✗ {failed} ")));
    }
    if rest > 0 {
        pieces.push(Piece::new(Role::Dim, &format!("– {rest} not run ")));
    }
    pieces
}

fn row(model: &Model, case: &CaseLine, is_selected: bool, columns: u16) -> Row {
    let tests = &model.tests;
    let is_running = tests.running.contains(&case.outline.name);
    let (role, mark) = match &case.result {
        _ if is_running => (Role::Accent, "●"),
        _ if tests.queue.contains(&case.outline.name) => (Role::Dim, "…"),
        Some(result) => match result.trial.verdict {
            Verdict::Pass => (Role::Good, "✓"),
            Verdict::Fail(_) => (Role::Bad, "✗"),
            Verdict::Error(_) => (Role::Warn, "!"),
        },
        None => (Role::Dim, "–"),
    };
    let cursor = if is_selected { "▸ " } else { "  " };
    let text = if is_selected { Role::Title } else { Role::Text };
    let mut left = vec![
        Piece::literal(Role::Accent, cursor),
        Piece::literal(role, mark),
        Piece::new(text, &format!(" {}", case.outline.name)),
    ];
    let mut right = Vec::new();
    if let Some(result) = case.result.as_ref().filter(|_| !is_running) {
        let why = result.trial.verdict.lines();
        if let Some(why) = why.first() {
            left.push(Piece::new(Role::Dim, &format!("  {why}")));
        }
        // The draft has changed since.
        if case.version != model.workbench.version() {
            right.push(Piece::literal(Role::Warn, "older draft  "));
        }
        if columns >= 44 {
            let tokens = result.trial.tokens.map_or_else(|| "–".to_owned(), |tokens| count(tokens.total()));
            right.push(Piece::new(Role::Dim, &format!("{tokens:>7} tok  ")));
        }
        right.push(Piece::new(Role::Dim, &format!("{:>8} ", duration(result.trial.duration_ms))));
    } else if case.outline.cassette.is_some() {
        right.push(Piece::literal(Role::Dim, "cassette "));
    }
    Row::new(left).ending(right)
}

/// Returns the result of a case, the expected and the actual answer, and the inputs.
fn detail(model: &Model, case: &CaseLine, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(result) = &case.result {
        let trial = &result.trial;
        match &trial.verdict {
            Verdict::Pass => {
                let text = format!(
                    "as expected · {} · {}",
                    plural(u64::from(trial.turns), "turn"),
                    duration(trial.duration_ms)
                );
                rows.push(Row::new([Piece::literal(Role::Good, "✓ "), Piece::new(Role::Text, &text)]));
                for ruling in &trial.rulings {
                    let line = format!("judged: {}", ruling.line());
                    let wrapped = WrappedText::of(&line, columns.saturating_sub(2).max(1), Look::Rich(Language::Plain));
                    rows.extend(wrapped.into_iter().map(|row| row.indented(2)));
                }
            }
            verdict => {
                for line in verdict.lines() {
                    let wrapped = WrappedText::of(&line, columns.saturating_sub(2).max(1), Look::Rich(Language::Plain));
                    for (at, mut row) in wrapped.into_iter().enumerate() {
                        row.left.insert(0, Piece::literal(Role::Bad, if at == 0 { "✗ " } else { "  " }));
                        rows.push(row);
                    }
                }
            }
        }
        rows.extend(
            bars::denied(case.denied_calls())
                .map(|text| Row::new([Piece::literal(Role::Warn, "! "), Piece::new(Role::Text, &text)])),
        );
        rows.push(Row::default());
    }
    rows.extend(text("expected", &case.outline.expected, columns));
    if let Some(got) = case.result.as_ref().and_then(|result| result.got.as_ref()) {
        rows.extend(text("got", got, columns));
    } else {
        let key = model.keymap.first_name(Action::Testing(Step::RunOne));
        let hint = format!("{key} runs the case");
        rows.push(Row::new([Piece::new(Role::Dim, &hint)]));
        rows.push(Row::default());
    }
    rows.extend(text("inputs", &case.outline.inputs, columns));
    rows
}

/// A text under its name.
fn text(name: &'static str, text: &str, columns: usize) -> Vec<Row> {
    let language = if text.trim_start().starts_with('(') { Language::Lisp } else { Language::Json };
    let mut rows = vec![Row::new([Piece::literal(Role::Accent, name)])];
    let mut lines = WrappedText::of(text, columns.saturating_sub(2).max(1), Look::Rich(language));
    let more = lines.len().saturating_sub(TEXT_ROWS);
    lines.truncate(TEXT_ROWS);
    rows.extend(lines.into_iter().map(|row| row.indented(2)));
    if more > 0 {
        rows.push(Row::new([Piece::new(Role::Dim, &format!("… {}", plural(more as u64, "more row")))]).indented(2));
    }
    rows.push(Row::default());
    rows
}

/// Draws the notice that there are no cases, and the keys that make one.
fn draw_empty(model: &Model, area: Rect, buffer: &mut Buffer) {
    if model.tests.cases.is_none() && model.tests.problem.is_none() {
        return Row::new([Piece::literal(Role::Dim, "reading …")]).indented(2).draw(
            line_of(area, 1),
            buffer,
            model.theme,
        );
    }
    let key = |action| model.keymap.first_name(action);
    let lines = [
        (key(Action::Run), "runs the draft".to_owned()),
        (
            key(Action::Session(crate::tui::sessions::SessionAction::MakeCase)),
            "makes a case from the shown run".to_owned(),
        ),
        (key(Action::Testing(Step::Edit)), "writes [[cases]] in the options".to_owned()),
    ];
    let title = truncate("the draft has no cases yet", usize::from(area.width)).into_owned();
    Row::new([Piece::new(Role::Dim, &title)]).indented(2).draw(line_of(area, 0), buffer, model.theme);
    bars::keys(&lines, 2, area, buffer, model.theme);
}
