//! Further methods of strings, numbers and collections in Java notation, and static methods of Java's classes of
//! numbers and characters. Methods that change a collection are refused elsewhere: values do not change.

use super::argument::{hinted, integer, taken};
use super::parse::number_or_exception;
use super::strings::{pass, text};
use super::{Arity, Builtin, Clojure, find, value};
use crate::lisp::machine::Machine;
use crate::lisp::{Error, EvalResult, graphemes, wrong};
use crate::reasons::Reason;
use crate::value::{Value, number};
use num_bigint::BigInt;

const fn row(
    name: &'static str,
    arity: Arity,
    run: fn(&mut Machine<'_>, &mut [Value]) -> EvalResult,
    signatures: &'static [&'static str],
    about: &'static str,
    examples: &'static [(&'static str, &'static str)],
) -> Builtin {
    Builtin::new(name, arity, run).doc(signatures, about).examples(examples).clojure(Clojure::Same).current()
}

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    row(
        ".charAt",
        Arity::exactly(2),
        char_at,
        &["(.charAt s index)"],
        "The character at an index, as a string.",
        &[("(.charAt \"abc\" 1)", "\"b\"")],
    ),
    row(
        ".concat",
        Arity::exactly(2),
        |machine, args| call(machine, "str", args),
        &["(.concat s other)"],
        "Both strings joined.",
        &[("(.concat \"ab\" \"cd\")", "\"abcd\"")],
    ),
    row(
        ".strip",
        Arity::exactly(1),
        |machine, args| call(machine, "trim", args),
        &["(.strip s)"],
        "The string without white space at both ends.",
        &[("(.strip \" a \")", "\"a\"")],
    ),
    row(
        ".isBlank",
        Arity::exactly(1),
        |machine, args| call(machine, "blank?", args),
        &["(.isBlank s)"],
        "True for a string of white space only.",
        &[("(.isBlank \" \")", "true")],
    ),
    row(
        ".repeat",
        Arity::exactly(2),
        repeat,
        &["(.repeat s n)"],
        "The string n times.",
        &[("(.repeat \"ab\" 2)", "\"abab\"")],
    ),
    row(
        ".matches",
        Arity::exactly(2),
        matches,
        &["(.matches s regex)"],
        "True if the whole string matches the regex.",
        &[("(.matches \"a1\" \"[a-z]\\\\d\")", "true")],
    ),
    row(
        ".replaceAll",
        Arity::exactly(3),
        |machine, args| replaced(machine, args, "replace"),
        &["(.replaceAll s regex replacement)"],
        "The string with every match of the regex replaced.",
        &[("(.replaceAll \"a1b2\" \"\\\\d\" \"-\")", "\"a-b-\"")],
    ),
    row(
        ".replaceFirst",
        Arity::exactly(3),
        |machine, args| replaced(machine, args, "replace-first"),
        &["(.replaceFirst s regex replacement)"],
        "The string with the first match of the regex replaced.",
        &[("(.replaceFirst \"a1b2\" \"\\\\d\" \"-\")", "\"a-b2\"")],
    ),
    row(
        ".equalsIgnoreCase",
        Arity::exactly(2),
        equals_ignore_case,
        &["(.equalsIgnoreCase s other)"],
        "True if both strings are equal apart from case.",
        &[("(.equalsIgnoreCase \"Ab\" \"aB\")", "true")],
    ),
    row(
        ".compareTo",
        Arity::exactly(2),
        |machine, args| call(machine, "compare", args),
        &["(.compareTo a b)"],
        "-1, 0 or 1: the order of two values.",
        &[("(.compareTo \"a\" \"b\")", "-1")],
    ),
    row(
        ".intValue",
        Arity::exactly(1),
        |machine, args| call(machine, "trunc", args),
        &["(.intValue x)"],
        "The integer part of a number.",
        &[("(.intValue 3.7)", "3")],
    ),
    row(
        ".longValue",
        Arity::exactly(1),
        |machine, args| call(machine, "trunc", args),
        &["(.longValue x)"],
        "The integer part of a number.",
        &[("(.longValue 3.7)", "3")],
    ),
    row(
        ".doubleValue",
        Arity::exactly(1),
        |machine, args| call(machine, "double", args),
        &["(.doubleValue x)"],
        "The number as a float.",
        &[("(.doubleValue 3)", "3.0")],
    ),
    row(
        ".floatValue",
        Arity::exactly(1),
        |machine, args| call(machine, "double", args),
        &["(.floatValue x)"],
        "The number as a float.",
        &[("(.floatValue 3)", "3.0")],
    ),
    row(
        ".size",
        Arity::exactly(1),
        |machine, args| call(machine, "count", args),
        &["(.size coll)"],
        "The number of items.",
        &[("(.size [1 2])", "2")],
    ),
    row(
        ".get",
        Arity::exactly(2),
        get,
        &["(.get coll key)"],
        "The value under a key of a map or at an index of a list.",
        &[("(.get {:a 1} :a)", "1"), ("(.get [1 2] 1)", "2")],
    ),
    row(
        ".getOrDefault",
        Arity::exactly(3),
        |machine, args| call(machine, "get", args),
        &["(.getOrDefault m key default)"],
        "The value under a key, or the default.",
        &[("(.getOrDefault {:a 1} :b 0)", "0")],
    ),
    row(
        ".containsKey",
        Arity::exactly(2),
        |machine, args| call(machine, "contains?", args),
        &["(.containsKey m key)"],
        "True if the map has the key.",
        &[("(.containsKey {:a 1} :a)", "true")],
    ),
    row(
        ".keySet",
        Arity::exactly(1),
        |machine, args| call(machine, "keys", args),
        &["(.keySet m)"],
        "The keys of a map.",
        &[("(.keySet {:a 1})", "[:a]")],
    ),
    row(
        ".values",
        Arity::exactly(1),
        |machine, args| call(machine, "vals", args),
        &["(.values m)"],
        "The values of a map.",
        &[("(.values {:a 1})", "[1]")],
    ),
    row(
        ".entrySet",
        Arity::exactly(1),
        |machine, args| call(machine, "seq", args),
        &["(.entrySet m)"],
        "The entries of a map as [key value].",
        &[("(.entrySet {:a 1})", "[[:a 1]]")],
    ),
    row(
        ".getKey",
        Arity::exactly(1),
        |machine, args| call(machine, "key", args),
        &["(.getKey entry)"],
        "The key of an entry.",
        &[("(.getKey (first (seq {:a 1})))", ":a")],
    ),
    row(
        "Integer/parseInt",
        Arity::between(1, 2),
        parse_integer,
        &["(Integer/parseInt s)", "(Integer/parseInt s radix)"],
        "The integer in a string, to base 10 or another; if there is none, nil, and inside `try` a NumberFormatException.",
        &[("(Integer/parseInt \"42\")", "42"), ("(Integer/parseInt \"ff\" 16)", "255")],
    ),
    row(
        "Integer/valueOf",
        Arity::exactly(1),
        value_of,
        &["(Integer/valueOf x)"],
        "The integer in a string; a number unchanged.",
        &[("(Integer/valueOf \"42\")", "42")],
    ),
    row(
        "Double/valueOf",
        Arity::exactly(1),
        float_of,
        &["(Double/valueOf x)"],
        "The float in a string, or of a number.",
        &[("(Double/valueOf \"2.5\")", "2.5")],
    ),
    row(
        "Integer/toString",
        Arity::between(1, 2),
        in_base,
        &["(Integer/toString x)", "(Integer/toString x radix)"],
        "The digits of an integer, to base 10 or another.",
        &[("(Integer/toString 255 16)", "\"ff\"")],
    ),
    row(
        "Integer/toBinaryString",
        Arity::exactly(1),
        |_, args| digits(&args[0], 2),
        &["(Integer/toBinaryString x)"],
        "The binary digits of an integer.",
        &[("(Integer/toBinaryString 5)", "\"101\"")],
    ),
    row(
        "Integer/toHexString",
        Arity::exactly(1),
        |_, args| digits(&args[0], 16),
        &["(Integer/toHexString x)"],
        "The hexadecimal digits of an integer.",
        &[("(Integer/toHexString 255)", "\"ff\"")],
    ),
    row(
        "Character/isDigit",
        Arity::exactly(1),
        |_, args| is_char(args, char::is_numeric),
        &["(Character/isDigit c)"],
        "True for a digit.",
        &[("(Character/isDigit \\5)", "true")],
    ),
    row(
        "Character/isLetter",
        Arity::exactly(1),
        |_, args| is_char(args, char::is_alphabetic),
        &["(Character/isLetter c)"],
        "True for a letter.",
        &[("(Character/isLetter \\a)", "true")],
    ),
    row(
        "Character/isLetterOrDigit",
        Arity::exactly(1),
        |_, args| is_char(args, char::is_alphanumeric),
        &["(Character/isLetterOrDigit c)"],
        "True for a letter or digit.",
        &[("(Character/isLetterOrDigit \"-\")", "false")],
    ),
    row(
        "Character/isUpperCase",
        Arity::exactly(1),
        |_, args| is_char(args, char::is_uppercase),
        &["(Character/isUpperCase c)"],
        "True for a letter in upper case.",
        &[("(Character/isUpperCase \\A)", "true")],
    ),
    row(
        "Character/isLowerCase",
        Arity::exactly(1),
        |_, args| is_char(args, char::is_lowercase),
        &["(Character/isLowerCase c)"],
        "True for a letter in lower case.",
        &[("(Character/isLowerCase \\A)", "false")],
    ),
    row(
        "Character/isWhitespace",
        Arity::exactly(1),
        |_, args| is_char(args, char::is_whitespace),
        &["(Character/isWhitespace c)"],
        "True for white space.",
        &[("(Character/isWhitespace \" \")", "true")],
    ),
    row(
        "Character/getNumericValue",
        Arity::exactly(1),
        numeric_value,
        &["(Character/getNumericValue c)"],
        "The value of a digit, -1 for other characters.",
        &[("(Character/getNumericValue \\7)", "7")],
    ),
    row(
        "String/format",
        Arity::from(1),
        format,
        &["(String/format template & values)"],
        "The same as format; the values may be in one list.",
        &[("(String/format \"%s-%d\" (to-array [\"a\" 7]))", "\"a-7\"")],
    ),
    row(
        "to-array",
        Arity::exactly(1),
        |machine, args| call(machine, "vec", args),
        &["(to-array coll)"],
        "The items as a vector.",
        &[("(to-array #{1})", "[1]")],
    ),
    row(
        "into-array",
        Arity::between(1, 2),
        |machine, args| call(machine, "vec", &mut [args.last_mut().map(std::mem::take).unwrap_or_default()]),
        &["(into-array coll)", "(into-array type coll)"],
        "The items as a vector.",
        &[("(into-array [1])", "[1]")],
    ),
    row(
        "String/join",
        Arity::from(2),
        join,
        &["(String/join separator coll)"],
        "The items as one string with the separator between them.",
        &[("(String/join \",\" [\"a\" \"b\"])", "\"a,b\"")],
    ),
];

