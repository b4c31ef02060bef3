//! Runs: how one starts, and the Step, the carried state and the costs that it ends with.

use futures::future::BoxFuture;
use ptc_core::reasons::Reason;
use ptc_core::value::{Json, Map, Value};

use super::state::{Driver, Halt};
use super::usage::BudgetShare;
use crate::agent::{Plan, Step};
use crate::engine::input::{Carry, Input};
use crate::engine::modes::{RunAnswer, Start, machine};
use crate::engine::ports::Ports;
use crate::event::{
    Address, ErrorRecord, FileRecord, JsonText, Notice, NoticeLevel, RunEnd, RunStart, RunWait, UsageRecord,
};
use crate::port::SinkError;
use crate::prompt::ptc_lisp::CarriedState;

impl Driver<'_> {
    /// Runs the plan. Out: the Step, and the data for a run that continues this one.
    pub(in crate::engine) async fn run(plan: &Plan, input: Input, ports: &Ports<'_>) -> (Step, Carry) {
        let (step, carry, _) = Driver::run_counted(plan, input, ports).await;
        (step, carry)
    }

    /// Like `run`, and returns the usage that the budget of a parent agent counts.
    pub(super) fn run_counted<'r>(
        plan: &'r Plan,
        input: Input,
        ports: &'r Ports<'r>,
    ) -> BoxFuture<'r, (Step, Carry, BudgetShare)> {
        Box::pin(async move {
            let input = Input { context: plan.agent.with_file_records(&input.context), ..input };
            let mut driver = Driver::new(plan, &input, ports);
            let mut machine = machine(plan, start_of(plan, &input));
            let result = match driver.start().await {
                Ok(()) => driver.drive(&mut *machine).await,
                Err(error) => Err(error.into()),
            };
            let (state, share) = (machine.carried_state(), driver.budget_share());
            let carry = driver.carry(state.clone(), result.as_ref().ok());
            (driver.finish(result, state).await, carry, share)
        })
    }

    /// `run.start`, and what is known before the first turn.
    async fn start(&self) -> Result<(), SinkError> {
        let (plan, input, run) = (self.plan, self.input, &self.input.address);
        _ = input.tree.levels(plan.settings.max_depth);
        for record in FileRecord::all_in(&input.context) {
            let known = plan.agent.files.iter().find(|known| known.record == record);
            if let Some(file) = known {
                self.ports.files.store(&record.sha256, &file.bytes).map_err(SinkError::Storage)?;
            }
        }
        let model = self.ports.model.info();
        let has_price = model.price.is_some();
        let start = RunStart {
            agent: plan.agent.record(),
            mode: plan.agent.mode.name().to_owned(),
            model,
            limits: plan.agent.limits(),
            context: JsonText::of(&input.context),
            context_descriptions: input.descriptions.clone(),
            seed: input.seed,
            depth: input.depth,
            deadline: input.deadline_ms,
            continues: input.continues.as_ref().map(|(run, _)| run.to_string()),
            journal: input.journal.as_ref().map(journal_text),
            pipeline: input.pipeline.clone(),
            consents: input.consents.clone(),
        };
        self.emit(run, start).await?;
        if plan.settings.cost_limit.is_some() && !has_price {
            let text = "the replies of this run do not count towards cost_limit: the price of its model is unknown (set its `price` in the configuration)";
            self.warn(run, text).await?;
        }
        for text in &input.notices {
            self.warn(run, text).await?;
        }
        for consent in &input.consents {
            let level = if consent.failed.is_some() { NoticeLevel::Warning } else { NoticeLevel::Info };
            self.emit(run, Notice { level, text: consent.summary() }).await?;
        }
        Ok(())
    }

    /// Returns the state for a run that continues this one.
    fn carry(&self, state: CarriedState, answer: Option<&RunAnswer>) -> Carry {
        Carry {
            messages: self.conversation.carried(self.plan, answer.map(|answer| &answer.value)),
            memory: state.memory,
            journal: state.journal,
            known: self.calls.known().clone(),
            hidden: self.hidden.all(),
        }
    }

    /// `run.end`, and the Step.
    async fn finish(&self, result: Result<RunAnswer, Halt>, state: CarriedState) -> Step {
        let (answer, fail) = match result {
            Ok(answer) => (Some(answer), None),
            Err(Halt::Fail(record)) => (None, Some(record)),
            Err(Halt::Wait(question)) => return self.waiting(&question).await,
            Err(Halt::Sink(error)) => return self.lost(error),
        };
        let schema = self.plan.schema.as_ref().map(|schema| schema.json.to_text().len() as u64);
        let usage = UsageRecord {
            totals: self.usage.final_totals(),
            children: self.usage.children().map(|children| children.totals),
            schema_used: self.usage.schema_sent,
            schema_bytes: schema,
            structured_output: self.usage.structured_by,
            system_prompt_tokens: self.conversation.system_tokens(),
        };
        // A run that began with a journal leaves one even when it is empty.
        let had_journal = self.input.journal.is_some();
        let answer = answer.as_ref();
        let end = RunEnd {
            value: answer.map(|answer| JsonText::of(&answer.value)),
            fail,
            summary: answer.and_then(|answer| answer.summary.clone()),
            refs: answer.and_then(|answer| answer.refs.as_ref()).map(JsonText::of),
            from_turn: answer.and_then(|answer| answer.from_turn),
            journal: state.journal.as_ref().filter(|left| had_journal || !left.is_empty()).map(journal_text),
            usage,
            inputs: Some(self.inputs_sha()),
        };
        match self.emit(&self.input.address, end).await {
            Ok(()) => self.step(),
            Err(error) => self.lost(error),
        }
    }

    /// The Step of a run that waits for the user: the run has not ended.
    async fn waiting(&self, question: &Address) -> Step {
        let wait = RunWait { question: question.to_string() };
        if let Err(error) = self.emit(&self.input.address, wait).await {
            return self.lost(error);
        }
        let mut step = self.step();
        let message = format!("the run waits for the answer to {question}");
        let mut record = ErrorRecord::new(Reason::Suspended, message);
        record.hint = Some("answer with `ptc-workbench resume SESSION --answer TEXT`, or in the workbench".to_owned());
        step.fail = Some(record);
        step.waits_for = Some(question.clone());
        step
    }

    /// The Step of a run whose events are not taken any more.
    fn lost(&self, error: SinkError) -> Step {
        let mut step = self.step();
        let record: ErrorRecord = match error {
            SinkError::Storage(text) => ErrorRecord::new(Reason::RecorderFailed, text),
            SinkError::Diverged => ErrorRecord::new(Reason::Cancelled, "replay found a difference and stopped here"),
        };
        step.fail = Some(record);
        step
    }
}

/// Returns the start of the mode's machine.
fn start_of(plan: &Plan, input: &Input) -> Start {
    let carry = input.continues.as_ref().map(|(_, carry)| carry);
    let journal = carry.and_then(|carry| carry.journal.clone()).or_else(|| input.journal.clone());
    Start {
        descriptions: input.descriptions.clone(),
        memory: carry.map(|carry| carry.memory.clone()).unwrap_or_default(),
        journal: journal.or_else(|| plan.settings.journaling.then(Map::default)),
    }
}

fn journal_text(journal: &Map) -> JsonText {
    JsonText::of(&Json::from(&Value::from(journal.clone())))
}
