//! `lisp batch`: JSON lines in, JSON lines out, in the same order, run on all cores. A line that is not a case gives a line
//! with an error.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use ptc_core::lisp::Error;
use ptc_core::lisp::case::Case;
use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use super::input::perform;
use crate::cli::arguments::lisp::TIMEOUT_MS;
use crate::cli::output::Stdout;
use crate::cli::output::{UsageError, exit};
use crate::config::document::parse_json_text;

/// Lines read ahead of the slowest worker.
const READ_AHEAD: usize = 256;

/// A line and its number, from 0.
type Line = (usize, Vec<u8>);
/// The result of a line.
type Answer = (usize, String);

/// `dialect`: the language of cases that name none.
pub(super) fn batch(dialect: &str) -> Result<u8, UsageError> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let (lines, queue) = sync_channel::<Line>(READ_AHEAD);
    let (answers, done) = channel::<Answer>();
    let queue = Arc::new(Mutex::new(queue));
    for _ in 0..workers {
        let (queue, answers, dialect) = (Arc::clone(&queue), answers.clone(), dialect.to_owned());
        // The queue ends with its last worker, and then the reader does.
        std::thread::spawn(move || work(&queue, &answers, &dialect));
    }
    drop((queue, answers));
    let reader = std::thread::spawn(move || read_lines(&mut std::io::stdin().lock(), &lines));
    if write_in_order(&done, &mut Stdout).is_err() {
        // The reader of our output is gone. There is nothing to do or to wait for; a full disk is reported at the end.
        return Ok(exit::OK);
    }
    match reader.join() {
        Ok(Err(error)) => Err(UsageError(format!("stdin cannot be read: {error}"))),
        _ => Ok(exit::OK),
    }
}

fn read_lines(input: &mut impl BufRead, lines: &SyncSender<Line>) -> std::io::Result<()> {
    for at in 0.. {
        let mut line = Vec::new();
        // Without a worker the rest is not needed.
        if input.read_until(b'\n', &mut line)? == 0 || lines.send((at, line)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Takes lines until there are no more, or the receiver of answers is gone.
fn work(queue: &Mutex<Receiver<Line>>, answers: &Sender<Answer>, dialect: &str) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((at, line)) = next else { return };
        if answers.send((at, answer(at, &line, dialect))).is_err() {
            return;
        }
    }
}

fn write_in_order(done: &Receiver<Answer>, out: &mut impl Write) -> std::io::Result<()> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (at, text) in done {
        waiting.insert(at, text);
        while let Some(text) = waiting.remove(&next) {
            next += 1;
            out.write_all(text.as_bytes())?;
        }
        out.flush()?;
    }
    Ok(())
}

/// The record of one line with its line break; nothing for an empty line.
fn answer(at: usize, line: &[u8], dialect: &str) -> String {
    if line.trim_ascii().is_empty() {
        return String::new();
    }
    let mut text = match parsed(at, line) {
        Ok(json) => record(&in_dialect(json, dialect)),
        Err(problem) => Case::refusal(Json::default(), &Error::new(Reason::InvalidConfig, problem)),
    }
    .to_text();
    text.push('\n');
    text
}

/// The JSON of a line. The error names the line.
fn parsed(at: usize, line: &[u8]) -> Result<Json, String> {
    let name = format!("line {}", at + 1);
    let text = std::str::from_utf8(line).map_err(|error| format!("{name} is not JSON: {error}"))?;
    parse_json_text(text.trim()).map_err(|error| format!("{name} is {} (column {})", error.problem(), error.at.column))
}

/// The case with this dialect, unless it names one or is not an object with options.
fn in_dialect(case: Json, dialect: &str) -> Json {
    let options = case.get("opts").cloned().unwrap_or_else(Json::empty);
    if case.members().is_none() || options.members().is_none() || options.get("dialect").is_some() {
        return case;
    }
    case.with("opts", options.with("dialect", Json::str(dialect)))
}

fn record(json: &Json) -> Json {
    let case = match Case::read(json) {
        Ok(case) => case,
        Err(error) => return Case::refusal(json.get("id").cloned().unwrap_or_default(), &error),
    };
    case.record(&perform(&case, case.timeout_ms.unwrap_or(TIMEOUT_MS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_written_in_the_order_of_their_lines() {
        let (answers, done) = channel();
        for at in [2, 0, 1] {
            answers.send((at, format!("{at}\n"))).unwrap_or_default();
        }
        drop(answers);
        let mut out = Vec::new();
        assert!(write_in_order(&done, &mut out).is_ok());
        assert_eq!(out, b"0\n1\n2\n");
    }

    #[test]
    fn a_line_that_is_no_case_gives_an_error_of_its_own() {
        assert!(answer(2, b"{", "current").contains("line 3 is not JSON"));
        assert!(answer(0, b"\xff", "current").contains("invalid_config"));
        assert!(
            answer(0, br#"{"id":7,"program":5}"#, "current")
                .starts_with(r#"{"id":7,"ok":false,"reason":"invalid_config""#)
        );
        let twice = answer(1, br#"{"program":"1","context":{"n":1,"n":2}}"#, "current");
        assert!(
            twice.contains("line 2 is ambiguous") && twice.contains("disagree") && twice.contains("(column 33)"),
            "{twice}"
        );
        assert_eq!(answer(0, b" \n", "current"), "");
    }

    #[test]
    fn a_case_without_a_dialect_has_the_one_of_the_command() {
        let case = br#"{"program":"(assoc {\"a\" 1} :a 2)"}"#;
        assert!(answer(0, case, "current").contains(r#""prn":"{\"a\" 2}""#), "{}", answer(0, case, "current"));
        assert!(answer(0, case, "reference").contains(r#""prn":"{:a 2 \"a\" 1}""#));
        let own = br#"{"program":"(assoc {\"a\" 1} :a 2)","opts":{"dialect":"reference"}}"#;
        assert_eq!(answer(0, own, "current"), answer(0, case, "reference"));
    }
}
