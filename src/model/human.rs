//! The model `human`: a person reads exactly what would be sent and types the reply.

use std::fmt::Write as _;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::{Call, ErrorClass, Finish, Model, ModelError, Reply, Request};
use crate::event::ModelRecord;
use crate::port::{Human, Question};

/// A person as a model.
pub struct HumanModel {
    person: Arc<dyn Human>,
}

impl HumanModel {
    /// Asks this person.
    pub fn new(person: Arc<dyn Human>) -> Self {
        Self { person }
    }
}

impl Model for HumanModel {
    fn info(&self) -> ModelRecord {
        ModelRecord { alias: "human".into(), provider: "human".into(), id: "human".into(), price: None }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let question = Question { address: request.address.clone(), text: everything(request) };
            let answer = self.person.ask(&question, &call.cancel).await;
            if call.cancel.is_cancelled() {
                return Err(ModelError::cancelled());
            }
            let text = answer.ok_or_else(|| {
                ModelError::new(ErrorClass::Waiting, "the model is a person and nobody is there to answer")
                    .hint("run it in a terminal, open the workbench, or give the replies on standard input")
            })?;
            call.text(1, text.clone()).await;
            Ok(Reply { finish: Some(Finish::Stop), ..Reply::from(text) })
        })
    }
}

/// The whole request as a person reads it.
fn everything(request: &Request) -> String {
    let mut text = String::new();
    if let Some(system) = &request.system {
        _ = writeln!(text, "[system]\n{}", system.trim_end());
    }
    for message in &request.messages {
        _ = writeln!(text, "[{}]\n{}", message.role.name(), message.joined().trim_end());
    }
    if let Some(schema) = &request.schema {
        _ = writeln!(text, "[schema]\n{}", schema.to_text());
    }
    text
}
