//! Where things stand on the workbench, from the size of the screen alone: nothing jumps while one types.

use ratatui::layout::Rect;

use crate::agent::Place;
use crate::tui::model::{PLACES, Pane, TWO_COLUMNS};

/// Shares of the four editors in their column.
const SHARES: [u16; 4] = [4, 2, 3, 3];
/// Rows that four editors need to be open at the same time: rule and text for each.
const OPEN_ROWS: u16 = 12;

/// The areas of the workbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Areas {
    /// Title bar.
    pub(super) title: Rect,
    /// The whole column of the editors; `None` on the run page.
    pub(super) column: Option<Rect>,
    /// For each editor: its rule and what is below it; `None` on the run page.
    pub(super) editors: Option<[(Rect, Rect); 4]>,
    /// The line between the columns, when both are there.
    pub(super) divider: Option<Rect>,
    /// The run's rule and its rows; `None` on the editors page.
    pub(super) run: Option<(Rect, Rect)>,
    /// The rule above the status line; empty on low screens.
    pub(super) rule: Rect,
    /// Status line.
    pub(super) status: Rect,
    /// Keys.
    pub(super) footer: Rect,
}

/// Divides a screen.
pub(super) fn areas(screen: Rect, focus: Pane) -> Areas {
    let line = |y: u16| Rect::new(screen.x, y, screen.width, 1);
    let rule_rows = u16::from(screen.height >= 20);
    let body = Rect::new(screen.x, screen.y + 1, screen.width, screen.height.saturating_sub(3 + rule_rows));
    let wide = screen.width >= TWO_COLUMNS;
    let (left, divider, right) = if wide {
        let columns = screen.width * 2 / 5 + 1;
        let left = Rect { width: columns, ..body };
        let right = Rect { x: body.x + columns + 1, width: body.width - columns - 1, ..body };
        (Some(left), Some(Rect { x: body.x + columns, width: 1, ..body }), Some(right))
    } else if focus == Pane::Run {
        (None, None, Some(body))
    } else {
        (Some(body), None, None)
    };
    Areas {
        title: line(screen.y),
        column: left,
        editors: left.map(|left| editors(left, focus)),
        divider,
        run: right.map(split_rule),
        rule: if rule_rows == 1 { line(body.bottom()) } else { Rect::default() },
        status: line(screen.bottom() - 2),
        footer: line(screen.bottom() - 1),
    }
}

fn split_rule(area: Rect) -> (Rect, Rect) {
    let rule = Rect { height: 1, ..area };
    (rule, Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area })
}

fn editors(column: Rect, focus: Pane) -> [(Rect, Rect); 4] {
    let focused = PLACES.iter().position(|place| focus == Pane::Editor(*place)).unwrap_or(0);
    let mut heights = [1_u16; 4];
    if column.height >= OPEN_ROWS {
        let total: u16 = SHARES.iter().sum();
        for (height, share) in heights.iter_mut().zip(SHARES) {
            *height = (column.height * share / total).max(2);
        }
        let used: u16 = heights.iter().sum();
        heights[0] = heights[0].saturating_add(column.height.saturating_sub(used));
    } else {
        heights[focused] = column.height.saturating_sub(3);
    }
    let mut y = column.y;
    heights.map(|height| {
        let area = Rect { y, height, ..column };
        y += height;
        split_rule(area)
    })
}

/// The editor of an index.
pub(super) fn place(index: usize) -> Place {
    PLACES[index]
}
