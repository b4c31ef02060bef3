//! What is sought in an editor, and what takes its place.

use std::ops::Range;

use crate::agent::Place;
use crate::tui::draft::Draft;
use crate::tui::draft::find::Reading;

/// The search over one editor.
#[derive(Debug, Clone)]
pub struct Find {
    /// The editor that is searched.
    pub place: Place,
    /// What is sought.
    pub sought: Draft,
    /// What takes its place.
    pub with: Draft,
    /// Which of the two is typed.
    pub field: FindField,
    /// How what is sought is read.
    pub reading: Reading,
    /// Why it cannot be read.
    pub error: Option<String>,
    /// Where it is, in the order of the text.
    pub places: Vec<Range<usize>>,
    /// Where the cursor was when the search began.
    pub origin: usize,
    /// What the places belong to: what was sought, how, and the version of the text.
    pub searched: Option<(String, Reading, u64)>,
}

/// The fields of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FindField {
    /// What is sought.
    #[default]
    Sought,
    /// What takes its place.
    With,
}

impl Find {
    /// A search over an editor; `sought` is proposed.
    pub fn new(place: Place, sought: &str, origin: usize) -> Self {
        let mut sought = Draft::new(sought);
        sought.select_all();
        Self {
            place,
            sought,
            with: Draft::default(),
            field: FindField::Sought,
            reading: Reading::Literal,
            error: None,
            places: Vec::new(),
            origin,
            searched: None,
        }
    }

    /// The field that is typed.
    pub fn input(&self) -> &Draft {
        match self.field {
            FindField::Sought => &self.sought,
            FindField::With => &self.with,
        }
    }

    /// The same, to be changed.
    pub fn input_mut(&mut self) -> &mut Draft {
        match self.field {
            FindField::Sought => &mut self.sought,
            FindField::With => &mut self.with,
        }
    }
}
