//! Drafts in the editors: diagnostics of their texts, and a summary of a run of them.
//!
//! In: the texts. Out: findings and a [`DraftSummary`]. Pure, apart from the state of models. It must never start anything.

use ptc_core::signature::Type;

use super::{ModelLine, ModelState, PipelineOutline, RequestPart, Workbench};
use crate::agent::{Agent, Diagnostic, DraftTexts, Fix, Mode, Plan, set_option};
use crate::model::FAULTS;
use crate::workbench::AgentFile;

/// The model that generates data and, on request, faults.
const SAMPLE: &str = "sample";
/// Models that are offered at the same time.
const MOST_MODELS: usize = 12;

/// An agent in the editors, or a pipeline in their place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenAgent {
    /// Its texts; of a pipeline those of its first step.
    pub texts: DraftTexts,
    /// Its file; `None` when it is an example, new, from a session, or a pipeline: saving asks for a path.
    pub file: Option<AgentFile>,
    /// The pipeline.
    pub pipeline: Option<PipelineOutline>,
    /// Reason why it cannot run although it is open: its files were not stored.
    pub problem: Option<String>,
}

/// Summary of the agent that the texts of a draft define, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DraftSummary {
    /// The agent's name.
    pub name: String,
    /// The mode's name.
    pub mode: String,
    /// The model as it will be used.
    pub model: String,
    /// Limit of turns.
    pub max_turns: u32,
    /// Number of fields that the signature returns; `None` when it cannot be read.
    pub fields: Option<usize>,
    /// Names of its tools; `None` while servers may offer more.
    pub tools: Option<Vec<String>>,
    /// The models that can be used now, each as the change of the options that chooses it.
    pub models: Vec<Fix>,
    /// Parts of the first request; empty when the texts do not define one.
    pub sent: Vec<RequestPart>,
    /// Limits of the provider's protocol for this request, as text.
    pub limits: Vec<String>,
}

impl Workbench {
    /// Returns every finding about the texts and their summary; `models` are offered where the model is unknown.
    pub fn check_draft(&self, texts: &DraftTexts, models: &[Fix]) -> (Vec<Diagnostic>, DraftSummary) {
        let mut findings = self.diagnose(texts);
        findings.extend(self.secrets(texts));
        let Ok(agent) = texts.to_agent_with(&Agent::default(), self.file_access()) else {
            return (findings, DraftSummary::default());
        };
        let unknown = self.check_model(&agent);
        findings.extend(unknown.map(|finding| Diagnostic { fixes: models.to_owned(), ..finding }));
        let plan = agent.for_mode(agent.mode).ok().and_then(|agent| Plan::new(&agent).ok());
        let fields = plan.as_ref().and_then(|plan| plan.signature.output.as_ref()).map(|output| match output {
            Type::Record { fields, .. } => fields.len(),
            _ => 1,
        });
        let is_open = texts.tools.contains("mcp") || texts.options.contains("mcp");
        let names =
            plan.as_ref().filter(|_| !is_open).map(|plan| plan.tools.iter().map(|tool| tool.name.clone()).collect());
        let (sent, limits) =
            self.preview(&agent, None, None).map(|made| (made.parts(), made.limits)).unwrap_or_default();
        let summary = DraftSummary {
            name: agent.name.clone(),
            mode: match plan.as_ref().filter(|plan| plan.agent.mode == Mode::Text) {
                Some(plan) => format!("text ({})", plan.variant.name()),
                None => agent.mode.name().to_owned(),
            },
            model: self.model_name(None, &agent),
            max_turns: agent.max_turns,
            fields,
            tools: names,
            models: models.to_owned(),
            sent,
            limits,
        };
        (findings, summary)
    }

    /// Returns the models that can be used now, each as the change of these options that chooses it.
    pub fn model_choices(&self, options: &str) -> Vec<Fix> {
        // A name in capitals is a placeholder that only the developer knows.
        let whole = |line: &&ModelLine| line.state == ModelState::Ready && !line.name.contains(char::is_uppercase);
        let choice = |line: &ModelLine| {
            let title = format!("use the model {}: {}", line.name, line.note.split(';').next()?);
            set_option(options, "model", &line.name, title)
        };
        let mut choices: Vec<Fix> = self.models().iter().filter(whole).take(MOST_MODELS).filter_map(choice).collect();
        let written = format!("\"{SAMPLE}\"");
        if let Some(sample) = choices.iter().find(|choice| choice.text.contains(&written)).cloned() {
            choices.extend(FAULTS.iter().map(|(_, name, meaning)| Fix {
                title: format!("use the model {SAMPLE}:{name}: {}", meaning.trim_end_matches('.')),
                text: sample.text.replace(&written, &format!("\"{SAMPLE}:{name}\"")),
                ..sample.clone()
            }));
        }
        choices
    }
}
