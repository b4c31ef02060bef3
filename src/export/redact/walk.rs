//! Looking through one event: every text of its content, the names of members, and texts that repeat what went elsewhere.

use std::collections::HashSet;
use std::ops::Range;

use ptc_core::value::Json;
use ptc_core::value::json::Node;
use regex::Regex;

use super::content::{Fields, Group, Place};
use super::rules::{Body, Rules, SUMMARY_CHARS};
use crate::event::Envelope;
use crate::model::search_decoded;

/// Characters that a text needs so that its repetitions are not chance.
const ECHO_CHARS: usize = 6;
/// Repeated texts that are looked for; more make an expression too large to be of use.
const ECHOES: usize = 20_000;

/// A place in a text that goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) range: Range<usize>,
    pub(super) rule: String,
    /// The replacement.
    mask: String,
}

/// A cut and where in the event it is.
pub(super) struct Hit {
    pub(super) path: Vec<String>,
    pub(super) rule: String,
    pub(super) excerpt: String,
}

impl Hit {
    pub(super) fn of(path: &[String], cut: &Cut, text: &str) -> Self {
        Self {
            path: path.to_vec(),
            rule: cut.rule.clone(),
            excerpt: excerpt(text.get(cut.range.clone()).unwrap_or_default()),
        }
    }
}

/// The start of what goes and its length.
pub(super) fn excerpt(text: &str) -> String {
    let chars = text.chars().count();
    let shown: String = if chars >= 12 { text.chars().take(3).collect() } else { String::new() };
    format!("{shown}… ({chars} characters)")
}

/// Texts that were taken out somewhere and are looked for everywhere.
#[derive(Default)]
pub(super) struct Echoes {
    /// Secrets: they are looked for in names and words too.
    secrets: Option<Regex>,
    /// Content, and values of named fields.
    texts: Option<Regex>,
}

impl Echoes {
    pub(super) fn of(events: &[Envelope], rules: &Rules) -> Result<Self, String> {
        let mut found = EchoTexts::default();
        for reply in super::whole_replies(events).values() {
            let text: String = reply.iter().filter_map(|place| super::reply_text(&events[*place])).collect();
            found.keep_secrets(&text, None, rules);
        }
        for envelope in events {
            let tree = super::tree(&envelope.event)?;
            collect(Fields::of(&envelope.event), &tree, &mut Vec::new(), false, rules, &mut found);
        }
        Ok(Self { secrets: any_of(found.secrets)?, texts: any_of(found.texts)? })
    }

    fn find(&self, text: &str, group: Group) -> Vec<(Range<usize>, String)> {
        let is_content = !matches!(group, Group::Shape | Group::Identifiers);
        let all = [self.secrets.as_ref(), self.texts.as_ref().filter(|_| is_content)];
        let found = all.into_iter().flatten().flat_map(|echoes| echoes.find_iter(text));
        found.map(|place| (place.range(), "repeated".to_owned())).collect()
    }
}

/// An expression that finds any of these texts; `None` when there are none.
fn any_of(texts: HashSet<String>) -> Result<Option<Regex>, String> {
    if texts.is_empty() {
        return Ok(None);
    }
    let mut texts: Vec<String> = texts.into_iter().collect();
    texts.sort_by_key(|text| (std::cmp::Reverse(text.len()), text.clone()));
    if texts.len() > ECHOES {
        return Err(format!(
            "{} texts are too many to search for repetitions: remove whole kinds of content with `--redact full`",
            texts.len()
        ));
    }
    let any: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
    let built = regex::RegexBuilder::new(&any.join("|")).size_limit(1 << 28).build();
    built.map(Some).map_err(|error| {
        format!(
            "the repeated texts cannot be searched for ({error}): remove whole kinds of content with `--redact full`"
        )
    })
}

/// Texts to be looked for.
#[derive(Default)]
struct EchoTexts {
    secrets: HashSet<String>,
    texts: HashSet<String>,
}

