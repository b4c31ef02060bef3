//! Differences between a session and the first one, as lines: the first difference, then inputs, turns and answers.

use ptc_core::text::cut;
use ptc_core::value::Json;
use ptc_core::value::json::Difference;

use super::table::address;
use super::{Frame, Line, Tone};
use crate::session::diff::{
    Comparison, DiffLine, Pair, PartChange, PartDifference, Row, TurnPair, TurnPart, TurnPosition,
};
use crate::workbench::format::{Marks, plural};

/// Lines of a text that are shown.
const LINES: usize = 12;
/// Values of a part that are shown.
const VALUES: usize = 10;
/// Characters of a value.
const CHARS: usize = 100;

/// Returns the differences between a column and the first one.
pub fn against(comparison: &Comparison, pair: &Pair, frame: Frame) -> Vec<Line> {
    let mut text = DifferenceText { comparison, pair, frame, lines: Vec::new() };
    text.head();
    text.definition();
    for turn in pair.turns.iter().filter(|turn| !turn.is_same()) {
        text.turn(turn);
    }
    text.end();
    text.lines
}

/// Returns the differences of all columns to the first in their definitions and inputs.
pub fn of_definitions(comparison: &Comparison, frame: Frame) -> Vec<Line> {
    let write_pair = |text: &mut DifferenceText<'_>| {
        text.definition();
    };
    each(comparison, frame, write_pair)
}

/// Returns the differences of all columns to the first in their ends and answers.
pub fn of_ends(comparison: &Comparison, frame: Frame) -> Vec<Line> {
    let write_pair = |text: &mut DifferenceText<'_>| {
        text.end();
    };
    each(comparison, frame, write_pair)
}

/// Returns the differences of the turns of a row to that of the first column; for turns that are the same, the model's reply.
pub fn of_turns(comparison: &Comparison, row: &Row, frame: Frame) -> Vec<Line> {
    let lines = each(comparison, frame, |text| {
        let cells = (row.cells.first().copied().flatten(), row.cells.get(text.pair.column).copied().flatten());
        if let Some(turn) = text.pair.turns.iter().find(|turn| (turn.left, turn.right) == cells) {
            text.turn(turn);
        }
    });
    let alone = row.cells.iter().flatten().count() == 1;
    if row.differs && !alone {
        return lines;
    }
    let first = row.cells.iter().enumerate().find_map(|(column, place)| comparison.turn(column, (*place)?));
    let Some(turn) = first else { return lines };
    let text = turn.program.as_deref().unwrap_or(turn.reply());
    let head = if alone { lines } else { vec![frame.line(Tone::Head, "  the same in all")] };
    let body = text.lines().map(|line| frame.line(Tone::Dim, &format!("    {line}")));
    head.into_iter().chain(body).collect()
}

/// The differences of each column to the first, with the column's name where there are several.
fn each(comparison: &Comparison, frame: Frame, write_pair: impl Fn(&mut DifferenceText<'_>)) -> Vec<Line> {
    let mut lines = Vec::new();
    for pair in &comparison.pairs {
        let mut text = DifferenceText { comparison, pair, frame, lines: Vec::new() };
        write_pair(&mut text);
        if comparison.pairs.len() > 1 && !text.lines.is_empty() {
            lines.push(frame.line(Tone::Head, &format!("run {} against run 1", pair.column + 1)));
        }
        lines.append(&mut text.lines);
    }
    lines
}

/// Describes the first difference between a column and the first one.
pub fn first_difference(pair: &Pair) -> String {
    match &pair.first {
        None if pair.is_same() => "no difference".to_owned(),
        None => "the turns are the same".to_owned(),
        Some(found) => match found.part {
            Some(part) => format!("first difference at {}: {}", found.at, part.name()),
            None => format!("first difference at {}: only one has this turn", found.at),
        },
    }
}

struct DifferenceText<'a> {
    comparison: &'a Comparison,
    pair: &'a Pair,
    frame: Frame,
    lines: Vec<Line>,
}

