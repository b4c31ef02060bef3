//! The dialog that makes a case or a regression test of a session.

use super::{Dialog, Purpose};
use crate::session::Summary;
use crate::tui::archive::ArchiveRequest;
use crate::tui::form::{Choice, Field, Form};
use crate::workbench::{CaseSpec, SessionKey};

/// A case that is being described.
#[derive(Debug, Clone)]
pub struct Case {
    key: SessionKey,
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
            title: "Make a case of this session".to_owned(),
            verb: "make",
            fields: vec![
                Field::choice("kind", "What `test` does with it.", kinds, 0),
                Field::line("name", "What the case is called.", format!("session {tail}")),
                Field::line("file", "The agent file; one that does not exist is made from the session.", file),
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
