//! `test`: the cases of agents, with a summary, JSON and `JUnit` XML.

mod json;

use std::path::Path;

use super::agent_source;
use super::arguments::TestFlags;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe, safe_line, unwritable};
use super::results::{self, GrowingRows};
use super::run::{stop_on_signal, stopped_code};
use super::source;
use crate::agent::Verdict;
use crate::port::{EndSignals, Stop};
use crate::workbench::Workbench;
use crate::workbench::files::{check_place, write_whole};
use crate::workbench::format::{Marks, cache_line, duration, judges_line, plural};
use crate::workbench::matrix::{Pace, merge_rows, suite_row, suite_rows};
use crate::workbench::suite::{CaseFilter, CaseReport, Counts, EndedTrial, Suite, SuiteAgent, SuiteReport, junit};

/// First bytes of a JUnit file: a file that begins otherwise is not replaced.
const XML: &str = "<?xml";

pub(super) async fn test(flags: &TestFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let workbench = &flags.cache.apply(workbench)?;
    let agents = flags.agents.iter().map(|name| agent(name, flags, workbench)).collect::<Result<Vec<_>, _>>()?;
    for agent in agents.iter().filter(|agent| agent.selection.total == 0) {
        print_note(&format!(
            "warning: {} has no cases; write [[cases]] (`sessions case` makes one)",
            safe_line(&agent.label)
        ));
    }
    for agent in &agents {
        for warning in &agent.selection.warnings {
            print_note(&safe_line(&format!("warning: {}: {warning}", agent.label)));
        }
    }
    let total: u64 = agents.iter().map(|agent| agent.selection.total).sum();
    if agents.iter().all(|agent| agent.selection.count() == 0) {
        // A part of the cases may be empty, and so may those that failed. All chosen ones may be marked `skip`.
        let may_be_empty = flags.selection.shard.is_some() || flags.failed;
        if total == 0 || !(may_be_empty || agents.iter().any(|agent| !agent.selection.skipped.is_empty())) {
            let none = format!("no case to run: none of {} is selected", plural(total, "case"));
            return Err(UsageError(if total == 0 { "no case to run".to_owned() } else { none }));
        }
        print_note(&format!("none of {} is selected", plural(total, "case")));
    }
    let pace = Pace { jobs: flags.jobs.into(), max_cost: flags.max_cost, ..Pace::default() };
    let keeps_outcomes = flags.results.is_wanted();
    let suite = Suite { agents, model: flags.model.clone(), trials: flags.trials, pace, keeps_outcomes };
    workbench.check_suite(&suite).map_err(|error| UsageError(error.to_string()))?;
    if let Some(file) = &flags.junit {
        check_place(file, XML).map_err(|error| unwritable(file, &error))?;
    }
    results::check(&flags.results)?;
    let (signals, stop) = (EndSignals::catch(), Stop::default());
    let signals = tokio::spawn(stop_on_signal(signals, stop.clone()));
    let marks = Marks::of(plain);
    let labels: Vec<String> = suite.agents.iter().map(|agent| agent.agent.name.clone()).collect();
    let mut rows = GrowingRows::of(&flags.results);
    let mut watch = |ended: EndedTrial<'_>| {
        rows.add(&suite_row(&ended, flags.trials));
        let EndedTrial { agent, case, trial, .. } = ended;
        let number = if suite.trials > 1 { format!(" [{}]", trial.number) } else { String::new() };
        let (dot, time) = (marks.dot, duration(trial.duration_ms));
        let text = format!("{}{dot}{}{number}  {time}", agent.name, case.name);
        print_note(&safe_line(&judged(&trial.verdict, &text, marks)));
    };
    let report = workbench.run_suite(&suite, &stop, &mut watch).await;
    signals.abort();
    for agent in &report.agents {
        if let Err(error) = workbench.keep_failures(agent) {
            print_note(&safe_line(&format!("warning: this result is not stored for --failed: {error}")));
        }
    }
    if let Some(file) = &flags.junit {
        let page =
            junit(&report).map_err(|error| UsageError(format!("the results cannot be written as XML: {error}")))?;
        write_whole(file, page.as_bytes()).map_err(|error| unwritable(file, &error))?;
    }
    results::write_rows(&flags.results, suite_rows(&report, flags.trials))?;
    if flags.results.wants_pages() {
        let state = merge_rows(vec![(String::new(), suite_rows(&report, flags.trials).collect())])?;
        let title = format!("Tests of {}", labels.join(", "));
        results::write_pages(&flags.results, &title, &state, Some(workbench))?;
    }
    if flags.json {
        print_json(&json::suite_json(&report));
    } else {
        summary(&report, marks);
    }
    if let Some(most) = flags.max_cost {
        spent_note(&report, most);
    }
    Ok(match report.counts().is_pass() && !report.is_spent {
        _ if report.stopped => stopped_code(&stop),
        true => exit::OK,
        false => exit::FAILED,
    })
}

