//! The turns of a run: executes the decisions of the mode's machine, in order, through the ports.

use ptc_core::lisp::Outcome;
use ptc_core::reasons::Reason;

use super::state::{Driver, Halt};
use crate::engine::modes::{
    Decision, Effect, Machine, Messages, Next, RequestPlan, RunAnswer, RunInputs, ToolResult, ToolUse,
};
use crate::event::{Address, JsonText, Role, Source};
use crate::model::{Message, Reply};
use crate::program::Job;
use crate::prompt::carried;
use crate::prompt::json::OpeningMessages;

/// The result of performing a decision.
enum DecisionOutcome {
    /// The run opens.
    Opened(OpeningMessages),
    /// The next turn begins.
    Continued,
    /// The run has its answer.
    Finished(RunAnswer),
}

impl Driver<'_> {
    /// Makes turns until the run has its answer.
    pub(super) async fn drive(&mut self, machine: &mut dyn Machine) -> Result<RunAnswer, Halt> {
        let run = &self.input.address;
        if self.input.is_later_step()
            && let Some(record) = self.plan.missing_inputs_error(&self.input.context)
        {
            return Err(Halt::Fail(record));
        }
        let context = self.checked_context(run, &self.input.context).await?;
        self.hide(run, &context);
        if let Some((_, carry)) = &self.input.continues {
            self.hidden.add(run, &carry.hidden);
        }
        // A run that continues another one has its definitions.
        let is_new = self.input.continues.is_none();
        let memory = if is_new { self.plan.settings.memory.clone() } else { Vec::new() };
        let mut opening = Some(self.open(machine, run, Some(RunInputs { context, memory })).await?);
        loop {
            let at = self.begin_turn(machine.turn_kind(&self.view())).await?;
            let inputs = self.edited_inputs(&at).await?;
            let is_first = self.usage.totals.turns == 0;
            // The opening contains the remaining turns of the tree.
            let is_short = is_first && self.usage.tree < self.plan.settings.turn_budget;
            if inputs.is_some() || is_short {
                opening = Some(self.open(machine, &at, inputs).await?);
            }
            match opening.take() {
                Some(opening) if is_first => self.emit_opening(&at, opening).await?,
                Some(opening) => self.replace_opening(&at, opening).await?,
                None => {}
            }
            let reply = self.request(machine, &at).await?;
            let decision = machine.on_reply(&self.view(), &reply);
            match self.perform(machine, &at, decision).await? {
                DecisionOutcome::Finished(answer) => return Ok(answer),
                DecisionOutcome::Continued => {}
                DecisionOutcome::Opened(_) => {
                    return Err(Halt::fail(Reason::InternalError, "the mode opened the run again"));
                }
            }
        }
    }

    /// The messages that the run opens with.
    async fn open(
        &mut self,
        machine: &mut dyn Machine,
        at: &Address,
        inputs: Option<RunInputs>,
    ) -> Result<OpeningMessages, Halt> {
        let decision = machine.open(&self.view(), inputs);
        match self.perform(machine, at, decision).await? {
            DecisionOutcome::Opened(opening) => Ok(opening),
            _ => Err(Halt::fail(Reason::InternalError, "the mode did not open the run")),
        }
    }

    /// Records the opening, with the messages of the run that this one continues, or else those of the agent.
    async fn emit_opening(&mut self, at: &Address, opening: OpeningMessages) -> Result<(), Halt> {
        for warning in opening.warnings {
            self.warn(at, warning).await?;
        }
        if !opening.system.is_empty() {
            self.add_message(at, Role::System, Source::Prompt, opening.system).await?;
        }
        if let Some((_, carry)) = &self.input.continues {
            self.calls.known().extend(carry.known.clone());
            for message in &carry.messages {
                self.add_earlier(at, message).await?;
            }
        } else {
            for message in &self.plan.settings.messages {
                self.add_earlier(at, message).await?;
            }
        }
        self.add_message(at, Role::User, Source::Prompt, opening.user).await?;
        self.conversation.mark_task();
        if self.input.continues.is_none() {
            for message in &self.plan.settings.messages_after {
                self.add_earlier(at, message).await?;
            }
        }
        Ok(())
    }

    /// Records a message of an earlier conversation.
    async fn add_earlier(&mut self, at: &Address, message: &Message) -> Result<(), Halt> {
        let source = if message.role == Role::Assistant { Source::Reply } else { Source::Prompt };
        self.add_message(at, message.role, source, carried(message)).await?;
        Ok(())
    }

    /// Records an edited opening: it replaces the old one, and the messages since then follow it.
    async fn replace_opening(&mut self, at: &Address, opening: OpeningMessages) -> Result<(), Halt> {
        for warning in opening.warnings {
            self.warn(at, warning).await?;
        }
        if opening.system.is_empty() {
            self.conversation.remove_system();
        } else {
            self.add_message(at, Role::System, Source::Prompt, opening.system).await?;
            self.conversation.replace_system();
        }
        self.add_message(at, Role::User, Source::Prompt, opening.user).await?;
        self.conversation.replace_task();
        Ok(())
    }

    /// Makes the request of a turn.
    async fn request(&mut self, machine: &mut dyn Machine, at: &Address) -> Result<Reply, Halt> {
        let RequestPlan { options, messages } = machine.request(&self.view());
        let whole = self.conversation.whole();
        let shortened = match messages {
            Messages::All => None,
            Messages::Trimmed => self.conversation.trimmed(self.plan, self.usage.totals.turns + 1),
            Messages::Summary { parts, counts } => {
                self.add_message(at, Role::User, Source::Feedback, parts).await?;
                Some(self.conversation.summarized(&whole, counts))
            }
        };
        let sent = match shortened {
            None => whole,
            Some((sent, done)) => {
                self.emit(at, done).await?;
                sent
            }
        };
        self.send(at, &options, sent).await
    }

    /// Executes the machine's decisions and passes it the results, until it opens the run or the turn ends.
    async fn perform(
        &mut self,
        machine: &mut dyn Machine,
        at: &Address,
        mut decision: Decision,
    ) -> Result<DecisionOutcome, Halt> {
        loop {
            for effect in decision.effects {
                match effect {
                    Effect::Emit(event) => self.emit(at, *event).await?,
                    Effect::AddMessage { role, source, parts } => self.add_message(at, role, source, parts).await?,
                    Effect::EndTurn(reason) => self.end_turn(at, reason.as_deref()).await?,
                    Effect::CheckBudget => {
                        let is_open = self.turn() == *at;
                        if let Err(record) = self.check_budget() {
                            if is_open {
                                self.end_turn(at, Some(&record.reason)).await?;
                            }
                            let partial = machine.partial(&self.view());
                            return partial.map(DecisionOutcome::Finished).ok_or(Halt::Fail(record));
                        }
                    }
                }
            }
            decision = match decision.next {
                Next::Call(call) => {
                    let result = self.call(at, &call).await?;
                    machine.on_result(&self.view(), &call, result)
                }
                Next::Run(program) => {
                    let outcome = self.run_program(at, *program).await?;
                    self.hide_outcome(at, &outcome);
                    machine.on_outcome(&self.view(), outcome)
                }
                Next::Evaluate(jobs) => {
                    let outcomes = evaluated(jobs).await?;
                    for outcome in &outcomes {
                        self.hide_outcome(at, outcome);
                    }
                    machine.on_evaluated(&self.view(), outcomes)
                }
                Next::Ask(text) => {
                    let answer = self.ask_user(at, text, Vec::new()).await?;
                    machine.on_answer(&self.view(), answer)
                }
                Next::Open(Ok(opening)) => return Ok(DecisionOutcome::Opened(opening)),
                Next::Open(Err(error)) => return Err(Halt::fail(Reason::TemplateError, error.to_string())),
                Next::Continue => return Ok(DecisionOutcome::Continued),
                Next::Finish(answer) => {
                    // The reply is already paid for: its answer is not discarded.
                    if let Err(record) = self.check_budget() {
                        let text = format!("{}; the answer in the last reply is accepted", record.message);
                        self.warn(at, text).await?;
                    }
                    return Ok(DecisionOutcome::Finished(answer));
                }
                Next::Fail(record) => return Err(Halt::Fail(record)),
            };
        }
    }

    /// Makes a call of a reply, or records that it is not made.
    async fn call(&self, turn: &Address, call: &ToolUse) -> Result<ToolResult, Halt> {
        let at = turn.call(call.number);
        match &call.refused {
            None => self.call_tool(&at, &call.name, &call.value).await,
            Some(record) => {
                self.count_call(&self.ports.history.call(&at));
                self.refuse(&at, (&call.name, ""), JsonText::of(&call.args), record.clone()).await
            }
        }
    }
}

/// Runs programs of the agent file on a thread that may block.
async fn evaluated(jobs: Vec<Job>) -> Result<Vec<Outcome>, Halt> {
    let task = tokio::task::spawn_blocking(move || jobs.iter().map(Job::evaluate).collect());
    task.await.map_err(|_| Halt::fail(Reason::InternalError, "an expression of the agent panicked"))
}
