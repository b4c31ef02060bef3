//! The signature parser: text → [`Signature`], or an error with position, expectation and correction.
//!
//! In: text from users. Out: types of bounded depth with unique names. It must never panic or recurse without limit.

use std::collections::HashMap;
use std::fmt;

use super::render::quoted;
use super::{Field, Signature, Type, names, words};
use crate::limits::SIGNATURE_DEPTH;
use crate::text::{LineCol, Span};

/// A syntax error in a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureError {
    /// The problem, one line.
    pub message: String,
    /// Its span; empty at the end of the text.
    pub span: Span,
    /// The valid alternatives; for an unknown type all types, and the notation of lists and maps.
    pub expected: Vec<String>,
    /// A correction, if one can be guessed.
    pub hint: Option<String>,
}

impl SignatureError {
    /// Line and column of the error in the signature's text.
    pub fn line_col(&self, source: &str) -> LineCol {
        self.span.line_col(source)
    }

    /// One line with position, message, hint and the valid alternatives.
    pub fn render(&self, source: &str) -> String {
        format!("{}: {self}", self.line_col(source))
    }
}

/// The message and the hint.
impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for SignatureError {}

/// Parses a signature: `(a :int) -> T`, `-> T`, or a bare output type.
pub fn parse(text: &str) -> Result<Signature, SignatureError> {
    let mut parser = Parser { text, at: 0, depth: 0, takes_file: false };
    let signature = parser.signature(Arrow::Required)?;
    parser.end(&signature)?;
    Ok(signature)
}

/// Like [`parse`], but also accepts parameters alone, `(a :string)`: the form used next to a raw JSON Schema.
pub fn parse_inputs(text: &str) -> Result<Signature, SignatureError> {
    let mut parser = Parser { text, at: 0, depth: 0, takes_file: false };
    let signature = parser.signature(Arrow::MayBeMissing)?;
    parser.end(&signature)?;
    Ok(signature)
}

/// The need for an arrow after a parameter list.
#[derive(Clone, Copy, PartialEq)]
enum Arrow {
    Required,
    MayBeMissing,
}

/// A bracketed, comma-separated list of fields: the name of its members, its closing bracket, an example.
struct Group {
    member: &'static str,
    close: char,
    example: &'static str,
}

const PARAMS: Group = Group { member: "parameter", close: ')', example: "(name :string, count :int?)" };
const FIELDS: Group = Group { member: "field", close: '}', example: "{name :string, count :int?}" };

type Parsed<T> = Result<T, SignatureError>;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u64,
    /// The type that follows is that of a parameter.
    takes_file: bool,
}

impl<'a> Parser<'a> {
    fn signature(&mut self, arrow: Arrow) -> Parsed<Signature> {
        self.space();
        if self.eat("->") {
            return Ok(Signature { params: Some(Vec::new()), output: Some(self.output()?) });
        }
        if !self.eat("(") {
            let output = self.ty("a type or (parameters) -> type")?;
            return Ok(Signature { params: None, output: Some(output) });
        }
        let params = Some(self.group(&PARAMS)?);
        self.space();
        if self.eat("->") {
            return Ok(Signature { params, output: Some(self.output()?) });
        }
        if arrow == Arrow::MayBeMissing && self.at == self.text.len() {
            return Ok(Signature { params, output: None });
        }
        let error = self.unexpected(&["\"->\" and the output type after the parameters"]);
        Err(error.hint("write -> :any for any output"))
    }

    fn output(&mut self) -> Parsed<Type> {
        self.takes_file = false;
        self.space();
        self.ty("the output type after \"->\"")
    }

