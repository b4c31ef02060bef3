//! The served agents under names that every client accepts.
//!
//! In: served agents, which are named by their files. Out: the same with names of tools, and a note for each new name. It must never give
//! two tools one name.

use super::table::TOOLS;
use crate::model::{NAME_MAX_CHARS, plain_name};
use crate::serve::ServedAgent;

/// The agents that are tools of a server.
#[derive(Debug, Default)]
pub struct AgentTools {
    pub(super) agents: Vec<ServedAgent>,
    notes: Vec<String>,
}

impl AgentTools {
    /// Names the agents. Errors: two have the same name then, or one has the name of another tool of the server.
    pub fn new(agents: Vec<ServedAgent>) -> Result<Self, String> {
        let mut named = Self::default();
        for mut agent in agents {
            // Clients refuse other characters, and longer names.
            let name = plain_name(&agent.name);
            if let Some(other) = named.agents.iter().find(|other| other.name == name) {
                let (label, other) = (&agent.label, &other.label);
                return Err(format!("{other} and {label} would both be the tool `{name}`: rename one of the files"));
            }
            if TOOLS.iter().any(|row| row.name == name) {
                return Err(format!("{}: a tool of the server has the name `{name}`: rename the file", agent.label));
            }
            if name != agent.name {
                let label = &agent.label;
                named.notes.push(format!(
                    "{label} is the tool `{name}`: tool names have at most {NAME_MAX_CHARS} letters, digits, `_` and `-`"
                ));
            }
            agent.name = name;
            named.agents.push(agent);
        }
        Ok(named)
    }

    /// A note for each agent whose tool is not named like its file.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_have_only_characters_that_clients_accept() {
        let (long, cut) = ("x".repeat(70), "x".repeat(64));
        for (name, expected) in [
            ("double-2_x", "double-2_x"),
            ("my agent.v2", "my_agent_v2"),
            ("gr\u{fc}n/\u{6f22}", "gr_n__"),
            (long.as_str(), cut.as_str()),
        ] {
            assert_eq!(plain_name(name), expected);
        }
    }
}
