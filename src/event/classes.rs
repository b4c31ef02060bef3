//! The class of each field of an input event: where it is not the class of its event.
//!
//! In: a kind and the path of a field. Out: its class. Replay compares derived fields with computed ones, the digest
//! of a run's inputs covers input fields, and only notes are neither. It must never depend on the value of a field.

use super::{Class, Event};

/// The class of a field that has another class than its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldClass {
    /// The kind of the event.
    pub kind: &'static str,
    /// The path of the field; it includes everything below.
    pub path: &'static str,
    /// Its class.
    pub class: Class,
    /// Source of a derived field, or the reason why it is a note.
    pub why: &'static str,
}

const fn derived(kind: &'static str, path: &'static str, why: &'static str) -> FieldClass {
    FieldClass { kind, path, class: Class::Derived, why }
}

const fn note(kind: &'static str, path: &'static str, why: &'static str) -> FieldClass {
    FieldClass { kind, path, class: Class::Note, why }
}

/// The fields of input events that are derived or notes. All other fields of input events are inputs.
pub const FIELDS: &[FieldClass] = &[
    derived("run.start", "agent.name", "from the agent's text"),
    derived("run.start", "agent.sha", "from the agent's text"),
    derived("run.start", "mode", "from the agent's text"),
    note("run.start", "model.alias", "a replay asks no model"),
    note("run.start", "model.provider", "a replay asks no model"),
    note("run.start", "model.id", "a replay asks no model"),
    derived("run.start", "limits", "from the agent's text"),
    derived("run.start", "depth", "from the address"),
    derived("run.start", "pipeline.then", "compared with the runs that follow"),
    derived("turn.start", "kind", "from the agent's mode and the turns before"),
    derived("turn.start", "remaining.turns", "from the limits and the turns before"),
    derived("turn.start", "remaining.tokens", "from the limits and the replies before"),
    derived("turn.start", "remaining.mission_ms", "from the limits and the times of the turns"),
    derived("turn.start", "stop", "from the remaining budgets"),
    note("reply.part", "lens", "how the text was divided"),
    note("reply.part", "ms", "duration"),
    note("reply.end", "queued_ms", "duration"),
    note("reply.end", "first_ms", "duration"),
    note("tool.end", "ms", "duration"),
];

/// Returns the class of a field of an event: `path` as in `remaining.turns`, list items by index.
pub fn class_of_field(event: &Event, path: &str) -> Class {
    let covers = |row: &&FieldClass| {
        row.kind == event.kind()
            && path.strip_prefix(row.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    FIELDS.iter().find(covers).map_or(event.class(), |row| row.class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ReplyEnd, ReplyStatus, RunStart};

    #[test]
    fn a_row_covers_its_field_and_the_fields_inside_it() {
        let start = Event::from(RunStart::default());
        assert_eq!(class_of_field(&start, "limits.0.1"), Class::Derived);
        assert_eq!(class_of_field(&start, "agent.toml"), Class::Input);
        assert_eq!(class_of_field(&start, "modes"), Class::Input);
        let end = Event::from(ReplyEnd::new(1, ReplyStatus::Ok));
        assert_eq!(class_of_field(&end, "first_ms"), Class::Note);
        assert_eq!(class_of_field(&end, "usage.input"), Class::Input);
    }
}
