//! Linear output that nobody asked for by a flag: where a screen reader runs, and on terminals that cannot draw.

/// Variables that say that a screen reader is there.
const SPOKEN: [&str; 5] = ["NVDA_RUNNING", "JAWS", "ORCA_RUNNING", "SPEECHD_RUNNING", "ACCESSIBILITY_ENABLED"];

/// Does this environment want linear output?
pub fn is_spoken(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let is_on = |name: &&str| variable(name).is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    variable("TERM").as_deref() == Some("dumb") || SPOKEN.iter().any(is_on)
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
