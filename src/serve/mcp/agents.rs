//! Tools about agents: files, checks, the first request, runs; models and programs.
//!
//! In: names from a client. Out: texts. It must never open a file outside the folder of the server.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_core::limits::{COMPILE_TIMEOUT, PROGRAM_TIMEOUT};
use ptc_core::lisp::case::Case;
use ptc_core::lisp::{CallAddress, Signal};
use ptc_core::text::in_one_line;
use ptc_core::value::{Bounds, Json, Value as LispValue};
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::arguments::{AgentArguments, Arguments, CheckArguments, LispArguments, NoArguments, RunArguments, read};
use super::human::ElicitingHuman;
use super::progress::await_run;
use super::{Answer, WorkbenchServer};
use crate::agent::{Agent, BUNDLED, BundledExample, Context, Diagnostic, Mode, Plan, Severity, Step};
use crate::config::{document, read_regular_file};
use crate::event::{Interrupt, InterruptReason, InterruptSource};
use crate::port::{Human, Stop, SystemClock};
use crate::program::{self, ProgramSettings, fail_message};
use crate::serve::ServedAgent;
use crate::serve::runs::check_context_of_client;
use crate::workbench::format::{inflected, plural};
use crate::workbench::{BackgroundRun, RunSpec, Source};

/// Hint for a client on how to answer the questions of a run.
const RESUME_HINT: &str =
    "answer with the tool session_resume: the session, and the answers in the order of the questions";
/// Agent files that a list shows at most.
const MOST_FILES: usize = 200;

/// The folder that the server was started in.
fn root() -> Result<PathBuf, String> {
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
    folder.map_err(|error| format!("the folder of the server cannot be read: {error}"))
}

/// The agent file of a name inside the folder; `None` for a name that can only be an example.
fn file_of(name: &str) -> Result<Option<PathBuf>, String> {
    let (root, path) = (root()?, Path::new(name));
    if !root.join(path).exists() {
        return Ok(None);
    }
    let file = root.join(path).canonicalize().map_err(|error| format!("{name}: {error}"))?;
    if !file.starts_with(&root) {
        return Err(format!("{name} is outside the folder of the server"));
    }
    Ok(Some(file))
}

impl WorkbenchServer {
    /// The agent of a name: a file inside the folder, else an example.
    pub(super) fn agent(&self, name: &str) -> Result<Agent, String> {
        let path = file_of(name)?.unwrap_or_else(|| PathBuf::from(name));
        if path.is_absolute() || BundledExample::find(name).is_some() {
            return match Source::find(name, &path, self.workbench.file_access())? {
                Source::Agent(agent) => Ok(*agent),
                Source::Pipeline(_) => Err(format!("{name} is a pipeline, not an agent")),
            };
        }
        let names: Vec<&str> = BUNDLED.iter().map(|example| example.name).collect();
        Err(format!(
            "{name}: no such agent file in the folder of the server, and no example (examples: {})",
            names.join(", ")
        ))
    }

    /// The user of this client.
    pub(super) fn human(&self, context: &RequestContext<RoleServer>) -> Arc<dyn Human> {
        Arc::new(ElicitingHuman { peer: context.peer.clone(), input_end: self.input_end.clone() })
    }
}

pub(super) fn list(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let NoArguments {} = read(arguments)?;
    let root = root()?;
    let mut files: Vec<PathBuf> = toml_files(&root);
    files.sort();
    let mut lines: Vec<String> =
        files.iter().take(MOST_FILES).filter_map(|file| file_line(server, &root, file)).collect();
    if files.len() > MOST_FILES {
        lines.push(format!("{} more TOML files not shown", files.len() - MOST_FILES));
    }
    for example in BUNDLED {
        if let Ok(agent) = example.agent() {
            lines.push(format!("{} (example)", line(example.name, &agent)));
        }
    }
    for served in server.agents.iter() {
        lines.push(format!("{} (a tool of this server)", line(&served.label, &served.agent)));
    }
    Ok(lines.join("\n"))
}

