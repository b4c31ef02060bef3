//! Any text as a reply of a model.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::reply(text));
