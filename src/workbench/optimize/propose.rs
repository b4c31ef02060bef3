//! The proposer: a run of a model that reads failed runs and writes another text for a part of the agent.
//!
//! In: the agent with a candidate's texts, the component, reports about runs of training cases. Out: a [`Proposal`]. The content of the
//! runs is an input of the proposer's agent, which marks it as untrusted. It must never read a case outside of the training part.

use std::sync::Arc;

use ptc_core::value::Json;
use serde_json::{Value, json};

use super::components::{Component, check};
use super::examples::Example;
use super::journal::Proposal;
use crate::agent::{Agent, Case, Context, Mode, Step, StepFold, Turn, Verdict};
use crate::port::{NoUser, Stop};
use crate::session::Session;
use crate::workbench::run::Origin;
use crate::workbench::session_saver::settled;
use crate::workbench::{BackgroundRun, RunSpec, Workbench};

/// The prompt of the proposer.
const PROMPT: &str = include_str!("../../../assets/prompts/optimize.md");
/// Maximum length of a text of a run in a report, in bytes.
const MOST_TEXT: usize = 4_000;
/// Rule for a text that is a template.
pub(super) const KEEP_VARIABLES: &str = "Keep every variable in double braces exactly as it is.";
/// Maximum number of turns of a run in a report: the last ones.
const MOST_TURNS: usize = 4;

/// Request for a proposal.
pub(super) struct Request<'r> {
    /// The candidate to change.
    pub(super) parent: usize,
    /// The text to change.
    pub(super) component: Component,
    /// The current text.
    pub(super) text: &'r str,
    /// Reports about runs that failed.
    pub(super) failures: Vec<Value>,
    /// Reports about runs that passed.
    pub(super) passes: Vec<Value>,
}

/// Answer of a proposer.
pub(super) struct ProposerAnswer {
    /// The Step of its run.
    pub(super) step: Step,
    /// Id of its session.
    pub(super) session: Option<String>,
    /// Number of requests to models.
    pub(super) calls: u64,
    /// The cost that was paid now, as far as it is known.
    pub(super) cost: f64,
}

/// Failure of asking a proposer, with the usage up to then.
pub(super) struct ProposerFailure {
    /// The reason.
    pub(super) why: String,
    /// Number of requests to models.
    pub(super) calls: u64,
    /// The cost that was paid now, as far as it is known.
    pub(super) cost: f64,
}

impl ProposerFailure {
    fn before_any_request(why: &impl ToString) -> Self {
        Self { why: why.to_string(), calls: 0, cost: 0.0 }
    }
}

impl Workbench {
    /// Runs a proposing agent in a session of its own; `None` when it was stopped. `trial` names the run for the cache of replies. Errors:
    /// the model could not be asked, so that there is no answer to judge.
    pub(super) async fn ask_proposer(
        &self,
        agent: Agent,
        model: Option<&str>,
        (inputs, trial): (&Value, String),
        stop: &Stop,
    ) -> Result<Option<ProposerAnswer>, ProposerFailure> {
        let inputs = json_of(inputs).map_err(|why| ProposerFailure::before_any_request(&why))?;
        let spec = RunSpec {
            agent,
            model: model.map(str::to_owned),
            context: Some(Context::from(inputs)),
            human: Arc::new(NoUser),
            save: true,
            seed: 0,
            journal: None,
        };
        let workbench = self.for_trial(trial);
        let started = workbench.unattended().start_in(spec, Origin::default(), stop.child());
        let BackgroundRun { session, saver, task, .. } =
            started.map_err(|why| ProposerFailure::before_any_request(&why))?;
        let ended = task.await;
        let saved = settled(saver).await;
        if stop.reason().is_some() {
            return Ok(None);
        }
        let step = ended.map_err(|why| ProposerFailure::before_any_request(&why))?;
        let calls = u64::from(step.usage.total.turns);
        let cost = workbench.taken_from_cache().spent(step.usage.total.cost());
        let failure = |why: String| ProposerFailure { why, calls, cost };
        saved.map_err(failure)?;
        if let Some(fail) = step.fail.as_ref().filter(|fail| Case::is_untried(fail)) {
            return Err(failure(format!("{}: {}", fail.reason, fail.message)));
        }
        Ok(Some(ProposerAnswer { step, session, calls, cost }))
    }

