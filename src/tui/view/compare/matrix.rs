//! A matrix: a row per cell with its trials as bars, the interval and means; below, the trials of the selected cell.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::explain;
use crate::tui::actions::Action;
use crate::tui::compare::{Compare, MatrixView, Step, TrialMark};
use crate::tui::model::Model;
use crate::tui::row::{Piece, Row};
use crate::tui::theme::Role;
use crate::tui::view::areas::line_of;
use crate::tui::view::bars;
use crate::workbench::format::{cost, count, duration, plural, size};
use crate::workbench::matrix::{CellReport, Outcome};
use crate::workbench::wording::describe_reason;
use ptc_core::text::SafeText;
use ptc_core::text::width::{pad, pad_left, truncate, width};

/// Marks of a cell's bar at most; more trials share marks.
const MARKS: usize = 20;

struct Areas {
    head: Rect,
    cells: Rect,
    rule: Rect,
    trials: Rect,
}

fn areas(body: Rect, cells: usize) -> Areas {
    let row = |y: u16, height: u16| Rect { y, height: height.min(body.bottom().saturating_sub(y)), ..body };
    let head = row(body.y, 1);
    let left = body.height.saturating_sub(2);
    let most = left.saturating_sub((left / 3).max(3)).max(1);
    let cells = row(head.bottom(), u16::try_from(cells).unwrap_or(u16::MAX).min(most));
    let rule = row(cells.bottom(), 1);
    Areas { head, cells, rule, trials: row(rule.bottom(), body.bottom().saturating_sub(rule.bottom())) }
}

pub(super) fn layout(compare: &mut Compare, body: Rect) {
    let Some(matrix) = &mut compare.matrix else { return };
    let rows = usize::from(areas(body, matrix.reports.len()).cells.height).max(1);
    matrix.top = matrix.top.clamp((matrix.cell + 1).saturating_sub(rows), matrix.cell);
}

/// Returns the progress of a matrix.
pub(super) fn progress_row(matrix: &MatrixView) -> Row {
    let state = &matrix.state;
    let mut parts = vec![format!(" {} of {}", state.done(), plural(state.total() as u64, "trial"))];
    parts.extend((state.failed() > 0).then(|| format!("{} failed", state.failed())));
    parts.extend((!state.untried().is_empty()).then(|| format!("{} could not be tried", state.untried().len())));
    parts.extend(totals(matrix));
    parts.push(match (matrix.running, matrix.stopping, state.is_complete()) {
        (true, true, _) => "stopping …".to_owned(),
        (true, false, _) => format!("● {} running", state.running().len()),
        (false, _, true) => "✓ complete".to_owned(),
        (false, _, false) => "! stopped; what is finished is kept".to_owned(),
    });
    let denied: u32 = matrix.reports.iter().map(|report| report.denied).sum();
    let notice = bars::denied(u64::from(denied)).map(|text| Piece::new(Role::Warn, &format!("   ! {text}")));
    Row::new([Piece::new(Role::Dim, &parts.join("   "))].into_iter().chain(notice))
}

/// The agents of the cells, each once, in order.
fn agents(matrix: &MatrixView) -> Vec<&str> {
    let mut agents: Vec<&str> = Vec::new();
    for cell in &matrix.state.plan.cells {
        if !agents.contains(&cell.agent.as_str()) {
            agents.push(&cell.agent);
        }
    }
    agents
}

/// Returns the number of passed trials of each agent, where there are several: `saved 3/10`.
fn totals(matrix: &MatrixView) -> Vec<String> {
    let agents = agents(matrix);
    if agents.len() < 2 {
        return Vec::new();
    }
    let total = |agent: &&str| {
        let own = matrix.reports.iter().filter(|report| report.cell.agent == *agent);
        let (passed, trials) =
            own.fold((0, 0), |(passed, trials), report| (passed + report.passed, trials + report.trials));
        format!("{agent} {passed}/{trials}")
    };
    agents.iter().map(total).collect()
}

pub(super) fn draw(model: &Model, body: Rect, buffer: &mut Buffer) {
    let Some(matrix) = &model.compare.matrix else {
        let key = |step| model.keymap.first_name(Action::Comparing(step));
        let text = format!(
            "No matrix is open. {} begins one, {} lists earlier ones.",
            key(Step::NewMatrix),
            key(Step::Matrices)
        );
        return explain(&text, Role::Text, body, model, buffer);
    };
    let areas = areas(body, matrix.reports.len());
    let table = Table::of(matrix, body.width);
    table.head().draw(areas.head, buffer, model.theme);
    let rows = usize::from(areas.cells.height);
    for (line, place) in (matrix.top..matrix.reports.len()).take(rows).enumerate() {
        table.row(matrix, place).draw(line_of(areas.cells, line), buffer, model.theme);
    }
    let hidden = bars::more(matrix.top, matrix.reports.len().saturating_sub(matrix.top + rows), body.width);
    let heading = matrix.reports.get(matrix.cell).map(|report| report.cell.name()).unwrap_or_default();
    bars::rule(areas.rule, &heading, false, hidden, buffer, model.theme);
    for (line, row) in trials(matrix).iter().take(usize::from(areas.trials.height)).enumerate() {
        row.draw(line_of(areas.trials, line), buffer, model.theme);
    }
}

