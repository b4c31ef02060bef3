//! Extraction as a whole: the tables of cases, and properties that hold for any text.

mod cases;
mod fixes;
mod linear;
pub(super) mod properties;
