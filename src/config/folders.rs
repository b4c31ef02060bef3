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
    /// What is known of tools: definitions that may always be called, lists of servers.
    pub tools_dir: PathBuf,
    /// Log files.
    pub logs_dir: PathBuf,
    /// What the program remembers of its own use, such as that the tour was seen.
    pub state_dir: PathBuf,
    /// Where a session goes that can no longer be written where it began.
    pub spare_dir: PathBuf,
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

    /// The same with another folder for sessions that can no longer be written where they began.
    #[must_use]
    pub fn with_spare(self, spare: Option<&Path>) -> Self {
        Self { spare_dir: spare.map_or(self.spare_dir, Path::to_owned), ..self }
    }

    /// The same below given folders.
    pub fn at(config_dir: PathBuf, data_dir: &Path, sessions: Option<&Path>) -> Self {
        let sessions_dir = sessions.map_or_else(|| data_dir.join("sessions"), Path::to_owned);
        Self {
            config_dir,
            drafts_dir: sessions_dir.join("drafts"),
            sessions_dir,
            tools_dir: data_dir.join("tools"),
            logs_dir: data_dir.join("logs"),
            state_dir: data_dir.to_owned(),
            spare_dir: std::env::temp_dir().join("ptc-workbench-sessions"),
        }
    }
}
