//! Pipelines: agents in a row, the Step of one being the context of the next. One session, one root run per step.

use std::path::Path;
use std::sync::Arc;

use ptc_core::reasons::Reason;
use ptc_core::signature::{Issue, Signature, Type, chain, underscored};
use ptc_core::value::Json;

use super::child_models::LiveModels;
use super::feed::Tee;
use super::run::{clock_of, stored_files};
use super::stages::{Stage, follow};
use super::tools::Looks;
use super::{BackgroundRun, StartError, Workbench};
use crate::agent::{Agent, BundledExample, Context, Diagnostic, Mode, Place, Plan, Step, Variant, is_key, open_params};
use crate::config::document::{self, Entry, FileError, Problem, Problems, advice};
use crate::config::read_named_file;
use crate::engine::{self, Input, Ports};
use crate::event::{Address, PipelineRecord};
use crate::port::{Human, Stop};
use crate::tool::{FileAccess, ReplacedInputs};

/// Keys of a step that names a file.
const STEP_KEYS: [&str; 2] = ["file", "context"];

/// Agents in a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// The agents in order, at least one.
    pub steps: Vec<Agent>,
}

impl Pipeline {
    /// Reads a pipeline file; `None` for a file without `[[steps]]`. Files of steps are relative to its folder.
    pub fn read(path: &Path, access: &FileAccess) -> Result<Option<Self>, FileError> {
        let file = path.display().to_string();
        let text = read_named_file(path).map_err(|error| FileError::unreadable(&file, &error))?;
        Self::from_toml(&text, &file, access)
    }

    /// The example pipeline of this name.
    pub fn bundled(name: &str) -> Result<Option<Self>, FileError> {
        match BundledExample::find_pipeline(name) {
            Some(example) => Self::from_toml(example.toml, &format!("{name}.toml"), &FileAccess::nowhere()),
            None => Ok(None),
        }
    }

