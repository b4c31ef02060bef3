//! The configuration: file, environment and folders; and the reading of TOML documents that it shares with agent files.

pub mod document;
mod options;

pub use options::OPTIONS;
