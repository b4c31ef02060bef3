//! The proposer: a run of a model that reads failed runs and writes another text for a part of the agent.
//!
//! In: the agent with a candidate's texts, the component, reports about runs of training cases. Out: a [`Proposal`]. What the runs contain is an input of
//! the proposer's agent, which marks it as untrusted. It must never read a case that is not of the training part.

use std::sync::Arc;

use ptc_core::value::Json;
use serde_json::{Value, json};

use super::OptimizeError;
use super::components::{Component, check};
use super::journal::Proposal;
use crate::agent::{Agent, Case, Context, Mode, Step, StepFold, Verdict};
use crate::port::{Nobody, Stop};
use crate::session::Session;
use crate::workbench::run::Origin;
use crate::workbench::saving::settled;
use crate::workbench::{RunSpec, Running, Workbench};

/// The mission of the proposer.
const PROMPT: &str = include_str!("../../../assets/prompts/optimize.md");
/// Longest text of a run in a report, in bytes.
const MOST_TEXT: usize = 4_000;
/// Most turns of a run in a report: the last ones.
const MOST_TURNS: usize = 4;

/// What is asked of the proposer.
pub(super) struct Request<'r> {
    /// The candidate that is changed.
    pub(super) parent: usize,
    /// Which text.
    pub(super) component: Component,
    /// The text.
    pub(super) text: &'r str,
    /// Reports about runs that failed, and about ones that passed.
    pub(super) failures: Vec<Value>,
    /// The same of runs that passed.
    pub(super) passes: Vec<Value>,
}

impl Workbench {
    /// Asks for another text. An answer that cannot be used is a proposal without a text. `None`: it was stopped. Errors: the proposer could not be asked; nothing
    /// is known then, and the search can be continued.
    pub(super) async fn propose(
        &self,
        agent: &Agent,
        model: Option<&str>,
        request: Request<'_>,
        stop: &Stop,
    ) -> Result<Option<Proposal>, OptimizeError> {
        let Request { parent, component, text, failures, passes } = request;
        let signature = agent.signature.clone().unwrap_or_default();
        let rules = match component {
            Component::Prompt => "Keep every variable in double braces exactly as it is.",
            _ => "",
        };
        let inputs = json!({
            "component": component.to_string(), "rules": rules, "text": text, "signature": signature,
            "failed_runs": failures, "passed_runs": passes,
        });
        let unasked = |why: String| {
            OptimizeError(format!("the proposer could not be asked: {why}; the same command continues the search"))
        };
        let inputs = ptc_core::value::json::parse(&inputs.to_string()).map_err(|error| unasked(error.to_string()))?;
        let spec = RunSpec {
            agent: proposer(),
            model: model.map(str::to_owned),
            context: Some(Context::from(inputs)),
            person: Arc::new(Nobody),
            save: true,
            seed: 0,
            journal: None,
        };
        let started = self.unattended().start_in(spec, Origin::default(), stop.child());
        let Running { session, saving, task, .. } = started.map_err(|error| unasked(error.to_string()))?;
        let ended = task.await;
        let saved = settled(saving).await;
        if stop.reason().is_some() {
            return Ok(None);
        }
        saved.map_err(unasked)?;
        let step = ended.map_err(|error| unasked(error.to_string()))?;
        if let Some(fail) = step.fail.as_ref().filter(|fail| Case::is_untried(fail)) {
            return Err(unasked(format!("{}: {}", fail.reason, fail.message)));
        }
        let (calls, cost) = (u64::from(step.usage.total.turns), step.usage.total.cost().unwrap_or(0.0));
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

/// The agent that proposes.
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

/// The text and the reason of a proposer's run.
fn answer(step: &Step) -> Result<(String, String), String> {
    let failed = || step.fail.as_ref().map_or_else(String::new, |fail| format!(": {}", fail.message));
    let answer = step.answer.as_ref().ok_or_else(|| format!("the proposer gave no answer{}", failed()))?;
    let text = |key: &str| answer.get(key).and_then(Json::as_str).map(str::to_owned);
    match (text("text"), text("reason")) {
        (Some(text), reason) => Ok((text, reason.unwrap_or_default())),
        _ => Err("the proposer's answer has no text".to_owned()),
    }
}

/// What the proposer reads about a run of a training case: inputs, last turns, answer, and what is wrong with it.
pub(super) fn report(agent: &Agent, case: &Case, verdict: &Verdict, session: Option<&Session>) -> Value {
    let step = session.map(|session| {
        let mut fold = StepFold::default();
        session.events().for_each(|envelope| fold.apply(&envelope));
        fold.step()
    });
    let cut = |text: &str| {
        let end = text.floor_char_boundary(MOST_TEXT);
        if end < text.len() { format!("{} … ({} bytes)", &text[..end], text.len()) } else { text.to_owned() }
    };
    let mut report = json!({ "inputs": cut(&case.inputs(agent).to_text()) });
    if let Some(step) = &step {
        let answer = step.answer.as_ref().map(|answer| cut(&answer.to_text()));
        let failure = step.fail.as_ref().map(|fail| cut(&fail.message));
        let turns = step.turns.iter().skip(step.turns.len().saturating_sub(MOST_TURNS)).map(|turn| {
            let problems: Vec<String> = turn.issues.iter().map(|issue| issue.message.clone()).collect();
            json!({ "reply": cut(&turn.raw_response), "problems": problems, "error": turn.error.as_ref().map(|error| &error.message) })
        });
        report["answer"] = answer.or(failure).into();
        report["turns"] = turns.collect();
    }
    report["problems"] = verdict.lines().iter().map(|line| Value::from(cut(line))).collect();
    report
}
