//! The data of each event kind, by what it is about.

mod answer;
mod reply;
mod request;
mod run;

pub use answer::*;
pub use reply::*;
pub use request::*;
pub use run::*;
