//! `judge`: the labelled runs of an agent by its rubrics, and how well judges and labels agree.

use std::path::Path;

use serde::Serialize;
use serde_with::skip_serializing_none;

use super::agent_source;
use super::arguments::JudgeFlags;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe_line};
use super::run::{stop_on_signal, stopped_code};
use crate::agent::{JudgesUsage, Rubric, Ruling};
use crate::event::{Address, FromCache};
use crate::port::{EndSignals, Stop};
use crate::session::Label;
use crate::workbench::format::{Marks, cache_line, judges_line, plural};
use crate::workbench::matrix::Pace;
use crate::workbench::{Agreement, AgreementSpec, AgreementTable, Kappa, LabelledRun, Workbench};

pub(super) async fn judge(flags: &JudgeFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let access = workbench.file_access();
    let agent = agent_source(&flags.agent, access)?;
    let folder = Path::new(&flags.agent).parent().unwrap_or(Path::new(""));
    let cases = match flags.rubric {
        Some(_) => Vec::new(),
        None => agent
            .case_rows(folder, access)
            .collect::<Result<_, _>>()
            .map_err(|found| UsageError(format!("{}: {}", flags.agent, found.message)))?,
    };
    let spec = AgreementSpec {
        rubric: rubric(flags)?,
        agent,
        cases,
        most: flags.limit.unwrap_or(usize::MAX),
        pace: Pace { jobs: flags.jobs.into(), max_cost: flags.max_cost, ..Pace::default() },
    };
    workbench.check_agreement(&spec).map_err(|error| UsageError(error.to_string()))?;
    let (signals, stop) = (EndSignals::catch(), Stop::default());
    let signals = tokio::spawn(stop_on_signal(signals, stop.clone()));
    let Agreement { runs, is_spent } = flags.cache.apply(workbench)?.agreement(&spec, &stop).await?;
    signals.abort();
    let stopped = stop.reason().is_some();
    if runs.is_empty() && !stopped && !is_spent {
        return Err(UsageError(format!(
            "no run of the agent `{}` has a label; `ptc-workbench sessions label SESSION pass` gives one",
            spec.agent.name
        )));
    }
    let table = AgreementTable::of(&runs);
    if flags.json {
        print_json(&AgreementJson::new(&spec.agent.name, &runs, table));
    } else {
        print(&spec.agent.name, &runs, table, Marks::of(plain));
    }
    if stopped {
        print_note("stopped: the remaining runs were not judged");
        return Ok(stopped_code(&stop));
    }
    if let Some(most) = flags.max_cost {
        if is_spent {
            print_note(&format!("stopped at --max-cost {most}: not all labelled runs were judged"));
            return Ok(exit::FAILED);
        }
        if rulings(&runs).flat_map(|ruling| &ruling.votes).any(|vote| vote.cost.is_none()) {
            print_note("warning: the cost of some votes is not known; --max-cost does not count them");
        }
    }
    Ok(if runs.iter().any(|run| run.judged.is_err()) { exit::FAILED } else { exit::OK })
}

/// The rubric that the flags describe.
fn rubric(flags: &JudgeFlags) -> Result<Option<Rubric>, UsageError> {
    let Some(text) = &flags.rubric else { return Ok(None) };
    let rubric = Rubric::new(text).ok_or_else(|| UsageError("--rubric must not be empty".to_owned()))?;
    let at_least = flags.at_least.unwrap_or(rubric.at_least);
    if !(0.0..=1.0).contains(&at_least) {
        return Err(UsageError("--at-least must be between 0 and 1".to_owned()));
    }
    let votes = flags.votes.unwrap_or(rubric.votes);
    Ok(Some(Rubric { models: flags.models.clone(), votes, at_least, ..rubric }))
}

fn print(agent: &str, runs: &[LabelledRun], table: AgreementTable, marks: &Marks) {
    print_line(&safe_line(&format!("{agent}{}{}", marks.dot, plural(runs.len() as u64, "labelled run"))));
    print_line("             label pass  label fail");
    print_line(&format!("judge pass   {:>10}  {:>10}", table.both_pass, table.only_judge));
    print_line(&format!("judge fail   {:>10}  {:>10}", table.only_label, table.both_fail));
    if let Some(found) = table.kappa() {
        print_line(&kappa_line(&found));
    }
    for run in runs {
        match (run.judge_passes(), &run.judged) {
            (_, Err(why)) => print_line(&safe_line(&format!("  not judged: {}@{}: {why}", run.session, run.run))),
            (Some(passes), Ok(rulings)) if passes != run.label.grade.is_pass() => {
                print_line(&safe_line(&format!("  differs: {}@{}: label {}", run.session, run.run, run.label)));
                for ruling in rulings {
                    print_line(&safe_line(&format!("      judged: {}", ruling.line())));
                }
            }
            _ => {}
        }
    }
    if let Some(line) = cache_line(from_cache(runs)) {
        print_line(&line);
    }
    if let Some(judges) = JudgesUsage::of(rulings(runs)) {
        print_line(&judges_line(&judges));
    }
}

fn kappa_line(found: &Kappa) -> String {
    let kappa = match (found.kappa, found.interval) {
        (Some(kappa), Some((low, high))) => format!("Cohen's kappa {kappa:.2} [{low:.2}, {high:.2}]"),
        _ => "no Cohen's kappa: both give all runs the same verdict".to_owned(),
    };
    format!("agreement {:.1} %, {kappa}", found.agreement * 100.0)
}

fn rulings(runs: &[LabelledRun]) -> impl Iterator<Item = &Ruling> {
    runs.iter().filter_map(|run| run.judged.as_ref().ok()).flatten()
}

fn from_cache(runs: &[LabelledRun]) -> FromCache {
    rulings(runs).map(Ruling::from_cache).fold(FromCache::default(), FromCache::plus)
}

/// Output of `--json`.
#[skip_serializing_none]
#[derive(Serialize)]
struct AgreementJson<'a> {
    agent: &'a str,
    both_pass: u64,
    only_judge: u64,
    only_label: u64,
    both_fail: u64,
    agreement: Option<f64>,
    kappa: Option<f64>,
    interval: Option<(f64, f64)>,
    judges: Option<JudgesUsage>,
    #[serde(skip_serializing_if = "FromCache::is_nothing")]
    from_cache: FromCache,
    runs: Vec<RunJson<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct RunJson<'a> {
    session: &'a str,
    run: &'a Address,
    label: &'a Label,
    passed: Option<bool>,
    rulings: &'a [Ruling],
    not_judged: Option<&'a str>,
}

impl<'a> AgreementJson<'a> {
    fn new(agent: &'a str, runs: &'a [LabelledRun], table: AgreementTable) -> Self {
        let found = table.kappa();
        let run = |run: &'a LabelledRun| RunJson {
            session: &run.session,
            run: &run.run,
            label: &run.label,
            passed: run.judge_passes(),
            rulings: run.judged.as_deref().unwrap_or_default(),
            not_judged: run.judged.as_ref().err().map(String::as_str),
        };
        let AgreementTable { both_pass, only_judge, only_label, both_fail } = table;
        Self {
            agent,
            both_pass,
            only_judge,
            only_label,
            both_fail,
            agreement: found.map(|found| found.agreement),
            kappa: found.and_then(|found| found.kappa),
            interval: found.and_then(|found| found.interval),
            judges: JudgesUsage::of(rulings(runs)),
            from_cache: from_cache(runs),
            runs: runs.iter().map(run).collect(),
        }
    }
}
