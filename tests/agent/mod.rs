//! Agent files, construction checks, contexts and drafts: what a developer writes, and what they are told about it.

mod file;
mod plan;
