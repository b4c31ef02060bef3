//! Where files lie: configuration, sessions, drafts, logs. Only paths are made here; whoever writes creates the folder.

use std::path::{Path, PathBuf};

/// The folders in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// `config.toml` lies here.
    pub config_dir: PathBuf,
    /// Session files, and beside them folders for marks, matrix and drafts.
    pub sessions_dir: PathBuf,
    /// Drafts.
    pub drafts_dir: PathBuf,
    /// Log files.
    pub logs_dir: PathBuf,
}

impl Folders {
    /// The platform's folders; `sessions` replaces the one of the sessions. Where the platform has no home folder for this user,
    /// everything lies in `.ptc-workbench` in the current one.
    pub fn new(sessions: Option<&Path>) -> Self {
        let (config, data) = directories::ProjectDirs::from("", "", "ptc-workbench").map_or_else(
            || (PathBuf::from(".ptc-workbench"), PathBuf::from(".ptc-workbench")),
            |dirs| (dirs.config_dir().to_owned(), dirs.data_dir().to_owned()),
        );
        Self::at(config, &data, sessions)
    }

    /// The same below given folders.
    pub fn at(config_dir: PathBuf, data_dir: &Path, sessions: Option<&Path>) -> Self {
        let sessions_dir = sessions.map_or_else(|| data_dir.join("sessions"), Path::to_owned);
        Self { config_dir, drafts_dir: sessions_dir.join("drafts"), sessions_dir, logs_dir: data_dir.join("logs") }
    }
}