/// Agent files of the folder and of its folders, without hidden ones.
fn toml_files(root: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let read = std::fs::read_dir(folder).into_iter().flatten().flatten();
        read.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).collect::<Vec<_>>()
    };
    let is_agent = |path: &PathBuf| is_toml(path) && path.is_file();
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in entries(root) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder { folders.push(entry.path()) } else { files.push(entry.path()) }
    }
    files.extend(folders.iter().flat_map(|folder| entries(folder)).map(|entry| entry.path()));
    files.retain(is_agent);
    files.retain(|file| file.file_name().is_none_or(|name| name != "Cargo.toml" && name != "pyproject.toml"));
    files
}

/// The line of a file in the list, with its first error if it has one. `None` for files that are not agents, and for links that lead out
/// of the folder.
fn file_line(server: &WorkbenchServer, root: &Path, file: &Path) -> Option<String> {
    let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
    if !file.canonicalize().is_ok_and(|file| file.starts_with(root)) {
        return None;
    }
    match Source::find(&name, file, server.workbench.file_access()) {
        Ok(Source::Agent(agent)) => Some(match first_error(server, &agent) {
            Some(error) => format!("{name}: error: {error}"),
            None => line(&name, &agent),
        }),
        Ok(Source::Pipeline(_)) => Some(format!("{name}: a pipeline")),
        Err(_) if read_regular_file(file).is_ok_and(|text| !may_define_agent(&text)) => None,
        Err(error) => {
            let first = error.lines().next().unwrap_or_default();
            let error = first.strip_prefix(&*file.to_string_lossy()).unwrap_or(first).trim_start_matches([':', ' ']);
            Some(format!("{name}: error: {error}"))
        }
    }
}

/// The first error of an agent whose file can be read.
fn first_error(server: &WorkbenchServer, agent: &Agent) -> Option<String> {
    let connected = match server.workbench.connected(agent.clone()) {
        Ok(connected) => connected,
        Err(error) => return error.to_string().lines().next().map(ToOwned::to_owned),
    };
    let findings = Plan::new(&connected).err()?;
    findings.iter().find(|found| found.severity == Severity::Error).map(keyed)
}

/// Returns whether a text with errors was written as an agent or a pipeline: it has one of their main keys. Other files may contain
/// secrets.
fn may_define_agent(text: &str) -> bool {
    const KEYS: [&str; 4] = ["prompt", "signature", "program", "steps"];
    match document::parse(text) {
        Ok(document) => KEYS.into_iter().any(|key| document.get(key).is_some()),
        Err(_) => text.lines().any(|line| {
            let name = line.trim_start().trim_start_matches('[');
            KEYS.contains(&name.split(['=', ']', ' ']).next().unwrap_or_default())
        }),
    }
}

fn line(name: &str, agent: &Agent) -> String {
    let signature = agent.signature.as_deref().unwrap_or("no signature");
    format!("{name}: {}, {}", agent.mode, in_one_line(signature))
}

pub(super) fn read_text(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let AgentArguments { agent: name } = read(arguments)?;
    match file_of(&name)? {
        Some(file) => file_text(server, &name, &file),
        None => server.agent(&name).map(|agent| agent.to_toml()),
    }
}

/// The text of a file, which may have errors if it was written as an agent. Hidden files and files with another ending must be agents:
/// the folder may contain secrets.
fn file_text(server: &WorkbenchServer, name: &str, file: &Path) -> Result<String, String> {
    let root = root()?;
    let is_hidden = |part: Component<'_>| part.as_os_str().to_string_lossy().starts_with('.');
    let is_listed = is_toml(file) && !file.strip_prefix(&root).unwrap_or(file).components().any(is_hidden);
    if !is_listed {
        server.agent(name)?;
    }
    let text = read_regular_file(file).map_err(|error| format!("{name}: {error}"))?;
    if is_listed && !may_define_agent(&text) {
        server.agent(name)?;
    }
    Ok(text)
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml")
}

