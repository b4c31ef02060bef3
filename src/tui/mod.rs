//! The full-screen workbench.

pub mod backend;
pub mod colours;
pub mod draft;
pub mod row;
pub mod theme;
pub mod transcript;
pub mod wrap;
