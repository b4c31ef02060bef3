//! The proxy: what passes, what is recorded, what answers from recordings.

mod answers;
mod clients;
mod command;
mod connections;
mod holding;
mod imports;
mod kit;
mod passing;
mod sessions;
mod unrecorded;