/// Calls another builtin.
fn call(machine: &mut Machine<'_>, name: &str, args: &mut [Value]) -> EvalResult {
    let function = find(name).map(value).unwrap_or_default();
    machine.call(&function, args)
}

fn char_at(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    let index = integer(2, &args[1])?;
    pass(machine, s)?;
    let found = usize::try_from(index).ok().and_then(|index| graphemes(s).into_iter().nth(index));
    found.map_or_else(|| Err(out_of_range(s, index)), Ok)
}

#[cold]
fn out_of_range(s: &str, index: i64) -> Box<crate::lisp::Halt> {
    let problem = format!("the index {index} is out of range for a string of {} characters", graphemes(s).len());
    Error::new(Reason::TypeError, problem).hint("(get s index) gives nil instead").into()
}

fn repeat(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let s = text(1, &args[0])?;
    let count = usize::try_from(integer(2, &args[1])?.max(0)).unwrap_or(usize::MAX);
    machine.reserve(s.len().saturating_mul(count))?;
    Ok(s.repeat(count).into())
}

/// The second argument as a regex.
fn with_regex(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult<()> {
    if matches!(args[1], Value::Str(_)) {
        args[1] = call(machine, "re-pattern", &mut [args[1].clone()])?;
    }
    Ok(())
}

fn matches(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    with_regex(machine, args)?;
    args.swap(0, 1);
    Ok(Value::Bool(!call(machine, "re-matches", args)?.is_nil()))
}

fn replaced(machine: &mut Machine<'_>, args: &mut [Value], name: &str) -> EvalResult {
    text(1, &args[0])?;
    with_regex(machine, args)?;
    call(machine, name, args)
}

fn equals_ignore_case(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let one = text(1, &args[0])?;
    Ok(Value::Bool(args[1].as_str().is_some_and(|other| one.to_lowercase() == other.to_lowercase())))
}

fn get(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::List(_) => call(machine, "nth", args),
        Value::Map(_) => call(machine, "get", args),
        other => Err(wrong(1, "a map or list", other)),
    }
}

