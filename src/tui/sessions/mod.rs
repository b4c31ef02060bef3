//! Dialogs about saved sessions: the initial content of each form, the dependencies of its fields, the request it makes.
//!
//! In: a [`SessionAction`], what is known of the session, what the user chose and wrote. Out: an [`ArchiveRequest`], or why there is none.
//! Pure: it reads no file. A new action is a variant of [`SessionAction`] and, with a dialog, one of [`Purpose`].

pub mod check;
pub mod delete;
pub mod export;
pub mod fork;
pub mod marks;
pub mod models;
pub mod prompts;
pub mod rerun;
pub mod scrub;
pub mod without;
pub mod workbench;

use super::archive::{AgentSource, ArchiveRequest};
use super::candidates::CandidatesRequest;
use super::form::Form;
use super::message::Effect;
use super::unconfirmed_texts::DialogId;

/// Something that is done with the saved session in hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described by its row in the table of actions")]
pub enum SessionAction {
    Fork,
    EditHere,
    Rerun,
    MakeCase,
    Export,
    Tags,
    Note,
    Mark,
    Label,
    AddExample,
    Suggest,
    AcceptReplay,
    Play,
    Delete,
}

/// A dialog that is about to be shown.
#[derive(Debug)]
pub struct Dialog {
    /// Its fields.
    pub form: Form,
    /// Its purpose.
    pub purpose: Purpose,
    /// Requests for the data that it needs.
    pub requests: Vec<ArchiveRequest>,
}

impl Dialog {
    /// A dialog for which nothing must be read.
    pub fn new(form: Form, purpose: Purpose) -> Self {
        Self { form, purpose, requests: Vec::new() }
    }

    /// Its identity.
    pub fn id(&self) -> DialogId {
        self.purpose.dialog_id(&self.form)
    }
}

impl SessionAction {
    /// Returns whether it starts a run that replaces the workbench's run.
    pub fn starts_run(self) -> bool {
        matches!(self, Self::Fork | Self::EditHere | Self::Rerun | Self::AcceptReplay)
    }

    /// Returns whether it waits for a session that is not listed yet.
    pub fn awaits_listing(self) -> bool {
        matches!(self, Self::Fork | Self::EditHere | Self::AddExample | Self::Suggest)
    }

    /// Returns whether it is about the session as a whole, and available wherever a session is in hand.
    pub fn is_about_session(self) -> bool {
        matches!(self, Self::Fork | Self::Rerun | Self::MakeCase | Self::Export)
    }

    /// Returns whether it writes a mark, tags, a note or a label.
    pub fn is_mark(self) -> bool {
        matches!(self, Self::Mark | Self::Tags | Self::Note | Self::Label)
    }
}

/// Purpose of a dialog.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// A fork.
    Fork(Box<fork::Fork>),
    /// A re-run.
    Rerun(rerun::Rerun),
    /// A request without one of its parts.
    Without(without::Without),
    /// A new message to a finished run.
    Message(rerun::Message),
    /// A case or a regression test.
    Case(marks::Case),
    /// An export.
    Export(export::Export),
    /// Tags, a note or a label.
    Marks(marks::Marks),
    /// The deletion of a session.
    Delete(delete::Delete),
    /// An agent for the editors.
    Agent,
    /// A new agent for the editors.
    NewAgent,
    /// A file for the focused text.
    InsertFile,
    /// The breakpoints at which runs stop.
    Breakpoints,
    /// The folder of a search for better texts.
    Candidates,
    /// A prompt of an MCP server for the prompt editor.
    Prompts(Box<prompts::Prompts>),
    /// A captured request, and the models that are asked the same.
    OtherModels(models::OtherModelsDialog),
}

