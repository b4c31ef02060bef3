//! Redaction: removes confidential content from the events, before any format sees them.
//!
//! In: events and rules. Out: events that are as readable as before, and what was removed where. It must never change the shape of an
//! event, nor show what it removed.

mod content;
mod definition;
mod rules;
#[cfg(test)]
mod samples;
mod walk;

use std::collections::{HashMap, HashSet};

use ptc_core::value::Json;
use ptc_core::value::json::{self, Node};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::event::{
    Address, AgentRecord, Envelope, Event, JsonText, PartKind, ReplyPart, RunStart, Sent, TextRecord, Unknown, hex_sha,
};
use crate::model::Scrub;
use crate::record::{Attempts, TurnAttempts};

pub use rules::{REDACTIONS, Redaction, Rules};
use walk::{Echoes, Hit, Scope, Walk};

/// Something that was (or would be) removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// Address of the event.
    pub address: Address,
    /// The event's kind and the path in its data, such as `tool.end result.user.email`.
    pub field: String,
    /// The rule: a policy's or selector's word, a scan rule, `field:…`, `regex:…`, `known_secret`, or `repeated`.
    pub rule: String,
    /// Number of removals there.
    pub count: usize,
    /// The start of the first and its length; never more than three characters of it.
    pub excerpt: String,
}

impl Removal {
    /// A text of the header of a session that looks like a secret.
    pub fn of_header() -> Self {
        let (field, rule) = ("header".to_owned(), "secrets".to_owned());
        Self { address: Address::from(""), field, rule, count: 1, excerpt: String::new() }
    }
}

impl std::fmt::Display for Removal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { address, field, rule, count, excerpt } = self;
        let times = if *count == 1 { String::new() } else { format!(" ×{count}") };
        write!(f, "{address}  {field}  {rule}{times}  {excerpt}")
    }
}

/// Redacted events.
#[derive(Debug, Clone, Default)]
pub struct RedactedEvents {
    /// The events.
    pub events: Vec<Envelope>,
    /// The removals, in the order of the events.
    pub removals: Vec<Removal>,
}

/// Applies rules to the events of a session. Raw network frames go with any rule: nothing in them can be looked at.
///
/// Errors: an event could not be written again; nothing must be exported then.
pub fn redact(events: Vec<Envelope>, rules: &Rules) -> Result<RedactedEvents, String> {
    if rules.is_empty() {
        return Ok(RedactedEvents { events, removals: Vec::new() });
    }
    let events = with_what_was_read(events);
    let echoes = Echoes::of(&events, rules)?;
    applied(events, &Walk { rules, echoes: &echoes })
}

/// Applies the rules to the events.
fn applied(mut events: Vec<Envelope>, walk: &Walk<'_>) -> Result<RedactedEvents, String> {
    let mut found = Found::default();
    replies(&mut events, walk, &mut found);
    let mut out = Vec::with_capacity(events.len());
    for envelope in events {
        found.at = envelope.seq;
        let address = redact_address(&envelope.address, walk, &mut found);
        let event = match envelope.event {
            Event::Wire(_) | Event::RawRequest(_) | Event::RawReply(_) => continue,
            part @ Event::ReplyPart(_) => part,
            event => redact_event(&address, event, walk, &mut found)?,
        };
        out.push(Envelope { address, event, ..envelope });
    }
    for envelope in &mut out {
        if let Event::ProgramEnd(end) = &mut envelope.event
            && found.changed.contains(&envelope.address)
        {
            // The program has other bytes now; a place in the old one would point somewhere else.
            end.span = None;
        }
    }
    found.removals.sort_by_key(|(seq, _)| *seq);
    Ok(RedactedEvents { events: out, removals: found.removals.into_iter().map(|(_, removal)| removal).collect() })
}

/// Returns text that looks like a secret in the events of an export: by itself, or because it did so at another position of `all`, the
/// events before redaction. `known` are the keys of this machine.
pub fn remaining_secrets(all: &[Envelope], left: &[Envelope], known: Scrub) -> Result<Vec<Removal>, String> {
    let rules = Rules::scan(known);
    let echoes = Echoes::of(&with_what_was_read(all.to_vec()), &rules)?;
    let walk = Walk { rules: &rules, echoes: &echoes };
    applied(with_what_was_read(left.to_vec()), &walk).map(|redacted| redacted.removals)
}

/// Earlier removals are searched for the same place and rule: those of one text are adjacent.
const NEAR: usize = 16;

