//! A background run and its event stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::Stream;
use ptc_core::reasons::Reason;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use super::Run;
use crate::agent::Step;
use crate::event::{Envelope, ErrorRecord};
use crate::port::Stop;

/// The events of a background run, in order and complete.
pub struct EventStream {
    queue: UnboundedReceiver<Envelope>,
    task: JoinHandle<Step>,
    stop: Stop,
}

impl Run {
    /// Starts the run on the current runtime.
    pub fn stream(self) -> EventStream {
        let (sender, queue) = unbounded_channel();
        let stop = self.ports.stop.clone();
        // Dropping the receiver does not stop the run.
        let run = self.listening(Arc::new(move |envelope: &Envelope| drop(sender.send(envelope.clone()))));
        EventStream { queue, task: tokio::spawn(run.into_future()), stop }
    }
}

impl EventStream {
    /// Returns the next event; `None` when the run has ended.
    pub async fn next(&mut self) -> Option<Envelope> {
        self.queue.recv().await
    }

    /// Returns the handle that stops the run.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Waits for the end of the run and returns its result.
    pub async fn step(self) -> Step {
        match self.task.await {
            Ok(step) => step,
            Err(error) => {
                let fail = Some(ErrorRecord::new(Reason::InternalError, error.to_string()));
                Step { fail, ..Step::default() }
            }
        }
    }
}

impl Stream for EventStream {
    type Item = Envelope;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Envelope>> {
        self.queue.poll_recv(context)
    }
}
