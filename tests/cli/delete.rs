//! `sessions delete`: what it removes, what it refuses, what it asks.

use super::program::Program;

const RUN: [&str; 4] = ["run", "sentiment", "--model", "sample"];

fn with_sessions(count: usize) -> Program {
    let program = Program::new();
    for _ in 0..count {
        program.run(RUN).exits(0);
    }
    program
}

/// The ids of the saved sessions, the oldest first.
fn ids(program: &Program) -> Vec<String> {
    let files = program.session_files().into_iter();
    files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn the_named_sessions_are_deleted_and_their_forks_stay() {
    let program = with_sessions(3);
    program.run(["fork", "last", "--at", "r0/t1", "--model", "sample"]).exits(0);
    let all = ids(&program);
    let (fork, parent) = (&all[3], &all[2]);
    let done = program.run(["sessions", "delete", parent, &all[0], parent, "--yes"]);
    assert_eq!(done.exits(0).stdout, format!("deleted {parent}\ndeleted {}\n", all[0]));
    assert_eq!(ids(&program), [all[1].clone(), fork.clone()]);
    let listed = program.run(["sessions", "list"]).exits(0).stdout.clone();
    assert!(!listed.contains(parent.as_str()) && listed.contains(fork.as_str()), "{listed}");
    program.run(["replay", fork, "--check"]).exits(0);
    program.run(["sessions", "tree", fork]).exits(0);
    program.run(["sessions", "show", parent]).exits(2);
}

#[test]
fn without_a_yes_nothing_is_deleted() {
    let program = with_sessions(1);
    let before = ids(&program);
    for (answer, code) in [("no\n", 130), ("", 2)] {
        let done = program.fed(["sessions", "delete", "last"], answer);
        done.exits(code).reports("sentiment · json · ").reports("Delete 1 session?");
        assert_eq!((done.stdout.as_str(), ids(&program)), ("", before.clone()));
    }
    assert!(program.fed(["sessions", "delete", "last"], "yes\n").exits(0).stdout.starts_with("deleted "));
    assert!(ids(&program).is_empty());
}

#[test]
fn one_wrong_name_an_example_or_a_session_in_use_is_refused() {
    let program = with_sessions(1);
    let before = ids(&program);
    program.run(["sessions", "delete", "last", "2026-nothing", "--yes"]).exits(2).reports("2026-nothing");
    let listed = program.run(["sessions", "search", "is:example", "--json"]).exits(0).json();
    let example = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    program.run(["sessions", "delete", "last", &example, "--yes"]).exits(2).reports("a part of the program");
    let file = std::fs::File::open(program.session_file()).unwrap();
    file.try_lock().unwrap();
    program.run(["sessions", "delete", "last", "--yes"]).exits(1).reports("a program is writing it now");
    assert_eq!(ids(&program), before);
    file.unlock().unwrap();
    program.run(["sessions", "delete", "last", "--yes"]).exits(0);
}
