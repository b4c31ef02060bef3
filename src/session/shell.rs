//! Names of files in commands that a message tells to type.
//!
//! In: the name of a file. Out: the same as one word of a shell, quoted by the crate `shlex` where it has to be.

/// The name as one word that a shell passes on unchanged and a command does not take for a flag.
pub fn shell_word(name: &str) -> String {
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    // Only NUL cannot be quoted, and no file has it in its name.
    shlex::try_quote(&name.replace('\0', "")).map_or_else(|_| name, std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_stays_and_others_stand_in_quotes() {
        assert_eq!(shell_word("agents/size-2.toml"), "agents/size-2.toml");
        assert_eq!(shell_word("a gent.toml"), "'a gent.toml'");
        assert_eq!(shell_word("-x.toml"), "./-x.toml");
        assert_eq!(shell_word(""), "''");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_passes_every_name_on_as_it_is() {
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
        let told = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        assert_eq!(told.split_terminator('\0').collect::<Vec<_>>(), names);
    }
}
