//! Paths of the program's folders: configuration, sessions, drafts, logs. Folders are created by the code that writes
//! to them.

use std::path::{Path, PathBuf};

/// The folders in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Folder of `config.toml`.
    pub config_dir: PathBuf,
    /// Session files, with subfolders for matrix and drafts.
    pub sessions_dir: PathBuf,
    /// Drafts.
    pub drafts_dir: PathBuf,
    /// Data about tools: granted definitions, lists of servers.
    pub tools_dir: PathBuf,
    /// Log files.
    pub logs_dir: PathBuf,
    /// State of the program itself, for example whether the tour was shown.
    pub state_dir: PathBuf,
    /// Fallback folder for sessions that can no longer be written to their own folder. It belongs to the user: never a
    /// known name in a shared temporary folder.
    pub spare_dir: PathBuf,
}

impl Folders {
    /// Returns the platform's folders; `sessions` replaces the session folder. Without a home folder, everything is in
    /// `.ptc-workbench` in the current folder.
    pub fn new(sessions: Option<&Path>) -> Self {
        let Some(dirs) = directories::ProjectDirs::from("", "", "ptc-workbench") else {
            let own = PathBuf::from(".ptc-workbench");
            return Self::at(own.clone(), &own, sessions);
        };
        let folders = Self::at(dirs.config_dir().to_owned(), dirs.data_dir(), sessions);
        // The runtime folder is usually on another file system than the sessions.
        let spare = dirs.runtime_dir().unwrap_or(dirs.cache_dir()).join("spare-sessions");
        Self { spare_dir: spare, ..folders }
    }

    /// Replaces the fallback folder for sessions.
    #[must_use]
    pub fn with_spare(self, spare: Option<&Path>) -> Self {
        Self { spare_dir: spare.map_or(self.spare_dir, Path::to_owned), ..self }
    }

    /// Uses these base folders.
    pub fn at(config_dir: PathBuf, data_dir: &Path, sessions: Option<&Path>) -> Self {
        let sessions_dir = sessions.map_or_else(|| data_dir.join("sessions"), Path::to_owned);
        Self {
            config_dir,
            drafts_dir: sessions_dir.join("drafts"),
            sessions_dir,
            tools_dir: data_dir.join("tools"),
            logs_dir: data_dir.join("logs"),
            state_dir: data_dir.to_owned(),
            spare_dir: data_dir.join("spare-sessions"),
        }
    }
}
