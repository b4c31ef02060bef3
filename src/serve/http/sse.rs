//! Server-sent events of a run: a task follows the run and sends pieces while the client reads.
//!
//! In: a run and how its progress becomes text. Out: a streamed reply. When the client leaves, the run is stopped. A client that does not
//! read must never keep a run from its time limit.

use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use super::with_session;
use crate::agent::Step;
use crate::event::Envelope;
use crate::serve::{ActiveRun, RunProgress};
use crate::server::{BodySender, HeaderValue, Reply, header, streamed};

/// Time without an event after which a comment shows that the connection is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Longest wait for the start of a run before the head of its reply is sent.
const START_TIME: Duration = Duration::from_secs(2);

/// Turns the progress of a run into the text of events.
pub(super) trait Writer: Send + 'static {
    /// The text for an event; empty for none.
    fn event(&mut self, envelope: &Envelope) -> String;

    /// The text for the end.
    fn end(&mut self, step: &Step) -> String;
}

/// An event with a name.
pub(super) fn named(name: &str, data: &str) -> String {
    format!("event: {name}\n{}", unnamed(data))
}

/// An event without a name.
pub(super) fn unnamed(data: &str) -> String {
    let lines: Vec<String> = data.lines().map(|line| format!("data: {line}\n")).collect();
    format!("{}\n", lines.concat())
}

/// The reply that follows a run, once its start is recorded: a client that has the id of a session can read it after a crash. It does not
/// wait longer for a run whose servers of tools start slowly.
pub(super) async fn reply(mut run: ActiveRun, first: String, writer: impl Writer) -> Reply {
    let start = timeout(START_TIME, run.next()).await.ok();
    let (sender, body) = streamed();
    let mut reply = with_session(Reply::new(body), run.session());
    tokio::spawn(follow(run, first, start, writer, sender));
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    reply
}

async fn follow(
    mut run: ActiveRun,
    first: String,
    mut start: Option<RunProgress>,
    mut writer: impl Writer,
    sender: BodySender,
) {
    let mut text = first;
    let mut quiet = Instant::now() + KEEP_ALIVE;
    loop {
        if !text.is_empty() {
            if !send(&mut run, &sender, std::mem::take(&mut text)).await {
                return sender.cut();
            }
            quiet = Instant::now() + KEEP_ALIVE;
        }
        let progress = tokio::select! {
            progress = next(&mut run, &mut start) => progress,
            () = sleep_until(quiet) => {
                text.push_str(": the run has not ended\n\n");
                continue;
            }
            // Dropping the run stops it.
            () = sender.closed() => return,
        };
        match progress {
            RunProgress::Events(events) => text = events.iter().map(|envelope| writer.event(envelope)).collect(),
            RunProgress::Ended(step) => {
                let end = writer.end(&step);
                if !send(&mut run, &sender, end).await {
                    sender.cut();
                }
                return;
            }
        }
    }
}

/// Returns the progress taken earlier, else the next one.
async fn next(run: &mut ActiveRun, taken: &mut Option<RunProgress>) -> RunProgress {
    match taken.take() {
        Some(progress) => progress,
        None => run.next().await,
    }
}

/// Sends a piece and watches the run meanwhile. `false`: the client has left, or did not read in the time that it had after the server
/// stopped the run.
async fn send(run: &mut ActiveRun, sender: &BodySender, piece: String) -> bool {
    tokio::select! {
        biased;
        is_sent = sender.send(piece) => is_sent,
        () = run.overdue() => false,
    }
}
