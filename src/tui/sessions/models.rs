//! The dialog that asks other models what a captured request asked.
//!
//! In: a turn of a captured session, the models that can be used. Out: which are asked. It must never read the session.

use super::{Dialog, Purpose};
use crate::event::Address;
use crate::tui::compare::{CompareRequest, MOST_SIDES, OtherModels};
use crate::tui::form::{Field, Form};
use crate::tui::message::Effect;
use crate::tui::unconfirmed_texts::DialogId;
use crate::workbench::SessionKey;

/// A captured request that other models are asked.
#[derive(Debug, Clone)]
pub struct OtherModelsDialog {
    /// The session.
    pub key: SessionKey,
    /// The turn.
    pub turn: Address,
}

impl OtherModelsDialog {
    /// The dialog about this turn.
    pub fn open(key: SessionKey, turn: Address) -> Dialog {
        let form = Form {
            title: Self::title(&turn),
            verb: "ask",
            fields: vec![Field::line(
                "models",
                "One to three models, separated by commas: aliases or provider:id. Their runs are shown next to the recorded one.",
                "",
            )],
            ..Form::default()
        };
        Dialog::new(form, Purpose::OtherModels(Self { key, turn }))
    }

    fn title(turn: &Address) -> String {
        format!("Send the request of {turn} to other models")
    }

    /// The identity of the dialog about a turn of this session.
    pub fn id(session: &str, turn: &Address) -> DialogId {
        DialogId { title: Self::title(turn), subject: session.to_owned(), at: Some(turn.clone()) }
    }

    /// Returns the effect that asks the models.
    ///
    /// Errors: no model is named, or too many are.
    pub fn submit(&self, form: &Form) -> Result<Effect, String> {
        let written = form.entered("models").unwrap_or_default();
        let models: Vec<String> =
            written.split(',').map(|model| model.trim().to_owned()).filter(|model| !model.is_empty()).collect();
        match models.len() {
            0 => Err("name a model".to_owned()),
            count if count < MOST_SIDES => {
                let (key, turn) = (self.key.clone(), self.turn.clone());
                Ok(Effect::Compare(CompareRequest::Others(OtherModels { key, turn, models })))
            }
            count => Err(format!("{count} models are too many side by side: name up to {}", MOST_SIDES - 1)),
        }
    }
}