impl Purpose {
    /// A field was changed: brings the others into line, and returns what must be read for them.
    pub fn changed(&mut self, form: &mut Form) -> Vec<ArchiveRequest> {
        match self {
            Self::Fork(fork) => fork.changed(form),
            Self::Rerun(rerun) => {
                rerun.changed(form);
                Vec::new()
            }
            Self::Export(export) => export.changed(form),
            Self::Prompts(prompts) => {
                prompts.changed(form);
                Vec::new()
            }
            Self::Without(_)
            | Self::Message(_)
            | Self::Case(_)
            | Self::Marks(_)
            | Self::Delete(_)
            | Self::Agent
            | Self::NewAgent
            | Self::InsertFile
            | Self::Breakpoints
            | Self::Candidates
            | Self::OtherModels(_) => Vec::new(),
        }
    }

    /// The form is confirmed: returns what is to be done.
    ///
    /// Errors: why nothing can be done.
    pub fn submit(&self, form: &Form) -> Result<Effect, String> {
        let request = match self {
            Self::Fork(fork) => fork.submit(form),
            Self::Rerun(rerun) => Ok(rerun.submit(form)),
            Self::Message(message) => message.submit(form),
            Self::Case(case) => case.submit(form),
            Self::Export(export) => export.submit(form),
            Self::Marks(marks) => marks.submit(form),
            Self::Delete(delete) => delete.submit(form),
            Self::Prompts(prompts) => prompts.submit(form),
            Self::Agent => workbench::agent_source(form).map(ArchiveRequest::OpenAgent),
            Self::NewAgent => Ok(ArchiveRequest::OpenAgent(AgentSource::New(workbench::written_agent(form)))),
            Self::InsertFile => workbench::written_file(form).map(ArchiveRequest::ReadFile),
            Self::Without(without) => return without.submit(form),
            Self::Breakpoints => return workbench::written_breakpoints(form).map(Effect::StopAt),
            Self::Candidates => {
                return workbench::written_search(form).map(CandidatesRequest::Open).map(Effect::Candidates);
            }
            Self::OtherModels(dialog) => return dialog.submit(form),
        };
        request.map(Effect::Archive)
    }

    /// Returns whether it starts a run that replaces the workbench's run.
    pub fn starts_run(&self) -> bool {
        matches!(self, Self::Fork(_) | Self::Rerun(_) | Self::Message(_))
    }

    /// Returns whether a dialog of this purpose waits for the response to its request. A dialog that was opened meanwhile does not.
    pub fn awaits_response(&self, form: &Form) -> bool {
        form.discarded_attempt || form.waiting == Some(self.doing())
    }

    /// Returns the identity of a dialog of this purpose.
    pub fn dialog_id(&self, form: &Form) -> DialogId {
        let (subject, at) = match self {
            Self::Fork(fork) => (fork.key.name(), fork.wanted.clone()),
            Self::Rerun(rerun) => (rerun.key.name(), None),
            Self::Message(message) => (message.key.name(), None),
            Self::Case(case) => (case.key.name(), None),
            Self::Export(export) => (export.key.name(), None),
            Self::Marks(marks) => (marks.session.clone(), marks.at.clone()),
            Self::Delete(delete) => (delete.key.name(), None),
            Self::OtherModels(dialog) => (dialog.key.name(), Some(dialog.turn.clone())),
            Self::Without(_)
            | Self::Agent
            | Self::NewAgent
            | Self::InsertFile
            | Self::Breakpoints
            | Self::Candidates
            | Self::Prompts(_) => (String::new(), None),
        };
        DialogId { title: form.title.clone(), subject, at }
    }

    /// Returns the text that is shown while its request is executed.
    pub fn doing(&self) -> &'static str {
        match self {
            Self::Fork(_) | Self::Without(_) => "replaying up to the point, then forking …",
            Self::Rerun(_) => "starting …",
            Self::Message(_) => "replaying the recorded part, then continuing …",
            Self::Agent | Self::NewAgent | Self::InsertFile | Self::Candidates => "reading …",
            Self::Case(_) | Self::Export(_) | Self::Marks(_) => "writing …",
            Self::Delete(_) => "deleting …",
            Self::Prompts(_) => "querying the server …",
            Self::Breakpoints => "setting …",
            Self::OtherModels(_) => "asking …",
        }
    }
}
