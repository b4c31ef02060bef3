//! The desk: where questions to a person wait until an interface takes and answers them.

use futures::future::BoxFuture;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::port::{Human, Question};

/// A question and the way its answer goes back. Dropping it means that nobody answers.
#[derive(Debug)]
pub struct Asked {
    /// What is asked.
    pub question: Question,
    /// Takes the answer.
    pub answer: oneshot::Sender<String>,
}

/// A person behind an interface.
#[derive(Debug)]
pub struct Desk {
    sender: mpsc::UnboundedSender<Asked>,
    questions: Mutex<mpsc::UnboundedReceiver<Asked>>,
}

impl Default for Desk {
    fn default() -> Self {
        let (sender, questions) = mpsc::unbounded_channel();
        Self { sender, questions: Mutex::new(questions) }
    }
}

impl Desk {
    /// The next question; waits until there is one.
    pub async fn next(&self) -> Option<Asked> {
        self.questions.lock().await.recv().await
    }
}

impl Human for Desk {
    fn ask<'a>(&'a self, question: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.sender.send(Asked { question: question.clone(), answer }).ok()?;
            tokio::select! {
                answer = answered => answer.ok(),
                () = cancel.cancelled() => None,
            }
        })
    }
}
