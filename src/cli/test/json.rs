//! The results of a suite as JSON, for `--json`. docs/testing.md describes it.

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::agent::{JudgesUsage, Ruling, Verdict};
use crate::event::FromCache;
use crate::workbench::suite::{CaseReport, Counts, SuiteReport, TrialReport};

/// Output of `--json`.
#[skip_serializing_none]
#[derive(Serialize)]
pub(super) struct SuiteJson<'a> {
    agents: Vec<AgentJson<'a>>,
    trials: u64,
    passed: u64,
    failed: u64,
    errors: u64,
    /// Cases marked `skip`.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: u64,
    duration_ms: u64,
    stopped: bool,
    weighted: Option<f64>,
    judges: Option<JudgesUsage>,
    #[serde(skip_serializing_if = "FromCache::is_nothing")]
    from_cache: FromCache,
}

#[derive(Serialize)]
struct AgentJson<'a> {
    agent: &'a str,
    file: &'a str,
    mode: &'static str,
    model: &'a str,
    cases: Vec<CaseJson<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    skipped: u64,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct CaseJson<'a> {
    name: &'a str,
    replayed: bool,
    weight: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    trials: Vec<TrialJson<'a>>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct TrialJson<'a> {
    trial: u32,
    seed: u64,
    verdict: &'static str,
    score: Option<f64>,
    why: Vec<WhyJson<'a>>,
    session: Option<&'a str>,
    duration_ms: u64,
    turns: u32,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost: Option<f64>,
    #[serde(skip_serializing_if = "<[Ruling]>::is_empty")]
    rulings: &'a [Ruling],
    #[serde(skip_serializing_if = "FromCache::is_nothing")]
    from_cache: FromCache,
}

#[derive(Serialize)]
struct WhyJson<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    expectation: &'a str,
    path: &'a str,
    why: &'a str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The results of a suite.
pub(super) fn suite_json(report: &SuiteReport) -> SuiteJson<'_> {
    let Counts { trials, passed, failed, errors } = report.counts();
    let agents = report.agents.iter().map(|agent| AgentJson {
        agent: &agent.name,
        file: &agent.label,
        mode: agent.mode.name(),
        model: &agent.model,
        cases: agent.cases.iter().map(case).collect(),
        skipped: agent.skipped.len() as u64,
    });
    SuiteJson {
        agents: agents.collect(),
        trials,
        passed,
        failed,
        errors,
        skipped: report.skipped(),
        duration_ms: report.duration_ms,
        stopped: report.stopped,
        weighted: report.weighted_rate(),
        judges: report.judges(),
        from_cache: report.from_cache(),
    }
}

fn case(case: &CaseReport) -> CaseJson<'_> {
    CaseJson {
        name: &case.name,
        replayed: case.is_replayed,
        weight: Some(case.weight).filter(|weight| weight.total_cmp(&1.0).is_ne()),
        tags: &case.tags,
        trials: case.trials.iter().map(trial).collect(),
    }
}

fn trial(trial: &TrialReport) -> TrialJson<'_> {
    let why = match &trial.verdict {
        Verdict::Pass => Vec::new(),
        Verdict::Fail(found) => found
            .iter()
            .map(|found| WhyJson { expectation: &found.expectation, path: &found.path, why: &found.why })
            .collect(),
        Verdict::Error(why) => vec![WhyJson { expectation: "", path: "", why }],
    };
    TrialJson {
        trial: trial.number,
        seed: trial.seed,
        verdict: trial.verdict.name(),
        score: Some(trial.score).filter(|score| *score > 0.0 && *score < 1.0),
        why,
        session: trial.session.as_deref(),
        duration_ms: trial.duration_ms,
        turns: trial.turns,
        input_tokens: trial.tokens.map(|tokens| tokens.input),
        output_tokens: trial.tokens.map(|tokens| tokens.output),
        cost: trial.cost,
        rulings: &trial.rulings,
        from_cache: trial.from_cache,
    }
}
