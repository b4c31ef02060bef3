//! Cassettes: a recorded run answers for the current definition of its agent.
//!
//! In: a session with one root run, and a definition. Out: a recording whose replay runs that definition in the
//! recorded mode, with the recorded inputs, replies and results. It must never change the session.

use ptc_core::value::Json;

use super::{IgnoreRule, Recording, Rules};
use crate::agent::{Agent, Mode, Tool};
use crate::config::options_over;
use crate::event::{Address, AgentRecord, Envelope, Event, RunStart, hex_sha};
use crate::session::Session;

/// Returns the only root run of a session. Fails unless it has ended and continues no other run.
pub fn only_run(session: &Session) -> Result<(Address, RunStart), String> {
    let recording = Recording::of(session)?;
    let id = &session.header.id;
    let run = match recording.runs().as_slice() {
        [run] => run.clone(),
        runs => return Err(format!("{id} contains {} runs; a cassette replays exactly one", runs.len())),
    };
    if !recording.is_complete(&run) {
        return Err(format!("{id} has not ended; continue it with `resume`"));
    }
    let start = recording.run_start(&run).cloned().ok_or_else(|| format!("{id}: its run.start is missing"))?;
    match &start.continues {
        Some(earlier) => Err(format!("{id} continues {earlier}; a cassette replays a run that continues no other")),
        None => Ok((run, start)),
    }
}

/// Returns the recording of a session with its agent definition replaced.
///
/// Errors: the session is not usable as a cassette, or the agent does not support the recorded mode.
pub fn with_agent(session: &Session, agent: &Agent) -> Result<Recording, String> {
    let (run, start) = only_run(session)?;
    let toml = in_recorded_mode(agent, &start)?.to_toml();
    let record = AgentRecord { name: agent.name.clone(), sha: hex_sha(toml.as_bytes()), toml };
    let events = session.events().map(|envelope| match envelope.event {
        Event::RunStart(start) if envelope.address == run => {
            Envelope { event: RunStart { agent: record.clone(), ..start }.into(), ..envelope }
        }
        event => Envelope { event, ..envelope },
    });
    Ok(Recording::of_events(events))
}

/// Parts of inputs that belong to the recorded definition: that of child agents is part of the replaced one.
const OF_DEFINITION: [&str; 4] = ["input:agent", "input:limits", "input:mode", "input:remaining"];

/// Returns the rules for replaying a cassette: strict, or lenient, which ignores differences in messages, requests and
/// usage but not in anything computed from the replies.
pub fn rules(lenient: bool) -> Rules {
    let sent: &[&str] = if lenient { &["prompt", "request", "feedback", "step:usage"] } else { &[] };
    let ignored = sent.iter().chain(&OF_DEFINITION);
    Rules { ignored: ignored.filter_map(|part| IgnoreRule::parse(part).ok()).collect(), ..Rules::strict() }
}

/// Returns the agent in the recorded mode, with the recorded options of command line and model configuration.
fn in_recorded_mode(agent: &Agent, start: &RunStart) -> Result<Agent, String> {
    let mode = Mode::from_name(&start.mode).ok_or_else(|| format!("the recorded mode {:?} is unknown", start.mode))?;
    let recorded = Agent::recorded(&start.agent.toml).map_err(|error| error.to_string())?;
    let now = agent.for_mode(mode).map_err(|found| {
        let messages: Vec<_> = found.iter().map(|found| found.message.as_str()).collect();
        format!("the agent cannot run in the recorded mode {mode}: {}", messages.join("; "))
    })?;
    // As it was answered: once by its pinned program, or by a model in its place.
    let now = if recorded.program().is_some() { now.once() } else { now.without_program() };
    Ok(Agent {
        model_options: options_over(&now.model_options, &recorded.model_options),
        cache: now.cache || recorded.cache,
        tools: now.tools.iter().map(|tool| with_recorded_listing(tool, &recorded)).collect(),
        ..now
    })
}

/// Returns an MCP tool with the listed properties of the recording, where the definition does not set them itself.
fn with_recorded_listing(tool: &Tool, recorded: &Agent) -> Tool {
    let is_of_server = |tool: &&Tool| tool.definition.get("kind").and_then(Json::as_str) == Some("mcp");
    let same = recorded.tools.iter().find(|known| known.name == tool.name).filter(is_of_server);
    let (Some(same), true) = (same, is_of_server(&tool)) else { return tool.clone() };
    let known = same.definition.members().unwrap_or_default().iter();
    let new = known.filter(|member| tool.definition.get(&member.key).is_none());
    let definition = new.fold(tool.definition.clone(), |table, member| table.with(&member.key, member.value.clone()));
    Tool { name: tool.name.clone(), definition }
}
