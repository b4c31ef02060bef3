//! Output that cannot be written: a full disk is an error, a reader that has gone is none.
#![cfg(target_os = "linux")]

use std::fs::OpenOptions;

use super::program::{Done, Program};

/// Commands that print data, for a folder with one session.
const PRINTING: [&[&str]; 9] = [
    &["run", "sentiment", "--json", "--no-save"],
    &["run", "sentiment", "--no-save"],
    &["sessions", "list"],
    &["sessions", "show", "last"],
    &["sessions", "search", "lamp"],
    &["sessions", "export", "last", "--format", "md"],
    &["replay", "last"],
    &["lisp", "run", "-e", "(+ 1 2)"],
    &["signature", "check", "{n :int}"],
];

fn with_session() -> Program {
    let program = Program::new();
    program.run(["run", "sentiment"]).exits(0);
    program
}

fn on_a_full_disk(program: &Program, arguments: &[&str]) -> Done {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    program.done(program.command(arguments).stdout(full).output().unwrap())
}

#[test]
fn output_that_is_lost_is_no_success() {
    let program = with_session();
    for arguments in PRINTING {
        on_a_full_disk(&program, arguments)
            .exits(2)
            .reports("error: stdout cannot be written: No space left on device");
    }
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"], &["help", "sessions"]] {
        on_a_full_disk(&program, arguments)
            .exits(2)
            .reports("error: stdout cannot be written: No space left on device");
        assert!(!program.run(arguments).exits(0).stdout.is_empty());
    }
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    program.file("one.jsonl", "{\"program\":\"1\"}\n");
    let input = std::fs::File::open(program.dir().join("one.jsonl")).unwrap();
    let batch = program.command(["lisp", "batch"]).stdin(input).stdout(full).output().unwrap();
    program.done(batch).exits(2).reports("stdout cannot be written");
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let program = with_session();
    for arguments in PRINTING {
        let mut child = program.command(arguments).spawn().unwrap();
        drop(child.stdout.take());
        let done = program.done(child.wait_with_output().unwrap());
        assert!(!done.exits(0).stderr.contains("error"), "{arguments:?}: {}", done.stderr);
    }
}
