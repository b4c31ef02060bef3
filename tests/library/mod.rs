//! Library use: examples of each mode, of delegated tasks and of pipelines, and a table of the tested behaviours.
//!
//! Each file contains the examples of one area; [`strategies`] names the test of each behaviour.

mod children;
mod core;
mod examples;
mod files;
mod json_loop;
mod json_mode;
mod modes;
mod offers;
mod reasons;
mod strategies;
mod text_mode;

use std::sync::{Arc, Mutex};

use ptc_core::value::Value;
use ptc_workbench::Run;
use ptc_workbench::agent::Step;
use ptc_workbench::event::Envelope;
use ptc_workbench::model::{Model, Reply, Request};

use crate::engine::{parsed, recorded_replies};

/// A reply with one program.
fn p(program: &str) -> Reply {
    format!("```clojure\n{program}\n```").into()
}

/// A model that gives these replies in turn, and the requests it got.
fn scripted<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> (Arc<dyn Model>, Arc<Mutex<Vec<Request>>>) {
    let (model, requests) = recorded_replies(replies.into_iter().map(Into::into).collect());
    (Arc::new(model), requests)
}

/// A run whose events are kept.
fn kept(run: Run) -> (Run, Arc<Mutex<Vec<Envelope>>>) {
    let events: Arc<Mutex<Vec<Envelope>>> = Arc::default();
    let sink = Arc::clone(&events);
    (run.on_event(move |envelope: &Envelope| sink.lock().unwrap().push(envelope.clone())), events)
}

/// The answer as compact JSON, or the reason of the failure.
fn outcome(step: &Step) -> String {
    match (&step.answer, &step.fail) {
        (Some(answer), None) => answer.to_text(),
        (_, Some(fail)) => fail.reason.clone(),
        (None, None) => "neither".to_owned(),
    }
}

/// The last message of a request.
fn last(request: &Request) -> String {
    request.messages.last().map(|message| message.joined()).unwrap_or_default()
}

/// A whole number among the arguments of a tool.
fn int(args: &Value, name: &str) -> i64 {
    match args.lookup(name) {
        Some(Value::Int(int)) => *int,
        _ => 0,
    }
}

/// A value written as JSON.
fn value(text: &str) -> Value {
    parsed(text).to_value()
}
