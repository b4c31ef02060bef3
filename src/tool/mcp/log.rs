//! The log of a server: its log messages and stderr lines, and the calls that receive them as notes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::ProgressToken;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{mpsc, oneshot, watch};

use super::log_file::LogFile;
use crate::model::Scrub;
use crate::tool::{SamplePrompt, SampleReply, ToolQuestion, ToolRequest, ToolSample};

/// Maximum number of lines.
const MAX_LINES: usize = 200;
/// Maximum bytes per line.
const MAX_LINE_BYTES: usize = 500;
/// Timeout for the rest of the stderr of a server that has ended: a process that it started may keep it open.
const REST_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum replies of the run's model per call.
const MAX_SAMPLES: usize = 10;
/// Maximum notes per call.
const MAX_NOTES: usize = 20;

/// Maximum progress messages stored until their token is known; the progress of a fast server can precede it.
const MAX_EARLY: usize = 20;

/// A call that receives notes.
struct Subscriber {
    id: u64,
    sent: usize,
    /// The token with which the server marks progress of this call.
    token: Option<ProgressToken>,
    notes: mpsc::UnboundedSender<String>,
    requests: mpsc::UnboundedSender<ToolRequest>,
    /// Replies of the run's model that it asked for.
    samples: usize,
}

impl Subscriber {
    fn notify(&mut self, text: &str) {
        self.sent += 1;
        match self.sent.cmp(&MAX_NOTES) {
            // The receiver may be gone.
            std::cmp::Ordering::Less => _ = self.notes.send(text.to_owned()),
            std::cmp::Ordering::Equal => {
                _ = self.notes.send(format!("{text} (further messages are in the server's log)"));
            }
            std::cmp::Ordering::Greater => {}
        }
    }
}

/// The active calls.
#[derive(Default)]
struct Calls {
    last_id: u64,
    subscribers: Vec<Subscriber>,
    early: VecDeque<(ProgressToken, String)>,
}

/// The log of one server, without known secrets.
#[derive(Default)]
pub(super) struct Log {
    scrub: Scrub,
    lines: Mutex<VecDeque<String>>,
    file: Mutex<Option<LogFile>>,
    calls: Mutex<Calls>,
    /// Streams that are being read.
    open_streams: watch::Sender<usize>,
    /// The server has announced that its tools changed.
    pub(super) changed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// Creates a log that removes these secrets, and writes to this file.
    pub(super) fn new(scrub: Scrub, file: Option<LogFile>) -> Self {
        Self { scrub, file: Mutex::new(file), ..Self::default() }
    }

    /// Removes secrets and truncates.
    fn scrub_line(&self, text: &str) -> String {
        let mut text = self.scrub.text(text);
        text.truncate(text.floor_char_boundary(MAX_LINE_BYTES));
        text
    }

    /// Removes secrets.
    pub(super) fn clean(&self, text: &str) -> String {
        self.scrub.text(text)
    }

    /// Returns the secrets filter.
    pub(super) fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    /// Adds a line.
    pub(super) fn push_line(&self, line: &str) {
        let line = self.scrub_line(line);
        if let Some(file) = &mut *lock(&self.file) {
            file.write(&line);
        }
        let mut lines = lock(&self.lines);
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Sends a note to all active calls.
    pub(super) fn broadcast(&self, text: &str) {
        let text = self.scrub_line(text);
        lock(&self.calls).subscribers.iter_mut().for_each(|call| call.notify(&text));
    }

    /// Sends progress to its call.
    pub(super) fn progress(&self, token: &ProgressToken, text: &str) {
        let text = self.scrub_line(text);
        self.push_line(&text);
        let mut calls = lock(&self.calls);
        if let Some(call) = calls.subscribers.iter_mut().find(|call| call.token.as_ref() == Some(token)) {
            call.notify(&text);
        } else if calls.subscribers.iter().any(|call| call.token.is_none()) && calls.early.len() < MAX_EARLY {
            calls.early.push_back((token.clone(), text));
        }
    }

    /// Subscribes a call until the returned value is dropped.
    pub(super) fn subscribe(
        &self,
        notes: &mpsc::UnboundedSender<String>,
        requests: &mpsc::UnboundedSender<ToolRequest>,
    ) -> Subscription<'_> {
        let mut calls = lock(&self.calls);
        calls.last_id += 1;
        let id = calls.last_id;
        calls.subscribers.push(Subscriber {
            id,
            sent: 0,
            token: None,
            notes: notes.clone(),
            requests: requests.clone(),
            samples: 0,
        });
        Subscription { log: self, id }
    }

