//! `doctor`: what works on this machine, one line or one JSON object each.

use std::io::IsTerminal;

use ptc_core::text::width;

use super::arguments::DoctorFlags;
use super::output::{UsageError, exit, print_json, print_line, safe_line};
use super::screenshot::CheckSettings;
use crate::config::{ColourLevel, Env, process_env, terminal_size};
use crate::workbench::format::Marks;
use crate::workbench::{Finding, FindingsJson, Health, Workbench};

pub(super) async fn doctor(
    flags: &DoctorFlags,
    plain: bool,
    workbench: &Workbench,
    check: CheckSettings<'_>,
) -> Result<u8, UsageError> {
    let refused = check().err();
    let mut findings = vec![terminal(&process_env), locale(&process_env)];
    findings.extend(workbench.doctor(refused.as_deref()).await);
    let is_bad = findings.iter().any(|finding| finding.health == Health::Bad);
    let code = if is_bad { exit::FAILED } else { exit::OK };
    if flags.json {
        print_json(&FindingsJson::new(&findings));
        return Ok(code);
    }
    let marks = Marks::of(plain);
    for finding in &findings {
        let mark = match finding.health {
            Health::Good => marks.good,
            Health::Note => marks.none,
            Health::Bad => marks.bad,
        };
        let (what, message) = (safe_line(&finding.what), safe_line(&finding.message));
        let text = if plain { format!("{what}: {message}") } else { format!("{}  {message}", width::pad(&what, 22)) };
        print_line(&marks.line(mark, &text));
    }
    Ok(code)
}

/// Returns the findings about this machine, the terminal and the locale first: for bundles.
pub(super) fn local_findings(workbench: &Workbench) -> Vec<Finding> {
    let mut findings = vec![terminal(&process_env), locale(&process_env)];
    findings.extend(workbench.local_findings(None));
    findings
}

fn terminal(variable: Env<'_>) -> Finding {
    let term = variable("TERM").unwrap_or_default();
    let colours = match ColourLevel::of(variable) {
        ColourLevel::None if term == "dumb" => "no colours",
        ColourLevel::None => "no colours (NO_COLOR is set)",
        ColourLevel::Sixteen => "16 colours",
        ColourLevel::Table => "256 colours",
        ColourLevel::True => "true colour",
    };
    let size = terminal_size(std::io::stdout()).map_or_else(|| "size unknown".to_owned(), |(w, h)| format!("{w}×{h}"));
    let is_terminal = std::io::stdout().is_terminal();
    let message = match (is_terminal, term.as_str()) {
        (true, "dumb") => "TERM is dumb: use the commands, or --plain".to_owned(),
        (true, _) => format!("TERM={term}, {size}, {colours}"),
        (false, _) => {
            format!("stdout is not a terminal (TERM={term}, {colours}); commands work, the workbench needs one")
        }
    };
    let health = if is_terminal && term != "dumb" { Health::Good } else { Health::Note };
    Finding { health, what: "terminal".to_owned(), message }
}

/// Checks that the locale indicates a UTF-8 terminal: the program writes nothing else.
fn locale(variable: Env<'_>) -> Finding {
    let named = |name: &&str| variable(name).filter(|value| !value.is_empty()).map(|value| (name.to_string(), value));
    let (health, message) = match ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(named) {
        Some((name, value)) if value.to_lowercase().replace('-', "").contains("utf8") => {
            (Health::Good, format!("{name}={value}"))
        }
        Some((name, value)) => (
            Health::Note,
            format!("{name}={value} is not UTF-8; if lines and symbols are displayed incorrectly, set {name}=C.UTF-8"),
        ),
        None => {
            (Health::Note, "none is set; if lines and symbols are displayed incorrectly, set LANG=C.UTF-8".to_owned())
        }
    };
    Finding { health, what: "locale".to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_has_the_colours_that_the_interface_would_use() {
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[("NO_COLOR", "1"), ("COLORTERM", "truecolor")], "no colours (NO_COLOR is set)"),
            (&[("NO_COLOR", ""), ("COLORTERM", "truecolor")], "true colour"),
            (&[("TERM", "xterm-direct")], "true colour"),
            (&[("TERM", "xterm-256color")], "256 colours"),
            (&[("TERM", "dumb")], "no colours"),
            (&[], "16 colours"),
        ];
        for (set, colours) in cases {
            let value = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            let message = terminal(&value).message;
            let is_dumb = value("TERM").is_some_and(|term| term == "dumb") && message.starts_with("TERM is dumb");
            assert!(is_dumb || message.contains(colours), "{set:?}: {message}");
        }
    }

    #[test]
    fn the_first_variable_that_is_set_decides_about_utf_8() {
        let found = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> = set.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            let found = locale(&|name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()));
            (found.health == Health::Good, found.message)
        };
        assert!(found(&[("LANG", "de_DE.UTF-8")]).0 && found(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]).0);
        let (good, message) = found(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")]);
        assert!(!good && message.starts_with("LC_ALL=C is not UTF-8"), "{message}");
        assert!(!found(&[]).0);
    }
}
