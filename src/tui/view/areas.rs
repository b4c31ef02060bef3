//! The layout of the workbench, from the size of the screen, the focus and the divider: nothing moves while the user types.
//! Also lines of an area, how far a text in it can be scrolled, and the panel of popups that ask about a run: it must never cover that run.

use ratatui::layout::Rect;

use super::{answer, areas, form};
use crate::agent::Place;
use crate::tui::model::{Asker, Model, PLACES, Pane, Popup, Screen, TWO_COLUMNS, Workbench};
use crate::tui::sessions::Purpose;

/// Shares of the editors in their column.
const SHARES: [u16; PLACES.len()] = [4, 2, 3, 3, 4, 3];
/// Shares are multiplied by this where one types.
const FOCUSED: u16 = 3;
/// Rows that the editors need to be open at the same time. With fewer, all but one are their titles.
const OPEN_ROWS: u16 = 24;
/// Rows of the focused editor, with its title, on the lowest screens.
const LEAST_ROWS: u16 = 3;
/// Columns that each side keeps, wherever the divider is dragged.
const NARROWEST: u16 = 30;

/// The areas of the workbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Areas {
    /// Title bar.
    pub(super) title: Rect,
    /// The whole column of the editors; `None` on the run page.
    pub(super) column: Option<Rect>,
    /// For each editor: its rule and its body; `None` on the run page.
    pub(super) editors: Option<[(Rect, Rect); PLACES.len()]>,
    /// The line between the columns, when both are there.
    pub(super) divider: Option<Rect>,
    /// The run's rule and its rows; `None` on the editors page.
    pub(super) run: Option<(Rect, Rect)>,
    /// The row of the draft's runs, between both; `None` while there is only one.
    pub(super) runs: Option<Rect>,
    /// The rule above the status line; empty on low screens.
    pub(super) rule: Rect,
    /// Status line.
    pub(super) status: Rect,
    /// Keys.
    pub(super) footer: Rect,
}

/// Divides a screen.
pub(super) fn areas(screen: Rect, workbench: &Workbench) -> Areas {
    let focus = workbench.focus;
    let line = |y: u16| Rect::new(screen.x, y, screen.width, 1);
    let rule_rows = u16::from(screen.height >= 20);
    let body = Rect::new(screen.x, screen.y + 1, screen.width, screen.height.saturating_sub(3 + rule_rows));
    let wide = screen.width >= TWO_COLUMNS;
    let (left, divider, right) = if workbench.zoomed {
        if focus == Pane::Run { (None, None, Some(body)) } else { (Some(body), None, None) }
    } else if wide {
        let wanted = u32::from(screen.width) * u32::from(workbench.split) / 100 + 1;
        let columns = u16::try_from(wanted).unwrap_or(screen.width).clamp(NARROWEST, screen.width - NARROWEST);
        let left = Rect { width: columns, ..body };
        let right = Rect { x: body.x + columns + 1, width: body.width - columns - 1, ..body };
        (Some(left), Some(Rect { x: body.x + columns, width: 1, ..body }), Some(right))
    } else if focus == Pane::Run {
        (None, None, Some(body))
    } else {
        (Some(body), None, None)
    };
    let run = right.map(split_rule);
    let runs = run.filter(|(_, rows)| workbench.runs.all().len() > 1 && rows.height > 4);
    Areas {
        title: line(screen.y),
        column: left,
        editors: left.map(|left| editors(left, workbench)),
        divider,
        run: runs.map(|(rule, rows)| (rule, split_rule(rows).1)).or(run),
        runs: runs.map(|(_, rows)| split_rule(rows).0),
        rule: if rule_rows == 1 { line(body.bottom()) } else { Rect::default() },
        status: line(screen.bottom() - 2),
        footer: line(screen.bottom() - 1),
    }
}

fn split_rule(area: Rect) -> (Rect, Rect) {
    let rule = Rect { height: area.height.min(1), ..area };
    (rule, Rect { y: area.y + rule.height, height: area.height.saturating_sub(1), ..area })
}

