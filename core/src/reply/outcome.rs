//! The result of extraction: the value, all candidates, the repairs, and the reasoning parts.
//!
//! All spans are byte ranges of the reply.

use super::Fix;
use super::fence::Tag;
use crate::text::Span;
use crate::value::Json;
use crate::value::json::JsonError;

/// The result of extracting JSON from a reply.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// The answer, or the reason why there is none.
    pub outcome: ExtractOutcome,
    /// The candidates in order of trial; rejected ones after the first [`LISTED`] are only counted.
    pub candidates: Vec<Candidate>,
    /// The number of candidates that are not listed.
    pub unlisted: usize,
    /// Reasoning parts (with their tags), which are not searched.
    pub reasoning: Vec<Span>,
}

/// The number of candidates that [`Extraction`] lists.
pub const LISTED: usize = 64;

/// The answer, or the reason why there is none.
#[derive(Debug, Clone)]
pub enum ExtractOutcome {
    /// A candidate was read and accepted.
    Found {
        /// Its value.
        json: Json,
        /// Its index in [`Extraction::candidates`].
        candidate: usize,
    },
    /// Candidates were read, but none was accepted; this is the first one (the first of the right shape, if any).
    Rejected {
        /// Its value.
        json: Json,
        /// Its index in [`Extraction::candidates`].
        candidate: usize,
        /// The reason of the rejection.
        reject: Reject,
    },
    /// The reply contains JSON that cannot be read; `error.incomplete` = the reply ended too early.
    Malformed {
        /// The first error; its offset is a byte of the reply.
        error: JsonError,
    },
    /// The reply contains no JSON.
    NotFound,
}

/// The reason why the caller rejects a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reject {
    /// The outer shape is wrong (`json_parse_error`).
    Shape(String),
    /// The shape is right, the content is not (`validation_error`).
    Invalid(String),
}

/// A part of the reply that could be the answer.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The rule that found it.
    pub rule: Rule,
    /// Its span; for an unreadable one from its start to the error.
    pub span: Span,
    /// The repairs, in the order of reading.
    pub fixes: Vec<Fix>,
    /// The verdict on it.
    pub verdict: CandidateVerdict,
}

/// The verdict on a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CandidateVerdict {
    /// It is the answer.
    Accepted,
    /// Acceptable, but another one came first (or needed fewer repairs).
    Tied,
    /// It was read, but the caller rejected it.
    Rejected(Reject),
    /// It could not be read.
    Unreadable(JsonError),
}

/// The rules of search, in the order of trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The whole reply is JSON.
    Whole,
    /// A fence tagged as JSON.
    JsonFence,
    /// A fence without a tag.
    Fence,
    /// The reply starts with a bracket.
    Start,
    /// A bracket further inside.
    Bracket,
    /// A fence with another tag.
    OtherFence,
    /// The reply is a single value without brackets.
    Scalar,
    /// Consecutive values, taken as a list.
    Records,
}

impl Rule {
    /// The rule of a fence with this tag that is read as JSON.
    pub(super) fn of_fence(tag: Tag) -> Option<Self> {
        match tag {
            Tag::Json => Some(Self::JsonFence),
            Tag::Untagged => Some(Self::Fence),
            Tag::Other => None,
        }
    }

    /// The stable name, as records show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::JsonFence => "json_fence",
            Self::Fence => "fence",
            Self::Start => "start",
            Self::Bracket => "bracket",
            Self::OtherFence => "other_fence",
            Self::Scalar => "scalar",
            Self::Records => "records",
        }
    }
}

impl Candidate {
    /// The error if it could not be read.
    pub fn error(&self) -> Option<&JsonError> {
        match &self.verdict {
            CandidateVerdict::Unreadable(error) => Some(error),
            _ => None,
        }
    }

    /// The sum of the penalties of its repairs; each kind counts once.
    pub fn penalty(&self) -> u32 {
        let mut kinds: Vec<_> = self.fixes.iter().map(|fix| fix.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.iter().map(|kind| kind.row().penalty).sum()
    }
}

impl Extraction {
    /// The accepted candidate, or the reported one if none was accepted.
    pub fn candidate(&self) -> Option<&Candidate> {
        match &self.outcome {
            ExtractOutcome::Found { candidate, .. } | ExtractOutcome::Rejected { candidate, .. } => {
                self.candidates.get(*candidate)
            }
            ExtractOutcome::Malformed { .. } | ExtractOutcome::NotFound => None,
        }
    }
}
