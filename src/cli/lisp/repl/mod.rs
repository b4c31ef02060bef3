//! `lisp repl`: programs as they are typed, or as they come on stdin; memory and the last results are kept.
//!
//! In: lines from a terminal (edited, with history and completion) or from a pipe. Out: values on stdout, errors with
//! their place on stderr. A pipe with a program that breaks ends with exit code 1.

mod complete;
mod edit;
mod lines;
mod session;

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{ReplFlags, data};
use crate::cli::{UsageError, exit, out, tell};
use session::{Reply, Session};

/// What is shown before each program.
const PROMPT: &str = "ptc> ";

const HELP: &str = "Type a program; it runs when its brackets are closed. *1 *2 *3 are the last results.
  :doc NAME    what a builtin does, or which fit a word
  :load FILE   run a file
  :memory      what is defined
  :reset       forget definitions and results
  :quit        leave (or Ctrl-D)
Tab completes names, Ctrl-C stops a running program or drops what is typed.";

pub(super) fn repl(flags: &ReplFlags) -> Result<u8, UsageError> {
    let stop = Arc::new(AtomicBool::new(false));
    let session = Session::new(data(flags.context.as_deref())?.to_value(), flags.timeout, Arc::clone(&stop));
    if std::io::stdin().is_terminal() {
        stop_on_interrupt(&stop);
        return edit::converse(session);
    }
    piped(session, &mut std::io::stdin().lock())
}

/// Runs each program of a pipe as soon as its brackets are closed.
fn piped(mut session: Session, input: &mut impl BufRead) -> Result<u8, UsageError> {
    let mut text = String::new();
    let mut code = exit::OK;
    loop {
        let before = text.len();
        let ended =
            input.read_line(&mut text).map_err(|error| UsageError(format!("stdin cannot be read: {error}")))? == 0;
        if !ended && !lines::is_complete(&text) {
            continue;
        }
        if ended && text[..before].trim().is_empty() {
            return Ok(code);
        }
        match session.take(std::mem::take(&mut text).trim()) {
            Reply::Done => {}
            Reply::Broken => code = exit::FAILED,
            Reply::Quit => return Ok(code),
        }
    }
}

/// From now on Ctrl-C stops the running program instead of this one. Without the signal handler Ctrl-C ends the
/// program, which is worth a word and no more.
fn stop_on_interrupt(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            tell("note: Ctrl-C will end the program");
            return;
        };
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                stop.store(true, Ordering::Relaxed);
            }
        });
    });
}

fn help() {
    out(HELP);
}
