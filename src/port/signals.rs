//! The signals that end a program: SIGINT and SIGTERM, or Ctrl-C of the console window where there are none.
//!
//! In: signals of the operating system. Out: which came. The handlers are installed when the value is created: a command creates it before
//! it can be observed from outside (a port, a file, output, a child process), else a signal could end it without its end. While the value
//! exists, and after it, a signal that nothing waits for has no effect: no command may create it before a question on stdin.

/// A signal that ends a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

pub use system::EndSignals;

#[cfg(unix)]
mod system {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::EndSignal;

    /// The signals that came and were not taken yet.
    #[derive(Debug)]
    pub struct EndSignals {
        interrupt: Option<Signal>,
        terminate: Option<Signal>,
    }

    impl EndSignals {
        /// Installs the handlers. Must be called inside a runtime. Without a handler a signal ends the program as it always did.
        pub fn catch() -> Self {
            let stream = |kind| {
                signal(kind).inspect_err(|error| tracing::debug!(%error, ?kind, "there is no handler of a signal")).ok()
            };
            Self { interrupt: stream(SignalKind::interrupt()), terminate: stream(SignalKind::terminate()) }
        }

        /// The next signal.
        pub async fn next(&mut self) -> EndSignal {
            tokio::select! {
                () = received(&mut self.interrupt) => EndSignal::Interrupt,
                () = received(&mut self.terminate) => EndSignal::Terminate,
            }
        }
    }

    async fn received(signal: &mut Option<Signal>) {
        match signal {
            Some(signal) => _ = signal.recv().await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
mod system {
    use tokio::signal::windows::{CtrlC, ctrl_c};

    use super::EndSignal;

    /// The signals that came and were not taken yet.
    #[derive(Debug)]
    pub struct EndSignals(Option<CtrlC>);

    impl EndSignals {
        /// Installs the handler. Must be called inside a runtime. Without a handler Ctrl-C ends the program as it always did.
        pub fn catch() -> Self {
            Self(ctrl_c().inspect_err(|error| tracing::debug!(%error, "there is no handler of Ctrl-C")).ok())
        }

        /// The next signal.
        pub async fn next(&mut self) -> EndSignal {
            match &mut self.0 {
                Some(pressed) => _ = pressed.recv().await,
                None => std::future::pending().await,
            }
            EndSignal::Interrupt
        }
    }
}
