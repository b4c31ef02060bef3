//! Content of a request by kind: the parts of its messages, the tools and the schema, in bytes and estimated tokens.
//!
//! In: roles, sources and section names of messages as they were sent. Out: a kind per part, and sums. It must never drop a part: one
//! without a kind of its own belongs to the task.

use ptc_core::text::estimate_tokens;
use ptc_core::value::json::to_json;

use crate::event::{JsonText, Role, SentMessage, Source, ToolSchema};

/// A kind of content of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PromptKind {
    /// Fixed instructions of the mode, and the agent's system text.
    System,
    /// Definitions and descriptions of tools.
    Tools,
    /// The schema of the answer.
    Schema,
    /// The agent's prompt.
    Task,
    /// Inputs.
    Data,
    /// Earlier replies and their calls.
    History,
    /// Results of tools and programs, printed lines, memory.
    Results,
    /// Corrections and other feedback that the engine adds after a turn.
    Feedback,
}

impl PromptKind {
    /// Every kind in the order in which charts and totals show them, with its name and the letter that fills its bar.
    pub const ALL: [(Self, &'static str, char); 8] = [
        (Self::System, "system", 'S'),
        (Self::Tools, "tools", 'T'),
        (Self::Schema, "schema", 'J'),
        (Self::Task, "task", 'P'),
        (Self::Data, "data", 'D'),
        (Self::History, "history", 'H'),
        (Self::Results, "results", 'R'),
        (Self::Feedback, "feedback", 'F'),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// The kind of a section of a message.
    pub fn of(role: Role, source: Source, section: &str) -> Self {
        match section {
            "tools" => Self::Tools,
            "call" | "reply" | "program" | "turns" | "history" => Self::History,
            "result" | "println" | "prints" | "memory" | "calls" | "journal" => Self::Results,
            "feedback" | "error" | "next" | "plan" => Self::Feedback,
            "data" | "context" => Self::Data,
            _ if role == Role::System => Self::System,
            _ => match source {
                Source::Prompt | Source::User => Self::Task,
                Source::Reply => Self::History,
                Source::Feedback => Self::Feedback,
                Source::Tool => Self::Results,
            },
        }
    }
}

/// Bytes and estimated tokens by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptSizes([(u64, u64); PromptKind::ALL.len()]);

impl PromptSizes {
    /// Counts a text.
    pub fn add(&mut self, kind: PromptKind, text: &str) {
        let (bytes, tokens) = &mut self.0[kind as usize];
        *bytes += text.len() as u64;
        *tokens += if text.is_empty() { 0 } else { estimate_tokens(text) };
    }

    /// Adds all sizes of another count.
    pub fn add_all(&mut self, other: &Self) {
        for ((bytes, tokens), (more_bytes, more_tokens)) in self.0.iter_mut().zip(other.0) {
            *bytes += more_bytes;
            *tokens += more_tokens;
        }
    }

    /// Counts what a request contains next to its messages, as providers get it: the tools, and the schema of the answer on one line.
    pub fn add_tools_and_schema(&mut self, tools: &[ToolSchema], schema: Option<&JsonText>) {
        for tool in tools {
            self.add(PromptKind::Tools, &to_json(tool).to_text());
        }
        if let Some(schema) = schema {
            self.add(PromptKind::Schema, &schema.json().to_text());
        }
    }

    /// Counts a message.
    pub fn add_message(&mut self, message: &SentMessage) {
        for part in &message.parts {
            self.add(PromptKind::of(message.role, message.source, part.section()), &part.text());
        }
    }

    /// Bytes and estimated tokens of a kind.
    pub fn of(&self, kind: PromptKind) -> (u64, u64) {
        self.0[kind as usize]
    }

    /// The kinds that are there, with bytes and estimated tokens.
    pub fn present(&self) -> impl Iterator<Item = (PromptKind, u64, u64)> + '_ {
        let all = PromptKind::ALL.iter().map(|(kind, ..)| (*kind, self.of(*kind).0, self.of(*kind).1));
        all.filter(|(_, bytes, _)| *bytes > 0)
    }

    /// Bytes of all kinds.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(bytes, _)| bytes).sum()
    }

    /// Estimated tokens of all kinds.
    pub fn tokens(&self) -> u64 {
        self.0.iter().map(|(_, tokens)| tokens).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_place_name_and_letter() {
        for (place, (kind, name, letter)) in PromptKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place, "{name}");
            assert_eq!(PromptKind::ALL.iter().filter(|(_, other, _)| other == name).count(), 1);
            assert_eq!(PromptKind::ALL.iter().filter(|(_, _, other)| other == letter).count(), 1);
        }
    }

    #[test]
    fn sections_are_counted_by_what_they_hold_and_nothing_is_dropped() {
        let kind = |role, source, section| PromptKind::of(role, source, section).name();
        assert_eq!(kind(Role::System, Source::Prompt, "card"), "system");
        assert_eq!(kind(Role::System, Source::Prompt, "tools"), "tools");
        assert_eq!(kind(Role::User, Source::Prompt, "data"), "data");
        assert_eq!(kind(Role::User, Source::Prompt, "anything"), "task");
        assert_eq!(kind(Role::Assistant, Source::Reply, "reply"), "history");
        assert_eq!(kind(Role::Tool, Source::Tool, "result"), "results");
        assert_eq!(kind(Role::User, Source::Feedback, "feedback"), "feedback");
        let mut sizes = PromptSizes::default();
        sizes.add(PromptKind::Data, "");
        assert_eq!((sizes.bytes(), sizes.tokens()), (0, 0), "an empty text has no token");
        for (kind, ..) in &PromptKind::ALL {
            sizes.add(*kind, "four");
        }
        assert_eq!(sizes.present().count(), PromptKind::ALL.len());
        assert_eq!(sizes.bytes(), 4 * PromptKind::ALL.len() as u64);
    }
}
