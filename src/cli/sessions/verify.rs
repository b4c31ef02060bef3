//! `sessions verify`: whether a session is whole, agrees with itself and is computed as recorded. `sessions recover`: what can be read of
//! a damaged session, as a new one.

use serde::Serialize;

use crate::cli::arguments::{RecoverFlags, VerifyFlags};
use crate::cli::output::{UsageError, exit, print_json, print_line, print_note, safe, safe_line};
use crate::event::Address;
use crate::replay::{Finding, ReplayOutcome, Report, Verification};
use crate::workbench::Workbench;
use crate::workbench::format::plural;

pub(super) async fn verify(flags: &VerifyFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let found = workbench.verify(&flags.session).await?;
    if flags.json {
        print_json(&VerifyJson::new(&flags.session, &found));
    } else {
        found.findings.iter().for_each(|finding| print_line(&safe(&finding.to_string())));
        let count = match found.findings.len() {
            0 => "no findings".to_owned(),
            count => plural(count as u64, "finding"),
        };
        let replayed = found.replay.as_ref().map(outcome_text).filter(|_| !found.is_faulty());
        let replayed = replayed.unwrap_or_else(|| "not replayed to the end".to_owned());
        let summary = format!("{}: {}, {count}; {replayed}", flags.session, plural(found.events as u64, "event"));
        if found.is_faulty() { print_note(&safe_line(&summary)) } else { print_line(&safe_line(&summary)) }
    }
    Ok(if found.is_faulty() { exit::DIVERGED } else { exit::OK })
}

/// Output of `sessions verify --json`.
#[derive(Serialize)]
struct VerifyJson<'a> {
    session: &'a str,
    ok: bool,
    events: usize,
    replay: Option<&'static str>,
    findings: Vec<FindingJson<'a>>,
}

impl<'a> VerifyJson<'a> {
    fn new(session: &'a str, found: &'a Verification) -> Self {
        Self {
            session,
            ok: !found.is_faulty(),
            events: found.events,
            replay: found.outcome().map(outcome_name),
            findings: found.findings.iter().map(FindingJson::new).collect(),
        }
    }
}

/// The outcome of a replay without differences in words.
fn outcome_text(report: &Report) -> String {
    let compared = format!("{} compared", plural(report.compared as u64, "derived event"));
    match &report.outcome {
        ReplayOutcome::Unfinished { at } => format!("identical up to {at}, where the recording ends: {compared}"),
        _ => format!("identical: {compared}"),
    }
}

/// Output of `sessions recover --json`.
#[derive(Serialize)]
struct RecoveredJson<'a> {
    session: &'a str,
    path: String,
    events: u64,
    lost: &'a [String],
}

pub(super) fn recover(flags: &RecoverFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let done = workbench.recover(&flags.session)?;
    if flags.json {
        print_json(&RecoveredJson {
            session: done.id.as_str(),
            path: done.path.display().to_string(),
            events: done.events,
            lost: &done.lost,
        });
        return Ok(exit::OK);
    }
    done.lost.iter().for_each(|line| print_note(&format!("damage: {}", safe_line(line))));
    print_line(&safe(&format!("{} recovered as {}", plural(done.events, "event"), done.id)));
    Ok(exit::OK)
}

/// A finding as `--json` prints it.
#[derive(Serialize)]
pub(in crate::cli) struct FindingJson<'a> {
    line: Option<u64>,
    address: Option<&'a Address>,
    check: &'static str,
    message: &'a str,
}

impl<'a> FindingJson<'a> {
    pub(in crate::cli) fn new(finding: &'a Finding) -> Self {
        let Finding { line, address, check, message } = finding;
        Self { line: *line, address: address.as_ref(), check: check.name(), message }
    }
}

/// Returns the name of an outcome in `--json`.
pub(in crate::cli) fn outcome_name(outcome: &ReplayOutcome) -> &'static str {
    match outcome {
        ReplayOutcome::Identical => "identical",
        ReplayOutcome::Unfinished { .. } => "unfinished",
        ReplayOutcome::Diverged(_) => "diverged",
    }
}