impl EchoTexts {
    /// A secret that was found once is known from then on.
    fn keep_secrets(&mut self, text: &str, name: Option<&str>, rules: &Rules) {
        rules.secrets_in(text, name).iter().for_each(|secret| keep(secret, &mut self.secrets));
    }
}

fn collect(fields: Fields, json: &Json, path: &mut Vec<String>, inside: bool, rules: &Rules, out: &mut EchoTexts) {
    let inside = inside
        || fields.place(path).is_some_and(|place| rules.spreads(place.group) || rules.field(path, place.own).is_some());
    match &json.node {
        Node::Str(text) if inside => keep(text, &mut out.texts),
        // A reply is looked at as a whole, not in its parts.
        Node::Str(_) if fields.is_piece() => {}
        Node::Str(text) => {
            let is_content = fields.place_of_text(path).is_content();
            out.keep_secrets(text, path.last().map(String::as_str).filter(|_| is_content), rules);
        }
        Node::Int(_) | Node::Big(_) | Node::Float(_) if inside => {
            let text = json.to_text();
            if text.len() >= ECHO_CHARS {
                out.texts.insert(text);
            }
        }
        Node::List(items) => {
            for (place, item) in items.iter().enumerate() {
                path.push(place.to_string());
                collect(fields, item, path, inside, rules, out);
                path.pop();
            }
        }
        Node::Object(members) => {
            for member in members {
                out.keep_secrets(&member.key, None, rules);
                path.push(member.key.clone());
                collect(fields, &member.value, path, inside, rules, out);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Keeps a text to be looked for, also as JSON and programs spell it; not when it is so short that it could be anything.
fn keep(text: &str, out: &mut HashSet<String>) {
    let text = text.trim();
    if text.chars().count() >= ECHO_CHARS {
        out.insert(text.to_owned());
        let quoted = Json::str(text).to_text();
        out.insert(quoted[1..quoted.len() - 1].to_owned());
    }
}

/// Rules and repeated texts, on their way through events.
pub(super) struct Walk<'a> {
    pub(super) rules: &'a Rules,
    pub(super) echoes: &'a Echoes,
}

/// The texts of an event that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All.
    Every,
    /// All but stored words and addresses.
    WithoutShape,
}

impl Walk<'_> {
    /// Takes out of the data of an event what must go.
    pub(super) fn tree(&self, fields: Fields, scope: Scope, tree: &mut Json) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.node(fields, scope, tree, &mut Vec::new(), &mut hits);
        self.across(fields, tree, &mut hits);
        for hit in &mut hits {
            hit.path = hit.path.iter().map(|step| self.name_without(step)).collect();
        }
        hits
    }

    /// A name without what must go.
    pub(super) fn name_without(&self, name: &str) -> String {
        without(name, &self.found(name, None, Group::Shape))
    }

    fn node(&self, fields: Fields, scope: Scope, json: &mut Json, path: &mut Vec<String>, hits: &mut Vec<Hit>) {
        let place = fields.place(path);
        if let Some(rule) = place.and_then(|place| self.rules.field(path, place.own))
            && !matches!(json.node, Node::Null)
        {
            let text = json.as_str().map_or_else(|| json.to_text(), str::to_owned);
            hits.push(Hit { path: path.clone(), rule: rule.clone(), excerpt: excerpt(&text) });
            *json = Json::str(format!("[removed: {rule}]"));
            return;
        }
        // Data is removed as a whole: the names of its members may be content as well. Those of a context are the agent's inputs.
        let whole = place.filter(|place| place.own == path.len() && self.rules.body(place.group) == Body::Nothing);
        if let (Some(place), Node::List(_) | Node::Object(_)) = (whole, &json.node) {
            match &mut json.node {
                Node::Object(members) if place.group == Group::Context && !members.is_empty() => {
                    for member in members {
                        path.push(member.key.clone());
                        hits.push(removed_whole(&mut member.value, path));
                        path.pop();
                    }
                }
                _ => hits.push(removed_whole(json, path)),
            }
            return;
        }
        match &mut json.node {
            Node::Str(text) => {
                let place = fields.place_of_text(path);
                if place.group == Group::Shape && scope == Scope::WithoutShape {
                    return;
                }
                if place.is_definition
                    && let Some(changed) = super::definition::redact(text, self, path, hits)
                {
                    *text = changed;
                    return;
                }
                let name = path.last().map(String::as_str).filter(|_| place.is_content());
                let cuts = self.text(text, place.group, name);
                hits.extend(cuts.iter().map(|cut| Hit::of(path, cut, text)));
                *text = without(text, &cuts);
            }
            Node::List(items) => {
                for (place, item) in items.iter_mut().enumerate() {
                    path.push(place.to_string());
                    self.node(fields, scope, item, path, hits);
                    path.pop();
                }
            }
            Node::Object(members) => {
                // The names of members are content when they are inside content: an address book has people as keys.
                // Those of a value that is kept as its head are not.
                let is_data = |place: &Place| place.is_content() && !(place.is_kept && place.own == path.len());
                let names = fields.place(path).filter(is_data).map(|place| place.group);
                for member in members {
                    let key = member.key.clone();
                    path.push(key.clone());
                    self.node(fields, scope, &mut member.value, path, hits);
                    if let Some(group) = names {
                        let cuts = self.found(&key, None, group);
                        hits.extend(cuts.iter().map(|cut| Hit::of(path, cut, &key)));
                        member.key = without(&key, &cuts);
                    }
                    path.pop();
                }
            }
            Node::Int(_) | Node::Big(_) | Node::Float(_) => {
                let Some(group) = place.map(|place| place.group) else { return };
                let text = json.to_text();
                let cuts = self.text(&text, group, None);
                if !cuts.is_empty() {
                    hits.extend(cuts.iter().map(|cut| Hit::of(path, cut, &text)));
                    *json = Json::str(without(&text, &cuts));
                }
            }
            Node::Null | Node::Bool(_) => {}
        }
    }

    /// Takes out known secrets that adjacent texts of data make together.
    fn across(&self, fields: Fields, tree: &mut Json, hits: &mut Vec<Hit>) {
        let mut texts = Vec::new();
        content_texts(fields, tree, &mut Vec::new(), &mut texts);
        let known: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        for ((path, text), places) in texts.iter().zip(self.rules.known_across(&known)) {
            let rule = "known_secret".to_owned();
            let cut = |range| Cut { range, rule: rule.clone(), mask: format!("[removed: {rule}]") };
            let cuts: Vec<Cut> = places.into_iter().map(cut).collect();
            if let (false, Some(at)) = (cuts.is_empty(), at_path(tree, path)) {
                hits.extend(cuts.iter().map(|cut| Hit::of(path, cut, text)));
                *at = Json::str(without(text, &cuts));
            }
        }
    }

    /// Returns the parts of a text to remove: in order, without overlaps.
    pub(super) fn text(&self, text: &str, group: Group, name: Option<&str>) -> Vec<Cut> {
        let removed = |from: usize, bytes: usize| Cut {
            range: from..text.len(),
            rule: CONTENT.to_owned(),
            mask: removed_bytes(bytes),
        };
        match self.rules.body(group) {
            Body::Nothing if !text.is_empty() => vec![removed(0, text.len())],
            Body::Start => {
                let mut cuts = self.found(text, name, group);
                if let Some((end, _)) = text.char_indices().nth(SUMMARY_CHARS) {
                    cuts.retain(|cut| cut.range.start < end);
                    let from = cuts.last().map_or(end, |last| last.range.end.max(end));
                    if from < text.len() {
                        cuts.push(removed(from, text.len() - from));
                    }
                }
                cuts
            }
            _ => self.found(text, name, group),
        }
    }

    /// Returns the parts of a text that rules and repetitions name, in the text as written and as its readers decode it.
    pub(super) fn found(&self, text: &str, name: Option<&str>, group: Group) -> Vec<Cut> {
        let mut found = self.rules.find(text, name, group);
        found.extend(search_decoded(text, |text| self.echoes.find(text, group)));
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut cuts: Vec<Cut> = Vec::new();
        for (range, rule) in found {
            match cuts.last_mut() {
                Some(last) if range.start < last.range.end => last.range.end = last.range.end.max(range.end),
                _ => cuts.push(Cut { mask: format!("[removed: {rule}]"), range, rule }),
            }
        }
        cuts
    }
}

