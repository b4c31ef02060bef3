//! The content of events: the one table of what comes from prompts, models, tools and the user. Everything else in an event (numbers,
//! addresses, states) is its shape and is never changed.

use crate::event::{Edit, Event};

/// What a piece of content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// Names of agents and models, addresses of services.
    Names,
    /// The agent's definition, schemas and tools as providers get them.
    Agent,
    /// The context.
    Context,
    /// What was sent: prompts, feedback, questions and answers of people.
    Messages,
    /// The model's reply: text, reasoning, and what was read from it.
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

/// A field of an event that holds content. What lies below its path belongs to it.
#[derive(Debug)]
pub(super) struct Field {
    /// Its path in the data; `*` is any step.
    path: &'static [&'static str],
    group: Group,
    /// Texts of it are kept as head, length and hash when they are long: only the head is content then.
    is_kept: bool,
}

const fn field(path: &'static [&'static str], group: Group) -> Field {
    Field { path, group, is_kept: false }
}

const fn preserved(path: &'static [&'static str], group: Group) -> Field {
    Field { path, group, is_kept: true }
}

/// The content of `run.start`.
const RUN_START: &[Field] = &[
    field(&["agent", "name"], Group::Names),
    field(&["agent", "toml"], Group::Agent),
    field(&["model", "alias"], Group::Names),
    field(&["model", "id"], Group::Names),
    field(&["context"], Group::Context),
    field(&["context_descriptions", "*", "1"], Group::Context),
    field(&["journal"], Group::Memory),
    field(&["consents", "*", "what"], Group::Messages),
    field(&["consents", "*", "failed"], Group::Errors),
    field(&["pipeline", "name"], Group::Names),
    field(&["pipeline", "then", "*", "agent", "name"], Group::Names),
    field(&["pipeline", "then", "*", "agent", "toml"], Group::Agent),
    field(&["pipeline", "then", "*", "model"], Group::Names),
];

