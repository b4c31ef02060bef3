//! Search and replacement in an editor.

use std::ops::Range;

use crate::agent::Place;
use crate::tui::draft::Draft;
use crate::tui::draft::find::SearchSyntax;

/// The search over one editor.
#[derive(Debug, Clone)]
pub struct Find {
    /// The editor that is searched.
    pub place: Place,
    /// The text or pattern to find.
    pub sought: Draft,
    /// The replacement.
    pub with: Draft,
    /// The field that takes the keys.
    pub field: FindField,
    /// Interpretation of the search text: literal or as a pattern.
    pub syntax: SearchSyntax,
    /// Error of an invalid pattern.
    pub error: Option<String>,
    /// Ranges of the matches, in the order of the text.
    pub places: Vec<Range<usize>>,
    /// Position of the cursor when the search began.
    pub origin: usize,
    /// Source of the matches: search text, its interpretation, version of the searched text.
    pub searched: Option<(String, SearchSyntax, u64)>,
}

/// The fields of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FindField {
    /// The text or pattern to find.
    #[default]
    Sought,
    /// The replacement.
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
            syntax: SearchSyntax::Literal,
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

    /// Like `input`, mutable.
    pub fn input_mut(&mut self) -> &mut Draft {
        match self.field {
            FindField::Sought => &mut self.sought,
            FindField::With => &mut self.with,
        }
    }
}
