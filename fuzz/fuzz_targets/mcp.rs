//! Any text as a message of a tool server.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::mcp(text));
