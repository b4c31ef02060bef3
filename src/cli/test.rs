//! `test`: the cases of agents, with a summary, JSON and `JUnit` XML.

use std::path::Path;

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::agent_source;
use super::arguments::TestFlags;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe, safe_line, unwritable};
use super::run::stop_on_signal;
use super::source::{self, place};
use crate::agent::Verdict;
use crate::port::Stop;
use crate::tool::FileAccess;
use crate::workbench::Workbench;
use crate::workbench::files::{check_place, write_whole};
use crate::workbench::format::{Marks, duration, plural};
use crate::workbench::suite::{CaseReport, Counts, Suite, SuiteAgent, SuiteReport, TrialReport, junit};

/// How the results begin as XML.
const XML: &str = "<?xml";

/// What `--json` prints.
#[derive(Serialize)]
struct SuiteJson<'a> {
    agents: Vec<AgentJson<'a>>,
    trials: u64,
    passed: u64,
    failed: u64,
    errors: u64,
    duration_ms: u64,
    stopped: bool,
}

#[derive(Serialize)]
struct AgentJson<'a> {
    agent: &'a str,
    file: &'a str,
    mode: &'static str,
    model: &'a str,
    cases: Vec<CaseJson<'a>>,
}

#[derive(Serialize)]
struct CaseJson<'a> {
    name: &'a str,
    replayed: bool,
    trials: Vec<TrialJson<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct TrialJson<'a> {
    trial: u32,
    seed: u64,
    verdict: &'static str,
    why: Vec<WhyJson<'a>>,
    session: Option<&'a str>,
    duration_ms: u64,
    turns: u32,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost: Option<f64>,
}

#[derive(Serialize)]
struct WhyJson<'a> {
    path: &'a str,
    why: &'a str,
}

pub(super) async fn test(flags: &TestFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let agents = flags
        .agents
        .iter()
        .map(|name| agent(name, flags.mode.as_deref(), workbench.file_access()))
        .collect::<Result<Vec<_>, _>>()?;
    for agent in agents.iter().filter(|agent| agent.cases.is_empty()) {
        print_note(&format!(
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
        print_note(&safe_line(&judged(&trial.verdict, &text, marks)));
    };
    let report = workbench.run_suite(&suite, &stop, &mut watch).await;
    signals.abort();
    if let Some(file) = &flags.junit {
        let page =
            junit(&report).map_err(|error| UsageError(format!("the results cannot be written as XML: {error}")))?;
        write_whole(file, page.as_bytes()).map_err(|error| unwritable(file, &error))?;
    }
    if flags.json {
        print_json(&suite_json(&report));
    } else {
        summary(&report, marks);
    }
    Ok(match report.counts().is_pass() {
        _ if report.stopped => exit::CANCELLED,
        true => exit::OK,
        false => exit::FAILED,
    })
}

fn agent(name: &str, mode: Option<&str>, access: &FileAccess) -> Result<SuiteAgent, UsageError> {
    let agent = agent_source(name, access)?;
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
        print_line(&safe_line(&format!("{} · {} · {}", agent.name, agent.mode, agent.model)));
        agent.cases.iter().for_each(|case| of_case(case, marks));
    }
    let cases: usize = report.agents.iter().map(|agent| agent.cases.len()).sum();
    let Counts { trials, passed, failed, errors } = report.counts();
    let trials = if trials == cases as u64 { String::new() } else { format!(", {}", plural(trials, "trial")) };
    print_line(&format!(
        "{}{trials}: {passed} passed, {failed} failed, {}",
        plural(cases as u64, "case"),
        plural(errors, "error")
    ));
    if report.stopped {
        print_note("stopped: what had not begun was not run");
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
        return print_line(&safe_line(&format!("  {}", marks.line(marks.none, &format!("{}  not run", case.name)))));
    };
    let several = case.trials.len() > 1;
    let passed = if several { format!("  {} of {} passed", counts.passed, counts.trials) } else { String::new() };
    let replayed = if case.is_replayed { "  replayed" } else { "" };
    print_line(&safe_line(&format!("  {}", judged(worst, &format!("{}{passed}{replayed}", case.name), marks))));
    for trial in case.trials.iter().filter(|trial| !trial.verdict.is_pass()) {
        let session = trial.session.as_ref().map(|id| format!("session {id}")).unwrap_or_default();
        let number = if several { format!("trial {}, seed {}, ", trial.number, trial.seed) } else { String::new() };
        let head = format!("{number}{session}");
        if !head.is_empty() {
            print_line(&safe_line(&format!("      {head}")));
        }
        let lines = trial.verdict.lines();
        lines.iter().flat_map(|line| line.lines()).for_each(|line| print_line(&format!("      {}", safe(line))));
    }
}

fn suite_json(report: &SuiteReport) -> SuiteJson<'_> {
    let Counts { trials, passed, failed, errors } = report.counts();
    let agents = report.agents.iter().map(|agent| AgentJson {
        agent: &agent.name,
        file: &agent.label,
        mode: agent.mode.name(),
        model: &agent.model,
        cases: agent.cases.iter().map(case).collect(),
    });
    SuiteJson {
        agents: agents.collect(),
        trials,
        passed,
        failed,
        errors,
        duration_ms: report.duration_ms,
        stopped: report.stopped,
    }
}

fn case(case: &CaseReport) -> CaseJson<'_> {
    CaseJson { name: &case.name, replayed: case.is_replayed, trials: case.trials.iter().map(trial).collect() }
}

fn trial(trial: &TrialReport) -> TrialJson<'_> {
    let why = match &trial.verdict {
        Verdict::Pass => Vec::new(),
        Verdict::Fail(found) => found.iter().map(|found| WhyJson { path: &found.path, why: &found.why }).collect(),
        Verdict::Error(why) => vec![WhyJson { path: "", why }],
    };
    TrialJson {
        trial: trial.number,
        seed: trial.seed,
        verdict: trial.verdict.name(),
        why,
        session: trial.session.as_deref(),
        duration_ms: trial.duration_ms,
        turns: trial.turns,
        input_tokens: trial.tokens.map(|tokens| tokens.input),
        output_tokens: trial.tokens.map(|tokens| tokens.output),
        cost: trial.cost,
    }
}
