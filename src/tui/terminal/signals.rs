//! Signals of the operating system, and stopping oneself for the shell.

use std::io;

use crate::tui::stage::Input;

#[cfg(unix)]
pub use unix::Signals;
#[cfg(unix)]
pub(super) use unix::{can_stop, stop};

#[cfg(unix)]
mod unix {
    use rustix::process::{Signal, getpid, getsid, kill_current_process_group};
    use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

    use super::{Input, io};

    /// The signals that the interface answers.
    #[derive(Debug)]
    pub struct Signals {
        terminate: [(i32, Stream); 4],
        stop: Stream,
        resume: Stream,
    }

    impl Signals {
        /// Starts to listen.
        pub fn listen() -> io::Result<Self> {
            let stream = |kind: SignalKind| Ok::<_, io::Error>((kind.as_raw_value(), signal(kind)?));
            Ok(Self {
                terminate: [
                    stream(SignalKind::terminate())?,
                    stream(SignalKind::hangup())?,
                    stream(SignalKind::interrupt())?,
                    stream(SignalKind::quit())?,
                ],
                stop: signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
                resume: signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            })
        }

        /// The next signal.
        pub(crate) async fn next(&mut self) -> Input {
            let [(term, terminate), (hup, hangup), (int, interrupt), (quit, quitting)] = &mut self.terminate;
            tokio::select! {
                _ = terminate.recv() => Input::Terminate(*term),
                _ = hangup.recv() => Input::Terminate(*hup),
                _ = interrupt.recv() => Input::Terminate(*int),
                _ = quitting.recv() => Input::Terminate(*quit),
                _ = self.stop.recv() => Input::Stop,
                _ = self.resume.recv() => Input::Continue,
            }
        }
    }

    /// A session leader has no shell that could continue it.
    pub(crate) fn can_stop() -> Result<(), String> {
        match getsid(None) {
            Ok(session) if session == getpid() => Err("no shell is waiting for the terminal".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Stops the whole job until the shell continues it.
    pub(crate) fn stop() -> Result<(), String> {
        kill_current_process_group(Signal::STOP).map_err(|error| error.to_string())
    }
}

#[cfg(not(unix))]
pub use elsewhere::Signals;
#[cfg(not(unix))]
pub(super) use elsewhere::{can_stop, stop};

#[cfg(not(unix))]
mod elsewhere {
    use super::{Input, io};

    /// Ctrl-C of the console window.
    #[derive(Debug)]
    pub struct Signals;

    impl Signals {
        /// Starts to listen.
        pub fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        /// The next signal.
        pub(crate) async fn next(&mut self) -> Input {
            match tokio::signal::ctrl_c().await {
                Ok(()) => Input::Terminate(2),
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// There is no job control here.
    pub(crate) fn can_stop() -> Result<(), String> {
        Err("this system has no job control".to_owned())
    }

    /// There is no job control here.
    pub(crate) fn stop() -> Result<(), String> {
        can_stop()
    }
}
