//! The data of each event kind, by what it is about.

mod answer;
mod call;
mod edit;
mod file;
mod raw;
mod reply;
mod request;
mod run;

pub use answer::*;
pub use call::*;
pub use edit::*;
pub use file::*;
pub use raw::*;
pub use reply::*;
pub use request::*;
pub use run::*;
