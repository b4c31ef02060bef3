//! Calling tools: which arguments they get (language contract §11) and what is recorded.

use super::Machine;
use crate::lisp::{Call, CallAddress, Error, Failure, Halt, R, described};
use crate::limits::JSON_DEPTH;
use crate::reasons::Reason;
use crate::value::{Map, Value};

impl Machine<'_> {
    /// Calls a tool with one map of arguments and records the call.
    pub(crate) fn call_tool(&mut self, tool: &str, args: Value) -> R {
        let Value::Map(map) = &args else {
            return Err(bad_args(tool, &format!("got {}", described(&args))));
        };
        let args = self.converted_map(tool, map, 0)?;
        if !self.world.shared.begin_call(self.limits().tool_calls) {
            let limit = self.limits().tool_calls.unwrap_or_default();
            return Error::new(Reason::ToolCallLimitExceeded, format!("a program may call tools {limit} times"))
                .within(format!("tool/{tool}"))
                .halt();
        }
        let at = CallAddress { branches: self.branches.clone(), call: self.made };
        self.made += 1;
        let answer = self.world.host.call(&at, tool, &args);
        let record = |result| self.calls.push(Call { at, tool: tool.to_owned(), args, result });
        match answer {
            Ok(value) => {
                record(Ok(value.clone()));
                Ok(value)
            }
            Err(Failure::Tool(words)) => {
                record(Err(words.clone()));
                Error::new(Reason::ToolError, format!("the tool failed: {words}")).within(format!("tool/{tool}")).halt()
            }
            Err(Failure::Stopped(error)) => error.halt(),
        }
    }

    /// A value as a tool gets it.
    fn converted(&mut self, tool: &str, value: &Value, depth: u64) -> R {
        self.tick()?;
        if depth > JSON_DEPTH.max {
            return Err(bad_args(tool, &format!("the arguments are nested deeper than {} levels", JSON_DEPTH.max)));
        }
        let all = |machine: &mut Self, items: &[Value]| {
            let items: R<Vec<Value>> = items.iter().map(|item| machine.converted(tool, item, depth + 1)).collect();
            items.map(Value::from)
        };
        Ok(match value {
            Value::Keyword(word) => Value::str(word.name()),
            Value::List(items) => all(self, items)?,
            Value::Set(members) => all(self, members)?,
            Value::Map(map) => self.converted_map(tool, map, depth + 1)?,
            Value::Instant(at) => Value::from(at.to_string()),
            Value::Date(day) => Value::from(day.to_string()),
            Value::Duration(span) => Value::Int(span.0),
            Value::Function(_) | Value::Pattern(_) | Value::Var(_) | Value::Symbol(_) => {
                return Err(bad_args(tool, &format!("{} cannot be passed to a tool", described(value))));
            }
            other => other.clone(),
        })
    }

    fn converted_map(&mut self, tool: &str, map: &Map, depth: u64) -> R {
        let mut taken = Map::default();
        // String keys win against keywords that become the same: they come last in the order of keys.
        for (key, value) in map {
            let name = match key {
                Value::Str(name) => name.replace('-', "_"),
                Value::Keyword(word) => word.name().replace('-', "_"),
                other => other.to_string(),
            };
            let value = self.converted(tool, value, depth)?;
            if taken.insert(Value::from(name.as_str()), value).is_some() {
                self.warnings.push(format!("tool/{tool}: two arguments are named `{name}`; one of them was dropped"));
            }
        }
        Ok(Value::from(taken))
    }
}

/// The arguments of a tool that is called as a function value.
pub(super) fn gather(tool: &str, args: &mut [Value]) -> R {
    match args {
        [] => Ok(Value::from(Map::default())),
        [named @ Value::Map(_)] => Ok(std::mem::take(named)),
        [Value::Keyword(_), _, ..] if args.len() % 2 == 0 => {
            let mut named = Map::default();
            for pair in args.chunks_exact_mut(2) {
                match pair {
                    [key @ Value::Keyword(_), value] => {
                        named.insert(std::mem::take(key), std::mem::take(value));
                    }
                    _ => return Err(bad_args(tool, "names and values must take turns")),
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
