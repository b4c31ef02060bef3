//! Agents and sessions for other programs: `serve` answers over HTTP (`http`), `mcp` over stdio (`mcp`).
//!
//! In: a workbench, the agents to serve. Out: replies to requests, and a session of each run. It must never run a tool that its
//! owner did not allow, and never read a file that a request names.

mod agents;
pub mod http;
pub mod mcp;
mod metrics;
mod runs;

use ptc_core::value::{Json, json};

pub use agents::ServedAgent;
pub use runs::{ActiveRun, RunOptions, RunProgress, RunRefusal, Runs};

/// JSON of a client in the core's form. Errors: it is nested too deeply, or a number is too long.
fn core_json(value: &serde_json::Value) -> Result<Json, String> {
    json::parse(&value.to_string()).map_err(|error| error.message)
}
