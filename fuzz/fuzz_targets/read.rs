//! Any text: the reader answers or refuses, and never breaks.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::read(text));
