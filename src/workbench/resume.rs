//! Resumes a waiting or interrupted run or pipeline (same file), and continues a finished one by a new message (new file).

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::accept::Onto;
use super::child_models::LiveModels;
use super::ending::more_turns;
use super::feed::Tee;
use super::fork::inputs_at;
use super::prepare::refuse_closures;
use super::question_queue::PreparedHuman;
use super::run::header_of;
use super::stages::{counted_after, earlier_steps, follow, later_steps};
use super::{BackgroundRun, StartError, Workbench};
use crate::agent::{Agent, Context, Diagnostic, Inputs, Place, Plan, Step, StepFold};
use crate::engine::{self, Input, Ports};
use crate::event::{Address, Envelope, Event, QuestionKind, Resume, RunEnd, TotalUsage};
use crate::model::Model;
use crate::port::{Human, RunClock, Sink, Stop, named_option};
use crate::replay::{Answers, RecordedEdits, Recording, ResumePorts, carry_of, input_of, plan_of};
use crate::session::{AttachmentStore, Parent, ParentKind, Recorder, Session, copy_files};

#[expect(clippy::needless_pass_by_value, reason = "errors of many types go through map_err")]
pub(super) fn unusable(message: impl ToString) -> StartError {
    StartError::Session(message.to_string())
}

/// Describes a session whose program stopped before its first run started.
pub(super) fn not_begun(session: &str) -> String {
    format!("{session} holds no run: the program stopped before the run started. Start the run again")
}

/// The inputs of a resumed session.
pub(super) struct ResumeInputs {
    /// Answers to its open questions.
    pub(super) answers: Answers,
    /// Another model.
    pub(super) model: Option<String>,
    /// Answers the other questions.
    pub(super) human: Arc<dyn Human>,
}

impl Workbench {
    /// Resumes the last run of a session that waits or was interrupted, then runs the remaining steps of its pipeline. The
    /// session's own file gets the new events.
    pub async fn resume(
        &self,
        session: &Session,
        answers: Answers,
        model: Option<&str>,
        human: Arc<dyn Human>,
    ) -> Result<BackgroundRun, StartError> {
        let recording = Arc::new(Recording::of(session).map_err(unusable)?);
        // A run that was interrupted between two steps does not run again.
        let between = recording.runs().pop().is_none_or(|run| recording.is_complete(&run));
        let onto = if between { Onto::default() } else { self.onto(&recording, session).await? };
        self.resume_onto(
            session,
            &recording,
            onto,
            ResumeInputs { answers, model: model.map(ToOwned::to_owned), human },
        )
    }

