//! Finds fenced blocks and elements line by line, in the forms that models use around programs. In: text and a range.
//! Out: the spans of contents, in order.

use super::fix::{FirstList, starts_with_list};
use crate::text::Span;
use crate::text::lex::lisp::{Balance, Lexeme, Lexemes};

/// A fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) tag: Tag,
    /// The text between the fences.
    pub(super) content: Span,
    pub(super) end: End,
}

/// The end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By a fence on a line of its own, or where the next block begins.
    Line,
    /// By a fence after text on its line.
    Inline,
    /// By the end of the reply.
    Open,
}

/// The meaning of the word after the opening fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// `clojure`, `lisp`
    Program,
    /// Other spellings and related languages.
    Alias,
    /// No word.
    Untagged,
    /// An unknown word.
    Other,
    /// Another language.
    Foreign,
}

pub(super) const FENCE: &str = "```";
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

/// A block whose end has not been found.
struct OpenBlock {
    tag: Tag,
    content: usize,
    /// A fence at the end of a line, after text, that ends the block if none on a line of its own does.
    inline: Option<usize>,
    /// True once the first fence after text has been examined. Further ones are not, which keeps the work linear.
    looked: bool,
}

impl OpenBlock {
    fn new(tag: Tag, content: usize) -> Self {
        Self { tag, content, inline: None, looked: false }
    }

    /// True if the text before this fence, the first one after text, is complete code.
    fn may_end(&mut self, text: &str, fence: usize) -> bool {
        if self.looked {
            return false;
        }
        self.looked = true;
        let code = &text[self.content..fence];
        let may_be_code = match self.tag {
            Tag::Program | Tag::Alias => true,
            Tag::Untagged | Tag::Other => starts_with_list(code, FirstList::Bare),
            Tag::Foreign => false,
        };
        may_be_code && is_whole(code)
    }

    /// Ends the block at the fence after text if there was one, else at `at`.
    fn close(&self, at: usize, end: End) -> Block {
        let (at, end) = self.inline.map_or((at, end), |inline| (inline, End::Inline));
        Block { tag: self.tag, content: Span::new(self.content, at), end }
    }
}

/// The fenced blocks in a range of the text.
pub(super) fn find(text: &str, range: Span) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<OpenBlock> = None;
    let mut at = range.start;
    for line in range.text(text).split_inclusive('\n') {
        let start = at;
        at += line.len();
        let tag = opening(line);
        open = match open {
            None if tag.is_none() => {
                blocks.extend(on_one_line(line, start));
                None
            }
            None => tag.map(|tag| OpenBlock::new(tag, at)),
            Some(block) if line.trim() == FENCE || ends_element(line) => {
                blocks.push(OpenBlock { inline: None, ..block }.close(start, End::Line));
                None
            }
            // A fence with a word begins a block even if the previous block was not closed.
            Some(block) if tag.is_some() => {
                blocks.push(block.close(start, End::Line));
                tag.map(|tag| OpenBlock::new(tag, at))
            }
            Some(mut block) => match fence_in(line) {
                Some(fence) if block.may_end(text, start + fence) => {
                    block.inline = Some(start + fence);
                    blocks.push(block.close(at, End::Inline));
                    None
                }
                Some(fence) if block.tag != Tag::Foreign && line.trim_end().ends_with(FENCE) => {
                    block.inline = Some(start + fence);
                    Some(block)
                }
                _ => Some(block),
            },
        };
    }
    blocks.extend(open.map(|block| block.close(range.end, End::Open)));
    blocks
}

/// The last fence in a line.
fn fence_in(line: &str) -> Option<usize> {
    line.rfind(FENCE).map(|at| line[..at].trim_end_matches('`').len())
}

/// True if the text is a program that could end here: all brackets closed, and not inside a comment.
fn is_whole(code: &str) -> bool {
    let in_comment = || Lexemes::new(code).last().is_some_and(|(_, lexeme)| lexeme == Lexeme::Comment);
    !code.trim().is_empty() && Balance::of(code).is_whole() && !in_comment()
}

/// A block that begins and ends on one line.
fn on_one_line(line: &str, start: usize) -> Option<Block> {
    let fenced = line.trim_start();
    let inner = fenced.strip_prefix(FENCE)?.trim_end().strip_suffix(FENCE)?;
    let length = inner.find(|c: char| !is_of_tag(c)).unwrap_or(inner.len());
    let (tag, code) = match tag(&inner[..length]) {
        Tag::Foreign => return None,
        tag @ (Tag::Program | Tag::Alias) => (tag, &inner[length..]),
        Tag::Untagged | Tag::Other => (Tag::Untagged, inner),
    };
    if code.trim().is_empty() || inner.contains('`') {
        return None;
    }
    let end = start + (line.len() - fenced.len()) + FENCE.len() + inner.len();
    Some(Block { tag, content: Span::new(end - code.len(), end), end: End::Inline })
}

/// The tag of a line that is an opening fence: exactly three backticks, at most one word, nothing else.
fn opening(line: &str) -> Option<Tag> {
    let word = line.trim().strip_prefix(FENCE)?.trim_start();
    word.chars().all(is_of_tag).then(|| tag(word))
}

fn is_of_tag(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '#' | '.')
}

fn tag(word: &str) -> Tag {
    match word.to_ascii_lowercase().as_str() {
        "" => Tag::Untagged,
        _ if PROGRAM.contains(&word) => Tag::Program,
        plain if ALIASES.contains(&plain) => Tag::Alias,
        plain if FOREIGN.contains(&plain) => Tag::Foreign,
        _ => Tag::Other,
    }
}

/// True if the line is a closing tag in the position of a fence.
fn ends_element(line: &str) -> bool {
    let line = line.trim();
    PROGRAM.iter().any(|name| line.strip_prefix("</").and_then(|rest| rest.strip_suffix('>')) == Some(name))
}

/// The contents of `<clojure>…</clojure>` and `<lisp>…</lisp>` in a range of the text.
pub(super) fn elements(text: &str, range: Span) -> Vec<Span> {
    let mut found = Vec::new();
    let mut at = range.start;
    // The names without a further closing tag, so that many opening tags keep the work linear.
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
