//! Messages that wait to be sent on one side of a WebSocket.
//!
//! In: messages. Out: the same, in order, as fast as the side reads. A side that does not read must not keep the other one from being read, up
//! to a limit.

use std::sync::Arc;

use futures::{Sink, SinkExt as _};
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::tungstenite::{Error, Message};

/// The sending side of a WebSocket.
pub(in crate::proxy) struct Outbox {
    messages: mpsc::UnboundedSender<Message>,
    /// Bytes that wait.
    level: Arc<watch::Sender<usize>>,
    /// Bytes above which nothing more is read for this side.
    full_bytes: usize,
}

impl Outbox {
    /// An outbox that is full with more than these bytes, and the future that sends its messages. The future ends with an error when the connection
    /// does, and without one after the outbox was dropped; it returns its sink.
    pub(in crate::proxy) fn new<S: Sink<Message, Error = Error> + Unpin + Send>(
        mut output: S,
        full_bytes: usize,
    ) -> (Self, impl Future<Output = (S, Result<(), Error>)> + Send) {
        let (messages, mut queue) = mpsc::unbounded_channel();
        let level = Arc::new(watch::Sender::new(0));
        let sent = Arc::clone(&level);
        let write = async move {
            while let Some(message) = queue.recv().await {
                let bytes = size_of(&message);
                if let Err(error) = output.send(message).await {
                    return (output, Err(error));
                }
                sent.send_modify(|level| *level -= bytes);
            }
            (output, Ok(()))
        };
        (Self { messages, level, full_bytes }, write)
    }

    /// Adds a message.
    pub(in crate::proxy) fn push(&self, message: Message) {
        self.level.send_modify(|level| *level += size_of(&message));
        // After an error of the connection nothing is sent.
        _ = self.messages.send(message);
    }

    /// Returns whether nothing more is to be read for it.
    pub(in crate::proxy) fn is_full(&self) -> bool {
        self.has_more_than(self.full_bytes)
    }

    /// Returns whether more than these bytes wait; `false` when its side takes no messages any more.
    pub(in crate::proxy) fn has_more_than(&self, bytes: usize) -> bool {
        *self.level.borrow() > bytes && !self.messages.is_closed()
    }

    /// The number of bytes that wait, for a receiver of its changes.
    pub(in crate::proxy) fn level(&self) -> watch::Receiver<usize> {
        self.level.subscribe()
    }

    /// Resolves when some of its messages were sent, or one was added.
    pub(in crate::proxy) fn changed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut level = self.level();
        async move {
            // The sender lives as long as the outbox.
            _ = level.changed().await;
        }
    }
}

/// Bytes of a message, with those of its frame.
fn size_of(message: &Message) -> usize {
    message.len() + 8
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn a_side_that_does_not_read_fills_its_outbox() {
        let (output, mut input) = futures::channel::mpsc::channel(0);
        let (outbox, write) = Outbox::new(output.sink_map_err(|_| Error::ConnectionClosed), 100);
        let write = tokio::spawn(write);
        let long = Message::text("x".repeat(100));
        outbox.push(long.clone());
        let changed = outbox.changed();
        assert!(outbox.is_full());
        outbox.push(Message::text("last"));
        assert_eq!(input.next().await, Some(long));
        changed.await;
        assert_eq!(input.next().await, Some(Message::text("last")));
        while outbox.is_full() {
            outbox.changed().await;
        }
        drop(outbox);
        assert!(write.await.unwrap().1.is_ok());
    }

    #[tokio::test]
    async fn a_side_that_has_gone_is_never_full() {
        let (output, input) = futures::channel::mpsc::channel(0);
        let (outbox, write) = Outbox::new(output.sink_map_err(|_| Error::ConnectionClosed), 100);
        drop(input);
        outbox.push(Message::text("x".repeat(101)));
        assert!(outbox.is_full());
        assert!(write.await.1.is_err());
        assert!(!outbox.is_full());
    }
}
