//! From a model's reply to an answer.
//!
//! In: the text of a reply. Out: a JSON tree whose spans point into that text, how it was found, what was mended, and
//! what else could have been meant ([`extract()`]); for replies that still grow, a partial tree ([`stream`]); for
//! replies that hold a program, its text ([`program`]); for replies that are a control object, what it says ([`control`]).
//! Nothing is mended silently, a cut reply is not completed, and no input may panic or cost more than linear time.

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
pub use options::{Finish, Recovery, Scalar, Want};
pub use outcome::{Candidate, Extracted, LISTED, Outcome, Reject, Rule, Verdict};
pub use repeats::{CHUNK_CHARS, REPEATS, repeated};

#[cfg(test)]
mod tests {
    mod cases;
    mod fixes;
    mod linear;
    pub(super) mod properties;
}
