//! The person at the keyboard: sees the prompt on stderr and types the reply on stdin, line by line.

use std::io::{BufRead, IsTerminal};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{safe, tell};
use crate::port::{Human, Question};

/// A reply ends with a line that holds only this.
const END: &str = ".";

/// A person at a terminal, or a pipe with replies in it.
#[derive(Debug, Default)]
pub(super) struct Keyboard;

impl Human for Keyboard {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            tell(&safe(question.text.trim_end()));
            tell(&format!("[your reply for {}; end it with a line that holds only {END}]", question.address));
            let line = tokio::task::spawn_blocking(reply);
            tokio::select! {
                reply = line => reply.ok().flatten(),
                () = cancel.cancelled() => None,
            }
        })
    }
}

/// Lines up to the end mark or the end of input. Nobody is there when the input had already ended and is no terminal.
fn reply() -> Option<String> {
    let stdin = std::io::stdin();
    let mut text = String::new();
    let mut ended = true;
    for line in stdin.lock().lines().map_while(Result::ok) {
        ended = false;
        if line == END {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    (!ended || stdin.is_terminal()).then_some(text)
}
