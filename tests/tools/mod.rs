//! Tools that start processes or leave the machine, through the real program: agents with pinned programs call them, so that no model is
//! needed. Servers of faults are small shell scripts.
#![cfg(unix)]

mod command;
mod consent;
mod http;
mod mcp;
mod mcp_features;
mod mcp_http;
mod mcp_images;
mod mcp_login;
mod mcp_questions;
mod mcp_resources;
mod mcp_sampling;
pub(crate) mod others;
mod secrets;
mod servers;
mod unknown;

use crate::cli::program::{Done, Program};

/// An agent in mode `ptc_lisp` that runs this program with these tools.
fn agent(code: &str, tools: &str) -> String {
    format!("name = \"a\"\nmode = \"ptc_lisp\"\nprompt = \"go\"\nmax_turns = 1\nprogram = '''\n{code}\n'''\n{tools}")
}

/// Runs the program with these tools, all of them allowed.
fn allowed(program: &Program, code: &str, tools: &str) -> Done {
    program.file("a.toml", agent(code, tools));
    program.run(["run", "a.toml", "--allow-tools", "--json"])
}

/// Writes a script that `/bin/sh` runs, and returns what a definition needs to start it.
fn script(program: &Program, name: &str, text: &str) -> String {
    program.file(name, text);
    format!("[\"/bin/sh\", {:?}]", program.dir().join(name).display().to_string())
}
