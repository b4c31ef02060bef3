//! The types of options: how a value is checked, documented and stored in [`Settings`].
//!
//! In: a value as written. Out: a problem, a line of the reference, or changed settings. Must not know any option by its name.

use ptc_core::limits::Limit;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::settings::{Settings, whole_number};
use super::{Agent, Diagnostic, case};
use crate::config::document::{Entry, KeyDoc, KeyLine, Names, Problem};

/// Reads an option that has parts into the settings, with findings about its parts.
pub(super) type ReadParts = fn(&Agent, &mut Settings, &mut Vec<Diagnostic>);

/// Stores one of the words of an option.
pub(super) type Choose = fn(&mut Settings);

/// The type of an option, with what stores its value.
#[derive(Debug, Clone, Copy)]
pub(super) enum OptionType {
    /// true or false.
    Flag(fn(&mut Settings, bool)),
    /// A number in the range of a limit; `None` where neither the file nor the limit has one.
    Limit(&'static Limit, fn(&mut Settings, Option<u64>)),
    /// A whole number, and the one without the key.
    Count(u64, fn(&mut Settings, u64)),
    /// A number that is not negative.
    Amount(fn(&mut Settings, f64)),
    /// Text.
    Text(fn(&mut Settings, &str)),
    /// One of these words; the first is the default.
    Word(&'static [(&'static str, Choose)]),
    /// A table.
    Table(ReadParts),
    /// A list.
    List(ReadParts),
    /// true, false or a table.
    FlagOrTable(ReadParts),
    /// Cases.
    Cases,
}

impl OptionType {
    /// Checks that a value has this type.
    pub(super) fn check(&self, name: &str, entry: &Entry<'_>) -> Result<(), Problem> {
        match self {
            Self::Flag(_) => entry.flag().map(drop),
            Self::Limit(limit, _) => entry.limit(limit).map(drop),
            Self::Count(..) => entry.count().map(drop),
            Self::Amount(_) => entry.amount().map(drop),
            Self::Text(_) => entry.non_blank_text().map(drop),
            Self::Word(words) => {
                let rows: Vec<(&str, ())> = words.iter().map(|(word, _)| (*word, ())).collect();
                entry.named(&Names { what: name, rows: &rows })
            }
            Self::Table(_) => entry.entries().map(drop),
            Self::List(_) => entry.json.items().map(drop).ok_or_else(|| entry.expected("a list")),
            Self::Cases => case::read(entry, &Json::empty()).map(drop),
            Self::FlagOrTable(_) => match entry.json.node {
                Node::Bool(_) | Node::Object(_) => Ok(()),
                _ => Err(entry.expected("true, false or a table")),
            },
        }
    }

    /// Adds type and default to the line of an option. Limits document themselves.
    pub(super) fn document(&self, line: &KeyLine) -> KeyLine {
        let typed =
            |takes: &str, usual: &str| KeyLine { takes: takes.to_owned(), usual: usual.to_owned(), ..line.clone() };
        match self {
            Self::Limit(limit, _) => KeyDoc::Limit(limit).line(&line.name),
            Self::Flag(_) => typed("true or false", "false"),
            Self::Count(usual, _) => typed("whole number", &usual.to_string()),
            Self::Amount(_) => typed("number from 0", ""),
            Self::Text(_) => typed("text", ""),
            Self::Word(words) => {
                let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                typed(&names.join(", "), names.first().copied().unwrap_or_default())
            }
            Self::Table(_) => typed("table", ""),
            Self::List(_) => typed("list", ""),
            Self::FlagOrTable(_) => typed("true, false or a table", "false"),
            Self::Cases => typed("list of tables", ""),
        }
    }

    /// Stores the option of an agent, or its default, in the settings.
    pub(super) fn store(&self, name: &str, agent: &Agent, settings: &mut Settings, findings: &mut Vec<Diagnostic>) {
        let written = agent.option(name);
        match self {
            Self::Flag(set) => set(settings, agent.asks(name)),
            Self::Limit(limit, set) => set(settings, written.and_then(whole_number).or(limit.default)),
            Self::Count(usual, set) => set(settings, written.and_then(whole_number).unwrap_or(*usual)),
            Self::Amount(set) => {
                if let Some(amount) = written.and_then(number) {
                    set(settings, amount);
                }
            }
            Self::Text(set) => {
                if let Some(text) = written.and_then(Json::as_str) {
                    set(settings, text);
                }
            }
            Self::Word(words) => {
                let word = written.and_then(Json::as_str);
                let row = words.iter().find(|(name, _)| Some(*name) == word).or(words.first());
                if let Some((_, set)) = row {
                    set(settings);
                }
            }
            Self::Table(read) | Self::List(read) | Self::FlagOrTable(read) => read(agent, settings, findings),
            Self::Cases => {}
        }
    }
}

fn number(json: &Json) -> Option<f64> {
    match json.node {
        #[expect(clippy::cast_precision_loss, reason = "costs are doubles")]
        Node::Int(int) => Some(int as f64),
        Node::Float(float) => Some(float),
        _ => None,
    }
}
