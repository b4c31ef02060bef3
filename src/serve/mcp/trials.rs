//! Tools that run cases: a suite of one agent, a matrix of several; and the results of a matrix.
//!
//! In: names from a client. Out: texts with counts, intervals and the sessions of what failed.

use std::fmt::Write as _;
use std::path::Path;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::agents::{mode, stopped_with};
use super::arguments::{Arguments, CasesArguments, MatrixArguments, MatrixNameArguments, read};
use super::{Answer, WorkbenchServer};
use crate::agent::Agent;
use crate::port::Stop;
use crate::workbench::Workbench;
use crate::workbench::format::{cost, duration, plural};
use crate::workbench::matrix::{CellReport, DefaultModes, MatrixEvent, MatrixSpec, MatrixState, split_models};
use crate::workbench::suite::{CaseFilter, CaseReport, EndedTrial, Suite, SuiteAgent};

/// Trials at once.
const JOBS: usize = 4;
/// Maximum number of trials of a case.
const MOST_TRIALS: u32 = 100;

fn trials(wanted: Option<u32>) -> Result<u32, String> {
    let trials = wanted.unwrap_or(1);
    let is_allowed = (1..=MOST_TRIALS).contains(&trials);
    if is_allowed { Ok(trials) } else { Err(format!("`trials` is {trials}: it is a number from 1 to {MOST_TRIALS}")) }
}

pub(super) fn run_cases<'a>(
    server: &'a WorkbenchServer,
    arguments: &'a Arguments,
    context: &'a RequestContext<RoleServer>,
) -> BoxFuture<'a, Result<Answer, String>> {
    async move {
        let arguments: CasesArguments = read(arguments)?;
        let agent = server.agent(&arguments.agent)?;
        let folder = Path::new(&arguments.agent).parent().unwrap_or(Path::new("")).to_owned();
        let suite_agent = SuiteAgent::new(
            &arguments.agent,
            &agent,
            None,
            (folder, server.workbench.file_access()),
            &CaseFilter::default(),
        );
        let suite_agent =
            suite_agent.map_err(|found| found.first().map(|one| one.message.clone()).unwrap_or_default())?;
        if suite_agent.selection.count() == 0 {
            return Err(format!("{} has no cases: write [[cases]] into its file", arguments.agent));
        }
        let trials = trials(arguments.trials)?;
        let suite = Suite {
            agents: vec![suite_agent],
            model: arguments.model,
            trials,
            pace: JOBS.into(),
            keeps_outcomes: false,
        };
        server.workbench.check_suite(&suite).map_err(|error| error.to_string())?;
        let (stop, watch) = (Stop::default(), &mut |_: EndedTrial<'_>| {});
        let report = stopped_with(server, context, &stop, server.workbench.run_suite(&suite, &stop, watch)).await;
        let mut lines: Vec<String> = report.agents.iter().flat_map(|agent| agent.cases.iter().map(case_text)).collect();
        let counts = report.counts();
        lines.push(format!("{} passed, {} failed, {}", counts.passed, counts.failed, plural(counts.errors, "error")));
        if report.stopped {
            lines.push("stopped: the remaining trials were not run".to_owned());
        }
        Ok(Answer::Text(lines.join("\n")))
    }
    .boxed()
}

/// An agent with the cases of its files in the definition.
fn agent_with_cases(server: &WorkbenchServer, name: &str) -> Result<Agent, String> {
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let agent = server.agent(name)?.with_case_files_read(folder, server.workbench.file_access());
    agent.map_err(|found| format!("{name}: {}", found.message))
}

fn case_text(case: &CaseReport) -> String {
    let counts = case.counts();
    let mut text = format!("{}: {} of {} passed", case.name, counts.passed, counts.trials);
    for trial in case.trials.iter().filter(|trial| !trial.verdict.is_pass()) {
        let session = trial.session.as_ref().map(|id| format!(", session {id}")).unwrap_or_default();
        _ = write!(text, "\n  trial {}{session}", trial.number);
        trial.verdict.lines().iter().for_each(|line| _ = write!(text, "\n    {line}"));
    }
    text
}

pub(super) fn run_matrix<'a>(
    server: &'a WorkbenchServer,
    arguments: &'a Arguments,
    context: &'a RequestContext<RoleServer>,
) -> BoxFuture<'a, Result<Answer, String>> {
    async move {
        let arguments: MatrixArguments = read(arguments)?;
        let agents = arguments.agents.iter().map(|name| Ok((name.clone(), agent_with_cases(server, name)?)));
        let spec = MatrixSpec {
            agents: agents.collect::<Result<_, String>>()?,
            modes: arguments.modes.iter().map(|name| mode(name)).collect::<Result<_, _>>()?,
            default_modes: DefaultModes::Own,
            models: split_models(&arguments.models),
            trials: trials(arguments.trials)?,
            seed: 0,
            ..MatrixSpec::default()
        };
        let plan = server.workbench.plan_matrix(&spec).map_err(|error| error.to_string())?;
        let (mut file, mut state) = server.workbench.begin_matrix(plan).map_err(|error| error.to_string())?;
        let (stop, watch) = (Stop::default(), &mut |_: &MatrixEvent, _: &MatrixState| {});
        let work = server.workbench.run_matrix(&mut file, &mut state, JOBS, &stop, watch);
        stopped_with(server, context, &stop, work).await.map_err(|error| error.to_string())?;
        Ok(Answer::Text(matrix_text(&file.id, &state)))
    }
    .boxed()
}

pub(super) fn show(server: &WorkbenchServer, arguments: &Arguments) -> Result<String, String> {
    let MatrixNameArguments { matrix } = read(arguments)?;
    let id = match matrix {
        Some(id) if Workbench::is_matrix(&id) => id,
        Some(id) => return Err(format!("`{id}` is not an id of a matrix")),
        None => server.workbench.matrices().first().map(|entry| entry.id.clone()).ok_or("no matrix yet")?,
    };
    let state = server.workbench.read_matrix(&id).map_err(|error| error.to_string())?;
    Ok(matrix_text(&id, &state))
}

fn matrix_text(id: &str, state: &MatrixState) -> String {
    let mut lines = vec![format!("{id}: {} of {}", state.done(), plural(state.total() as u64, "trial"))];
    lines.extend(state.reports().iter().map(cell_text));
    lines.join("\n")
}

fn cell_text(report: &CellReport) -> String {
    let name = report.cell.name();
    if let Some(why) = &report.cell.unfit {
        return format!("{name}: not run, {why}");
    }
    let (low, high) = report.interval;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let amount = report.cost.map(|mean| format!(", cost {}", cost(Some(mean)))).unwrap_or_default();
    let time = report.time_ms.map(|ms| format!(", {}", duration(ms))).unwrap_or_default();
    let mut text = format!(
        "{name}: {} of {} passed ({} to {}){amount}{time}",
        report.passed,
        report.trials,
        percent(low),
        percent(high)
    );
    for trial in report.sessions.iter().filter(|trial| !trial.passed) {
        let why = trial.why.as_deref().unwrap_or_default();
        _ = write!(text, "\n  trial {}, session {}: {why}", trial.trial, trial.session);
    }
    text
}