    /// Asks the user, in the name of the oldest active call: the protocol does not name the call that a question belongs to. `None`: no
    /// call is active, or no user answers.
    pub(super) async fn ask(&self, text: &str, options: Vec<String>) -> Option<String> {
        let (answer, given) = oneshot::channel();
        let question = ToolQuestion { text: self.clean(text), options, answer };
        lock(&self.calls).subscribers.first()?.requests.send(ToolRequest::Question(question)).ok()?;
        given.await.ok().flatten()
    }

    /// Asks the run's model, in the name of the oldest active call, which limits the number of replies. Errors: why there is no reply.
    pub(super) async fn sample(&self, prompt: SamplePrompt) -> Result<SampleReply, String> {
        const ENDED: &str = "the call has ended";
        let system = prompt.system.map(|text| self.clean(&text));
        let stop = prompt.stop.iter().map(|text| self.clean(text)).collect();
        let prompt = SamplePrompt { system, text: self.clean(&prompt.text), stop, ..prompt };
        let (answer, given) = oneshot::channel();
        {
            let mut calls = lock(&self.calls);
            let call = calls.subscribers.first_mut().ok_or(ENDED)?;
            if call.samples == MAX_SAMPLES {
                return Err(format!("a call gets {MAX_SAMPLES} replies of the model at most"));
            }
            call.samples += 1;
            call.requests.send(ToolRequest::Sample(ToolSample { prompt, answer })).map_err(|_| ENDED)?;
        }
        given.await.unwrap_or_else(|_| Err(ENDED.to_owned()))
    }

    /// Returns the stored lines.
    pub(super) fn lines(&self) -> Vec<String> {
        lock(&self.lines).iter().cloned().collect()
    }

    /// Formats the last lines for a message; empty when there are none.
    pub(super) fn last(&self) -> String {
        let lines = lock(&self.lines);
        let last: Vec<&str> = lines.iter().skip(lines.len().saturating_sub(5)).map(String::as_str).collect();
        if last.is_empty() { String::new() } else { format!("; its last output: {}", last.join(" | ")) }
    }

    /// Like `last`, for a server that has ended; reads its remaining output first.
    pub(super) async fn last_of_ended(&self) -> String {
        let mut open = self.open_streams.subscribe();
        if tokio::time::timeout(REST_TIMEOUT, open.wait_for(|count| *count == 0)).await.is_err() {
            tracing::debug!("the stderr of a server that has ended is still open");
        }
        self.last()
    }

    /// Returns and resets whether the server announced that its tools changed.
    pub(super) fn take_change(&self) -> bool {
        self.changed.swap(false, Ordering::SeqCst)
    }

    /// Adds the lines of a stream in a task of its own.
    pub(super) fn follow_in_background(self: &Arc<Self>, from: impl AsyncRead + Send + Unpin + 'static) {
        let log = Arc::clone(self);
        self.read_in_background(async move { log.follow(from).await });
    }

    /// Reads a stream in a task of its own; [`Self::last_of_ended`] waits for it.
    pub(super) fn read_in_background(self: &Arc<Self>, read: impl Future<Output = ()> + Send + 'static) {
        self.open_streams.send_modify(|count| *count += 1);
        let log = Arc::clone(self);
        tokio::spawn(async move {
            read.await;
            log.open_streams.send_modify(|count| *count = count.saturating_sub(1));
        });
    }

    /// Adds the lines of a stream until its end. Lines without an end are limited in memory too.
    async fn follow(&self, mut from: impl AsyncRead + Unpin) {
        let (mut piece, mut line) = ([0; 4096], Vec::new());
        while let Ok(count) = from.read(&mut piece).await {
            if count == 0 {
                break;
            }
            for byte in &piece[..count] {
                match byte {
                    b'\n' => self.push_line(String::from_utf8_lossy(&std::mem::take(&mut line)).trim_end()),
                    byte if line.len() < MAX_LINE_BYTES => line.push(*byte),
                    _ => {}
                }
            }
        }
        if !line.is_empty() {
            self.push_line(&String::from_utf8_lossy(&line));
        }
    }
}

