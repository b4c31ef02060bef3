//! The pure core of ptc-workbench: values, signatures, templates, replies and the language PTC-Lisp.
//!
//! Documented are the values, the interpreter of the language, and the allocator that binaries install. The rest is for
//! the crate `ptc-workbench`.
//!
//! Text and data go in, values and errors come out. Nothing here uses tasks, files, sockets or clocks. Imports point
//! one way: `limits`, `reasons`, `text`, `value` ← `signature` ← `template`, `reply`, `lisp`.

#[doc(hidden)]
pub mod heap;
#[doc(hidden)]
pub mod limits;
pub mod lisp;
#[doc(hidden)]
pub mod reasons;
#[doc(hidden)]
pub mod reply;
#[doc(hidden)]
pub mod signature;
#[doc(hidden)]
pub mod template;
#[doc(hidden)]
pub mod text;
pub mod value;

pub use heap::CountingAllocator;
pub use limits::Limit;
pub use reasons::Reason;

/// Unit tests check memory limits.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
