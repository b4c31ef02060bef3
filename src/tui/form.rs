//! Dialogs of several fields: choices, lines and one longer text, with notes below.
//!
//! In: fields with their first values. Out: the user's choices and texts, by the name of the field. It must never know what a
//! dialog is for: that is `sessions`.

use std::borrow::Cow;

use crossterm::event::KeyEvent;

use super::actions::Context;
use super::colours::Language;
use super::draft::{Draft, Motion, Reach};
use super::editor::Editor;
use super::theme::Role;
use super::transcript::input_check::InputCheck;
use super::unconfirmed_texts::FieldTexts;

/// A dialog.
#[derive(Debug, Clone, Default)]
pub struct Form {
    /// Its title.
    pub title: String,
    /// Label of the confirming action, in a word or two.
    pub verb: &'static str,
    /// Its fields, from top to bottom.
    pub fields: Vec<Field>,
    /// Index of the field that has the focus.
    pub focus: usize,
    /// Error of the last attempt.
    pub error: Option<String>,
    /// Pending work, shown while the form waits for a response.
    pub waiting: Option<&'static str>,
    /// The user stopped waiting: the response is ignored.
    pub discarded_attempt: bool,
    /// Input typed while the form's data is loading; `None` when nothing is loading.
    pub held: Option<Vec<TypedInput>>,
    /// Judgement of its longest text as typed so far.
    pub check: Option<InputCheck>,
    /// Texts to read below the fields.
    pub notes: Vec<(Role, String)>,
    /// First visible row of the notes.
    pub top: usize,
    /// Texts and choices of fields that are not shown: those of another choice, and of an earlier opening.
    pub hidden: FieldTexts,
    /// Name of the key that reverts a kept text.
    pub undo_key: String,
}

/// Something typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedInput {
    /// A key.
    Key(KeyEvent),
    /// A text that was pasted.
    Paste(String),
}

/// A field of a dialog.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its purpose; shown while it has the focus.
    pub hint: &'static str,
    /// Its content.
    pub input: Input,
    /// Key of its text among those that are kept.
    pub key: Cow<'static, str>,
    /// The text that it starts with.
    start: String,
    /// Version of its text that an earlier opening left; `None` where it left none.
    restored_version: Option<u64>,
}

/// Type and content of a field.
#[derive(Debug, Clone)]
pub enum Input {
    /// One of several values.
    Choice {
        /// The values.
        options: Vec<Choice>,
        /// Index of the chosen value.
        chosen: usize,
        /// All of them are shown, one below the other.
        listed: bool,
    },
    /// One line of text.
    Line(Draft),
    /// A text.
    Text(Box<Editor>, Language),
}

/// A value that can be chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub meaning: String,
}

impl Choice {
    /// A value with its meaning.
    pub fn new(name: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self { name: name.into(), meaning: meaning.into() }
    }
}

impl Field {
    /// A choice.
    pub fn choice(name: impl Into<Cow<'static, str>>, hint: &'static str, options: Vec<Choice>, chosen: usize) -> Self {
        Self::new(name, hint, Input::Choice { options, chosen, listed: false }, String::new())
    }

    /// A choice whose values are shown as a list.
    pub fn list(name: impl Into<Cow<'static, str>>, hint: &'static str, options: Vec<Choice>, chosen: usize) -> Self {
        Self::new(name, hint, Input::Choice { options, chosen, listed: true }, String::new())
    }

    /// One line of text, selected as a whole, so that typing replaces it.
    pub fn line(name: impl Into<Cow<'static, str>>, hint: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut draft = Draft::new(text.clone());
        draft.select_all();
        Self::new(name, hint, Input::Line(draft), text)
    }

    /// A text.
    pub fn text(
        name: impl Into<Cow<'static, str>>,
        hint: &'static str,
        text: impl Into<String>,
        language: Language,
    ) -> Self {
        let text = text.into();
        let editor = Editor { draft: Draft::new(text.clone()), ..Editor::default() };
        Self::new(name, hint, Input::Text(Box::new(editor), language), text)
    }

    fn new(name: impl Into<Cow<'static, str>>, hint: &'static str, input: Input, start: String) -> Self {
        let name = name.into();
        Self { key: name.clone(), name, hint, input, start, restored_version: None }
    }

    /// Sets the key of its text where its name stands for several texts.
    #[must_use]
    pub fn keyed(self, key: impl Into<Cow<'static, str>>) -> Self {
        Self { key: key.into(), ..self }
    }

