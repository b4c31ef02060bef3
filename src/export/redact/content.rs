//! Where content stands in events: the one table of what came from prompts, models, tools and people. Everything else in an event
//! (numbers, addresses, states) is its shape and is never changed.

use crate::event::{Edit, Event, KINDS};

/// What a piece of content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// Names of agents and models, addresses of services.
    Names,
    /// The agent's definition, schemas and tools as providers are told.
    Agent,
    /// The context.
    Context,
    /// What was sent: prompts, feedback, questions and answers of people.
    Messages,
    /// What the model said: text, reasoning, what was read from it.
    Replies,
    /// Arguments of calls.
    Arguments,
    /// What tools answered.
    Results,
    /// What programs gave and printed, and what the run returned.
    Values,
    /// What programs defined, and the journal.
    Memory,
    /// Words of errors.
    Errors,
    /// Notices and events of unknown kinds.
    Notes,
}

/// Groups whose texts are bodies: what the policies `full` and `summary` take out.
pub(super) const BODIES: &[Group] = &[
    Group::Agent,
    Group::Context,
    Group::Messages,
    Group::Replies,
    Group::Arguments,
    Group::Results,
    Group::Values,
    Group::Memory,
    Group::Errors,
    Group::Notes,
];

/// Kind of event ([`kind`]), path in its data (`*` is any step), group. What lies below a path belongs to it.
const CONTENT: &[(&str, &[&str], Group)] = &[
    ("run.start", &["agent", "name"], Group::Names),
    ("run.start", &["agent", "toml"], Group::Agent),
    ("run.start", &["model", "alias"], Group::Names),
    ("run.start", &["model", "id"], Group::Names),
    ("run.start", &["context"], Group::Context),
    ("run.start", &["context_descriptions", "*", "1"], Group::Context),
    ("run.start", &["journal"], Group::Memory),
    ("run.start", &["consents", "*", "what"], Group::Messages),
    ("run.start", &["consents", "*", "failed"], Group::Errors),
    ("run.start", &["pipeline", "name"], Group::Names),
    ("run.start", &["pipeline", "then", "*", "agent", "name"], Group::Names),
    ("run.start", &["pipeline", "then", "*", "agent", "toml"], Group::Agent),
    ("run.start", &["pipeline", "then", "*", "model"], Group::Names),
    ("message", &["parts", "*", "text"], Group::Messages),
    ("message", &["parts", "*", "result"], Group::Results),
    ("message", &["parts", "*", "call", "args"], Group::Arguments),
    ("request", &["schema"], Group::Agent),
    ("request", &["tools", "*", "description"], Group::Agent),
    ("request", &["tools", "*", "parameters"], Group::Agent),
    ("request", &["options", "stop", "*"], Group::Agent),
    ("sent", &["url"], Group::Names),
    ("retry.wait", &["message"], Group::Errors),
    ("reply.part", &["text"], Group::Replies),
    ("reply.end", &["calls", "*", "args"], Group::Arguments),
    ("reply.end", &["error", "message"], Group::Errors),
    ("reply.end", &["error", "hint"], Group::Errors),
    ("reply.end", &["error", "details"], Group::Errors),
    ("extract", &["repaired"], Group::Replies),
    ("extract", &["error", "message"], Group::Errors),
    ("extract", &["error", "details"], Group::Errors),
    ("check", &["issues", "*", "path"], Group::Names),
    ("check", &["issues", "*", "expected"], Group::Errors),
    ("check", &["issues", "*", "got"], Group::Errors),
    ("check", &["issues", "*", "message"], Group::Errors),
    ("program.end", &["value"], Group::Values),
    ("program.end", &["prints", "*"], Group::Values),
    ("program.end", &["summaries", "*", "1"], Group::Values),
    ("program.end", &["error", "message"], Group::Errors),
    ("program.end", &["error", "hint"], Group::Errors),
    ("program.end", &["error", "details"], Group::Errors),
    ("program.end", &["warnings", "*"], Group::Notes),
    ("tool.call", &["args"], Group::Arguments),
    ("tool.end", &["result"], Group::Results),
    ("tool.end", &["error", "message"], Group::Errors),
    ("tool.end", &["error", "hint"], Group::Errors),
    ("tool.end", &["error", "details"], Group::Errors),
    ("question", &["text"], Group::Messages),
    ("question", &["options", "*"], Group::Messages),
    ("answer", &["value"], Group::Messages),
    ("memory", &["set", "*", "1"], Group::Memory),
    ("tasks", &["set", "*", "1"], Group::Memory),
    ("plan", &["items", "*", "1"], Group::Messages),
    ("plan", &["items", "*", "2"], Group::Messages),
    ("edit agent", &["after"], Group::Agent),
    ("edit context", &["after"], Group::Context),
    ("edit memory", &["after"], Group::Memory),
    ("edit reply", &["after"], Group::Replies),
    ("edit result", &["after"], Group::Results),
    ("edit model", &["after"], Group::Names),
    ("run.end", &["return"], Group::Values),
    ("run.end", &["summary"], Group::Values),
    ("run.end", &["journal"], Group::Memory),
    ("run.end", &["refs"], Group::Values),
    ("run.end", &["fail", "message"], Group::Errors),
    ("run.end", &["fail", "hint"], Group::Errors),
    ("run.end", &["fail", "details"], Group::Errors),
    ("notice", &["text"], Group::Notes),
];

