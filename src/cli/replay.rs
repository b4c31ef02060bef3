//! `replay`: a session again, without a model.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::arguments::ReplayFlags;
use super::output::{UsageError, exit, print_json, print_line, print_note, safe, safe_line};
use super::printer::Printer;
use super::run::{WatchedRun, is_unended, run_printer, warn_unless_whole, watch};
use super::sessions::verify::{FindingJson, outcome_name};
use crate::event::Address;
use crate::port::{EndSignals, Human};
use crate::replay::{
    Divergence, EventChange, Finding, IgnoreRule, Policy, ReplayOutcome, Report, Rules, verify_events,
};
use crate::session::Session;
use crate::workbench::format::plural;
use crate::workbench::{MissingReplySource, QuestionQueue, SaveOutcome, Workbench};

pub(super) async fn replay(flags: &ReplayFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let missing = flags.missing.as_deref().map_or(Ok(MissingReplySource::Fail), missing)?;
    // Failing is the default of a replay.
    if flags.accept || missing != MissingReplySource::Fail {
        return accept(flags, &missing, &session, plain, workbench).await;
    }
    let policy = if flags.lenient { Policy::Lenient } else { Policy::Strict };
    let ignored = flags.ignore.iter().map(|text| IgnoreRule::parse(text)).collect::<Result<_, _>>();
    let ignored = ignored.map_err(|error| UsageError(format!("--ignore: {error}")))?;
    let rules = Rules { policy, ignored };
    let report = workbench.replay_by(&session, &rules).await?;
    // Rules that ignore or list differences are about computed events only.
    let is_whole = flags.check && policy == Policy::Strict && rules.ignored.is_empty();
    let findings = if is_whole { verify_events(&session) } else { Vec::new() };
    if let Some(damage) = session.damage_report() {
        print_note(&format!("warning: {}", safe(&damage)));
    }
    if !flags.check && !flags.json {
        let mut printer = Printer::new(std::io::stderr(), plain);
        session.events().for_each(|envelope| printer.print(&envelope));
    }
    if flags.json {
        print_json(&replay_json(&session, &report, &findings));
    } else {
        print_line(&safe(&report_text(&report, policy)));
        for finding in &findings {
            print_line(&safe(&finding.to_string()));
        }
    }
    let differs = matches!(report.outcome, ReplayOutcome::Diverged(_)) || !findings.is_empty();
    Ok(if differs && policy == Policy::Strict { exit::DIVERGED } else { exit::OK })
}

/// The outcome in words.
fn report_text(report: &Report, policy: Policy) -> String {
    let ignored = if report.ignored > 0 { format!(", {} omitted", report.ignored) } else { String::new() };
    let redacted = match report.redacted {
        0 => String::new(),
        1 => "; 1 differs because content was removed".to_owned(),
        count => format!("; {count} differ because content was removed"),
    };
    let events = plural(report.compared as u64, "derived event");
    let compared = format!("{events} compared{ignored}{redacted}");
    match &report.outcome {
        ReplayOutcome::Identical => format!("identical: {compared}"),
        ReplayOutcome::Unfinished { at } => format!("identical up to {at}, where the recording ends: {compared}"),
        ReplayOutcome::Diverged(first) if policy == Policy::Strict => {
            format!("first difference at {first}{}", missed(report))
        }
        ReplayOutcome::Diverged(_) => {
            let count = report.differences.len();
            let all: Vec<_> = report.differences.iter().map(ToString::to_string).collect();
            let missing = missed(report);
            let places = plural(count as u64, "difference");
            format!("{}{missing}\n{places}: {compared}", all.join("\n"))
        }
    }
}

/// The replies and results that are not recorded, on a line of their own, and who could give them.
fn missed(report: &Report) -> String {
    let missing: Vec<_> = report.missing.iter().map(Address::as_str).collect();
    match missing.as_slice() {
        [] => String::new(),
        some => format!(
            "\nno recorded answer at {}: --missing model or --missing human gets one in a new session",
            some.join(", ")
        ),
    }
}

/// Output of `--json` for a replay; the first difference appears twice.
#[derive(Serialize)]
struct ReplayJson<'a> {
    session: &'a str,
    outcome: &'static str,
    compared: usize,
    ignored: usize,
    redacted: usize,
    #[serde(flatten)]
    first: Option<DivergenceJson<'a>>,
    differences: Vec<DivergenceJson<'a>>,
    missing: &'a [Address],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingJson<'a>>,
}

