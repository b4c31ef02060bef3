//! The dialogs of tags, notes, labels and cases made of a session.

use std::collections::BTreeSet;

use super::{Dialog, Purpose};
use crate::event::Address;
use crate::session::{Label, Mark, Summary};
use crate::tui::archive::ArchiveRequest;
use crate::tui::colours::Language;
use crate::tui::form::{Choice, Field, Form};
use crate::workbench::{CaseSpec, SessionKey};

/// A mark on a session, or on a run or turn in it, that is being edited.
#[derive(Debug, Clone)]
pub struct Marks {
    /// The session.
    pub session: String,
    /// The run or turn; `None` for the session.
    pub at: Option<Address>,
    /// The mark as it is stored.
    mark: Mark,
}

impl Marks {
    /// The dialog of tags.
    pub fn tags(session: String, at: Option<Address>, mark: Mark) -> Dialog {
        let hint = "Words with spaces; +WORD adds one, -WORD drops one. Empty: no tags.";
        let tags: Vec<&str> = mark.tags.iter().map(String::as_str).collect();
        let field = Field::line("tags", hint, tags.join(" "));
        Self { session, at, mark }.dialog("Tags of", field)
    }

    /// The dialog of a note.
    pub fn note(session: String, at: Option<Address>, mark: Mark) -> Dialog {
        let hint = "Its words can be searched. Empty: no note.";
        let field = Field::text("note", hint, mark.note.clone().unwrap_or_default(), Language::Plain);
        Self { session, at, mark }.dialog("Note on", field)
    }

    /// The dialog of a label.
    pub fn label(session: String, at: Option<Address>, mark: Mark) -> Dialog {
        let hint = "pass, fail or a score from 0 to 1, then a note. Empty: no label.";
        let field = Field::line("label", hint, mark.label.as_ref().map(ToString::to_string).unwrap_or_default());
        Self { session, at, mark }.dialog("Label of", field)
    }

    fn dialog(self, what: &str, field: Field) -> Dialog {
        let place = self.at.as_ref().map_or_else(|| "the session".to_owned(), ToString::to_string);
        let form = Form { title: format!("{what} {place}"), verb: "write", fields: vec![field], ..Form::default() };
        Dialog::new(form, Purpose::Marks(self))
    }

    /// Returns the request that writes the mark. Errors: the label does not begin with pass, fail or a score.
    pub fn submit(&self, form: &Form) -> Result<ArchiveRequest, String> {
        let mut mark = self.mark.clone();
        if form.field("tags").is_some() {
            mark.tags = changed(&self.mark.tags, form.written("tags"));
        }
        if form.field("note").is_some() {
            mark.note = form.entered("note");
        }
        if form.field("label").is_some() {
            mark.label = form.entered("label").as_deref().map(Label::parse).transpose()?;
        }
        Ok(ArchiveRequest::Mark { session: self.session.clone(), at: self.at.clone(), mark })
    }
}

/// Reads tags as written: a list, or with `+` or `-` alone changes of those before.
fn changed(before: &BTreeSet<String>, written: &str) -> BTreeSet<String> {
    let words = || written.split([' ', ',']).filter(|word| !word.is_empty());
    let is_change = |word: &str| word.starts_with(['+', '-']);
    let all_change = words().next().is_some() && words().all(is_change);
    let plain = words().filter(|word| !is_change(word)).map(str::to_owned);
    let mut tags: BTreeSet<String> = if all_change { before.clone() } else { plain.collect() };
    for word in words() {
        if let Some(gone) = word.strip_prefix('-') {
            tags.remove(gone);
        }
        if let Some(more) = word.strip_prefix('+') {
            tags.insert(more.to_owned());
        }
    }
    tags
}

/// A case that is being described.
#[derive(Debug, Clone)]
pub struct Case {
    /// The session.
    pub key: SessionKey,
}

impl Case {
    /// The dialog; `file` is the agent's file, when it is known.
    pub fn open(session: &Summary, file: Option<String>) -> Dialog {
        let kinds = vec![
            Choice::new("case", "the inputs, and this answer as the expected one"),
            Choice::new("regression test", "a cassette: `test` replays it without a model"),
        ];
        let tail = session.id.rsplit('-').next().unwrap_or(&session.id);
        let file = file.unwrap_or_else(|| format!("{}.toml", session.agent));
        let form = Form {
            title: "Make a case from this session".to_owned(),
            verb: "make",
            fields: vec![
                Field::choice("kind", "Kind of the case.", kinds, 0),
                Field::line("name", "Name of the case.", format!("session {tail}")),
                Field::line("file", "The agent file; created from the session if missing.", file),
            ],
            ..Form::default()
        };
        Dialog::new(form, Purpose::Case(Self { key: session.key() }))
    }

    /// The case that is described.
    ///
    /// Errors: name or file is missing.
    pub fn submit(&self, form: &Form) -> Result<ArchiveRequest, String> {
        let name = form.entered("name").ok_or("a case needs a name")?;
        let file = form.entered("file").ok_or("name the agent file")?;
        let cassette = form.chosen("kind") == 1;
        let spec = CaseSpec { run: None, name: Some(name), file: Some(file.into()), cassette, rubric: None };
        Ok(ArchiveRequest::MakeCase(self.key.clone(), spec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_written_as_a_list_or_as_changes_of_it() {
        let before = BTreeSet::from(["slow", "odd"].map(str::to_owned));
        let written = |text: &str| Vec::from_iter(changed(&before, text)).join(" ");
        assert_eq!(written("slow,seen"), "seen slow");
        assert_eq!(written("slow odd +seen -slow"), "odd seen");
        assert_eq!(written("+seen -odd +slow"), "seen slow");
        assert_eq!(written(" "), "");
    }
}
