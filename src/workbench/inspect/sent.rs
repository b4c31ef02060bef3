//! The sections of a request with their origins, rebuilt from its messages.
//!
//! In: a session and a turn. Out: the sections in the order in which they were sent, the omitted ones, and the agent without one of its
//! parts.

use std::collections::HashMap;

use crate::agent::Agent;
use crate::event::{Address, Event, MessageAdded, MessagePart, Options, Replies, RequestMade, Role, Source};
use crate::record::TurnAttempts;
use crate::session::Session;
use crate::workbench::prompt_kinds::{PromptKind, PromptSizes};

/// Maximum size of a request in bytes; a larger one is not read.
const MOST_BYTES: u64 = 16_000_000;

/// Origin of a section that represents earlier turns.
const SUMMARY: &str = "summary of the turns before";

/// The place of a part in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestPlace {
    /// A section of a message.
    Section {
        /// The number of the message.
        message: u32,
        /// The index of the section in it.
        section: usize,
    },
    /// The native tool of this name.
    Tool(String),
    /// The schema of the answer.
    Schema,
    /// The model's options.
    Options,
}

/// Returns the agent of a request without one of the parts that are sent next to the messages: a tool, or the options.
///
/// Errors: the agent does not define the part, or the run needs it; the text contains the alternative.
pub(in crate::workbench) fn agent_without(
    agent: &Agent,
    made: &RequestMade,
    place: &RequestPlace,
) -> Result<Agent, String> {
    let mut agent = agent.clone();
    match place {
        RequestPlace::Section { .. } => return Err("it is only a part of a message".to_owned()),
        RequestPlace::Tool(name) => {
            let known = agent.tools.iter().position(|tool| tool.name == *name);
            let missing = || format!("the agent has no [tools.{name}]: it belongs to the mode or to a server");
            agent.tools.remove(known.ok_or_else(missing)?);
            if made.tools.len() == 1 {
                return Err(
                    "it is the only tool, and the mode has another prompt without tools: fork with an edited agent"
                        .to_owned(),
                );
            }
        }
        RequestPlace::Schema => {
            return Err(
                "the answer is checked against it; a model with structured_output = \"prompt\" in config.toml is \
                 asked without it: fork with that model"
                    .to_owned(),
            );
        }
        RequestPlace::Options if made.options == Options::default() => {
            return Err("no option is set".to_owned());
        }
        RequestPlace::Options if agent.model_options == Options::default() => {
            return Err("they come with the model, from config.toml: fork with another model".to_owned());
        }
        RequestPlace::Options => agent.model_options = Options::default(),
    }
    Ok(agent)
}

/// One section of a request: parts of a message that share a line are one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::workbench) struct Section {
    /// Number of its message, and its index there.
    pub(in crate::workbench) key: (u32, usize),
    pub(in crate::workbench) role: Role,
    pub(in crate::workbench) name: String,
    pub(in crate::workbench) text: String,
    /// Origin in words.
    pub(in crate::workbench) origin: String,
    /// At least a part of the text is untrusted: from models, tools or data.
    pub(in crate::workbench) untrusted: bool,
    /// Its content by kind.
    pub(in crate::workbench) sizes: PromptSizes,
}

impl Section {
    /// Returns its place in the requests of its run.
    pub(in crate::workbench) fn place(&self) -> RequestPlace {
        RequestPlace::Section { message: self.key.0, section: self.key.1 }
    }
}

/// A request as it was sent.
pub(in crate::workbench) struct Sent {
    pub(in crate::workbench) made: RequestMade,
    pub(in crate::workbench) sections: Vec<Section>,
    /// Sections of earlier requests of this run that this request omits.
    pub(in crate::workbench) left_out: Vec<Section>,
    /// Size in bytes of a request that is too large to be read.
    pub(in crate::workbench) too_large: Option<u64>,
}