/// Prints whether --max-cost ended the run, or could not because costs are unknown.
fn spent_note(report: &SuiteReport, most: f64) {
    let trials = || report.agents.iter().flat_map(|agent| &agent.cases).flat_map(|case| &case.trials);
    if report.is_spent {
        print_note(&format!("stopped at --max-cost {most}: not all cases were run"));
    } else if trials().any(|trial| trial.cost.is_none() && trial.turns > 0) {
        print_note("warning: the cost of some trials is not known; --max-cost does not count them");
    }
}

/// An agent with the cases that the flags choose.
fn agent(name: &str, flags: &TestFlags, workbench: &Workbench) -> Result<SuiteAgent, UsageError> {
    let access = workbench.file_access();
    let agent = agent_source(name, access)?;
    let mode = flags.mode.as_deref().map(source::mode).transpose()?;
    let folder = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
    let names = if flags.failed {
        let known = workbench.last_failures(name);
        Some(known.ok_or_else(|| UsageError(format!("{name} has not been tested yet: run it once without --failed")))?)
    } else {
        None
    };
    let filter = CaseFilter { names, ..flags.selection.to_filter(flags.seed) };
    SuiteAgent::new(name, &agent, mode, (folder, access), &filter).map_err(|findings| {
        let lines: Vec<_> =
            findings.iter().map(|found| format!("{name}: {}{}", agent.position_of(found), found.message)).collect();
        UsageError(lines.join("\nerror: "))
    })
}

/// A line about the subject of a verdict.
fn judged(verdict: &Verdict, text: &str, marks: &Marks) -> String {
    let mark = match verdict {
        Verdict::Pass => marks.good,
        Verdict::Fail(_) => marks.failed,
        Verdict::Error(_) => marks.untried,
    };
    marks.line(mark, text)
}

fn summary(report: &SuiteReport, marks: &Marks) {
    for agent in &report.agents {
        print_line(&safe_line(&[&agent.name, agent.mode.name(), &agent.model].join(marks.dot)));
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
    if let Some(rate) = report.weighted_rate() {
        print_line(&format!("weighted by the cases: {:.1} % passed", rate * 100.0));
    }
    if let Some(line) = cache_line(report.from_cache()) {
        print_line(&line);
    }
    if let Some(judges) = report.judges() {
        print_line(&judges_line(&judges));
    }
    let skipped = report.skipped();
    if skipped > 0 {
        print_note(&format!("{} skipped", plural(skipped, "case")));
    }
    if report.stopped {
        print_note("stopped: the remaining trials were not run");
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
    // The mismatches of a trial that failed have the reasons of its judges.
    for trial in case.trials.iter().filter(|trial| trial.verdict.is_pass()) {
        for ruling in &trial.rulings {
            print_line(&safe_line(&format!("      judged: {}", ruling.line())));
        }
    }
}
