//! Extraction of JSON from a model's reply: reads the candidates in order and offers each to the caller.
//!
//! In: the reply, the expected shape, the recovery level, how the reply ended, and the caller's check. Out:
//! [`Extraction`]. Order: whole reply, JSON fences, untagged fences, reply start, brackets in order, other fences, bare
//! value. Work is linear in the reply: each attempt starts where the last one stopped, and their total is bounded.

mod other;
mod single;
mod strict;
mod tags;

use std::collections::BTreeMap;

use super::fence::{self, End, Fence, Tag};
use super::fixes::{Fix, FixKind};
use super::options::AnswerShape;
use super::options::{Finish, Recovery};
use super::outcome::{Candidate, CandidateVerdict, ExtractOutcome, Extraction, LISTED, Reject, Rule};
use super::repair::{self, Edge, Read, Stop};
use super::{reasoning, scan};
use crate::text::Span;
use crate::value::Json;
use crate::value::json::{JsonError, Node};

/// Extraction stops after reading this many bytes per byte of the reply (plus [`FREE_WORK`]).
const WORK_PER_BYTE: usize = 16;

/// Bytes that may always be read, for short replies.
const FREE_WORK: usize = 1 << 16;

/// Finds the JSON in a reply.
///
/// `accept` decides whether a value is the answer; it is called for each candidate that could be read. In strict and
/// standard the first accepted candidate wins, in lenient the one with the smallest penalty; later ones are reported as
/// tied. With [`Finish::Truncated`] nothing is added at the end of the reply.
pub fn extract(
    reply: &str,
    want: &AnswerShape,
    recovery: Recovery,
    finish: Finish,
    accept: &mut dyn FnMut(&Json) -> Result<(), Reject>,
) -> Extraction {
    search(reply, want, recovery, finish, accept).0
}

/// [`extract`], and the number of bytes it read.
pub(super) fn search(
    reply: &str,
    want: &AnswerShape,
    recovery: Recovery,
    finish: Finish,
    accept: &mut dyn FnMut(&Json) -> Result<(), Reject>,
) -> (Extraction, usize) {
    let mut search = Search {
        reply,
        want,
        recovery,
        finish,
        accept,
        candidates: Vec::new(),
        unlisted: 0,
        best: None,
        refused: None,
        error: None,
        tried: BTreeMap::new(),
        visited: 0,
    };
    let reasoning = search.run();
    search.finish(reasoning)
}

struct Search<'a> {
    reply: &'a str,
    want: &'a AnswerShape,
    recovery: Recovery,
    finish: Finish,
    accept: &'a mut dyn FnMut(&Json) -> Result<(), Reject>,
    candidates: Vec<Candidate>,
    unlisted: usize,
    best: Option<(usize, Json, u32)>,
    refused: Option<(usize, Json, Reject)>,
    error: Option<JsonError>,
    /// Start offsets that were tried, with the offset where a scan continues.
    tried: BTreeMap<usize, usize>,
    visited: usize,
}

/// A range that is searched for brackets.
#[derive(Clone, Copy)]
struct Region {
    span: Span,
    /// The meaning of the end of the span.
    edge: Edge,
    /// The end of the surrounding part.
    outer: usize,
}

