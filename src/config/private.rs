//! Files and folders that only their owner may read: sessions, drafts, logs, grants, caches.
//!
//! In: paths. Out: folders with mode 700 and files with mode 600, whatever the umask. Folders and files that exist keep
//! their mode. Files that the user names (exports, agents) do not belong here: they follow the umask. Only the agents of captured
//! requests and their files do: they hold what another program sent.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Creates a folder and its missing parents.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Options that create files for their owner only.
pub fn private_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes exist on Unix only"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a file, or empties it.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    private_options().write(true).create(true).truncate(true).open(path)
}

/// Writes a file.
pub fn write_private_file(path: &Path, content: &[u8]) -> io::Result<()> {
    create_private_file(path)?.write_all(content)
}
