//! From addresses to cards and back.

use super::Transcript;
use crate::event::Address;

impl Transcript {
    /// Where the selected card belongs: a run, turn or call.
    pub fn selected_address(&self) -> Option<Address> {
        self.cells.get(self.selected()?).map(|cell| cell.at.clone())
    }

    /// Selects the card of the turn that an address lies in, and brings it into view. Returns whether there is one.
    pub fn go_to(&mut self, at: &Address) -> bool {
        let Some(cell) = self.turn_index(&at.turn_part()) else { return false };
        self.select(cell);
        true
    }
}
