//! Reports of the program about itself: the log file, and the report of a panic. Neither contains a known secret.
//!
//! In: lines of the log, panics. Out: the same without secrets, in the log as visible text. Before the configuration was read,
//! those of the environment are known.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::File;
use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use ptc_core::text::SafeText;

use crate::config::{Provider, private_options};
use crate::model::{Scrub, known_secrets};

static SECRETS: OnceLock<Scrub> = OnceLock::new();

/// From now on the keys of these providers are secrets as well.
pub fn keep_secret(providers: &[Provider]) {
    if SECRETS.set(known_secrets(providers)).is_err() {
        tracing::debug!("the secrets were known before");
    }
}

fn clean(text: &str) -> String {
    SECRETS.get().map_or_else(|| known_secrets(&[]).text(text), |secrets| secrets.text(text))
}

/// Writes the log to this file from now on.
pub fn log_to(file: &Path) -> io::Result<()> {
    let file = private_options().create(true).append(true).open(file)?;
    tracing_subscriber::fmt().with_writer(Mutex::new(Clean(file))).with_ansi(false).init();
    Ok(())
}

/// A file that gets whole lines of the log.
struct Clean(File);

impl Write for Clean {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = SafeText::escape_controls(&clean(&String::from_utf8_lossy(line)));
        self.0.write_all(text.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Makes a write beyond the limit on the size of files an error, instead of the end of the program. Must be called inside
/// of the runtime. Programs that are started get the default action again.
pub fn catch_file_size_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Err(error) = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())) {
            tracing::warn!(%error, "SIGXFSZ cannot be caught");
        }
    }
}

/// Prints panics to stderr without secrets, with the position in the program and, if `RUST_BACKTRACE` is set, the backtrace.
pub fn hook_panics() {
    std::panic::set_hook(Box::new(|info| {
        let report = clean(&panic_text(info));
        tracing::error!(report, "a panic");
        // A closed stderr cannot be reported.
        _ = io::stderr().lock().write_all(report.as_bytes());
    }));
}

fn panic_text(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let payload = info.payload_as_str().unwrap_or("no message");
    let way = Backtrace::capture();
    let way = if way.status() == BacktraceStatus::Captured {
        format!("{way}")
    } else {
        "set RUST_BACKTRACE=1 for a backtrace\n".to_owned()
    };
    let name = thread.name().unwrap_or("without a name");
    format!("internal error: thread {name} panicked{place}: {payload}\n{way}")
}
