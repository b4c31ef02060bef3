//! What was sent in a turn: a ledger of where everything comes from and what was left out, then section by section.

use ptc_core::text::estimate_tokens;
use ptc_core::value::Json;
use ptc_core::value::json::to_json;

use super::sent::{Section, Sent, sent};
use super::{Body, Change, Line, Mark, Part, Turn};
use crate::event::{CompactionDone, Event, JsonText, Role};
use crate::workbench::format::{count, plural, size};

pub(super) fn parts(turn: &Turn<'_>) -> Vec<Part> {
    let Some(now) = sent(turn.session, turn.address) else { return Vec::new() };
    if let Some(bytes) = now.too_large {
        let text = format!("{}: too large to be shown", size(bytes));
        return vec![Part::new("request", Body::Text(text)).marked(Mark::Warn)];
    }
    let before = turn.address.turn_number().and_then(|number| number.checked_sub(1));
    let before = before.and_then(|number| sent(turn.session, &turn.address.run_part().turn(number)));
    let mut sections: Vec<Part> = now.sections.iter().map(|section| part(section, &now, before.as_ref())).collect();
    sections.extend(option_parts(&now, before.as_ref()));
    let gone = before.iter().flat_map(|before| before.sections.iter().filter(|old| !holds(&now, old)));
    let replaced = |old: &&Section| successor(old, &now, before.as_ref()).is_none();
    sections.extend(gone.filter(replaced).map(|old| Part { change: Change::Gone, ..plain(old) }.marked(Mark::Dim)));
    let compaction = turn.find(|event| match event {
        Event::CompactionDone(done) => Some(done),
        _ => None,
    });
    // The end of a turn counts all attempts: the estimate is of one.
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
    let ledger = ledger(&now, &sections, counted.map(|tokens| tokens.input), compaction);
    let bytes = now.sections.iter().map(|section| section.text.len() as u64).sum();
    let tokens = now.sections.iter().map(|section| estimate_tokens(&section.text)).sum();
    let whole = Part { bytes, tokens: Some(tokens), ..Part::new("ledger", Body::Lines(ledger)) };
    std::iter::once(whole.noted("origins")).chain(sections).collect()
}

fn holds(request: &Sent, section: &Section) -> bool {
    request.sections.iter().any(|other| other.key == section.key)
}

fn title(section: &Section) -> String {
    if section.role == Role::System { format!("system · {}", section.name) } else { section.name.clone() }
}

fn plain(section: &Section) -> Part {
    let mark = if section.untrusted { Mark::Warn } else { Mark::Plain };
    Part::new(title(section), Body::Exact(section.text.clone()))
        .counted(&section.text)
        .noted(section.origin.clone())
        .marked(mark)
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

/// The section of the request before whose place this new one takes: it is no longer sent, and has its name, role and turn in the row.
fn predecessor<'s>(section: &Section, now: &Sent, before: &'s Sent) -> Option<&'s Section> {
    let alike = |other: &&Section| other.name == section.name && other.role == section.role;
    let nth = now.sections.iter().filter(|other| !holds(before, other)).filter(alike).position(|o| o == section)?;
    before.sections.iter().filter(|other| !holds(now, other)).filter(alike).nth(nth)
}

/// The new section that takes the place of an old one.
fn successor<'s>(old: &Section, now: &'s Sent, before: Option<&Sent>) -> Option<&'s Section> {
    let before = before?;
    now.sections
        .iter()
        .filter(|section| !holds(before, section))
        .find(|section| predecessor(section, now, before) == Some(old))
}

/// What is sent next to the messages: tools, the schema of the answer, options.
fn option_parts(now: &Sent, before: Option<&Sent>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut push = |title: String, json: Json, old: Option<Json>| {
        let (text, old) = (json.to_pretty(), old.map(|old| old.to_pretty()));
        let change = match (before, old) {
            (None, _) => Change::None,
            (Some(_), None) => Change::New,
            (Some(_), Some(old)) if old == text => Change::Same,
            (Some(_), Some(old)) => Change::Changed(Line::difference(&old, &text)),
        };
        let part = Part::new(title, Body::Tree(json, Vec::new())).counted(&text).noted("agent");
        parts.push(Part { change, ..part });
    };
    for tool in &now.made.tools {
        let known = before.and_then(|before| before.made.tools.iter().find(|known| known.name == tool.name));
        push(format!("tool · {}", tool.name), tool.parameters.json(), known.map(|known| known.parameters.json()));
    }
    if let Some(schema) = &now.made.schema {
        let old = before.and_then(|before| before.made.schema.as_ref()).map(JsonText::json);
        push("schema".to_owned(), schema.json(), old);
    }
    let options = |made: &crate::event::RequestMade| to_json(&made.options);
    push("options".to_owned(), options(&now.made), before.map(|before| options(&before.made)));
    parts
}

