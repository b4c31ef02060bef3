//! JSON on stdout: what `--json` prints.

pub(super) use crate::export::{printable, step};