fn editors(column: Rect, workbench: &Workbench) -> [(Rect, Rect); PLACES.len()] {
    let focused = PLACES.iter().position(|place| workbench.room == *place).unwrap_or(0);
    if workbench.zoomed {
        let mut heights = [0; PLACES.len()];
        heights[focused] = column.height;
        return stacked(column, heights);
    }
    let mut heights = PLACES.map(|place| u16::from(!workbench.hidden(place)));
    let there = heights.iter().sum::<u16>();
    if column.height >= OPEN_ROWS {
        let open = || heights_of(workbench);
        let total: u16 = open().map(|(_, share)| share).sum();
        let room = column.height - there.saturating_sub(u16::try_from(open().count()).unwrap_or(0));
        for (index, share) in open() {
            heights[index] = (room * share / total).max(2);
        }
        let used: u16 = heights.iter().sum();
        // What is left over goes to the small ones below: their findings need it more than a long prompt.
        let left = usize::from(column.height.saturating_sub(used));
        let last: Vec<usize> = open().map(|(index, _)| index).collect();
        for index in last.iter().rev().cycle().take(left) {
            heights[*index] += 1;
        }
    } else {
        // On the lowest screens the focused editor has its rows before the titles of the others.
        heights[focused] = column.height.saturating_sub(there.saturating_sub(1)).max(LEAST_ROWS.min(column.height));
        let mut room = column.height - heights[focused];
        for (_, height) in heights.iter_mut().enumerate().filter(|(index, _)| *index != focused) {
            *height = (*height).min(room);
            room -= *height;
        }
    }
    stacked(column, heights)
}

/// Areas of these heights below each other.
fn stacked(column: Rect, heights: [u16; PLACES.len()]) -> [(Rect, Rect); PLACES.len()] {
    let mut y = column.y;
    heights.map(|height| {
        let area = Rect { y, height, ..column }.intersection(column);
        y += height;
        split_rule(area)
    })
}

/// The editors that are open, each with its share.
fn heights_of(workbench: &Workbench) -> impl Iterator<Item = (usize, u16)> {
    let open = PLACES.into_iter().enumerate().zip(SHARES).filter(|((_, place), _)| !workbench.folded(*place));
    open.map(|((index, place), share)| {
        let weight = if workbench.room == place { FOCUSED } else { 1 };
        (index, share * weight)
    })
}

/// The editor of an index.
pub(super) fn place(index: usize) -> Place {
    PLACES[index]
}

/// Rows of a text popup below its last: how far it can be scrolled.
pub(super) fn scroll_limit(rows: usize, height: u16) -> usize {
    rows.saturating_sub(usize::from(height))
}

/// One line of an area; empty outside of it.
pub(super) fn line_of(area: Rect, line: usize) -> Rect {
    let y = area.y.saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
    if y >= area.bottom() { Rect::default() } else { Rect { y, height: 1, ..area } }
}

/// Minimum rows of a narrow screen with room for both.
const ROWS: u16 = 20;
/// Rows that a panel below leaves: title, rule and the end of the run, status.
const RUN_ROWS: u16 = 7;
/// Columns that a panel next to the run needs.
const COLUMNS: u16 = 46;

/// Returns the panel of a popup about the run that is shown; `None` for any other popup.
pub(super) fn panel(popup: &Popup, model: &Model, screen: Rect) -> Option<Rect> {
    let asks_about_run = match popup {
        Popup::Answer { question, asker: Asker::Run, .. } => !question.options.is_empty(),
        Popup::Form(_, Purpose::Breakpoints) => model.workbench.run.is_some(),
        _ => false,
    };
    if !asks_about_run || model.screen != Screen::Workbench || model.inspector.is_some() {
        return None;
    }
    if model.wide() && !model.workbench.zoomed {
        let column = areas::areas(screen, &model.workbench).column?;
        return (column.width >= COLUMNS).then_some(column);
    }
    if screen.height < ROWS {
        return None;
    }
    let columns = screen.width.saturating_sub(4);
    let wanted = match popup {
        Popup::Answer { question, .. } => answer::asked(question, columns).len() + question.options.len() + 2,
        Popup::Form(form, _) => usize::from(form::rows(form, screen.width)),
        _ => 0,
    };
    let height = u16::try_from(wanted + 3).unwrap_or(u16::MAX).min(screen.height - RUN_ROWS);
    Some(Rect { y: screen.bottom() - height, height, ..screen })
}

/// Returns the area of a question about the texts of the draft, so that they stay in view: in the column of the run, else at the bottom;
/// `None` for any other popup.
pub(super) fn beside_draft(popup: &Popup, model: &Model, screen: Rect) -> Option<Rect> {
    let asks_about_draft = match popup {
        Popup::Overwrite { .. } => true,
        Popup::Leaving(_) => model.workbench.unsaved(),
        _ => false,
    };
    if !asks_about_draft || model.screen != Screen::Workbench || model.inspector.is_some() || screen.height < ROWS {
        return None;
    }
    let (_, rows) = areas(screen, &model.workbench).run.filter(|_| model.wide()).unwrap_or((screen, screen));
    Some(if rows.width >= COLUMNS { rows } else { screen })
}

/// Returns the screen without the panel at its bottom.
pub(super) fn rest(model: &Model, screen: Rect) -> Rect {
    let panel = model.popups.last().and_then(|popup| panel(popup, model, screen));
    match panel {
        Some(panel) if panel.width == screen.width => Rect { height: screen.height - panel.height, ..screen },
        _ => screen,
    }
}
