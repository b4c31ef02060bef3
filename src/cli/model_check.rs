//! `models check`: shows what a check would cost, asks, and prints what the model can do.
//!
//! In: flags, the user's answer. Out: one line per capability, or JSON. Nothing is sent before the answer.

use std::fmt::Write as _;

use ptc_core::text::width;
use serde::Serialize;

use super::arguments::ModelCheckFlags;
use super::keyboard::confirm;
use super::output::{UsageError, exit, print_error, print_json, print_line, print_note, safe_line};
use crate::config::Restriction;
use crate::workbench::Workbench;
use crate::workbench::format::{Marks, SIGNS, cost, count, plural};
use crate::workbench::model_check::{Ability, CheckReport, CheckRow, ModelCheck};

/// Width of the names.
const NAME_CELLS: usize = 15;

/// Output of `--json`.
#[derive(Serialize)]
struct CheckJson<'a> {
    #[serde(flatten)]
    report: &'a CheckReport,
    /// The file that holds the result now.
    #[serde(skip_serializing_if = "Option::is_none")]
    catalogue: Option<String>,
}

pub(super) async fn check(flags: &ModelCheckFlags, plain: bool, workbench: &Workbench) -> Result<u8, UsageError> {
    let check = workbench.check_of(&flags.model)?;
    print_note(&safe_line(&estimate(&check)));
    if !flags.yes {
        match confirm("Send these requests?") {
            Some(true) => {}
            Some(false) => return Ok(exit::CANCELLED),
            None => {
                let message = "no answer on stdin, so nothing was sent; add --yes to check without a question";
                return Err(UsageError(message.to_owned()));
            }
        }
    }
    let marks = Marks::of(plain);
    let report = check.run(|row| {
        if !flags.json {
            print_row(row, marks, plain);
        }
    });
    let report = match report.await {
        Ok(report) => report,
        Err(error) => {
            let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            print_error(&format!("{} does not reply to a simple request: {}{hint}", check.name(), error.message));
            return Ok(exit::FAILED);
        }
    };
    let saved = check.save(&report);
    let file = check.catalogue().display().to_string();
    if flags.json {
        print_json(&CheckJson { report: &report, catalogue: saved.is_ok().then(|| file.clone()) });
    } else {
        print_line(&safe_line(&summary(&report)));
    }
    match saved {
        Ok(()) => {
            print_note(&safe_line(&format!("stored in {file}; later requests to this model use it")));
            Ok(exit::OK)
        }
        Err(error) => {
            print_error(&format!("{file}: cannot be written: {error}; the result is not used"));
            Ok(exit::FAILED)
        }
    }
}

fn estimate(check: &ModelCheck) -> String {
    let estimate = check.estimate();
    let price = match estimate.cost {
        Some(amount) => format!("{} at most", cost(Some(amount))),
        None => "price unknown".to_owned(),
    };
    format!(
        "check of {} at {} ({}): {}, about {} input and at most {} output tokens, {price}; a refused request is sent again in another form",
        check.name(),
        check.url(),
        check.kind().name(),
        plural(estimate.requests, "request"),
        count(estimate.input),
        count(estimate.output),
    )
}

fn print_row(row: &CheckRow, marks: &Marks, plain: bool) {
    let mark = match row.ability {
        Ability::Yes => marks.good,
        Ability::Partly => marks.warning,
        Ability::No => marks.bad,
        Ability::Untried => marks.none,
    };
    let note = safe_line(&row.note);
    if plain {
        print_line(&marks.line(mark, &format!("{}: {note}", row.name)));
    } else {
        print_line(&format!("{mark} {}  {note}", width::pad(row.name, NAME_CELLS)));
    }
    for refusal in &row.refusals {
        print_line(&format!("  {}", safe_line(refusal)));
    }
}

fn summary(report: &CheckReport) -> String {
    let mut text = format!(
        "{}, {} tokens in, {} out",
        plural(report.requests.into(), "request"),
        count(report.tokens.input),
        count(report.tokens.output),
    );
    if report.cost.is_some() {
        _ = write!(text, ", cost {}", cost(report.cost));
    }
    match report.structured_output {
        Some(way) => _ = write!(text, "{}structured output by {}", SIGNS.dot, way.name()),
        None => _ = write!(text, "{}no structured output", SIGNS.dot),
    }
    let refused: Vec<&str> = report.refused.iter().map(|refused: &Restriction| refused.name()).collect();
    if !refused.is_empty() {
        _ = write!(text, "{}refused: {}", SIGNS.dot, refused.join(", "));
    }
    text
}