    /// Expects the end of the text, after white space.
    fn end(&mut self, signature: &Signature) -> Parsed<()> {
        self.space();
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return Ok(());
        }
        let error = self.unexpected(&["the end of the signature"]);
        if signature.params.is_none() && rest.starts_with("->") {
            return Err(error.hint("parameters have names and are in parentheses: (name :int) -> :string"));
        }
        if rest.starts_with('?') {
            return Err(error.hint("? directly follows its type, once"));
        }
        Err(error)
    }

    /// Parses the members up to and including the closing bracket.
    fn group(&mut self, group: &Group) -> Parsed<Vec<Field>> {
        let mut fields: Vec<Field> = Vec::new();
        let mut seen: HashMap<String, &str> = HashMap::new();
        let close = group.close.to_string();
        self.space();
        if self.eat(&close) {
            return Ok(fields);
        }
        loop {
            let name = self.field_name(group, &mut seen)?;
            fields.push(self.field(group, name)?);
            self.space();
            if self.eat(&close) {
                return Ok(fields);
            }
            if !self.eat(",") {
                let error = self.unexpected(&[&format!("\",\" or {close:?} after the {} {name:?}", group.member)]);
                let next = self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_');
                let hint = format!("{}s are separated by commas: {}", group.member, group.example);
                return Err(if next { error.hint(hint) } else { error });
            }
            self.space();
        }
    }

    /// Parses a name that is not among the `seen` ones.
    fn field_name(&mut self, group: &Group, seen: &mut HashMap<String, &'a str>) -> Parsed<&'a str> {
        let start = self.at;
        let Some(name) = self.name() else {
            let what = format!("the name of a {}", group.member);
            let error = self.unexpected(&[&what]);
            return Err(match self.peek() {
                Some(c) if c == group.close => error.hint("no comma after the last one"),
                Some(':' | '[' | '{') => error.hint(format!("the name comes first: {}", group.example)),
                Some(c) if c.is_alphanumeric() => {
                    error.hint("names are letters from a to z or A to Z, digits, _ and -, and start with a letter or _")
                }
                _ => error,
            });
        };
        let Some(first) = seen.insert(names::underscored(name), name) else { return Ok(name) };
        let member = group.member;
        let message = if first == name {
            format!("duplicate {member} {name:?}")
        } else {
            format!("the {member}s {first:?} and {name:?} are the same name, because - and _ are interchangeable")
        };
        Err(failure(message, Span::new(start, self.at), &["another name"]))
    }

    /// Parses a type and an optional description in quotes, after a name.
    fn field(&mut self, group: &Group, name: &str) -> Parsed<Field> {
        let start = self.at - name.len();
        let touching = self.at;
        self.space();
        if self.at == touching && self.peek() == Some(':') {
            let error = self.unexpected(&[&format!("a space and a type after the name {name:?}")]);
            return Err(error.hint(format!("write {}", group.example)));
        }
        self.takes_file = group.close == PARAMS.close && self.depth == 0;
        let ty = self.ty(&format!("a type after the name {name:?}"))?;
        let mut end = self.at;
        self.space();
        let description = if self.peek() == Some('"') { Some(self.string()?) } else { None };
        if description.is_some() {
            end = self.at;
        }
        Ok(Field { name: name.to_owned(), ty, description, span: Span::new(start, end) })
    }

    /// Parses a type with its optional mark. `wanted` describes its purpose.
    fn ty(&mut self, wanted: &str) -> Parsed<Type> {
        let start = self.at;
        self.depth += 1;
        if self.depth > SIGNATURE_DEPTH.max {
            let message = format!("types are nested deeper than {} levels", SIGNATURE_DEPTH.max);
            return Err(failure(message, Span::new(start, start), &["fewer levels"]));
        }
        let ty = match self.peek() {
            Some(':') => self.scalar()?,
            Some('[') => self.list()?,
            Some('{') => {
                self.at += 1;
                Type::Record { fields: self.group(&FIELDS)?, closed: false }
            }
            Some(c) if c.is_ascii_alphabetic() => return Err(self.bare_word()),
            _ => return Err(self.unexpected(&[wanted])),
        };
        self.depth -= 1;
        Ok(if self.eat("?") { Type::Optional(Box::new(ty)) } else { ty })
    }

    fn list(&mut self) -> Parsed<Type> {
        self.at += 1;
        self.space();
        if self.peek() == Some(']') {
            return Err(self.unexpected(&["a type in the list"]).hint("write [:any] for a list of anything"));
        }
        let item = self.ty("a type in the list")?;
        self.space();
        if self.eat("]") {
            return Ok(Type::List(Box::new(item)));
        }
        let error = self.unexpected(&["\"]\" after the type in the list"]);
        Err(if self.peek() == Some(',') { error.hint("all items of a list have one type") } else { error })
    }

    /// Parses a scalar type, at a colon.
    fn scalar(&mut self) -> Parsed<Type> {
        let start = self.at;
        self.at += 1;
        let word = self.word();
        let span = Span::new(start, self.at);
        if word.is_empty() {
            return Err(self.unexpected(&["the name of a type after \":\""]).hint("types are written like :string"));
        }
        match (word, words::scalar(word)) {
            ("enum", _) => self.choices(),
            (_, Some(Type::File)) if !(self.takes_file && self.depth == 1) => {
                let message = "a `:file` is a parameter of its own, not an output and not inside a list or a map";
                let error = failure(message.to_owned(), span, &["another type"]);
                Err(error.hint("write (photo :file) -> :string"))
            }
            (_, Some(ty)) => Ok(ty),
            (_, None) => {
                let guess = words::guess(word).map(|guess| format!("did you mean {guess}?"));
                Err(SignatureError::unknown_type(&format!(":{word}"), span, guess))
            }
        }
    }

    /// The error for a letter where a type is expected.
    fn bare_word(&mut self) -> SignatureError {
        let start = self.at;
        let word = self.word();
        if let Some(hint) = self.named_type(start, word) {
            let message = format!("found the name {word:?} before a type");
            return failure(message, Span::new(start, self.at), &["a type"]).hint(hint);
        }
        let guess = match words::guess(word) {
            Some(guess) if guess == format!(":{word}") => format!("types start with a colon: {guess}"),
            Some(guess) => format!("did you mean {guess}?"),
            None => "types start with a colon".to_owned(),
        };
        SignatureError::unknown_type(word, Span::new(start, self.at), Some(guess))
    }

    /// The brackets that are missing around a name and a type, after the name; `None` if no type follows.
    fn named_type(&self, start: usize, word: &str) -> Option<String> {
        let rest = &self.text[self.at..];
        // `list[…]` and `enum [...]` are types of other notations, not names.
        let is_list_or_map = rest.starts_with(' ') && rest.trim_start().starts_with(['[', '{']);
        if !(rest.trim_start().starts_with(':') || is_list_or_map && words::guess(word).is_none()) {
            return None;
        }
        let before = self.text[..start].trim_end();
        if before.is_empty() {
            return Some(format!("parameters are in parentheses: ({word} :string) -> :int"));
        }
        match before.chars().next_back() {
            Some('[') => Some(format!("write [{{{word} :string}}] for a list of maps")),
            Some('>') => Some(format!("write {{{word} :string}} for a map")),
            _ => None,
        }
    }

    /// Parses the values of `:enum`: in square brackets, quoted or bare, with or without commas.
    fn choices(&mut self) -> Parsed<Type> {
        const EXAMPLE: &str = "write :enum[\"a\" \"b\"]";
        self.space();
        if !self.eat("[") {
            return Err(self.unexpected(&["\"[\" and the values of the enum"]).hint(EXAMPLE));
        }
        let mut values: Vec<String> = Vec::new();
        loop {
            self.space();
            let start = self.at;
            let value = match self.peek() {
                Some(']') if !values.is_empty() => {
                    self.at += 1;
                    return Ok(Type::Enum(values));
                }
                Some('"') => self.string()?,
                Some(c) if bare(c) => self.bare_value()?.to_owned(),
                _ if values.is_empty() => return Err(self.unexpected(&["a value of the enum"]).hint(EXAMPLE)),
                _ => return Err(self.unexpected(&["a value of the enum or \"]\""]).hint(EXAMPLE)),
            };
            if values.contains(&value) {
                let message = format!("the enum contains {} twice", quoted(&value));
                return Err(failure(message, Span::new(start, self.at), &["another value"]));
            }
            values.push(value);
            self.space();
            _ = self.eat(",");
        }
    }

    /// Parses an enum value without quotes. Separators of other notations are refused, because they would be parts of
    /// the values.
    fn bare_value(&mut self) -> Parsed<&'a str> {
        let start = self.at;
        let word = self.take(bare);
        let is_quote = |c: char| matches!(c, '\'' | '`' | '‘' | '’' | '“' | '”');
        if word == "/" || word.contains(['|', ';']) || word.starts_with(is_quote) || word.ends_with(is_quote) {
            let message = format!("invalid value {word} in the enum");
            let error = failure(message, Span::new(start, self.at), &["a value of the enum"]);
            let hint =
                "an enum's values are separated by spaces: write :enum[good bad], or quote a value: :enum[\"a|b\"]";
            return Err(error.hint(hint));
        }
        Ok(word)
    }

    /// Parses a quoted text. Escapes: `\"`, `\\`, `\n`, `\t`, `\r`.
    fn string(&mut self) -> Parsed<String> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            text.push_str(self.take(|c| c != '"' && c != '\\'));
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(_) => {
                    let mut escape = self.text[self.at..].chars().skip(1);
                    text.push(match escape.next() {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some(c @ ('"' | '\\')) => c,
                        _ => {
                            self.at += 1;
                            return Err(self.unexpected(&["\", \\, n, t or r after \"\\\" in a text"]));
                        }
                    });
                    self.at += 2;
                }
                None => {
                    let span = Span::new(start, self.at);
                    return Err(failure("the quoted text has no end".to_owned(), span, &["a closing double quote"]));
                }
            }
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        let start = self.peek()?;
        (start.is_ascii_alphabetic() || start == '_').then(|| self.word())
    }

    fn word(&mut self) -> &'a str {
        // Words may contain `-`, but the `-` of a following arrow (`:int->`) is not part of them.
        let rest = &self.text[self.at..];
        let mut word = self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if word.ends_with('-') && rest[word.len()..].starts_with('>') {
            word = &word[..word.len() - 1];
            self.at -= 1;
        }
        word
    }

    fn space(&mut self) {
        _ = self.take(char::is_whitespace);
    }

    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let taken = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, token: &str) -> bool {
        let there = self.text[self.at..].starts_with(token);
        if there {
            self.at += token.len();
        }
        there
    }

    /// `expected …, found …` at the current offset.
    fn unexpected(&self, expected: &[&str]) -> SignatureError {
        let rest = &self.text[self.at..];
        let token = match rest.chars().next() {
            None => "",
            Some(c) if c.is_alphanumeric() || c == '_' => {
                &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len())]
            }
            Some(_) if rest.starts_with("->") => "->",
            Some(c) => &rest[..c.len_utf8()],
        };
        let found = match token {
            "" => "the end of the text".to_owned(),
            "\"" => "a text in quotes".to_owned(),
            token => format!("\"{token}\""),
        };
        let message = format!("expected {}, found {found}", expected.join(" or "));
        failure(message, Span::new(self.at, self.at + token.len()), expected)
    }
}

/// True for a character allowed in an enum value without quotes.
fn bare(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !"[]{}()\",\\".contains(c)
}

fn failure(message: String, span: Span, expected: &[&str]) -> SignatureError {
    let expected = expected.iter().map(|text| (*text).to_owned()).collect();
    SignatureError { message, span, expected, hint: None }
}

impl SignatureError {
    /// Suggests a type and lists all types.
    fn unknown_type(word: &str, span: Span, guess: Option<String>) -> Self {
        let scalars = words::SCALARS.iter().map(|(name, _)| format!(":{name}"));
        let expected: Vec<String> = scalars.chain(words::COMPOUNDS.iter().map(|text| (*text).to_owned())).collect();
        let types = format!("types: {}", expected.join(", "));
        let hint = guess.map_or_else(|| types.clone(), |guess| format!("{guess}; {types}"));
        Self { message: format!("unknown type {word}"), span, expected, hint: Some(hint) }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
