//! Texts that were typed into a dialog and not confirmed: its next opening starts with them.
//!
//! In: texts and choices of a dialog that closes. Out: the same, once. They are in memory only, and end with the program. It must never
//! hold a secret: no dialog asks for one.

use crate::event::Address;

/// Identity of a dialog: its purpose, and the object that it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DialogId {
    /// Its title.
    pub title: String,
    /// The session or file; empty where there is none.
    pub subject: String,
    /// The run, turn or call in the session.
    pub at: Option<Address>,
}

/// Texts and choices of the fields of a dialog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldTexts {
    /// Typed texts, by the keys of their fields.
    texts: Vec<(String, String)>,
    /// Names of the chosen values, by the names of their fields.
    choices: Vec<(String, String)>,
}

impl FieldTexts {
    /// One text.
    pub fn of(key: &str, text: &str) -> Self {
        let mut texts = Self::default();
        texts.set_text(key, text);
        texts
    }

    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Sets the text of a field.
    pub fn set_text(&mut self, key: &str, text: &str) {
        set(&mut self.texts, key, text);
    }

    /// Removes the text of a field and returns it.
    pub fn take_text(&mut self, key: &str) -> Option<String> {
        take(&mut self.texts, key)
    }

    /// Sets the value of a choice.
    pub fn set_choice(&mut self, name: &str, value: &str) {
        set(&mut self.choices, name, value);
    }

    /// Removes the value of a choice and returns it.
    pub fn take_choice(&mut self, name: &str) -> Option<String> {
        take(&mut self.choices, name)
    }

    /// Returns whether it has a value of this choice.
    pub fn has_choice(&self, name: &str) -> bool {
        self.choices.iter().any(|(known, _)| known == name)
    }
}

fn set(all: &mut Vec<(String, String)>, key: &str, value: &str) {
    take(all, key);
    all.push((key.to_owned(), value.to_owned()));
}

fn take(all: &mut Vec<(String, String)>, key: &str) -> Option<String> {
    let place = all.iter().position(|(known, _)| known == key)?;
    Some(all.remove(place).1)
}

/// The texts of dialogs that were closed. `P` is the purpose of a dialog.
#[derive(Debug, Clone)]
pub struct UnconfirmedTexts<P>(Vec<ClosedDialog<P>>);

/// A dialog that was closed, with its texts.
#[derive(Debug, Clone)]
struct ClosedDialog<P> {
    id: DialogId,
    texts: FieldTexts,
    /// Its purpose while the response to its request is to come, which may confirm the texts.
    awaits: Option<P>,
}

impl<P> Default for UnconfirmedTexts<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P> UnconfirmedTexts<P> {
    /// Keeps the texts of a dialog in place of those that it had; without a text, nothing.
    pub fn keep(&mut self, dialog: DialogId, texts: FieldTexts) {
        self.push(dialog, texts, None);
    }

    /// Like `keep`, for a dialog whose request is being executed.
    pub fn keep_until_response(&mut self, dialog: DialogId, texts: FieldTexts, purpose: P) {
        self.push(dialog, texts, Some(purpose));
    }

    fn push(&mut self, id: DialogId, texts: FieldTexts, awaits: Option<P>) {
        self.forget(&id);
        if !texts.is_empty() {
            self.0.push(ClosedDialog { id, texts, awaits });
        }
    }

    /// The requests of dialogs of such a purpose have succeeded: removes the texts that they contained.
    pub fn confirm(&mut self, is_it: impl Fn(&P) -> bool) {
        self.0.retain(|closed| !closed.awaits.as_ref().is_some_and(&is_it));
    }

    /// The requests of dialogs of such a purpose have failed: their texts are kept like any other.
    pub fn refuse(&mut self, is_it: impl Fn(&P) -> bool) {
        for closed in &mut self.0 {
            closed.awaits.take_if(|purpose| is_it(purpose));
        }
    }

    /// Removes the texts of a dialog and returns them.
    pub fn take(&mut self, dialog: &DialogId) -> FieldTexts {
        let place = self.0.iter().position(|closed| closed.id == *dialog);
        place.map(|place| self.0.remove(place).texts).unwrap_or_default()
    }

    /// Removes the texts of a dialog.
    pub fn forget(&mut self, dialog: &DialogId) {
        self.0.retain(|closed| closed.id != *dialog);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_each_dialog_are_returned_once() {
        let of = |subject: &str| DialogId { title: "Note".to_owned(), subject: subject.to_owned(), at: None };
        let mut kept = UnconfirmedTexts::<()>::default();
        kept.keep(of("a"), FieldTexts::of("note", "first"));
        kept.keep(of("a"), FieldTexts::of("note", "second"));
        kept.keep(of("b"), FieldTexts::default());
        assert!(kept.take(&of("b")).is_empty());
        let mut texts = kept.take(&of("a"));
        assert_eq!((texts.take_text("note"), texts.take_text("note")), (Some("second".to_owned()), None));
        assert!(kept.take(&of("a")).is_empty());
    }
}