pub(super) fn check(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let CheckArguments { agent, toml } = read(arguments)?;
    let (name, checked) = match (agent, toml) {
        (Some(name), None) => (name.clone(), server.agent(&name)?),
        (None, Some(text)) => match Agent::from_toml(&text, "agent") {
            Ok(agent) => ("the agent".to_owned(), agent),
            Err(error) => return Ok(format!("error: {error}")),
        },
        _ => return Err("name either `agent` or `toml`".to_owned()),
    };
    let findings = match server.workbench.connected(checked).map_err(|error| error.to_string()) {
        Ok(agent) => match Plan::new(&agent) {
            Ok(plan) => plan.warnings,
            Err(findings) => findings,
        },
        Err(error) => return Ok(format!("error: {error}")),
    };
    if findings.is_empty() {
        return Ok(format!("{name}: no errors, no warnings"));
    }
    Ok(findings.iter().map(finding).collect::<Vec<_>>().join("\n"))
}

fn finding(found: &Diagnostic) -> String {
    let severity = if found.severity == Severity::Error { "error" } else { "warning" };
    format!("{severity}: {}", keyed(found))
}

/// The message of a finding, after its key.
fn keyed(found: &Diagnostic) -> String {
    let key = if found.key.is_empty() { String::new() } else { format!("{}: ", found.key) };
    format!("{key}{}", found.message)
}

pub(super) fn preview(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let RunArguments { agent, context, model } = read(arguments)?;
    let agent = server.agent(&agent)?;
    let context = context.map(|_| arguments.exact("context"));
    if let Some(context) = &context {
        check_context_of_client(&agent, context)?;
    }
    let context = context.map(Context::from);
    let preview = server.workbench.preview(&agent, model.as_deref(), context);
    preview.map(|preview| preview.to_json().to_pretty()).map_err(|error| error.to_string())
}

pub(super) fn models(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let NoArguments {} = read(arguments)?;
    let lines = server
        .workbench
        .models()
        .into_iter()
        .map(|line| format!("{}: {}, {}", line.name, line.state.meaning(), line.note));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

pub(super) fn lisp(_: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let LispArguments { program, data } = read(arguments)?;
    let context = if data.is_empty() { Json::empty() } else { arguments.exact("data") };
    let options = Json::empty().with("dialect", Json::str("current"));
    let record = Json::empty().with("program", Json::str(program)).with("context", context).with("opts", options);
    let case = Case::read(&record).map_err(|error| error.message())?;
    let tools = |_: &CallAddress, tool: &str, args: &LispValue| case.answer(tool, args);
    let settings = ProgramSettings {
        tools: &tools,
        timeout_ms: PROGRAM_TIMEOUT.most(),
        compile_timeout_ms: COMPILE_TIMEOUT.most(),
        now_ms: SystemClock.now(),
        stop: &AtomicBool::new(false),
    };
    let outcome = program::run(&case.input(), &settings);
    let mut text = String::new();
    for entry in &outcome.prints {
        _ = writeln!(text, "{entry}");
    }
    for warning in &outcome.warnings {
        _ = writeln!(text, "note: {warning}");
    }
    match &outcome.result {
        Ok((Signal::Fail, value)) => Err(format!("{text}the program failed: {}", fail_message(value))),
        Ok((_, value)) => Ok(format!("{text}{}", value.print(Bounds::default()).text)),
        Err(error) => {
            let place = error.span.map(|span| format!(" at {}", span.line_col(&case.program))).unwrap_or_default();
            Err(format!("{text}{}{place}: {}", error.reason, error.message()))
        }
    }
}

/// A run by name.
pub(super) fn run<'a>(
    server: &'a WorkbenchServer,
    arguments: &'a Arguments,
    context: &'a RequestContext<RoleServer>,
) -> BoxFuture<'a, Result<Answer, String>> {
    async move {
        let RunArguments { agent, context: given, model } = read(arguments)?;
        let agent = server.agent(&agent)?;
        let data = given.map(|_| arguments.exact("context"));
        let step = start(server, agent, data, model, context).await?;
        Ok(Answer::Run(Box::new(step)))
    }
    .boxed()
}

