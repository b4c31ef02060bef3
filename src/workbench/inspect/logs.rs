//! Log lines of tool servers, for the turn that called their tools.
//!
//! In: the latest lines of the logs, safe to display and without secrets. Out: a part for each server that logged something.

use std::path::PathBuf;

use super::{Body, Part};
use crate::agent::Agent;
use crate::event::{Address, Event};
use crate::session::Session;
use crate::workbench::Workbench;

/// Kind of the tools that a server provides.
const SERVED: &str = "mcp";

impl Workbench {
    /// Returns the logs of the servers that the agent of this turn names, if the turn called a tool of a server. A log covers all runs;
    /// each line has its time.
    pub fn server_logs_part(&self, session: &Session, turn: &Address) -> Vec<Part> {
        let skeleton = session.skeleton();
        let Some((run, entry)) = skeleton.run(&turn.run_part()).zip(skeleton.turn(turn)) else { return Vec::new() };
        let mut events = entry.events.range().filter_map(|place| session.event(place));
        if !events.any(|envelope| matches!(envelope.event, Event::ToolCall(call) if call.kind == SERVED)) {
            return Vec::new();
        }
        let start = session.event(run.events.start).and_then(|envelope| match envelope.event {
            Event::RunStart(start) => Some(start),
            _ => None,
        });
        let agent = start.and_then(|start| Agent::recorded(&start.agent.toml).ok());
        agent.map(|agent| parts(self.server_logs(&agent))).unwrap_or_default()
    }
}

fn parts(logs: Vec<(String, PathBuf, Vec<String>)>) -> Vec<Part> {
    let with_lines = logs.into_iter().filter(|(.., lines)| !lines.is_empty());
    let part = |(server, file, lines): (String, PathBuf, Vec<String>)| {
        let note = format!("the latest lines of {}", file.display());
        Part::new(format!("log of {server}"), Body::Text(lines.join("\n"))).noted(note)
    };
    with_lines.map(part).collect()
}
