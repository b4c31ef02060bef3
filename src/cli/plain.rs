//! Linear output: its users without a flag, and its text in place of the workbench's screens.
//!
//! In: the environment; the item to open. Out: lines on stdout. Nothing is run, because a run may cost something.

use super::output::{UsageError, exit, print_line, safe_line};
use super::source::pipeline_source;
use super::{agent_source, meant_command, sessions};
use crate::agent::{BUNDLED, BUNDLED_PIPELINES};
use crate::session::shell_word;
use crate::workbench::Workbench;

/// Variables that indicate a screen reader.
const SPOKEN: [&str; 5] = ["NVDA_RUNNING", "JAWS", "ORCA_RUNNING", "SPEECHD_RUNNING", "ACCESSIBILITY_ENABLED"];

/// Returns whether the environment asks for linear output: a dumb terminal, or a screen reader.
pub fn is_spoken(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_on = |name: &&str| variable(name).is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    variable("TERM").as_deref() == Some("dumb") || SPOKEN.iter().any(is_on)
}

/// Commands for an agent or a pipeline, each after its description.
const OF_BOTH: [(&str, &str); 2] =
    [("runs it and prints every turn", "run"), ("prints what it would send first", "prompt")];

/// Commands for an agent only.
const OF_AN_AGENT: [(&str, &str); 2] = [("lists its tools", "tools"), ("runs its cases", "test")];

/// Commands for sessions and everything else.
const OF_ALL: [(&str, &str); 6] = [
    ("lists the sessions", "sessions list"),
    ("prints the last session", "sessions show last"),
    ("replays it without a model", "replay last"),
    ("compares modes and models", "compare AGENT.toml"),
    ("lists the models", "models"),
    ("lists all commands", "--help"),
];

/// Prints a session line by line.
///
/// Errors: it cannot be read.
pub fn print_session(name: &str, workbench: &Workbench) -> Result<u8, UsageError> {
    sessions::show_in_words(name, workbench)?;
    Ok(exit::OK)
}

/// Describes this agent or pipeline and the commands for it; without a name, lists all.
///
/// Errors: there is none of this name, or it cannot be read.
pub fn print_opened(name: Option<&str>, workbench: &Workbench) -> Result<u8, UsageError> {
    let Some(name) = name else {
        print_line("Line by line: commands print everything that the workbench draws.");
        let names: Vec<&str> = BUNDLED.iter().chain(BUNDLED_PIPELINES).map(|example| example.name).collect();
        print_line(&format!("examples: {}", names.join(", ")));
        print_commands(&OF_BOTH, &format!(" {}", BUNDLED[0].name));
        print_commands(&OF_AN_AGENT, &format!(" {}", BUNDLED[0].name));
        print_commands(&OF_ALL, "");
        return Ok(exit::OK);
    };
    let operand = format!(" {}", shell_word(name));
    if let Some(pipeline) = pipeline_source(name, workbench.file_access())? {
        let steps: Vec<&str> = pipeline.steps.iter().map(|step| step.name.as_str()).collect();
        print_line(&safe_line(&format!("{name}: a pipeline of {}", steps.join(", "))));
        print_commands(&OF_BOTH, &operand);
    } else {
        let agent = agent_source(name, workbench.file_access())
            .map_err(|error| UsageError(format!("{}{}", error.0, meant_command(name))))?;
        let signature = agent.signature.map(|signature| format!(", signature {signature}")).unwrap_or_default();
        print_line(&safe_line(&format!("{name}: an agent of mode {}{signature}", agent.mode.name())));
        print_commands(&OF_BOTH, &operand);
        print_commands(&OF_AN_AGENT, &operand);
    }
    print_commands(&OF_ALL, "");
    Ok(exit::OK)
}

fn print_commands(rows: &[(&str, &str)], operand: &str) {
    for (does, command) in rows {
        print_line(&safe_line(&format!("ptc-workbench {command}{operand}: {does}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_reader_and_a_dumb_terminal_want_lines() {
        let spoken = |name: &str, value: &str| is_spoken(&|asked| (asked == name).then(|| value.to_owned()));
        assert!(spoken("TERM", "dumb") && spoken("NVDA_RUNNING", "1") && spoken("ACCESSIBILITY_ENABLED", "true"));
        assert!(!spoken("TERM", "xterm") && !spoken("ORCA_RUNNING", "0") && !is_spoken(&|_| None));
    }
}
