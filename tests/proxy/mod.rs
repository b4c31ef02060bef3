//! The proxy: what passes, what is recorded, what answers from recordings.

mod answers;
mod clients;
mod command;
mod holding;
mod imports;
mod kit;
mod passing;
mod sessions;
mod unrecorded;
