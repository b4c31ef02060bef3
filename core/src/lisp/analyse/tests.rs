//! What analysis makes of programs.
