//! The command line as a script sees it: the real binary with an empty home, its stdout, stderr, files and exit codes.

mod answered;
mod bad_input;
mod case_files;
mod commands;
mod compare;
mod context;
mod delete;
mod documents;
mod example;
mod export;
mod faults;
mod files;
mod inspect;
mod journal;
pub(crate) mod leaks;
mod model_check;
mod models;
#[cfg(unix)]
mod named_files;
mod pinned;
#[cfg(unix)]
mod private;
pub(crate) mod program;
mod run;
mod safety;
mod signals;
mod stdout;
mod suspension;
mod telemetry;
mod test;
mod without;
