//! Re-running: live again on the same inputs, with another model, mode or agent. Always a new session.
//!
//! In: a session and a start. Out: a run in the background. From the start of a run everything is requested again; from a turn on it is a
//! fork that edits nothing but the model and the agent.

use std::sync::Arc;

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::accept::Onto;
use super::child_models::LiveModels;
use super::feed::Tee;
use super::fork::{ForkChange, ForkSpec, inputs_at};
use super::prepare::Ready;
use super::resume::{not_begun, unusable};
use super::run::header_of;
use super::stages::counted_after;
use super::{BackgroundRun, StartError, Workbench};
use crate::agent::{Agent, Context, Diagnostic, Inputs, Mode, Plan, Step};
use crate::engine::{self, Input, Ports};
use crate::event::{Address, Editor, JsonText, LaterStep, RunStart, TotalUsage};
use crate::model::Model;
use crate::port::{Human, RunClock, Stop};
use crate::replay::{Recording, carry_of, input_of};
use crate::session::diff::{Comparison, Divergence};
use crate::session::{AttachmentStore, Parent, ParentKind, Prefix, Recorder, Session, copy_files};

/// Options of a re-run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RerunSpec {
    /// The start: a run (`r0`) or a turn (`r0/t2`); the first run when absent.
    pub from: Option<String>,
    /// Another model.
    pub model: Option<String>,
    /// Another mode; only from the start of a run.
    pub mode: Option<Mode>,
    /// Another version of the agent.
    pub agent: Option<Box<Agent>>,
}

/// A root run that runs again.
struct Again {
    run: Address,
    start: RunStart,
    plan: Plan,
    /// Warnings about the models of child agents.
    below: Vec<Diagnostic>,
    model: Arc<dyn Model>,
}

impl Workbench {
    /// Runs a session again, live; `human` answers questions.
    pub async fn rerun(
        &self,
        session: &Session,
        spec: RerunSpec,
        human: Arc<dyn Human>,
    ) -> Result<BackgroundRun, StartError> {
        match spec.from.clone().filter(|from| from.contains('/')) {
            Some(at) => self.rerun_turn(session, at, spec, human).await,
            None => self.rerun_runs(session, spec, human).await,
        }
    }

    async fn rerun_turn(
        &self,
        session: &Session,
        at: String,
        spec: RerunSpec,
        human: Arc<dyn Human>,
    ) -> Result<BackgroundRun, StartError> {
        if spec.mode.is_some() {
            return Err(unusable(format!(
                "the mode cannot change at {at}: re-run from the start, without a turn in --from"
            )));
        }
        let changes = spec.agent.iter().map(|agent| ForkChange::new("agent", Json::str(agent.to_toml()))).collect();
        let (by, kind) = (Editor::Command, ParentKind::Rerun);
        self.fork(session, ForkSpec { at, changes, model: spec.model, by, kind }, human).await
    }

    async fn rerun_runs(
        &self,
        session: &Session,
        spec: RerunSpec,
        human: Arc<dyn Human>,
    ) -> Result<BackgroundRun, StartError> {
        let recording = Arc::new(Recording::of(session).map_err(unusable)?);
        let runs = recording.runs();
        let names = || runs.iter().map(Address::as_str).collect::<Vec<_>>().join(", ");
        let first = match &spec.from {
            None => 0,
            Some(from) => runs
                .iter()
                .position(|run| run.as_str() == from)
                .ok_or_else(|| unusable(format!("unknown run {from} (runs: {})", names())))?,
        };
        if spec.agent.is_some() && runs.len() > first + 1 {
            let message = format!("the session holds several runs ({}): name the last one with --from", names());
            return Err(unusable(message));
        }
        let again = runs
            .iter()
            .skip(first)
            .map(|run| self.again(&recording, run, &spec, &human))
            .collect::<Result<Vec<_>, _>>()?;
        let begin = again.first().ok_or_else(|| unusable(not_begun(&recording.id)))?;
        let seq = recording.at(&begin.run).first().map_or(0, |start| start.seq.saturating_sub(1));
        let prefix = Prefix::of(session, seq).map_err(unusable)?;
        // A re-run from the start needs only what was carried to it.
        let before = session.events().take_while(|envelope| envelope.seq <= seq);
        let mut onto = if first > 0 {
            self.onto(&Arc::new(Recording::of_events(before)), session).await?
        } else {
            Onto::default()
        };
        let parent = Parent {
            session: recording.id.clone(),
            at: Some(begin.run.to_string()),
            stage: None,
            seq: prefix.seq,
            prefix_sha: Some(prefix.sha()),
            kind: ParentKind::Rerun,
        };
        let header = header_of(parent);
        let (path, moved) = self.in_writable_folder(|dir| prefix.write(dir, &header, &[]))?;
        onto.notices.extend(moved);
        copy_files(session.events(), &session.path, &path).map_err(unusable)?;
        let opened = Session::open(&path).map_err(|error| unusable(error.to_string()))?;
        let last_ms = opened.events().map(|envelope| envelope.at_ms).max().unwrap_or_default();
        let clock = Arc::new(RunClock::start_after(last_ms));
        let recorder = Recorder::append(&opened, Arc::clone(&clock) as _).map_err(StartError::Recorder)?;
        let saver = Some(self.saver(&recorder));
        let (stop, id) = (Stop::default(), header.id.to_string());
        let feed = self.feed(Some(&id));
        let warnings = again.iter().flat_map(|again| again.plan.warnings.iter().chain(&again.below)).cloned().collect();
        let (task_feed, task_stop, task_id) = (feed.clone(), stop.clone(), id.clone());
        let models = LiveModels::of(self, Arc::clone(&human));
        let tools = self.outside();
        let files = AttachmentStore::of_session(&opened.path);
        let task = tokio::spawn(async move {
            let tee = Tee::new(Some(recorder), task_feed);
            let step = in_a_row(&again, onto, |model| Ports {
                models: &models,
                tools: &tools,
                human: &*human,
                files: &files,
                ..Ports::new(model, &*clock, &tee, task_stop.clone())
            });
            let step = step.await;
            tools.end().await;
            Step { session: Some(task_id), ..step }
        });
        Ok(BackgroundRun { session: Some(id), path: Some(path), saver, feed, stop, warnings, task })
    }

