//! The tools of a live run without external effects.

use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::value::Value;

use super::{Failure, Invocation, Kind, Tools, snippet};

/// Calls tools without external effects.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveTools;

impl Tools for LiveTools {
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            match &call.tool.kind {
                Kind::Table(table) => {
                    if table.delay_ms > 0 {
                        tokio::select! {
                            () = tokio::time::sleep(Duration::from_millis(table.delay_ms)) => {}
                            () = call.cancel.cancelled() => return Err(Failure::Cancelled),
                        }
                    }
                    table.answer(call.args)
                }
                Kind::Snippet(code) => snippet::run(code, call.args.clone(), call).await,
                Kind::Builtin(builtin) => builtin.answer(call).await,
                Kind::Closure(Some(closure)) => {
                    let (closure, args) = (closure.clone(), call.args.clone());
                    let task = tokio::task::spawn_blocking(move || closure(&args));
                    tokio::select! {
                        answer = task => match answer {
                            Ok(answer) => answer.map_err(Failure::from_message),
                            Err(_) => Err(Failure::from_message("the tool broke off")),
                        },
                        () = call.cancel.cancelled() => Err(Failure::Cancelled),
                    }
                }
                Kind::Command(_) | Kind::Http(_) | Kind::Mcp(_) => {
                    let name = &call.tool.name;
                    Err(Failure::from_message(format!(
                        "the tool {name} starts a process or leaves the machine; this run has no way out"
                    )))
                }
                Kind::Closure(None) | Kind::Agent(_) | Kind::SelfAgent | Kind::Llm(_) => {
                    Err(Failure::from_message(format!("the tool {} cannot be called here", call.tool.name)))
                }
            }
        })
    }
}