/// The subscription of a call.
pub(super) struct Subscription<'a> {
    log: &'a Log,
    id: u64,
}

impl Subscription<'_> {
    /// Sends progress with this token to this call from now on.
    pub(super) fn expects(&self, token: &ProgressToken) {
        let mut calls = lock(&self.log.calls);
        let Calls { subscribers, early, .. } = &mut *calls;
        let Some(call) = subscribers.iter_mut().find(|call| call.id == self.id) else { return };
        call.token = Some(token.clone());
        early.iter().filter(|(known, _)| known == token).for_each(|(_, text)| call.notify(text));
        early.retain(|(known, _)| known != token);
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        let mut calls = lock(&self.log.calls);
        calls.subscribers.retain(|call| call.id != self.id);
        if calls.subscribers.is_empty() {
            calls.early.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn memory_is_limited() {
        let log = Log::default();
        let flood = "x".repeat(2_000) + "\n" + &"line\n".repeat(1_000) + "last";
        log.follow(flood.as_bytes()).await;
        let lines = log.lines();
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (MAX_LINES, Some("last")));
        assert!(log.last().ends_with("line | line | last"), "{}", log.last());
        let (notes, mut received) = mpsc::unbounded_channel();
        let listener = log.subscribe(&notes, &mpsc::unbounded_channel().0);
        (0..100).for_each(|n| log.broadcast(&n.to_string()));
        drop(listener);
        log.broadcast("not delivered");
        let mut sent = Vec::new();
        while let Ok(note) = received.try_recv() {
            sent.push(note);
        }
        assert_eq!(sent.len(), MAX_NOTES);
        assert!(sent.last().unwrap().contains("in the server's log"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_lines_of_an_ended_server_are_complete_and_awaited_for_a_limited_time() {
        let log = Arc::new(Log::default());
        let (mut writer, reader) = tokio::io::duplex(64);
        log.follow_in_background(reader);
        let (last, ()) = tokio::join!(log.last_of_ended(), async move {
            tokio::task::yield_now().await;
            tokio::io::AsyncWriteExt::write_all(&mut writer, b"why it ended\n").await.unwrap();
        });
        assert_eq!(last, "; its last output: why it ended");
        let (_writer, reader) = tokio::io::duplex(64);
        log.follow_in_background(reader);
        assert_eq!(log.last_of_ended().await, last, "a stream that stays open");
    }

    fn token(number: i64) -> ProgressToken {
        ProgressToken(rmcp::model::NumberOrString::Number(number))
    }

    #[tokio::test]
    async fn progress_reaches_its_own_call_even_before_the_token_is_known() {
        let log = Log::default();
        let (one, mut first_log) = mpsc::unbounded_channel();
        let (two, mut second_log) = mpsc::unbounded_channel();
        let requests = mpsc::unbounded_channel().0;
        let (first, second) = (log.subscribe(&one, &requests), log.subscribe(&two, &requests));
        first.expects(&token(1));
        log.progress(&token(2), "2 early");
        log.progress(&token(1), "1");
        second.expects(&token(2));
        log.progress(&token(2), "2");
        log.progress(&token(3), "nobody's");
        drop((first, second));
        log.progress(&token(1), "too late");
        let all = |received: &mut mpsc::UnboundedReceiver<String>| {
            std::iter::from_fn(|| received.try_recv().ok()).collect::<Vec<_>>()
        };
        assert_eq!(
            (all(&mut first_log), all(&mut second_log)),
            (vec!["1".to_owned()], vec!["2 early".to_owned(), "2".to_owned()])
        );
    }

    #[tokio::test]
    async fn no_line_and_no_note_contains_a_secret() {
        let log = Log::new(Scrub::new([crate::model::Secret::new("sk-12345678")]), None);
        let (notes, mut received) = mpsc::unbounded_channel();
        let listener = log.subscribe(&notes, &mpsc::unbounded_channel().0);
        log.push_line("key sk-12345678");
        log.broadcast("key sk-12345678");
        listener.expects(&token(1));
        log.progress(&token(1), "key sk-12345678");
        assert_eq!(log.lines(), ["key [secret]"; 2]);
        assert_eq!(
            (received.try_recv().unwrap(), received.try_recv().unwrap()),
            ("key [secret]".into(), "key [secret]".into())
        );
    }
}
