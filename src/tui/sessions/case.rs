//! The dialog that makes a case or a regression test of a session.

use crate::tui::archive::{Ask, CaseWanted};
use crate::tui::backend::{SessionKey, SessionSummary};
use crate::tui::form::{Choice, Field, Form};

/// A case that is being described.
#[derive(Debug, Clone)]
pub struct Case {
    /// The session.
    pub key: SessionKey,
}

impl Case {
    /// The dialog; `file` is the agent's file, when it is known.
    pub fn open(session: &SessionSummary, file: Option<String>) -> (Form, Self) {
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
        (form, Self { key: session.key() })
    }

    /// The case that is described.
    pub fn submit(&self, form: &Form) -> Result<Ask, String> {
        let name = form.said("name").ok_or("a case needs a name")?;
        let file = form.said("file").ok_or("name the agent file")?;
        Ok(Ask::Case(self.key.clone(), CaseWanted { name, file, cassette: form.chosen("kind") == 1 }))
    }
}
