//! The process group of a program that was started: its end is the end of all processes that it started.
//!
//! In: the process id of a group's leader. Out: nothing. It must never start a process.

/// A process with all processes that it started; dropping it kills them.
#[derive(Debug)]
pub(crate) struct ProcessGroup(Option<u32>);

impl ProcessGroup {
    /// The group of this leader, which is started with `process_group(0)`.
    pub(crate) fn of(leader: Option<u32>) -> Self {
        Self(leader)
    }

    /// Kills the group.
    pub(crate) fn kill(&mut self) {
        let Some(leader) = self.0.take() else { return };
        #[cfg(unix)]
        if let Some(leader) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
            // The group may be gone already.
            _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
        #[cfg(not(unix))]
        let _ = leader;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
