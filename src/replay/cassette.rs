//! Cassettes: a recorded run answers for the agent as it is defined now.
//!
//! In: a session with one root run, a definition. Out: a recording whose replay runs that definition in the recorded mode, on the recorded
//! inputs, with the recorded replies and results. It must never change the session.

use ptc_core::value::Json;

use super::{Ignored, Recording, Rules};
use crate::agent::{Agent, Mode, Tool};
use crate::config::options_over;
use crate::event::{Address, AgentRecord, Envelope, Event, RunStart, hex_sha};
use crate::session::Session;

/// The only root run of a session, which has ended and stands on its own; or why there is no such run.
pub fn only_run(session: &Session) -> Result<(Address, RunStart), String> {
    let recording = Recording::of(session)?;
    let id = &session.header.id;
    let run = match recording.runs().as_slice() {
        [run] => run.clone(),
        runs => return Err(format!("{id} holds {} runs; a cassette plays one", runs.len())),
    };
    if !recording.is_complete(&run) {
        return Err(format!("{id} has not ended; `resume` goes on with it"));
    }
    let start = recording.run_start(&run).cloned().ok_or_else(|| format!("{id}: its run.start is missing"))?;
    match &start.continues {
        Some(earlier) => Err(format!("{id} continues {earlier}; a cassette plays a run that stands on its own")),
        None => Ok((run, start)),
    }
}

/// The recording of a session with this definition in the place of its own.
///
/// Errors: the session cannot be a cassette, or the agent cannot be in the recorded mode.
pub fn with_agent(session: &Session, agent: &Agent) -> Result<Recording, String> {
    let (run, start) = only_run(session)?;
    let toml = as_recorded(agent, &start)?.to_toml();
    let record = AgentRecord { name: agent.name.clone(), sha: hex_sha(toml.as_bytes()), toml };
    let events = session.events().map(|envelope| match envelope.event {
        Event::RunStart(start) if envelope.address == run => {
            Envelope { event: RunStart { agent: record.clone(), ..start }.into(), ..envelope }
        }
        event => Envelope { event, ..envelope },
    });
    Ok(Recording::of_events(events))
}

/// The rules by which a cassette is replayed: strict; or lenient, where the messages, what else a request says, and their sizes may differ, and
/// everything that comes of the replies may not.
pub fn rules(lenient: bool) -> Rules {
    let sent: &[&str] = if lenient { &["prompt", "request", "feedback", "step:usage"] } else { &[] };
    Rules { ignored: sent.iter().filter_map(|part| Ignored::parse(part).ok()).collect(), ..Rules::strict() }
}

/// The agent in the recorded mode, with what the command line and the configured model added when it was recorded.
fn as_recorded(agent: &Agent, start: &RunStart) -> Result<Agent, String> {
    let mode = Mode::from_name(&start.mode).ok_or_else(|| format!("the recorded mode {:?} is unknown", start.mode))?;
    let recorded = Agent::recorded(&start.agent.toml).map_err(|error| error.to_string())?;
    let now = agent.for_mode(mode).map_err(|found| {
        let said: Vec<_> = found.iter().map(|found| found.message.as_str()).collect();
        format!("the agent cannot run in the recorded mode {mode}: {}", said.join("; "))
    })?;
    Ok(Agent {
        model_options: options_over(&now.model_options, &recorded.model_options),
        cache: now.cache || recorded.cache,
        tools: now.tools.iter().map(|tool| as_listed(tool, &recorded)).collect(),
        ..now
    })
}

/// A tool of a server with what was known of the server when it was recorded, where the definition says nothing itself.
fn as_listed(tool: &Tool, recorded: &Agent) -> Tool {
    let is_of_server = |tool: &&Tool| tool.definition.get("kind").and_then(Json::as_str) == Some("mcp");
    let same = recorded.tools.iter().find(|known| known.name == tool.name).filter(is_of_server);
    let (Some(same), true) = (same, is_of_server(&tool)) else { return tool.clone() };
    let known = same.definition.members().unwrap_or_default().iter();
    let new = known.filter(|member| tool.definition.get(&member.key).is_none());
    let definition = new.fold(tool.definition.clone(), |table, member| table.with(&member.key, member.value.clone()));
    Tool { name: tool.name.clone(), definition }
}