#[derive(Serialize)]
struct DivergenceJson<'a> {
    address: &'a Address,
    line: Option<u64>,
    turn: Option<u32>,
    layer: &'static str,
    event: &'a str,
    difference: String,
    changes: &'a [EventChange],
    more: usize,
}

/// Output of `--accept --json`.
#[derive(Serialize)]
struct AcceptJson<'a> {
    session: &'a str,
    outcome: &'static str,
    accepted: Option<&'a str>,
    /// The file that has the whole new session: its own folder may not have taken it.
    path: Option<&'a Path>,
    fail: Option<&'a str>,
}

fn replay_json<'a>(session: &'a Session, report: &'a Report, findings: &'a [Finding]) -> ReplayJson<'a> {
    let first = if let ReplayOutcome::Diverged(first) = &report.outcome { Some(first.as_ref()) } else { None };
    let mut differences: Vec<_> = report.differences.iter().map(divergence).collect();
    if differences.is_empty() {
        differences.extend(first.map(divergence));
    }
    ReplayJson {
        session: session.header.id.as_str(),
        outcome: outcome_name(&report.outcome),
        compared: report.compared,
        ignored: report.ignored,
        redacted: report.redacted,
        first: first.map(divergence),
        differences,
        missing: &report.missing,
        findings: findings.iter().map(FindingJson::new).collect(),
    }
}

fn divergence(divergence: &Divergence) -> DivergenceJson<'_> {
    DivergenceJson {
        address: &divergence.address,
        line: divergence.line,
        turn: divergence.address.turn_number(),
        layer: divergence.layer.name(),
        event: &divergence.kind,
        difference: divergence.difference.to_string(),
        changes: &divergence.difference.changes,
        more: divergence.difference.more,
    }
}

/// Parses `--missing`: the source of replies and results that the recording does not have.
fn missing(text: &str) -> Result<MissingReplySource, UsageError> {
    match (text, text.strip_prefix("model:")) {
        ("fail", _) => Ok(MissingReplySource::Fail),
        ("human", _) => Ok(MissingReplySource::Human),
        ("model", _) => Ok(MissingReplySource::Model(None)),
        (_, Some(name)) => Ok(MissingReplySource::Model(Some(name.to_owned()))),
        _ => Err(UsageError(format!("--missing {text}: write fail, model, model:NAME or human"))),
    }
}

/// `--accept` and `--missing`: a new session with the current results.
async fn accept(
    flags: &ReplayFlags,
    missing: &MissingReplySource,
    session: &Session,
    plain: bool,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    let before = workbench.replay(session).await?;
    let ReplayOutcome::Diverged(first) = &before.outcome else {
        let text = match &before.outcome {
            ReplayOutcome::Unfinished { at } => format!(
                "identical up to {at}, where the recording ends: there is nothing to accept; \
                 `ptc-workbench resume {}` continues from there",
                safe_line(&flags.session)
            ),
            _ => "identical: there is nothing to accept".to_owned(),
        };
        if flags.json {
            let session = session.header.id.as_str();
            let outcome = outcome_name(&before.outcome);
            print_json(&AcceptJson { session, outcome, accepted: None, path: None, fail: None });
        } else {
            print_line(&text);
        }
        return Ok(exit::OK);
    };
    let text = safe(&format!("first difference at {first}"));
    let queue = Arc::new(QuestionQueue::default());
    let signals = EndSignals::catch();
    let run = workbench.accept(session, missing, Arc::clone(&queue) as Arc<dyn Human>)?;
    let id = run.session.clone().unwrap_or_default();
    for warning in &run.warnings {
        print_note(&format!("warning: {}", safe(&warning.message)));
    }
    let WatchedRun { step, path, settled } = watch(run, &queue, run_printer(plain), signals).await?;
    warn_unless_whole(&settled);
    let code = super::run::code(&step);
    if is_unended(code) && !flags.json {
        print_note(&format!("not accepted: the run in the new session {} has not ended", safe_line(&id)));
        return Ok(code);
    }
    if flags.json {
        let fail = step.fail.as_ref().map(|fail| fail.reason.as_str());
        let (session, outcome) = (session.header.id.as_str(), outcome_name(&before.outcome));
        print_json(&AcceptJson { session, outcome, accepted: Some(&id), path: path.as_deref(), fail });
    } else {
        print_line(&format!("{text}\naccepted in the new session {}", safe_line(&id)));
    }
    // A new session that is lost is a failure for a script; how its run ended is not.
    let is_lost = matches!(settled, SaveOutcome::Partly { .. });
    Ok(if is_unended(code) {
        code
    } else if is_lost {
        exit::USAGE
    } else {
        exit::OK
    })
}
