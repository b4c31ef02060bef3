//! The ports through which the engine meets the world, apart from models: the clock, the event sink, the user, and the stop.
//!
//! In and out: plain data. These traits must stay free of any implementation that screens, files or sockets would need.

mod breakpoint;
mod clock;
mod human;
mod sink;
mod stop;
mod unsaved;

pub use breakpoint::Breakpoint;
pub use clock::{Clock, SystemClock};
pub use human::{Checkpoint, Gate, Human, Nobody, Question};
pub use sink::{Sink, SinkError};
pub use stop::Stop;
pub use unsaved::Unsaved;