    /// Like `resume`, with an adopted recording.
    pub(super) fn resume_onto(
        &self,
        session: &Session,
        recording: &Arc<Recording>,
        onto: Onto,
        inputs: ResumeInputs,
    ) -> Result<BackgroundRun, StartError> {
        let (recording, ResumeInputs { answers, model, human }) = (Arc::clone(recording), inputs);
        let run = recording.runs().pop().ok_or_else(|| unusable(not_begun(session.header.id.as_str())))?;
        let later = later_steps(&recording, &run);
        // A pipeline that was interrupted between two steps continues with the next one.
        let ended = step_of(session, &run);
        if let Some(ended) = &ended
            && (ended.fail.is_some() || later.is_empty())
        {
            return Err(unusable(format!("{run} has ended; `continue` continues with a new message")));
        }
        let start = recording.run_start(&run).cloned().ok_or_else(|| unusable("its run.start is missing"))?;
        let agent = Agent::recorded(&start.agent.toml).map_err(unusable)?;
        let plan = Plan::new(&agent).map_err(StartError::Agent)?;
        refuse_closures(&plan)?;
        let answers = assign_answers(&recording, answers)?;
        let given = answers.by_address.values().chain(&answers.in_order).map(|text| Json::str(text.as_str()));
        self.refuse_keys(&agent, &Json::list(given).into())?;
        let named = model.or_else(|| recording.named_model(&run));
        let live = self.live_model(&recording, &run, &agent, named.as_deref(), Arc::clone(&human))?;
        let later = self.later_stages(later, named.as_deref(), &human)?;
        let earlier: Vec<Step> =
            earlier_steps(&recording, &run).iter().filter_map(|step| step_of(session, step)).collect();
        let spent = TotalUsage::of_trees(earlier.iter().map(|step| &step.usage.total));
        // Answers in order serve the later steps too.
        let (in_order, answers) = (answers.in_order, Answers { in_order: VecDeque::new(), ..answers });
        let asked = Arc::clone(&human);
        let human = PreparedHuman::new(in_order, human);
        let edits = RecordedEdits::of(&recording).map_err(unusable)?;
        let last_ms = session.events().map(|envelope| envelope.at_ms).max().unwrap_or_default();
        let clock = Arc::new(RunClock::start_after(last_ms));
        let recorder = Recorder::append(session, Arc::clone(&clock) as _).map_err(StartError::Recorder)?;
        let (feed, stop) = (self.feed(Some(&recording.id)), Stop::default());
        let models = LiveModels::of(self, asked);
        let saver = self.saver(&recorder);
        let after = session.events().map(|envelope| envelope.seq).last().unwrap_or_default();
        if ended.is_none() {
            for envelope in session.events().filter(|envelope| envelope.address.root() == run) {
                feed.push(envelope);
            }
        }
        let tee = Tee::new(Some(recorder), feed.clone());
        let id = recording.id.clone();
        let (task_stop, task_id, file) = (stop.clone(), id.clone(), session.path.clone());
        let (next, tools) = (recording.runs().len(), self.outside());
        let files = AttachmentStore::of_session(&session.path);
        let task = tokio::spawn(async move {
            // The time before it is excluded from all durations, and what the run does from now on is not, however late its first event is.
            // If this event cannot be recorded, the next one cannot either, and ends the run.
            _ = tee.emit(run.clone(), Resume { after }.into()).await;
            let ports = Ports::new(&*live, &*clock, &tee, task_stop.clone());
            let ports = Ports { models: &models, tools: &tools, human: &human, files: &files, ..ports };
            let step = if let Some(step) = ended {
                step
            } else {
                let resumed = ResumePorts::new(Arc::clone(&recording), run.clone(), ports.clone(), answers);
                let resumed = resumed.edited_by(&edits).appending();
                let continues = carry_of(&start, &onto.adopted.carries);
                let input = Input { continues, notices: onto.notices, ..input_of(&run, &start) };
                let step = engine::run(&plan, input, &resumed.ports(&tee, task_stop)).await;
                if step.waits_for.is_some() { step } else { folded(&file, &run, step) }
            };
            let step = follow(counted_after(&spent, step), &later, next, &ports).await;
            tools.end().await;
            Step { session: Some(task_id), ..step }
        });
        let path = Some(session.path.clone());
        Ok(BackgroundRun { session: Some(id), path, saver: Some(saver), feed, stop, warnings: Vec::new(), task })
    }

    /// The model of a resumed root run: the one named, else its pinned program, else the recorded one.
    fn live_model(
        &self,
        recording: &Recording,
        run: &Address,
        agent: &Agent,
        named: Option<&str>,
        human: Arc<dyn Human>,
    ) -> Result<Arc<dyn Model>, StartError> {
        let recorded = recording.model_of(run).unwrap_or_default();
        self.model_of(self.reply_source(agent, named, Some(&recorded))?, human)
    }

    /// Checks that the last run of a recording has everything that it needs to continue.
    pub(super) fn check_resumable(&self, recording: &Recording, human: Arc<dyn Human>) -> Result<(), StartError> {
        let run = recording.runs().pop().ok_or_else(|| unusable(not_begun(&recording.id)))?;
        let plan = plan_of(recording, &run).map_err(|error| unusable(error.to_string()))?;
        refuse_closures(&plan)?;
        let named = recording.named_model(&run);
        self.live_model(recording, &run, &plan.agent, named.as_deref(), human).map(|_| ())
    }

