//! The inputs of a draft as fields: one for each parameter of the signature, over the context's JSON text.
//!
//! In: the texts of signature and context, what is typed in a field. Out: the fields, and the context with the value of a field. The JSON
//! text is what is checked, saved and run; a field shows one value of it. It must never lose a value: members that are not parameters have
//! fields too, and a text that is not a value of its type is stored as text.

use ptc_core::signature::{self, Type, underscored};
use ptc_core::text::Span;
use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};

use super::Workbench;
use crate::agent::{Diagnostic, Place};
use crate::tui::draft::Draft;
use crate::tui::editor::Editor;

/// The form in which the context is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContextView {
    /// As fields, where signature and context can be read.
    #[default]
    Fields,
    /// As JSON text.
    Json,
}

/// The fields of the context.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The form in which the context is edited.
    pub view: ContextView,
    /// The fields; none while the JSON text is edited.
    pub fields: Vec<InputField>,
    /// Index of the field that has the focus.
    pub focus: usize,
    /// Versions of the context and of the signature that the fields show.
    seen: Option<(u64, u64)>,
}

/// The field of one input.
#[derive(Debug, Clone)]
pub struct InputField {
    /// The name of the parameter.
    pub name: String,
    /// Its type as written.
    pub type_name: String,
    /// Interpretation of its text.
    pub kind: InputKind,
    /// Its text.
    pub editor: Editor,
    /// The context has a value of this name.
    is_present: bool,
    /// The version of the text that the context holds.
    stored: u64,
}

/// Interpretation of the text of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// The text itself.
    Text,
    /// One text a line, or a JSON list.
    Lines,
    /// A JSON value; what is none is a text.
    Value,
}

impl InputKind {
    fn of(ty: &Type) -> Self {
        match ty.base() {
            Type::String | Type::Enum(_) | Type::Keyword | Type::Datetime => Self::Text,
            Type::List(item) if Self::of(item) == Self::Text => Self::Lines,
            _ => Self::Value,
        }
    }

    /// Returns the text of a value.
    pub fn text_of(self, value: &Json) -> String {
        let lines = || -> Option<String> {
            let items: Vec<&str> = value.items()?.iter().map(Json::as_str).collect::<Option<_>>()?;
            let is_line = |item: &&str| !item.trim().is_empty() && !item.contains(['\n', '\r']);
            let fits = items.iter().all(is_line) && items.first().is_none_or(|first| !first.trim().starts_with('['));
            fits.then(|| items.join("\n"))
        };
        match (self, &value.node) {
            (Self::Text | Self::Lines, Node::Str(text)) => text.clone(),
            (Self::Value, Node::Str(text)) if json::parse(text).is_err() && !text.trim().is_empty() => text.clone(),
            (Self::Lines, _) => lines().unwrap_or_else(|| value.to_pretty()),
            (Self::Text, _) => value.to_text(),
            (Self::Value, _) => value.to_pretty(),
        }
    }

    /// Returns the value of a text; `None` for an empty one, except where an empty text is a value.
    pub fn value_of(self, text: &str) -> Option<Json> {
        match self {
            Self::Text => Some(Json::str(text)),
            _ if text.trim().is_empty() => None,
            Self::Lines if text.trim().starts_with('[') => Some(json::parse(text).unwrap_or_else(|_| Json::str(text))),
            Self::Lines => {
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                Some(Node::List(lines.map(Json::str).collect()).into())
            }
            Self::Value => Some(json::parse(text).unwrap_or_else(|_| Json::str(text))),
        }
    }
}

impl InputField {
    /// Returns the value that its text means; `None` where the context is to have none.
    fn value(&self) -> Option<Json> {
        let text = self.editor.draft.text();
        if text.is_empty() && !self.is_present { None } else { self.kind.value_of(text) }
    }
}

impl Workbench {
    /// The editor that a search over a place looks through: among inputs shown as fields, that of the focused one.
    pub fn searched_editor_mut(&mut self, place: Place) -> &mut Editor {
        let at = self.inputs.focus;
        match self.inputs.fields.get_mut(at).filter(|_| place == Place::Context) {
            Some(field) => &mut field.editor,
            None => &mut self.editors[place as usize],
        }
    }
}

impl Inputs {
    /// Returns whether the context is edited as fields.
    pub fn is_shown(&self) -> bool {
        !self.fields.is_empty()
    }

    /// The field that has the focus.
    pub fn focused(&self) -> Option<&InputField> {
        self.fields.get(self.focus)
    }

    /// Gives the focus to the field that a finding is about, if it is about one.
    pub fn focus_on(&mut self, finding: &Diagnostic) {
        let name = finding.key.split('.').next().unwrap_or_default();
        if let Some(at) = self.fields.iter().position(|field| is_same(&field.name, name)) {
            self.focus = at;
        }
    }

