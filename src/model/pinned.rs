//! The model of a pinned program: answers every request with that program.

use futures::future::BoxFuture;

use super::{Call, Finish, Model, ModelError, Reply, Request};
use crate::event::ModelRecord;

/// A program in the place of a model.
pub struct Pinned {
    program: String,
}

impl Pinned {
    /// The name of the model in sessions.
    pub const NAME: &str = "pinned";

    /// Answers with this program.
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into() }
    }
}

impl Model for Pinned {
    fn info(&self) -> ModelRecord {
        let name = || Self::NAME.to_owned();
        ModelRecord { alias: name(), provider: name(), id: name(), price: None }
    }

    fn answer<'a>(&'a self, _: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let text = format!("```clojure\n{}\n```", self.program.trim_end());
            call.text(1, text.clone()).await;
            Ok(Reply { finish: Some(Finish::Stop), ..Reply::from(text) })
        })
    }
}
