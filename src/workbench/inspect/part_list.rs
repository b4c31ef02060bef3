//! The list of the parts of a request: totals by kind, every part with its origin and trust, and the sum compared with the provider's
//! count.
//!
//! In: a request in sections, the provider's count. Out: lines. The sums are complete: tokens that no part explains have a line of their
//! own.

use ptc_core::text::estimate_tokens;
use ptc_core::value::json::to_json;

use super::request::title;
use super::sent::{Section, Sent};
use super::{Change, Line, Mark, Part};
use crate::event::{CompactionDone, Tokens};
use crate::workbench::format::{count, plural};
use crate::workbench::prompt_kinds::{PromptKind, PromptSizes};

/// Minimum deviation of the estimate from the provider's count, in percent, that is marked as unreliable.
const FAR_PERCENT: u64 = 25;

/// The parts of a request, and the data with which they are compared.
pub(super) struct PartList<'a> {
    pub(super) now: &'a Sent,
    /// Sections, tools, schema and options, then the parts that are not sent any more.
    pub(super) parts: &'a [Part],
    /// Tokens counted by the provider for the last attempt, else for the turn.
    pub(super) counted: Option<Tokens>,
    pub(super) compaction: Option<&'a CompactionDone>,
}

/// A row before it is printed.
struct Entry {
    kind: Option<PromptKind>,
    bytes: u64,
    tokens: u64,
    line: Line,
}

impl PartList<'_> {
    /// Returns the sizes of the request by kind: messages, tools and schema.
    pub(super) fn sizes(&self) -> PromptSizes {
        let mut sizes = PromptSizes::default();
        self.now.sections.iter().for_each(|section| sizes.add_all(&section.sizes));
        sizes.add_tools_and_schema(&self.now.made.tools, self.now.made.schema.as_ref());
        sizes
    }

    /// Returns the totals by kind, the largest first, then the parts of each kind.
    pub(super) fn by_size(&self) -> Vec<Line> {
        let mut lines = self.totals();
        let mut entries = self.entries();
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.tokens, entry.bytes)));
        for (kind, ..) in self.kinds() {
            lines.extend([Line::new(Mark::Plain, ""), Line::new(Mark::Title, format!("{:19} {}", "", kind.name()))]);
            lines.extend(entries.iter().filter(|entry| entry.kind == Some(kind)).map(|entry| entry.line.clone()));
        }
        let rest: Vec<Line> =
            entries.into_iter().filter(|entry| entry.kind.is_none()).map(|entry| entry.line).collect();
        if !rest.is_empty() {
            lines.extend([Line::new(Mark::Plain, ""), Line::new(Mark::Title, format!("{:19} not counted", ""))]);
            lines.extend(rest);
        }
        lines.extend(self.notes());
        lines
    }

    /// Returns the totals by kind, then every part in the order in which it was sent.
    pub(super) fn in_order(&self) -> Vec<Line> {
        let mut lines = self.totals();
        lines.push(Line::new(Mark::Plain, ""));
        lines.extend(self.entries().into_iter().map(|entry| entry.line));
        lines.extend(self.notes());
        lines
    }

    /// Returns the kinds with content, the largest first.
    fn kinds(&self) -> Vec<(PromptKind, u64, u64)> {
        let mut kinds: Vec<_> = self.sizes().present().collect();
        kinds.sort_by_key(|(kind, _, tokens)| (std::cmp::Reverse(*tokens), *kind));
        kinds
    }

    /// Returns one line per kind, the sum, and the provider's count with the tokens that no part explains.
    fn totals(&self) -> Vec<Line> {
        let sizes = self.sizes();
        let (all_bytes, all) = (sizes.bytes(), sizes.tokens());
        let row =
            |bytes: &str, tokens: &str, share: &str, text: &str| format!("{bytes:>9} {tokens:>9} {share:>5}  {text}");
        let mut lines = vec![Line::new(Mark::Title, row("bytes", "tokens", "", "kind"))];
        for (kind, bytes, tokens) in self.kinds() {
            let share = (tokens * 100).checked_div(all).map_or_else(String::new, |share| format!("{share} %"));
            let text = row(&count(bytes), &format!("~{}", count(tokens)), &share, kind.name());
            lines.push(Line::new(Mark::Plain, text));
        }
        let sum = row(&count(all_bytes), &format!("~{}", count(all)), "", "all parts, estimated");
        lines.push(Line::new(Mark::Title, sum));
        lines.extend(self.counted.into_iter().flat_map(|counted| against_count(all, counted)));
        lines.extend(self.outside(all_bytes));
        lines
    }

    /// Returns every part as a row with its kind.
    fn entries(&self) -> Vec<Entry> {
        self.parts.iter().enumerate().map(|(place, part)| self.entry(place, part)).collect()
    }

    fn entry(&self, place: usize, part: &Part) -> Entry {
        let section = self.now.sections.get(place).filter(|_| part.change != Change::Gone);
        let kind = match section {
            Some(section) => largest(section),
            None if part.change == Change::Gone => None,
            None if part.title.starts_with("tool") => Some(PromptKind::Tools),
            None if part.title == "schema" => Some(PromptKind::Schema),
            None => None,
        };
        let tokens = part.tokens.unwrap_or_default();
        let change = match part.change {
            Change::None | Change::Same => ' ',
            Change::New => '+',
            Change::Gone => '-',
            Change::Changed(_) => '~',
        };
        let trust = if part.mark == Mark::Warn { '!' } else { ' ' };
        let estimate = format!("~{}", count(tokens));
        let (bytes, title, note) = (count(part.bytes), &part.title, &part.note);
        let text = format!("{bytes:>9} {estimate:>9}  {trust}{change} {title} · {note}");
        let mark = match part.change {
            Change::Gone => Mark::Removed,
            Change::New | Change::Changed(_) => Mark::Added,
            _ if part.mark == Mark::Warn => Mark::Warn,
            _ => Mark::Plain,
        };
        Entry { kind, bytes: part.bytes, tokens, line: Line::new(mark, text) }
    }

    /// Returns the line with the share of untrusted text in the request, if there is any.
    fn outside(&self, sum: u64) -> Option<Line> {
        let untrusted = self.now.sections.iter().filter(|section| section.untrusted);
        let outside: u64 = untrusted.map(|section| section.text.len() as u64).sum();
        let share = (outside * 100).checked_div(sum)?;
        let share = format!("{share} %");
        let text = format!("{:>9} {:>9} {share:>5}  untrusted text: replies, tools, data", count(outside), "");
        (outside > 0).then(|| Line::new(Mark::Warn, text))
    }

    /// Returns the legend, the result of compaction, the sections that are not sent, and the options.
    fn notes(&self) -> Vec<Line> {
        let signs = "! untrusted   + new   ~ changed   - no longer sent";
        let mut lines = vec![Line::new(Mark::Plain, ""), Line::new(Mark::Dim, signs)];
        if let Some(done) = self.compaction {
            lines.push(Line::new(Mark::Plain, ""));
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
            let counts = done.counts.iter();
            lines.extend(counts.map(|(name, number)| Line::new(Mark::Dim, format!("  {name} {}", count(*number)))));
        }
        if !self.now.left_out.is_empty() {
            let sections = plural(self.now.left_out.len() as u64, "section");
            lines.push(Line::new(Mark::Plain, ""));
            lines.push(Line::new(Mark::Title, format!("in this run and not sent: {sections}")));
            for section in &self.now.left_out {
                let tokens = format!("~{}", count(estimate_tokens(&section.text)));
                let bytes = count(section.text.len() as u64);
                let text = format!("{bytes:>9} {tokens:>9}   - {} · {}", title(section), section.origin);
                lines.push(Line::new(Mark::Removed, text));
            }
        }
        let options = to_json(&self.now.made.options).to_text();
        lines.extend((options != "{}").then(|| Line::new(Mark::Dim, format!("options {options}"))));
        lines
    }
}

