//! The members of options that are tables: one list per table, with the kind of each value.
//!
//! In: a table as written. Out: findings for what is unknown or of the wrong kind; the lists, for the reference.

use ptc_core::value::Json;
use ptc_core::value::json::Node;

use crate::agent::Diagnostic;
use crate::config::document::{KeyLine, KeyTable, advice};
use crate::model::Backoff;

/// The kind of the value of a member of an option's table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Count,
    Flag,
    Table,
    List,
    Text,
    Word(&'static [&'static str]),
}

/// A member of an option's table.
pub(super) struct Member {
    name: &'static str,
    kind: Kind,
    /// The default, as the reference shows it.
    usual: &'static str,
    meaning: &'static str,
}

macro_rules! members {
    ($($(#[$about:meta])* $list:ident { $($name:literal $kind:expr, $usual:literal, $meaning:literal;)* })*) => {
        $($(#[$about])* pub(super) const $list: &[Member] =
            &[$(Member { name: $name, kind: $kind, usual: $usual, meaning: $meaning },)*];)*
    };
}

/// The strategies of a shortened history.
const STRATEGY: Kind = Kind::Word(&["trim", "coalesce"]);

members! {
    /// `compaction`, strategy `trim`
    TRIM {
        "strategy" STRATEGY, "trim; coalesce for `compression`", "`trim` keeps the last turns unchanged, `coalesce` replaces the history by one message about what programs did.";
        "trigger" Kind::Table, "", "Condition that starts it.";
        "keep_recent_turns" Kind::Count, "3", "Last turns that are kept, at least one.";
        "keep_initial_user" Kind::Flag, "true", "The first message, the task, is kept.";
    }
    /// `compaction`, strategy `coalesce`
    COALESCE {
        "strategy" STRATEGY, "trim; coalesce for `compression`", "As above.";
        "println_limit" Kind::Count, "15", "Printed lines that are shown.";
        "tool_call_limit" Kind::Count, "20", "Tool calls that are shown.";
    }
    /// `compaction.trigger`
    TRIGGER {
        "turns" Kind::Count, "8", "Turn from which the history is shortened.";
        "tokens" Kind::Count, "", "Estimated tokens from which the history is shortened.";
    }
    /// `prompt_limit`
    PROMPT_LIMIT {
        "max_chars" Kind::Count, "", "Characters of the system text in `ptc_lisp`; longer text is cut, with a notice to the model.";
    }
    /// `format_options`
    FORMAT {
        "feedback_max_chars" Kind::Count, "512", "Characters of printed lines and errors in feedback.";
        "preview_max_chars" Kind::Count, "250", "Characters of a value that is previewed.";
        "history_max_bytes" Kind::Count, "1024", "Bytes of a value that is kept as `*1`.";
        "max_print_length" Kind::Count, "2000", "Characters kept of one println.";
        "context_in_system" Kind::Flag, "false", "Data and tools are listed in the system text.";
        "mission_log_in" Kind::Word(&["system_prompt", "user_message"]), "system_prompt", "Where the mission log appears.";
        "minimal_turn_info" Kind::Flag, "false", "The number of remaining turns appears in the last two only.";
    }
    /// `retry`
    RETRY {
        "max_attempts" Kind::Count, "that of config.toml", "Attempts to get one reply, the first included: 1 to 20.";
        "backoff" Kind::Word(BACKOFF), "exponential", "Growth of the waits.";
        "base_delay_ms" Kind::Count, "1000", "The first wait; waits are at most 30000 ms, and up to half of each is random jitter.";
        "retryable" Kind::List, "all", "The failures to retry, among `rate_limit`, `timeout`, `server_error`, `network`, `stream`.";
    }
    /// `messages`, `messages_after`
    MESSAGE {
        "role" Kind::Word(&["user", "assistant", "tool"]), "", "Required: the author of the message.";
        "text" Kind::Text, "", "The text.";
        "calls" Kind::List, "", "The tool calls of a reply.";
        "results" Kind::List, "", "The results of tool calls, in messages of `tool`.";
    }
    /// An item of `calls`
    CALL {
        "id" Kind::Text, "", "The id that its result refers to.";
        "name" Kind::Text, "", "Required: the name of the tool.";
        "args" Kind::Text, "{}", "The arguments as JSON text.";
    }
    /// An item of `results`
    RESULT {
        "id" Kind::Text, "", "The id of the call.";
        "name" Kind::Text, "", "The name of the tool.";
        "result" Kind::Text, "", "The result as it is sent.";
    }
}

/// The names of the ways in which waits grow.
const BACKOFF: &[&str] = &[Backoff::ALL[0].0, Backoff::ALL[1].0, Backoff::ALL[2].0];

/// The lists with their titles in the reference and the options that are such tables; one option may have several lists.
const LISTS: &[(&str, &[&str], &[Member])] = &[
    ("[compaction], [compression]: strategy trim", &["compaction", "compression"], TRIM),
    ("[compaction], [compression]: strategy coalesce", &["compaction", "compression"], COALESCE),
    ("trigger of [compaction]", &[], TRIGGER),
    ("[prompt_limit]", &["prompt_limit"], PROMPT_LIMIT),
    ("[format_options]", &["format_options"], FORMAT),
    ("[retry]", &["retry"], RETRY),
    ("[[messages]], [[messages_after]]", &["messages", "messages_after"], MESSAGE),
    ("calls of [[messages]]", &[], CALL),
    ("results of [[messages]]", &[], RESULT),
];

/// The tables for the reference.
pub(in crate::agent) fn tables() -> impl Iterator<Item = KeyTable> {
    LISTS.iter().map(|(title, _, members)| KeyTable {
        title: (*title).to_owned(),
        lines: members.iter().map(Member::line).collect(),
    })
}

/// Returns whether one of the lists of an option has this member; true for an option without a list, whose members are its own.
pub(in crate::agent) fn may_have(option: &str, member: &str) -> bool {
    let mut lists = LISTS.iter().filter(|(_, options, _)| options.contains(&option)).peekable();
    lists.peek().is_none() || lists.any(|(.., members)| find(members, member).is_some())
}

/// The member of this name.
fn find<'m>(members: &'m [Member], name: &str) -> Option<&'m Member> {
    members.iter().find(|row| row.name == name)
}

impl Member {
    fn line(&self) -> KeyLine {
        let takes = match self.kind {
            Kind::Count => "whole number".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Table => "table".to_owned(),
            Kind::List => "list".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::Word(words) => words.join(", "),
        };
        KeyLine { name: self.name.to_owned(), takes, usual: self.usual.to_owned(), meaning: self.meaning.to_owned() }
    }
}

impl Kind {
    /// Returns the problem of a value; `None` when it fits.
    fn wrong(self, value: &Json) -> Option<String> {
        let must_be = match self {
            Self::Count if whole_number(value).is_some() => return None,
            Self::Flag if matches!(value.node, Node::Bool(_)) => return None,
            Self::Table if value.members().is_some() => return None,
            Self::List if value.items().is_some() => return None,
            Self::Text if value.as_str().is_some() => return None,
            Self::Word(words) if value.as_str().is_some_and(|word| words.contains(&word)) => return None,
            Self::Count => "a whole number that is not negative".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Table => "a table".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::Word(words) => {
                let near = advice(value.as_str().unwrap_or_default(), words);
                return Some(format!("cannot be {}{near}", value.to_text()));
            }
        };
        Some(format!("must be {must_be}, found {}", value.to_text()))
    }
}

/// Notes the members of a table that are unknown or have the wrong kind of value.
pub(super) fn check_members(table: &Json, key: &str, members: &[Member], findings: &mut Vec<Diagnostic>) {
    for member in table.members().unwrap_or_default() {
        let place = format!("{key}.{}", member.key);
        if let Some(row) = find(members, &member.key) {
            let found = row.kind.wrong(&member.value);
            findings.extend(found.map(|message| Diagnostic::option(&place, format!("`{place}` {message}"))));
        } else {
            let names: Vec<&str> = members.iter().map(|row| row.name).collect();
            let near = advice(&member.key, &names);
            findings.push(Diagnostic::option(&place, format!("unknown key `{}` in [{key}]{near}", member.key)));
        }
    }
}

/// Returns a whole number that is not negative.
pub(in crate::agent) fn whole_number(json: &Json) -> Option<u64> {
    match json.node {
        Node::Int(int) => u64::try_from(int).ok(),
        _ => None,
    }
}
