//! Refs: named parts of the answer, taken by path or expression, and requested again when they are missing.
//!
//! In: the agent's refs, an answer, the outcomes of the expressions. Out: the values, or which of them are missing.

use ptc_core::lisp::Outcome;
use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Value};

use super::decision::{Effects, RunAnswer};
use crate::agent::{Plan, Ref, RefSource};
use crate::event::{ErrorRecord, MessagePart};
use crate::program::{Job, expression, path};
use crate::prompt::json as texts;

/// The refs of a run.
#[derive(Debug)]
pub(super) struct Refs {
    /// Messages that may still ask for missing ones.
    retries: u32,
}

/// An answer without required refs: the failure, and the message that asks for them when one may still be sent.
pub(super) type MissingRefs = (ErrorRecord, Option<Vec<MessagePart>>);

impl Refs {
    /// Of a run of this plan that has not answered yet.
    pub(super) fn new(plan: &Plan) -> Self {
        Self { retries: plan.settings.ref_retries }
    }

    /// The expressions that must be evaluated before [`Self::take`], in the order of the refs.
    pub(super) fn jobs(plan: &Plan, answer: &Json) -> Vec<Job> {
        let sources = plan.settings.refs.iter().filter_map(|one| match &one.source {
            RefSource::Expression(source) => Some(source),
            RefSource::Path(_) => None,
        });
        let sources: Vec<&String> = sources.collect();
        if sources.is_empty() {
            return Vec::new();
        }
        let result = answer.to_value();
        sources.into_iter().map(|source| expression::job(source, &result)).collect()
    }

    /// Takes the refs from the answer and warns of optional ones without a value. `outcomes`: those of [`Self::jobs`].
    pub(super) fn take(
        &mut self,
        plan: &Plan,
        answer: RunAnswer,
        outcomes: Vec<Outcome>,
        effects: &mut Effects,
    ) -> Result<RunAnswer, Box<MissingRefs>> {
        let refs = &plan.settings.refs;
        if refs.is_empty() {
            return Ok(answer);
        }
        let result = answer.value.to_value();
        let mut outcomes = outcomes.into_iter();
        let mut values: Vec<(String, Json)> = Vec::new();
        let mut missing: Vec<&Ref> = Vec::new();
        let (mut names, mut warnings) = (Vec::new(), Vec::new());
        for one in refs {
            let found = match &one.source {
                RefSource::Path(place) => Ok(path::at(&result, place)),
                RefSource::Expression(source) => match outcomes.next() {
                    Some(outcome) => expression::value(source, outcome).map_err(|error| error.message()),
                    None => Err("it was not evaluated".to_owned()),
                },
            };
            let value = found.as_ref().map_or(Value::Nil, Value::clone);
            if value.is_nil() && !one.optional {
                missing.push(one);
                let why = found.err().map(|problem| format!(" (its expression failed: {problem})"));
                names.push(format!("{}{}", one.name, why.unwrap_or_default()));
            } else if let Err(problem) = found {
                warnings.push(format!("the ref {} is nil: its expression failed: {problem}", one.name));
            }
            values.push((one.name.clone(), Json::from(&value)));
        }
        if missing.is_empty() {
            for text in warnings {
                effects.warn(text);
            }
            return Ok(RunAnswer { refs: Some(Json::object(values)), ..answer });
        }
        let record = ErrorRecord::new(Reason::MissingRefs, format!("the answer is missing: {}", names.join(", ")));
        let parts = (self.retries > 0).then(|| texts::ask_again(plan, &missing, &answer.value));
        self.retries = self.retries.saturating_sub(1);
        Err(Box::new((record, parts)))
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;
    use crate::agent::Agent;

    fn taken(refs: &str, answer: &str) -> Result<RunAnswer, Box<MissingRefs>> {
        let toml = format!("mode = \"json\"\nprompt = \"go\"\nsignature = \"[:int]\"\n[refs]\n{refs}\n");
        let plan = Plan::new(&Agent::from_toml(&toml, "test.toml").unwrap()).unwrap();
        let answer = json::parse(answer).unwrap();
        let outcomes = Refs::jobs(&plan, &answer).iter().map(Job::evaluate).collect();
        Refs::new(&plan).take(&plan, answer.into(), outcomes, &mut Effects::default())
    }

    #[test]
    fn an_expression_sees_the_result_and_a_broken_one_is_an_error() {
        let refs = taken("n = { expr = \"(count result)\" }", "[1,2,3]").unwrap().refs.unwrap();
        assert_eq!(refs.to_text(), r#"{"n":3}"#);
        let (record, parts) = *taken("n = { expr = \"(/ 1 0)\" }", "[1]").unwrap_err();
        assert!(record.message.contains("zero") && parts.is_some(), "{}", record.message);
    }
}
