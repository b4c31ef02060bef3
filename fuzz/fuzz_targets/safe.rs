//! Any text: what is made safe holds nothing that acts in a terminal.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::safe(text));
