//! Processes of tools: started without a shell, in their own process group, with a limited environment.
//!
//! In: argv, folder, names of variables. Out: the process and its group. Dropping the group kills all of its processes.

use std::io::{Error, ErrorKind};
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::model::ProcessGroup;

/// Environment variables that every process gets; few programs work without them.
pub const DEFAULT_VARIABLES: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT", "USERPROFILE"];

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// Its working folder; `None` for that of the workbench.
    pub folder: Option<String>,
    /// Names of additional environment variables that it gets.
    pub variables: Vec<String>,
}

impl Program {
    /// Describes everything that decides what the program does, for the user's consent.
    pub fn describe(&self) -> String {
        let quoted: Vec<String> = self.argv.iter().map(|word| format!("{word:?}")).collect();
        let folder = self.folder.as_ref().map(|folder| format!("\n  in the folder {folder}")).unwrap_or_default();
        let variables = match self.variables.as_slice() {
            [] => String::new(),
            names => format!("\n  which gets these variables: {}", names.join(", ")),
        };
        format!("{}{folder}{variables}", quoted.join(" "))
    }

    /// Returns its name for messages.
    pub fn name(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// Starts the program with stdin, stdout and stderr as pipes.
    pub(super) fn start(&self) -> Result<(Child, ProcessGroup), String> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err("the program is missing".to_owned());
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().kill_on_drop(true);
        let names = DEFAULT_VARIABLES.iter().copied().chain(self.variables.iter().map(String::as_str));
        command.envs(names.filter_map(|name| Some((name, std::env::var_os(name)?))));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn().map_err(|error| self.start_error(&error))?;
        let group = ProcessGroup::of(child.id());
        Ok((child, group))
    }

    /// Describes why the program did not start.
    fn start_error(&self, error: &Error) -> String {
        let name = self.name();
        if let Some(folder) = self.folder.as_deref().filter(|folder| !Path::new(folder).is_dir()) {
            return format!("could not start `{name}`: its folder {folder} does not exist or is not a folder");
        }
        let words: Vec<String> = name.split_whitespace().map(|word| format!("{word:?}")).collect();
        let is_path = name.split_whitespace().next().is_some_and(|first| first.contains('/'));
        if self.argv.len() == 1 && words.len() > 1 && !is_path && error.kind() == ErrorKind::NotFound {
            return format!(
                "could not start `{name}`: `command` is not passed to a shell; write command = [{}]",
                words.join(", ")
            );
        }
        let place = self.folder.as_ref().map(|folder| format!(" in the folder {folder}")).unwrap_or_default();
        format!("could not start `{name}`{place}: {error}; check that it is installed and in PATH")
    }
}
