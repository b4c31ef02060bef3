//! Agent files, construction checks, contexts and drafts: what a developer writes, and the findings about it.

mod ambiguous;
mod below;
mod bundled;
mod case_files;
mod cases;
mod context;
mod declared;
mod draft;
mod expectations;
mod file;
mod fixes;
mod judged;
mod options;
mod plan;
mod rubrics;
mod written;

use ptc_workbench::agent::{Diagnostic, Severity};

/// A finding as one line: severity, place, bytes, message.
fn line(found: &Diagnostic) -> String {
    let severity = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = format!("{:?}", found.place).to_lowercase();
    let span = found.span.map(|span| format!(" {}..{}", span.start, span.end)).unwrap_or_default();
    format!("{severity} {place}{span}: {}", found.message)
}

fn lines(found: &[Diagnostic]) -> Vec<String> {
    found.iter().map(line).collect()
}