    /// The inputs of a re-run of a recorded root run.
    fn again(
        &self,
        recording: &Recording,
        run: &Address,
        spec: &RerunSpec,
        human: &Arc<dyn Human>,
    ) -> Result<Again, StartError> {
        let start = recording.run_start(run).cloned().ok_or_else(|| unusable(format!("{run} has no run.start")))?;
        // A fork runs again with its edits.
        let Inputs { agent: old, context } = inputs_at(recording, run)?;
        let start = RunStart { context: JsonText::of(&context), ..start };
        let agent = match spec.agent.as_deref().cloned() {
            // A message of a conversation stays what it was.
            Some(agent) if start.continues.is_some() => {
                Agent { prompt: old.prompt.clone(), signature: old.signature.clone(), ..agent }
                    .with_option("literal", Node::Bool(true).into())
            }
            Some(agent) => agent,
            None => old.clone(),
        };
        let agent = agent.for_mode(spec.mode.unwrap_or(agent.mode)).map_err(StartError::Agent)?;
        let recorded = recording.model_of(run).unwrap_or_default();
        // The program of another version of the agent answers, whatever answered before.
        let is_new = spec.agent.is_some() && agent.program().is_some();
        let recorded = (!is_new).then_some(recorded.as_str());
        let own = || spec.agent.as_ref().filter(|_| !is_new).and_then(|agent| agent.model.clone());
        let named = spec.model.clone().or_else(own);
        let source = self.reply_source(&agent, named.as_deref(), recorded)?;
        let Ready { plan, below } = self.ready(&agent, &source)?;
        self.refuse_keys(&plan.agent, &Context::from(start.context.json()))?;
        let model = self.model_of(source, Arc::clone(human))?;
        Ok(Again { run: run.clone(), start, plan, below, model })
    }
}

/// Runs them one after the other: a message of a conversation continues the run before it, a step of a pipeline gets its answer as context.
async fn in_a_row<'a>(all: &'a [Again], onto: Onto, ports: impl Fn(&'a dyn Model) -> Ports<'a>) -> Step {
    let (mut carries, mut notices) = (onto.adopted.carries, onto.notices);
    let mut last: Option<Step> = None;
    for Again { run, start, plan, model, .. } in all {
        let (continues, notices) = (carry_of(start, &carries), std::mem::take(&mut notices));
        let mut input = Input { continues, notices, ..input_of(run, start) };
        // The following steps are those of the current pipeline.
        for (step, now) in input.pipeline.iter_mut().flat_map(|pipeline| &mut pipeline.then).zip(all.iter().skip(1)) {
            *step = LaterStep { agent: now.plan.agent.record(), model: now.model.info().alias };
        }
        let mut spent = TotalUsage::default();
        if let (Some(before), None) = (&last, &start.continues) {
            spent = before.usage.total.clone();
            let Ok(next) = Context::chained_onto(plan, before) else { return before.clone() };
            input = Input { context: next.json, descriptions: next.descriptions, ..input };
        }
        let doors = ports(&**model);
        let (step, carry) = engine::run_carrying(plan, input, &doors).await;
        carries.insert(run.clone(), carry);
        last = Some(counted_after(&spent, step));
    }
    last.unwrap_or_default()
}

/// Common part of repeated runs, and the differences of the others to the first one. Times and tokens are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeats {
    /// Number of runs that are the same as the first one, itself included.
    pub same: usize,
    /// The earliest difference of a run to the first one.
    pub first: Option<Divergence>,
    /// The last turn up to which all runs are identical.
    pub same_until: Option<Address>,
    /// First difference of each run to the first one, in order; `None` for the first one and those that are the same.
    pub parted: Vec<Option<Divergence>>,
}

impl Repeats {
    /// Folds a comparison of such runs.
    pub fn of(comparison: &Comparison) -> Self {
        let parted: Vec<Option<Divergence>> =
            std::iter::once(None).chain(comparison.pairs.iter().map(|pair| pair.first.clone())).collect();
        let first = parted.iter().flatten().min_by(|one, other| one.at.cmp(&other.at)).cloned();
        let turns = comparison.columns.first().into_iter().flat_map(|column| &column.side.runs);
        let mut turns: Vec<Address> = turns.flat_map(|run| &run.turns).map(|turn| turn.address.clone()).collect();
        turns.retain(|turn| first.as_ref().is_none_or(|parting| *turn < parting.at));
        let same = parted.iter().filter(|parting| parting.is_none()).count();
        Self { same, first, same_until: turns.into_iter().max(), parted }
    }
}
