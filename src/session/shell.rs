//! Names in commands that a message tells to type.
//!
//! In: the name of a file. Out: the same as one word of a shell.

/// The name as one word: in single quotes where it holds anything that a shell could take for more.
pub fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_split_or_expand_stands_in_quotes() {
        assert_eq!(shell_word("agents/größe-2.toml"), "agents/größe-2.toml");
        assert_eq!(shell_word("a gent.toml"), "'a gent.toml'");
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_word(""), "''");
    }
}
