//! Replies of the run's model for a tool during its call: each is a child run of one turn, recorded as a call next to that of the tool.
//!
//! In: the request of a tool. Out: the reply, or why there is none; its tokens and costs count as those of a child agent. A replay repeats
//! the child runs from the recording, without the tool. It must never ask a model that a user has not allowed: the tool asks before.

use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use ptc_core::value::json::Node;
use ptc_core::value::{Json, Value};

use super::state::{CallState, Driver, Halt};
use crate::agent::{Agent, Mode, Plan, SystemPrompt};
use crate::engine::modes::ToolResult;
use crate::event::{Address, CallStatus, ErrorRecord, JsonText, Options, ToolCall, ToolEnd};
use crate::tool::{Kind, Returns, SamplePrompt, SampleReply, Tool, ToolSample, plain_text};

/// The kind of the recorded call.
const KIND: &str = "llm";
/// Numbers of such calls for each call of a turn.
const PER_CALL: u32 = 1_000_000;
/// The parameter of the child agent.
const REQUEST: &str = "request";

impl Driver<'_> {
    /// Asks the model for a tool, and gives the tool the reply.
    pub(super) async fn sample_for_tool(
        &self,
        at: &Address,
        state: &mut CallState,
        asked: ToolSample,
    ) -> Result<(), Halt> {
        let ToolSample { prompt, answer } = asked;
        let place = place(at, state.next);
        state.next += 1;
        let reply = match place {
            Some(_) if self.plan.agent.program().is_some() && self.plan.agent.model.is_none() => {
                Err(ErrorRecord::new(Reason::ToolError, "the program of this agent is pinned, and it names no model"))
            }
            Some(place) => self.sample(&place, &prompt.name, &arguments(&prompt)).await?,
            None => Err(ErrorRecord::new(Reason::ToolError, "this turn has too many calls")),
        };
        let model = self.pinned_model().unwrap_or_else(|| self.ports.model.info().id);
        let reply = reply.map(|value| SampleReply { text: plain_text(&value), model }).map_err(|record| record.message);
        // A call that has ended meanwhile needs no reply.
        _ = answer.send(reply);
        Ok(())
    }

    /// Repeats the reply with this number that a recording holds; `false`: it holds none.
    pub(super) async fn repeat_sample(&self, at: &Address, number: u32) -> Result<bool, Halt> {
        let Some(place) = place(at, number) else { return Ok(false) };
        let Some(call) = self.ports.history.begun_call(&place) else { return Ok(false) };
        _ = self.sample(&place, &call.name, &call.args.value()).await?;
        Ok(true)
    }

    /// Runs the child agent of a reply, and records it as a call.
    /// Boxed here, so that the future of every call does not have the size of one that runs a child.
    fn sample<'a>(
        &'a self,
        at: &'a Address,
        name: &'a str,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolResult, Halt>> {
        Box::pin(self.run_sample(at, name, args))
    }

    async fn run_sample(&self, at: &Address, name: &str, args: &Value) -> Result<ToolResult, Halt> {
        self.count_call(&self.ports.history.call(at));
        let args_text = JsonText::of(&Json::from(args));
        self.emit(at, ToolCall { name: name.to_owned(), kind: KIND.to_owned(), args: args_text, effectful: false })
            .await?;
        let agent = self.sampled_agent(name, args);
        let tool = tool(name);
        let result = match Plan::new(&agent) {
            Ok(plan) => {
                let input = Value::map([(Value::str(REQUEST), args.lookup(REQUEST).cloned().unwrap_or_default())]);
                match self.run_child(at, &tool, &plan, &input).await {
                    Err(Halt::Wait(_)) => Err(ErrorRecord::new(Reason::ToolError, "the model has no reply now")),
                    other => other?,
                }
            }
            Err(findings) => {
                let messages: Vec<_> = findings.iter().filter(|f| f.is_error()).map(|f| f.message.as_str()).collect();
                Err(ErrorRecord::new(Reason::ToolError, messages.join("; ")))
            }
        };
        let end = ToolEnd {
            status: if result.is_ok() { CallStatus::Ok } else { CallStatus::Error },
            result: result.as_ref().ok().map(|value| JsonText::of(&Json::from(value))),
            error: result.as_ref().err().cloned(),
            ..ToolEnd::default()
        };
        self.emit(at, end).await?;
        Ok(result)
    }

    /// The model that replies where a pinned program answers the run's own requests.
    fn pinned_model(&self) -> Option<String> {
        self.plan.agent.program()?;
        self.plan.agent.model.clone()
    }

    /// The agent of a reply: the system prompt and the text of the request, with the options of the run's agent within those of the
    /// request.
    fn sampled_agent(&self, name: &str, args: &Value) -> Agent {
        let json = Json::from(args);
        let own = &self.plan.agent.model_options;
        let asked_tokens = json.get("max_tokens").and_then(|value| match value.node {
            Node::Int(number) => u64::try_from(number).ok(),
            _ => None,
        });
        let stop = json.get("stop").and_then(Json::items).unwrap_or_default().iter().filter_map(Json::as_str);
        let model_options = Options {
            max_tokens: [own.max_tokens, asked_tokens].into_iter().flatten().min(),
            temperature: json.get("temperature").and_then(number).or(own.temperature),
            stop: stop.map(ToOwned::to_owned).collect(),
            ..own.clone()
        };
        let system = json.get("system").and_then(Json::as_str).map(ToOwned::to_owned);
        Agent {
            name: name.to_owned(),
            mode: Mode::Text,
            model: self.pinned_model(),
            prompt: format!("{{{{{REQUEST}}}}}"),
            signature: Some(format!("({REQUEST} :string) -> :string")),
            max_turns: 1,
            system_prompt: SystemPrompt { replace: system, ..SystemPrompt::default() },
            model_options,
            options: self.plan.agent.inherited(),
            ..Agent::default()
        }
    }
}