fn parse_integer(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [digits, radix] = taken(args);
    if radix.is_nil() {
        let parsed = call(machine, "parse-long", &mut [digits.clone()])?;
        return number_or_exception(machine, &digits, parsed);
    }
    let s = text(1, &digits)?;
    let radix = u32::try_from(integer(2, &radix)?).ok().filter(|radix| (2..=36).contains(radix));
    let Some(radix) = radix else {
        return Err(hinted(wrong(2, "a base from 2 to 36", &Value::Nil), "Write (Integer/parseInt s 16)"));
    };
    pass(machine, s)?;
    let parsed = i64::from_str_radix(s, radix).map_or(Value::Nil, Value::Int);
    number_or_exception(machine, &digits, parsed)
}

fn value_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match &args[0] {
        Value::Int(_) | Value::Big(_) => Ok(std::mem::take(&mut args[0])),
        _ => parse_integer(machine, &mut args[..1]),
    }
}

fn float_of(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let name = if number::is_number(&args[0]) { "double" } else { "Double/parseDouble" };
    call(machine, name, args)
}

fn in_base(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match args {
        [number, radix] => match u32::try_from(integer(2, radix)?) {
            Ok(radix @ 2..=36) => digits(number, radix),
            _ => Err(wrong(2, "a base from 2 to 36", radix)),
        },
        _ => call(machine, "str", args),
    }
}

