//! `doctor`: what works on this machine, one line each.

use std::io::IsTerminal;

use ptc_core::text::width;

use super::{UsageError, exit, out, safe_line};
use crate::workbench::{Finding, Health, Workbench};

pub(super) async fn doctor(workbench: &Workbench) -> Result<u8, UsageError> {
    let mut findings = vec![terminal()];
    findings.extend(workbench.doctor().await);
    for finding in &findings {
        let mark = match finding.health {
            Health::Good => "✓",
            Health::Note => "–",
            Health::Bad => "✗",
        };
        out(&format!("{mark} {}  {}", width::pad(&safe_line(&finding.what), 22), safe_line(&finding.said)));
    }
    let is_bad = findings.iter().any(|finding| finding.health == Health::Bad);
    Ok(if is_bad { exit::FAILED } else { exit::OK })
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
