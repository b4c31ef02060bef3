//! The agent: its definition as data, the checks that make it runnable, and the Step that a run gives.
//!
//! In: an agent file, a builder or the workbench's drafts. Out: an [`Agent`], and a checked [`Plan`] or diagnostics with the next step.
//! It must never run anything.

mod ambiguous;
mod builder;
mod bundled_examples;
mod case;
mod checks;
mod closing;
mod context;
mod definitions;
mod delegate;
mod diagnostic;
mod draft;
mod edited;
mod fields;
mod file;
mod fixes;
mod fold;
mod inline;
mod input_file;
mod input_reader;
mod keys;
mod lint;
mod mode;
mod option_type;
mod options;
mod pinned;
mod plan;
mod reach;
mod refs;
mod request;
mod rewrite;
mod schema;
mod schema_cost;
mod settings;
mod step;
mod toolbox;
mod undeclared;
mod unreadable;

use ptc_core::limits::{MAX_TURNS, MISSION_TIMEOUT, TOKEN_LIMIT};
use ptc_core::value::Json;

pub use builder::AgentBuilder;
pub use bundled_examples::{BUNDLED, BUNDLED_PIPELINES, BundledExample};
pub use case::{
    Case, CaseChecker, CaseRows, CheckedCase, Expect, Judgement, JudgesUsage, Measure, Mismatch, Question, Rubric,
    RubricExample, Ruling, Verdict, Vote,
};
pub use context::Context;
pub(crate) use context::open_params;
pub use definitions::definition_error;
pub use delegate::{DelegatedTurn, DelegatedUsage, Delegation, DelegationError};
pub use diagnostic::{Diagnostic, Fix, Place, Severity};
pub use draft::{DraftTexts, diagnose, diagnose_knowing, locate};
pub use edited::{Inputs, edited_start, error_messages};
pub use fixes::set_option;
pub(crate) use fold::HISTORY;
pub use fold::StepFold;
pub use input_file::{InputFile, NamedResource};
pub(crate) use keys::is_key;
pub use keys::reference;
pub use lint::{LintInputs, lint};
pub use mode::{Mode, Variant};
pub use plan::Plan;
pub use reach::{INPUT, InputReach, Reach};
pub use refs::{Ref, RefSource};
pub use request::{RequestMessage, SentCall, SentRequest};
pub use schema::RawSchema;
pub use settings::{Compaction, Completion, Format, MemoryStrategy, Settings, Transport};
pub use step::{CallEntry, QuestionEntry, Step, Turn, Usage};

use crate::event::Options;

/// The definition of an agent. Everything is as written; nothing is checked yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Output mode.
    pub mode: Mode,
    /// Alias from the configuration, or `provider:model`.
    pub model: Option<String>,
    /// The mission: a template.
    pub prompt: String,
    /// Its signature: inputs and output.
    pub signature: Option<String>,
    /// A JSON Schema of its own instead of the derived one.
    pub schema: Option<Json>,
    /// Limit `max_turns`.
    pub max_turns: u32,
    /// Limit `mission_timeout_ms`.
    pub mission_timeout_ms: Option<u64>,
    /// Limit `token_limit`.
    pub token_limit: Option<u64>,
    /// The allowed repairs of a reply: strict, standard, lenient; absent = strict in `json_loop`, else standard.
    pub recovery: Option<String>,
    /// The validation of inputs: enabled, `warn_only`, strict, disabled.
    pub signature_validation: String,
    /// Ask the provider to cache the prompt.
    pub cache: bool,
    /// Text before and after the mode's system card.
    pub system_prompt: SystemPrompt,
    /// Descriptions of output fields.
    pub field_descriptions: Vec<(String, String)>,
    /// Descriptions of inputs.
    pub context_descriptions: Vec<(String, String)>,
    /// The context that is used when none is given: a JSON object.
    pub context: Json,
    /// The files that its contexts name, read with it; no part of what is written.
    pub files: Vec<InputFile>,
    /// Model options.
    pub model_options: Options,
    /// The declared tools, as written.
    pub tools: Vec<Tool>,
    /// Sections `[modes.x]` as written: keys that replace others in that mode. In the order of [`Mode::ALL`].
    pub modes: Vec<(Mode, Json)>,
    /// Options of the modes as written, in the order of their table; [`Settings`] has their types.
    pub options: Vec<(String, Json)>,
}

impl Agent {
    /// The limits of its runs that are on: name and value.
    pub fn limits(&self) -> Vec<(String, u64)> {
        let turns = (MAX_TURNS.name, Some(u64::from(self.max_turns)));
        let others = [(MISSION_TIMEOUT.name, self.mission_timeout_ms), (TOKEN_LIMIT.name, self.token_limit)];
        let all = std::iter::once(turns).chain(others);
        all.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Returns whether its model writes programs, so that its runs have definitions.
    pub fn has_programs(&self) -> bool {
        self.mode.is_program() || checks::is_combined(self)
    }
}

/// A tool as declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its table: a JSON object.
    pub definition: Json,
}

/// The text around the system card of the mode, and replacements of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPrompt {
    /// Replaces the card, all parts of it.
    pub replace: Option<String>,
    /// The text before it.
    pub prefix: Option<String>,
    /// For agents with programs: `full` or `none` as the option `reference`, or the text that describes the language.
    pub language_spec: Option<String>,
    /// In `ptc_lisp`: how a reply is to look.
    pub output_format: Option<String>,
    /// The text after it.
    pub suffix: Option<String>,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            name: "agent".to_owned(),
            description: None,
            mode: Mode::PtcLisp,
            model: None,
            prompt: String::new(),
            signature: None,
            schema: None,
            max_turns: MAX_TURNS.usual(),
            mission_timeout_ms: None,
            token_limit: None,
            recovery: None,
            signature_validation: "enabled".to_owned(),
            cache: false,
            system_prompt: SystemPrompt::default(),
            field_descriptions: Vec::new(),
            context_descriptions: Vec::new(),
            context: Json::empty(),
            files: Vec::new(),
            model_options: Options::default(),
            tools: Vec::new(),
            modes: Vec::new(),
            options: Vec::new(),
        }
    }
}
