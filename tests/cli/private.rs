//! Files of the program are for their owner only, whatever the umask.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::Program;

/// All files and folders below this folder, itself excluded.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn sessions_notes_indexes_and_logs_are_private() {
    let program = Program::new();
    program
        .file("a.toml", "name = \"a\"\nmode = \"json\"\nprompt = \"Give a number\"\nsignature = \"() -> {n :int}\"\n");
    let exe = env!("CARGO_BIN_EXE_ptc-workbench");
    let lines = [
        "run a.toml --model sample --log log.txt",
        "run a.toml --model sample",
        "sessions note last hello",
        "sessions search number",
        "fork last --at r0/t1 --model sample",
    ];
    for line in lines {
        // The most generous umask: every bit that is missing afterwards was withheld on purpose.
        let mut shell = Command::new("/bin/sh");
        program.surround(&mut shell);
        let output = shell.args(["-c", &format!("umask 0; exec {exe} {line}")]).output().unwrap();
        assert!(output.status.code().is_some_and(|code| code < 2), "{line}: {output:?}");
    }
    let mut seen = entries(&program.dir().join("home"));
    assert!(seen.iter().any(|path| path.extension().is_some_and(|extension| extension == "jsonl")), "{seen:?}");
    seen.push(program.dir().join("log.txt"));
    for path in &seen {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}