/// Returns the kind with the most tokens in a section.
fn largest(section: &Section) -> Option<PromptKind> {
    section.sizes.present().max_by_key(|(_, _, tokens)| *tokens).map(|(kind, ..)| kind)
}

/// Returns the provider's count, its cached part, and the tokens that no part explains.
fn against_count(estimate: u64, counted: Tokens) -> Vec<Line> {
    let row = |tokens: &str, sign: char, text: &str| format!("{:>9} {tokens:>9} {:>5}{sign} {text}", "", "");
    let mut lines = vec![Line::new(Mark::Title, row(&count(counted.input), ' ', "counted by the provider"))];
    if let Some(cached) = counted.cache_read.filter(|cached| *cached > 0) {
        let share = (cached * 100).checked_div(counted.input).unwrap_or_default();
        lines.push(Line::new(Mark::Good, row(&count(cached), ' ', &format!("from the cache, {share} %"))));
    }
    let Some(percent) = (estimate.abs_diff(counted.input) * 100).checked_div(counted.input) else { return lines };
    let (sign, mark) = if percent >= FAR_PERCENT { ('!', Mark::Warn) } else { (' ', Mark::Plain) };
    let (tokens, text) = match counted.input.checked_sub(estimate) {
        Some(rest) => (count(rest), "not attributed: framing, error of the estimate"),
        None => (format!("-{}", count(estimate - counted.input)), "not attributed: the estimate is too high"),
    };
    lines.push(Line::new(mark, row(&tokens, sign, &format!("{text} ({percent} %)"))));
    lines
}
