//! `test`: the cases of agents, with a summary, JSON and `JUnit` XML.

use std::path::Path;

use ptc_core::value::Json;

use super::arguments::TestFlags;
use super::json::printable;
use super::run::stop_on_signal;
use super::source::{self, place};
use super::{UsageError, agent_source, exit, out, safe, safe_line, tell, unwritable};
use crate::agent::Verdict;
use crate::port::Stop;
use crate::workbench::Workbench;
use crate::workbench::files::{check_place, write_whole};
use crate::workbench::format::{Marks, duration, plural};
use crate::workbench::suite::{AgentReport, CaseReport, Counts, Suite, SuiteAgent, SuiteReport, TrialReport, junit};

/// How the results begin as XML.
const XML: &str = "<?xml";

pub(super) async fn test(flags: &TestFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let agents = flags.agents.iter().map(|name| agent(name, flags.mode.as_deref())).collect::<Result<Vec<_>, _>>()?;
    for agent in agents.iter().filter(|agent| agent.cases.is_empty()) {
        tell(&format!(
            "warning: {} has no cases; write [[cases]] (`sessions case` makes one)",
            safe_line(&agent.label)
        ));
    }
    if agents.iter().all(|agent| agent.cases.is_empty()) {
        return Err(UsageError("there is no case to run".to_owned()));
    }
    let suite = Suite { agents, model: flags.model.clone(), trials: flags.trials, jobs: flags.jobs.into() };
    workbench.check_suite(&suite).map_err(|error| UsageError(error.to_string()))?;
    if let Some(file) = &flags.junit {
        check_place(file, XML).map_err(|error| unwritable(file, &error))?;
    }
    let stop = Stop::default();
    let signals = tokio::spawn(stop_on_signal(stop.clone()));
    let marks = Marks::of(plain);
    let labels: Vec<String> = suite.agents.iter().map(|agent| agent.agent.name.clone()).collect();
    let mut watch = |agent: usize, case: &str, trial: &TrialReport| {
        let number = if suite.trials > 1 { format!(" [{}]", trial.number) } else { String::new() };
        let text = format!("{} · {case}{number}  {}", labels[agent], duration(trial.duration_ms));
        tell(&safe_line(&judged(&trial.verdict, &text, marks)));
    };
    let report = workbench.run_suite(&suite, &stop, &mut watch).await;
    signals.abort();
    if let Some(file) = &flags.junit {
        let page =
            junit(&report).map_err(|error| UsageError(format!("the results cannot be written as XML: {error}")))?;
        write_whole(file, page.as_bytes()).map_err(|error| unwritable(file, &error))?;
    }
    if flags.json {
        out(&printable(&json(&report)));
    } else {
        summary(&report, marks);
    }
    Ok(match report.counts().is_pass() {
        _ if report.stopped => exit::CANCELLED,
        true => exit::OK,
        false => exit::FAILED,
    })
}

fn agent(name: &str, mode: Option<&str>) -> Result<SuiteAgent, UsageError> {
    let agent = agent_source(name)?;
    let mode = mode.map(source::mode).transpose()?;
    let folder = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
    SuiteAgent::new(name, &agent, mode, folder).map_err(|findings| {
        let lines: Vec<_> =
            findings.iter().map(|found| format!("{name}: {}{}", place(&agent, found), found.message)).collect();
        UsageError(lines.join("\nerror: "))
    })
}

/// A line about what a verdict is about.
fn judged(verdict: &Verdict, said: &str, marks: &Marks) -> String {
    let mark = match verdict {
        Verdict::Pass => marks.good,
        Verdict::Fail(_) => marks.failed,
        Verdict::Error(_) => marks.untried,
    };
    marks.line(mark, said)
}

fn summary(report: &SuiteReport, marks: &Marks) {
    for agent in &report.agents {
        out(&safe_line(&format!("{} · {} · {}", agent.name, agent.mode, agent.model)));
        agent.cases.iter().for_each(|case| of_case(case, marks));
    }
    let cases: usize = report.agents.iter().map(|agent| agent.cases.len()).sum();
    let Counts { trials, passed, failed, errors } = report.counts();
    let trials = if trials == cases as u64 { String::new() } else { format!(", {}", plural(trials, "trial")) };
    out(&format!(
        "{}{trials}: {passed} passed, {failed} failed, {}",
        plural(cases as u64, "case"),
        plural(errors, "error")
    ));
    if report.stopped {
        tell("stopped: what had not begun was not run");
    }
}

