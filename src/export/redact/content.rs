//! The fields of events that hold text: the one table of what comes from prompts, models, tools and the user, and of what is structure.
//!
//! In: an event. Out: the group of each of its texts. A text that the table does not name is content ([`Group::Notes`]); a test compares
//! the table with the schema of the events.

use crate::event::{Edit, Event};

/// Group of a text in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Group {
    /// Names of agents and models, addresses of services.
    Names,
    /// Names and ids that events refer to each other by: of tools, calls, tasks, definitions. Only secrets and expressions are removed.
    Identifiers,
    /// Stored words, addresses and hashes. Only secrets are removed.
    Shape,
    /// The agent's definition, schemas and tools as providers get them.
    Agent,
    /// The context.
    Context,
    /// Texts sent to the model: prompts, feedback; questions, and answers of the user.
    Messages,
    /// The model's reply: text, reasoning, and what was read from it.
    Replies,
    /// Arguments of calls.
    Arguments,
    /// Results of tools.
    Results,
    /// Values and prints of programs, and the result of the run.
    Values,
    /// Definitions of programs, and the journal.
    Memory,
    /// Words of errors.
    Errors,
    /// Notices, events of unknown kinds, and texts that the table does not name.
    Notes,
}

/// Groups whose texts are bodies, which the policies `full` and `summary` remove.
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

/// Form in which a field stores its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As a text or as data.
    Whole,
    /// As head, length and hash when it is long: only the head is content then.
    Kept,
    /// As an agent file.
    Definition,
}

/// A field of an event that holds text. What lies below its path belongs to it.
#[derive(Debug)]
pub(super) struct Field {
    /// Its path in the data; `*` is any step.
    path: &'static [&'static str],
    group: Group,
    form: Form,
}

const fn field(path: &'static [&'static str], group: Group) -> Field {
    Field { path, group, form: Form::Whole }
}

const fn preserved(path: &'static [&'static str], group: Group) -> Field {
    Field { path, group, form: Form::Kept }
}

const fn definition(path: &'static [&'static str]) -> Field {
    Field { path, group: Group::Agent, form: Form::Definition }
}

const fn id(path: &'static [&'static str]) -> Field {
    field(path, Group::Identifiers)
}

const fn shape(path: &'static [&'static str]) -> Field {
    field(path, Group::Shape)
}

