//! `replay`: a session again, without a model.

use std::sync::Arc;

use ptc_core::value::Json;

use super::arguments::ReplayFlags;
use super::printer::Printer;
use super::run::watch;
use super::{UsageError, exit, json, out, safe, safe_line, tell};
use crate::event::Address;
use crate::port::Human;
use crate::replay::{Change, Divergence, Ignored, Outcome, Policy, Report, Rules};
use crate::session::Session;
use crate::workbench::{Desk, Missing, Workbench};

pub(super) async fn replay(flags: &ReplayFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let missing = flags.missing.as_deref().map_or(Ok(Missing::Fail), missing)?;
    // To fail is what a replay does by itself.
    if flags.accept || missing != Missing::Fail {
        return accept(flags, &missing, &session, plain, workbench).await;
    }
    let policy = if flags.lenient { Policy::Lenient } else { Policy::Strict };
    let ignored = flags.ignore.iter().map(|text| Ignored::parse(text)).collect::<Result<_, _>>();
    let ignored = ignored.map_err(|error| UsageError(format!("--ignore: {error}")))?;
    let report = workbench.replay_by(&session, &Rules { policy, ignored }).await?;
    if let Some(damage) = session.damage_report() {
        tell(&format!("warning: {}", safe(&damage)));
    }
    if !flags.check && !flags.json {
        let mut printer = Printer::new(std::io::stderr(), plain);
        session.events().for_each(|envelope| printer.print(&envelope));
    }
    if flags.json {
        out(&json::printable(&data(&session, &report)));
    } else {
        out(&safe(&said(&report, policy)));
    }
    let differs = matches!(report.outcome, Outcome::Diverged(_));
    Ok(if differs && policy == Policy::Strict { exit::DIVERGED } else { exit::OK })
}

/// The outcome in words.
fn said(report: &Report, policy: Policy) -> String {
    let ignored = if report.ignored > 0 { format!(", {} left out", report.ignored) } else { String::new() };
    let compared = format!("{} derived events compared{ignored}", report.compared);
    match &report.outcome {
        Outcome::Identical => format!("identical: {compared}"),
        Outcome::Unfinished { at } => format!("identical up to {at}, where the recording ends: {compared}"),
        Outcome::Diverged(first) if policy == Policy::Strict => {
            format!("first difference at {first}{}", missed(report))
        }
        Outcome::Diverged(_) => {
            let count = report.differences.len();
            let all: Vec<_> = report.differences.iter().map(ToString::to_string).collect();
            let missing = missed(report);
            let places = if count == 1 { "1 difference" } else { &format!("{count} differences") };
            format!("{}{missing}\n{places}: {compared}", all.join("\n"))
        }
    }
}

/// The replies and results that are not recorded, on a line of their own, and who could give them.
fn missed(report: &Report) -> String {
    let missing: Vec<_> = report.missing.iter().map(Address::as_str).collect();
    match missing.as_slice() {
        [] => String::new(),
        some => format!("\nno recorded answer at {}: --missing model or --missing human asks for it", some.join(", ")),
    }
}

/// The outcome as JSON.
fn data(session: &Session, report: &Report) -> Json {
    let mut members = vec![
        ("session", Json::str(session.header.id.as_str())),
        ("outcome", Json::str(name(&report.outcome))),
        ("compared", report.compared.into()),
        ("ignored", report.ignored.into()),
    ];
    let mut differences: Vec<&Divergence> = report.differences.iter().collect();
    if let Outcome::Diverged(first) = &report.outcome {
        members.extend(told(first));
        if differences.is_empty() {
            differences.push(first);
        }
    }
    members.push(("differences", Json::list(differences.into_iter().map(|one| Json::object(told(one))))));
    members.push(("missing", Json::list(report.missing.iter().map(|at| Json::str(at.as_str())))));
    Json::object(members)
}

/// What `--json` calls an outcome.
fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Identical => "identical",
        Outcome::Unfinished { .. } => "unfinished",
        Outcome::Diverged(_) => "diverged",
    }
}

fn told(divergence: &Divergence) -> Vec<(&'static str, Json)> {
    let text = |text: &Option<String>| text.as_deref().map_or_else(Json::default, Json::str);
    let turn = divergence.address.turn_number().map_or_else(Json::default, Json::from);
    let change = |change: &Change| {
        Json::object([
            ("path", Json::str(change.path.as_str())),
            ("recorded", text(&change.recorded)),
            ("now", text(&change.now)),
            ("diff", text(&change.diff)),
        ])
    };
    let more = divergence.difference.more;
    vec![
        ("address", Json::str(divergence.address.as_str())),
        ("turn", turn),
        ("layer", Json::str(divergence.layer.name())),
        ("event", Json::str(divergence.kind.as_str())),
        ("difference", Json::str(divergence.difference.to_string())),
        ("changes", Json::list(divergence.difference.changes.iter().map(change))),
        ("more", more.into()),
    ]
}

/// What is done where the recording has no answer.
fn missing(text: &str) -> Result<Missing, UsageError> {
    match (text, text.strip_prefix("model:")) {
        ("fail", _) => Ok(Missing::Fail),
        ("human", _) => Ok(Missing::Human),
        ("model", _) => Ok(Missing::Model(None)),
        (_, Some(name)) => Ok(Missing::Model(Some(name.to_owned()))),
        _ => Err(UsageError(format!("--missing {text}: write fail, model, model:NAME or human"))),
    }
}

/// `--accept` and `--missing`: a new session with what comes out today.
async fn accept(
    flags: &ReplayFlags,
    missing: &Missing,
    session: &Session,
    plain: bool,
    workbench: &Workbench,
) -> Result<u8, UsageError> {
    let before = workbench.replay(session).await?;
    let Outcome::Diverged(first) = &before.outcome else {
        let members = [
            ("session", Json::str(session.header.id.as_str())),
            ("outcome", Json::str(name(&before.outcome))),
            ("accepted", Json::default()),
            ("fail", Json::default()),
        ];
        let said = match &before.outcome {
            Outcome::Unfinished { at } => format!(
                "identical up to {at}, where the recording ends: there is nothing to accept; \
                 `ptc-workbench resume {}` goes on from there",
                safe_line(&flags.session)
            ),
            _ => "identical: there is nothing to accept".to_owned(),
        };
        out(&if flags.json { json::printable(&Json::object(members)) } else { said });
        return Ok(exit::OK);
    };
    let said = safe(&format!("first difference at {first}"));
    let desk = Arc::new(Desk::default());
    let running = workbench.accept(session, missing, Arc::clone(&desk) as Arc<dyn Human>)?;
    let id = running.session.clone().unwrap_or_default();
    let step = watch(running, &desk, plain).await?;
    if flags.json {
        let outcome = step.fail.as_ref().map_or_else(Json::default, |fail| Json::str(fail.reason.as_str()));
        out(&json::printable(&Json::object([
            ("session", Json::str(session.header.id.as_str())),
            ("outcome", Json::str("diverged")),
            ("accepted", Json::str(id.as_str())),
            ("fail", outcome),
        ])));
    } else {
        out(&format!("{said}\naccepted in the new session {}", safe_line(&id)));
    }
    Ok(exit::OK)
}
