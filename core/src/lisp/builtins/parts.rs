//! Splitting, joining and replacing strings.

use unicode_segmentation::UnicodeSegmentation;

use super::argument::{hinted, swapped};
use super::endless::transformed;
use super::regex::{self, Groups, SearchedText};
use super::strings::{pass, text};
use super::text_writer::TextWriter;
use super::view::items;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callee, Machine};
use crate::lisp::{Error, EvalResult, wrong};
use crate::reasons::Reason;
use crate::value::{Captures, Regex, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("split", Arity::between(2, 3), split).calls_nothing()
        .doc(
            &["(split s separator)", "(split s separator limit)"],
            "The parts of a string between the separators (a regex or a string), at most `limit`; empty parts are kept.",
        )
        .examples(&[
            ("(split \"a,b,,\" \",\")", "[\"a\" \"b\" \"\" \"\"]"),
            ("(split \"a1b22c\" #\"\\d+\")", "[\"a\" \"b\" \"c\"]"),
            ("(split \"abc\" \"\")", "[\"a\" \"b\" \"c\"]"),
            ("(split \"a,b,c\" \",\" 2)", "[\"a\" \"b,c\"]"),
        ])
        .clojure(Clojure::Differs("Keeps empty strings at the end, and takes strings as separators.")),
    Builtin::new("join", Arity::between(1, 2), join).calls_nothing()
        .doc(
            &["(join coll)", "(join separator coll)"],
            "The items as one string, each like `str`, with the separator between them.",
        )
        .examples(&[
            ("(join \", \" [1 nil :a \"b\"])", "\"1, , :a, b\""),
            ("(join [1 2])", "\"12\""),
            ("(join \"-\" \"abc\")", "\"a-b-c\""),
        ])
        .cost(Cost::Output)
        .clojure(Clojure::Named("clojure.string/join")),
    Builtin::new("replace", Arity::between(1, 3), replace)
        .takes_in_reference(Arity::between(2, 3))
        .doc(
            &["(replace s pattern replacement)", "(replace map coll)"],
            "The string with every match of a string or regex replaced; or the items of a collection with keys of the map replaced by its values.",
        )
        .examples(&[
            ("(replace \"a.b.c\" \".\" \"-\")", "\"a-b-c\""),
            ("(replace \"a1b2\" #\"(\\d)\" \"<$1>\")", "\"a<1>b<2>\""),
            ("(replace \"a<b\" #\"<\" \"&lt;\")", "\"a&lt;b\""),
            ("(replace \"a1\" #\"\\d\" (fn [m] (str m m)))", "\"a11\""),
            ("(replace {1 :one} [1 2])", "[:one 2]"),
        ])
        .cost(Cost::Output)
        .clojure(Clojure::Differs("Both clojure.core/replace and clojure.string/replace; with a regex, groups are $1 or \\1.")),
    Builtin::new("replace-first", Arity::exactly(3), replace_first)
        .doc(
            &["(replace-first s pattern replacement)"],
            "The string with the first match of a string or regex replaced.",
        )
        .examples(&[
            ("(replace-first \"aXbX\" \"X\" \"-\")", "\"a-bX\""),
            ("(replace-first \"a1b2\" #\"\\d\" \"\")", "\"ab2\""),
        ])
        .clojure(Clojure::Named("clojure.string/replace-first")),
];

fn split(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text_first(args, "(split text separator)")?;
    let most = match args.get(2) {
        None => usize::MAX,
        Some(Value::Int(limit)) => usize::try_from(*limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX),
        Some(other) => return Err(wrong(3, "an integer", other)),
    };
    match &args[1] {
        Value::Regex(pattern) => regex::split(machine, pattern, s, most, Groups::of_split(machine)),
        Value::Str(separator) => split_text(machine, s, separator, most),
        other => Err(wrong(2, "a regex or string", other)),
    }
}

/// The parts of `s` between occurrences of `separator`, at most `most`.
pub(super) fn split_text(machine: &mut Machine<'_>, s: &str, separator: &str, most: usize) -> EvalResult {
    pass(machine, s)?;
    let mut parts: Vec<Value> = Vec::new();
    if separator.is_empty() {
        for (at, grapheme) in s.grapheme_indices(true) {
            machine.ticks(4)?;
            if parts.len() + 1 >= most {
                parts.push(s[at..].into());
                break;
            }
            parts.push(grapheme.into());
        }
        return Ok(parts.into());
    }
    for part in s.splitn(most, separator) {
        machine.ticks(4)?;
        parts.push(part.into());
    }
    Ok(parts.into())
}

