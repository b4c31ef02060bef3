//! What is done with saved sessions, dialog by dialog: what a form holds at first, how its fields depend on each other, what comes of it.
//!
//! In: what is known of the session, what a person chose and wrote. Out: what is asked of the [`Archive`](super::archive::Archive), or why
//! nothing is. Pure: it reads no file.

pub mod agent;
pub mod breaks;
pub mod case;
pub mod check;
pub mod export;
pub mod fork;
pub mod marks;
pub mod message;
pub mod rerun;
pub mod scrub;

use super::archive::Ask;
use super::form::Form;
use super::message::Effect;

/// What a dialog is for.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// A fork.
    Fork(fork::Fork),
    /// A re-run.
    Rerun(rerun::Rerun),
    /// A new message to a finished run.
    Message(message::Message),
    /// A case or a regression test.
    Case(case::Case),
    /// An export.
    Export(export::Export),
    /// Tags or a note.
    Marks(marks::Marks),
    /// An agent for the editors.
    Agent,
    /// Where runs stop.
    Breakpoints,
}

impl Purpose {
    /// A field was changed: brings the others into line, and says what must be found out for them.
    pub fn changed(&mut self, form: &mut Form) -> Vec<Ask> {
        match self {
            Self::Fork(fork) => fork.changed(form),
            Self::Rerun(rerun) => {
                rerun.changed(form);
                Vec::new()
            }
            Self::Export(export) => export.changed(form),
            Self::Message(_) | Self::Case(_) | Self::Marks(_) | Self::Agent | Self::Breakpoints => Vec::new(),
        }
    }

    /// The form is confirmed: what is to be done, or why it cannot.
    pub fn submit(&self, form: &Form) -> Result<Effect, String> {
        let ask = match self {
            Self::Fork(fork) => fork.submit(form),
            Self::Rerun(rerun) => Ok(rerun.submit(form)),
            Self::Message(message) => message.submit(form),
            Self::Case(case) => case.submit(form),
            Self::Export(export) => export.submit(form),
            Self::Marks(marks) => Ok(marks.submit(form)),
            Self::Agent => agent::submit(form).map(Ask::Take),
            Self::Breakpoints => return breaks::submit(form).map(Effect::StopAt),
        };
        ask.map(Effect::Ask)
    }

    /// What it says while it is being done.
    pub fn doing(&self) -> &'static str {
        match self {
            Self::Fork(_) => "replaying up to the point, then forking …",
            Self::Rerun(_) => "starting …",
            Self::Message(_) => "replaying what was said, then asking …",
            Self::Agent => "reading …",
            Self::Case(_) | Self::Export(_) | Self::Marks(_) => "writing …",
            Self::Breakpoints => "setting …",
        }
    }
}
