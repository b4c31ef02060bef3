//! Integration tests: one file per concern.

mod openai;
