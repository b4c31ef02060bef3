//! Executes requests for a suggestion: what a model is asked about a turn, and its answer as texts of the draft.
//!
//! In: a session, a turn, the texts of the draft. Out: the request, then the suggested texts. It writes no file; the model's run is a
//! session.

use std::path::Path;

use crate::agent::{Agent, DraftTexts};
use crate::event::{Address, ErrorRecord};
use crate::port::Stop;
use crate::session::Session;
use crate::tui::archive::SuggestedTexts;
use crate::tui::services::wait;
use crate::workbench::Workbench;
use crate::workbench::format::plural;
use crate::workbench::optimize::{OptimizeError, SuggestRequest, SuggestSpec, Suggestion};

use ptc_core::reasons::Reason;

/// Collects what a model is asked. The draft is used instead of the agent file.
pub(super) fn prepare(
    workbench: &Workbench,
    session: &Session,
    turn: Address,
    file: Option<&Path>,
    texts: &DraftTexts,
) -> Result<SuggestRequest, ErrorRecord> {
    let agent = texts.to_agent_with(&Agent::default(), workbench.file_access()).map_err(|found| {
        let found: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        in_words(format!("the draft cannot be read: {}", found.join("; ")))
    })?;
    let name = file.map_or_else(|| format!("{}.toml", agent.name), |file| file.display().to_string());
    let spec = SuggestSpec { turn: Some(turn), file: (name, agent.to_toml()), model: None, problem: None };
    workbench.suggest_request(session, spec).map_err(refused)
}

/// Asks the model. `None`: it was stopped.
pub(super) fn ask(
    workbench: &Workbench,
    request: &SuggestRequest,
    stop: &Stop,
) -> Result<Option<SuggestedTexts>, ErrorRecord> {
    let Some(suggestion) = wait(workbench.suggest(request, stop)).map_err(refused)? else { return Ok(None) };
    let agent = Agent::from_toml_with(suggestion.changes.new_text(), request.file_name(), workbench.file_access());
    let agent = agent.map_err(|error| in_words(error.to_string()))?;
    Ok(Some(SuggestedTexts { texts: DraftTexts::of(&agent), message: message(&suggestion) }))
}

/// The reason, and what it cost.
fn message(suggestion: &Suggestion) -> String {
    let used = suggestion.tokens.map(|tokens| plural(tokens.total(), "token"));
    let cost = suggestion.cost.map(|cost| format!("cost {cost:.4}"));
    let parts: Vec<String> = [Some(suggestion.reason.clone()), used, cost].into_iter().flatten().collect();
    parts.join(" · ")
}

fn refused(error: OptimizeError) -> ErrorRecord {
    in_words(error.0)
}

fn in_words(message: String) -> ErrorRecord {
    ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidAgent, message) }
}
