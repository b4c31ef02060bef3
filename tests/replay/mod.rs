//! Replay: the same engine on recorded inputs. What differs is found, named by turn and layer, and nothing is changed.

mod adopt;
mod below;
mod edited;
mod examples;
mod fork;
mod http;
mod layers;
mod lost;
mod mutations;
mod rerun;
mod rules;

use std::path::{Path, PathBuf};

use ptc_workbench::event::hex_sha;
use serde_json::Value;

use crate::cli::program::Program;

/// Writes `altered.jsonl`: the session text with the first line of this address and kind edited.
fn alter(program: &Program, text: &str, at: &str, kind: &str, edit: impl FnOnce(&mut Value)) {
    let mut edit = Some(edit);
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            if value["r"] != at || value["k"] != kind {
                return line.to_owned();
            }
            let Some(edit) = edit.take() else { return line.to_owned() };
            let before = value.clone();
            edit(&mut value["d"]);
            // The hash goes with the text of an agent.
            if let Some(toml) = value["d"]["agent"]["toml"].as_str() {
                value["d"]["agent"]["sha"] = hex_sha(toml.as_bytes()).into();
            }
            assert_ne!(before, value, "nothing was altered");
            value.to_string()
        })
        .collect();
    assert!(edit.is_none(), "no {kind} at {at}");
    program.file("altered.jsonl", lines.join("\n") + "\n");
}

/// Replaces words inside a string.
fn reword(value: &mut Value, from: &str, to: &str) {
    let text = value.as_str().unwrap();
    assert!(text.contains(from), "{from:?} is not in {text:?}");
    *value = text.replacen(from, to, 1).into();
}

/// The first line of a session.
fn header(file: &Path) -> Value {
    serde_json::from_str(std::fs::read_to_string(file).unwrap().lines().next().unwrap()).unwrap()
}

/// The newest session by the time in its header: names of one second are in no order.
fn newest_file(program: &Program) -> PathBuf {
    program.session_files().into_iter().max_by_key(|file| header(file)["created_ms"].as_i64()).unwrap()
}
