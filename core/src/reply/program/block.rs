//! Fenced blocks and elements, found line by line as models write them around programs. In: text and a range. Out: the
//! places of contents, in order.

use crate::text::Span;

/// A fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) tag: Tag,
    /// The lines between the fences.
    pub(super) content: Span,
    pub(super) is_closed: bool,
}

/// What the word behind the opening fence says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// `clojure`, `lisp`
    Program,
    /// Other spellings and related languages.
    Alias,
    /// No word, or one that is not known.
    Other,
    /// Another language.
    Foreign,
}

const FENCE: &str = "```";
const PROGRAM: [&str; 2] = ["clojure", "lisp"];
const ALIASES: [&str; 7] = ["clojure", "lisp", "clj", "ptc-lisp", "ptc_lisp", "ptc", "edn"];
const FOREIGN: [&str; 42] = [
    "bash",
    "c",
    "c++",
    "console",
    "cpp",
    "cs",
    "csharp",
    "css",
    "csv",
    "dart",
    "diff",
    "elixir",
    "erlang",
    "go",
    "haskell",
    "html",
    "ini",
    "java",
    "javascript",
    "js",
    "json",
    "jsx",
    "kotlin",
    "lua",
    "markdown",
    "md",
    "perl",
    "php",
    "py",
    "python",
    "r",
    "ruby",
    "rust",
    "scala",
    "sh",
    "shell",
    "sql",
    "swift",
    "toml",
    "ts",
    "typescript",
    "yaml",
];

/// The fenced blocks in a range of the text.
pub(super) fn find(text: &str, range: Span) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Tag, usize)> = None;
    let mut at = range.start;
    for line in range.text(text).split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let close = |(tag, content): (Tag, usize)| Block { tag, content: Span::new(content, start), is_closed: true };
        let opening = opening(line);
        let closes = line.trim() == FENCE || ends_element(line);
        match (open, opening) {
            (Some(block), _) if closes => {
                blocks.push(close(block));
                open = None;
            }
            // A fence with a word begins a block even where the one before was not closed.
            (Some(block), Some(tag)) => {
                blocks.push(close(block));
                open = Some((tag, end));
            }
            (None, Some(tag)) => open = Some((tag, end)),
            _ => {}
        }
    }
    blocks.extend(open.map(|(tag, start)| Block { tag, content: Span::new(start, range.end), is_closed: false }));
    blocks
}

/// The tag of a line that is an opening fence: exactly three backticks, at most one word, nothing else.
fn opening(line: &str) -> Option<Tag> {
    let word = line.trim().strip_prefix(FENCE)?.trim_start();
    let is_word = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '#' | '.'));
    is_word.then(|| {
        let plain = word.to_ascii_lowercase();
        match plain.as_str() {
            _ if PROGRAM.contains(&word) => Tag::Program,
            plain if ALIASES.contains(&plain) => Tag::Alias,
            plain if FOREIGN.contains(&plain) => Tag::Foreign,
            _ => Tag::Other,
        }
    })
}

/// Is the line a closing tag that stands where a fence should?
fn ends_element(line: &str) -> bool {
    let line = line.trim();
    PROGRAM.iter().any(|name| line.strip_prefix("</").and_then(|rest| rest.strip_suffix('>')) == Some(name))
}

/// The contents of `<clojure>…</clojure>` and `<lisp>…</lisp>` in a range of the text.
pub(super) fn elements(text: &str, range: Span) -> Vec<Span> {
    let mut found = Vec::new();
    let mut at = range.start;
    // Where no further closing tag of a name stands; so that many opening tags cost no more than few.
    let mut hopeless = [false; PROGRAM.len()];
    while let Some(start) = text.get(at..range.end).and_then(|rest| rest.find('<')) {
        at += start + 1;
        for (place, name) in PROGRAM.iter().enumerate() {
            let inside = text[at..range.end].strip_prefix(name).and_then(|rest| rest.strip_prefix('>'));
            let Some(inside) = inside.filter(|_| !hopeless[place]) else { continue };
            let from = range.end - inside.len();
            match inside.find(&format!("</{name}>")) {
                Some(end) => {
                    found.push(Span::new(from, from + end));
                    at = from + end;
                }
                None => hopeless[place] = true,
            }
            break;
        }
    }
    found
}