fn join(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let position = args.len();
    let coll = match std::mem::take(&mut args[position - 1]) {
        Value::Map(map) => Err(Value::Map(map)),
        coll => items(machine, coll)?,
    };
    let separator = match &args[0] {
        _ if position == 1 => "",
        coll @ (Value::List(_) | Value::Set(_)) => {
            return Err(swapped(wrong(1, "a string", coll), "(join separator coll)"));
        }
        separator => text(1, separator)?,
    };
    let coll = coll.map_err(|other| wrong(position, "a list or set", &other))?;
    let mut out = TextWriter::default();
    for (index, item) in coll.iter().enumerate() {
        if index > 0 {
            out.push(machine, separator)?;
        }
        out.plain(machine, item)?;
    }
    Ok(out.finish())
}

fn replace(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let Some(result) = transformed(machine, "replace", 1, args) {
        return result;
    }
    if args.len() == 2 {
        return replace_items(machine, args);
    }
    replace_in(machine, args, usize::MAX)
}

fn replace_first(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    replace_in(machine, args, 1)
}

/// The string in argument 1, with a hint if the regex of argument 2 is there. `call` shows the right order.
fn text_first<'v>(args: &'v [Value], call: &str) -> EvalResult<&'v str> {
    text(1, &args[0]).map_err(|halt| match args {
        [Value::Regex(_), Value::Str(_), ..] => swapped(halt, call),
        _ => halt,
    })
}

/// Items that are keys of a map, or indexes of a list, are replaced by the values there.
fn replace_items(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let coll = std::mem::take(&mut args[1]);
    let instead = |item: &Value| match (&args[0], item) {
        (Value::Map(map), item) => map.lookup_key(item),
        (Value::List(list), Value::Int(index)) => usize::try_from(*index).ok().and_then(|index| list.get(index)),
        _ => None,
    };
    match &args[0] {
        Value::Nil | Value::Map(_) | Value::List(_) | Value::Set(_) => {}
        text @ Value::Str(_) => {
            let hint = "With a string it takes 3 arguments: write (replace s pattern replacement)";
            return Err(hinted(wrong(1, "a map", text), hint));
        }
        other => return Err(wrong(1, "a map", other)),
    }
    let mut coll = items(machine, coll)?.map_err(|other| wrong(2, "a collection", &other))?;
    for item in &mut coll {
        machine.tick()?;
        if let Some(value) = instead(item) {
            *item = value.clone();
        }
    }
    Ok(coll.into())
}

/// `s` with at most `most` matches replaced.
fn replace_in(machine: &mut Machine<'_>, args: &[Value], most: usize) -> EvalResult {
    let s = text_first(args, "(replace s pattern replacement)")?;
    match (&args[1], &args[2]) {
        (Value::Str(from), Value::Str(to)) => replace_text(machine, &args[0], [s, from, to], most),
        (Value::Str(_), other) => Err(wrong(3, "a string", other)),
        (Value::Regex(pattern), Value::Str(to)) => {
            replace_matches(machine, &args[0], pattern, most, |machine, texts, found, out| {
                expand(machine, texts, found, to, out)
            })
        }
        (Value::Regex(pattern), to) => {
            let callee = Callee::of(machine, 3, to).map_err(|_| wrong(3, "a string or function", to))?;
            replace_matches(machine, &args[0], pattern, most, |machine, texts, found, out| {
                match callee.call1(machine, texts.value(found))? {
                    Value::Str(text) => out.push(machine, &text),
                    other => {
                        let got = crate::lisp::described(&other);
                        Error::new(
                            Reason::TypeError,
                            format!("the function in argument 3 must return a string, got {got}"),
                        )
                        .halt()
                    }
                }
            })
        }
        (other, _) => Err(wrong(2, "a string or regex", other)),
    }
}

