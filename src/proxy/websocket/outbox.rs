//! Messages that wait to be sent on one side of a WebSocket.
//!
//! In: messages. Out: the same, in order, as fast as the other side reads. A side that does not read must not keep the other side from being
//! read, up to [`FULL_BYTES`].

use std::sync::Arc;

use futures::{Sink, SinkExt as _};
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::tungstenite::{Error, Message};

/// Bytes above which nothing more is read for this side.
const FULL_BYTES: usize = 1 << 20;

/// The sending side of a WebSocket.
pub(in crate::proxy) struct Outbox {
    messages: mpsc::UnboundedSender<Message>,
    /// Bytes that wait.
    level: Arc<watch::Sender<usize>>,
}

impl Outbox {
    /// An outbox, and the future that sends what is put into it; it ends with the error of the connection, or without one after the outbox.
    pub(in crate::proxy) fn new(
        mut output: impl Sink<Message, Error = Error> + Unpin + Send,
    ) -> (Self, impl Future<Output = Result<(), Error>> + Send) {
        let (messages, mut queue) = mpsc::unbounded_channel();
        let level = Arc::new(watch::Sender::new(0));
        let sent = Arc::clone(&level);
        let write = async move {
            while let Some(message) = queue.recv().await {
                let bytes = size_of(&message);
                output.send(message).await?;
                sent.send_modify(|level| *level -= bytes);
            }
            Ok(())
        };
        (Self { messages, level }, write)
    }

    /// Adds a message.
    pub(in crate::proxy) fn push(&self, message: Message) {
        self.level.send_modify(|level| *level += size_of(&message));
        // After an error of the connection nothing is sent.
        _ = self.messages.send(message);
    }

    /// Returns whether nothing more is to be read for it.
    pub(in crate::proxy) fn is_full(&self) -> bool {
        *self.level.borrow() > FULL_BYTES
    }

    /// Resolves when it has room; at once if it has some.
    pub(in crate::proxy) fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut level = self.level.subscribe();
        async move {
            // An outbox that has ended needs no room.
            _ = level.wait_for(|level| *level <= FULL_BYTES).await;
        }
    }
}

/// Bytes of a message, with those of its frame.
fn size_of(message: &Message) -> usize {
    message.len() + 8
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};

    use super::*;

    #[tokio::test]
    async fn a_side_that_does_not_read_fills_its_outbox() {
        let (output, mut input) = futures::channel::mpsc::channel(0);
        let (outbox, write) = Outbox::new(output.sink_map_err(|_| Error::ConnectionClosed));
        let write = tokio::spawn(write);
        let long = Message::text("x".repeat(FULL_BYTES));
        outbox.push(long.clone());
        assert!(outbox.is_full() && outbox.room().now_or_never().is_none());
        outbox.push(Message::text("last"));
        assert_eq!(input.next().await, Some(long));
        outbox.room().await;
        assert_eq!(input.next().await, Some(Message::text("last")));
        drop(outbox);
        assert!(write.await.unwrap().is_ok());
    }
}
