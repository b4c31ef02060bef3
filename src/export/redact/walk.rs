//! Looking through one event: every text of its content, the names of members, and texts that repeat what went elsewhere.

use std::collections::HashSet;
use std::ops::Range;

use ptc_core::value::Json;
use ptc_core::value::json::Node;
use regex::Regex;

use super::content::{Fields, Group};
use super::rules::{Body, Rules, SUMMARY_CHARS};
use crate::event::Envelope;

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
fn excerpt(text: &str) -> String {
    let chars = text.chars().count();
    let shown: String = if chars >= 12 { text.chars().take(3).collect() } else { String::new() };
    format!("{shown}… ({chars} characters)")
}

/// Texts that were taken out somewhere and are looked for everywhere.
#[derive(Default)]
pub(super) struct Echoes(Option<Regex>);

impl Echoes {
    pub(super) fn of(events: &[Envelope], rules: &Rules) -> Result<Self, String> {
        let mut texts = HashSet::new();
        for reply in super::whole_replies(events).values() {
            let text: String = reply.iter().filter_map(|place| super::reply_text(&events[*place])).collect();
            rules.secrets_in(&text, None).iter().for_each(|secret| keep(secret, &mut texts));
        }
        for envelope in events {
            let tree = super::tree(&envelope.event)?;
            collect(Fields::of(&envelope.event), &tree, &mut Vec::new(), false, rules, &mut texts);
        }
        if texts.is_empty() {
            return Ok(Self::default());
        }
        let mut texts: Vec<String> = texts.into_iter().collect();
        texts.sort_by_key(|text| (std::cmp::Reverse(text.len()), text.clone()));
        if texts.len() > ECHOES {
            return Err(format!(
                "{} texts would have to be looked for wherever they are repeated, which is too many: take out whole kinds of content with `--redact full`",
                texts.len()
            ));
        }
        let any: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
        let built = regex::RegexBuilder::new(&any.join("|")).size_limit(1 << 28).build();
        built.map(|found| Self(Some(found))).map_err(|error| {
            format!("the repeated texts cannot be looked for ({error}): take out whole kinds of content with `--redact full`")
        })
    }
}

