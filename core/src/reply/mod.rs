//! Reading a model's reply.
//!
//! In: the text of a reply. Out: a JSON tree whose spans point into that text, with the extraction rule, the repairs,
//! and other candidates ([`extract()`]); for replies that still arrive, a partial tree ([`stream`]); for replies with a
//! program, its text ([`program`]); for replies that are a control object, its action ([`control`]). Every repair is
//! reported, a truncated reply is not completed, and no input may panic or cost more than linear time.

pub mod control;
mod extract;
mod fence;
mod fixes;
mod options;
mod outcome;
pub mod program;
mod reasoning;
mod repair;
mod repeats;
mod scan;
pub mod stream;

pub use extract::extract;
pub use fixes::{FIXES, Fix, FixKind, FixRow};
pub use options::{AnswerShape, Finish, Recovery, Scalar};
pub use outcome::{Candidate, CandidateVerdict, ExtractOutcome, Extraction, LISTED, Reject, Rule};
pub use repeats::{CHUNK_CHARS, REPEATS, repeated};

#[cfg(test)]
mod tests {
    mod broken;
    mod cases;
    mod fixes;
    mod hostile;
    mod linear;
    pub(super) mod properties;
}
