//! Compiling: `ir::Program` → closures.

mod body;

pub(crate) use body::Body;
