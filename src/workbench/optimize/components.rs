//! The texts of an agent that a search may change. Its signature, its cases and their expectations are not among them.
//!
//! In: an agent. Out: its texts by component, and agents with other texts. It must never change anything else of an agent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use ptc_core::template;
use ptc_core::value::Json;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::examples;
use crate::agent::{Agent, Plan};

/// The texts of an agent or a candidate, by component.
pub type Texts = BTreeMap<Component, String>;

/// Maximum length of a text, in bytes.
const MOST_BYTES: usize = 32 * 1024;

/// A changeable text of an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, SerializeDisplay, DeserializeFromStr)]
pub enum Component {
    /// `prompt`, without its block of examples.
    Prompt,
    /// The block of examples at the end of `prompt`.
    Examples,
    /// A part of `[system_prompt]` that the file has.
    System(SystemPart),
    /// `[field_descriptions]`
    Field(String),
    /// `[context_descriptions]`
    Input(String),
    /// `description` of a tool.
    Tool(String),
}

/// A part of the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SystemPart {
    /// `replace`
    Replace,
    /// `prefix`
    Prefix,
    /// `suffix`
    Suffix,
}

impl SystemPart {
    const ALL: [Self; 3] = [Self::Replace, Self::Prefix, Self::Suffix];

    fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Prefix => "prefix",
            Self::Suffix => "suffix",
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt => f.write_str("prompt"),
            Self::Examples => f.write_str("examples"),
            Self::System(part) => write!(f, "system_prompt.{}", part.name()),
            Self::Field(name) => write!(f, "field_descriptions.{name}"),
            Self::Input(name) => write!(f, "context_descriptions.{name}"),
            Self::Tool(name) => write!(f, "tools.{name}.description"),
        }
    }
}

impl FromStr for Component {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (table, rest) = text.split_once('.').unwrap_or((text, ""));
        let part = || SystemPart::ALL.into_iter().find(|part| part.name() == rest).map(Self::System);
        let tool = || rest.strip_suffix(".description").map(|name| Self::Tool(name.to_owned()));
        let found = match table {
            "prompt" if rest.is_empty() => Some(Self::Prompt),
            "examples" if rest.is_empty() => Some(Self::Examples),
            "system_prompt" => part(),
            "field_descriptions" => Some(Self::Field(rest.to_owned())),
            "context_descriptions" => Some(Self::Input(rest.to_owned())),
            "tools" => tool(),
            _ => None,
        };
        found.ok_or_else(|| format!("`{text}` is not a text that a search can change"))
    }
}

/// Returns the texts of an agent.
pub(super) fn texts_of(agent: &Agent) -> Texts {
    let system = &agent.system_prompt;
    let parts = [
        (SystemPart::Replace, &system.replace),
        (SystemPart::Prefix, &system.prefix),
        (SystemPart::Suffix, &system.suffix),
    ];
    let system = parts.into_iter().filter_map(|(part, text)| Some((Component::System(part), text.clone()?)));
    let fields = agent.field_descriptions.iter().map(|(name, text)| (Component::Field(name.clone()), text.clone()));
    let inputs = agent.context_descriptions.iter().map(|(name, text)| (Component::Input(name.clone()), text.clone()));
    let described = |definition: &Json| definition.get("description").and_then(|text| text.as_str().map(str::to_owned));
    let tools = agent
        .tools
        .iter()
        .map(|tool| (Component::Tool(tool.name.clone()), described(&tool.definition).unwrap_or_default()));
    let (body, block) = examples::split(&agent.prompt);
    let prompt = std::iter::once((Component::Prompt, body.to_owned()));
    let block = Some((Component::Examples, block.to_owned())).filter(|(_, block)| !block.is_empty());
    prompt.chain(block).chain(system).chain(fields).chain(inputs).chain(tools).collect()
}

/// Returns the agent with its texts replaced by these. A text that the agent does not have is ignored.
pub(super) fn with_texts(agent: &Agent, texts: &Texts) -> Agent {
    let (body, block) = examples::split(&agent.prompt);
    let text = |component: &Component, own: &str| texts.get(component).map_or_else(|| own.to_owned(), String::clone);
    let prompt = examples::joined(&text(&Component::Prompt, body), &text(&Component::Examples, block));
    let mut agent = Agent { prompt, ..agent.clone() };
    for (component, text) in texts {
        let named = |pairs: &mut Vec<(String, String)>, name: &str| {
            pairs.iter_mut().filter(|(key, _)| key == name).for_each(|(_, old)| old.clone_from(text));
        };
        match component {
            Component::Prompt | Component::Examples => {}
            Component::System(SystemPart::Replace) => agent.system_prompt.replace = Some(text.clone()),
            Component::System(SystemPart::Prefix) => agent.system_prompt.prefix = Some(text.clone()),
            Component::System(SystemPart::Suffix) => agent.system_prompt.suffix = Some(text.clone()),
            Component::Field(name) => named(&mut agent.field_descriptions, name),
            Component::Input(name) => named(&mut agent.context_descriptions, name),
            Component::Tool(name) => {
                for tool in agent.tools.iter_mut().filter(|tool| tool.name == *name && !text.is_empty()) {
                    tool.definition = tool.definition.clone().with("description", Json::str(text));
                }
            }
        }
    }
    agent
}

/// Checks that a component's text can be replaced by another one. Errors: the reason in one line, for the journal.
pub(super) fn check(agent: &Agent, component: &Component, old: &str, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("the text is empty".to_owned());
    }
    if text.len() > MOST_BYTES {
        return Err(format!("the text has more than {MOST_BYTES} bytes"));
    }
    if matches!(component, Component::Prompt | Component::Examples) {
        let (before, after) = (names(old)?, names(text)?);
        if let Some(lost) = before.symmetric_difference(&after).next() {
            let what = if before.contains(lost) { "lacks" } else { "adds" };
            return Err(format!("the text {what} {{{{{lost}}}}}: a prompt must keep its variables"));
        }
    }
    let changed = with_texts(agent, &Texts::from([(component.clone(), text.to_owned())]));
    let found = Plan::new(&changed).map(drop).map_err(|found| found.first().map(|found| found.message.clone()));
    found.map_err(|why| format!("the agent cannot be used with it: {}", why.unwrap_or_default()))
}

/// Returns the names of the variables of a template.
fn names(text: &str) -> Result<BTreeSet<String>, String> {
    let parsed = template::parse(text).map_err(|error| format!("the text is not a template: {error}"))?;
    Ok(template::variables(&parsed).into_iter().map(|found| found.path.to_string()).collect())
}
