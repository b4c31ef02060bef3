//! The menu: the actions that are available at a place, by context, for use with the mouse.
//!
//! In: the contexts that are active, the innermost first. Out: headings and rows of the action table. What only moves or types is left out:
//! the mouse does that itself.

use ratatui::layout::Position;

use super::actions::{ACTIONS, Action, ActionRow, Context};
use super::{candidates, cases, compare, inspector, overview, traffic};

/// The menu of actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// Position at which it was opened with the mouse; `None`: it is shown below the first line.
    pub at: Option<Position>,
    /// Contexts whose actions it shows, the innermost first.
    pub contexts: Vec<Context>,
    /// Selected line.
    pub selected: usize,
    /// First visible line.
    pub top: usize,
}

/// A line of the menu.
#[derive(Debug, Clone, Copy)]
pub enum Line {
    /// The subject of the actions that follow.
    Heading(&'static str),
    /// An action.
    Row(&'static ActionRow),
}

/// The lines for these contexts. An action appears where it is named first.
pub fn lines(contexts: &[Context]) -> Vec<Line> {
    let (mut lines, mut seen): (Vec<Line>, Vec<Action>) = (Vec::new(), Vec::new());
    for context in contexts {
        let before = lines.len();
        for row in ACTIONS.iter().filter(|row| row.context == *context && !is_motion(row.action)) {
            if !seen.contains(&row.action) {
                seen.push(row.action);
                lines.push(Line::Row(row));
            }
        }
        if lines.len() > before {
            lines.insert(before, Line::Heading(context.heading()));
        }
    }
    lines
}

/// Returns whether an action only moves something or types.
pub(super) fn is_motion(action: Action) -> bool {
    use Action as A;
    matches!(
        action,
        A::Go(..)
            | A::Delete(_)
            | A::Newline
            | A::Menu
            | A::MenuGo(_)
            | A::PickGo(_)
            | A::FixGo(_)
            | A::StepUp
            | A::StepDown
            | A::StepIn
            | A::StepOut
            | A::PageUp
            | A::PageDown
            | A::ListUp
            | A::ListDown
            | A::ListPageUp
            | A::ListPageDown
            | A::ListTop
            | A::ListBottom
            | A::Testing(cases::Step::Go(_))
            | A::InTraffic(traffic::Step::Go(_))
            | A::InCandidates(candidates::Step::Go(_))
            | A::Turns(overview::Step::Go(_))
            | A::Comparing(
                compare::Step::Up
                    | compare::Step::Down
                    | compare::Step::PageUp
                    | compare::Step::PageDown
                    | compare::Step::Top
                    | compare::Step::Bottom
            )
            | A::Inside(
                inspector::Step::Up
                    | inspector::Step::Down
                    | inspector::Step::Left
                    | inspector::Step::Right
                    | inspector::Step::PageUp
                    | inspector::Step::PageDown
                    | inspector::Step::Top
                    | inspector::Step::Bottom
            )
            | A::ReadUp
            | A::ReadDown
            | A::ReadPageUp
            | A::ReadPageDown
            | A::ReadTop
            | A::ReadBottom
            | A::FieldNext
            | A::FieldPrevious
            | A::ChoiceNext
            | A::ChoicePrevious
    )
}

/// The place of the next row after or before this line; this one when there is none.
pub fn step(lines: &[Line], from: usize, by: isize) -> usize {
    let is_row = |at: &usize| matches!(lines.get(*at), Some(Line::Row(_)));
    let last = lines.len().saturating_sub(1);
    let mut at = from;
    for _ in 0..by.unsigned_abs() {
        let next = if by > 0 { (at + 1..=last).find(is_row) } else { (0..at).rev().find(is_row) };
        let Some(next) = next else { break };
        at = next;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_follow_the_heading_of_their_context_once() {
        let lines = lines(&[Context::Viewer, Context::Transcript, Context::Global]);
        let headings: Vec<&str> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Heading(heading) => Some(*heading),
                Line::Row(_) => None,
            })
            .collect();
        assert_eq!(headings, ["An opened session", "Transcript", "Every screen"]);
        let rows = |action| lines.iter().filter(|line| matches!(line, Line::Row(row) if row.action == action)).count();
        assert_eq!(
            (
                rows(Action::Replay),
                rows(Action::Session(crate::tui::sessions::SessionAction::EditHere)),
                rows(Action::StepUp)
            ),
            (1, 1, 0)
        );
    }

    #[test]
    fn headings_are_stepped_over_and_the_ends_hold() {
        let lines = lines(&[Context::Transcript, Context::Global]);
        let first = step(&lines, 0, 1);
        assert!(matches!(lines[first], Line::Row(_)));
        assert_eq!(step(&lines, first, -1), first);
        let last = step(&lines, first, 1_000);
        assert_eq!(last, lines.len() - 1);
        assert_eq!((step(&lines, first, isize::MAX), step(&lines, last, isize::MIN)), (last, first));
        for at in 0..100 {
            assert!(matches!(lines[step(&lines, first, at)], Line::Row(_)));
        }
    }
}
