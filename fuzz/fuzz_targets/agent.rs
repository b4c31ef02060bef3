//! Any text as an agent file and as a pipeline.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::agent(text));