    /// The text that is typed into it; `None` for a choice.
    pub fn draft(&self) -> Option<&Draft> {
        match &self.input {
            Input::Choice { .. } => None,
            Input::Line(draft) => Some(draft),
            Input::Text(editor, _) => Some(&editor.draft),
        }
    }

    /// Like `draft`, mutable.
    pub fn draft_mut(&mut self) -> Option<&mut Draft> {
        match &mut self.input {
            Input::Choice { .. } => None,
            Input::Line(draft) => Some(draft),
            Input::Text(editor, _) => Some(&mut editor.draft),
        }
    }

    /// Returns its text, unless it is the one that it starts with.
    pub fn typed(&self) -> Option<&str> {
        let draft = self.draft()?;
        (draft.version() > 0 && draft.text() != self.start).then(|| draft.text())
    }

    /// Returns whether it shows the text of an earlier opening.
    pub fn is_restored(&self) -> bool {
        self.restored_version.is_some() && self.restored_version == self.draft().map(Draft::version)
    }

    /// Sets the text that it starts with. What was typed or kept remains, as a change of it.
    pub fn start_with(&mut self, text: String) {
        let is_restored = self.is_restored();
        if let Some(draft) = self.draft_mut() {
            let typed = draft.text().to_owned();
            if is_restored || draft.version() == 0 {
                *draft = Draft::new(text.clone());
            }
            self.start = text;
            if is_restored {
                self.restore_text(&typed);
            }
        }
    }

    /// Sets a text that the program suggests in place of its own.
    pub fn suggest(&mut self, text: &str) {
        if let Some(draft) = self.draft_mut() {
            draft.replace_all(text);
            text.clone_into(&mut self.start);
        }
    }

    /// Writes a text as if it was typed: undo reverts it in one step.
    pub fn write(&mut self, text: &str) {
        if let Some(draft) = self.draft_mut() {
            draft.replace_all(text);
            draft.go(Motion::End, Reach::Move, usize::MAX >> 1);
        }
    }

    /// Shows a text of an earlier opening.
    pub fn restore_text(&mut self, text: &str) {
        self.write(text);
        self.restored_version = self.draft().filter(|_| self.typed().is_some()).map(Draft::version);
    }
}

/// The first shown entry of a list with `rows` visible rows.
pub fn first_listed(options: usize, chosen: usize, rows: usize) -> usize {
    (chosen + 1).saturating_sub(rows).min(options.saturating_sub(rows))
}

impl Form {
    /// Selects an entry of the focused list.
    pub fn choose_listed(&mut self, entry: usize) -> bool {
        match self.focused_mut().map(|field| &mut field.input) {
            Some(Input::Choice { options, chosen, listed: true }) if entry < options.len() => {
                *chosen = entry;
                true
            }
            _ => false,
        }
    }

    /// The field of a name, to be changed.
    pub fn field_mut(&mut self, name: &str) -> Option<&mut Field> {
        self.fields.iter_mut().find(|field| field.name == name)
    }

