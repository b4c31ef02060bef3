//! Heights of cells in a binary indexed tree: totals and positions in logarithmic time; and amounts of content outside a pane.

/// A list of heights with fast sums.
#[derive(Debug, Clone, Default)]
pub struct Heights(Vec<usize>);

impl Heights {
    /// The heights of all cells at once.
    pub fn new(mut values: Vec<usize>) -> Self {
        for at in 0..values.len() {
            let parent = at | (at + 1);
            if parent < values.len() {
                values[parent] += values[at];
            }
        }
        Self(values)
    }

    /// The plain heights.
    fn values(self) -> Vec<usize> {
        let mut values = self.0;
        for at in (0..values.len()).rev() {
            let parent = at | (at + 1);
            if parent < values.len() {
                values[parent] -= values[at];
            }
        }
        values
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes room for this many more cells.
    pub fn reserve_exact(&mut self, cells: usize) {
        self.0.reserve_exact(cells);
    }

    /// Adds a cell at the end.
    pub fn push(&mut self, height: usize) {
        let at = self.0.len();
        let from = at & (at + 1);
        let below = self.before(at) - self.before(from);
        self.0.push(below + height);
    }

    /// Puts cells before the one at this place; takes time for all of them.
    pub fn insert(&mut self, at: usize, heights: impl IntoIterator<Item = usize>) {
        let mut values = std::mem::take(self).values();
        let at = at.min(values.len());
        values.splice(at..at, heights);
        *self = Self::new(values);
    }

    /// The height of a cell; nothing after the last.
    pub fn get(&self, cell: usize) -> usize {
        self.before(cell.saturating_add(1)) - self.before(cell)
    }

    /// Changes the height of a cell.
    pub fn set(&mut self, cell: usize, height: usize) {
        let old = self.get(cell);
        let mut at = cell;
        while at < self.0.len() {
            self.0[at] = self.0[at] + height - old;
            at |= at + 1;
        }
    }

    /// Rows above a cell.
    pub fn before(&self, cell: usize) -> usize {
        let mut at = cell.min(self.0.len());
        let mut sum = 0;
        while at > 0 {
            sum += self.0[at - 1];
            at &= at - 1;
        }
        sum
    }

    /// Rows of all cells.
    pub fn total(&self) -> usize {
        self.before(self.0.len())
    }
}

/// Amount of content above or below the visible rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenAmount {
    /// Exact number of rows.
    Rows(usize),
    /// Number of text lines, if there are too many rows to count.
    Lines(usize),
    /// Number of turns of root runs without visible cards, if there are too many rows to measure.
    Turns(usize),
    /// More than is measured, within one turn.
    Much,
}

impl HiddenAmount {
    /// Nothing.
    pub const NONE: Self = Self::Rows(0);
}

impl Default for HiddenAmount {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<usize> for HiddenAmount {
    fn from(rows: usize) -> Self {
        Self::Rows(rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_are_those_of_the_plain_list(
            start in prop::collection::vec(0_usize..9, 0..20),
            more in prop::collection::vec((0_usize..40, 0_usize..9), 0..40),
        ) {
            let mut plain = start.clone();
            let mut heights = Heights::new(start);
            for (cell, height) in more {
                if cell < plain.len() {
                    plain[cell] = height;
                    heights.set(cell, height);
                } else {
                    plain.push(height);
                    heights.push(height);
                }
            }
            prop_assert_eq!(heights.len(), plain.len());
            prop_assert_eq!(heights.total(), plain.iter().sum::<usize>());
            for cell in 0..plain.len() {
                prop_assert_eq!(heights.get(cell), plain[cell]);
                prop_assert_eq!(heights.before(cell), plain[..cell].iter().sum::<usize>());
            }
        }
    }
}
