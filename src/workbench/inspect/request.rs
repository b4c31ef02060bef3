//! The request of a turn: the whole request, lists of its parts, the growth over the turns, then section by section.

use ptc_core::value::Json;
use ptc_core::value::json::to_json;

use super::growth::growth;
use super::part_list::PartList;
use super::sent::{RequestPlace, Section, Sent, agent_without, sent};
use super::{Body, Change, Line, Mark, Part, Turn};
use crate::agent::Agent;
use crate::event::{Event, JsonText, Role};
use crate::workbench::format::{count, size};

/// Index of the growth over the turns among the parts of a request.
pub const GROWTH_PART: usize = 3;

/// Returns the parts of the request of a turn. `agent`: that of the run; `None` for a run without one, such as a captured one.
pub(super) fn parts(turn: &Turn<'_>, agent: Option<&Agent>) -> Vec<Part> {
    let Some(now) = sent(turn.session, turn.address) else { return Vec::new() };
    if let Some(bytes) = now.too_large {
        let text = format!("{}: too large to be shown", size(bytes));
        return vec![Part::new("request", Body::Text(text)).marked(Mark::Warn)];
    }
    let before = turn.address.turn_number().and_then(|number| number.checked_sub(1));
    let before = before.and_then(|number| sent(turn.session, &turn.address.run_part().turn(number)));
    let mut sections: Vec<Part> = now.sections.iter().map(|section| part(section, &now, before.as_ref())).collect();
    sections.extend(option_parts(&now, before.as_ref(), agent));
    let gone = before.iter().flat_map(|before| before.sections.iter().filter(|old| !holds(&now, old)));
    let replaced = |old: &&Section| successor(old, &now, before.as_ref()).is_none();
    sections.extend(
        gone.filter(replaced).map(|old| Part { change: Change::Gone, place: None, ..plain(old) }.marked(Mark::Dim)),
    );
    let compaction = turn.find(|event| match event {
        Event::CompactionDone(done) => Some(done),
        _ => None,
    });
    // The usage of a turn's end covers all attempts; the estimate is of one.
    let of_attempt = turn.events.iter().rev().find_map(|envelope| match &envelope.event {
        Event::ReplyEnd(end) => end.usage,
        _ => None,
    });
    let counted = of_attempt.or_else(|| {
        turn.find(|event| match event {
            Event::TurnEnd(end) => end.usage.as_ref(),
            _ => None,
        })
        .copied()
    });
    let list = PartList { now: &now, parts: &sections, counted, compaction };
    let sizes = list.sizes();
    let sized = |part: Part| Part { bytes: sizes.bytes(), tokens: Some(sizes.tokens()), ..part };
    let grown = growth(turn.session, &turn.address.run_part());
    let text = |sent: &Sent| whole(sent).iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    let change =
        before.as_ref().map_or(Change::None, |before| Change::Changed(Line::difference(&text(before), &text(&now))));
    let in_order =
        sized(Part::new("whole request", Body::Lines(whole(&now))).noted("in the order in which it was sent"));
    let firsts = [
        Part { change, ..in_order },
        sized(Part::new("parts by kind", Body::Lines(list.by_size())).noted("the largest first")),
        sized(Part::new("parts as sent", Body::Lines(list.in_order())).noted("in the order of the request")),
        Part::new("over the turns", Body::Growth(grown, turn.address.clone())).noted("size by kind"),
    ];
    firsts.into_iter().chain(sections).collect()
}

/// Returns the request as one text: every message with its role, then tools, schema and options.
fn whole(now: &Sent) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut number = None;
    for section in &now.sections {
        if number != Some(section.key.0) {
            number = Some(section.key.0);
            let of_message = now.sections.iter().filter(|other| other.key.0 == section.key.0);
            let tokens: u64 = of_message.map(|section| section.sizes.tokens()).sum();
            lines.push(Line::new(Mark::Title, format!("── {} · ~{} tok", section.role.name(), count(tokens))));
        }
        let mark = if section.untrusted { Mark::Warn } else { Mark::Plain };
        lines.extend(section.text.lines().map(|line| Line::new(mark, line)));
    }
    let mut beside = |title: String, text: String| {
        lines.push(Line::new(Mark::Title, format!("── {title}")));
        lines.extend(text.lines().map(|line| Line::new(Mark::Plain, line)));
    };
    for tool in &now.made.tools {
        beside(format!("tool · {}", tool.name), to_json(tool).to_pretty());
    }
    if let Some(schema) = &now.made.schema {
        beside("schema of the answer".to_owned(), schema.json().to_pretty());
    }
    let options = to_json(&now.made.options);
    if options.members().is_some_and(|members| !members.is_empty()) {
        beside("options".to_owned(), options.to_pretty());
    }
    lines
}