impl Search<'_> {
    /// Tries the candidates in order; returns the reasoning parts.
    fn run(&mut self) -> Vec<Span> {
        if self.whole(Rule::Whole, reasoning::trim(self.reply, Span::new(0, self.reply.len()))) {
            return Vec::new();
        }
        let reasoning = self.reasoning();
        let rest = reasoning::rest(self.reply, &reasoning);
        if let ([only], false) = (rest.as_slice(), reasoning.is_empty())
            && self.whole(Rule::Whole, *only)
        {
            return reasoning;
        }
        if self.recovery == Recovery::Strict {
            self.strict(&rest);
        } else {
            self.parts(&rest);
        }
        if let ([only], true) = (rest.as_slice(), self.has_no_result()) {
            self.misplaced(Rule::Whole, *only);
        }
        reasoning
    }

    /// True if there is neither a value nor an error to report.
    fn has_no_result(&self) -> bool {
        self.best.is_none() && self.refused.is_none() && self.error.is_none()
    }

    fn finish(mut self, reasoning: Vec<Span>) -> (Extraction, usize) {
        let outcome = if let Some((candidate, json, _)) = self.best {
            self.candidates[candidate].verdict = CandidateVerdict::Accepted;
            ExtractOutcome::Found { json, candidate }
        } else if let Some((candidate, json, reject)) = self.refused {
            ExtractOutcome::Rejected { json, candidate, reject }
        } else if let Some(error) = self.error {
            ExtractOutcome::Malformed { error }
        } else {
            ExtractOutcome::NotFound
        };
        (Extraction { outcome, candidates: self.candidates, unlisted: self.unlisted, reasoning }, self.visited)
    }

    /// Offers `span` if all of it is valid JSON.
    fn whole(&mut self, rule: Rule, span: Span) -> bool {
        let text = span.text(self.reply);
        let bracket = text.starts_with(['{', '[']);
        let scalar = text.starts_with(|c: char| matches!(c, '"' | '-' | 't' | 'f' | 'n' | '0'..='9'));
        if !(bracket || (scalar && self.want.admits_scalar())) {
            return false;
        }
        let Ok(read) = self.read(span.start, span.end, Recovery::Strict, Edge::Closed) else { return false };
        let cut = self.edge(span.end) == Edge::Cut && !text.ends_with(['}', ']', '"']);
        // The word of an enum may look like another JSON value.
        let is_word = !text.starts_with('"') && self.is_word(text) && (self.accept)(&read.json).is_err();
        if read.end != span.end || cut || is_word {
            return false;
        }
        self.offer(rule, span.start, read);
        true
    }

    /// Standard and lenient: tries everything outside of the reasoning parts.
    fn parts(&mut self, rest: &[Span]) {
        let start = rest.first().and_then(|first| self.start(*first));
        let parts: Vec<(Span, Vec<Fence>)> = rest.iter().map(|part| (*part, self.fences(*part))).collect();
        let fences = || parts.iter().flat_map(|(part, fences)| fences.iter().map(|fence| (*part, *fence)));
        for rule in [Rule::JsonFence, Rule::Fence] {
            for (part, fence) in fences().filter(|(_, fence)| Rule::of_fence(fence.tag) == Some(rule)) {
                self.fence(rule, fence, part);
            }
        }
        if let Some((at, read)) = start {
            match read {
                Ok(read) => self.offer(Rule::Start, at, read),
                Err(stop) => self.fault(Rule::Start, Span::new(at, self.reply.len()), stop),
            }
        }
        for (part, fences) in &parts {
            self.between(*part, fences);
        }
        for (part, fence) in fences().filter(|(_, fence)| fence.tag == Tag::Other) {
            if self.covered(fence.span.start).is_none() {
                self.brackets(Rule::OtherFence, self.inside(fence, part));
            }
        }
        if let [only] = rest {
            if self.best.is_none() && self.want.admits_scalar() {
                self.scalar(Rule::Scalar, *only, self.edge(only.end));
            }
            if self.best.is_none() && self.recovery == Recovery::Lenient && *self.want == AnswerShape::List {
                let content = fences().next().map_or(*only, |(_, fence)| fence.content);
                self.records(content);
            }
        }
    }

    /// The fences of a part, except those inside the value at its start and those whose mark is in a string of a value.
    fn fences(&mut self, part: Span) -> Vec<Fence> {
        let mut fences = fence::find(self.reply, part);
        let mut from = part.start;
        fences.retain(|fence| {
            let is_fence = self.covered(fence.span.start).is_none() && !self.is_in_value(*fence, from, part);
            if is_fence {
                from = fence.span.end;
            }
            is_fence
        });
        fences
    }

    /// Reads the JSON at the start of the reply, without offering it yet.
    fn start(&mut self, part: Span) -> Option<(usize, Result<Read, Stop>)> {
        let text = part.text(self.reply);
        let odd = |c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}');
        let bracket = part.start + (text.len() - text.trim_start_matches(odd).len());
        let limit = self.limit(part);
        let string = !self.want.admits_scalar() && self.reply[bracket..].starts_with('"');
        if !string && !scan::looks_like_json(self.reply, Span::new(bracket, part.end)) {
            return None;
        }
        let read = self.attempt(part.start, bracket, limit, self.edge(part.end));
        match &read {
            Ok(read) => _ = self.tried.insert(bracket, read.end),
            Err(_) if string => return None,
            Err(_) => {}
        }
        Some((bracket, read))
    }

    /// Tries a JSON or untagged fence.
    fn fence(&mut self, rule: Rule, fence: Fence, part: Span) {
        if self.covered(fence.span.start).is_some() {
            return;
        }
        let region = self.inside(fence, part);
        let content = reasoning::trim(self.reply, fence.content);
        let string = content.text(self.reply).starts_with('"') && !self.want.admits_scalar();
        if string && let Ok(read) = self.attempt(content.start, content.start, content.end, region.edge) {
            return self.offer(rule, content.start, read);
        }
        let before = self.candidates.len() + self.unlisted;
        self.brackets(rule, region);
        if self.candidates.len() + self.unlisted > before {
            return;
        }
        if self.want.admits_scalar() && self.scalar(rule, content, region.edge) {
            return;
        }
        if rule == Rule::JsonFence && !(region.edge == Edge::Closed && self.misplaced(rule, content)) {
            let stop = self.strict_error(content);
            self.fault(rule, content, stop);
        }
    }

    /// True if a fence begins inside a value that starts at or after `from`. Only marks after other text in their line
    /// and marks without a closing mark are examined; a closed fence on lines of its own is a fence.
    fn is_in_value(&mut self, fence: Fence, from: usize, part: Span) -> bool {
        let mark = fence.span.start;
        let line = self.reply[part.start..mark].rsplit('\n').next().unwrap_or_default();
        if fence.end == End::Closed && line.trim().is_empty() {
            return false;
        }
        let limit = self.limit(part);
        let mut at = from;
        while let Some(start) = scan::next_start(self.reply, Span::new(at, mark)) {
            self.visited += start - at;
            if self.is_exhausted() {
                return false;
            }
            at = match self.covered(start) {
                Some(end) => end,
                None => match self.attempt(start, start, limit, self.edge(limit)) {
                    Ok(read) if read.end <= mark => read.end,
                    Ok(read) => return read.fixes.iter().all(|fix| fix.kind != FixKind::MissingCloser),
                    Err(_) => start + 1,
                },
            };
            if at >= mark {
                return false;
            }
        }
        false
    }

    /// The content of a fence as a region.
    fn inside(&self, fence: Fence, part: Span) -> Region {
        let edge = match fence.end {
            End::Closed => Edge::Closed,
            End::Open => self.edge(fence.content.end),
        };
        Region { span: fence.content, edge, outer: self.limit(part) }
    }

    /// Tries brackets outside of fences.
    fn between(&mut self, part: Span, fences: &[Fence]) {
        let outer = self.limit(part);
        let mut at = part.start;
        for fence in fences {
            if fence.span.start >= at && self.covered(fence.span.start).is_none() {
                let span = Span::new(at, fence.span.start);
                self.brackets(Rule::Bracket, Region { span, edge: self.edge(span.end), outer });
                at = fence.span.end;
            }
        }
        let span = Span::new(at, outer.max(at));
        self.brackets(Rule::Bracket, Region { span, edge: self.edge(part.end), outer });
    }

    /// Tries all values that start with a bracket in a region, in order.
    fn brackets(&mut self, rule: Rule, region: Region) {
        let end = region.span.end;
        let mut at = region.span.start;
        while let Some(start) = scan::next_start(self.reply, Span::new(at, end)) {
            self.visited += start - at;
            if let Some(behind) = self.covered(start) {
                at = behind;
                continue;
            }
            if self.is_exhausted() {
                return;
            }
            match self.attempt_in(start, region) {
                Ok(read) => {
                    at = read.end;
                    let link = self.reply[at..].starts_with('(') && read.json.items().is_some();
                    if !link {
                        self.offer(rule, start, read);
                    }
                }
                Err(stop) => {
                    self.fault(rule, Span::new(start, end), stop);
                    at = self.covered(start).unwrap_or(end);
                }
            }
            if at >= end {
                return;
            }
        }
        self.visited += end.saturating_sub(at);
    }

    /// Reads the value at `start`. If the region ends inside it, possibly because of a fence mark in one of its
    /// strings, the value may extend past the region, though not over values that were read before.
    fn attempt_in(&mut self, start: usize, region: Region) -> Result<Read, Stop> {
        let near = self.attempt(start, start, region.span.end, region.edge);
        match near {
            Err(stop) if stop.error.incomplete && region.span.end < region.outer && !self.is_exhausted() => {
                let far = self.attempt(start, start, region.outer, self.edge(region.outer));
                let over = |end: usize| self.tried.range(start + 1..end).next().is_some();
                far.ok().filter(|read| !over(read.end)).ok_or(stop)
            }
            near => near,
        }
    }

    fn is_exhausted(&self) -> bool {
        self.visited > WORK_PER_BYTE * self.reply.len() + FREE_WORK
    }

    /// Offers consecutive values as a list.
    fn records(&mut self, span: Span) {
        let span = reasoning::trim(self.reply, span);
        let (mut items, mut fixes) = (Vec::new(), vec![Fix { kind: FixKind::Records, at: span }]);
        let mut at = span.start;
        while at < span.end {
            let Ok(read) = self.attempt(at, at, span.end, self.edge(span.end)) else { return };
            items.push(read.json);
            fixes.extend(read.fixes);
            let behind = &self.reply[read.end..span.end];
            let blank = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
            at = read.end + (behind.len() - behind.trim_start_matches(blank).len());
        }
        if items.len() > 1 {
            let json = Json { node: Node::List(items), span };
            self.offer(Rule::Records, span.start, Read { json, fixes, end: span.end, visited: 0 });
        }
    }

    /// Reads the value at `bracket` (`from` is the start of the white space before it), without repairs if possible.
    fn attempt(&mut self, from: usize, bracket: usize, limit: usize, edge: Edge) -> Result<Read, Stop> {
        let read = repair::attempt(&self.reply[..limit], from, bracket, self.recovery, edge);
        self.visited += read.as_ref().map_or_else(|stop| stop.visited, |read| read.visited);
        read
    }

    fn read(&mut self, start: usize, limit: usize, level: Recovery, edge: Edge) -> Result<Read, Stop> {
        let read = repair::read(&self.reply[..limit], start, level, edge);
        self.visited += read.as_ref().map_or_else(|stop| stop.visited, |read| read.visited);
        read
    }

    /// Offers a value to the caller.
    fn offer(&mut self, rule: Rule, start: usize, read: Read) {
        self.tried.insert(start, read.end);
        let verdict = (self.accept)(&read.json);
        if verdict.is_ok()
            && let Some(at) = self.other_reading(start, &read)
        {
            let message =
                "an unescaped quote may end its string or belong to it; write \\\" inside of strings".to_owned();
            let stop = stop(JsonError { message, offset: at, incomplete: false });
            return self.fault(rule, Span::new(start, read.end), Stop { resume: Some(read.end), ..stop });
        }
        let candidate = Candidate {
            rule,
            span: Span::new(start, read.end),
            fixes: read.fixes,
            verdict: verdict.clone().map_or_else(CandidateVerdict::Rejected, |()| CandidateVerdict::Tied),
        };
        let penalty = candidate.penalty();
        let place = self.candidates.len();
        match verdict {
            Ok(()) => {
                let better = |best: u32| self.recovery == Recovery::Lenient && penalty < best;
                if self.best.as_ref().is_none_or(|(_, _, best)| better(*best)) {
                    self.best = Some((place, read.json, penalty));
                    self.candidates.push(candidate);
                    return;
                }
            }
            Err(reject) => {
                let better = |before: &Reject| matches!((before, &reject), (Reject::Shape(_), Reject::Invalid(_)));
                if self.refused.as_ref().is_none_or(|(_, _, before)| better(before)) {
                    self.refused = Some((place, read.json, reject));
                    self.candidates.push(candidate);
                    return;
                }
            }
        }
        self.list(candidate);
    }

    /// Records that no value could be read at the start of `span`; the scan continues after it, unless a later offset
    /// is known.
    fn fault(&mut self, rule: Rule, span: Span, stop: Stop) {
        self.tried.insert(span.start, stop.resume.unwrap_or(span.end).max(span.start + 1));
        self.error.get_or_insert_with(|| stop.error.clone());
        let span = Span::new(span.start, stop.error.offset.max(span.start));
        self.list(Candidate { rule, span, fixes: Vec::new(), verdict: CandidateVerdict::Unreadable(stop.error) });
    }

    fn list(&mut self, candidate: Candidate) {
        if self.candidates.len() < LISTED {
            self.candidates.push(candidate);
        } else {
            self.unlisted += 1;
        }
    }

    /// If `at` is inside a value that was read before: the offset where the scan continues.
    fn covered(&self, at: usize) -> Option<usize> {
        self.tried.range(..=at).next_back().map(|(_, end)| *end).filter(|end| at < *end)
    }

    /// The end of reading in a part: the last part extends to the end of the reply.
    fn limit(&self, part: Span) -> usize {
        if self.is_last(part.end) { self.reply.len() } else { part.end }
    }

    fn is_last(&self, end: usize) -> bool {
        self.reply[end..].trim_start().is_empty()
    }

    /// The meaning of `end` as the end of reading.
    fn edge(&self, end: usize) -> Edge {
        match self.finish {
            Finish::Truncated if self.is_last(end) => Edge::Cut,
            _ => Edge::Reply,
        }
    }
}

fn stop(error: JsonError) -> Stop {
    Stop { error, resume: None, has_member: false, visited: 0 }
}
