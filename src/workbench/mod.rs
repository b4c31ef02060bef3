//! Operations for users, shared by both interfaces: run, replay, list, preview a prompt, check the machine.
//!
//! In: configuration and folders. Out: runs in the background, reports, lists. It must never draw or print.

mod accept;
mod adapters;
mod agent_file;
mod agreement;
pub mod audit;
mod body;
mod budget;
mod bundle;
mod captured_agent;
mod captured_media;
mod captured_messages;
mod captured_models;
mod captured_request;
mod captured_tools;
mod case;
mod child_models;
pub mod comparison;
mod definitions;
mod doctor;
mod draft;
mod embedding;
mod ending;
mod export;
mod failures;
mod feed;
mod few_shot;
pub mod files;
mod fork;
pub mod format;
mod handle;
mod import;
pub mod inspect;
mod judging;
mod keys;
mod line_diff;
mod marks;
pub mod matrix;
pub mod model_check;
mod models;
mod new_agent;
mod open;
pub mod optimize;
pub mod overview;
mod pipeline;
mod points;
mod prepare;
mod preview;
mod prompt_kinds;
mod question_queue;
mod random;
mod replies;
mod reply_cache;
mod rerun;
mod resources;
mod resume;
mod run;
mod search;
mod server_prompts;
mod session_saver;
mod sessions;
mod source;
mod stages;
pub mod suite;
mod telemetry;
mod tools;
mod tree;
mod without;
pub mod wording;

use std::path::Path;
use std::sync::Arc;

use telemetry::SharedTelemetry;

use crate::config::{Config, Folders};
use crate::tool::{ConsentPolicy, FileAccess};
use adapters::Adapters;
use adapters::Gates;
use embedding::Embeddings;
use reply_cache::TrialReplies;

pub use crate::replay::Answers;
pub use crate::session::SessionKey;
pub use accept::MissingReplySource;
pub use agent_file::{AgentFile, AgentFiles, Overwrite, SaveError};
pub use agreement::{Agreement, AgreementSpec, AgreementTable, Kappa, LabelledRun};
pub use body::{sent_body, sent_bytes};
pub use budget::{Budget, Hit};
pub use captured_agent::{
    CapturedAgent, FileNaming, agent_of_request, captured_agent, check_captured_agent, store_captured_files,
    write_new_agent,
};
pub use case::{CaseError, CaseSpec, MadeCase};
pub use definitions::Definitions;
pub use doctor::{Finding, FindingsJson, Health};
pub use draft::{DraftSummary, OpenAgent};
pub use ending::next_step;
pub use export::{
    ExportError, ExportPreview, ExportReport, ExportSpec, PreparedExport, Secrets, check_new_export, write_export,
};
pub use failures::{FailureGroup, FailurePlace, FailureReport};
pub use feed::Feed;
pub use few_shot::AddedExample;
pub use fork::{ForkChange, ForkSpec};
pub use handle::{RunEnding, RunHandle, RunUpdate};
pub use import::{ImportError, ImportReport};
pub use inspect::RequestPlace;
pub use keys::SECRET;
pub use line_diff::{LineChange, LineDiff};
pub use marks::MarkPlace;
pub use models::{BY_FLAG, ModelLine, ModelState, ProviderLine, ServerLine};
pub use new_agent::NewAgent;
pub use open::{OpenSession, RunOutline, TurnBody, TurnReader};
pub use pipeline::{Pipeline, PipelineOutline, PipelineSpec, StepOutline};
pub use points::{CurrentText, ForkPoints, TurnPoints};
pub use preview::{ComparedPart, Preview, RequestPart, compared_with};
pub use prompt_kinds::{PromptKind, PromptSizes};
pub use question_queue::{Intercept, QuestionQueue, QueuedQuestion};
pub use replies::PROGRAM;
pub use rerun::{Repeats, RerunSpec};
pub use run::{BackgroundRun, RunSpec, StartError};
pub use search::{SearchError, SearchReport};
pub use server_prompts::{PromptArgument, PromptList, PromptQuery, PromptRequest, ServerPrompt};
pub use session_saver::{SaveOutcome, SessionSaver};
pub use sessions::OpenError;
pub use source::Source;
pub use source::example_sessions;
pub use tools::ToolState;
pub use tree::Branch;

/// The workbench of one user.
#[derive(Debug, Clone)]
pub struct Workbench {
    /// Configuration.
    pub config: Config,
    /// Folders of the program's files.
    pub folders: Folders,
    /// One gate per provider: all runs of this workbench wait in it together.
    gates: Gates,
    /// Policy for tools that start a process or leave the machine.
    policy: ConsentPolicy,
    /// The files that definitions may name.
    access: FileAccess,
    /// Adapters that runs share; `None` if each run has its own.
    adapters: Option<Adapters>,
    /// The vectors of texts that answers are compared with.
    embeddings: Embeddings,
    /// The folder of stored replies of trials.
    reply_cache: Option<Arc<Path>>,
    /// Stored replies of the trial whose runs this workbench starts.
    replies: Option<TrialReplies>,
    /// Telemetry of its runs.
    telemetry: SharedTelemetry,
}

impl Workbench {
    /// A workbench on this configuration and these folders, where no tool starts a process or leaves the machine.
    pub fn new(config: Config, folders: Folders) -> Self {
        let access = FileAccess::default();
        Self {
            config,
            folders,
            gates: Gates::default(),
            policy: ConsentPolicy::default(),
            access,
            adapters: None,
            embeddings: Embeddings::default(),
            reply_cache: None,
            replies: None,
            telemetry: SharedTelemetry::default(),
        }
    }

    /// The same workbench with this access to the files that definitions name.
    #[must_use]
    pub fn with_file_access(self, access: FileAccess) -> Self {
        Self { access, ..self }
    }

    /// Returns the access to the files that definitions name.
    pub fn file_access(&self) -> &FileAccess {
        &self.access
    }

    /// The same workbench with adapters that the runs it starts share.
    fn sharing_adapters(&self) -> Self {
        Self { adapters: Some(Adapters::default()), ..self.clone() }
    }
}
