//! Syntax errors: problem, span and correction.

use crate::lisp::Error;
use crate::reasons::Reason;
use crate::text::Span;
use crate::text::lex::lisp::{Bracket, Lexeme, Opener};

fn parse_error(problem: impl Into<String>, span: Span) -> Error {
    Error::new(Reason::ParseError, problem).at(span)
}

pub(super) fn too_large(bytes: usize, most: usize) -> Error {
    Error::new(Reason::ProgramTooLarge, format!("the program has {bytes} bytes; at most {most} are allowed"))
        .hint("Pass data as context instead of writing it into the program")
}

pub(super) fn too_many_names(most: usize) -> Error {
    Error::new(Reason::SymbolLimitExceeded, format!("the program has more than {most} distinct symbols and keywords"))
        .hint("Use maps with string keys for data")
}

pub(super) fn too_deep(most: usize, span: Span) -> Error {
    parse_error(format!("brackets are nested deeper than {most} levels"), span)
        .hint("Name inner parts with let or defn")
}

pub(super) fn too_many_digits(digits: usize, most: usize, span: Span) -> Error {
    parse_error(format!("an integer of {digits} digits; at most {most} can be written"), span)
        .hint("Write it as a string, or compute it")
}

pub(super) fn number(span: Span) -> Error {
    parse_error("this number is out of range for floats", span).hint("Write ##Inf or ##-Inf for infinity")
}

pub(super) fn uneven_map(forms: usize, span: Span) -> Error {
    let forms = match forms {
        1 => "1 form".into(),
        _ => format!("{forms} forms"),
    };
    parse_error(format!("a map needs a value for each key, got {forms} between {{ and }}"), span)
}

pub(super) fn discard(span: Span) -> Error {
    parse_error("#_ is not supported", span).hint("Delete the form, or wrap it: (comment …)")
}

pub(super) fn quoted_bracket(span: Span) -> Error {
    parse_error("a quote before a bracket is not supported; only symbols can be quoted", span)
        .hint("Write data without the quote, as a vector: [1 2 3]")
}

/// A prefix before the end of its brackets.
pub(super) fn no_form_after(source: &str, span: Span) -> Error {
    parse_error(format!("`{}` must be followed by a form", span.text(source)), span).hint("Delete it, or add the form")
}

/// A token that begins with a digit and is not a number.
pub(super) fn token(text: &str, span: Span) -> Error {
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, name) = text.split_at(digits);
    let hint = if !number.is_empty() && name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        format!("Write (* {number} {name}) for a product, or begin the name with a letter: {name}{number}")
    } else {
        "Write a number such as 12, -1.5, 1e3, 1/3, 0x1F or 2r101".to_owned()
    };
    parse_error(format!("`{text}` is neither a number nor a name"), span).hint(hint)
}

pub(super) fn zero_ratio(text: &str, span: Span) -> Error {
    parse_error(format!("`{text}` divides by zero"), span)
}

pub(super) fn too_exact(digits: usize, most: usize, span: Span) -> Error {
    parse_error(format!("a decimal of {digits} digits; floats keep {most}"), span)
        .hint("Compute in whole units (cents), or write it as a string")
}

pub(super) fn unicode(span: Span) -> Error {
    parse_error("a character is written \\a, \\newline or \\u0041 with four hexadecimal digits", span)
        .hint("Write it as a string: \"…\"")
}

pub(super) fn open_text(lexeme: Lexeme, span: Span) -> Error {
    let what = if matches!(lexeme, Lexeme::Regex(_)) { "regular expression" } else { "string" };
    parse_error(format!("the {what} that begins here has no closing quote"), Span::new(span.start, span.start + 1))
        .hint("Write \\\" for a quote inside it")
}

pub(super) fn mismatch(source: &str, opener: Opener, open: Span, bracket: Bracket, span: Span) -> Error {
    let (wanted, got) = (opener.bracket().closer(), bracket.closer());
    let problem =
        format!("found `{got}` where `{wanted}` must close the `{}` of {}", open.text(source), open.line_col(source));
    parse_error(problem, span)
}

