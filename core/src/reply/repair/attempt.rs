//! Reads one candidate with as few changes as possible: unchanged, unescaped once, or repaired.
//!
//! In: a text that ends where the candidate must end, and its bracket. Out: the value read, with all the work it took.
//! Reading unchanged comes first, so valid JSON is never changed.

use super::escaped::read_escaped;
use super::{Edge, FixKind, Read, Recovery, Stop, read};
use crate::reply::scan;
use crate::value::json::JsonError;

/// Reads the value at `bracket`; `from` is the start of the white space before it.
pub(in crate::reply) fn attempt(
    text: &str,
    from: usize,
    bracket: usize,
    level: Recovery,
    edge: Edge,
) -> Result<Read, Stop> {
    let mut visited = 0;
    let mut spent = |outcome: &Result<Read, Stop>| {
        visited += outcome.as_ref().map_or_else(|stop| stop.visited, |read| read.visited);
    };
    let quoted = text.get(bracket..).is_some_and(|rest| rest.starts_with('"'));
    let outcome = if quoted || scan::is_escaped(text, bracket) {
        let unescaped = read_escaped(text, bracket, level, edge);
        spent(&unescaped);
        if quoted || unescaped.is_ok() { unescaped } else { repaired(text, from, level, edge, &mut spent) }
    } else {
        repaired(text, from, level, edge, &mut spent)
    };
    match outcome {
        Ok(read) => Ok(Read { visited, ..read }),
        Err(stop) => Err(Stop { visited, ..stop }),
    }
}

fn repaired(
    text: &str,
    from: usize,
    level: Recovery,
    edge: Edge,
    spent: &mut impl FnMut(&Result<Read, Stop>),
) -> Result<Read, Stop> {
    let mut ahead = 0;
    let plain = read(text, from, Recovery::Strict, edge);
    spent(&plain);
    if let Ok(read) = &plain
        && !continues(text, read.end, &mut ahead)
    {
        return plain;
    }
    let repaired = read(text, from, level, edge);
    spent(&repaired);
    match repaired {
        Ok(read)
            if continues_with_an_end(text, read.end, &mut ahead)
                || skips_a_string(text, &read)
                || (read.fixes.iter().any(|fix| fix.kind == FixKind::MissingCloser)
                    && continues(text, read.end, &mut ahead)) =>
        {
            let message = "a bracket was closed too early: the object continues after its end".to_owned();
            let error = JsonError { message, offset: read.end, incomplete: false };
            Err(Stop { error, resume: None, visited: 0 })
        }
        Ok(read) => Ok(read),
        Err(stop) => match plain {
            Ok(read) if !continues_with_an_end(text, read.end, &mut ahead) => Ok(read),
            _ => Err(stop),
        },
    }
}

/// True if a bracket is missing after a comment with a quote in it: the comment is rather a part of a string.
fn skips_a_string(text: &str, read: &Read) -> bool {
    let is_unclosed = read.fixes.iter().any(|fix| fix.kind == FixKind::MissingCloser);
    let comments = read.fixes.iter().filter(|fix| fix.kind == FixKind::Comment);
    is_unclosed && comments.into_iter().any(|fix| fix.at.text(text).contains('"'))
}

/// True if a value that ended at `at` ended too early: an object continues there, as in `, "key":`, or what follows is the end of a
/// string and of its brackets, as in ` and more"}`. The bytes examined are added to `visited`.
pub(super) fn continues(text: &str, at: usize, visited: &mut usize) -> bool {
    continues_with_a_member(text, at, visited) || continues_with_an_end(text, at, visited)
}

/// True for a quote and, after it, a closing bracket without an opening one; also for an odd quote at the end.
fn continues_with_an_end(text: &str, at: usize, visited: &mut usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    // An item or a key without its colon follows: the quote before the bracket was inside of a string.
    if rest.trim_start().strip_prefix(',').is_some_and(|rest| rest.trim_start().starts_with('"')) {
        return true;
    }
    let mut quotes = 0;
    for byte in rest.bytes() {
        *visited += 1;
        match byte {
            b'{' | b'[' | b'`' => return false,
            b'"' => quotes += 1,
            b'}' | b']' if quotes > 0 => return true,
            _ => {}
        }
    }
    quotes % 2 == 1 && rest.trim_end().ends_with('"')
}

fn continues_with_a_member(text: &str, at: usize, visited: &mut usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let Some(key) = rest.trim_start().strip_prefix(',').map(str::trim_start).and_then(|rest| rest.strip_prefix('"'))
    else {
        *visited += rest.len() - rest.trim_start().len() + 1;
        return false;
    };
    let length = key.find(['"', '\n']).unwrap_or(key.len());
    *visited += rest.len() - key.len() + length;
    key.get(length + 1..).is_some_and(|behind| behind.trim_start().starts_with(':'))
}
