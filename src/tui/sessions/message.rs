//! The dialog of a new message: a finished run is asked again, in a new session that knows what was said.

use crate::tui::archive::Ask;
use crate::tui::backend::{SessionKey, SessionSummary};
use crate::tui::colours::Language;
use crate::tui::form::{Field, Form};

/// A message that is being written.
#[derive(Debug, Clone)]
pub struct Message {
    /// The session.
    pub key: SessionKey,
    /// The model that answered so far.
    model: String,
}

impl Message {
    /// The dialog.
    pub fn open(session: &SessionSummary) -> (Form, Self) {
        let asked = session.models.last().cloned().unwrap_or_default();
        let form = Form {
            title: "New message: the conversation goes on in a new session".to_owned(),
            verb: "send",
            fields: vec![
                Field::text("message", "What is asked next; it is no template.", "", Language::Plain),
                Field::line("model", "The model that is asked.", asked.clone()),
            ],
            ..Form::default()
        };
        (form, Self { key: session.key(), model: asked })
    }

    /// The message.
    ///
    /// Errors: there is none.
    pub fn submit(&self, form: &Form) -> Result<Ask, String> {
        let message = form.said("message").ok_or("an empty message is not sent: write one")?;
        let model = form.said("model").filter(|model| *model != self.model);
        Ok(Ask::Proceed(self.key.clone(), message, model))
    }
}