/// Removes data as a whole.
fn removed_whole(json: &mut Json, path: &[String]) -> Hit {
    let text = json.as_str().map_or_else(|| json.to_text(), str::to_owned);
    *json = Json::str(removed_bytes(text.len()));
    Hit { path: path.to_vec(), rule: CONTENT.to_owned(), excerpt: excerpt(&text) }
}

/// The texts inside the data of an event with their paths, in order.
fn content_texts(fields: Fields, json: &Json, path: &mut Vec<String>, out: &mut Vec<(Vec<String>, String)>) {
    match &json.node {
        Node::Str(text) if fields.place(path).is_some_and(Place::is_content) && !fields.is_piece() => {
            out.push((path.clone(), text.clone()));
        }
        Node::List(items) => {
            for (place, item) in items.iter().enumerate() {
                path.push(place.to_string());
                content_texts(fields, item, path, out);
                path.pop();
            }
        }
        Node::Object(members) => {
            for member in members {
                path.push(member.key.clone());
                content_texts(fields, &member.value, path, out);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The node at a path.
fn at_path<'j>(json: &'j mut Json, path: &[String]) -> Option<&'j mut Json> {
    path.iter().try_fold(json, |json, step| match &mut json.node {
        Node::List(items) => items.get_mut(step.parse::<usize>().ok()?),
        Node::Object(members) => members.iter_mut().find(|member| member.key == *step).map(|member| &mut member.value),
        _ => None,
    })
}

/// The rule of bodies that go as a whole.
pub(super) const CONTENT: &str = "content";

pub(super) fn removed_bytes(bytes: usize) -> String {
    format!("[removed: {bytes} bytes]")
}

/// The text with masks where the cuts are.
pub(super) fn without(text: &str, cuts: &[Cut]) -> String {
    parts_without(&[text.to_owned()], cuts).concat()
}

/// Like `without`, for a text in parts: a mask is placed in the part where its cut begins.
pub(super) fn parts_without(parts: &[String], cuts: &[Cut]) -> Vec<String> {
    let mut from = 0;
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        let (start, end) = (from, from + part.len());
        let mut text = String::with_capacity(part.len());
        let mut at = start;
        for cut in cuts.iter().filter(|cut| cut.range.start < end && cut.range.end > start) {
            text.push_str(
                part.get(at.saturating_sub(start)..cut.range.start.saturating_sub(start)).unwrap_or_default(),
            );
            if cut.range.start >= start {
                text.push_str(&cut.mask);
            }
            at = cut.range.end.min(end);
        }
        text.push_str(part.get(at.saturating_sub(start)..).unwrap_or_default());
        out.push(text);
        from = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(range: Range<usize>) -> Cut {
        Cut { range, rule: "r".to_owned(), mask: "#".to_owned() }
    }

    #[test]
    fn a_cut_across_parts_leaves_one_mask_where_it_begins() {
        let parts = ["ab".to_owned(), "cd".to_owned(), String::new(), "ef".to_owned()];
        assert_eq!(parts_without(&parts, &[cut(1..5)]), ["a#", "", "", "f"]);
        assert_eq!(parts_without(&parts, &[cut(0..1), cut(2..3), cut(5..6)]), ["#b", "#d", "", "e#"]);
        assert_eq!(without("abc", &[]), "abc");
    }

    #[test]
    fn an_excerpt_shows_the_length_and_hardly_more() {
        assert_eq!(excerpt("hunter2"), "… (7 characters)");
        assert_eq!(excerpt("a-long-secret-text"), "a-l… (18 characters)");
    }
}
