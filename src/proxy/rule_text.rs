//! The words of a rule.
//!
//! In: a line. Out: words, signs and texts in quotes, in order. It must never take a sign inside of quotes for one of the rule.

use std::collections::VecDeque;

use ptc_core::value::{Json, json};

/// A word of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Letters, digits and what names may hold.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// `=`, `!=`, `~`, `!~`, `:`, `;`.
    Sign(String),
}

/// The words that are left.
#[derive(Debug)]
pub(super) struct Tokens(VecDeque<Token>);

/// Divides a line. Errors: a quote that is not closed, a character that belongs to nothing.
pub(super) fn tokens(line: &str) -> Result<Tokens, String> {
    let mut out = VecDeque::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let used = match first {
            '"' | '\'' => {
                let (text, used) =
                    quoted(rest, first).ok_or_else(|| format!("a text that begins with {first} is not closed"))?;
                out.push_back(Token::Text(text));
                used
            }
            '=' | '~' | ':' | ';' => {
                out.push_back(Token::Sign(first.to_string()));
                1
            }
            '!' if rest.starts_with("!=") || rest.starts_with("!~") => {
                out.push_back(Token::Sign(rest.chars().take(2).collect()));
                2
            }
            _ => {
                let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '*' | '+');
                let used = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                if used == 0 {
                    return Err(format!("`{first}` belongs into quotes"));
                }
                out.push_back(Token::Word(rest.chars().take_while(|c| is_word(*c)).collect()));
                used
            }
        };
        rest = rest.get(used..).unwrap_or_default().trim_start();
    }
    Ok(Tokens(out))
}

/// A text in quotes and its length with them. `\` makes the next character part of the text.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Some((text, at + quote.len_utf8())),
            // In single quotes a backslash is part of a pattern.
            '\\' if quote == '"' => match chars.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                other => text.push(other),
            },
            _ => text.push(c),
        }
    }
    None
}

impl Tokens {
    pub(super) fn next(&mut self) -> Option<Token> {
        self.0.pop_front()
    }

    /// Takes this word or fails with this message.
    pub(super) fn word(&mut self, word: &str, message: &str) -> Result<(), String> {
        if self.skip(word) { Ok(()) } else { Err(message.to_owned()) }
    }

    /// Takes a word if it is this one.
    pub(super) fn skip(&mut self, word: &str) -> bool {
        let is_it = matches!(self.0.front(), Some(Token::Word(found)) if found == word);
        if is_it {
            self.0.pop_front();
        }
        is_it
    }

    /// Takes a word.
    pub(super) fn next_word(&mut self) -> Option<String> {
        match self.0.front() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.0.pop_front();
                Some(word)
            }
            _ => None,
        }
    }

    /// Takes one of `=`, `!=`, `~`, `!~`.
    pub(super) fn next_comparison(&mut self) -> Option<String> {
        match self.0.front() {
            Some(Token::Sign(sign)) if !matches!(sign.as_str(), ":" | ";") => {
                let sign = sign.clone();
                self.0.pop_front();
                Some(sign)
            }
            _ => None,
        }
    }

    /// Takes a text in quotes.
    pub(super) fn next_text(&mut self) -> Option<String> {
        match self.0.front() {
            Some(Token::Text(text)) => {
                let text = text.clone();
                self.0.pop_front();
                Some(text)
            }
            _ => None,
        }
    }

    /// Takes a text in quotes or a word.
    pub(super) fn next_value(&mut self) -> Option<String> {
        self.next_text().or_else(|| self.next_word())
    }

    /// Takes a number.
    pub(super) fn next_number(&mut self) -> Option<usize> {
        let number = match self.0.front() {
            Some(Token::Word(word)) => word.parse().ok(),
            _ => None,
        };
        if number.is_some() {
            self.0.pop_front();
        }
        number
    }

    /// Takes a text in quotes, or a word that is JSON.
    pub(super) fn next_json(&mut self) -> Option<Json> {
        if let Some(text) = self.next_text() {
            return Some(Json::str(text));
        }
        json::parse(&self.next_word()?).ok()
    }
}
