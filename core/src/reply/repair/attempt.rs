//! Reads one candidate with as few changes as possible: unchanged, unescaped once, or repaired.
//!
//! In: a text that ends where the candidate must end, and its bracket. Out: the value read, with all the work it took.
//! Reading unchanged comes first, so valid JSON is never changed.

use super::escaped::read_escaped;
use super::{Edge, Fix, FixKind, Read, Recovery, Stop, read};
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
        Err(stop) => {
            let resume = stop.resume.and_then(|at| resume_after(text, bracket, at, stop.has_member, &mut visited));
            Err(Stop { resume, visited, ..stop })
        }
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
        Ok(read) => match suspicious_repair(text, &read, &mut ahead) {
            Some((message, offset)) => {
                let error = JsonError { message: message.to_owned(), offset, incomplete: false };
                Err(Stop { error, resume: None, has_member: true, visited: 0 })
            }
            None => Ok(read),
        },
        Err(stop) => match plain {
            Ok(read) if !continues_with_an_end(text, read.end, &mut ahead) => Ok(read),
            _ => Err(stop),
        },
    }
}

/// The reason why a repaired value is probably not what was written, and its offset.
fn suspicious_repair(text: &str, read: &Read, ahead: &mut usize) -> Option<(&'static str, usize)> {
    let is_unclosed = read.fixes.iter().any(|fix| fix.kind == FixKind::MissingCloser);
    if is_unclosed && let Some(fix) = read.fixes.iter().find(|fix| hides_an_end(text, fix)) {
        return Some(("a closing bracket is missing, and this comment may hide it; write no comments", fix.at.start));
    }
    if is_unclosed && let Some(fix) = read.fixes.iter().find(|fix| could_end(text, fix)) {
        return Some(("this quote may end the value or belong to its string", fix.at.start));
    }
    let is_too_early =
        continues_with_an_end(text, read.end, ahead) || (is_unclosed && continues(text, read.end, ahead));
    is_too_early.then_some(("a bracket was closed too early: the object continues after its end", read.end))
}

/// True for a comment with a quote in it, as a part of a string has, and for one that runs over a closing bracket, as in
/// `{"n": 7 // 2}`.
fn hides_an_end(text: &str, fix: &Fix) -> bool {
    if fix.kind != FixKind::Comment {
        return false;
    }
    let comment = fix.at.text(text);
    let count = |brackets: [char; 2]| comment.matches(brackets).count();
    comment.contains('"') || (!comment.starts_with("/*") && count(['}', ']']) > count(['{', '[']))
}

/// True for a quote inside a string that could end it and all brackets, as in `{"a": "x"}"`: only the quote after them
/// makes it a part of the string.
fn could_end(text: &str, fix: &Fix) -> bool {
    let behind = text.get(fix.at.end..).unwrap_or_default().trim_start();
    let rest = behind.trim_start_matches(|c: char| matches!(c, '}' | ']') || c.is_whitespace());
    let closers = &behind[..behind.len() - rest.len()];
    fix.kind == FixKind::InnerQuote && closers.ends_with(['}', ']']) && rest.starts_with(['"', '\'', '”', '’', '`'])
}

/// The offset at which a search may continue after a bracket that is unreadable from `at` on. A part of an object is not
/// the answer, so this is after its closing bracket; without one, all the rest belongs to it unless it may be prose.
fn resume_after(text: &str, bracket: usize, at: usize, has_member: bool, visited: &mut usize) -> Option<usize> {
    match closing_bracket(text, bracket, visited) {
        Some(end) if continues_with_a_member(text, end, visited) => None,
        Some(end) => Some(end.max(at)),
        None => (!has_member).then_some(at),
    }
}

/// The end of the bracket at `start`, by counting brackets outside of double quotes.
fn closing_bracket(text: &str, start: usize, visited: &mut usize) -> Option<usize> {
    let (mut depth, mut is_in_string, mut is_escaped) = (0_usize, false, false);
    for (offset, byte) in text.as_bytes().get(start..)?.iter().enumerate() {
        *visited += 1;
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            b'{' | b'[' if !is_in_string => depth += 1,
            b'}' | b']' if !is_in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(start + offset + 1);
                }
            }
            _ => {}
        }
    }
    None
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