/// Where each section comes from, how large it is, whether it is to be trusted, and what was left out.
fn ledger(now: &Sent, parts: &[Part], counted: Option<u64>, compaction: Option<&CompactionDone>) -> Vec<Line> {
    let mut lines = vec![Line::new(Mark::Title, format!("{:>7} {:>7}     part · from", "bytes", "tokens"))];
    for part in parts {
        let tokens = part.tokens.map_or_else(|| "–".to_owned(), |tokens| format!("~{}", count(tokens)));
        let change = match part.change {
            Change::None | Change::Same => ' ',
            Change::New => '+',
            Change::Gone => '-',
            Change::Changed(_) => '~',
        };
        let trust = if part.mark == Mark::Warn { '!' } else { ' ' };
        let text = format!("{:>7} {tokens:>7}  {trust}{change} {} · {}", count(part.bytes), part.title, part.note);
        let mark = match part.change {
            Change::Gone => Mark::Removed,
            Change::New | Change::Changed(_) => Mark::Added,
            _ if part.mark == Mark::Warn => Mark::Warn,
            _ => Mark::Plain,
        };
        lines.push(Line::new(mark, text));
    }
    let sum: u64 = now.sections.iter().map(|section| section.text.len() as u64).sum();
    let tokens: u64 = now.sections.iter().map(|section| estimate_tokens(&section.text)).sum();
    let sent = plural(now.sections.len() as u64, "section");
    lines.push(Line::new(
        Mark::Title,
        format!("{:>7} {:>7}     {sent} in messages", count(sum), format!("~{}", count(tokens))),
    ));
    lines.extend(outside(now, sum));
    lines.extend(counted.into_iter().flat_map(|counted| against_count(now, tokens, counted)));
    let signs = "! from outside   + new   ~ changed   - not sent any more";
    lines.extend([Line::new(Mark::Plain, ""), Line::new(Mark::Dim, signs)]);
    if let Some(done) = compaction {
        lines.push(Line::new(Mark::Plain, String::new()));
        let text = format!(
            "compaction · {} because of {}: messages {} → {}, tokens ~{} → ~{}",
            done.strategy,
            done.reason,
            done.messages_before,
            done.messages_after,
            count(done.tokens_before),
            count(done.tokens_after)
        );
        lines.push(Line::new(Mark::Warn, text));
        lines.extend(
            done.counts.iter().map(|(name, number)| Line::new(Mark::Dim, format!("  {name} {}", count(*number)))),
        );
    }
    if !now.left_out.is_empty() {
        lines.push(Line::new(Mark::Plain, String::new()));
        lines.push(Line::new(Mark::Title, "said in this run and not sent"));
        for section in &now.left_out {
            let tokens = format!("~{}", count(estimate_tokens(&section.text)));
            let bytes = count(section.text.len() as u64);
            let text = format!("{bytes:>7} {tokens:>7}  -  {} · {}", title(section), section.origin);
            lines.push(Line::new(Mark::Removed, text));
        }
    }
    lines
}

/// From so many percent on, the estimate is too far from what the provider counted to be relied on.
const FAR_PERCENT: u64 = 25;

/// What the provider counted, and the estimate of messages, tools and schema against it.
fn against_count(now: &Sent, messages: u64, counted: u64) -> Vec<Line> {
    let tools = now.made.tools.iter().map(|tool| tool.parameters.json());
    let beside = tools.chain(now.made.schema.as_ref().map(JsonText::json));
    let estimate = messages + beside.map(|json| estimate_tokens(&json.to_text())).sum::<u64>();
    let Some(percent) = (estimate.abs_diff(counted) * 100).checked_div(counted) else { return Vec::new() };
    let (sign, mark) = if percent >= FAR_PERCENT { ('!', Mark::Warn) } else { (' ', Mark::Plain) };
    let side = if estimate >= counted { '+' } else { '-' };
    let told = format!("{:>7} {:>7}     counted by the provider", "", count(counted));
    let estimate = format!("~{}", count(estimate));
    let held = format!("{:>7} {estimate:>7}  {sign}  estimate, {side}{percent} % (! from {FAR_PERCENT} %)", "");
    vec![Line::new(Mark::Plain, told), Line::new(mark, held)]
}

/// How much of it is text from outside.
fn outside(now: &Sent, sum: u64) -> Option<Line> {
    let outside: u64 =
        now.sections.iter().filter(|section| section.untrusted).map(|section| section.text.len() as u64).sum();
    let share = (outside * 100).checked_div(sum)?;
    (outside > 0).then(|| {
        Line::new(Mark::Warn, format!("{:>7} {share:>6}%  !  of it in sections with text from outside", count(outside)))
    })
}