fn digits(value: &Value, radix: u32) -> EvalResult {
    match value {
        Value::Int(int) => Ok(BigInt::from(*int).to_str_radix(radix).into()),
        Value::Big(big) => Ok(big.to_str_radix(radix).into()),
        other => Err(wrong(1, "an integer", other)),
    }
}

/// The only code point of a string.
fn character(value: &Value) -> EvalResult<char> {
    let mut chars = text(1, value)?.chars();
    match (chars.next(), chars.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(hinted(wrong(1, "a string of one character", value), "Write (Character/isDigit (first s))")),
    }
}

fn is_char(args: &[Value], holds: fn(char) -> bool) -> EvalResult {
    Ok(Value::Bool(holds(character(&args[0])?)))
}

fn numeric_value(_: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    Ok(Value::Int(character(&args[0])?.to_digit(36).map_or(-1, i64::from)))
}

fn format(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if let [template, Value::List(values)] = args {
        let mut all = vec![std::mem::take(template)];
        all.extend(super::view::copy(machine, values)?);
        return super::format::format(machine, &mut all);
    }
    super::format::format(machine, args)
}

fn join(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    match args {
        [_, Value::List(_) | Value::Set(_)] => call(machine, "join", args),
        [separator, parts @ ..] => {
            let parts = Value::list(parts.iter_mut().map(std::mem::take));
            let separator = std::mem::take(separator);
            call(machine, "join", &mut [separator, parts])
        }
        [] => Ok(Value::str("")),
    }
}
