//! A model that makes the same call again and again.
//!
//! In: the calls of a run in order. Out: what to say about one that was made too often in a row with the same arguments (limit `same_calls`).

use ptc_core::reasons::Reason;
use ptc_core::signature::underscored;
use ptc_core::value::Json;

use super::Halt;
use super::call::canonical;
use super::cycle::Cycle;
use crate::event::Address;
use crate::model::Reply;

/// Fewest calls that are a row.
const FEWEST: u32 = 2;

/// The last call of a run, and how often it was made in a row.
#[derive(Default)]
pub(super) struct Repeats {
    last: Option<(String, u32)>,
}

impl Repeats {
    /// Takes the next call; what to say when it was made too often: `limit` times, 0 = any number is allowed.
    fn take(&mut self, limit: u32, name: &str, args: &Json) -> Option<String> {
        let call = format!("{} {}", underscored(name), canonical(args).to_text());
        let times = match self.last.take() {
            Some((last, times)) if last == call => times.saturating_add(1),
            _ => 1,
        };
        self.last = Some((call, times));
        let is_loop = limit > 0 && times >= limit.max(FEWEST);
        is_loop.then(|| format!("the tool {name} was called {times} times in a row with the same arguments"))
    }

    /// The same; the run ends with a call that was made too often.
    pub(super) async fn note(
        &mut self,
        cycle: &mut Cycle<'_>,
        (at, reply): (&Address, &Reply),
        name: &str,
        args: &Json,
    ) -> Result<(), Halt> {
        match self.take(cycle.plan.settings.same_calls, name, args) {
            None => Ok(()),
            Some(message) => Err(looped(cycle, at, reply, message).await?),
        }
    }
}

/// Ends the turn of a model that repeats itself; how the run ends.
pub(super) async fn looped(cycle: &mut Cycle<'_>, at: &Address, reply: &Reply, message: String) -> Result<Halt, Halt> {
    cycle.end_turn(at, reply.usage, Some(Reason::LoopDetected.name())).await?;
    Ok(Halt::fail(Reason::LoopDetected, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_core::value::json;

    fn told(limit: u32, calls: &[(&str, &str)]) -> Vec<bool> {
        let mut repeats = Repeats::default();
        calls.iter().map(|(name, args)| repeats.take(limit, name, &json::parse(args).unwrap()).is_some()).collect()
    }

    #[test]
    fn only_equal_calls_in_a_row_are_a_loop() {
        let same =
            [("look-up", r#"{"a":1,"b":2}"#), ("look_up", r#"{"b":2.0,"a":1}"#), ("look_up", r#"{"a":1,"b":2}"#)];
        assert_eq!(told(3, &same), [false, false, true], "names and numbers are written in several ways");
        let between = [same[0], ("look_up", "{}"), same[1], same[2]];
        assert_eq!(told(3, &between), [false; 4]);
        assert_eq!(told(0, &[same[0]; 9]), [false; 9], "0 is off");
        assert_eq!(told(1, &same[..2]), [false, true], "one call is no row");
    }
}
