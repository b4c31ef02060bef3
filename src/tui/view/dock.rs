//! Popups that ask about a run that is shown: a panel in the place of the editors, or below the run on a narrow screen.
//!
//! In: the topmost popup, the size of the screen. Out: the panel, and what of the screen is left. It must never cover the run it asks about.

use ratatui::layout::Rect;

use super::{answer, areas, form};
use crate::tui::model::{Asker, Model, Popup, Screen};
use crate::tui::sessions::Purpose;

/// Rows from which on a narrow screen has room for both.
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

/// Returns what a panel below leaves of the screen.
pub(super) fn rest(model: &Model, screen: Rect) -> Rect {
    let panel = model.popups.last().and_then(|popup| panel(popup, model, screen));
    match panel {
        Some(panel) if panel.width == screen.width => Rect { height: screen.height - panel.height, ..screen },
        _ => screen,
    }
}
