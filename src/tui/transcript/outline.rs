//! JSON as lines that fold, also while it still arrives.
//!
//! In: a JSON value, or a growing reply and the JSON that was read of it; the folded branches. Out: one text, a line per value, and the
//! lines of its branches. A growing reply gives a text that grows at its end; at every moment it is the text that the same reply would give
//! at once. Text that is not JSON stays before and after it. Nothing is laid out here.

use std::collections::BTreeSet;

use ptc_core::reply::stream::{JsonPush, JsonToken, LevelParts, OpenLevel, Phase};
use ptc_core::text::SafeText;
use ptc_core::text::width::width;
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::format::plural;

/// The way to a branch: the number of the part on each level; empty = the whole value.
pub type Way = Vec<usize>;

/// Branches that are folded.
pub type Folded = BTreeSet<Way>;

/// Bytes of JSON that may be tried on one line.
const ONE_LINE_BYTES: usize = 1024;

/// The parts of a value that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All.
    All,
    /// Of a control object everything but the thought and nulls: the thought is shown as text.
    Control,
}

impl Scope {
    fn shows(self, depth: usize, name: Option<&str>, value: &Json) -> bool {
        self == Self::All || depth > 0 || name != Some("thought") && value.node != Node::Null
    }
}

/// A branch whose first line is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its line in the text, from 0.
    pub line: usize,
    /// The way to it.
    pub way: Way,
    /// Its parts are not shown.
    pub folded: bool,
}

/// Settings for the text of a value.
#[derive(Clone, Copy)]
struct Plan<'a> {
    scope: Scope,
    folded: &'a Folded,
    form: Form,
    /// Values that have notes.
    sought: &'a [&'a Json],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Lines,
    OneLine,
}

/// The current content of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// The reply as it came: no JSON was found in it yet.
    #[default]
    Raw,
    /// JSON from this byte of the reply on.
    Json(usize, Form),
}

/// JSON as a text of lines.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    text: String,
    /// The line that is being written.
    line: usize,
    branches: Vec<Branch>,
    /// The notes on a value: the line of the value, and which of those sought it is.
    places: Vec<(usize, usize)>,
    stage: Stage,
    /// Objects and lists whose closing bracket was not written yet.
    open: Vec<Open>,
    /// The end of the text before the JSON.
    base: Solid,
    /// The end of the part that further text cannot change.
    solid: Solid,
    closed: bool,
    unfinished: bool,
}

/// An open object or list in the text.
#[derive(Debug, Clone)]
struct Open {
    /// The position of its bracket in the reply.
    start: usize,
    /// Parts that were taken.
    taken: usize,
    /// Parts that were written.
    shown: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Solid {
    bytes: usize,
    line: usize,
    branches: usize,
}

impl Outline {
    /// Returns the outline of a whole value. `sought`: parts of it whose lines are to be known; without them, a value that was on one line
    /// and fits `columns` is written on one line.
    pub fn whole(source: &str, json: &Json, shape: (Scope, &Folded), sought: &[&Json], columns: usize) -> Self {
        let (scope, folded) = shape;
        let plan = |form| Plan { scope, folded, form, sought };
        if sought.is_empty() && may_fit(source) {
            let mut line = Self::default();
            line.value(plan(Form::OneLine), &mut Way::new(), None, json);
            if fits(&line.text, columns) {
                return line;
            }
        }
        let mut lines = Self::default();
        lines.value(plan(Form::Lines), &mut Way::new(), None, json);
        lines
    }

