//! `lisp repl`: programs as they are typed, or as they come on stdin; memory and the last results are kept.
//!
//! In: lines from a terminal (edited, with history and completion) or from a pipe. Out: values on stdout, errors with
//! their place on stderr. A pipe with a program that breaks ends with exit code 1.

mod assistant;
mod complete;
mod edit;
mod session;

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use ptc_core::text::lex::lisp::Balance;

use super::face::Face;
use super::input::data;
use crate::cli::arguments::lisp::LispReplFlags;
use crate::cli::output::{UsageError, exit, print_note};
use session::{Reply, Session, is_command};

/// Prompt before each program.
const PROMPT: &str = "ptc> ";

pub(super) fn repl(flags: &LispReplFlags, face: Face) -> Result<u8, UsageError> {
    let stop = Arc::new(AtomicBool::new(false));
    let session = Session::new(data(flags.context.as_deref())?.to_value(), flags.timeout, Arc::clone(&stop), face);
    if std::io::stdin().is_terminal() {
        return edit::converse(session, &stop);
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
        if !ended && !is_command(&text) && Balance::of(&text).is_open() {
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
    let (ready, listening) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            print_note("note: Ctrl-C will end the program");
            return;
        };
        runtime.block_on(async {
            let mut pressed = Box::pin(tokio::signal::ctrl_c());
            // Asked once, it listens. The editor puts the listener of now back after each line it has read.
            let mut asked = futures::poll!(pressed.as_mut());
            _ = ready.send(());
            loop {
                let pressed_well = match asked {
                    Poll::Ready(result) => result.is_ok(),
                    Poll::Pending => pressed.await.is_ok(),
                };
                if !pressed_well {
                    return;
                }
                stop.store(true, Ordering::Relaxed);
                pressed = Box::pin(tokio::signal::ctrl_c());
                asked = Poll::Pending;
            }
        });
    });
    // An error means that the receiver is gone.
    _ = listening.recv();
}
