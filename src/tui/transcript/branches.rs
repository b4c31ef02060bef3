//! The branches of a card's value: folding them, and going from one to the next.
//!
//! In: moves of the reader. Out: the branch that the keys are at, and the folded branches. A branch is identified by its path, so that it
//! stays folded while more of the value arrives and when it is complete.

use super::outline::Way;
use super::{Spot, Transcript};
use crate::tui::direction::Direction;

/// The mark before the first row of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Its parts are shown.
    Open,
    /// They are not.
    Folded,
}

impl Transcript {
    /// The focused branch of the selected card.
    fn branch(&self) -> Option<&Way> {
        let (cell, way) = self.branch.as_ref()?;
        let there = self.selected() == Some(*cell) && self.cells.get(*cell)?.row_of(way).is_some();
        there.then_some(way)
    }

    /// The line of the selected card with which that branch begins.
    pub(super) fn branch_line(&self) -> Option<usize> {
        self.cells.get(self.selected()?)?.row_of(self.branch()?)
    }

    /// The mark before a line of a card, and whether the keys are there.
    pub(super) fn fold_at(&self, cell: usize, line: usize) -> Option<(Fold, bool)> {
        let branch = self.cells.get(cell)?.branch_at(line)?;
        let here = self.selected() == Some(cell) && self.branch() == Some(&branch.way);
        Some((if branch.folded { Fold::Folded } else { Fold::Open }, here))
    }

    /// One step in: unfolds the card or the branch, else goes to the first branch in it.
    pub fn step_in(&mut self, now_ms: i64) {
        let Some(cell) = self.selected() else { return self.step_down(now_ms) };
        if !self.cells[cell].open {
            return self.toggle();
        }
        self.measure(cell, now_ms);
        let branches = self.cells[cell].branches();
        let at = self.branch().and_then(|way| branches.iter().position(|branch| branch.way == *way));
        match at.map(|at| &branches[at]) {
            Some(branch) if branch.folded => self.toggle(),
            _ => {
                let next = branches.get(at.map_or(0, |at| at + 1));
                let inside = next.filter(|next| self.branch().is_none_or(|way| next.way.starts_with(way)));
                if let Some(way) = inside.map(|next| next.way.clone()) {
                    self.go_to_branch(cell, way);
                }
            }
        }
    }

    /// One step out: folds the branch, else goes to the one around it; folds the card.
    pub fn step_out(&mut self, now_ms: i64) {
        let Some(cell) = self.selected() else { return self.step_up(now_ms) };
        self.measure(cell, now_ms);
        let Some(mut way) = self.branch().cloned() else {
            if self.cells[cell].open {
                self.toggle();
            }
            return;
        };
        if self.cells[cell].branches().iter().any(|branch| branch.way == way && !branch.folded) {
            return self.toggle();
        }
        match way.pop() {
            Some(_) => self.go_to_branch(cell, way),
            None => self.select(cell),
        }
    }

    /// Moves to the next or previous branch of the selected card. Returns false when no branch is focused, or the last one is left.
    pub(super) fn step_branch(&mut self, direction: Direction) -> bool {
        let (Some(cell), Some(way)) = (self.selected(), self.branch()) else { return false };
        let branches = self.cells[cell].branches();
        let at = branches.iter().position(|branch| branch.way == *way);
        let next = at.and_then(|at| match direction {
            Direction::Forward => Some(at + 1),
            Direction::Back => at.checked_sub(1),
        });
        match next.and_then(|next| branches.get(next)).map(|branch| branch.way.clone()) {
            Some(way) => self.go_to_branch(cell, way),
            None if direction == Direction::Back => self.select(cell),
            None => {
                self.branch = None;
                return false;
            }
        }
        true
    }

    /// Folds or unfolds the branch that the keys are at. Returns whether they are at one.
    pub(super) fn toggle_branch(&mut self) -> bool {
        let Some((cell, way)) = self.branch.clone().filter(|_| self.branch().is_some()) else { return false };
        self.leave_end();
        self.cells[cell].fold(&way);
        self.reveal();
        true
    }

    /// Folds or unfolds the branch whose mark or bracket is at this place. Returns whether there is one.
    pub(super) fn click_branch(&mut self, at: Spot) -> bool {
        let Some(cell) = self.cells.get(at.cell) else { return false };
        let (Some(branch), Some((row, _))) = (cell.branch_at(at.line), cell.row(at.line)) else { return false };
        let text = row.plain();
        if at.column > text.len() - text.trim_start().len() {
            return false;
        }
        let way = branch.way.clone();
        self.go_to_branch(at.cell, way);
        self.toggle_branch()
    }

    fn go_to_branch(&mut self, cell: usize, way: Way) {
        self.select(cell);
        self.branch = Some((cell, way));
    }
}
