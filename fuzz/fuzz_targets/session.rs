//! Any text as a session file.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::session(text));