    /// Moves the focus by one field; false at the end.
    pub fn step(&mut self, is_forward: bool) -> bool {
        let next = if is_forward { self.focus.checked_add(1) } else { self.focus.checked_sub(1) };
        match next.filter(|next| *next < self.fields.len()) {
            Some(next) => {
                self.focus = next;
                true
            }
            None => false,
        }
    }
}

impl Workbench {
    /// Returns whether a finding is at the cursor, or about the focused input.
    pub fn is_at_cursor(&self, place: Place, finding: &Diagnostic) -> bool {
        if let (Place::Context, Some(field)) = (place, self.inputs.focused()) {
            return finding.key.split('.').next().is_some_and(|name| is_same(name, &field.name));
        }
        let cursor = self.editor(place).draft.cursor();
        finding.span.is_some_and(|span| (span.start..=span.end).contains(&cursor))
    }

    /// The text that is edited at a place: of the context the focused input, while inputs are shown.
    pub fn edited(&self, place: Place) -> &Editor {
        match (place, self.inputs.focused()) {
            (Place::Context, Some(field)) => &field.editor,
            _ => self.editor(place),
        }
    }

    /// Like `edited`, mutable.
    pub fn edited_mut(&mut self, place: Place) -> &mut Editor {
        if place == Place::Context && self.inputs.focused().is_some() {
            let focus = self.inputs.focus;
            return &mut self.inputs.fields[focus].editor;
        }
        self.editor_mut(place)
    }

    /// Returns whether the context is a JSON object, or blank.
    pub fn is_context_readable(&self) -> bool {
        members_of(self.editor(Place::Context).draft.text()).is_some()
    }

    /// Changes how the context is edited.
    ///
    /// Errors: why it cannot be edited as fields.
    pub fn switch_context_view(&mut self) -> Result<(), &'static str> {
        if self.inputs.is_shown() {
            self.inputs.view = ContextView::Json;
            self.inputs.fields.clear();
            return Ok(());
        }
        self.inputs.view = ContextView::Fields;
        self.inputs.seen = None;
        self.sync_inputs();
        if self.inputs.is_shown() {
            return Ok(());
        }
        self.inputs.view = ContextView::Json;
        Err(match members_of(self.editor(Place::Context).draft.text()) {
            None => "the inputs are not a JSON object",
            Some(_) => "the signature has no parameters",
        })
    }

    /// Stores what was typed in a field in the context; fields follow changes of signature and context.
    pub fn sync_inputs(&mut self) {
        if self.inputs.view == ContextView::Json {
            return;
        }
        let seen = (self.editor(Place::Context).draft.version(), self.editor(Place::Signature).draft.version());
        let typed = self.inputs.fields.iter().position(|field| field.stored != field.editor.draft.version());
        match typed {
            Some(at) if self.inputs.seen.is_some_and(|(context, _)| context == seen.0) => self.store_input(at),
            _ if self.inputs.seen != Some(seen) => self.read_inputs(),
            _ => {}
        }
    }

    /// Writes the value of a field into the context.
    fn store_input(&mut self, at: usize) {
        let field = &mut self.inputs.fields[at];
        let value = field.value();
        field.is_present = value.is_some();
        field.stored = field.editor.draft.version();
        let name = field.name.clone();
        let context = self.editor(Place::Context).draft.text();
        let text = with_member(context, &name, value.as_ref());
        let draft = &mut self.editor_mut(Place::Context).draft;
        draft.replace_all(&text);
        let context = draft.version();
        if let Some(seen) = &mut self.inputs.seen {
            seen.0 = context;
        }
    }

    /// Reads the fields from signature and context.
    fn read_inputs(&mut self) {
        let seen = (self.editor(Place::Context).draft.version(), self.editor(Place::Signature).draft.version());
        self.inputs.seen = Some(seen);
        let Some(members) = members_of(self.editor(Place::Context).draft.text()) else {
            // It is corrected as text.
            self.inputs.fields.clear();
            self.inputs.view = ContextView::Json;
            return;
        };
        let params = match signature::parse(self.editor(Place::Signature).draft.text()) {
            Ok(signature) => signature.params.unwrap_or_default(),
            Err(_) if self.inputs.is_shown() => return self.show_values(&members),
            Err(_) => return,
        };
        if params.is_empty() {
            self.inputs.fields.clear();
            return;
        }
        let mut old = std::mem::take(&mut self.inputs.fields);
        let mut field = |name: &str, type_name: String, kind: InputKind| {
            let known = old.iter().position(|field| field.name == name).map(|at| old.remove(at));
            let start = InputField {
                name: name.to_owned(),
                type_name: String::new(),
                kind,
                editor: Editor { draft: Draft::default(), ..Editor::default() },
                is_present: false,
                stored: 0,
            };
            InputField { type_name, kind, ..known.unwrap_or(start) }
        };
        let mut fields: Vec<InputField> =
            params.iter().map(|param| field(&param.name, param.ty.render(), InputKind::of(&param.ty))).collect();
        for (name, _) in &members {
            if !params.iter().any(|param| is_same(&param.name, name)) {
                fields.push(field(name, "no parameter".to_owned(), InputKind::Value));
            }
        }
        self.inputs.fields = fields;
        self.inputs.focus = self.inputs.focus.min(self.inputs.fields.len().saturating_sub(1));
        self.show_values(&members);
    }

    /// Shows the values of the context in the fields that show others.
    fn show_values(&mut self, members: &[(String, Json)]) {
        for field in &mut self.inputs.fields {
            let value = members.iter().find(|(name, _)| is_same(name, &field.name)).map(|(_, value)| value);
            field.is_present |= value.is_some();
            let is_new = field.value().as_ref() != value;
            field.is_present = value.is_some();
            if is_new {
                let text = value.map(|value| field.kind.text_of(value)).unwrap_or_default();
                let draft = &mut field.editor.draft;
                if draft.text().is_empty() && !draft.can_undo() {
                    // What it shows first is nothing that undo takes back.
                    *draft = draft.take_over(Draft::new(text));
                } else {
                    draft.replace_all(&text);
                }
                field.editor.free = false;
            }
            field.stored = field.editor.draft.version();
        }
    }
}

