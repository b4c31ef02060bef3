//! Regular expressions: compiling, searching, and the rows `re-…` and `extract…`.
//!
//! Only the first part of a text is searched, and every search counts steps.

use std::sync::Arc;

use super::argument::swapped;
use super::strings::text;
use super::{Arity, Builtin, Clojure};
use crate::limits::{REGEX_BYTES, REGEX_INPUT, REGEX_STEPS};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::{Captures, NonEmpty, Regex, RegexError, RegexRules, Search, SearchError, Value};

/// The character of `\b` in a string.
const BACKSPACE: char = '\u{8}';
/// Number of cached patterns made at run time.
const CACHED_PATTERNS: usize = 16;

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("re-pattern", Arity::exactly(1), re_pattern)
        .doc(&["(re-pattern text)"], "A regex made from a string.")
        .examples(&[
            ("(re-pattern \"a+\")", "#\"a+\""),
            ("(re-find (re-pattern (str \"id=\" 7)) \"x id=7\")", "\"id=7\""),
        ]),
    Builtin::new("re-find", Arity::exactly(2), re_find)
        .doc(
            &["(re-find regex text)"],
            "The first match: a string, or `[match group…]` if the regex has groups; nil if there is none.",
        )
        .examples(&[
            ("(re-find #\"\\d+\" \"ab12c3\")", "\"12\""),
            ("(re-find #\"(\\w)=(\\d)\" \"a=1\")", "[\"a=1\" \"a\" \"1\"]"),
            ("(re-find #\"x\" \"abc\")", "nil"),
        ])
        .clojure(Clojure::Differs("Only the first 32,768 bytes are searched.")),
    Builtin::new("re-matches", Arity::exactly(2), re_matches)
        .doc(&["(re-matches regex text)"], "Like `re-find`, if the regex matches the whole text; else nil.")
        .examples(&[
            ("(re-matches #\"\\d+\" \"123\")", "\"123\""),
            ("(re-matches #\"\\d+\" \"123a\")", "nil"),
            ("(re-matches #\"(\\d)(x)?\" \"1\")", "[\"1\" \"1\" nil]"),
        ]),
    Builtin::new("re-seq", Arity::exactly(2), re_seq)
        .doc(&["(re-seq regex text)"], "All matches in order, each like `re-find`.")
        .examples(&[
            ("(re-seq #\"\\d+\" \"a12b345\")", "[\"12\" \"345\"]"),
            ("(re-seq #\"(\\w)=(\\d)\" \"a=1 b=2\")", "[[\"a=1\" \"a\" \"1\"] [\"b=2\" \"b\" \"2\"]]"),
            ("(re-seq #\"z\" \"a\")", "[]"),
        ])
        .clojure(Clojure::Differs("Returns [] without a match.")),
    Builtin::new("re-split", Arity::exactly(2), re_split)
        .doc(&["(re-split regex text)"], "The parts of a text between the matches; empty parts and groups are kept.")
        .examples(&[
            ("(re-split #\",\" \"a,b,,\")", "[\"a\" \"b\" \"\" \"\"]"),
            ("(re-split #\"\\s+\" \"a  b\")", "[\"a\" \"b\"]"),
            ("(re-split #\"(,)\" \"a,b\")", "[\"a\" \",\" \"b\"]"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("extract", Arity::between(2, 3), extract)
        .doc(
            &["(extract regex text)", "(extract regex text group)"],
            "One group of the first match (default 1; 0 for the whole match); nil if there is none.",
        )
        .examples(&[
            ("(extract #\"id=(\\d+)\" \"id=42\")", "\"42\""),
            ("(extract \"id=(\\\\d+)\" \"id=42\" 0)", "\"id=42\""),
            ("(extract #\"id=(\\d+)\" \"none\")", "nil"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("extract-int", Arity::between(2, 4), extract_int)
        .doc(
            &["(extract-int regex text)", "(extract-int regex text group)", "(extract-int regex text group default)"],
            "Like `extract`, converted to an integer; the default, or nil, if there is none.",
        )
        .examples(&[
            ("(extract-int #\"id=(\\d+)\" \"id=42\")", "42"),
            ("(extract-int #\"(\\d+)-(\\d+)\" \"1-22\" 2)", "22"),
            ("(extract-int #\"(\\d+)\" \"x\" 1 0)", "0"),
        ])
        .clojure(Clojure::Extension),
    Builtin::new("regex?", Arity::exactly(1), is_regex)
        .doc(&["(regex? value)"], "True for a regex.")
        .examples(&[("(regex? #\"a\")", "true"), ("(regex? \"a\")", "false")])
        .cost(super::Cost::Constant)
        .clojure(Clojure::Extension),
];

/// Compiles a regex from its source; `runtime_error` with the position if it is too long or invalid.
pub(crate) fn compile(source: &str, rules: RegexRules) -> Result<Regex, Error> {
    if source.len() as u64 > REGEX_BYTES.max {
        let problem = format!("a regex of {} bytes; at most {} are allowed", source.len(), REGEX_BYTES.max);
        return Err(Error::new(Reason::RuntimeError, problem).hint("Use a shorter regex, or several in sequence"));
    }
    Regex::new(source, rules).map_err(|RegexError { problem, offset }| {
        let position = offset.and_then(|offset| source.get(..offset)).map(|before| before.chars().count() + 1);
        let position = position.map(|position| format!(" at character {position}")).unwrap_or_default();
        Error::new(Reason::RuntimeError, format!("the regex #\"{source}\" is not valid{position}: {problem}"))
    })
}

/// As [`compile`], with a cache: programs often compile the same pattern for each row. `\b` in a string is a backspace
/// in Clojure, but who writes it in the source of a regex means the boundary of a word.
fn compiled(machine: &mut Machine<'_>, source: &str) -> EvalResult<Arc<Regex>> {
    if source.contains(BACKSPACE) && !machine.is_reference() {
        return compiled(machine, &source.replace(BACKSPACE, "\\b"));
    }
    let rules = machine.regex_rules();
    let latest = &mut machine.patterns;
    if let Some(position) = latest.iter().position(|have| have.source() == source) {
        latest[..=position].rotate_right(1);
        return Ok(latest[0].clone());
    }
    let pattern = Arc::new(compile(source, rules)?);
    latest.truncate(CACHED_PATTERNS - 1);
    latest.insert(0, pattern.clone());
    machine.ticks(pattern.program().work())?;
    Ok(pattern)
}

/// A text and the regex that searches it.
pub(super) struct SearchedText<'a> {
    pattern: &'a Regex,
    /// The part that is searched.
    text: &'a str,
}

impl<'a> SearchedText<'a> {
    /// A regex and a text, of which only the first part is searched.
    pub(super) fn new(pattern: &'a Regex, text: &'a str) -> Self {
        let limit = usize::try_from(REGEX_INPUT.max).unwrap_or(usize::MAX);
        Self { pattern, text: &text[..text.floor_char_boundary(limit)] }
    }

    /// The number of groups, the whole match included.
    fn groups(&self) -> usize {
        self.pattern.program().groups()
    }

    fn first(&self, machine: &mut Machine<'_>) -> EvalResult<Option<Captures>> {
        let mut search = Search::new(self.pattern.program(), self.text, |work| machine.ticks(work));
        search.find(0, NonEmpty::Nowhere).map_err(stuck)
    }

    fn whole(&self, machine: &mut Machine<'_>) -> EvalResult<Option<Captures>> {
        Search::new(self.pattern.program(), self.text, |work| machine.ticks(work)).whole().map_err(stuck)
    }

    /// Passes each match to `take`, which may use the machine, until it returns false. After an empty match the next
    /// one may begin at the same offset if it is not empty.
    pub(super) fn each(
        &self,
        machine: &mut Machine<'_>,
        mut take: impl FnMut(&mut Machine<'_>, &Captures) -> EvalResult<bool>,
    ) -> EvalResult<()> {
        let (mut from, mut filled) = (0, NonEmpty::Nowhere);
        loop {
            machine.tick()?;
            let mut search = Search::new(self.pattern.program(), self.text, |work| machine.ticks(work));
            let found = search.find(from, filled).map_err(stuck)?;
            drop(search);
            let Some(found) = found else { return Ok(()) };
            let (start, end) = found.first().copied().flatten().unwrap_or_default();
            if !take(machine, &found)? {
                return Ok(());
            }
            filled = if start == end { NonEmpty::AtStart } else { NonEmpty::Nowhere };
            from = end.max(from);
        }
    }

    /// The text of a group; `None` when it did not match.
    pub(super) fn group(&self, found: &Captures, group: usize) -> Option<&'a str> {
        let (from, to) = found.get(group).copied().flatten()?;
        self.text.get(from..to)
    }

    /// The number of the group with this name.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.pattern.program().named(name)
    }

    /// A match as a value: a string, or a list with the groups, nil for those that did not match.
    pub(super) fn value(&self, found: &Captures) -> Value {
        let group = |group| self.group(found, group).map_or(Value::Nil, Value::from);
        if self.groups() == 1 { group(0) } else { Value::list((0..self.groups()).map(group)) }
    }
}

fn stuck(stuck: SearchError<Box<crate::lisp::Halt>>) -> Box<crate::lisp::Halt> {
    match stuck {
        SearchError::Stopped(halt) => halt,
        SearchError::TooComplex => {
            let problem = format!("the regex is too complex: more than {} steps for one match", REGEX_STEPS.max);
            Error::new(Reason::TypeError, problem)
                .hint("Avoid repetitions within repetitions such as (a+)+, or search a shorter text")
                .into()
        }
    }
}

/// The regex in argument 1.
fn regex(value: &Value) -> EvalResult<&Regex> {
    match value {
        Value::Regex(pattern) => Ok(pattern),
        Value::Str(_) => {
            let problem = "argument 1 must be a regex, got a string";
            Error::new(Reason::TypeError, problem).hint("Write it as #\"…\", or use re-pattern").halt()
        }
        other => Err(wrong(1, "a regex", other)),
    }
}

/// The regex and the text of `(name regex text)`, with a hint if the two look swapped. `call` shows the right order.
fn regex_and_text<'v>(args: &'v [Value], call: &str) -> EvalResult<(&'v Regex, &'v str)> {
    match args {
        [pattern @ Value::Str(_), Value::Regex(_), ..] => Err(swapped(wrong(1, "a regex", pattern), call)),
        _ => Ok((regex(&args[0])?, text(2, &args[1])?)),
    }
}

/// The regex in argument `position`, which may be a string.
pub(super) fn regex_or_text(machine: &mut Machine<'_>, position: usize, value: &Value) -> EvalResult<Arc<Regex>> {
    match value {
        Value::Regex(pattern) => Ok(pattern.clone()),
        Value::Str(source) => compiled(machine, source),
        other => Err(wrong(position, "a regex", other)),
    }
}

fn re_pattern(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match std::mem::take(&mut args[0]) {
        Value::Str(source) => Ok(Value::Regex(compiled(machine, &source)?)),
        pattern @ Value::Regex(_) => Ok(pattern),
        other => Err(wrong(1, "a string", &other)),
    }
}

fn re_find(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (pattern, text) = regex_and_text(args, "(re-find regex text)")?;
    let texts = SearchedText::new(pattern, text);
    Ok(texts.first(machine)?.map_or(Value::Nil, |found| texts.value(&found)))
}

fn re_matches(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (pattern, text) = regex_and_text(args, "(re-matches regex text)")?;
    let texts = SearchedText::new(pattern, text);
    Ok(texts.whole(machine)?.map_or(Value::Nil, |found| texts.value(&found)))
}

fn re_seq(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (pattern, text) = regex_and_text(args, "(re-seq regex text)")?;
    let texts = SearchedText::new(pattern, text);
    let mut all = Vec::new();
    texts.each(machine, |machine, found| {
        machine.ticks(found.len() * 4)?;
        all.push(texts.value(found));
        Ok(true)
    })?;
    Ok(all.into())
}

fn re_split(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let (pattern, whole) = regex_and_text(args, "(re-split regex text)")?;
    split(machine, pattern, whole, usize::MAX, Groups::Parts)
}

/// The groups of a separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Groups {
    /// They are parts of the result.
    Parts,
    /// They are dropped with the separator.
    Dropped,
}

impl Groups {
    /// The groups in `split`: the reference keeps them, Clojure does not.
    pub(super) fn of_split(machine: &Machine<'_>) -> Self {
        if machine.is_reference() { Self::Parts } else { Self::Dropped }
    }
}

/// The parts of `whole` between the matches, at most `most` (then the last one is the rest).
pub(super) fn split(
    machine: &mut Machine<'_>,
    pattern: &Regex,
    whole: &str,
    most: usize,
    groups: Groups,
) -> EvalResult {
    let texts = SearchedText::new(pattern, whole);
    let (mut parts, mut from, mut pieces) = (Vec::new(), 0, 1);
    if most > 1 {
        texts.each(machine, |machine, found| {
            machine.ticks(found.len() * 4)?;
            let (start, end) = found.first().copied().flatten().unwrap_or_default();
            let kept = if groups == Groups::Parts { texts.groups() } else { 1 };
            let kept = (1..kept).map(|group| texts.group(found, group).unwrap_or_default());
            // An empty match directly after the previous one separates nothing.
            if start == end && start <= from && kept.clone().all(str::is_empty) {
                return Ok(true);
            }
            parts.push(Value::from(whole.get(from..start).unwrap_or_default()));
            parts.extend(kept.map(Value::from));
            from = end;
            pieces += 1;
            Ok(pieces < most)
        })?;
    }
    parts.push(Value::from(whole.get(from..).unwrap_or_default()));
    Ok(parts.into())
}

fn extract(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(extracted(machine, args)?.map_or(Value::Nil, Value::from))
}

fn extract_int(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let default = args.get_mut(3).map(std::mem::take).unwrap_or_default();
    let number = extracted(machine, args)?.and_then(|text| text.parse().ok());
    Ok(number.map_or(default, Value::Int))
}

fn extracted<'a>(machine: &mut Machine<'_>, args: &'a [Value]) -> EvalResult<Option<&'a str>> {
    let pattern = regex_or_text(machine, 1, &args[0])?;
    let whole = text(2, &args[1]).map_err(|halt| match &args[1] {
        Value::Regex(_) => swapped(halt, "(extract regex text)"),
        _ => halt,
    })?;
    let group = match args.get(2) {
        None => Some(1),
        Some(Value::Int(group)) => Some(*group),
        Some(Value::Big(_)) => None,
        Some(other) => return Err(wrong(3, "an integer", other)),
    };
    let found = SearchedText::new(&pattern, whole).first(machine)?;
    let position = found.zip(group).and_then(|(found, group)| {
        // A negative number counts from the last group, as `(take -1 coll)` counts from the last item.
        let group = if group < 0 {
            found.len().checked_add_signed(isize::try_from(group).ok()?)?
        } else {
            usize::try_from(group).ok()?
        };
        found.get(group).copied().flatten()
    });
    Ok(position.and_then(|(from, to)| whole.get(from..to)))
}

fn is_regex(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Bool(matches!(args[0], Value::Regex(_))))
}