#[derive(Default)]
struct Found {
    /// The number of the event that is looked at.
    at: u64,
    /// Each with the number of its first event.
    removals: Vec<(u64, Removal)>,
    /// Turns whose reply has changed.
    changed: HashSet<Address>,
}

impl Found {
    fn add(&mut self, address: &Address, kind: &str, hits: Vec<Hit>) {
        for hit in hits {
            let field = if hit.path.is_empty() { kind.to_owned() } else { format!("{kind} {}", hit.path.join(".")) };
            let is_same = |known: &Removal| known.address == *address && known.field == field && known.rule == hit.rule;
            if let Some((_, known)) = self.removals.iter_mut().rev().take(NEAR).find(|(_, known)| is_same(known)) {
                known.count += 1;
            } else {
                let (address, rule, excerpt) = (address.clone(), hit.rule, hit.excerpt);
                self.removals.push((self.at, Removal { address, field, rule, count: 1, excerpt }));
            }
        }
    }
}

/// Stores the text that was read from each reply, in place of its byte range: the bytes of the reply may change.
fn with_what_was_read(mut events: Vec<Envelope>) -> Vec<Envelope> {
    let mut replies = TurnAttempts::new();
    for envelope in &mut events {
        match &mut envelope.event {
            event @ (Event::ReplyPart(_) | Event::ReplyEnd(_)) => {
                replies.entry(envelope.address.clone()).or_default().apply(event);
            }
            Event::Extract(extract) => {
                let text = replies.get(&envelope.address).map(Attempts::text).unwrap_or_default();
                if let (None, Some((start, end))) = (&extract.repaired, extract.span) {
                    extract.repaired = text.get(start..end).map(|text| TextRecord::of(text.to_owned()));
                }
                (extract.span, extract.error_at) = (None, None);
            }
            _ => {}
        }
    }
    events
}

/// The positions of the parts of each reply: of an address and attempt, text and reasoning apart.
fn whole_replies(events: &[Envelope]) -> HashMap<(Address, u32, PartKind), Vec<usize>> {
    let mut whole: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, envelope) in events.iter().enumerate() {
        if let Event::ReplyPart(part) = &envelope.event {
            whole.entry((envelope.address.clone(), part.attempt, part.kind)).or_default().push(place);
        }
    }
    whole
}

/// The text of a part of a reply.
fn reply_text(envelope: &Envelope) -> Option<&str> {
    match &envelope.event {
        Event::ReplyPart(part) => Some(&part.text),
        _ => None,
    }
}

/// A reply arrives in parts: it is examined as a whole, and the rest is divided into the same parts.
fn replies(events: &mut [Envelope], walk: &Walk<'_>, found: &mut Found) {
    let mut whole: Vec<_> = whole_replies(events).into_iter().collect();
    whole.sort_by_key(|(_, places)| places.first().copied());
    for (key, places) in whole {
        let parts: Vec<String> =
            places.iter().map(|place| reply_text(&events[*place]).unwrap_or_default().to_owned()).collect();
        let cut = walk.text(&parts.concat(), content::Group::Replies, None);
        if cut.is_empty() {
            continue;
        }
        for (place, text) in places.iter().zip(walk::parts_without(&parts, &cut)) {
            if let Some(part) = part_of(&mut events[*place]) {
                part.lens = vec![u32::try_from(text.len()).unwrap_or(u32::MAX)];
                part.ms = vec![part.ms.last().copied().unwrap_or_default()];
                part.text = text;
            }
        }
        let address = Address::from(walk.name_without(key.0.as_str()).as_str());
        found.changed.insert(address.clone());
        let joined = parts.concat();
        let hits = cut.iter().map(|cut| Hit::of(&["text".to_owned()], cut, &joined)).collect();
        found.at = places.first().map_or(0, |place| events[*place].seq);
        found.add(&address, "reply.part", hits);
    }
}

fn part_of(envelope: &mut Envelope) -> Option<&mut ReplyPart> {
    match &mut envelope.event {
        Event::ReplyPart(part) => Some(part),
        _ => None,
    }
}

/// The data of an event as a tree. The value of an edit with a name (`context.email`) is under that name, so that rules about fields see
/// it.
fn tree(event: &Event) -> Result<Json, String> {
    let data = event.data().map_err(|error| error.to_string())?;
    let tree = json::parse(data.get()).map_err(|error| error.to_string())?;
    let (Some(name), Some(after)) = (edited_name(event), tree.get("after").cloned()) else { return Ok(tree) };
    Ok(with_after(tree, &Json::empty().with(name, after)))
}