/// The members of a context; none of a blank one. `None` if it is not an object.
fn members_of(text: &str) -> Option<Vec<(String, Json)>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let json = json::parse(text).ok()?;
    Some(json.members()?.iter().map(|member| (member.key.clone(), member.value.clone())).collect())
}

/// The text of a context with this value of a member, or without it. Other members keep their text.
fn with_member(text: &str, name: &str, value: Option<&Json>) -> String {
    let json = json::parse(text).unwrap_or_else(|_| Json::empty());
    let members = json.members().unwrap_or_default();
    let known = members.iter().find(|member| is_same(&member.key, name));
    match (known, value) {
        (Some(member), Some(value)) if !is_empty(member.value.span) => {
            let span = member.value.span;
            format!("{}{}{}", &text[..span.start], value.to_text(), &text[span.end..])
        }
        (None, None) => text.to_owned(),
        _ => {
            let others = members.iter().filter(|member| !is_same(&member.key, name));
            let others = others.map(|member| (member.key.clone(), member.value.clone()));
            let own = value.map(|value| (name.to_owned(), value.clone()));
            Json::object(others.chain(own).collect::<Vec<(String, Json)>>()).to_pretty()
        }
    }
}

fn is_empty(span: Span) -> bool {
    span.start == span.end
}

fn is_same(one: &str, other: &str) -> bool {
    underscored(one) == underscored(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back_from_its_text() {
        let values = [
            "\"a\\nb\"",
            "\"\"",
            "\"12\"",
            "\"[1\"",
            "12",
            "1.5",
            "true",
            "null",
            "[]",
            "[\"a\",\"b\"]",
            "[\"a\\nb\"]",
            "[\"\"]",
            "[\"[x\"]",
            "[1,2]",
            "{\"a\":[1]}",
            "[[\"a\"]]",
        ];
        for text in values {
            let value = json::parse(text).unwrap();
            for kind in [InputKind::Text, InputKind::Lines, InputKind::Value] {
                // A value of another type than the field's becomes one of its type only when it is edited.
                let is_own = match kind {
                    InputKind::Text => matches!(value.node, Node::Str(_)),
                    InputKind::Lines => value.items().is_some(),
                    InputKind::Value => true,
                };
                let shown = kind.text_of(&value);
                let back = kind.value_of(&shown).unwrap_or_else(|| json::parse("[]").unwrap());
                assert!(!is_own || back == value, "{kind:?} {text}: {shown:?} {back:?}");
            }
        }
    }

    #[test]
    fn a_value_is_replaced_where_it_is_and_other_members_keep_their_text() {
        let text = "{\n  \"a\": 1.50,\n  \"b\": \"x\"\n}";
        assert_eq!(with_member(text, "b", Some(&Json::str("y"))), "{\n  \"a\": 1.50,\n  \"b\": \"y\"\n}");
        assert_eq!(with_member("", "b", Some(&Json::str("y"))), Json::empty().with("b", Json::str("y")).to_pretty());
        assert!(!with_member(text, "b", None).contains("\"b\""));
        assert_eq!(with_member(text, "c", None), text);
    }
}
