//! Processes of tools: started without a shell, in a group of their own, with a named part of the environment.
//!
//! In: argv, folder, names of variables. Out: the process and its group. A group that is dropped is killed whole: nothing that a tool
//! started outlives it.

use std::process::Stdio;

use tokio::process::{Child, Command};

/// Variables that every process gets: without them few programs find their parts.
pub const USUAL_VARIABLES: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT", "USERPROFILE"];

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// The program and its arguments; never empty.
    pub argv: Vec<String>,
    /// Its folder; `None` = that of the workbench.
    pub folder: Option<String>,
    /// Names of further variables of the environment that it gets.
    pub variables: Vec<String>,
}

impl Program {
    /// What it is, in words for a person: everything that decides what will happen.
    pub fn told(&self) -> String {
        let quoted: Vec<String> = self.argv.iter().map(|word| format!("{word:?}")).collect();
        let folder = self.folder.as_ref().map(|folder| format!("\n  in the folder {folder}")).unwrap_or_default();
        let variables = match self.variables.as_slice() {
            [] => String::new(),
            names => format!("\n  which gets these variables: {}", names.join(", ")),
        };
        format!("{}{folder}{variables}", quoted.join(" "))
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// Starts it with all three streams as pipes. Errors: what is wrong and what to do.
    pub(super) fn start(&self) -> Result<(Child, Group), String> {
        let Some((program, arguments)) = self.argv.split_first() else { return Err("there is no program".to_owned()) };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().kill_on_drop(true);
        let names = USUAL_VARIABLES.iter().copied().chain(self.variables.iter().map(String::as_str));
        command.envs(names.filter_map(|name| Some((name, std::env::var_os(name)?))));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn().map_err(|error| {
            let place = self.folder.as_ref().map(|folder| format!(" in the folder {folder}")).unwrap_or_default();
            format!("`{program}` cannot be started{place}: {error}; look whether it is installed and in PATH")
        })?;
        let group = Group(child.id());
        Ok((child, group))
    }
}

/// The processes that one process started, itself included.
#[derive(Debug)]
pub(super) struct Group(Option<u32>);

impl Group {
    /// Ends all of them, now.
    pub(super) fn kill(&mut self) {
        let Some(leader) = self.0.take() else { return };
        #[cfg(unix)]
        if let Some(leader) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
            // A group that is gone already needs no end.
            _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
        #[cfg(not(unix))]
        let _ = leader;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
