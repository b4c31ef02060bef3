//! Any text: laying it out never breaks, and laying out again changes nothing.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::format(text));
