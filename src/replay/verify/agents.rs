//! Checks of agents: text, hash and name of each, and the steps of a pipeline with the runs that follow.

use std::collections::BTreeMap;

use super::{Check, Finding};
use crate::agent::Agent;
use crate::event::{Address, AgentRecord, Edit, Envelope, Event, LaterStep, RunStart, hex_sha};

/// Keys of an agent's text that a server's tool list adds to when the session is resumed.
const LISTED: &str = "kind = \"mcp\"";

pub(super) fn check(events: &[Envelope]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut roots: BTreeMap<Address, (&Envelope, &RunStart)> = BTreeMap::new();
    for envelope in events {
        let Event::RunStart(start) = &envelope.event else { continue };
        let mut add = |message: String| found.push(Finding::at(envelope, Check::Agent, message));
        check_record(&start.agent, &mut add);
        for (number, later) in start.pipeline.iter().flat_map(|pipeline| &pipeline.then).enumerate() {
            check_record(&later.agent, &mut |message| add(format!("pipeline.then.{number}: {message}")));
        }
        if envelope.address.root() == envelope.address {
            roots.entry(envelope.address.clone()).or_insert((envelope, start));
        }
    }
    // A model that the user named when the session was resumed or forked replaces the recorded one.
    let names_model = events.iter().any(|envelope| match &envelope.event {
        Event::Resume(_) => true,
        Event::Edit(edit) => edit.target == Edit::MODEL,
        _ => false,
    });
    let roots: Vec<_> = roots.into_values().collect();
    for (place, (_, start)) in roots.iter().enumerate() {
        let later = start.pipeline.iter().flat_map(|pipeline| &pipeline.then);
        let following = roots.iter().skip(place + 1).take_while(|(_, next)| next.continues.is_none());
        for ((number, later), (envelope, next)) in later.enumerate().zip(following) {
            check_step(later, next, names_model, &mut |field| {
                let message = format!("{field} differs from pipeline.then.{number} of the pipeline's first run");
                found.push(Finding::at(envelope, Check::Agent, message));
            });
        }
    }
    found
}

/// Compares the text of an agent with its hash and name.
fn check_record(agent: &AgentRecord, add: &mut dyn FnMut(String)) {
    let sha = hex_sha(agent.toml.as_bytes());
    if sha != agent.sha {
        add(format!("agent.sha is {}, the hash of agent.toml is {sha}", agent.sha));
    }
    match Agent::recorded(&agent.toml) {
        Ok(read) if read.name != agent.name => {
            add(format!("agent.name is {:?}, agent.toml names {:?}", agent.name, read.name));
        }
        Ok(_) => {}
        Err(error) => add(format!("agent.toml cannot be read: {error}")),
    }
}

/// Compares a step of a pipeline with the run that was made for it.
fn check_step(later: &LaterStep, run: &RunStart, names_model: bool, differs: &mut dyn FnMut(&str)) {
    if later.agent != run.agent && !later.agent.toml.contains(LISTED) {
        differs("agent");
    }
    if later.model != run.model.alias && !names_model && !later.agent.toml.contains("program = ") {
        differs("model.alias");
    }
}
