//! The proxy: what passes, what is recorded, what answers from recordings.

mod answers;
mod background;
mod background_order;
mod bodies;
mod captured_agents;
mod client_tools;
mod clients;
mod command;
mod compressed;
mod connections;
mod conversations;
mod header_fields;
mod holding;
mod import_files;
mod import_spans;
mod import_traffic;
mod imports;
mod kit;
mod other_requests;
mod passing;
mod secrets;
mod sessions;
mod unrecorded;
mod websocket_ends;
mod websocket_kit;
mod websockets;
