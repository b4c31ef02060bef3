//! Dialogs of several fields: choices, lines and one longer text, with notes below.
//!
//! In: fields with their first values. Out: the user's choices and texts, by the name of the field. It must never know what a
//! dialog is for: that is `sessions`.

use std::borrow::Cow;

use crossterm::event::KeyEvent;

use super::actions::Context;
use super::colours::Language;
use super::draft::Draft;
use super::editor::Editor;
use super::theme::Role;
use super::transcript::input_check::InputCheck;

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
        Self { name: name.into(), hint, input: Input::Choice { options, chosen, listed: false } }
    }

    /// A choice whose values are shown as a list.
    pub fn list(name: impl Into<Cow<'static, str>>, hint: &'static str, options: Vec<Choice>, chosen: usize) -> Self {
        Self { name: name.into(), hint, input: Input::Choice { options, chosen, listed: true } }
    }

    /// One line of text, selected as a whole, so that typing replaces it.
    pub fn line(name: impl Into<Cow<'static, str>>, hint: &'static str, text: impl Into<String>) -> Self {
        let mut draft = Draft::new(text);
        draft.select_all();
        Self { name: name.into(), hint, input: Input::Line(draft) }
    }

    /// A text.
    pub fn text(
        name: impl Into<Cow<'static, str>>,
        hint: &'static str,
        text: impl Into<String>,
        language: Language,
    ) -> Self {
        let editor = Editor { draft: Draft::new(text), ..Editor::default() };
        Self { name: name.into(), hint, input: Input::Text(Box::new(editor), language) }
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
        match &self.focused()?.input {
            Input::Choice { .. } => None,
            Input::Line(draft) => Some(draft),
            Input::Text(editor, _) => Some(&editor.draft),
        }
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
        match self.field(name).map(|field| &field.input) {
            Some(Input::Line(draft)) => draft.text(),
            Some(Input::Text(editor, _)) => editor.draft.text(),
            _ => "",
        }
    }

    /// Like `written`, trimmed; `None` if empty.
    pub fn entered(&self, name: &str) -> Option<String> {
        let text = self.written(name).trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Replaces the field of this name, or adds it at the end; the focus stays where it is.
    pub fn put(&mut self, field: Field) {
        match self.fields.iter().position(|old| old.name == field.name) {
            Some(at) => self.fields[at] = field,
            None => self.fields.push(field),
        }
    }

    /// Takes a field away.
    pub fn remove(&mut self, name: &str) {
        self.fields.retain(|field| field.name != name);
        self.focus = self.focus.min(self.fields.len().saturating_sub(1));
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
