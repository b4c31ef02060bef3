//! The dialog that deletes a session.
//!
//! In: the session in hand. Out: the request that deletes it. It must never be confirmed by one key alone.

use super::{Dialog, Purpose};
use crate::session::{SessionKey, Summary};
use crate::tui::archive::ArchiveRequest;
use crate::tui::form::{Choice, Field, Form};

/// A session whose deletion is asked about.
#[derive(Debug, Clone)]
pub struct Delete {
    /// The session.
    pub key: SessionKey,
}

impl Delete {
    /// The dialog.
    pub fn open(session: &Summary) -> Dialog {
        let choices = vec![
            Choice::new("keep it", "nothing changes"),
            Choice::new("delete it", "removed for good; its forks keep their turns"),
        ];
        let form = Form {
            title: format!("Delete {}", session.id),
            verb: "do it",
            fields: vec![Field::list("session", "", choices, 0)],
            ..Form::default()
        };
        Dialog::new(form, Purpose::Delete(Self { key: session.key() }))
    }

    /// Returns the request. Errors: the session is to be kept.
    pub fn submit(&self, form: &Form) -> Result<ArchiveRequest, String> {
        match form.chosen("session") {
            1 => Ok(ArchiveRequest::Delete(self.key.clone())),
            _ => Err("choose `delete it`, or close the dialog".to_owned()),
        }
    }
}