fn number(value: &Json) -> Option<f64> {
    match &value.node {
        Node::Float(number) => Some(*number),
        Node::Int(number) => i32::try_from(*number).ok().map(f64::from),
        _ => None,
    }
}

/// The arguments of the recorded call: all that the child agent is made of.
fn arguments(prompt: &SamplePrompt) -> Value {
    let mut all = Json::empty().with(REQUEST, Json::str(&prompt.text));
    if let Some(system) = &prompt.system {
        all = all.with("system", Json::str(system));
    }
    all = all.with("max_tokens", Json::from(i64::try_from(prompt.max_tokens).unwrap_or(i64::MAX)));
    if let Some(temperature) = prompt.temperature {
        all = all.with("temperature", Json::from(temperature));
    }
    if !prompt.stop.is_empty() {
        all = all.with("stop", Json::list(prompt.stop.iter().map(Json::str)));
    }
    all.to_value()
}

/// The address of a reply: a call of the same turn or branch, with a number that no call of a program or a model has.
fn place(call: &Address, number: u32) -> Option<Address> {
    let (parent, own) = call.as_str().rsplit_once("/c")?;
    let first = own.parse::<u32>().ok()?.checked_add(1)?.checked_mul(PER_CALL)?;
    Some(Address::from(parent).call(first.checked_add(number)?))
}

fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        signature_text: None,
        signature: None,
        parameters: None,
        custom: None,
        description: None,
        cache: false,
        expose: None,
        timeout_ms: None,
        returns: Returns::Answer,
        kind: Kind::Llm(Json::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_have_addresses_of_their_own_next_to_the_call() {
        let turn = Address::run(0).turn(2);
        assert_eq!(place(&turn.call(0), 1_000).unwrap().as_str(), "r0/t2/c1001000");
        assert_eq!(place(&turn.branch(1, 2).call(3), 1_001).unwrap().as_str(), "r0/t2/p1.2/c4001001");
        assert_eq!(place(&turn.call(u32::MAX), 0), None);
    }
}
