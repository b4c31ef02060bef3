//! The stream of messages of a client, which ends only when all its requests are answered.
//!
//! A client that writes requests and closes its end gets all replies: the library would drop what is running when the input ends. In:
//! bytes of both streams. Out: messages. When the input has ended, the token is cancelled, so that nothing more is asked of the client.

use std::collections::HashSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

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

/// The transport of a server on two streams.
pub(super) struct AnsweringTransport<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
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
        Self { inner: AsyncRwTransport::new(input, output), open: Arc::default(), input_end, end }
    }
}

impl<R, W> Transport<RoleServer> for AnsweringTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let open = Arc::clone(&self.open);
        let sent = self.inner.send(message);
        async move {
            let sent = sent.await;
            if let Some(id) = answered {
                open.change(|ids| _ = ids.remove(&id));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if !self.input_end.is_cancelled()
            && let Some(Some(message)) = self.end.run_until_cancelled(self.inner.receive()).await
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
        self.open.all_answered().await;
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
