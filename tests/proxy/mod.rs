//! The proxy: what passes, what is recorded, what answers from recordings.

mod answers;
mod bodies;
mod clients;
mod command;
mod connections;
mod conversations;
mod holding;
mod import_files;
mod imports;
mod kit;
mod other_requests;
mod passing;
mod secrets;
mod sessions;
mod unrecorded;
