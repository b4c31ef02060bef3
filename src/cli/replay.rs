//! `replay`: a session again, without a model.

use ptc_core::value::Json;

use super::arguments::ReplayFlags;
use super::printer::Printer;
use super::{UsageError, exit, json, out, safe, tell};
use crate::replay::Outcome;
use crate::workbench::Workbench;

pub(super) async fn replay(flags: &ReplayFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let session = workbench.open_session(&flags.session)?;
    let report = workbench.replay(&session).await?;
    if let Some(damage) = session.damage_report() {
        tell(&format!("warning: {}", safe(&damage)));
    }
    if !flags.check && !flags.json {
        let mut printer = Printer::new(std::io::stderr(), plain);
        session.events().for_each(|envelope| printer.print(&envelope));
    }
    let compared = format!("{} derived events compared", report.compared);
    let (code, name, said) = match &report.outcome {
        Outcome::Identical => (exit::OK, "identical", format!("identical: {compared}")),
        Outcome::Unfinished { at } => {
            (exit::OK, "unfinished", format!("identical up to {at}, where the recording ends: {compared}"))
        }
        Outcome::Diverged(divergence) => (exit::DIVERGED, "diverged", format!("first difference at {divergence}")),
    };
    if flags.json {
        let mut members = vec![("session", Json::str(session.header.id.as_str())), ("outcome", Json::str(name))];
        if let Outcome::Diverged(divergence) = &report.outcome {
            members.push(("address", Json::str(divergence.address.as_str())));
            members.push(("layer", Json::str(divergence.layer.name())));
            members.push(("event", Json::str(divergence.kind.as_str())));
            members.push(("difference", Json::str(divergence.difference.to_string())));
        }
        out(&json::printable(&Json::object(members)));
    } else {
        out(&safe(&said));
    }
    Ok(code)
}
