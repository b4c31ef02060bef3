//! Any bytes as a streamed reply of each protocol.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ptc_fuzz::stream(text));
