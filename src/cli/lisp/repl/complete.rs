//! Completions of a word: builtins, namespaces and their content, definitions, data, commands, files.
//!
//! In: a line and the cursor. Out: where the word starts, and the words it may become, sorted.

use ptc_core::lisp::builtins::{self, namespaces};
use ptc_core::text::lex::lisp::{Lexeme, Lexemes};

use super::session::COMMANDS;

/// Names that the program's surroundings add to those of the language.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Names that are defined.
    pub defined: Vec<&'static str>,
    /// Keys of the data.
    pub data: Vec<String>,
}

/// Returns the start of the word before `at`, and its completions.
pub(super) fn candidates(line: &str, at: usize, known: &Known) -> (usize, Vec<String>) {
    let before = line.get(..at).unwrap_or_default();
    let (start, mut words) = match before.split_once(' ') {
        Some((":load", path)) => return files(path.trim_start(), before.len()),
        Some((":doc", word)) => (before.len() - word.trim_start().len(), language(known)),
        None if before.starts_with(':') => (0, COMMANDS.iter().map(|&command| command.to_owned()).collect()),
        _ => match name(before) {
            Some(start) => (start, language(known)),
            None => return (at, Vec::new()),
        },
    };
    let word = before.get(start..).unwrap_or_default();
    if let Some((namespace, _)) = word.split_once('/').filter(|(namespace, _)| !namespace.is_empty()) {
        words.extend(members(namespace, known));
    }
    // Before the slash, a namespace stands for its members.
    let is_member = |name: &str| !word.contains('/') && name.trim_end_matches('/').contains('/');
    words.retain(|name| !word.is_empty() && name.starts_with(word) && !is_member(name));
    words.sort_unstable();
    words.dedup();
    (start, words)
}

/// The start of the name that ends here; `None` inside of texts, comments and the like.
fn name(before: &str) -> Option<usize> {
    match Lexemes::new(before).last()? {
        (span, Lexeme::Symbol | Lexeme::Constant) => Some(span.start),
        (span, Lexeme::Quoted) => Some(span.start + 1),
        (span, Lexeme::Var) => Some(span.start + 2),
        _ => None,
    }
}

/// Everything that has a name without a namespace, and the namespaces with their slash.
fn language(known: &Known) -> Vec<String> {
    let spaces = namespaces::names().into_iter().map(|name| format!("{name}/"));
    let names = builtins::rows().map(|row| row.name).chain(known.defined.iter().copied());
    names.map(str::to_owned).chain(spaces).collect()
}

/// Returns the members of a namespace, qualified.
fn members(namespace: &str, known: &Known) -> Vec<String> {
    let qualified = |name: &str| format!("{namespace}/{name}");
    match namespace {
        "data" => known.data.iter().map(|key| qualified(key)).collect(),
        _ => namespaces::members(namespace).into_iter().map(qualified).collect(),
    }
}

/// Files and folders whose path begins so; `end` is where the path ends in its line.
fn files(path: &str, end: usize) -> (usize, Vec<String>) {
    let (folder, begun) = path.rfind('/').map_or(("", path), |slash| path.split_at(slash + 1));
    let entries = std::fs::read_dir(if folder.is_empty() { "." } else { folder }).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let slash = if entry.path().is_dir() { "/" } else { "" };
            let is_hidden = name.starts_with('.') && !begun.starts_with('.');
            // A name with control characters would act on the terminal.
            let fits = name.starts_with(begun) && !is_hidden && !name.contains(char::is_control);
            fits.then(|| format!("{folder}{name}{slash}"))
        })
        .collect();
    names.sort_unstable();
    (end - path.len(), names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> (usize, Vec<String>) {
        let known = Known { defined: vec!["first-name", "other"], data: vec!["rows".to_owned()] };
        candidates(line, line.len(), &known)
    }

    fn one(line: &str) -> String {
        let (start, words) = words(line);
        assert_eq!(words.len(), 1, "{line}: {words:?}");
        format!("{}{}", &line[..start], words[0])
    }

    #[test]
    fn names_continue_as_builtins_definitions_and_namespaces() {
        let (start, found) = words("(map firs");
        assert_eq!(start, 5);
        assert!(found.contains(&"first".to_owned()) && found.contains(&"first-name".to_owned()), "{found:?}");
        assert_eq!(one("(othe"), "(other");
        assert_eq!(one("[#'othe"), "[#'other");
        assert_eq!(one("(clojure.str"), "(clojure.string/");
        assert_eq!(one("(str/upper-"), "(str/upper-case");
        assert_eq!(one("(Integer/parseI"), "(Integer/parseInt");
        assert_eq!(one("(count data/r"), "(count data/rows");
        assert!(words("(str/").1.contains(&"str/join".to_owned()));
    }

    #[test]
    fn commands_continue_at_the_start_only_and_texts_do_not() {
        assert_eq!(one(":mem"), ":memory");
        assert_eq!(one(":doc group-"), ":doc group-by");
        for line in ["(x :me", "(", "", "\"firs", "; firs", "(str \"a\"", "12"] {
            assert!(words(line).1.is_empty(), "{line}");
        }
    }

    #[test]
    fn paths_continue_as_files_and_folders() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("lib.clj"), "1").expect("a file");
        std::fs::create_dir(folder.path().join("more")).expect("a folder");
        let path = folder.path().display();
        assert_eq!(one(&format!(":load {path}/l")), format!(":load {path}/lib.clj"));
        assert_eq!(one(&format!(":load {path}/m")), format!(":load {path}/more/"));
    }
}
