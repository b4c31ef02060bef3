//! Functions as values: the one place where values know the language, because code that a program makes is data too.

pub use crate::lisp::function::Function;
