//! Signatures: one string that says what goes into an agent and what comes out.
//!
//! In: `(text :string) -> {sentiment :string, score :float}`. Out: types, checks, coercions, JSON Schema, renderings, samples.
//! Contract: the signature page of the reference; its extensions (enum, optional lists and maps, descriptions) are in.

mod types;

pub use types::{Field, Signature, Type};
