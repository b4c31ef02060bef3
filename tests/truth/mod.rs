//! Shown data is true: usage equals what servers counted, messages equal the bodies that servers got.

mod bodies;
mod service;
mod usage;
