//! Quotes file names for the shell commands that messages suggest.
//!
//! In: a file name. Out: one shell word, quoted with the crate `shlex` where necessary.

/// Returns the name as one shell word that a command does not parse as a flag.
pub fn shell_word(name: &str) -> String {
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    // Only NUL cannot be quoted, and a file name cannot contain it.
    shlex::try_quote(&name.replace('\0', "")).map_or_else(|_| name, std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_and_others_are_quoted() {
        assert_eq!(shell_word("agents/size-2.toml"), "agents/size-2.toml");
        assert_eq!(shell_word("a gent.toml"), "'a gent.toml'");
        assert_eq!(shell_word("-x.toml"), "./-x.toml");
        assert_eq!(shell_word(""), "''");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_passes_every_name_unchanged() {
        let names = [
            "größe.toml",
            "it's $HOME",
            "a\\b",
            "a\"b`c`",
            "!x",
            "x^y",
            "{a,b}",
            "*?[a]",
            "~",
            "#x",
            "a=b",
            "a;b|c&d<e>f(g)",
            "tab\there",
            "line\nbreak",
            "bell\u{7}\u{1b}[31m",
            "a\u{a0}b",
            "日本語",
        ];
        let words: Vec<String> = names.iter().map(|name| shell_word(name)).collect();
        let script = format!("printf '%s\\0' {}", words.join(" "));
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.split_terminator('\0').collect::<Vec<_>>(), names);
    }
}