impl DifferenceText<'_> {
    fn line(&mut self, tone: Tone, text: &str) {
        self.lines.push(self.frame.line(tone, text));
    }

    fn title(&mut self, text: &str) {
        self.line(Tone::Head, text);
    }

    fn several(&self) -> bool {
        self.comparison.columns.iter().any(|column| column.side.runs.len() > 1)
    }

    fn head(&mut self) {
        self.title(&format!("run {} against run 1: {}", self.pair.column + 1, first_difference(self.pair)));
    }

    fn definition(&mut self) {
        let pair = self.pair;
        if !pair.definition.is_empty() {
            self.title("  definition");
            self.text(&pair.definition);
        }
        self.values("  inputs", &pair.inputs);
    }

    fn end(&mut self) {
        let pair = self.pair;
        for (run, left, right) in &pair.ends {
            let run = if self.several() { format!(" of {run}") } else { String::new() };
            self.title(&format!("  end{run}"));
            self.line(Tone::Removed, &format!("    - {left}"));
            self.line(Tone::Added, &format!("    + {right}"));
        }
        self.values("  answer", &pair.answers);
    }

    fn name(&self, column: usize, place: TurnPosition) -> String {
        let several = self.several();
        self.comparison.turn(column, place).map(|turn| address(turn, several)).unwrap_or_default()
    }

    fn turn(&mut self, turn: &TurnPair) {
        match (turn.left, turn.right) {
            (Some(left), Some(right)) => {
                let (one, other) = (self.name(0, left), self.name(self.pair.column, right));
                let name = if one == other { one } else { format!("{one} and {other}") };
                self.title(&format!("  {name}"));
            }
            (Some(only), None) => self.only(0, only),
            (None, Some(only)) => self.only(self.pair.column, only),
            (None, None) => {}
        }
        if turn.is_same() {
            self.line(Tone::Dim, "    the same");
        }
        let explained = turn.parts.iter().any(is_explanation);
        for part in &turn.parts {
            // A program or JSON that differs explains more than the reply around it.
            if part.part != TurnPart::Reply || !explained || self.frame.whole {
                self.part(part);
            }
        }
    }

    fn only(&mut self, column: usize, place: TurnPosition) {
        let name = self.name(column, place);
        // Turns of the same number may both be there: this one has another place among those of the other side.
        self.title(&format!("  {name}: only in run {}", column + 1));
    }

    fn part(&mut self, part: &PartDifference) {
        let name = part.part.name();
        match &part.change {
            PartChange::Request { messages, rest } => {
                for message in messages {
                    let which = match (message.left, message.right) {
                        (Some(_), Some(_)) => String::new(),
                        (Some(_), None) => ", only in run 1".to_owned(),
                        _ => format!(", only in run {}", self.pair.column + 1),
                    };
                    self.title(&format!("    {name}, {} message{which}", message.role));
                    self.text(&message.lines);
                }
                self.values(&format!("    {name}"), rest);
            }
            PartChange::Lines(lines) => {
                self.title(&format!("    {name}"));
                self.text(lines);
            }
            PartChange::Values(values) => self.values(&format!("    {name}"), values),
        }
    }

    fn text(&mut self, lines: &[DiffLine]) {
        if lines.is_empty() {
            return self.line(Tone::Dim, "      only line ends or the layout differ");
        }
        let shown = if self.frame.whole { lines.len() } else { lines.len().min(LINES) };
        let mut before: Option<&DiffLine> = None;
        for line in &lines[..shown] {
            if before.is_some_and(|before| is_gap(before, line)) {
                self.line(Tone::Dim, "      …");
            }
            let tone = match line.sign() {
                '-' => Tone::Removed,
                '+' => Tone::Added,
                _ => Tone::Dim,
            };
            self.line(tone, &format!("      {} {}", line.sign(), line.text));
            before = Some(line);
        }
        self.more(lines.len() - shown, "line");
    }

    fn values(&mut self, title: &str, values: &[Difference]) {
        if values.is_empty() {
            return;
        }
        self.title(title);
        let shown = if self.frame.whole { values.len() } else { values.len().min(VALUES) };
        for value in &values[..shown] {
            let (tone, text) = self.value(value);
            self.line(tone, &format!("      {text}"));
        }
        self.more(values.len() - shown, "value");
    }

    fn value(&self, found: &Difference) -> (Tone, String) {
        let shown = |json: &Json| if self.frame.whole { json.to_text() } else { cut(&json.to_text(), CHARS) };
        // The run is named where there are several.
        let only = self.comparison.columns[0].side.runs.first().filter(|_| !self.several());
        let below = only.and_then(|run| found.path.strip_prefix(run.address.as_str()));
        let path = below.map_or(found.path.as_str(), |rest| rest.trim_start_matches('.'));
        let path = if path.is_empty() { String::new() } else { format!("{path}  ") };
        let marks = Marks::of(self.frame.words);
        match (&found.left, &found.right) {
            (Some(left), Some(right)) => (Tone::Plain, format!("{path}{} {} {}", shown(left), marks.to, shown(right))),
            (Some(left), None) => (Tone::Removed, format!("{} {path}{}", marks.gone, shown(left))),
            (None, Some(right)) => (Tone::Added, format!("{} {path}{}", marks.new, shown(right))),
            (None, None) => (Tone::Plain, path),
        }
    }

    fn more(&mut self, more: usize, what: &str) {
        if more > 0 {
            self.line(Tone::Dim, &format!("      and {} more (--all)", plural(more as u64, what)));
        }
    }
}

/// Returns whether a difference makes that of the reply redundant: one of the program with lines on both sides, or of the value.
fn is_explanation(part: &PartDifference) -> bool {
    match (&part.part, &part.change) {
        (TurnPart::Program, PartChange::Lines(lines)) => {
            lines.iter().any(|line| line.left.is_some()) && lines.iter().any(|line| line.right.is_some())
        }
        (TurnPart::Value, PartChange::Values(_)) => true,
        _ => false,
    }
}

/// Returns whether lines were omitted between these two.
fn is_gap(before: &DiffLine, line: &DiffLine) -> bool {
    let next = |from: Option<usize>, to: Option<usize>| from.zip(to).is_some_and(|(from, to)| to > from + 1);
    next(before.left, line.left) || next(before.right, line.right)
}