/// The name in the context that an edit puts something under.
fn edited_name(event: &Event) -> Option<&str> {
    match event {
        Event::Edit(edit) => edit.target.strip_prefix("context."),
        _ => None,
    }
}

/// The data of an edit with something else in its place.
fn with_after(tree: Json, after: &Json) -> Json {
    let Node::Object(mut members) = tree.node else { return tree };
    members.iter_mut().filter(|member| member.key == "after").for_each(|member| member.value = after.clone());
    Node::Object(members).into()
}

/// An address without secrets. Files may hold any text as one.
fn redact_address(address: &Address, walk: &Walk<'_>, found: &mut Found) -> Address {
    let cuts = walk.found(address.as_str(), None, content::Group::Shape);
    if cuts.is_empty() {
        return address.clone();
    }
    let clean = Address::from(walk::without(address.as_str(), &cuts).as_str());
    found.add(&clean, "address", cuts.iter().map(|cut| Hit::of(&[], cut, address.as_str())).collect());
    clean
}

fn redact_event(address: &Address, event: Event, walk: &Walk<'_>, found: &mut Found) -> Result<Event, String> {
    let kind = walk.name_without(event.kind());
    let failed = |why: String| format!("{kind} at {address} cannot be redacted: {why}");
    let event = match event {
        // The frame repeats tools and options in the provider's words.
        Event::Sent(sent) if !walk.rules.is_scan() => Event::Sent(Sent { frame: JsonText::default(), ..sent }),
        Event::Unknown(unknown) if unknown.kind != kind => {
            let cuts = walk.found(&unknown.kind, None, content::Group::Shape);
            found.add(address, "kind", cuts.iter().map(|cut| Hit::of(&[], cut, &unknown.kind)).collect());
            Event::Unknown(Unknown { kind: kind.clone(), ..unknown })
        }
        event => event,
    };
    let whole = tree(&event).map_err(failed)?;
    let (hits, changed) = match redacted_tree(&event, Scope::Every, whole.clone(), walk) {
        // A stored word happens to be spelled like a secret.
        Err(_) => redacted_tree(&event, Scope::WithoutShape, whole, walk).map_err(failed)?,
        Ok(redacted) => redacted,
    };
    found.add(address, &kind, hits);
    Ok(changed.unwrap_or(event))
}

/// The event without what must go, if that changes it, and what that is.
fn redacted_tree(
    event: &Event,
    scope: Scope,
    mut tree: Json,
    walk: &Walk<'_>,
) -> Result<(Vec<Hit>, Option<Event>), String> {
    let hits = walk.tree(content::Fields::of(event), scope, &mut tree);
    if hits.is_empty() {
        return Ok((hits, None));
    }
    if edited_name(event).is_some() {
        // The whole of it may be removed: then the name has no value any more.
        let after = tree.get("after").cloned().unwrap_or_default();
        let inner = after.members().and_then(<[_]>::first).map(|member| member.value.clone());
        tree = with_after(tree, &inner.unwrap_or(after));
    }
    let text = RawValue::from_string(tree.to_text()).map_err(|error| error.to_string())?;
    let mut changed = Event::read(event.kind(), &text).map_err(|error| error.to_string())?;
    if let (Event::RunStart(before), Event::RunStart(start)) = (event, &mut changed) {
        let old: Vec<&AgentRecord> = agents(before).collect();
        let later = start.pipeline.iter_mut().flat_map(|pipeline| &mut pipeline.then).map(|step| &mut step.agent);
        let new = [&mut start.agent].into_iter().chain(later);
        new.zip(old)
            .filter(|(new, old)| new.toml != old.toml)
            .for_each(|(new, _)| new.sha = hex_sha(new.toml.as_bytes()));
    }
    Ok((hits, Some(changed)))
}

/// The agents that a run names: its own and those of later steps.
fn agents(start: &RunStart) -> impl Iterator<Item = &AgentRecord> {
    let later = start.pipeline.iter().flat_map(|pipeline| &pipeline.then).map(|step| &step.agent);
    [&start.agent].into_iter().chain(later)
}

/// A text of the header of a session without secrets, if secrets are removed.
pub fn redact_text(text: &str, rules: &Rules) -> String {
    let walk = Walk { rules, echoes: &Echoes::default() };
    walk::without(text, &walk.found(text, None, content::Group::Shape))
}

#[cfg(test)]
mod tests;