    /// Continues a finished run with a new message: a new session that starts with the old one's events, and a run with its conversation
    /// and definitions. After a run that failed because of its turn limit it may take more turns; a warning reports it.
    pub async fn proceed(
        &self,
        session: &Session,
        message: &str,
        model: Option<&str>,
        human: Arc<dyn Human>,
    ) -> Result<BackgroundRun, StartError> {
        let recording = Arc::new(Recording::of(session).map_err(unusable)?);
        let earlier = recording.runs().pop().ok_or_else(|| unusable(not_begun(session.header.id.as_str())))?;
        if !recording.is_complete(&earlier) {
            return Err(unusable(format!("{earlier} has not ended; `resume` continues it")));
        }
        let start = recording.run_start(&earlier).cloned().ok_or_else(|| unusable("its run.start is missing"))?;
        let inputs = inputs_at(&recording, &earlier)?;
        let start = inputs.start(&start);
        let Inputs { agent: old, context } = inputs;
        // A pinned program knows no message: a model answers.
        let recorded = recording.model_of(&earlier).unwrap_or_default();
        let asked = model.map_or_else(
            || if old.program().is_some() { self.model_name(None, &old) } else { recorded },
            str::to_owned,
        );
        let old = old.without_program();
        // A run that failed at max_turns would fail again.
        let more = run_end(&recording, &earlier).and_then(|end| more_turns(&start, end));
        let max_turns = more.as_ref().and_then(|hit| hit.next.parse().ok()).unwrap_or(old.max_turns);
        // The message is not a template, and it has no parameters.
        let signature = without_parameters(old.signature.as_deref());
        // Only programs read the earlier inputs; a model has them in the transcript.
        let (own, context) =
            if old.has_programs() { (old.context.clone(), context) } else { (Json::empty(), Json::empty()) };
        let agent = Agent { prompt: message.to_owned(), signature, max_turns, context: own, ..old }
            .with_option("literal", Node::Bool(true).into());
        self.refuse_keys(&agent, &Context::default())?;
        let plan = Plan::new(&agent).map_err(StartError::Agent)?;
        refuse_closures(&plan)?;
        let Onto { mut adopted, mut notices } = self.onto(&recording, session).await?;
        let carry = adopted.carries.remove(&earlier).unwrap_or_default();
        let live = self.build_model(self.chosen(model, &asked)?, Arc::clone(&human))?;
        let events: Vec<Envelope> = session.events().collect();
        let parent = Parent {
            session: recording.id.clone(),
            at: Some(earlier.to_string()),
            stage: Some("after".to_owned()),
            prefix_sha: None,
            seq: events.last().map_or(0, |last| last.seq),
            kind: ParentKind::Continue,
        };
        let header = header_of(parent);
        let last_ms = events.iter().map(|envelope| envelope.at_ms).max().unwrap_or_default();
        let clock = Arc::new(RunClock::start_after(last_ms));
        let create = |dir: &Path| Recorder::create_from(dir, &header, &events, Arc::clone(&clock) as _);
        let (recorder, moved) = self.in_writable_folder(create)?;
        notices.extend(moved);
        let path = Some(recorder.path().to_owned());
        copy_files(session.events(), &session.path, recorder.path()).map_err(unusable)?;
        let saver = Some(self.saver(&recorder));
        let (feed, stop) = (self.feed(Some(header.id.as_str())), Stop::default());
        let models = LiveModels::of(self, Arc::clone(&human));
        let id = header.id.to_string();
        let (task_feed, task_stop, task_id) = (feed.clone(), stop.clone(), id.clone());
        let run = Address::run(recording.runs().len());
        let damage_warning = more.map(|hit| {
            let message =
                format!("the previous run reached {} = {}; this one may use {}", hit.key, hit.value, hit.next);
            Diagnostic::error(Place::Options, Reason::MaxTurnsExceeded, message).key(hit.key).warning()
        });
        let warnings = plan.warnings.iter().cloned().chain(damage_warning).collect();
        let tools = self.outside();
        let files = AttachmentStore::of_session(&path.clone().unwrap_or_default());
        let task = tokio::spawn(async move {
            let tee = Tee::new(Some(recorder), task_feed);
            let events: &dyn Sink = &tee;
            let live = Ports::new(&*live, &*clock, events, task_stop);
            let ports = Ports { models: &models, human: &*human, tools: &tools, files: &files, ..live };
            let continues = Some((earlier, carry));
            let input = Input { seed: start.seed, continues, notices, ..Input::at(run, context) };
            let step = engine::run(&plan, input, &ports).await;
            tools.end().await;
            Step { session: Some(task_id), ..step }
        });
        Ok(BackgroundRun { session: Some(id), path, saver, feed, stop, warnings, task })
    }
}

