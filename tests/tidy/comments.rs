//! The rules of comments: documentation states what an item is or does, and cites only what is in the repository or public.
//!
//! In: the project's files. Out: one test per rule, whose message lists each place that breaks it.

use super::none;
use super::source::{Source, Tree};

/// First words of a question, or of a clause without its noun.
const QUESTION_WORDS: [&str; 10] = ["What", "How", "Where", "Why", "Which", "When", "Who", "Whose", "Whether", "That"];

/// Names of documents that are not in the repository.
const FOREIGN: [&str; 6] = [
    "agent contract",
    "language contract",
    "signature contract",
    "settled decision",
    "core specification",
    "contract §",
];

#[test]
fn documentation_begins_with_a_noun_or_a_verb() {
    none(Tree::project().sources.iter().flat_map(questions));
}

#[test]
fn comments_cite_documents_of_the_repository_only() {
    none(Tree::project().sources.iter().flat_map(citations));
}

/// Returns the documentation whose first sentence is a question, or begins like one.
fn questions(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let lines: Vec<&str> = source.text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let is_first = at == 0 || lines.get(at - 1).is_none_or(|before| documentation(before).is_none());
        let Some(text) = documentation(line).filter(|_| is_first) else { continue };
        let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let more: Vec<&str> = lines.iter().skip(at).map_while(|line| documentation(line)).collect();
        let more = more.join(" ");
        let end = more.find(['.', '?', ':']).unwrap_or(more.len());
        let (before, after) = more.split_at(end);
        // Not the `?` of code.
        let is_word = before.ends_with(char::is_alphanumeric) && before.matches('`').count() % 2 == 0;
        let is_question = is_word && after.starts_with('?');
        if QUESTION_WORDS.contains(&word) || is_question {
            found.push(format!("{}:{}: `{text}`: begin with a noun or a verb", source.path, at + 1));
        }
    }
    found
}

fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

fn citations(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (at, line) in source.comments.lines().enumerate() {
        if FOREIGN.iter().any(|name| line.contains(name)) {
            found.push(format!("{}:{}: cites a document that is not here: {}", source.path, at + 1, line.trim()));
        }
    }
    found
}

#[test]
fn questions_and_citations_are_found() {
    let source = |text: &str| Source::new("src/a.rs".to_owned(), text.to_owned());
    for text in
        ["/// What it is.", "//! Whether it fits.\n//! More.", "/// Does it\n/// fit?", "    /// How many: three."]
    {
        assert_eq!(questions(&source(text)).len(), 1, "{text}");
    }
    for text in [
        "/// Returns what it is.",
        "/// Number of turns.\n/// Why so few?",
        "// What?",
        "/// Whatever it is.",
        "/// `(if c t e?)`",
        "/// Lets `?` pass.",
    ] {
        assert!(questions(&source(text)).is_empty(), "{text}");
    }
    let cited = ["// See the agent", "contract §3."].join(" ");
    assert_eq!(citations(&source(&cited)).len(), 1);
    assert!(citations(&source("let a = \"core specification\"; // RFC 9110 §3")).is_empty());
}
