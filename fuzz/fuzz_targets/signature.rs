//! Any text as a signature.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::signature(text));
