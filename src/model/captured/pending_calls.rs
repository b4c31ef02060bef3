//! Tool calls whose results have not come.
//!
//! In: calls and results, in the order of a conversation. Out: the call of each result. Results name their call by its id; where a protocol has
//! none, they come in the order of the calls, and may name the tool.

use crate::event::NativeCall;

/// Tool calls whose results have not come, oldest first, each with a value.
#[derive(Debug)]
pub struct PendingCalls<T>(Vec<PendingCall<T>>);

#[derive(Debug)]
struct PendingCall<T> {
    id: String,
    tool: String,
    value: T,
}

impl<T> Default for PendingCalls<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> PendingCalls<T> {
    /// Adds a call.
    pub fn push(&mut self, call: &NativeCall, value: T) {
        self.0.push(PendingCall { id: call.id.clone(), tool: call.name.clone(), value });
    }

    /// Removes the call of a result; returns its tool and its value. Without an id it is the next call, or the next one of the named tool.
    pub fn take(&mut self, id: &str, tool: &str) -> Option<(String, T)> {
        let is_of = |call: &PendingCall<T>| match id {
            "" => tool.is_empty() || call.tool == tool,
            _ => call.id == id,
        };
        let place = self.0.iter().position(is_of)?;
        let PendingCall { tool, value, .. } = self.0.remove(place);
        Some((tool, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_without_an_id_are_for_the_next_call_or_the_next_one_of_their_tool() {
        let calls = || {
            let mut calls = PendingCalls::default();
            for (number, (id, name)) in [("", "a"), ("", "b"), ("c3", "a"), ("", "b")].into_iter().enumerate() {
                let call = NativeCall { id: id.to_owned(), name: name.to_owned(), args: String::new() };
                calls.push(&call, number);
            }
            calls
        };
        let taken = |results: &[(&str, &str)]| -> Vec<Option<usize>> {
            let mut calls = calls();
            results.iter().map(|(id, tool)| calls.take(id, tool).map(|(_, number)| number)).collect()
        };
        assert_eq!(
            taken(&[("", ""), ("", ""), ("", ""), ("", ""), ("", "")]),
            [Some(0), Some(1), Some(2), Some(3), None]
        );
        assert_eq!(taken(&[("", "b"), ("", "a"), ("", "b"), ("", "b")]), [Some(1), Some(0), Some(3), None]);
        assert_eq!(taken(&[("c3", "b"), ("c3", ""), ("c9", "a"), ("", "")]), [Some(2), None, None, Some(0)]);
        assert_eq!(calls().take("", "").map(|(tool, _)| tool).as_deref(), Some("a"));
    }
}
