//! Tests of the search as a value.