    /// Requests another text; `None` when it was stopped. An answer that cannot be used is a proposal without a text. Errors: the proposer
    /// could not be asked, and the search can be continued.
    pub(super) async fn propose(
        &self,
        agent: &Agent,
        model: Option<&str>,
        (request, trial): (Request<'_>, String),
        stop: &Stop,
    ) -> Result<Option<Proposal>, ProposerFailure> {
        let Request { parent, component, text, failures, passes } = request;
        let signature = agent.signature.clone().unwrap_or_default();
        let rules = match component {
            Component::Prompt => KEEP_VARIABLES,
            _ => "",
        };
        let inputs = json!({
            "component": component.to_string(), "rules": rules, "text": text, "signature": signature,
            "failed_runs": failures, "passed_runs": passes,
        });
        let Some(asked) = self.ask_proposer(proposer(), model, (&inputs, trial), stop).await? else { return Ok(None) };
        let ProposerAnswer { step, session, calls, cost } = asked;
        let (text, reason) = match answer(&step) {
            Ok((new, reason)) => match check(agent, &component, text, &new) {
                Ok(()) => (Some(new), reason),
                Err(why) => (None, why),
            },
            Err(why) => (None, why),
        };
        Ok(Some(Proposal { parent, component, text, reason, session, calls, cost }))
    }
}

/// Converts a JSON value to the inputs of a run.
pub(super) fn json_of(value: &Value) -> Result<Json, String> {
    ptc_core::value::json::parse(&value.to_string()).map_err(|error| error.message)
}

/// Returns the proposer's agent.
fn proposer() -> Agent {
    let described = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    Agent {
        name: "proposer".to_owned(),
        description: Some("Proposes another text for a part of an agent.".to_owned()),
        mode: Mode::Json,
        prompt: PROMPT.trim_end().to_owned(),
        signature: Some(
            "(component :string, rules :string, text :string, signature :string, failed_runs [:any], passed_runs [:any]) -> {reason :string, text :string}"
                .to_owned(),
        ),
        field_descriptions: vec![described("text", "the complete new text")],
        context_descriptions: vec![
            described("text", "the current text"),
            described("signature", "inputs and outputs of the agent; it does not change"),
            described("failed_runs", "inputs, last turns and answer of runs, with the problems that were found"),
            described("passed_runs", "runs whose answers are right"),
        ],
        ..Agent::default()
    }
}

/// Returns the text and the reason of a proposer's run.
fn answer(step: &Step) -> Result<(String, String), String> {
    let failed = || step.fail.as_ref().map_or_else(String::new, |fail| format!(": {}", fail.message));
    let answer = step.answer.as_ref().ok_or_else(|| format!("the proposer gave no answer{}", failed()))?;
    let text = |key: &str| answer.get(key).and_then(Json::as_str).map(str::to_owned);
    match (text("text"), text("reason")) {
        (Some(text), reason) => Ok((text, reason.unwrap_or_default())),
        _ => Err("the proposer's answer has no text".to_owned()),
    }
}

/// Returns the proposer's report about a run of a training case: inputs, last turns, answer, problems.
pub(super) fn report(agent: &Agent, case: &Case, verdict: &Verdict, step: Option<&Step>) -> Value {
    let mut report = json!({ "inputs": cut(&case.inputs(agent).to_text()) });
    if let Some(step) = step {
        report["answer"] = answered(step).into();
        report["turns"] = turns(&step.turns);
    }
    report["problems"] = verdict.lines().iter().map(|line| Value::from(cut(line))).collect();
    report
}

/// Returns the run of a training case as an example if it passed with its first reply, without repairs.
pub(super) fn example(agent: &Agent, case: &Case, verdict: &Verdict, step: &Step) -> Option<Example> {
    match step.turns.as_slice() {
        [only] if verdict.is_pass() && only.success && only.fixes.is_empty() => {
            Example::new(&case.inputs(agent).to_text(), &only.raw_response)
        }
        _ => None,
    }
}

/// Returns the Step of a session with one run.
pub(super) fn step_of(session: &Session) -> Step {
    let mut fold = StepFold::default();
    session.events().for_each(|envelope| fold.apply(&envelope));
    fold.step()
}

/// Returns the answer of a run, or the message of its failure.
pub(super) fn answered(step: &Step) -> Option<String> {
    let answer = step.answer.as_ref().map(|answer| cut(&answer.to_text()));
    answer.or_else(|| step.fail.as_ref().map(|fail| cut(&fail.message)))
}

/// Returns the last of these turns, each with reply, problems and error.
pub(super) fn turns(turns: &[Turn]) -> Value {
    let last = turns.iter().skip(turns.len().saturating_sub(MOST_TURNS));
    let one = |turn: &Turn| {
        let problems: Vec<String> = turn.issues.iter().map(|issue| issue.message.clone()).collect();
        json!({ "reply": cut(&turn.raw_response), "problems": problems, "error": turn.error.as_ref().map(|error| &error.message) })
    };
    last.map(one).collect()
}

/// Returns the beginning of a text of a run.
pub(super) fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(MOST_TEXT);
    if end < text.len() { format!("{} … ({} bytes)", &text[..end], text.len()) } else { text.to_owned() }
}
