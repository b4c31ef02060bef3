//! Files that one program uses at a time.
//!
//! In: an open file. Out: the same, locked against other programs until it is dropped. The lock is released and not only closed: a process
//! that is being started at that moment holds a copy of every open file until it runs its own program, and a copy keeps the lock.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};

/// A file with an exclusive lock.
#[derive(Debug)]
pub struct LockedFile(File);

impl LockedFile {
    /// Locks a file. Errors: another program holds the lock, or the file system has none.
    pub fn lock(file: File) -> io::Result<Self> {
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(error) => Err(error.into()),
        }
    }

    /// Locks a file where the file system has locks.
    pub fn lock_where_possible(file: File) -> Self {
        if let Err(error) = file.try_lock() {
            tracing::debug!(%error, "a file is not locked");
        }
        Self(file)
    }

    /// Returns whether another program holds the lock of this file.
    pub fn is_held_elsewhere(file: &File) -> bool {
        // Shared, so that two that look at the same time do not take each other for the owner.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => true,
            Ok(()) => file.unlock().is_err(),
            Err(TryLockError::Error(_)) => false,
        }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for LockedFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::debug!(%error, "a lock was not released");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_file_does_not_keep_the_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::options().append(true).open(file.path()).unwrap();
        let locked = LockedFile::lock(open()).unwrap();
        // What a process has that is being started.
        let copy = locked.try_clone().unwrap();
        assert!(LockedFile::is_held_elsewhere(&open()));
        assert!(LockedFile::lock(open()).is_err());
        drop(locked);
        assert!(!LockedFile::is_held_elsewhere(&open()));
        LockedFile::lock(open()).unwrap();
        drop(copy);
    }
}
