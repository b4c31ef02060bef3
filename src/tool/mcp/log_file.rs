//! The log file of a server, which `tools --logs` prints.
//!
//! In: lines without secrets. Out: a file of limited size per run; the previous one is kept under another name.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ptc_core::text::SafeText;

use crate::config::{create_private_dir, private_options};
use crate::tool::provider_name;

/// Bytes that one run adds at most; larger files are rotated at the start of the next run.
const FILE_BYTES: usize = 256 * 1024;

/// An open log file.
pub(super) struct LogFile {
    file: File,
    left: usize,
}

/// Returns the path of a server's log.
pub fn log_file(folder: &Path, server: &str) -> PathBuf {
    folder.join(format!("mcp-{}.log", provider_name(server)))
}

impl LogFile {
    /// Opens the server's file for appending; `None` when it cannot be written, which is not an error of the run.
    pub(super) fn open(folder: &Path, server: &str) -> Option<Self> {
        let path = log_file(folder, server);
        let opened = create_private_dir(folder).and_then(|()| {
            if std::fs::metadata(&path).is_ok_and(|known| known.len() > FILE_BYTES as u64) {
                std::fs::rename(&path, path.with_extension("log.old"))?;
            }
            private_options().create(true).append(true).open(&path)
        });
        let file =
            opened.inspect_err(|error| tracing::warn!(%error, server, "could not open the log of a server")).ok()?;
        Some(Self { file, left: FILE_BYTES })
    }

    /// Appends a line with the time and without control characters.
    pub(super) fn write(&mut self, line: &str) {
        if self.left == 0 {
            return;
        }
        let mut text =
            format!("{} {}\n", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"), SafeText::single_line(line).as_str());
        if text.len() >= self.left {
            "… further output of this run is not recorded\n".clone_into(&mut text);
            self.left = 0;
        } else {
            self.left -= text.len();
        }
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            tracing::debug!(%error, "could not write a line of a server's log");
        }
    }
}
