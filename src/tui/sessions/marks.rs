//! The dialogs of tags and notes.

use crate::tui::archive::{Ask, Place};
use crate::tui::backend::Written;
use crate::tui::colours::Language;
use crate::tui::form::{Field, Form};

/// What is being written on a place.
#[derive(Debug, Clone)]
pub struct Marks {
    /// The session, run or turn.
    pub place: Place,
    /// What is written there now.
    pub written: Written,
}

impl Marks {
    /// The dialog of tags.
    pub fn tags(place: Place, written: Written) -> (Form, Self) {
        let hint = "Words with spaces between them; `tag:WORD` finds them. Empty: no tags.";
        let field = Field::line("tags", hint, written.tags.join(" "));
        let form =
            Form { title: format!("Tags of {}", name(&place)), verb: "write", fields: vec![field], ..Form::default() };
        (form, Self { place, written })
    }

    /// The dialog of a note.
    pub fn note(place: Place, written: Written) -> (Form, Self) {
        let hint = "A search finds its words. Empty: no note.";
        let field = Field::text("note", hint, written.note.clone(), Language::Plain);
        let form =
            Form { title: format!("Note on {}", name(&place)), verb: "write", fields: vec![field], ..Form::default() };
        (form, Self { place, written })
    }

    /// What is written.
    pub fn submit(&self, form: &Form) -> Ask {
        let mut written = self.written.clone();
        if form.field("tags").is_some() {
            let words = form.written("tags").split([' ', ',']).filter(|word| !word.is_empty());
            written.tags = words.map(str::to_owned).collect();
        }
        if form.field("note").is_some() {
            form.written("note").trim().clone_into(&mut written.note);
        }
        Ask::Write(self.place.clone(), written)
    }
}

fn name(place: &Place) -> String {
    place.at.as_ref().map_or_else(|| "the session".to_owned(), ToString::to_string)
}
