//! Any text as a JSON Schema with an answer to check.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::schema(text));
