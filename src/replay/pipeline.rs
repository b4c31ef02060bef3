//! The contexts of the later steps of a pipeline: each is computed from what the run before returned.
//!
//! In: a recording, and the results of its replayed root runs. Out: the runs that are recorded with another context.

use super::Recording;
use super::compare::{Divergence, input_divergence};
use super::difference::differences;
use crate::agent::{Agent, Context, Plan, Step};
use crate::event::{Envelope, Event, JsonText, RunStart};

/// Returns the differences of the recorded contexts of later steps. `steps`: the results of the root runs, in order.
pub(super) fn context_differences(recording: &Recording, steps: &[Step]) -> Vec<Divergence> {
    let mut found = Vec::new();
    let mut later = 0;
    for (place, run) in recording.runs().iter().enumerate() {
        let Some((envelope, start)) = start_of(recording.at(run)) else { continue };
        if let Some(pipeline) = &start.pipeline {
            later = pipeline.then.len();
            continue;
        }
        // A run that continues a conversation is no step.
        if later == 0 || start.continues.is_some() {
            later = 0;
            continue;
        }
        later -= 1;
        let before = place.checked_sub(1).and_then(|place| steps.get(place));
        let Some(context) = before.and_then(|before| chained(start, before)) else { continue };
        let now = RunStart {
            context: JsonText::of(&context.json),
            context_descriptions: context.descriptions,
            ..start.clone()
        };
        let difference = differences(Some(&envelope.event), Some(&now.into()), &|_| true);
        found.extend(difference.map(|difference| input_divergence(envelope, difference)));
    }
    found
}

fn start_of(events: &[Envelope]) -> Option<(&Envelope, &RunStart)> {
    events.iter().find_map(|envelope| match &envelope.event {
        Event::RunStart(start) => Some((envelope, start)),
        _ => None,
    })
}

/// Returns the context that a step gets from the run before it; `None` when its agent cannot be used.
fn chained(start: &RunStart, before: &Step) -> Option<Context> {
    let agent = Agent::recorded(&start.agent.toml).ok()?;
    let plan = Plan::new(&agent).ok()?;
    Context::chained_onto(&plan, before).ok()
}