/// The columns there is room for.
struct Table {
    names: [usize; 4],
    bar: usize,
    figures: Vec<Figure>,
}

/// Titles of the columns of names.
const NAMES: [&str; 4] = ["agent", "mode", "model", "case"];

/// A column of figures: its title, its breadth, what a cell has there.
type Figure = (&'static str, usize, fn(&CellReport) -> Option<String>);

/// The figures, what matters most first.
const FIGURES: [Figure; 9] = [
    ("turns", 6, |report| report.turns.map(|turns| format!("{turns:.1}"))),
    ("time", 8, |report| report.time_ms.map(duration)),
    ("data kept out", 14, |report| report.kept_out_bytes.map(|bytes| size(whole(bytes)))),
    ("in", 8, |report| report.input.map(|tokens| count(whole(tokens)))),
    ("out", 7, |report| report.output.map(|tokens| count(whole(tokens)))),
    ("cost", 8, |report| report.cost.map(|amount| cost(Some(amount)))),
    ("to first", 9, |report| report.first_ms.map(duration)),
    ("cached in", 10, |report| report.cached.map(|tokens| count(whole(tokens)))),
    ("errors", 7, |report| {
        let errors: u32 = report.errors.values().sum();
        (errors > 0).then(|| count(u64::from(errors)))
    }),
];

/// A mean as a whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "means of counts and bytes")]
fn whole(mean: f64) -> u64 {
    mean.max(0.0).round() as u64
}

/// Columns of `12/20` and of `44–100 %`.
const PASS: usize = 8;
const INTERVAL: usize = 10;

impl Table {
    fn of(matrix: &MatrixView, columns: u16) -> Self {
        let cells = &matrix.state.plan.cells;
        let widest = |title: &str, read: &dyn Fn(usize) -> String, most: usize| {
            let widest = (0..cells.len()).map(|place| width(&SafeText::single_line(&read(place)))).max().unwrap_or(0);
            // A title is never cut, and a gap follows it.
            if widest == 0 { 0 } else { (widest.min(most) + 2).max(width(title) + 1) }
        };
        let has_several = agents(matrix).len() > 1;
        let names = [
            if has_several { widest(NAMES[0], &|place| cells[place].agent.clone(), 16) } else { 0 },
            widest(NAMES[1], &|place| cells[place].mode.clone(), 9),
            widest(NAMES[2], &|place| cells[place].model.clone(), 16),
            widest(NAMES[3], &|place| cells[place].case.clone().unwrap_or_default(), 20),
        ];
        let trials = usize::try_from(matrix.state.plan.trials).unwrap_or(MARKS);
        let bar = trials.min(MARKS) + 2;
        let mut left = usize::from(columns).saturating_sub(3 + names.iter().sum::<usize>() + bar + PASS + INTERVAL + 2);
        let mut figures = Vec::new();
        for figure in FIGURES {
            let known = matrix.reports.iter().any(|report| (figure.2)(report).is_some());
            if known && figure.1 <= left {
                left -= figure.1;
                figures.push(figure);
            }
        }
        Self { names, bar, figures }
    }

    fn head(&self) -> Row {
        let names = NAMES.into_iter().zip(self.names);
        let names: String = names.map(|(name, columns)| pad(&truncate(name, columns), columns)).collect();
        let figures: String = self.figures.iter().map(|(title, columns, _)| pad_left(title, *columns)).collect();
        let text = format!(
            "   {names}{}{}{}{figures}",
            pad("trials", self.bar.max(8)),
            pad("pass", PASS),
            pad("95 % range", INTERVAL + 1)
        );
        Row::new([Piece::new(Role::Dim, &text)])
    }

    fn row(&self, matrix: &MatrixView, place: usize) -> Row {
        let report = &matrix.reports[place];
        let selected = matrix.cell == place;
        let role = if selected { Role::Title } else { Role::Text };
        let mut pieces = vec![Piece::literal(Role::Accent, if selected { " ▸ " } else { "   " })];
        let cell = &report.cell;
        let texts =
            [&cell.agent, &cell.mode, &cell.model, cell.case.as_ref().unwrap_or(&String::new())].map(String::clone);
        for (text, columns) in texts.iter().zip(self.names).filter(|(_, columns)| *columns > 0) {
            let text = SafeText::single_line(text);
            pieces.push(Piece::new(role, &pad(&truncate(&text, columns.saturating_sub(2)), columns)));
        }
        if let Some(unfit) = &report.cell.unfit {
            pieces.push(Piece::new(Role::Dim, &format!("cannot run: {unfit}")));
            return Row::new(pieces);
        }
        let marks = matrix.marks(place);
        pieces.extend(bar(&marks));
        let used = marks.len().min(MARKS);
        pieces.push(Piece::new(Role::Text, &" ".repeat(self.bar.max(8).saturating_sub(used))));
        let (low, high) = report.interval;
        let (pass, interval) = if report.trials > 0 {
            (format!("{}/{}", report.passed, report.trials), format!("{:.0}–{:.0} %", low * 100.0, high * 100.0))
        } else {
            ("–".to_owned(), String::new())
        };
        pieces.push(Piece::new(role, &pad(&pass, PASS)));
        pieces.push(Piece::new(Role::Dim, &pad(&interval, INTERVAL + 1)));
        for (_, columns, read) in &self.figures {
            pieces.push(Piece::new(Role::Text, &pad_left(&read(report).unwrap_or_else(|| "–".to_owned()), *columns)));
        }
        Row::new(pieces)
    }
}

/// The trials as marks: passed ones first, so that the bar shows the rate; then failed, running, untried and open ones.
fn bar(marks: &[TrialMark]) -> Vec<Piece> {
    let kinds = [TrialMark::Passed, TrialMark::Failed, TrialMark::Running, TrialMark::Untried, TrialMark::Open];
    let number = |kind: TrialMark| marks.iter().filter(|mark| **mark == kind).count();
    let piece = |kind: TrialMark| {
        let all = number(kind);
        // More trials than marks share them; what there is shows at least once.
        let shown = if marks.len() <= MARKS { all } else { (all * MARKS / marks.len()).max(usize::from(all > 0)) };
        let (role, sign) = look(kind);
        Piece::new(role, &sign.repeat(shown))
    };
    let mut pieces: Vec<Piece> = kinds.into_iter().map(piece).collect();
    let mut left = MARKS;
    for piece in &mut pieces {
        let shown: String = piece.text.chars().take(left).collect();
        left -= shown.chars().count();
        *piece = Piece::new(piece.role, &shown);
    }
    pieces
}

/// Returns the role and the mark of a trial.
fn look(mark: TrialMark) -> (Role, &'static str) {
    match mark {
        TrialMark::Passed => (Role::Good, "▰"),
        TrialMark::Failed => (Role::Bad, "▱"),
        TrialMark::Running => (Role::Accent, "●"),
        TrialMark::Untried => (Role::Warn, "!"),
        TrialMark::Open => (Role::Dim, "·"),
    }
}

/// The trials of the selected cell, and what they answered.
fn trials(matrix: &MatrixView) -> Vec<Row> {
    let Some(report) = matrix.reports.get(matrix.cell) else { return Vec::new() };
    if let Some(unfit) = &report.cell.unfit {
        return vec![Row::new([Piece::new(Role::Text, unfit)]).indented(2)];
    }
    let marks = matrix.marks(matrix.cell);
    let mut line = vec![Piece::literal(Role::Dim, "  trials  ")];
    for (trial, mark) in (1..).zip(&marks) {
        let (role, sign) = look(*mark);
        let selected = trial == matrix.trial;
        let text = if selected { format!("[{trial} {sign}]") } else { format!(" {trial} {sign} ") };
        line.push(Piece::new(if selected { Role::Title } else { role }, &text));
    }
    let mut rows = vec![Row::new(line)];
    let key = crate::workbench::matrix::TrialKey { cell: matrix.cell, trial: matrix.trial };
    let ended = report.sessions.iter().find(|ended| ended.trial == matrix.trial);
    let (about, session) = match (ended, matrix.state.running().get(&key), matrix.state.untried().get(&key)) {
        (Some(ended), ..) => {
            let verdict = if ended.passed {
                "✓ passed".to_owned()
            } else {
                format!("✗ {}", ended.why.as_deref().unwrap_or("did not pass"))
            };
            (verdict, Some(&ended.session))
        }
        (None, Some(running), _) => (format!("● turn {}", running.turn), Some(&running.session)),
        (None, None, Some(why)) => (format!("! could not be tried: {why}"), None),
        (None, None, None) => ("not begun".to_owned(), None),
    };
    rows.push(Row::new([Piece::new(Role::Text, &about)]).indented(2));
    rows.extend(session.map(|session| Row::new([Piece::new(Role::Dim, &format!("session {session}"))]).indented(2)));
    let answers = report.answers.iter().map(|group| {
        let role = if group.passed > 0 { Role::Text } else { Role::Bad };
        let sign = if group.passed > 0 { "✓" } else { "✗" };
        Row::new([
            Piece::new(Role::Dim, &format!("  {} ", pad_left(&format!("{}×", group.count), 4))),
            Piece::new(role, &format!("{sign} {}", answer(group))),
        ])
    });
    rows.extend(answers);
    rows
}

fn answer(group: &crate::workbench::matrix::AnswerGroup) -> String {
    match &group.outcome {
        Outcome::Answer(kept) => kept.text().to_owned(),
        Outcome::Fail(reason) => describe_reason(reason),
    }
}