    /// Takes the new part of a reply and the JSON that was read of it; scope and folded branches must be those of the previous calls.
    /// Returns whether the text only grew after its last line feed.
    pub fn grow(&mut self, reply: &str, json: Option<&JsonPush>, shape: (Scope, &Folded), columns: usize) -> bool {
        let Some(json) = json else {
            let grew = self.stage == Stage::Raw;
            if !grew {
                *self = Self::default();
            }
            self.text.push_str(reply.get(self.text.len()..).unwrap_or_default());
            self.unfinished = false;
            return grew;
        };
        let (scope, folded) = shape;
        let span = json.span();
        let before = reply.get(..span.start).unwrap_or_default();
        let one_line = may_fit(span.text(reply)).then(|| one_line(json, scope)).filter(|line| fits(line, columns));
        let form = if one_line.is_some() { Form::OneLine } else { Form::Lines };
        let grew = self.stage == Stage::Json(span.start, form);
        if !grew {
            *self = Self { stage: Stage::Json(span.start, form), ..Self::default() };
            self.text.push_str(before);
            if !before.is_empty() && !before.ends_with('\n') {
                self.text.push('\n');
            }
            self.line = self.text.matches('\n').count();
            self.solidify();
            self.base = self.solid;
        }
        let lines = self.text.rfind('\n').map_or(0, |end| end + 1).max(self.solid.bytes);
        let (solid, passing) = (self.solid.bytes, self.text[self.solid.bytes..lines].to_owned());
        self.go_back_to(self.solid);
        let followed = match one_line {
            Some(line) => {
                self.text.push_str(&line);
                true
            }
            None => self.advance(Plan { scope, folded, form, sought: &[] }, json),
        };
        self.unfinished = json.phase() == Phase::Open;
        let rest = if self.unfinished { "" } else { reply.get(span.end..).unwrap_or_default().trim_start() };
        if !rest.is_empty() {
            self.text.push('\n');
            self.text.push_str(rest);
        }
        grew && followed && self.text.get(solid..).is_some_and(|text| text.starts_with(&passing))
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The branches that are shown, in the order of their lines.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// The lines of the values that were sought, with their numbers; for what lies in a folded branch, that branch's.
    pub fn places(&self) -> &[(usize, usize)] {
        &self.places
    }

    /// Returns whether the JSON at its end is incomplete.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Writes complete values that were not written yet, then the incomplete one. Returns false when it had to start over.
    fn advance(&mut self, plan: Plan<'_>, json: &JsonPush) -> bool {
        if self.closed {
            return true;
        }
        let levels: Vec<OpenLevel<'_>> = json.levels().collect();
        let followed = self.follows(&levels, json.complete());
        if !followed {
            self.open.clear();
            self.go_back_to(self.base);
        }
        match (json.complete(), self.open.is_empty()) {
            (Some(whole), true) => self.value(plan, &mut Way::new(), None, whole),
            (None, true) => self.begin(plan, json, &levels, 0),
            (whole, false) => self.extend(plan, json, &levels, 0, whole),
        }
        if json.complete().is_some() {
            self.closed = true;
            self.solidify();
        }
        followed
    }

    /// Returns whether the open objects and lists of the text are still in the JSON: a member that repeats a key is dropped when it is
    /// complete.
    fn follows(&self, levels: &[OpenLevel<'_>], whole: Option<&Json>) -> bool {
        let mut parts = whole.and_then(LevelParts::of).or(levels.first().map(|level| level.parts));
        self.open.windows(2).enumerate().all(|(depth, pair)| {
            let (above, below) = (&pair[0], &pair[1]);
            let found = match parts.and_then(|parts| parts.get(above.taken)) {
                Some((_, json)) => Some((json.span.start, LevelParts::of(json))),
                None => levels.get(depth + 1).map(|level| (level.start, Some(level.parts))),
            };
            parts = found.and_then(|(_, parts)| parts);
            found.is_some_and(|(start, _)| start == below.start)
        })
    }

    /// Continues in the open object or list at this depth; `whole`: it is complete.
    fn extend(
        &mut self,
        plan: Plan<'_>,
        json: &JsonPush,
        levels: &[OpenLevel<'_>],
        depth: usize,
        whole: Option<&Json>,
    ) {
        let Some(parts) = whole.map_or(levels.get(depth).map(|level| level.parts), LevelParts::of) else { return };
        if self.open.len() > depth + 1 {
            let Some((_, part)) = parts.get(self.open[depth].taken) else {
                return self.extend(plan, json, levels, depth + 1, None);
            };
            self.extend(plan, json, levels, depth + 1, Some(part));
            self.open[depth].taken += 1;
        }
        while let Some((name, part)) = parts.get(self.open[depth].taken) {
            if plan.scope.shows(depth, name, part) {
                self.separate(plan.form, depth + 1, self.open[depth].shown);
                self.value(plan, &mut self.path_into(depth), name, part);
                self.open[depth].shown += 1;
            }
            self.open[depth].taken += 1;
        }
        if whole.is_some() {
            let shown = self.open.pop().map_or(0, |open| open.shown);
            if parts.is_empty() {
                // There is nothing to fold.
                self.branches.pop();
            }
            return self.close(plan.form, depth, shown, parts);
        }
        self.solidify();
        self.begin(plan, json, levels, depth + 1);
    }

    /// Writes the start of an incomplete value at this depth: an object or list with its parts so far, or a token.
    fn begin(&mut self, plan: Plan<'_>, json: &JsonPush, levels: &[OpenLevel<'_>], depth: usize) {
        let above = depth.checked_sub(1);
        let name = above.and_then(|above| levels.get(above)?.key);
        // A null is distinguished from other words when it is whole.
        let hidden = plan.scope == Scope::Control && depth == 1;
        let Some(level) = levels.get(depth) else {
            let text = match json.token() {
                Some((JsonToken::String, _)) if hidden && name == Some("thought") => None,
                Some((JsonToken::String, text)) => Some(unfinished(text)),
                _ if hidden => None,
                Some((JsonToken::Key, text)) => Some(unfinished(text)),
                Some((JsonToken::Number | JsonToken::Word, text)) => Some(text.to_owned()),
                None => name.map(|_| String::new()),
            };
            if let (Some(text), Some(above)) = (text, above) {
                self.separate(plan.form, depth, self.open[above].shown);
                self.name(name);
                self.text.push_str(&text);
            }
            return;
        };
        if hidden && name == Some("thought") {
            return;
        }
        if let Some(above) = above {
            self.separate(plan.form, depth, self.open[above].shown);
        }
        self.name(name);
        let way = above.map_or_else(Way::new, |above| self.path_into(above));
        if self.branch(plan, &way) {
            self.text.push_str(&in_short(level.parts));
            return;
        }
        self.text.push(brackets(level.parts)[0]);
        if let Some(above) = above {
            self.open[above].shown += 1;
        }
        self.open.push(Open { start: level.start, taken: 0, shown: 0 });
        self.extend(plan, json, levels, depth, None);
    }

    /// A complete value with all that is in it.
    fn value(&mut self, plan: Plan<'_>, way: &mut Way, name: Option<&str>, json: &Json) {
        self.name(name);
        let at = self.line;
        let numbers = plan.sought.iter().enumerate().filter(|(_, sought)| std::ptr::eq(**sought, json));
        self.places.extend(numbers.map(|(number, _)| (at, number)));
        let Some(parts) = LevelParts::of(json).filter(|parts| !parts.is_empty()) else {
            return self.text.push_str(&json.to_text());
        };
        if self.branch(plan, way) {
            self.text.push_str(&in_short(parts));
            self.text.push(brackets(parts)[1]);
            let within = |part: &Json| json.span.start < part.span.start && part.span.end <= json.span.end;
            let inside = plan.sought.iter().enumerate().filter(|(_, sought)| within(sought));
            return self.places.extend(inside.map(|(number, _)| (at, number)));
        }
        self.text.push(brackets(parts)[0]);
        let (depth, mut shown) = (way.len(), 0);
        for number in 0..parts.len() {
            let Some((name, part)) = parts.get(number) else { break };
            if plan.scope.shows(depth, name, part) {
                self.separate(plan.form, depth + 1, shown);
                way.push(number);
                self.value(plan, way, name, part);
                way.pop();
                shown += 1;
            }
        }
        self.close(plan.form, depth, shown, parts);
    }

    /// Begins a branch on this line. Returns whether it is folded.
    fn branch(&mut self, plan: Plan<'_>, way: &Way) -> bool {
        let folded = plan.form == Form::Lines && plan.folded.contains(way);
        if plan.form == Form::Lines {
            self.branches.push(Branch { line: self.line, way: way.clone(), folded });
        }
        folded
    }

    /// The path to the next part of the open value at this depth.
    fn path_into(&self, depth: usize) -> Way {
        self.open.iter().take(depth + 1).map(|open| open.taken).collect()
    }

    fn name(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.text.push_str(&Json::str(name).to_text());
            self.text.push_str(": ");
        }
    }

    /// Writes the separator before a part that follows `before` other parts.
    fn separate(&mut self, form: Form, depth: usize, before: usize) {
        match form {
            Form::OneLine if before > 0 => self.text.push_str(", "),
            Form::OneLine => {}
            Form::Lines => {
                self.text.push_str(if before > 0 { "," } else { "" });
                self.feed(depth);
            }
        }
    }

    fn close(&mut self, form: Form, depth: usize, shown: usize, parts: LevelParts<'_>) {
        if form == Form::Lines && shown > 0 {
            self.feed(depth);
        }
        self.text.push(brackets(parts)[1]);
    }

    fn feed(&mut self, depth: usize) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("  ", depth));
        self.line += 1;
    }

