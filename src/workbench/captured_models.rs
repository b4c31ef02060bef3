//! Captured agents and the models that run them: members of the body are for the protocol of the captured request only.
//!
//! In: a captured agent, the name of a model. Out: the agent for that model, the differences to the captured request, runs that report them.

use ptc_core::value::Json;

use super::captured_agent::{CapturedAgent, FileNaming, captured_agent};
use super::run::Origin;
use super::{BackgroundRun, RunSpec, StartError, Workbench};
use crate::agent::Agent;
use crate::config::ModelChoice;
use crate::event::{Address, ErrorRecord, JsonText};
use crate::model::{frame_differences, message_differences};
use crate::port::Stop;
use crate::session::Session;

impl Workbench {
    /// Returns the agent of the request of a turn, with the `extra_body` for its model.
    ///
    /// Errors: the session was not captured, or has no request there.
    pub fn captured_agent(
        &self,
        session: &Session,
        turn: &Address,
        name: &str,
        naming: FileNaming,
    ) -> Result<CapturedAgent, ErrorRecord> {
        let mut captured = captured_agent(session, turn, name, naming)?;
        let model = captured.model.clone().unwrap_or_else(|| self.config.default_model.clone());
        match self.choose(&model) {
            Ok(choice) => {
                let (extra, left_out) = extra_for(&captured, &choice);
                captured.differences.extend(left_out);
                captured = captured.with_extra_body(extra);
            }
            Err(error) => captured.differences.push(format!("the model {model} cannot be used here: {error}")),
        }
        // Files that are named by their records need not exist when the body is made.
        let by_record = match naming {
            FileNaming::Name if !captured.files.is_empty() => {
                let agent = captured_agent(session, turn, name, FileNaming::Record)?;
                Some(agent.with_extra_body(captured.extra_body.clone()))
            }
            FileNaming::Name | FileNaming::Record => None,
        };
        let agent = Agent::from_toml(&by_record.as_ref().unwrap_or(&captured).text, "captured.toml").ok();
        captured.differences.extend(self.body_differences(&captured, agent.as_ref()));
        Ok(captured)
    }

    /// The differences between the captured body and the one that an agent sends first; if no body can be made, the members that are known
    /// to be missing.
    fn body_differences(&self, captured: &CapturedAgent, agent: Option<&Agent>) -> Vec<String> {
        let sent = agent.and_then(|agent| {
            let model = agent.model.as_deref().unwrap_or(&self.config.default_model);
            match self.choose(model) {
                Ok(ModelChoice::Http(http)) if captured.protocol == Some(http.kind) => {
                    self.preview(agent, None, None).ok()?.body
                }
                _ => None,
            }
        });
        match (sent, captured.protocol) {
            (Some(sent), Some(protocol)) if captured.body.members().is_some() => {
                let mut found = frame_differences(protocol, &captured.body, &sent);
                found.extend(message_differences(protocol, &captured.path, &captured.body, &sent));
                found
            }
            _ if captured.omitted.is_empty() => Vec::new(),
            _ => vec![format!("not sent: {}", captured.omitted.join(", "))],
        }
    }

    /// Returns the agent of a captured request with another model, and the differences between its request and the captured one.
    pub fn captured_with_model(&self, captured: &CapturedAgent, agent: &Agent, model: &str) -> (Agent, Vec<String>) {
        let mut differences = captured.differences.clone();
        let mut agent = Agent { model: Some(model.to_owned()), ..agent.clone() };
        // An unknown model is reported when the run starts.
        if let Ok(choice) = self.choose(model) {
            let (extra, left_out) = extra_for(captured, &choice);
            differences.extend(left_out);
            let has_members = extra.members().is_some_and(|members| !members.is_empty());
            agent.model_options.extra_body = has_members.then(|| JsonText::of(&extra));
        }
        differences.extend(self.body_differences(captured, Some(&agent)));
        (agent, differences)
    }

    /// Starts a run of a captured agent that reports the differences to the captured request as warnings.
    pub fn start_captured(&self, spec: RunSpec, differences: &[String]) -> Result<BackgroundRun, StartError> {
        let notice = |difference: &String| format!("differs from the captured request: {difference}");
        let origin = Origin { notices: differences.iter().map(notice).collect(), ..Origin::default() };
        self.start_in(spec, origin, Stop::default())
    }
}

/// The members of the body that a model gets, and a description of those that it does not get.
fn extra_for(captured: &CapturedAgent, choice: &ModelChoice) -> (Json, Option<String>) {
    let extra = &captured.extra_body;
    let names = |json: &Json| -> Vec<String> {
        json.members().unwrap_or_default().iter().map(|member| member.key.clone()).collect()
    };
    let ModelChoice::Http(model) = choice else { return (extra.clone(), None) };
    if captured.protocol != Some(model.kind) {
        let names = names(extra);
        let without = if names.is_empty() { String::new() } else { format!(", without {}", names.join(", ")) };
        let text = format!("the request is sent with the protocol {}{without}", model.kind.name());
        return (Json::empty(), Some(text));
    }
    match extra.get("options").filter(|options| model.context.is_some() && options.get("num_ctx").is_some()) {
        Some(options) => {
            let options = options.clone().without("num_ctx");
            let rest = extra.clone().without("options");
            let rest = if names(&options).is_empty() { rest } else { rest.with("options", options) };
            (rest, Some("num_ctx is taken from the model's configuration".to_owned()))
        }
        None => (extra.clone(), None),
    }
}