    /// The pipeline of a TOML text, `None` without `[[steps]]`. `file` is its name for messages; files of steps are relative to its folder.
    pub fn from_toml(text: &str, file: &str, access: &FileAccess) -> Result<Option<Self>, FileError> {
        let path = Path::new(file);
        let mut problems = Problems::default();
        let Ok(document) = document::parse(text) else { return Ok(None) };
        let Some(items) = document.get("steps").and_then(Json::items) else {
            let wrong = misnamed_steps(&document);
            return wrong.map_or(Ok(None), |problem| Err(FileError::of(file, text, &problem)));
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut steps = Vec::new();
        // The user gives inputs of the first step only.
        let of_later = access.with_replaced_inputs(ReplacedInputs::None);
        for (place, item) in items.iter().enumerate() {
            let access = if place == 0 { access } else { &of_later };
            if let Some(name) = item.get("file").and_then(Json::as_str) {
                let entry = Entry { path: format!("steps.{place}.file"), ..Entry::root(item) };
                let keys = Entry { path: format!("steps.{place}"), ..Entry::root(item) }.entries().unwrap_or_default();
                for problem in keys.iter().filter_map(|key| without_effect(key, name)) {
                    problems.push(problem);
                }
                let read = Agent::read_linked(folder, &entry.path, name, access).map_err(|error| entry.problem(error));
                let Some(agent) = problems.take(read) else { continue };
                // The context in the file of a later step is for running it alone.
                let own = if place == 0 { agent.context.clone() } else { Json::empty() };
                steps.push(Agent { context: item.get("context").cloned().unwrap_or(own), ..agent });
            } else {
                let entry = Entry { path: "steps".to_owned(), ..Entry::root(item) };
                let keys = entry.entries().unwrap_or_default();
                if let Some(cases) = keys.iter().find(|key| key.key == "cases") {
                    let message = format!(
                        "`steps.{place}.cases`: a step cannot have cases, because pipelines are not tested; write the step into a file of its own \
                         and name it with `file`"
                    );
                    problems.push(Problem { key: cases.path.clone(), span: cases.key_span, message });
                }
                steps.extend(problems.take(Agent::from_entry(&entry, folder, access)));
            }
        }
        for entry in Entry::root(&document).entries().unwrap_or_default() {
            if !["name", "steps", "context"].contains(&entry.key) {
                problems.push(entry.unknown(&["name", "steps", "context"]));
            }
        }
        if let (Some(context), Some(first)) = (document.get("context"), steps.first_mut()) {
            first.context = context.clone();
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("pipeline");
        let name = document.get("name").and_then(Json::as_str).unwrap_or(stem).to_owned();
        problems.or_error(Some(Self { name, steps }), file, text)
    }

    /// The plans of its steps, with the check that each can take what the one before returns.
    pub fn plans(&self) -> Result<Vec<Plan>, Vec<Diagnostic>> {
        let mut plans: Vec<Plan> = Vec::new();
        for (index, agent) in self.steps.iter().enumerate() {
            let mut plan = Plan::new(agent).map_err(|findings| of_step(index, agent, findings))?;
            if let (Some(before), Some(params)) = (plans.last(), plan.signature.params.clone()) {
                let place = |message: String| {
                    let message = format!("{}: {message}", label(index, agent));
                    Diagnostic::error(Place::Signature, Reason::ChainError, message)
                };
                let output = answer_type(before);
                let passed = before.signature.params.as_deref().unwrap_or_default();
                let is_passed = |name: &str| passed.iter().any(|field| underscored(&field.name) == underscored(name));
                let mut params = open_params(&agent.context, &params);
                // An answer without fields fills the only open input; with several nothing is passed.
                if has_fields(&output) {
                    params.retain(|field| !is_passed(&field.name) || names_field(&output, &field.name));
                }
                let issues = chain(&output, &params);
                let given = answer_names(before, &plan);
                let errors: Vec<Diagnostic> = issues
                    .iter()
                    .filter(|issue| issue.is_error())
                    .map(|issue| place(chain_error(issue, &label(index - 1, &before.agent), &output, &given)))
                    .collect();
                if !errors.is_empty() {
                    return Err(errors);
                }
                plan.warnings.extend(issues.iter().map(|issue| place(issue.to_string()).warning()));
            }
            if let Some(before) = plans.last() {
                let lost = plan.lost(&answer_names(before, &plan));
                plan.warnings.extend(lost.map(|lost| {
                    let steps = [label(index, agent), label(index - 1, &before.agent)];
                    let message = format!("{}, answer of {}: {}", steps[0], steps[1], lost.message);
                    Diagnostic { message, ..lost }
                }));
            }
            plans.push(plan);
        }
        Ok(plans)
    }
}

/// A key that was meant as `[[steps]]`.
fn misnamed_steps(document: &Json) -> Option<Problem> {
    let entries = Entry::root(document).entries().ok()?;
    let wrong = entries.iter().find(|entry| ["steps", "step"].contains(&entry.key))?;
    let message = format!("`{}` is not a list of steps: a pipeline's steps are [[steps]]", wrong.key);
    Some(Problem { key: wrong.path.clone(), span: wrong.key_span, message })
}

/// The problem of a key that a step with the key `file` does not read.
fn without_effect(entry: &Entry<'_>, file: &str) -> Option<Problem> {
    if STEP_KEYS.contains(&entry.key) {
        return None;
    }
    let message = if is_key(entry.key) {
        format!(
            "`{}` has no effect next to `file`; write it in {file} (next to `file`, only `context` is read)",
            entry.key
        )
    } else {
        format!("unknown key `{}` next to `file`{}", entry.key, advice(entry.key, &STEP_KEYS))
    };
    Some(Problem { key: entry.path.clone(), span: entry.key_span, message })
}

/// The number of a step and its name, for messages.
fn label(index: usize, agent: &Agent) -> String {
    format!("step {} ({})", index + 1, agent.name)
}

/// The findings about a step, with its label and their position in its texts.
fn of_step(index: usize, agent: &Agent, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let labelled = |found: Diagnostic| {
        let position = agent.position_of(&found);
        let message = format!("{}: {position}{}", label(index, agent), found.message);
        Diagnostic { place: Place::Options, span: None, key: String::new(), message, fixes: Vec::new(), ..found }
    };
    findings.into_iter().map(labelled).collect()
}

/// The type of the answer of a step. Without a signature a model answers with text, and a program with any value.
fn answer_type(plan: &Plan) -> Type {
    let is_declared = plan.signature.output.is_some() || plan.agent.schema.is_some();
    let is_text = matches!(plan.agent.mode, Mode::Text | Mode::JsonLoop) && !is_declared;
    if is_text { Type::String } else { plan.output.clone() }
}

/// Returns whether an answer of this type has fields, or may have some.
fn has_fields(output: &Type) -> bool {
    matches!(output.base(), Type::Record { .. } | Type::Map | Type::Any)
}

/// Returns whether an answer of this type has a field of this name.
fn names_field(output: &Type, name: &str) -> bool {
    let Type::Record { fields, .. } = output.base() else { return false };
    fields.iter().any(|field| underscored(&field.name) == underscored(name))
}

/// An error between two steps in plain words: which input is missing, and what the step before answers with.
fn chain_error(issue: &Issue, before: &str, output: &Type, given: &[String]) -> String {
    if issue.expected != "field" {
        return issue.to_string();
    }
    if !has_fields(output) {
        return format!(
            "the input `{0}` is missing: the answer of {before} has no fields, and is passed on only where one input is open; add `{0}` to the context, or a signature with fields to {before}",
            issue.path
        );
    }
    let given: Vec<String> = given.iter().map(|name| format!("`{name}`")).collect();
    let answer = if given.is_empty() { String::new() } else { format!(", only {}", given.join(", ")) };
    format!(
        "the input `{0}` is missing: the answer of {before} has no field `{0}`{answer}; add it there or to the context",
        issue.path
    )
}

/// The names under which the answer of a step arrives at the next one, as far as they are known before a run.
fn answer_names(before: &Plan, next: &Plan) -> Vec<String> {
    match before.output.base() {
        Type::Record { fields, .. } => fields.iter().map(|field| field.name.clone()).collect(),
        Type::Map => Vec::new(),
        Type::Any if before.variant != Variant::Plain || before.agent.mode == Mode::PtcLisp => Vec::new(),
        _ => next.input_name().into_iter().collect(),
    }
}

/// A pipeline as it is read before it runs: its steps, and what goes from one to the next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PipelineOutline {
    /// The pipeline.
    pub definition: Pipeline,
    /// Its steps in order.
    pub steps: Vec<StepOutline>,
    /// Errors that prevent a run.
    pub errors: Vec<String>,
}

/// A step of a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOutline {
    /// The agent's name.
    pub name: String,
    /// Mode.
    pub mode: String,
    /// The model as it will be used.
    pub model: String,
    /// Signature, as written.
    pub signature: String,
    /// The task, as written.
    pub prompt: String,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// The fields of the previous answer that it uses.
    pub takes: Vec<String>,
    /// The fields that it does not use.
    pub leaves: Vec<String>,
}

