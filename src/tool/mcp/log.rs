//! What a server has said beside its answers: log messages and lines of stderr, the latest of them; and who listens while a call lasts.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::ProgressToken;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use super::kept::Kept;
use crate::model::Scrub;

/// Lines that are kept.
const LINES: usize = 200;
/// Bytes of a line that are kept.
const LINE_BYTES: usize = 500;
/// Notes that one call hears.
const NOTES: usize = 20;

/// Progress that is kept for a call whose token is not known yet: the answer of a fast server may overtake it.
const EARLY: usize = 20;

/// A call that listens.
struct Listening {
    id: u64,
    heard: usize,
    /// By which the server says that something is progress of this call.
    token: Option<ProgressToken>,
    notes: mpsc::UnboundedSender<String>,
}

impl Listening {
    fn hear(&mut self, text: &str) {
        self.heard += 1;
        match self.heard.cmp(&NOTES) {
            // A call that does not listen any more needs nothing.
            std::cmp::Ordering::Less => _ = self.notes.send(text.to_owned()),
            std::cmp::Ordering::Equal => {
                _ = self.notes.send(format!("{text} (what else the server says is in its log)"));
            }
            std::cmp::Ordering::Greater => {}
        }
    }
}

/// The calls that last.
#[derive(Default)]
struct Calls {
    begun: u64,
    listening: Vec<Listening>,
    early: VecDeque<(ProgressToken, String)>,
}

/// The log of one server. Nothing in it holds a known secret.
#[derive(Default)]
pub(super) struct Log {
    scrub: Scrub,
    lines: Mutex<VecDeque<String>>,
    file: Mutex<Option<Kept>>,
    calls: Mutex<Calls>,
    /// The server has said that its tools are others now.
    pub(super) changed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// A log that knows these secrets, and is kept there as well.
    pub(super) fn new(scrub: Scrub, file: Option<Kept>) -> Self {
        Self { scrub, file: Mutex::new(file), ..Self::default() }
    }

    /// The text without secrets, cut.
    fn fit(&self, text: &str) -> String {
        let mut text = self.scrub.text(text);
        text.truncate(text.floor_char_boundary(LINE_BYTES));
        text
    }

    /// The text without secrets.
    pub(super) fn clean(&self, text: &str) -> String {
        self.scrub.text(text)
    }

    /// What knows the secrets.
    pub(super) fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    /// Keeps a line.
    pub(super) fn keep(&self, line: &str) {
        let line = self.fit(line);
        if let Some(file) = &mut *lock(&self.file) {
            file.write(&line);
        }
        let mut lines = lock(&self.lines);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Tells it to all calls that last.
    pub(super) fn tell(&self, text: &str) {
        let text = self.fit(text);
        lock(&self.calls).listening.iter_mut().for_each(|call| call.hear(&text));
    }

    /// Tells it to the call whose progress it is.
    pub(super) fn progress(&self, token: &ProgressToken, text: &str) {
        let text = self.fit(text);
        self.keep(&text);
        let mut calls = lock(&self.calls);
        if let Some(call) = calls.listening.iter_mut().find(|call| call.token.as_ref() == Some(token)) {
            call.hear(&text);
        } else if calls.listening.iter().any(|call| call.token.is_none()) && calls.early.len() < EARLY {
            calls.early.push_back((token.clone(), text));
        }
    }

    /// Listens until what is given back is dropped.
    pub(super) fn listen(&self, notes: &mpsc::UnboundedSender<String>) -> Listener<'_> {
        let mut calls = lock(&self.calls);
        calls.begun += 1;
        let id = calls.begun;
        calls.listening.push(Listening { id, heard: 0, token: None, notes: notes.clone() });
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

impl Listener<'_> {
    /// From now on progress under this token is told here.
    pub(super) fn expects(&self, token: &ProgressToken) {
        let mut calls = lock(&self.log.calls);
        let Calls { listening, early, .. } = &mut *calls;
        let Some(call) = listening.iter_mut().find(|call| call.id == self.id) else { return };
        call.token = Some(token.clone());
        early.iter().filter(|(known, _)| known == token).for_each(|(_, text)| call.hear(text));
        early.retain(|(known, _)| known != token);
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        let mut calls = lock(&self.log.calls);
        calls.listening.retain(|call| call.id != self.id);
        if calls.listening.is_empty() {
            calls.early.clear();
        }
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

    fn token(number: i64) -> ProgressToken {
        ProgressToken(rmcp::model::NumberOrString::Number(number))
    }

    #[tokio::test]
    async fn progress_is_told_to_its_own_call_also_when_it_overtakes_the_token() {
        let log = Log::default();
        let (one, mut told_one) = mpsc::unbounded_channel();
        let (two, mut told_two) = mpsc::unbounded_channel();
        let (first, second) = (log.listen(&one), log.listen(&two));
        first.expects(&token(1));
        log.progress(&token(2), "2 early");
        log.progress(&token(1), "1");
        second.expects(&token(2));
        log.progress(&token(2), "2");
        log.progress(&token(3), "nobody's");
        drop((first, second));
        log.progress(&token(1), "too late");
        let all = |told: &mut mpsc::UnboundedReceiver<String>| {
            std::iter::from_fn(|| told.try_recv().ok()).collect::<Vec<_>>()
        };
        assert_eq!(
            (all(&mut told_one), all(&mut told_two)),
            (vec!["1".to_owned()], vec!["2 early".to_owned(), "2".to_owned()])
        );
    }

    #[tokio::test]
    async fn no_line_and_no_note_holds_a_secret() {
        let log = Log::new(Scrub::new([crate::model::Secret::new("sk-12345678")]), None);
        let (notes, mut told) = mpsc::unbounded_channel();
        let listener = log.listen(&notes);
        log.keep("key sk-12345678");
        log.tell("key sk-12345678");
        listener.expects(&token(1));
        log.progress(&token(1), "key sk-12345678");
        assert_eq!(log.lines(), ["key [secret]"; 2]);
        assert_eq!(
            (told.try_recv().unwrap(), told.try_recv().unwrap()),
            ("key [secret]".into(), "key [secret]".into())
        );
    }
}