    fn solidify(&mut self) {
        self.solid = Solid { bytes: self.text.len(), line: self.line, branches: self.branches.len() };
    }

    fn go_back_to(&mut self, solid: Solid) {
        self.text.truncate(solid.bytes);
        self.line = solid.line;
        self.branches.truncate(solid.branches);
        self.solid = solid;
    }
}

fn brackets(parts: LevelParts<'_>) -> [char; 2] {
    match parts {
        LevelParts::Object(_) => ['{', '}'],
        LevelParts::List(_) => ['[', ']'],
    }
}

/// The text of a folded branch, without its closing bracket.
fn in_short(parts: LevelParts<'_>) -> String {
    let noun = if matches!(parts, LevelParts::List(_)) { "item" } else { "field" };
    format!("{}… {}", brackets(parts)[0], plural(parts.len() as u64, noun))
}

/// A string without its end.
fn unfinished(text: &str) -> String {
    let mut quoted = Json::str(text).to_text();
    quoted.pop();
    quoted
}

/// Returns whether a text is short enough for one line, and is on one.
fn may_fit(source: &str) -> bool {
    source.len() <= ONE_LINE_BYTES && !source.trim().contains('\n')
}

fn fits(line: &str, columns: usize) -> bool {
    width(&SafeText::single_line(line)) <= columns
}

/// Returns the JSON that was read so far on one line.
fn one_line(json: &JsonPush, scope: Scope) -> String {
    let mut line = Outline::default();
    line.advance(Plan { scope, folded: &Folded::new(), form: Form::OneLine, sought: &[] }, json);
    line.text
}

#[cfg(test)]
mod tests;