impl Workbench {
    /// Returns the outline of a pipeline.
    pub fn outline(&self, pipeline: Pipeline) -> PipelineOutline {
        let errors = match pipeline.plans() {
            Ok(_) => Vec::new(),
            Err(findings) => findings.into_iter().filter(Diagnostic::is_error).map(|finding| finding.message).collect(),
        };
        let signatures: Vec<Option<Signature>> =
            pipeline.steps.iter().map(|agent| Plan::new(agent).ok().map(|plan| plan.signature)).collect();
        let before = [None].into_iter().chain(signatures.iter().map(Option::as_ref));
        let steps = pipeline.steps.iter().zip(&signatures).zip(before);
        let steps = steps.map(|((agent, signature), before)| self.outline_step(agent, signature.as_ref(), before));
        PipelineOutline { steps: steps.collect(), errors, definition: pipeline }
    }

    fn outline_step(&self, agent: &Agent, own: Option<&Signature>, before: Option<&Signature>) -> StepOutline {
        let params = own.and_then(|signature| signature.params.as_deref()).unwrap_or_default();
        let takes: Vec<String> = params.iter().map(|field| field.name.clone()).collect();
        let output = match before.and_then(|before| before.output.as_ref()) {
            Some(Type::Record { fields, .. }) => fields.as_slice(),
            _ => &[],
        };
        let same = |one: &str, other: &str| one.replace('-', "_") == other.replace('-', "_");
        let names = output.iter().map(|field| field.name.clone());
        let leaves = names.filter(|name| !takes.iter().any(|taken| same(taken, name))).collect();
        StepOutline {
            name: agent.name.clone(),
            mode: agent.mode.name().to_owned(),
            model: self.answerer_name(None, agent),
            signature: agent.signature.clone().unwrap_or_default(),
            prompt: agent.prompt.clone(),
            tools: agent.tools.iter().map(|tool| tool.name.clone()).collect(),
            takes: if before.is_some() { takes } else { Vec::new() },
            leaves,
        }
    }
}

