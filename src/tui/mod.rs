//! The full-screen workbench.

pub mod draft;
pub mod wrap;