/// A run of a served agent with these inputs.
pub(super) async fn call(
    server: &WorkbenchServer,
    served: &ServedAgent,
    inputs: Json,
    context: &RequestContext<RoleServer>,
) -> Result<Box<Step>, String> {
    start(server, served.agent.clone(), Some(inputs), None, context).await.map(Box::new)
}

async fn start(
    server: &WorkbenchServer,
    agent: Agent,
    data: Option<Json>,
    model: Option<String>,
    context: &RequestContext<RoleServer>,
) -> Result<Step, String> {
    if let Some(data) = &data {
        check_context_of_client(&agent, data)?;
    }
    let spec = RunSpec {
        agent,
        model,
        context: data.map(Context::from),
        human: server.human(context),
        save: true,
        seed: 0,
        journal: None,
    };
    let run = server.workbench.start(spec).map_err(|error| error.to_string())?;
    finish(server, run, context).await
}

/// Waits for the end of a run. A client that cancels its request stops it, and so does the end of the program.
pub(super) async fn finish(
    server: &WorkbenchServer,
    run: BackgroundRun,
    context: &RequestContext<RoleServer>,
) -> Result<Step, String> {
    let BackgroundRun { stop, feed, task, saver, .. } = run;
    let task = BackgroundRun::saved_task(task, saver);
    stopped_with(server, context, &stop, await_run(context, feed, task)).await.map_err(|error| error.to_string())
}

/// Waits for work that this stop ends. The client stops it by cancelling its request or leaving, a signal by ending the program.
pub(super) async fn stopped_with<T>(
    server: &WorkbenchServer,
    context: &RequestContext<RoleServer>,
    stop: &Stop,
    work: impl Future<Output = T>,
) -> T {
    let _guard = StopOnDrop(stop.clone());
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => done,
        () = context.ct.cancelled() => {
            stop.by_user();
            work.await
        }
        () = server.end.cancelled() => {
            stop.now(Interrupt { reason: InterruptReason::Cancelled, by: InterruptSource::Signal });
            work.await
        }
    }
}

/// Stops work whose result is not awaited any more; work that has ended is not changed.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.by_user();
    }
}

/// The end of a run in words.
pub(super) fn step_text(step: &Step) -> String {
    let mut lines = Vec::new();
    match (&step.answer, &step.fail) {
        (Some(answer), None) => lines.push(format!("returned: {}", answer.to_text())),
        (_, Some(fail)) => {
            lines.push(format!("{}: {}", fail.reason, fail.message));
            // The hint of a run that waits names a command, which a client cannot run.
            let hint = if step.waits_for.is_some() { Some(RESUME_HINT) } else { fail.hint.as_deref() };
            lines.extend(hint.map(|hint| format!("hint: {hint}")));
        }
        (None, None) => lines.push("the run has not ended".to_owned()),
    }
    if let Some(question) = &step.waits_for {
        let asked = step.questions.iter().find(|asked| asked.address.as_ref() == Some(question));
        let text = asked.map(|asked| asked.text.as_str()).unwrap_or_default();
        lines.push(format!("it waits for an answer to {question}: {text}"));
    }
    let totals = step.usage.total.totals();
    let tokens = totals.tokens.map(|tokens| format!(", {}", token_count(tokens.total()))).unwrap_or_default();
    lines.push(format!("{}{tokens}, {} ms", plural(u64::from(totals.turns), "turn"), step.usage.duration_ms));
    lines.extend(step.session.as_ref().map(|id| format!("session: {id}")));
    lines.join("\n")
}

/// A number of tokens with its noun, without separators between the digits.
pub(super) fn token_count(tokens: u64) -> String {
    format!("{tokens} {}", inflected(tokens, "token"))
}

/// A mode by name.
pub(super) fn mode(name: &str) -> Result<Mode, String> {
    let names = || Mode::ALL.map(Mode::name).join(", ");
    Mode::from_name(name).ok_or_else(|| format!("unknown mode `{name}` (modes: {})", names()))
}
