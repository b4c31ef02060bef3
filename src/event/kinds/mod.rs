//! The data of each event kind, by what it is about.

mod answer;
mod call;
mod edit;
mod file;
mod reply;
mod request;
mod run;

pub use answer::*;
pub use call::*;
pub use edit::*;
pub use file::*;
pub use reply::*;
pub use request::*;
pub use run::*;