/// Which fields of an event hold content. A kind of event that is added does not compile before it has a place here.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fields {
    /// These; everything else is shape.
    Of(&'static [Field]),
    /// The same for a piece of a text that is searched as a whole elsewhere.
    Pieces(&'static [Field]),
    /// All of it: the kind is unknown.
    All,
}

impl Fields {
    /// The fields of an event.
    #[rustfmt::skip]
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::RunStart(_) => Self::Of(RUN_START),
            Event::Message(_) => Self::Of(const { &[
                field(&["parts", "*", "text"], Group::Messages),
                field(&["parts", "*", "result"], Group::Results),
                field(&["parts", "*", "call", "args"], Group::Arguments),
            ] }),
            Event::RequestMade(_) => Self::Of(const { &[
                field(&["schema"], Group::Agent),
                field(&["tools", "*", "description"], Group::Agent),
                field(&["tools", "*", "parameters"], Group::Agent),
                field(&["options", "stop", "*"], Group::Agent),
            ] }),
            Event::Sent(_) => Self::Of(const { &[
                field(&["url"], Group::Names),
            ] }),
            Event::RetryWait(_) => Self::Of(const { &[
                field(&["message"], Group::Errors),
            ] }),
            Event::ReplyPart(_) => Self::Pieces(const { &[
                field(&["text"], Group::Replies),
            ] }),
            Event::ReplyEnd(_) => Self::Of(const { &[
                field(&["calls", "*", "args"], Group::Arguments),
                field(&["error", "message"], Group::Errors),
                field(&["error", "hint"], Group::Errors),
                field(&["error", "details"], Group::Errors),
            ] }),
            Event::Extract(_) => Self::Of(const { &[
                preserved(&["repaired"], Group::Replies),
                field(&["error", "message"], Group::Errors),
                field(&["error", "details"], Group::Errors),
            ] }),
            Event::Check(_) => Self::Of(const { &[
                field(&["issues", "*", "path"], Group::Names),
                field(&["issues", "*", "expected"], Group::Errors),
                field(&["issues", "*", "got"], Group::Errors),
                field(&["issues", "*", "message"], Group::Errors),
            ] }),
            Event::ProgramEnd(_) => Self::Of(const { &[
                preserved(&["value"], Group::Values),
                field(&["prints", "*"], Group::Values),
                field(&["summaries", "*", "1"], Group::Values),
                field(&["error", "message"], Group::Errors),
                field(&["error", "hint"], Group::Errors),
                field(&["error", "details"], Group::Errors),
                field(&["warnings", "*"], Group::Notes),
            ] }),
            Event::ToolCall(_) => Self::Of(const { &[
                field(&["args"], Group::Arguments),
            ] }),
            Event::ToolEnd(_) => Self::Of(const { &[
                field(&["result"], Group::Results),
                field(&["error", "message"], Group::Errors),
                field(&["error", "hint"], Group::Errors),
                field(&["error", "details"], Group::Errors),
            ] }),
            Event::QuestionAsked(_) => Self::Of(const { &[
                field(&["text"], Group::Messages),
                field(&["options", "*"], Group::Messages),
            ] }),
            Event::AnswerGiven(_) => Self::Of(const { &[
                field(&["value"], Group::Messages),
            ] }),
            Event::MemoryChange(_) | Event::TasksKept(_) => Self::Of(const { &[
                preserved(&["set", "*", "1"], Group::Memory),
            ] }),
            Event::PlanState(_) => Self::Of(const { &[
                field(&["items", "*", "1"], Group::Messages),
                field(&["items", "*", "2"], Group::Messages),
            ] }),
            Event::RunEnd(_) => Self::Of(const { &[
                field(&["return"], Group::Values),
                field(&["summary"], Group::Values),
                field(&["journal"], Group::Memory),
                field(&["refs"], Group::Values),
                field(&["fail", "message"], Group::Errors),
                field(&["fail", "hint"], Group::Errors),
                field(&["fail", "details"], Group::Errors),
            ] }),
            Event::Notice(_) => Self::Of(const { &[
                field(&["text"], Group::Notes),
            ] }),
            Event::Edit(edit) => Self::Of(of_edit(edit)),
            Event::TurnStart(_) | Event::Wire(_) | Event::CompactionDone(_) | Event::Interrupt(_) | Event::TurnEnd(_) | Event::RunWait(_) | Event::Resume(_) => Self::Of(&[]),
            Event::Unknown(_) => Self::All,
        }
    }

    /// Is the event a piece of a longer text?
    pub(super) fn is_piece(self) -> bool {
        matches!(self, Self::Pieces(_))
    }

    /// The content at this path; `None` for the shape of the event.
    pub(super) fn place(self, path: &[String]) -> Option<Place> {
        let fields = match self {
            Self::Of(fields) | Self::Pieces(fields) => fields,
            Self::All => return Some(Place { group: Group::Notes, own: 0 }),
        };
        let fits = |steps: &[&str]| {
            path.len() >= steps.len() && steps.iter().zip(path).all(|(step, at)| *step == "*" || *step == at.as_str())
        };
        let field = fields.iter().find(|field| fits(field.path))?;
        let own = field.path.len();
        let is_shape = field.is_kept && path.get(own).is_some_and(|step| step != "head");
        (!is_shape).then_some(Place { group: field.group, own })
    }
}

/// The content of an edit depends on its target.
fn of_edit(edit: &Edit) -> &'static [Field] {
    match edit.target.split('.').next().unwrap_or_default() {
        "context" => const { &[field(&["after"], Group::Context)] },
        "memory" => const { &[field(&["after"], Group::Memory)] },
        Edit::REPLY => const { &[field(&["after"], Group::Replies)] },
        Edit::RESULT => const { &[field(&["after"], Group::Results)] },
        Edit::MODEL => const { &[field(&["after"], Group::Names)] },
        _ => const { &[field(&["after"], Group::Agent)] },
    }
}

/// The content at a path of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) group: Group,
    /// How many steps of the path belong to the event; those that follow belong to the data of agents and tools.
    pub(super) own: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    use crate::event::{Extract, ToolEnd};

    #[test]
    fn the_shape_of_an_event_is_no_content() {
        let at = |event: &Event, path: &str| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            Fields::of(event).place(&path).map(|place| place.group)
        };
        let event =
            |kind: &str, data: &str| Event::read(kind, &RawValue::from_string(data.to_owned()).unwrap()).unwrap();
        let end = Event::from(ToolEnd::default());
        let found = Event::from(Extract::default());
        assert_eq!(at(&end, "result.user.email"), Some(Group::Results));
        assert_eq!((at(&found, "repaired.head"), at(&found, "repaired.bytes")), (Some(Group::Replies), None));
        assert_eq!(at(&end, "status"), None);
        assert_eq!(
            at(&event("message", r#"{"m":0,"role":"user","source":"prompt","parts":[]}"#), "parts.0.section"),
            None
        );
        assert_eq!(at(&event("of.tomorrow", "{}"), "any"), Some(Group::Notes));
    }
}
