//! The one user message of a coalesced history: mission and inventories as at the start, then what was done so far.

use ptc_core::lisp::Memory;

use super::feedback::{Standing, turn_line};
use super::inventory;
use crate::agent::Plan;
use crate::event::MessagePart;
use crate::prompt::{data, ours, tagged};

/// What was done so far.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Tool calls: tool and arguments.
    pub calls: &'a [(String, String)],
    /// Printed lines.
    pub prints: &'a [String],
    /// The last program and its error, when it failed.
    pub failed: Option<(&'a str, &'a str)>,
    /// Definitions.
    pub memory: &'a Memory,
    /// Finished items of the plan.
    pub summaries: &'a [(String, String)],
    /// The agent's own account of its progress.
    pub progress: Option<&'a str>,
}

/// The message. `opening`: the parts of the first user message.
pub fn coalesced(plan: &Plan, opening: &[MessagePart], shown: &Shown<'_>, standing: Standing) -> Vec<MessagePart> {
    let is_fixed = |part: &&MessagePart| match part {
        MessagePart::Text { section, .. } => !matches!(section.as_str(), "turns" | "plan" | "memory"),
        MessagePart::File { .. } => true,
        MessagePart::Reply { .. } | MessagePart::Call { .. } | MessagePart::Result { .. } => false,
    };
    let mut parts: Vec<MessagePart> = opening.iter().filter(is_fixed).cloned().collect();
    parts.extend(inventory::memory(plan, shown.memory));
    if !shown.calls.is_empty() {
        let lines: Vec<String> = shown.calls.iter().map(|(tool, args)| format!("(tool/{tool} {args})")).collect();
        parts.push(ours("calls", "\n# Tool calls so far\n\n"));
        parts.push(data("calls", tagged("calls", &lines.join("\n"))));
    }
    if !shown.prints.is_empty() {
        parts.push(ours("prints", "\n# Printed so far\n\n"));
        parts.push(data("prints", tagged("println", &shown.prints.join("\n"))));
    }
    if let Some((program, wrong)) = shown.failed {
        parts.push(ours("error", "\n# The last program failed\n\n"));
        parts.push(data("error", format!("```clojure\n{program}\n```\n")));
        parts.push(data("error", tagged("error", wrong)));
    }
    parts.extend(super::progress(plan, shown.summaries, shown.progress));
    parts.push(ours("turns", turn_line(plan, standing)));
    parts
}