/// Options of a pipeline run.
pub struct PipelineSpec {
    /// The agents.
    pub pipeline: Pipeline,
    /// The model of all steps: the user's choice; else each agent's, else the configured one.
    pub model: Option<String>,
    /// The context of the first step; its own when absent.
    pub context: Option<Context>,
    /// Answers questions.
    pub human: Arc<dyn Human>,
    /// Keep a session file.
    pub save: bool,
}

impl Workbench {
    /// Starts a pipeline on the current runtime. The Step is that of the last agent that ran.
    pub fn start_pipeline(&self, spec: PipelineSpec) -> Result<BackgroundRun, StartError> {
        let (named_model, human) = (spec.model.as_deref(), spec.human);
        let plans = spec.pipeline.plans().map_err(StartError::Agent)?;
        let stage = |(index, plan): (usize, Plan)| {
            let agent = plan.agent.clone();
            self.stage(plan, named_model, &human).map_err(|error| match error {
                StartError::Agent(findings) => StartError::Agent(of_step(index, &agent, findings)),
                other => other,
            })
        };
        let stages: Result<Vec<Stage>, StartError> = plans.into_iter().enumerate().map(stage).collect();
        let mut stages = stages?;
        if stages.is_empty() {
            let none = Diagnostic::error(Place::Options, Reason::InvalidAgent, "the pipeline has no steps");
            return Err(StartError::Agent(vec![none.key("steps")]));
        }
        let mut later = stages.split_off(1);
        let mut first = stages.remove(0);
        let context = spec.context.unwrap_or_else(|| first.plan.agent.context.clone().into());
        let mut notices = self.secret_findings(&first.plan.agent, &context);
        for stage in [&first].into_iter().chain(&later) {
            self.refuse_keys(&stage.plan.agent, &context)?;
        }
        notices.extend(later.iter().flat_map(|stage| self.secret_findings(&stage.plan.agent, &Context::default())));
        let created = spec.save.then(|| self.new_session()).transpose()?;
        let session = created.as_ref().map(|created| created.id.to_string());
        notices.extend(created.as_ref().and_then(|created| created.notice.clone()));
        let recorder = created.map(|created| created.recorder);
        let clock = clock_of(recorder.as_ref());
        let path = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let saver = recorder.as_ref().map(|recorder| self.saver(recorder));
        let (feed, stop) = (self.feed(session.as_deref()), Stop::default());
        let models = LiveModels::of(self, Arc::clone(&human));
        let warnings = [&first].into_iter().chain(&later).flat_map(|stage| stage.plan.warnings.clone()).collect();
        let (name, workbench) = (spec.pipeline.name, self.clone());
        let (task_feed, task_stop, task_session) = (feed.clone(), stop.clone(), session.clone());
        let tools = self.outside();
        let files = stored_files(path.as_deref(), &context)?;
        let task = tokio::spawn(async move {
            let tee = Tee::new(recorder, task_feed);
            let (run, cancel) = (Address::run(0), task_stop.token());
            let mut looks = Looks { run, tools: &tools, human: &*human, cancel, consents: Vec::new() };
            for stage in [&mut first].into_iter().chain(&mut later) {
                stage.look(&workbench, &mut looks).await;
            }
            let agent = workbench.with_resources(first.plan.agent.clone(), &context.json, &mut looks).await;
            first.plan.agent = agent;
            let consents = looks.consents;
            let record = PipelineRecord { name, then: later.iter().map(Stage::record).collect() };
            let live = Ports::new(&*first.model, &*clock, &tee, task_stop.clone());
            let ports = Ports { models: &models, human: &*human, tools: &tools, files: &files, ..live };
            let descriptions = context.descriptions;
            let pipeline = Some(record);
            let input = Input { descriptions, pipeline, consents, notices, ..Input::new(context.json) };
            let step = engine::run(&first.plan, input, &ports).await;
            let step = follow(step, &later, 1, &ports).await;
            tools.end().await;
            Step { session: task_session, ..step }
        });
        Ok(BackgroundRun { session, path, saver, feed, stop, warnings, task })
    }
}