/// The texts of an event. Where paths begin alike, the longer one is first. A kind of event that is added does not compile before it has a
/// place here.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fields {
    /// These.
    Of(&'static [Field]),
    /// Like `Of`, for a piece of a text that is searched as a whole elsewhere.
    Pieces(&'static [Field]),
    /// All of it: the kind is unknown.
    All,
}

#[rustfmt::skip]
const RUN_START: &[Field] = &[
    field(&["agent", "name"], Group::Names), definition(&["agent", "toml"]), shape(&["agent", "sha"]),
    shape(&["mode"]),
    field(&["model", "alias"], Group::Names), field(&["model", "provider"], Group::Names), field(&["model", "id"], Group::Names),
    shape(&["limits", "*", "0"]),
    field(&["context"], Group::Context),
    id(&["context_descriptions", "*", "0"]), field(&["context_descriptions", "*", "1"], Group::Agent),
    shape(&["continues"]),
    field(&["journal"], Group::Memory),
    field(&["pipeline", "name"], Group::Names),
    field(&["pipeline", "then", "*", "agent", "name"], Group::Names), definition(&["pipeline", "then", "*", "agent", "toml"]),
    shape(&["pipeline", "then", "*", "agent", "sha"]), field(&["pipeline", "then", "*", "model"], Group::Names),
    field(&["consents", "*", "what"], Group::Messages), field(&["consents", "*", "failed"], Group::Errors),
    shape(&["consents", "*", "decision"]), shape(&["consents", "*", "by"]),
];

#[rustfmt::skip]
const MESSAGE: &[Field] = &[
    shape(&["role"]), shape(&["source"]),
    shape(&["parts", "*", "section"]), field(&["parts", "*", "text"], Group::Messages),
    shape(&["parts", "*", "reply"]),
    field(&["parts", "*", "file", "name"], Group::Context), field(&["parts", "*", "file", "sha256"], Group::Context),
    shape(&["parts", "*", "file", "type"]),
    field(&["parts", "*", "call", "args"], Group::Arguments), id(&["parts", "*", "call"]),
    id(&["parts", "*", "name"]), field(&["parts", "*", "result"], Group::Results),
];

#[rustfmt::skip]
const REQUEST: &[Field] = &[
    shape(&["want"]), field(&["schema"], Group::Agent),
    id(&["tools", "*", "name"]), field(&["tools", "*", "description"], Group::Agent),
    field(&["tools", "*", "parameters"], Group::Agent), field(&["tools", "*", "custom"], Group::Agent), id(&["tool_names", "*"]),
    field(&["options", "stop", "*"], Group::Agent), shape(&["options", "reasoning"]),
    field(&["options", "extra_body"], Group::Agent),
];

#[rustfmt::skip]
const REPLY_END: &[Field] = &[
    shape(&["status"]), shape(&["finish"]), shape(&["structured_by"]),
    field(&["model"], Group::Names),
    field(&["by", "alias"], Group::Names), field(&["by", "provider"], Group::Names), field(&["by", "id"], Group::Names),
    id(&["calls", "*", "id"]), id(&["calls", "*", "name"]), field(&["calls", "*", "args"], Group::Arguments),
    field(&["opaque", "provider"], Group::Names), field(&["opaque", "parts"], Group::Replies),
    shape(&["error", "reason"]), shape(&["error", "class"]),
    field(&["error", "message"], Group::Errors), field(&["error", "hint"], Group::Errors), field(&["error", "details"], Group::Errors),
];

#[rustfmt::skip]
const PROGRAM_END: &[Field] = &[
    shape(&["status"]), preserved(&["value"], Group::Values), field(&["prints", "*"], Group::Values),
    id(&["summaries", "*", "0"]), field(&["summaries", "*", "1"], Group::Values),
    shape(&["error", "reason"]), shape(&["error", "class"]),
    field(&["error", "message"], Group::Errors), field(&["error", "hint"], Group::Errors), field(&["error", "details"], Group::Errors),
    field(&["warnings", "*"], Group::Notes),
];

#[rustfmt::skip]
const RUN_END: &[Field] = &[
    shape(&["inputs"]),
    field(&["return"], Group::Values), field(&["summary"], Group::Values), field(&["refs"], Group::Values),
    field(&["journal"], Group::Memory),
    shape(&["fail", "reason"]), shape(&["fail", "class"]),
    field(&["fail", "message"], Group::Errors), field(&["fail", "hint"], Group::Errors), field(&["fail", "details"], Group::Errors),
    shape(&["usage", "structured_output"]),
];

impl Fields {
    /// The texts of an event.
    #[rustfmt::skip]
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::RunStart(_) => Self::Of(RUN_START),
            Event::TurnStart(_) => Self::Of(const { &[shape(&["kind"]), shape(&["stop"])] }),
            Event::MessageAdded(_) => Self::Of(MESSAGE),
            Event::RequestMade(_) => Self::Of(REQUEST),
            Event::Sent(_) => Self::Of(const { &[
                field(&["provider"], Group::Names), field(&["url"], Group::Names), field(&["frame"], Group::Agent),
                shape(&["sha"]), shape(&["structured_by"]),
            ] }),
            Event::Wire(_) => Self::Of(const { &[shape(&["frames"])] }),
            Event::RawRequest(_) => Self::Of(const { &[
                shape(&["method"]), field(&["path"], Group::Names), field(&["headers", "*", "1"], Group::Names),
                shape(&["headers", "*", "0"]), shape(&["body", "sha"]), shape(&["body", "base"]), shape(&["body", "data"]),
                shape(&["came", "sha"]), shape(&["came", "base"]), shape(&["came", "data"]),
            ] }),
            Event::RawReply(_) => Self::Of(const { &[
                shape(&["headers", "*", "0"]), field(&["headers", "*", "1"], Group::Names), field(&["by"], Group::Notes),
                shape(&["came", "sha"]), shape(&["came", "base"]), shape(&["came", "data"]),
            ] }),
            Event::RetryWait(_) => Self::Of(const { &[shape(&["class"]), field(&["message"], Group::Errors)] }),
            Event::ReplyPart(_) => Self::Pieces(const { &[shape(&["kind"]), field(&["text"], Group::Replies)] }),
            Event::ReplyEnd(_) => Self::Of(REPLY_END),
            Event::Extract(_) => Self::Of(const { &[
                shape(&["kind"]), shape(&["rule"]), shape(&["fixes", "*", "0"]), shape(&["sha"]),
                preserved(&["repaired"], Group::Replies),
                shape(&["error", "reason"]), shape(&["error", "class"]),
                field(&["error", "message"], Group::Errors), field(&["error", "hint"], Group::Errors), field(&["error", "details"], Group::Errors),
            ] }),
            Event::Check(_) => Self::Of(const { &[
                shape(&["layer"]), shape(&["issues", "*", "severity"]),
                field(&["issues", "*", "path"], Group::Names), field(&["issues", "*", "expected"], Group::Errors),
                field(&["issues", "*", "got"], Group::Errors), field(&["issues", "*", "message"], Group::Errors),
            ] }),
            Event::ProgramEnd(_) => Self::Of(PROGRAM_END),
            Event::ToolCall(_) => Self::Of(const { &[id(&["name"]), shape(&["kind"]), field(&["args"], Group::Arguments)] }),
            Event::ToolEnd(_) => Self::Of(const { &[
                shape(&["status"]), field(&["result"], Group::Results),
                field(&["files", "*", "name"], Group::Results), field(&["files", "*", "sha256"], Group::Results), shape(&["files", "*", "type"]),
                shape(&["error", "reason"]), shape(&["error", "class"]),
                field(&["error", "message"], Group::Errors), field(&["error", "hint"], Group::Errors), field(&["error", "details"], Group::Errors),
            ] }),
            Event::QuestionAsked(_) => Self::Of(const { &[
                shape(&["kind"]), field(&["text"], Group::Messages), field(&["options", "*"], Group::Messages),
            ] }),
            Event::AnswerGiven(_) => Self::Of(const { &[shape(&["by"]), field(&["value"], Group::Messages)] }),
            Event::MemoryChange(_) | Event::TasksKept(_) => Self::Of(const { &[
                id(&["set", "*", "0"]), preserved(&["set", "*", "1"], Group::Memory), id(&["del", "*"]),
            ] }),
            Event::CompactionDone(_) => Self::Of(const { &[shape(&["strategy"]), shape(&["reason"]), shape(&["counts", "*", "0"])] }),
            Event::PlanState(_) => Self::Of(const { &[
                id(&["items", "*", "0"]), field(&["items", "*", "1"], Group::Messages), field(&["items", "*", "2"], Group::Messages),
            ] }),
            Event::Edit(edit) => Self::Of(of_edit(edit)),
            Event::Interrupt(_) => Self::Of(const { &[shape(&["reason"]), shape(&["by"])] }),
            Event::TurnEnd(_) => Self::Of(const { &[shape(&["reason"]), shape(&["inputs"])] }),
            Event::RunEnd(_) => Self::Of(RUN_END),
            Event::RunWait(_) => Self::Of(const { &[shape(&["question"])] }),
            Event::Resume(_) => Self::Of(&[]),
            Event::Notice(_) => Self::Of(const { &[shape(&["level"]), field(&["text"], Group::Notes)] }),
            Event::Unknown(_) => Self::All,
        }
    }

    /// Returns whether the event is a piece of a longer text.
    pub(super) fn is_piece(self) -> bool {
        matches!(self, Self::Pieces(_))
    }

    fn find(self, path: &[String]) -> Option<&'static Field> {
        let (Self::Of(fields) | Self::Pieces(fields)) = self else { return None };
        let fits = |steps: &[&str]| {
            path.len() >= steps.len() && steps.iter().zip(path).all(|(step, at)| *step == "*" || *step == at.as_str())
        };
        fields.iter().find(|field| fits(field.path))
    }

    /// The field at this path that the table names.
    pub(super) fn place(self, path: &[String]) -> Option<Place> {
        if matches!(self, Self::All) {
            return Some(Place { group: Group::Notes, own: 0, is_definition: false, is_kept: false });
        }
        let field = self.find(path)?;
        let own = field.path.len();
        let is_shape = field.form == Form::Kept && path.get(own).is_some_and(|step| step != "head");
        let group = if is_shape { Group::Shape } else { field.group };
        let is_kept = field.form == Form::Kept;
        Some(Place { group, own, is_definition: field.form == Form::Definition, is_kept })
    }

    /// Like `place`, for a text; a text that the table does not name is content.
    pub(super) fn place_of_text(self, path: &[String]) -> Place {
        self.place(path).unwrap_or(Place { group: Group::Notes, own: path.len(), is_definition: false, is_kept: false })
    }
}