/// `whole` with at most `most` occurrences of a text replaced by another. The empty text occurs before, between and
/// after all characters.
pub(super) fn replace_text(
    machine: &mut Machine<'_>,
    value: &Value,
    [s, from, to]: [&str; 3],
    most: usize,
) -> EvalResult {
    pass(machine, s)?;
    let mut out = TextWriter::default();
    if from.is_empty() {
        for (index, grapheme) in s.graphemes(true).enumerate() {
            if index < most {
                out.push(machine, to)?;
            }
            out.push(machine, grapheme)?;
        }
        if most == usize::MAX || s.is_empty() {
            out.push(machine, to)?;
        }
        return Ok(out.finish());
    }
    let mut done = None;
    for (at, _) in s.match_indices(from).take(most) {
        out.push(machine, &s[done.unwrap_or(0)..at])?;
        out.push(machine, to)?;
        done = Some(at + from.len());
    }
    let Some(done) = done else { return Ok(value.clone()) };
    out.push(machine, &s[done..])?;
    Ok(out.finish())
}

fn replace_matches(
    machine: &mut Machine<'_>,
    value: &Value,
    pattern: &Regex,
    most: usize,
    mut instead: impl FnMut(&mut Machine<'_>, &SearchedText<'_>, &Captures, &mut TextWriter) -> EvalResult<()>,
) -> EvalResult {
    let s = text(1, value)?;
    let texts = SearchedText::new(pattern, s);
    let (mut out, mut done, mut count) = (TextWriter::default(), 0, 0);
    texts.each(machine, |machine, found| {
        let (start, end) = found.first().copied().flatten().unwrap_or_default();
        out.push(machine, s.get(done..start).unwrap_or_default())?;
        instead(machine, &texts, found, &mut out)?;
        done = end;
        count += 1;
        Ok(count < most)
    })?;
    if count == 0 {
        return Ok(value.clone());
    }
    out.push(machine, s.get(done..).unwrap_or_default())?;
    Ok(out.finish())
}

/// Writes a replacement: `\1`, `\g1`, `\g{1}`, `$1` and `${name}` are groups; any other character after a backslash is
/// literal. A `$` before anything but a group of the regex is literal. In the dialect `reference`, `&` is the match.
fn expand(
    machine: &mut Machine<'_>,
    texts: &SearchedText<'_>,
    found: &Captures,
    to: &str,
    out: &mut TextWriter,
) -> EvalResult<()> {
    let mut rest = to;
    let signs: &[char] = if machine.is_reference() { &['\\', '$', '&'] } else { &['\\', '$'] };
    while let Some(at) = rest.find(signs) {
        out.push(machine, &rest[..at])?;
        let (sign, after) = rest[at..].split_at(1);
        let (group, used) = match sign {
            "$" => dollar(texts, found, after),
            "&" => (Some(0), 0),
            _ => backslash(after),
        };
        match group {
            Some(group) => out.push(machine, texts.group(found, group).unwrap_or_default())?,
            None if sign == "$" => out.push(machine, "$")?,
            None => {
                let literal = after.chars().next().map_or(0, char::len_utf8);
                out.push(machine, if literal == 0 { "\\" } else { &after[..literal] })?;
                rest = &after[literal..];
                continue;
            }
        }
        rest = &after[used..];
    }
    out.push(machine, rest)
}

/// The group after a `$`, and the number of bytes that name it.
fn dollar(texts: &SearchedText<'_>, found: &Captures, after: &str) -> (Option<usize>, usize) {
    if let Some((name, _)) = after.strip_prefix('{').and_then(|name| name.split_once('}')) {
        let group = name.parse().ok().filter(|group| *group < found.len()).or_else(|| texts.named(name));
        return (group, if group.is_some() { name.len() + 2 } else { 0 });
    }
    // Takes as many digits as name an existing group.
    let digits = after.bytes().take_while(u8::is_ascii_digit).count().min(3);
    let used = (1..=digits).rev().find(|used| after[..*used].parse().is_ok_and(|group: usize| group < found.len()));
    used.map_or((None, 0), |used| (after[..used].parse().ok(), used))
}

/// The group after a backslash, and the number of bytes that name it.
fn backslash(after: &str) -> (Option<usize>, usize) {
    if let Some((number, _)) = after.strip_prefix("g{").and_then(|number| number.split_once('}')) {
        return (number.parse().ok(), number.len() + 3);
    }
    let number = after.strip_prefix('g').unwrap_or(after);
    let digits = number.bytes().take_while(u8::is_ascii_digit).count().min(2);
    let group = number[..digits].parse().ok().filter(|group| *group > 0);
    (group, after.len() - number.len() + digits)
}