fn collect(
    fields: Fields,
    json: &Json,
    path: &mut Vec<String>,
    inside: bool,
    rules: &Rules,
    out: &mut HashSet<String>,
) {
    let inside = inside
        || fields.place(path).is_some_and(|place| rules.spreads(place.group) || rules.field(path, place.own).is_some());
    // A secret that was found once is known from then on. A reply is looked at as a whole, not in its parts.
    let is_content = !fields.is_piece() && fields.place(path).is_some();
    let secrets = |text: &str, name: Option<&str>, out: &mut HashSet<String>| {
        if is_content {
            rules.secrets_in(text, name).iter().for_each(|secret| keep(secret, out));
        }
    };
    match &json.node {
        Node::Str(text) if inside => keep(text, out),
        Node::Str(text) => secrets(text, path.last().map(String::as_str), out),
        Node::Int(_) | Node::Big(_) | Node::Float(_) if inside => {
            let text = json.to_text();
            if text.len() >= ECHO_CHARS {
                out.insert(text);
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
                secrets(&member.key, None, out);
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

impl Walk<'_> {
    /// Takes out of the data of an event what must go.
    pub(super) fn tree(&self, fields: Fields, tree: &mut Json) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.node(fields, tree, &mut Vec::new(), &mut hits);
        hits
    }

    fn node(&self, fields: Fields, json: &mut Json, path: &mut Vec<String>, hits: &mut Vec<Hit>) {
        let place = fields.place(path);
        let group = place.map(|place| place.group);
        if let Some(rule) = place.and_then(|place| self.rules.field(path, place.own))
            && !matches!(json.node, Node::Null)
        {
            let text = json.as_str().map_or_else(|| json.to_text(), str::to_owned);
            hits.push(Hit { path: path.clone(), rule: rule.clone(), excerpt: excerpt(&text) });
            *json = Json::str(format!("[removed: {rule}]"));
            return;
        }
        // Data is removed as a whole: the names of its members may be content as well.
        let whole = place.is_some_and(|place| place.own == path.len() && self.rules.body(place.group) == Body::Nothing);
        if whole && matches!(json.node, Node::List(_) | Node::Object(_)) {
            let text = json.to_text();
            hits.push(Hit { path: path.clone(), rule: CONTENT.to_owned(), excerpt: excerpt(&text) });
            *json = Json::str(removed_bytes(text.len()));
            return;
        }
        match &mut json.node {
            Node::Str(text) => {
                let Some(group) = group else { return };
                let cuts = self.text(text, Some(group), path.last().map(String::as_str));
                hits.extend(cuts.iter().map(|cut| Hit::of(path, cut, text)));
                *text = without(text, &cuts);
            }
            Node::List(items) => {
                for (place, item) in items.iter_mut().enumerate() {
                    path.push(place.to_string());
                    self.node(fields, item, path, hits);
                    path.pop();
                }
            }
            Node::Object(members) => {
                for member in members {
                    let key = member.key.clone();
                    path.push(key.clone());
                    self.node(fields, &mut member.value, path, hits);
                    // The names of members are content when they are inside content: an address book has people as keys.
                    if fields.place(&path[..path.len() - 1]).is_some() {
                        let cuts = self.found(&key, None);
                        hits.extend(cuts.iter().map(|cut| Hit::of(path, cut, &key)));
                        member.key = without(&key, &cuts);
                    }
                    path.pop();
                }
            }
            Node::Int(_) | Node::Big(_) | Node::Float(_) => {
                let Some(group) = group else { return };
                let text = json.to_text();
                let cuts = self.text(&text, Some(group), None);
                if !cuts.is_empty() {
                    hits.extend(cuts.iter().map(|cut| Hit::of(path, cut, &text)));
                    *json = Json::str(without(&text, &cuts));
                }
            }
            Node::Null | Node::Bool(_) => {}
        }
    }

    /// What of a text must go: in order, without overlaps.
    pub(super) fn text(&self, text: &str, group: Option<Group>, name: Option<&str>) -> Vec<Cut> {
        let body = group.map_or(Body::Whole, |group| self.rules.body(group));
        let removed = |from: usize, bytes: usize| Cut {
            range: from..text.len(),
            rule: CONTENT.to_owned(),
            mask: removed_bytes(bytes),
        };
        match body {
            Body::Nothing if !text.is_empty() => vec![removed(0, text.len())],
            Body::Start => {
                let mut cuts = self.found(text, name);
                if let Some((end, _)) = text.char_indices().nth(SUMMARY_CHARS) {
                    cuts.retain(|cut| cut.range.start < end);
                    let from = cuts.last().map_or(end, |last| last.range.end.max(end));
                    if from < text.len() {
                        cuts.push(removed(from, text.len() - from));
                    }
                }
                cuts
            }
            _ => self.found(text, name),
        }
    }

    fn found(&self, text: &str, name: Option<&str>) -> Vec<Cut> {
        let mut found = self.rules.find(text, name);
        if let Some(echoes) = &self.echoes.0 {
            found.extend(echoes.find_iter(text).map(|place| (place.range(), "repeated".to_owned())));
        }
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

/// The rule of bodies that go as a whole.
const CONTENT: &str = "content";

fn removed_bytes(bytes: usize) -> String {
    format!("[removed: {bytes} bytes]")
}

/// The text with masks where the cuts are.
fn without(text: &str, cuts: &[Cut]) -> String {
    parts_without(&[text.to_owned()], cuts).concat()
}

/// The same for a text in parts: a mask is placed in the part where its cut begins.
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
    fn an_excerpt_tells_the_length_and_hardly_more() {
        assert_eq!(excerpt("hunter2"), "… (7 characters)");
        assert_eq!(excerpt("a-long-secret-text"), "a-l… (18 characters)");
    }
}