/// The content of an edit depends on its target.
#[rustfmt::skip]
fn of_edit(edit: &Edit) -> &'static [Field] {
    macro_rules! after {
        ($field:expr) => {
            const { &[id(&["target"]), shape(&["at"]), shape(&["before_sha"]), shape(&["by"]), $field] }
        };
    }
    match edit.target.split('.').next().unwrap_or_default() {
        "context" => after!(field(&["after"], Group::Context)),
        "memory" => after!(field(&["after"], Group::Memory)),
        Edit::REPLY => after!(field(&["after"], Group::Replies)),
        Edit::RESULT => after!(field(&["after"], Group::Results)),
        Edit::MODEL => after!(field(&["after"], Group::Names)),
        "agent" => after!(definition(&["after"])),
        _ => after!(field(&["after"], Group::Agent)),
    }
}

/// The field at a path of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) group: Group,
    /// Number of steps of the path that belong to the event; those that follow belong to the data of agents and tools.
    pub(super) own: usize,
    /// Its text is an agent file.
    pub(super) is_definition: bool,
    /// A long value is an object of its head, length and hash.
    pub(super) is_kept: bool,
}

impl Place {
    /// Returns whether it holds content, and not identifiers or structure.
    pub(super) fn is_content(self) -> bool {
        !matches!(self.group, Group::Shape | Group::Identifiers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use serde_json::value::RawValue;

    use crate::event::{Extract, KINDS, ToolEnd, data_schemas};

    fn event(kind: &str, data: &str) -> Event {
        Event::read(kind, &RawValue::from_string(data.to_owned()).unwrap()).unwrap()
    }

    fn steps(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn the_shape_of_an_event_is_no_content() {
        let at = |event: &Event, path: &str| Fields::of(event).place(&steps(path)).map(|place| place.group);
        let end = Event::from(ToolEnd::default());
        let found = Event::from(Extract::default());
        assert_eq!(at(&end, "result.user.email"), Some(Group::Results));
        assert_eq!(
            (at(&found, "repaired.head"), at(&found, "repaired.sha")),
            (Some(Group::Replies), Some(Group::Shape))
        );
        assert_eq!((at(&end, "status"), at(&end, "error.reason")), (Some(Group::Shape), Some(Group::Shape)));
        let message = event("message", r#"{"m":0,"role":"user","source":"prompt","parts":[]}"#);
        assert_eq!(at(&message, "parts.0.section"), Some(Group::Shape));
        assert_eq!(at(&event("of.tomorrow", "{}"), "any"), Some(Group::Notes));
        assert_eq!(Fields::of(&message).place_of_text(&steps("of_tomorrow")).group, Group::Notes);
    }

    /// The paths of every text of a schema; `*` is any item.
    fn texts(schema: &Value, all: &Value, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
        if path.len() > 8 {
            return;
        }
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            texts(&all[name], all, path, out);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            schema[key].as_array().into_iter().flatten().for_each(|one| texts(one, all, path, out));
        }
        let is_type = |name: &str| {
            let kind = &schema["type"];
            kind == name || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == name))
        };
        // A schema without a type takes any data.
        let is_any = schema == &Value::Bool(true)
            || schema
                .as_object()
                .is_some_and(|keys| keys.keys().all(|key| ["description", "default"].contains(&&**key)));
        if is_type("string") || is_any {
            out.push(path.clone());
        }
        let mut below = |step: &str, schema: &Value| {
            path.push(step.to_owned());
            texts(schema, all, path, out);
            path.pop();
        };
        schema["properties"].as_object().into_iter().flatten().for_each(|(name, schema)| below(name, schema));
        if schema["items"].is_object() || schema["items"].is_boolean() {
            below("0", &schema["items"]);
        }
        let items = schema["prefixItems"].as_array().into_iter().flatten().enumerate();
        items.for_each(|(place, schema)| below(&place.to_string(), schema));
    }

    #[test]
    fn the_table_names_every_text_of_every_kind() {
        let mut generator = schemars::SchemaGenerator::default();
        let schemas: Vec<Value> =
            data_schemas(&mut generator).into_iter().map(|schema| serde_json::to_value(schema).unwrap()).collect();
        let all = serde_json::to_value(generator.definitions()).unwrap();
        let mut count = 0;
        for ((kind, ..), schema) in KINDS.iter().zip(&schemas) {
            let mut found = Vec::new();
            texts(schema, &all, &mut Vec::new(), &mut found);
            let event = super::super::samples::sample(kind);
            for path in found {
                count += 1;
                assert!(
                    Fields::of(&event).place(&path).is_some(),
                    "{kind} {}: no row of the table names it",
                    path.join(".")
                );
            }
        }
        assert!(count > 120, "{count}");
    }
}
