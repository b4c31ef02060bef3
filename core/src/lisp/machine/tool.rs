//! Tool calls: their arguments and their records.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Machine;
use crate::lisp::boundary::tool_args;
use crate::lisp::{Call, CallAddress, Error, EvalResult, Failure, Halt, described};
use crate::reasons::Reason;
use crate::value::{Map, Value};

impl Machine<'_> {
    /// Calls a tool with one map of arguments and records the call.
    pub(crate) fn call_tool(&mut self, tool: &str, args: &Value) -> EvalResult {
        self.ask_tool(tool, args)?.map_or_else(
            |words| {
                let problem = format!("the tool failed: {words}");
                Error::new(Reason::ToolError, problem).within(format!("tool/{tool}")).halt()
            },
            Ok,
        )
    }

    /// Like `call_tool`, but returns the outcome as a value: `{:ok value}`, or `{:error {:tool name :message text}}`. An
    /// invalid call is still an error.
    pub(crate) fn try_tool(&mut self, tool: &str, args: &Value) -> EvalResult {
        Ok(match self.ask_tool(tool, args)? {
            Ok(value) => Value::map([(Value::keyword("ok"), value)]),
            Err(words) => {
                let fields = [("tool", tool), ("message", &words)];
                let fields = fields.map(|(key, text)| (Value::keyword(key), Value::str(text)));
                Value::map([(Value::keyword("error"), Value::map(fields))])
            }
        })
    }

    /// The result of a tool, or its error text.
    fn ask_tool(&mut self, tool: &str, args: &Value) -> EvalResult<Result<Value, String>> {
        let args = &self.leaving(args.clone()).map_err(|halt| named(halt, tool))?;
        self.check_size(args).map_err(|halt| named(halt, tool))?;
        let (args, warnings) = tool_args(self, args).map_err(|halt| named(halt, tool))?;
        if let Some(warning) = warnings.first().filter(|_| !self.world.exact_keys) {
            let error = Error::new(Reason::InvalidToolArgs, warning.clone()).within(format!("tool/{tool}"));
            return Err(error.into());
        }
        self.warnings.extend(warnings.into_iter().map(|warning| format!("tool/{tool}: {warning}")));
        if !self.world.shared.begin_call(self.limits().tool_calls) {
            let limit = self.limits().tool_calls.unwrap_or_default();
            let error =
                Error::new(Reason::ToolCallLimitExceeded, format!("a program may make at most {limit} tool calls"))
                    .hint("Call fewer tools, or return and continue in the next program")
                    .within(format!("tool/{tool}"));
            return Err(error.into());
        }
        let at = CallAddress { branches: self.branches.clone(), call: self.made };
        self.made += 1;
        let host = self.world.host;
        let answer = catch_unwind(AssertUnwindSafe(|| host.call(&at, tool, &args)))
            .unwrap_or_else(|_| Err(Failure::Tool("it panicked".to_owned())));
        let record = |result| self.calls.push(Call { at, tool: tool.to_owned(), args, result });
        let answer = match answer {
            Ok(value) => Ok(value),
            Err(Failure::Tool(words)) => Err(words),
            Err(Failure::Stopped(error)) => return Err(Halt::Error(error).into()),
        };
        record(answer.clone());
        Ok(answer)
    }
}

/// The arguments of a tool called as a function value.
pub(super) fn gather(tool: &str, args: &mut [Value]) -> EvalResult {
    match args {
        [] => Ok(Value::from(Map::default())),
        [named @ Value::Map(_)] => Ok(std::mem::take(named)),
        [Value::Keyword(_), _, ..] if args.len().is_multiple_of(2) => {
            let mut named = Map::default();
            for pair in args.chunks_exact_mut(2) {
                match pair {
                    [key @ Value::Keyword(_), value] => {
                        named.insert(std::mem::take(key), std::mem::take(value));
                    }
                    _ => return Err(bad_args(tool, "names and values must alternate")),
                }
            }
            Ok(Value::from(named))
        }
        [other] => Err(bad_args(tool, &format!("got {}", described(other)))),
        _ => Err(bad_args(tool, &format!("got {} values", args.len()))),
    }
}

#[cold]
fn bad_args(tool: &str, problem: &str) -> Box<Halt> {
    Error::new(Reason::InvalidToolArgs, format!("takes one map of named arguments: {problem}"))
        .within(format!("tool/{tool}"))
        .hint(format!("Write (tool/{tool} {{:name value}})"))
        .into()
}

#[cold]
fn named(mut halt: Box<Halt>, tool: &str) -> Box<Halt> {
    if let Halt::Error(error) = &mut *halt {
        error.op.get_or_insert_with(|| format!("tool/{tool}").into());
        if error.reason == Reason::InvalidToolArgs {
            error.hint.get_or_insert_with(|| format!("Write (tool/{tool} {{:name value}})"));
        }
    }
    halt
}