fn run_end<'r>(recording: &'r Recording, run: &Address) -> Option<&'r RunEnd> {
    recording.at(run).iter().rev().find_map(|envelope| match &envelope.event {
        Event::RunEnd(end) => Some(end),
        _ => None,
    })
}

/// The output of a signature alone: a message has no parameters.
fn without_parameters(signature: Option<&str>) -> Option<String> {
    let output = ptc_core::signature::parse(signature?).ok()?.output?;
    Some(output.render())
}

/// Returns the Step of the resumed run from its file. Branches may have started calls that are not started again now: only the file
/// contains those.
fn folded(file: &Path, run: &Address, step: Step) -> Step {
    let Ok(session) = Session::open(file) else { return step };
    step_of(&session, run).unwrap_or(step)
}

/// The Step of a root run in a file; `None` for one that has not ended.
fn step_of(session: &Session, run: &Address) -> Option<Step> {
    let mut fold = StepFold::default();
    session.events().filter(|envelope| envelope.address.root() == *run).for_each(|envelope| fold.apply(&envelope));
    fold.is_complete().then(|| fold.step())
}

/// Assigns answers to the open questions: by address, and the others in the order in which the questions are shown. An
/// answer to a closed question becomes the option that it names: whole, or by its beginning. Errors: an answer to no
/// open question, or one that names no option.
fn assign_answers(recording: &Recording, answers: Answers) -> Result<Answers, StartError> {
    let Answers { mut by_address, mut in_order } = answers;
    let open = recording.open_questions();
    let listed = open.iter().map(Address::as_str).collect::<Vec<_>>().join(", ");
    let listed = if listed.is_empty() { "no question is open".to_owned() } else { format!("open: {listed}") };
    if let Some(other) = by_address.keys().filter(|address| !open.contains(address)).min() {
        let answered =
            if recording.answer(other).is_some() { "is already answered" } else { "is not a question of this session" };
        return Err(unusable(format!("{other} {answered} ({listed})")));
    }
    if !in_order.is_empty() && open.is_empty() {
        return Err(unusable("the session has no open question; `resume` without --answer continues it"));
    }
    for (at, asked) in open.iter().filter_map(|at| Some((at, recording.question(at)?))) {
        if !by_address.contains_key(at)
            && let Some(answer) = in_order.pop_front()
        {
            by_address.insert(at.clone(), answer);
        }
        let is_closed = matches!(asked.kind, QuestionKind::Consent | QuestionKind::Outcome | QuestionKind::Breakpoint);
        if let Some(answer) = by_address.get_mut(at).filter(|_| is_closed) {
            let Some(option) = named_option(&asked.options, answer) else {
                let options = asked.options.join(", ");
                return Err(unusable(format!("{answer:?} is not an answer to {at}; answer with one of: {options}")));
            };
            option.clone_into(answer);
        }
    }
    Ok(Answers { by_address, in_order })
}
