//! The ports between the engine and the outside, apart from models: the clock, the event sink, the user, and the stop
//! signal.
//!
//! In and out: plain data. No trait may depend on screens, files or sockets.

mod breakpoint;
mod clock;
mod human;
mod sink;
mod stop;
mod unsaved;

pub use breakpoint::Breakpoint;
pub use clock::{Clock, RunClock, SystemClock};
pub use human::{Checkpoint, Gate, Human, Nobody, Question, named_option};
pub use sink::{Sink, SinkError};
pub use stop::Stop;
pub use unsaved::Unsaved;