fn holds(request: &Sent, section: &Section) -> bool {
    request.sections.iter().any(|other| other.key == section.key)
}

pub(in crate::workbench) fn title(section: &Section) -> String {
    if section.role == Role::System { format!("system · {}", section.name) } else { section.name.clone() }
}

fn plain(section: &Section) -> Part {
    let mark = if section.untrusted { Mark::Warn } else { Mark::Plain };
    let part = Part::new(title(section), Body::Exact(section.text.clone())).noted(section.origin.clone()).marked(mark);
    Part { tokens: Some(section.sizes.tokens()), place: Some(section.place()), ..part }
}

fn part(section: &Section, now: &Sent, before: Option<&Sent>) -> Part {
    let change = match before {
        None => Change::None,
        Some(before) if holds(before, section) => Change::Same,
        Some(before) => match predecessor(section, now, before) {
            Some(old) if old.text == section.text => Change::Same,
            Some(old) => Change::Changed(Line::difference(&old.text, &section.text)),
            None => Change::New,
        },
    };
    Part { change, ..plain(section) }
}

/// Returns the section of the previous request that this new section replaces: it is no longer sent, has the same name and role, and the
/// same index among such sections.
fn predecessor<'s>(section: &Section, now: &Sent, before: &'s Sent) -> Option<&'s Section> {
    let alike = |other: &&Section| other.name == section.name && other.role == section.role;
    let nth = now.sections.iter().filter(|other| !holds(before, other)).filter(alike).position(|o| o == section)?;
    before.sections.iter().filter(|other| !holds(now, other)).filter(alike).nth(nth)
}

/// Returns the new section that replaces an old one.
fn successor<'s>(old: &Section, now: &'s Sent, before: Option<&Sent>) -> Option<&'s Section> {
    let before = before?;
    now.sections
        .iter()
        .filter(|section| !holds(before, section))
        .find(|section| predecessor(section, now, before) == Some(old))
}

/// Returns the parts that are sent next to the messages: tools, the schema of the answer, options.
fn option_parts(now: &Sent, before: Option<&Sent>, agent: Option<&Agent>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut push = |title: String, place: RequestPlace, json: Json, old: Option<Json>| {
        let (text, old) = (json.to_pretty(), old.map(|old| old.to_pretty()));
        let change = match (before, old) {
            (None, _) => Change::None,
            (Some(_), None) => Change::New,
            (Some(_), Some(old)) if old == text => Change::Same,
            (Some(_), Some(old)) => Change::Changed(Line::difference(&old, &text)),
        };
        let compact = json.to_text();
        let part = Part::new(title, Body::Tree(json, Vec::new())).counted(&compact).noted("agent");
        let fixed = agent.and_then(|agent| agent_without(agent, &now.made, &place).err());
        parts.push(Part { change, fixed, place: Some(place), ..part });
    };
    for tool in &now.made.tools {
        let known = before.and_then(|before| before.made.tools.iter().find(|known| known.name == tool.name));
        push(format!("tool · {}", tool.name), RequestPlace::Tool(tool.name.clone()), to_json(tool), known.map(to_json));
    }
    if let Some(schema) = &now.made.schema {
        let old = before.and_then(|before| before.made.schema.as_ref()).map(JsonText::json);
        push("schema".to_owned(), RequestPlace::Schema, schema.json(), old);
    }
    let options = |made: &crate::event::RequestMade| to_json(&made.options);
    let old = before.map(|before| options(&before.made));
    push("options".to_owned(), RequestPlace::Options, options(&now.made), old);
    parts
}
