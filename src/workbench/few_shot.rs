//! Few-shot examples from sessions: the inputs of a run, and the model's reply at one of its turns.
//!
//! In: a turn of a session, and a prompt or its agent file. Out: the prompt with one more example at its end. The session is
//! never changed.

use std::path::{Path, PathBuf};

use super::case::{CaseError, agent_in, place, unwritable};
use super::files::write_whole_in_folder;
use super::fork::inputs_at;
use super::replies::RecordedTurn;
use super::{OpenError, Workbench};
use crate::agent::Agent;
use crate::event::Address;
use crate::replay::{Point, Recording, Stage};
use crate::session::Session;

/// The line above the examples of a prompt.
const HEADING: &str = "# Examples";

/// An agent file that got an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedExample {
    /// The turn that it shows.
    pub turn: Address,
    /// The agent file.
    pub file: PathBuf,
    /// The file was made as well.
    pub is_new_file: bool,
    /// The text that was added to its prompt.
    pub example: String,
}

impl Workbench {
    /// The session and the turn that `SESSION` or `SESSION@TURN` names; without a turn the last one of its last run.
    pub fn turn_place(&self, name: &str) -> Result<(Session, Address), OpenError> {
        let (name, at) = super::marks::named_place(name);
        let session = self.open_session(name)?;
        let turn = match at {
            Some(at) if at.turn_number().is_some() => at.turn_part(),
            Some(at) => return Err(OpenError(format!("{at} is not a turn; name one, such as {at}/t1"))),
            None => {
                let last = session.skeleton().roots().last().and_then(|run| run.turns.last());
                last.map(|turn| turn.address.clone()).ok_or_else(|| OpenError(format!("{name} contains no turn")))?
            }
        };
        Ok((session, turn))
    }

    /// Returns the text that adds the reply of a turn to a prompt as an example.
    ///
    /// Errors: the session cannot be replayed, or holds no reply at that turn, or one that failed: it would teach its fault; the run
    /// continues another one.
    pub fn example_of(&self, session: &Session, turn: &Address, prompt: &str) -> Result<String, CaseError> {
        let recording = Recording::of(session).map_err(CaseError)?;
        let earlier = recording.run_start(&turn.run_part()).and_then(|start| start.continues.as_ref());
        if let Some(earlier) = earlier {
            return Err(CaseError(format!(
                "{turn} continues {earlier}: its reply depends on what was sent there, so it cannot be an example"
            )));
        }
        let recorded_turn = RecordedTurn::new(&recording, turn);
        let no_reply = || CaseError(format!("{} has no reply at {turn}", session.header.id));
        let reply = recorded_turn.reply().ok_or_else(no_reply)?.as_typed();
        if let Some(reason) = recording.failed_turn(turn) {
            return Err(CaseError(format!(
                "{turn} failed ({reason}), and an example must show a good reply: name a turn that succeeded, or fork this one with a better reply"
            )));
        }
        let point = Point::find(&recording, &format!("{turn}:request"), Stage::Request).map_err(CaseError)?;
        let there = inputs_at(&recording, &point.target).map_err(|error| CaseError(error.to_string()))?;
        let given = there.context.members().is_some_and(|members| !members.is_empty());
        let input = given.then(|| there.context.to_text());
        Ok(addition(prompt, input.as_deref(), &reply))
    }

    /// Adds the reply of a turn as an example to the prompt of an agent file. Without a file: the agent's name with `.toml` in the current
    /// folder; one that is named and does not exist is made from the session.
    ///
    /// Errors: those of [`Self::example_of`]; the file holds another agent, or its mode has a prompt of its own; it cannot be read or
    /// written.
    pub fn add_example(
        &self,
        session: &Session,
        turn: &Address,
        file: Option<&Path>,
    ) -> Result<AddedExample, CaseError> {
        let recording = Recording::of(session).map_err(CaseError)?;
        let recorded = inputs_at(&recording, turn).map_err(|error| CaseError(error.to_string()))?.agent;
        let file = place(file, &recorded)?;
        let (original, agent) = agent_in(&file, &recorded, self.file_access())?;
        let name = file.display().to_string();
        let used = agent.for_mode(recorded.mode).map_or_else(|_| agent.prompt.clone(), |used| used.prompt);
        if used != agent.prompt {
            let mode = recorded.mode.name();
            return Err(CaseError(format!(
                "{name} has a prompt of its own for the mode {mode} in [modes.{mode}]: write the example there by hand"
            )));
        }
        let example = self.example_of(session, turn, &agent.prompt)?;
        let with_example = Agent { prompt: format!("{}{example}", agent.prompt), ..agent };
        let text = with_example.rewrite_with(&original.clone().unwrap_or_default(), &name, self.file_access());
        // The written file must parse to the same prompt.
        Agent::from_toml_with(&text, &name, self.file_access()).map_err(|error| CaseError(error.to_string()))?;
        write_whole_in_folder(&file, text.as_bytes()).map_err(|error| unwritable(&file, &error))?;
        Ok(AddedExample { turn: turn.clone(), is_new_file: original.is_none(), file, example })
    }
}

/// Returns the text to append to a prompt for one more example; the first one comes with the heading.
fn addition(prompt: &str, input: Option<&str>, reply: &str) -> String {
    let gap = match prompt {
        _ if prompt.is_empty() || prompt.ends_with("\n\n") => "",
        _ if prompt.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let heading =
        if prompt.lines().any(|line| line.trim_end() == HEADING) { String::new() } else { format!("{HEADING}\n\n") };
    let input = input.map(|input| format!("Input:\n{}\n\n", plain(input))).unwrap_or_default();
    format!("{gap}{heading}{input}Answer:\n{}\n", plain(reply.trim_end()))
}

/// Text without template tags: a space separates two braces.
pub(super) fn plain(text: &str) -> String {
    let mut plain = text.replace("{{", "{ {");
    while plain.contains("{{") {
        plain = plain.replace("{{", "{ {");
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_example_brings_the_heading_and_others_follow_it() {
        let first = addition("Judge {{text}}", Some(r#"{"text":"Good."}"#), "{\"mood\":\"good\"}\n");
        assert_eq!(first, "\n\n# Examples\n\nInput:\n{\"text\":\"Good.\"}\n\nAnswer:\n{\"mood\":\"good\"}\n");
        let prompt = format!("Judge {{{{text}}}}{first}");
        assert_eq!(addition(&prompt, None, "yes"), "\nAnswer:\nyes\n");
    }

    #[test]
    fn nothing_in_an_example_is_a_tag() {
        let added = addition("", Some(r#"{"a":"{{x}} {{{y"}"#), "#{{:a 1}}");
        assert!(!added.contains("{{"), "{added}");
        assert_eq!(ptc_core::template::parse(&added).map(|template| template.nodes().len()), Ok(1));
    }
}