fn of_case(case: &CaseReport, marks: &Marks) {
    let counts = case.counts();
    let worst = case.trials.iter().map(|trial| &trial.verdict).max_by_key(|verdict| match verdict {
        Verdict::Pass => 0,
        Verdict::Error(_) => 1,
        Verdict::Fail(_) => 2,
    });
    let Some(worst) = worst else {
        return out(&safe_line(&format!("  {}", marks.line(marks.none, &format!("{}  not run", case.name)))));
    };
    let several = case.trials.len() > 1;
    let passed = if several { format!("  {} of {} passed", counts.passed, counts.trials) } else { String::new() };
    let replayed = if case.is_replayed { "  replayed" } else { "" };
    out(&safe_line(&format!("  {}", judged(worst, &format!("{}{passed}{replayed}", case.name), marks))));
    for trial in case.trials.iter().filter(|trial| !trial.verdict.is_pass()) {
        let session = trial.session.as_ref().map(|id| format!("session {id}")).unwrap_or_default();
        let number = if several { format!("trial {}, seed {}, ", trial.number, trial.seed) } else { String::new() };
        let head = format!("{number}{session}");
        if !head.is_empty() {
            out(&safe_line(&format!("      {head}")));
        }
        let lines = trial.verdict.lines();
        lines.iter().flat_map(|line| line.lines()).for_each(|line| out(&format!("      {}", safe(line))));
    }
}

/// `{agents: [{agent, file, mode, model, cases: [{name, replayed, trials: […]}]}], trials, passed, failed, errors, duration_ms, stopped}`
fn json(report: &SuiteReport) -> Json {
    let counts = report.counts();
    Json::object([
        ("agents", Json::list(report.agents.iter().map(of_agent))),
        ("trials", counts.trials.into()),
        ("passed", counts.passed.into()),
        ("failed", counts.failed.into()),
        ("errors", counts.errors.into()),
        ("duration_ms", report.duration_ms.into()),
        ("stopped", report.stopped.into()),
    ])
}

fn of_agent(agent: &AgentReport) -> Json {
    let case = |case: &CaseReport| {
        Json::object([
            ("name", Json::str(case.name.as_str())),
            ("replayed", case.is_replayed.into()),
            ("trials", Json::list(case.trials.iter().map(trial))),
        ])
    };
    Json::object([
        ("agent", Json::str(agent.name.as_str())),
        ("file", Json::str(agent.label.as_str())),
        ("mode", Json::str(agent.mode.name())),
        ("model", Json::str(agent.model.as_str())),
        ("cases", Json::list(agent.cases.iter().map(case))),
    ])
}

fn trial(trial: &TrialReport) -> Json {
    let why = match &trial.verdict {
        Verdict::Pass => Vec::new(),
        Verdict::Fail(found) => found.iter().map(|found| (found.path.as_str(), found.why.as_str())).collect(),
        Verdict::Error(why) => vec![("", why.as_str())],
    };
    let why = why.into_iter().map(|(path, why)| Json::object([("path", Json::str(path)), ("why", Json::str(why))]));
    let members = [
        ("trial", Some(trial.number.into())),
        ("seed", Some(trial.seed.into())),
        ("verdict", Some(Json::str(trial.verdict.name()))),
        ("why", Some(Json::list(why))),
        ("session", trial.session.as_deref().map(Json::str)),
        ("duration_ms", Some(trial.duration_ms.into())),
        ("turns", Some(trial.turns.into())),
        ("input_tokens", trial.tokens.map(|tokens| tokens.input.into())),
        ("output_tokens", trial.tokens.map(|tokens| tokens.output.into())),
        ("cost", trial.cost.map(Json::from)),
    ];
    Json::object(members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Vec<_>>())
}
