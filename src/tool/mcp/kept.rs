//! The file of a server's log, for a person who looks later: `tools --logs` shows it.
//!
//! In: lines without secrets. Out: a file that grows to a bound in a run and then says so; the one of before is kept beside it.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ptc_core::text::SafeText;

use crate::tool::provider_name;

/// Bytes that one run adds, and bytes from which on a file is put aside at the start of the next.
const FILE_BYTES: usize = 256 * 1024;

/// The file while a run writes it.
pub(super) struct Kept {
    file: File,
    left: usize,
}

/// Where the log of a server is kept.
pub fn log_file(folder: &Path, server: &str) -> PathBuf {
    folder.join(format!("mcp-{}.log", provider_name(server)))
}

impl Kept {
    /// Goes on with the server's file; `None` when it cannot be written, which is logged: a log is no reason to fail.
    pub(super) fn open(folder: &Path, server: &str) -> Option<Self> {
        let path = log_file(folder, server);
        let opened = std::fs::create_dir_all(folder).and_then(|()| {
            if std::fs::metadata(&path).is_ok_and(|known| known.len() > FILE_BYTES as u64) {
                std::fs::rename(&path, path.with_extension("log.old"))?;
            }
            OpenOptions::new().create(true).append(true).open(&path)
        });
        let file =
            opened.inspect_err(|error| tracing::warn!(%error, server, "the log of a server is not kept")).ok()?;
        Some(Self { file, left: FILE_BYTES })
    }

    /// Adds a line with the time, safe to show.
    pub(super) fn write(&mut self, line: &str) {
        if self.left == 0 {
            return;
        }
        let mut text =
            format!("{} {}\n", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"), SafeText::single_line(line).as_str());
        if text.len() >= self.left {
            "… the server says more than is kept of one run\n".clone_into(&mut text);
            self.left = 0;
        } else {
            self.left -= text.len();
        }
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            tracing::debug!(%error, "a line of a server's log was lost");
        }
    }
}
