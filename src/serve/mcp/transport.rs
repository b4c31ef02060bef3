//! The stream of messages of a client, which ends only when all its requests are answered.
//!
//! A client that writes requests and closes its end gets all replies: the library would drop what is running when the input ends. In:
//! bytes of both streams. Out: messages, tool calls with exact arguments; a line that is not a message gets an error reply. When the input
//! has ended, the token is cancelled, so that nothing more is asked of the client.

use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use ptc_core::text::without_mark;
use ptc_core::value::Json;
use ptc_core::value::json;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RequestContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio_util::sync::CancellationToken;

use super::lines::{Line, Lines, MAX_BYTES};
use super::refusal::Refusal;
use crate::serve::rounded;

/// Requests that are not answered yet.
#[derive(Debug, Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    changed: Notify,
}

impl Open {
    fn change(&self, change: impl FnOnce(&mut HashSet<RequestId>)) {
        change(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
    }

    async fn all_answered(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            changed.await;
        }
    }
}

/// The arguments of a tool call as they were sent: the library holds numbers of 64 bits.
#[derive(Debug, Clone)]
struct ExactArguments(Arc<Json>);

/// The arguments of a tool call with every digit of their numbers: an object.
pub(super) fn exact_arguments(context: &RequestContext<RoleServer>) -> Arc<Json> {
    let exact = context.extensions.get::<ExactArguments>();
    exact.map_or_else(|| Arc::new(Json::empty()), |arguments| Arc::clone(&arguments.0))
}

/// The message of this JSON. `None`: one that is not understood and gets no reply.
fn read_message(json: &Json) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refusal> {
    let Ok(mut message) = serde_json::from_str::<RxJsonRpcMessage<RoleServer>>(&rounded(json).to_text()) else {
        return Refusal::of_message(json).map_or(Ok(None), Err);
    };
    if let JsonRpcMessage::Request(request) = &mut message
        && let ClientRequest::CallToolRequest(call) = &mut request.request
        && let Some(arguments) = json.get("params").and_then(|params| params.get("arguments"))
        && arguments.members().is_some()
    {
        call.extensions.insert(ExactArguments(Arc::new(arguments.clone())));
    }
    Ok(Some(message))
}

/// The JSON of a message. `None`: a reply or a notification that cannot be read, which gets no error.
fn read_json(text: &str) -> Result<Option<Json>, Refusal> {
    match json::parse_unique(text) {
        Ok(message) => Ok(Some(message)),
        Err(error) => match Refusal::of_text(text, error.error()) {
            Some(refusal) => Err(refusal),
            // Of two members of one name the first counts.
            None => Ok(json::parse(text).ok()),
        },
    }
}

async fn write(output: Arc<AsyncMutex<impl AsyncWrite + Unpin>>, line: String) -> io::Result<()> {
    let mut output = output.lock().await;
    output.write_all(line.as_bytes()).await?;
    output.flush().await
}

/// The transport of a server on two streams.
pub(super) struct AnsweringTransport<R, W> {
    lines: Lines<R>,
    output: Arc<AsyncMutex<W>>,
    /// Messages of the last line that are not read yet, and errors for those that cannot be read.
    messages: VecDeque<Result<Json, Refusal>>,
    /// An error reply that is being written; nothing is read before its end.
    refusal: Option<BoxFuture<'static, io::Result<()>>>,
    open: Arc<Open>,
    input_end: CancellationToken,
    end: CancellationToken,
}

impl<R, W> AnsweringTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// `input_end` is cancelled here when the input has ended; when `end` is cancelled, the input is not read any more.
    pub(super) fn new(input: R, output: W, input_end: CancellationToken, end: CancellationToken) -> Self {
        Self {
            lines: Lines::new(input),
            output: Arc::new(AsyncMutex::new(output)),
            messages: VecDeque::new(),
            refusal: None,
            open: Arc::default(),
            input_end,
            end,
        }
    }

    /// The next message; `None` at the end of the input. A cancelled call loses nothing.
    async fn next_message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusal) = &mut self.refusal {
                // A client that does not read its errors gets none.
                _ = refusal.await;
                self.refusal = None;
            }
            let read = if let Some(message) = self.messages.pop_front() {
                message.and_then(|message| read_message(&message))
            } else {
                let line = self.lines.next().await?;
                self.split(&line).map(|()| None)
            };
            match read {
                Ok(None) => {}
                Ok(message) => return message,
                Err(Refusal(line)) => self.refusal = Some(Box::pin(write(Arc::clone(&self.output), line))),
            }
        }
    }

    /// Takes the messages of a line: several of a batch, which are answered one by one.
    fn split(&mut self, line: &Line) -> Result<(), Refusal> {
        let Line::Whole(bytes) = line else {
            return Err(Refusal::unreadable(format!("a line has more than {} MiB", MAX_BYTES >> 20)));
        };
        let text = std::str::from_utf8(bytes);
        let text = text.map_err(|error| Refusal::unreadable(format!("a line is not UTF-8: {error}")))?;
        let text = without_mark(text).trim();
        if text.is_empty() {
            return Ok(());
        }
        // One message of a batch with an error does not prevent the others.
        match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(items) if !items.is_empty() => {
                self.messages.extend(items.iter().filter_map(|item| read_json(item.get()).transpose()));
            }
            _ => self.messages.extend(read_json(text).transpose()),
        }
        Ok(())
    }
}

impl<R, W> Transport<RoleServer> for AnsweringTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (open, output) = (Arc::clone(&self.open), Arc::clone(&self.output));
        async move {
            let sent = match serde_json::to_string(&message) {
                Ok(text) => write(output, text + "\n").await,
                Err(error) => Err(error.into()),
            };
            if let Some(id) = answered {
                open.change(|ids| _ = ids.remove(&id));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let end = self.end.clone();
        if !self.input_end.is_cancelled()
            && let Some(Some(message)) = end.run_until_cancelled(self.next_message()).await
        {
            match &message {
                JsonRpcMessage::Request(request) => self.open.change(|ids| _ = ids.insert(request.id.clone())),
                // A cancelled request gets no reply.
                JsonRpcMessage::Notification(notification) => {
                    if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.open.change(|ids| _ = ids.remove(id));
                    }
                }
                _ => {}
            }
            return Some(message);
        }
        self.input_end.cancel();
        // Half an error reply holds the output, for which other replies wait.
        if let Some(refusal) = self.refusal.take() {
            tokio::spawn(refusal);
        }
        self.open.all_answered().await;
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.lock().await.shutdown().await
    }
}
