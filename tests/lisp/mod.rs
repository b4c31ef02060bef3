//! The language from outside: the reference's results, properties of any program, the commands.

mod commands;
mod conformance;
mod generate;
mod habit;
mod properties;
mod suite;
