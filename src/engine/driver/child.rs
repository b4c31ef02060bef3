//! Child agents: a tool call that is a run of its own, with what is left of the shared budgets.
//!
//! In: the call's address, the child's plan and the arguments. Out: what the child returned, or a failure in words.

use ptc_core::reasons::Reason;
use ptc_core::signature;
use ptc_core::value::{Json, Value};

use super::state::{Driver, Halt};
use crate::agent::{Agent, Mode, Plan, Step};
use crate::engine::input::Input;
use crate::engine::modes::ToolResult;
use crate::engine::ports::{ModelSource, Ports};
use crate::event::{Address, ErrorRecord};
use crate::port::Stop;
use crate::tool::{AnswerShaper, Returns, SHAPING_KEYS, Tool, answer_signature, plain_text};

/// Shapes the answer of a question to a model by the `response_template` and the `validator` of its tool.
pub(super) async fn shaped(tool: &Tool, table: &Json, result: ToolResult) -> ToolResult {
    let text = |key: &str| table.get(key).and_then(Json::as_str);
    let shaper = AnswerShaper::read(text("response_template"), text("validator"));
    let shaper = shaper.map_err(|(key, message)| ErrorRecord::new(Reason::ToolError, format!("{key}: {message}")))?;
    let result = shaper.apply(result?).await?;
    let output = tool.signature.as_ref().and_then(|signature| signature.output.as_ref());
    let is_described = text("response_template").is_some() && text("signature").is_some();
    let issues = output.filter(|_| is_described).map(|ty| signature::check(ty, &result));
    match issues.unwrap_or_default().iter().find(|issue| issue.is_error()) {
        Some(issue) => {
            let message = format!("the result of response_template does not match the signature: {issue}");
            Err(ErrorRecord::new(Reason::ToolError, message))
        }
        None => Ok(result),
    }
}

impl Driver<'_> {
    /// Runs the agent of a tool.
    pub(super) async fn run_child(
        &self,
        at: &Address,
        tool: &Tool,
        plan: &Plan,
        args: &Value,
    ) -> Result<ToolResult, Halt> {
        let refused = |reason: Reason, message: String| Ok(Err(ErrorRecord::new(reason, message)));
        let depth = self.input.depth + 1;
        if depth >= self.max_depth() {
            let limit = self.max_depth();
            return refused(
                Reason::MaxDepthExceeded,
                format!("agent `{}` would exceed max_depth = {limit} (level {})", tool.name, depth + 1),
            );
        }
        let budget = match self.budget_for(at) {
            Ok(budget) => budget,
            Err(record) => return Ok(Err(record)),
        };
        let limited = tool.timeout_ms.map(|limit_ms| plan.within(limit_ms));
        let plan = limited.as_ref().unwrap_or(plan);
        let delegated = match tool.returns {
            Returns::Delegate => Some(plan.on(&args.lookup("task").map(plain_text).unwrap_or_default())),
            Returns::Answer => None,
        };
        let context = match &delegated {
            Some(plan) => plan.agent.context.clone(),
            None => Json::from(args),
        };
        let plan = delegated.as_ref().unwrap_or(plan);
        let model = match self.ports.models.model(at, ModelSource::of(&plan.agent)) {
            Ok(model) => model,
            Err(error) => return Ok(Err(error.record())),
        };
        // A child that ended by itself in the recording is not stopped by its parent, however early a sibling's stop comes now.
        let stop = if self.ports.history.is_over(at) { Stop::default() } else { self.ports.stop.child() };
        let ports = Ports { model: model.as_deref().unwrap_or(self.ports.model), stop, ..self.ports.clone() };
        let input = Input {
            seed: self.input.seed,
            depth,
            deadline_ms: self.clock.deadline_ms(self.plan.agent.mission_timeout_ms),
            tree: self.input.tree.clone(),
            estimates: self.estimates(),
            budget,
            hidden: self.hidden.inherited(at, args),
            ..Input::at(at.clone(), context)
        };
        let (step, carry, share) = Driver::run_counted(plan, input, &ports).await;
        self.hidden.add(at, &carry.hidden);
        self.adopt(at, &step, &share);
        self.result_of(at, tool, step).await
    }

    async fn result_of(&self, at: &Address, tool: &Tool, step: Step) -> Result<ToolResult, Halt> {
        let name = tool.name.as_str();
        let (answer, source) = match (tool.returns, step.delegated()) {
            (Returns::Delegate, Ok(delegated)) if self.plan.hides_results_of(tool) => {
                (Some(delegated.veiled().answer()), None)
            }
            (Returns::Delegate, Ok(delegated)) => (Some(delegated.answer()), None),
            (Returns::Delegate, Err(undelegated)) => (None, Some(undelegated.reason)),
            (Returns::Answer, _) => (step.answer.clone(), None),
        };
        let Some(fail) = step.fail else {
            return Ok(Ok(answer.as_ref().map(Json::to_value).unwrap_or_default()));
        };
        self.stop_as_recorded(at);
        match Reason::from_name(&fail.reason) {
            Some(Reason::Suspended) => Err(Halt::Wait(step.waits_for.unwrap_or_else(|| self.input.address.clone()))),
            Some(Reason::Cancelled) if self.ports.stop.reason().is_some() => Err(self.interrupted(at).await),
            reason => {
                let reason_text = source.as_ref().unwrap_or(&fail.reason);
                let message = format!("the agent `{name}` failed with {reason_text}: {}", fail.message);
                Ok(Err(ErrorRecord::new(reason.unwrap_or(Reason::ToolError), message)))
            }
        }
    }

    /// A question to a model, as an agent of one turn in mode `text`. Other keys than the known ones fill the template.
    pub(super) async fn query_model(&self, at: &Address, tool: &Tool, args: &Value) -> Result<ToolResult, Halt> {
        let text = |key: &str| args.lookup(key).filter(|value| !value.is_nil()).map(plain_text);
        let [template, json_signature, validator] = SHAPING_KEYS.map(text);
        let own = text("signature").unwrap_or_else(|| ":string".to_owned());
        let read = AnswerShaper::read(template.as_deref(), validator.as_deref());
        let read = read.map_err(|(key, message)| format!("{key}: {message}"));
        let read = read.and_then(|shaper| Ok((shaper, answer_signature(Some(&own), json_signature.as_deref())?)));
        let (shaper, signature) = match read {
            Ok(read) => read,
            Err(message) => return Ok(Err(ErrorRecord::new(Reason::ToolError, format!("{}: {message}", tool.name)))),
        };
        let agent = Agent {
            name: tool.name.clone(),
            mode: Mode::Text,
            model: text("llm"),
            prompt: text("prompt").unwrap_or_default(),
            signature,
            max_turns: 1,
            model_options: self.plan.agent.model_options.clone(),
            options: self.plan.agent.inherited(),
            ..Agent::default()
        };
        match Plan::new(&agent) {
            Ok(plan) => match self.run_child(at, tool, &plan, args).await? {
                Ok(answer) => Ok(shaper.apply(answer).await),
                failed => Ok(failed),
            },
            Err(findings) => {
                let reason_text: Vec<_> =
                    findings.iter().filter(|f| f.is_error()).map(|f| f.message.as_str()).collect();
                Ok(Err(ErrorRecord::new(Reason::ToolError, format!("{}: {}", tool.name, reason_text.join("; ")))))
            }
        }
    }
}