/// Rebuilds the request of a turn; `None` when the turn made none.
pub(in crate::workbench) fn sent(session: &Session, turn: &Address) -> Option<Sent> {
    let run = session.skeleton().run(&turn.run_part())?;
    let (place, places) = session.request_indexes(turn)?;
    let Event::RequestMade(made) = session.event(place)?.event else { return None };
    let bytes = session.bytes_of(places.iter().copied());
    if bytes > MOST_BYTES {
        return Some(Sent { made, sections: Vec::new(), left_out: Vec::new(), too_large: Some(bytes) });
    }
    let replies = replies(session, &places);
    let mut by_number: HashMap<u32, Vec<Section>> = HashMap::new();
    let mut added: Vec<u32> = Vec::new();
    for at in run.messages.iter().filter(|at| **at < place) {
        let Some(envelope) = session.event(*at) else { continue };
        let Event::MessageAdded(message) = envelope.event else { continue };
        let mut found = sections(&message, &envelope.address, &replies);
        // A feedback message at the sending turn itself represents the earlier turns: it repeats their sections.
        if message.source == Source::Feedback && envelope.address == *turn {
            let before: Vec<&Section> = added.iter().filter_map(|m| by_number.get(m)).flatten().collect();
            for section in &mut found {
                let first = before.iter().find(|known| known.name == section.name && known.text == section.text);
                section.origin = first.map_or_else(|| SUMMARY.to_owned(), |first| first.origin.clone());
            }
        }
        added.push(message.m);
        by_number.insert(message.m, found);
    }
    let is_sent = |m: &u32| made.messages.iter().any(|(first, last)| (first..=last).contains(&m));
    let in_order =
        made.messages.iter().flat_map(|(first, last)| added.iter().filter(move |m| (first..=last).contains(m)));
    let sections: Vec<Section> = in_order.filter_map(|m| by_number.get(m)).flatten().cloned().collect();
    // A section that another message repeats counts as sent.
    let repeats = |one: &Section, other: &Section| {
        (&one.name, &one.text, &one.origin) == (&other.name, &other.text, &other.origin)
    };
    let is_repeated = |section: &&Section| sections.iter().any(|sent| repeats(sent, section));
    let not_sent = added.iter().filter(|m| !is_sent(m)).filter_map(|m| by_number.get(m)).flatten();
    let left_out = not_sent.filter(|section| !is_repeated(section)).cloned().collect();
    Some(Sent { made, sections, left_out, too_large: None })
}

/// Returns the replies that the request repeats, by turn.
fn replies(session: &Session, places: &[usize]) -> TurnAttempts {
    let mut replies = TurnAttempts::new();
    for envelope in places.iter().filter_map(|place| session.event(*place)) {
        replies.entry(envelope.address).or_default().apply(&envelope.event);
    }
    replies
}

/// Returns the sections of a message at this address.
fn sections(message: &MessageAdded, at: &Address, replies: &TurnAttempts) -> Vec<Section> {
    let turn = |address: &Address| address.turn_number().map_or_else(String::new, |number| format!(" of t{number}"));
    let origin = match message.source {
        Source::Prompt => "agent".to_owned(),
        Source::Reply => format!("reply{}", turn(at)),
        Source::Feedback => format!("feedback{}", turn(at)),
        Source::Tool => format!("tool{}", turn(at)),
        Source::User => "user".to_owned(),
    };
    let mut found: Vec<Section> = Vec::new();
    let mut push = |name: &str, text: String, origin: String, untrusted: bool| {
        if text.is_empty() {
            return;
        }
        let kind = PromptKind::of(message.role, message.source, name);
        if let Some(last) = found.last_mut().filter(|last| is_same_line(last, name)) {
            if !last.name.split(NAME_GAP).any(|known| known == name) {
                last.name = format!("{}{NAME_GAP}{name}", last.name);
            }
            last.text.push_str(&text);
            last.untrusted |= untrusted;
            last.sizes.add(kind, &text);
            return;
        }
        let mut sizes = PromptSizes::default();
        sizes.add(kind, &text);
        let key = (message.m, found.len());
        found.push(Section { key, role: message.role, name: name.to_owned(), text, origin, untrusted, sizes });
    };
    for part in &message.parts {
        match part {
            MessagePart::Text { section, text, untrusted } => push(section, text.clone(), origin.clone(), *untrusted),
            MessagePart::File { file } => push("file", file.to_string(), origin.clone(), true),
            MessagePart::Call { call } => push("call", call.to_string(), origin.clone(), true),
            MessagePart::Result { name, result, .. } => {
                push("result", result.clone(), format!("{name}{}", turn(at)), true);
            }
            MessagePart::Reply { reply } => {
                let Some((text, calls)) = replies.reply(reply) else { continue };
                let origin = format!("reply{}", turn(reply));
                push("reply", text.to_owned(), origin.clone(), true);
                for call in calls {
                    push("call", call.to_string(), origin.clone(), true);
                }
            }
        }
    }
    found
}

/// Separator of the names of parts that share a line.
const NAME_GAP: &str = " + ";

/// Returns whether a part of this name continues the last line of the previous section.
fn is_same_line(before: &Section, name: &str) -> bool {
    let alone = |name: &str| matches!(name, "call" | "file" | "result");
    !before.text.ends_with('\n') && !alone(name) && !alone(&before.name)
}