    /// The contexts that its focused field has, the innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        use Context as C;
        match self.focused().map(|field| &field.input) {
            Some(Input::Choice { listed: true, .. }) => vec![C::ListChoice, C::Dialog, C::Always],
            Some(Input::Choice { .. }) => vec![C::Choice, C::Dialog, C::Always],
            Some(Input::Line(_)) => vec![C::OneLine, C::Dialog, C::Text, C::Always],
            Some(Input::Text(..)) => vec![C::Dialog, C::Lines, C::Text, C::Always],
            None => vec![C::Dialog, C::Always],
        }
    }

    /// The field that has the focus.
    pub fn focused(&self) -> Option<&Field> {
        self.fields.get(self.focus)
    }

    /// Like `focused`, mutable.
    pub fn focused_mut(&mut self) -> Option<&mut Field> {
        self.fields.get_mut(self.focus)
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The text that keys are typed into.
    pub fn draft(&self) -> Option<&Draft> {
        self.focused()?.draft()
    }

    /// Returns the index of the chosen value of a choice; 0 without such a field.
    pub fn chosen(&self, name: &str) -> usize {
        match self.field(name).map(|field| &field.input) {
            Some(Input::Choice { chosen, .. }) => *chosen,
            _ => 0,
        }
    }

    /// The name of the chosen value; empty without such a field.
    pub fn choice(&self, name: &str) -> &str {
        match self.field(name).map(|field| &field.input) {
            Some(Input::Choice { options, chosen, .. }) => {
                options.get(*chosen).map_or("", |choice| choice.name.as_str())
            }
            _ => "",
        }
    }

    /// The value of a line or text; empty without such a field.
    pub fn written(&self, name: &str) -> &str {
        self.field(name).and_then(Field::draft).map_or("", Draft::text)
    }

    /// Like `written`, trimmed; `None` if empty.
    pub fn entered(&self, name: &str) -> Option<String> {
        let text = self.written(name).trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Replaces the field of this name, or adds it at the end; the focus stays where it is.
    pub fn put(&mut self, field: Field) {
        match self.fields.iter().position(|old| old.name == field.name) {
            Some(at) => {
                let old = std::mem::replace(&mut self.fields[at], field);
                self.hide(&old);
                self.show_hidden(at);
            }
            None => self.add(field),
        }
    }

    /// Adds a field at the end.
    pub fn add(&mut self, field: Field) {
        self.fields.push(field);
        self.show_hidden(self.fields.len() - 1);
    }

    /// Removes a field; its text is there again when the field is put again.
    pub fn remove(&mut self, name: &str) {
        if let Some(at) = self.fields.iter().position(|field| field.name == name) {
            let old = self.fields.remove(at);
            self.hide(&old);
        }
        self.focus = self.focus.min(self.fields.len().saturating_sub(1));
    }

    /// Like `remove`, for all fields from this index on.
    pub fn truncate(&mut self, count: usize) {
        for old in self.fields.split_off(count.min(self.fields.len())) {
            self.hide(&old);
        }
        self.focus = self.focus.min(self.fields.len().saturating_sub(1));
    }

    fn hide(&mut self, field: &Field) {
        if let Some(text) = field.typed() {
            self.hidden.set_text(&field.key, text);
        }
    }

    /// Gives a field the text or choice that it had when it was shown before.
    fn show_hidden(&mut self, at: usize) {
        let Some(field) = self.fields.get_mut(at) else { return };
        match &mut field.input {
            Input::Choice { options, chosen, .. } if !options.is_empty() => {
                if let Some(name) = self.hidden.take_choice(&field.name) {
                    *chosen = options.iter().position(|choice| choice.name == name).unwrap_or(*chosen);
                }
            }
            Input::Choice { .. } => {}
            Input::Line(_) | Input::Text(..) => {
                if let Some(text) = self.hidden.take_text(&field.key) {
                    field.restore_text(&text);
                }
            }
        }
    }

    /// Takes over what an earlier opening left; fields that are put later get their texts then.
    pub fn restore(&mut self, left: FieldTexts) {
        self.hidden = left;
        for at in 0..self.fields.len() {
            self.show_hidden(at);
        }
        self.focus = self.fields.iter().position(Field::is_restored).unwrap_or(self.focus);
    }

    /// Returns the texts that were typed and not confirmed, with the choices; without a text, nothing.
    pub fn unconfirmed(&self) -> FieldTexts {
        let mut left = self.hidden.clone();
        for field in &self.fields {
            if let Some(text) = field.typed() {
                left.set_text(&field.key, text);
            }
        }
        if left.is_empty() {
            return FieldTexts::default();
        }
        for field in &self.fields {
            if let Input::Choice { options, chosen, .. } = &field.input
                && let Some(choice) = options.get(*chosen)
            {
                left.set_choice(&field.name, &choice.name);
            }
        }
        left
    }

    /// Moves the focus by this many fields, wrapping around.
    pub fn move_focus(&mut self, by: isize) {
        let count = self.fields.len().max(1).cast_signed();
        self.focus = (self.focus.cast_signed() + by).rem_euclid(count).unsigned_abs();
    }

    /// Chooses another value of the focused choice. Returns whether there is one.
    pub fn choose(&mut self, by: isize) -> bool {
        match self.focused_mut().map(|field| &mut field.input) {
            Some(Input::Choice { options, chosen, .. }) if options.len() > 1 => {
                let count = options.len().cast_signed();
                *chosen = (chosen.cast_signed() + by).rem_euclid(count).unsigned_abs();
                true
            }
            _ => false,
        }
    }

    /// It failed: the user can correct it and try again.
    pub fn fail(&mut self, message: impl Into<String>) {
        self.error = Some(message.into());
        self.waiting = None;
        self.discarded_attempt = false;
    }
}
