//! `doctor`: what works on this machine, one line or one JSON object each.

use std::io::IsTerminal;

use ptc_core::text::width;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::arguments::DoctorFlags;
use super::json::printable;
use super::{UsageError, exit, out, safe_line};
use crate::workbench::{Finding, Health, Workbench};

pub(super) async fn doctor(flags: &DoctorFlags, workbench: &Workbench) -> Result<u8, UsageError> {
    let mut findings = vec![terminal()];
    findings.extend(workbench.doctor().await);
    let is_bad = findings.iter().any(|finding| finding.health == Health::Bad);
    let code = if is_bad { exit::FAILED } else { exit::OK };
    if flags.json {
        let ok = ("ok", Json::from(Node::Bool(!is_bad)));
        out(&printable(&Json::object([ok, ("findings", Json::list(findings.iter().map(as_json)))])));
        return Ok(code);
    }
    for finding in &findings {
        let mark = match finding.health {
            Health::Good => "✓",
            Health::Note => "–",
            Health::Bad => "✗",
        };
        out(&format!("{mark} {}  {}", width::pad(&safe_line(&finding.what), 22), safe_line(&finding.said)));
    }
    Ok(code)
}

fn as_json(finding: &Finding) -> Json {
    let health = match finding.health {
        Health::Good => "good",
        Health::Note => "note",
        Health::Bad => "bad",
    };
    Json::object(
        [("health", health), ("what", finding.what.as_str()), ("said", finding.said.as_str())]
            .map(|(key, text)| (key, Json::str(text))),
    )
}

fn terminal() -> Finding {
    let term = std::env::var("TERM").unwrap_or_default();
    let colours = match (std::env::var_os("NO_COLOR"), std::env::var("COLORTERM").unwrap_or_default().as_str()) {
        (Some(_), _) => "no colours (NO_COLOR is set)",
        (None, "truecolor" | "24bit") => "true colour",
        (None, _) if term.contains("256color") => "256 colours",
        (None, _) => "16 colours",
    };
    let size = crossterm::terminal::size().map_or_else(|_| "size unknown".to_owned(), |(w, h)| format!("{w}×{h}"));
    let is_terminal = std::io::stdout().is_terminal();
    let said = match (is_terminal, term.as_str()) {
        (true, "dumb") => "TERM is dumb: use the commands, or --plain".to_owned(),
        (true, _) => format!("TERM={term}, {size}, {colours}"),
        (false, _) => format!("stdout is no terminal (TERM={term}, {colours}); commands work, the workbench needs one"),
    };
    let health = if is_terminal && term != "dumb" { Health::Good } else { Health::Note };
    Finding { health, what: "terminal".to_owned(), said }
}
