//! Any text as a template.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::template(text));
