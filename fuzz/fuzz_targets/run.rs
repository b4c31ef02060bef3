//! Any text as a whole program with small limits.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::run(text));
