//! What a server has said beside its answers: log messages and lines of stderr, the latest of them; and who listens while a call lasts.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

/// Lines that are kept.
const LINES: usize = 200;
/// Bytes of a line that are kept.
const LINE_BYTES: usize = 500;
/// Notes that one call hears.
const NOTES: usize = 20;

/// A call that listens.
struct Listening {
    id: u64,
    heard: usize,
    notes: mpsc::UnboundedSender<String>,
}

/// The log of one server.
#[derive(Default)]
pub(super) struct Log {
    lines: Mutex<VecDeque<String>>,
    calls: Mutex<(u64, Vec<Listening>)>,
    /// The server has said that its tools are others now.
    pub(super) changed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// Keeps a line.
    pub(super) fn keep(&self, line: &str) {
        let end = line.floor_char_boundary(LINE_BYTES);
        let mut lines = lock(&self.lines);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line[..end].to_owned());
    }

    /// Tells it to the calls that last.
    pub(super) fn tell(&self, text: &str) {
        let end = text.floor_char_boundary(LINE_BYTES);
        for call in &mut lock(&self.calls).1 {
            call.heard += 1;
            match call.heard.cmp(&NOTES) {
                // A call that does not listen any more needs nothing.
                std::cmp::Ordering::Less => _ = call.notes.send(text[..end].to_owned()),
                std::cmp::Ordering::Equal => {
                    _ = call.notes.send(format!("{} (what else the server says is in its log)", &text[..end]));
                }
                std::cmp::Ordering::Greater => {}
            }
        }
    }

    /// Listens until what is given back is dropped.
    pub(super) fn listen(&self, notes: &mpsc::UnboundedSender<String>) -> Listener<'_> {
        let mut calls = lock(&self.calls);
        calls.0 += 1;
        let id = calls.0;
        calls.1.push(Listening { id, heard: 0, notes: notes.clone() });
        Listener { log: self, id }
    }

    /// The lines that are kept.
    pub(super) fn lines(&self) -> Vec<String> {
        lock(&self.lines).iter().cloned().collect()
    }

    /// The last lines, for a message; empty when there are none.
    pub(super) fn last(&self) -> String {
        let lines = lock(&self.lines);
        let last: Vec<&str> = lines.iter().skip(lines.len().saturating_sub(5)).map(String::as_str).collect();
        if last.is_empty() { String::new() } else { format!("; it said last: {}", last.join(" | ")) }
    }

    /// Takes the server's word that its tools have changed.
    pub(super) fn take_change(&self) -> bool {
        self.changed.swap(false, Ordering::SeqCst)
    }

    /// Keeps the lines of a stream to its end. A line without an end takes no more memory than one with.
    pub(super) async fn follow(&self, mut from: impl AsyncRead + Unpin) {
        let (mut piece, mut line) = ([0; 4096], Vec::new());
        while let Ok(count) = from.read(&mut piece).await {
            if count == 0 {
                break;
            }
            for byte in &piece[..count] {
                match byte {
                    b'\n' => self.keep(String::from_utf8_lossy(&std::mem::take(&mut line)).trim_end()),
                    byte if line.len() < LINE_BYTES => line.push(*byte),
                    _ => {}
                }
            }
        }
        if !line.is_empty() {
            self.keep(&String::from_utf8_lossy(&line));
        }
    }
}

/// A call that hears what its server says.
pub(super) struct Listener<'a> {
    log: &'a Log,
    id: u64,
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        lock(&self.log.calls).1.retain(|call| call.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_stays_within_bounds() {
        let log = Log::default();
        let flood = "x".repeat(2_000) + "\n" + &"line\n".repeat(1_000) + "last";
        log.follow(flood.as_bytes()).await;
        let lines = log.lines();
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (LINES, Some("last")));
        assert!(log.last().ends_with("line | line | last"), "{}", log.last());
        let (notes, mut told) = mpsc::unbounded_channel();
        let listener = log.listen(&notes);
        (0..100).for_each(|n| log.tell(&n.to_string()));
        drop(listener);
        log.tell("nobody hears this");
        let mut heard = Vec::new();
        while let Ok(note) = told.try_recv() {
            heard.push(note);
        }
        assert_eq!(heard.len(), NOTES);
        assert!(heard.last().unwrap().contains("in its log"));
    }
}
