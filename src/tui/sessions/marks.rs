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
        let hint = "Words with spaces; +WORD adds one, -WORD drops one. Empty: no tags.";
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
            written.tags = changed(&self.written.tags, form.written("tags"));
        }
        if form.field("note").is_some() {
            form.written("note").trim().clone_into(&mut written.note);
        }
        Ask::Write(self.place.clone(), written)
    }
}

/// The tags that are written. With `+` or `-` alone, those that were there stay.
fn changed(before: &[String], written: &str) -> Vec<String> {
    let words = || written.split([' ', ',']).filter(|word| !word.is_empty());
    let is_change = |word: &str| word.starts_with(['+', '-']);
    let all_change = words().next().is_some() && words().all(is_change);
    let plain = words().filter(|word| !is_change(word)).map(str::to_owned);
    let mut tags: Vec<String> = if all_change { before.to_vec() } else { plain.collect() };
    for word in words() {
        if let Some(gone) = word.strip_prefix('-') {
            tags.retain(|tag| tag != gone);
        }
        if let Some(more) = word.strip_prefix('+').filter(|more| !tags.iter().any(|tag| tag == more)) {
            tags.push(more.to_owned());
        }
    }
    tags
}

fn name(place: &Place) -> String {
    place.at.as_ref().map_or_else(|| "the session".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_written_as_a_list_or_as_changes_of_it() {
        let before = ["slow".to_owned(), "odd".to_owned()];
        let written = |text: &str| changed(&before, text).join(" ");
        assert_eq!(written("slow,seen"), "slow seen");
        assert_eq!(written("slow odd +seen -slow"), "odd seen");
        assert_eq!(written("+seen -odd +slow"), "slow seen");
        assert_eq!(written(" "), "");
    }
}
