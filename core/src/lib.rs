//! The pure core of ptc-workbench: values, signatures, templates, replies and the language PTC-Lisp.
//!
//! Text and data go in, values and errors come out. Nothing here uses tasks, files, sockets or clocks. Imports point
//! one way: `limits`, `reasons`, `text`, `value` ← `signature` ← `template`, `reply`, `lisp`.

pub mod heap;
pub mod limits;
pub mod lisp;
pub mod reasons;
pub mod reply;
pub mod signature;
pub mod template;
pub mod text;
pub mod value;
