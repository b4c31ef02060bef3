//! Signatures: one string that defines the inputs and the output of an agent.
//!
//! In: `(text :string) -> {sentiment :string, score :float}`. Out: types, checks, coercions, JSON Schema, renderings,
//! samples. Contract: the signature page of the reference, with its extensions (enum, optional lists and maps,
//! descriptions).

mod chain;
mod check;
mod coerce;
mod issue;
pub mod json_schema;
pub(crate) mod names;
mod narrow;
mod outline;
mod parse;
mod render;
mod sample;
mod types;
mod undeclared;
mod words;

#[cfg(test)]
mod tests;

pub use chain::chain;
pub use check::{check, check_json};
pub use coerce::{CoercedValue, InputMode, Policy, check_arguments, check_inputs, coerce, normalize_keys};
pub use issue::{Issue, Path, Segment, Severity, error_lines};
pub use json_schema::from_json_schema;
pub use names::underscored;
pub use outline::{example, field_lines, json_type_name};
pub use parse::{SignatureError, parse, parse_inputs};
pub use render::render_inventory;
pub use sample::{sample, sample_inputs};
pub use types::{Field, Signature, Type, find_field};
pub use undeclared::undeclared;
pub use words::FORMS;