/// Texts that are kept as head, length and hash when they are long: only the head is content then.
const KEPT: &[(&str, &str)] = &[("extract", "repaired"), ("program.end", "value"), ("memory", "set"), ("tasks", "set")];

/// The kind of an event as the table names it: what an edit holds depends on what was edited.
pub(super) fn kind(event: &Event) -> String {
    let Event::Edit(edit) = event else { return event.kind().to_owned() };
    let target = edit.target.split('.').next().unwrap_or_default();
    let of =
        if ["context", "memory", Edit::REPLY, Edit::RESULT, Edit::MODEL].contains(&target) { target } else { "agent" };
    format!("edit {of}")
}

/// What stands at a path of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) group: Group,
    /// How many steps of the path belong to the event; those behind them belong to the data of agents and tools.
    pub(super) own: usize,
}

/// What stands at this path of an event; `None` for its shape. In events of unknown kinds everything is content.
pub(super) fn place(kind: &str, path: &[String]) -> Option<Place> {
    let stored = kind.split(' ').next().unwrap_or_default();
    if KINDS.iter().all(|(known, ..)| *known != stored) {
        return Some(Place { group: Group::Notes, own: 0 });
    }
    let fits = |steps: &[&str]| {
        path.len() >= steps.len() && steps.iter().zip(path).all(|(step, at)| *step == "*" || *step == at.as_str())
    };
    let (_, steps, group) = CONTENT.iter().find(|(of, steps, _)| *of == kind && fits(steps))?;
    let kept = KEPT.contains(&(kind, steps[0]));
    let shape = kept && path.get(steps.len()).is_some_and(|step| step != "head");
    (!shape).then_some(Place { group: *group, own: steps.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_kind_and_the_shape_is_no_content() {
        for (kind, ..) in CONTENT {
            let stored = kind.split(' ').next().unwrap();
            assert!(KINDS.iter().any(|(known, ..)| *known == stored), "{kind}");
        }
        let at = |kind: &str, path: &str| {
            place(kind, &path.split('.').map(str::to_owned).collect::<Vec<_>>()).map(|place| place.group)
        };
        assert_eq!(at("tool.end", "result.user.email"), Some(Group::Results));
        assert_eq!((at("extract", "repaired.head"), at("extract", "repaired.bytes")), (Some(Group::Replies), None));
        assert_eq!(at("tool.end", "status"), None);
        assert_eq!(at("message", "parts.0.section"), None);
        assert_eq!(at("of.tomorrow", "any"), Some(Group::Notes));
    }
}