/// `open`: the brackets still open at the end, outermost first. The error has the span of the innermost one.
pub(super) fn unclosed(source: &str, open: &[(Opener, Span)]) -> Error {
    let kinds = [
        (Bracket::Round, "parenthes", "is", "es"),
        (Bracket::Square, "bracket", "", "s"),
        (Bracket::Curly, "brace", "", "s"),
    ];
    let missing: Vec<_> = kinds
        .into_iter()
        .filter_map(|(bracket, stem, one, many)| {
            let count = open.iter().filter(|(opener, _)| opener.bracket() == bracket).count();
            let ending = if count == 1 { one } else { many };
            (count > 0).then(|| format!("{count} closing {stem}{ending} `{}`", bracket.closer()))
        })
        .collect();
    let verb = if open.len() == 1 { "is" } else { "are" };
    let span = open.last().map(|(_, span)| *span).unwrap_or_default();
    let place = |span: Span| format!("the `{}` of {}", span.text(source), span.line_col(source));
    let outermost = match open {
        [(_, first), .., _] => format!(", nor is {}", place(*first)),
        _ => String::new(),
    };
    parse_error(format!("{} {verb} missing: {} is never closed{outermost}", missing.join(" and "), place(span)), span)
}

/// True for a colon after the key of a map, as JSON and other languages write it.
fn is_after_key(before: &str, next: Option<char>) -> bool {
    let ends_form = |c: char| c.is_alphanumeric() || "_-?!)]}".contains(c);
    next != Some(':') && (before.ends_with(ends_form) || before.trim_end().ends_with('"'))
}

/// A character that begins no token.
pub(super) fn unknown(source: &str, span: Span) -> Error {
    let text = span.text(source);
    let next = source[span.end..].chars().next();
    let fault = |problem: String| parse_error(problem, span);
    match text.chars().next().unwrap_or_default() {
        '\'' if matches!(next, Some('(' | '[' | '{')) => quoted_bracket(Span::new(span.start, span.end + 1)),
        '\'' => fault("a quote must directly precede a symbol".into())
            .hint("Strings have double quotes: \"text\"; symbols are quoted as 'name"),
        '@' => fault("`@` is not supported: there are no references".into()).hint("Write the name alone"),
        '^' => fault("`^` is not supported: there is no metadata".into()).hint("Omit it"),
        '`' | '~' => fault(format!("`{text}` is not supported: there are no user-defined macros"))
            .hint("Build the data with functions, or write a function with defn"),
        ':' => {
            let error =
                fault("a keyword needs a name of ASCII letters, digits or + - * < > = ? ! _ after one colon".into());
            if is_after_key(&source[..span.start], next) {
                error.hint("A map has no colon between key and value: {\"a\" 1} or {:a 1}")
            } else {
                error
            }
        }
        '\\' => fault("the text ends after a backslash where a character must follow".into()),
        '#' => {
            let error = fault("`#` must begin one of #{…}, #(…), #\"…\", #'name, ##Inf, ##-Inf, ##NaN".into());
            let rest = &source[span.end..];
            if rest.starts_with("inst") {
                error.hint("Write (Instant/parse \"2026-01-31T10:00:00Z\") or (LocalDate/parse \"2026-01-31\")")
            } else if rest.starts_with("uuid") {
                error.hint("Write the text alone: \"…\"")
            } else if rest.starts_with(':') {
                error.hint("Write the namespace before each key: {:user/name 1}")
            } else {
                error
            }
        }
        '“' | '”' | '„' | '‘' | '’' => {
            fault(format!("`{text}` is a typographic quote")).hint("Write \" instead")
        }
        c if c.is_alphabetic() => fault(format!("`{text}` cannot be part of a name: names have ASCII letters only"))
            .hint("Write texts as strings: \"…\""),
        c if c.is_control() || c.is_whitespace() => {
            fault(format!("the character U+{:04X} is not allowed here", u32::from(c))).hint("Use plain spaces")
        }
        _ => fault(format!("`{text}` does not begin a form")),
    }
}
