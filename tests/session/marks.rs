//! Tags, notes and marks: written next to the sessions, shown everywhere, never lost.

use ptc_workbench::session::{MARKS_FILE, MarkChange, Marks, write_mark};

use crate::cli::program::Program;

fn program() -> Program {
    let program = Program::new();
    program.fed(["run", "sentiment", "--model", "human"], "no JSON\0{\"sentiment\": \"positive\", \"score\": 1}");
    program
}

#[test]
fn tags_notes_and_marks_are_shown_and_searched() {
    let program = program();
    let before = std::fs::read(program.session_file()).unwrap();
    program.run(["sessions", "tag", "last", "+slow", "+odd"]).exits(0);
    let json = program.run(["sessions", "tag", "last", "-odd", "+checked", "--json"]).exits(0).json();
    assert_eq!(json["tags"], serde_json::json!(["checked", "slow"]));
    program.run(["sessions", "note", "last@r0/t1", "why did it not answer?"]).exits(0);
    program.run(["sessions", "mark", "last@r0/t1"]).exits(0);
    assert_eq!(std::fs::read(program.session_file()).unwrap(), before, "the session is not touched");

    let listed = program.run(["sessions", "list"]);
    assert!(listed.stdout.lines().next().unwrap().ends_with("  #checked #slow"), "{}", listed.stdout);
    let json = program.run(["sessions", "list", "--json"]).exits(0).json();
    assert_eq!(json[0]["marks"][1]["note"], "why did it not answer?");
    assert_eq!((&json[0]["marks"][1]["address"], &json[0]["marks"][1]["marked"]), (&"r0/t1".into(), &true.into()));
    program.run(["sessions", "show", "last"]).reports("r0/t1: ★ why did it not answer?");

    let found = |words: &[&str]| {
        let done = program.run(["sessions", "search", "--json"].iter().chain(words));
        done.exits(0).json()["found"].as_u64().unwrap()
    };
    assert_eq!([found(&["tag:slow"]), found(&["tag:odd"]), found(&["is:marked"]), found(&["tag:s*"])], [1, 0, 1, 1]);
    assert_eq!([found(&["in:note", "answer"]), found(&["in:note", "nothing"])], [1, 0]);

    program.run(["sessions", "mark", "last@r0/t1", "--remove"]).exits(0);
    program.run(["sessions", "note", "last@r0/t1", ""]).exits(0);
    program.run(["sessions", "tag", "last", "-slow", "-checked"]).exits(0);
    assert_eq!(program.run(["sessions", "list", "--json"]).exits(0).json()[0].get("marks"), None);
}

#[test]
fn what_cannot_be_marked_is_refused() {
    let program = program();
    program
        .run(["sessions", "tag", "last@r0/t9", "+x"])
        .exits(2)
        .reports("has no run or turn r0/t9 (did you mean r0/t1?)");
    program.run(["sessions", "tag", "last", "x"]).exits(2).reports("write +x to add the tag, or -x to remove it");
    program.run(["sessions", "tag", "last", "+a b"]).exits(2).reports("\"a b\" is not a tag");
    program.run(["sessions", "tag", "nothing", "+x"]).exits(2).reports("no session \"nothing\"");
    assert!(!program.sessions_dir().join(MARKS_FILE).exists());
}

#[test]
fn a_line_that_cannot_be_read_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let tag = |tag: &str| MarkChange { session: "s".to_owned(), add: vec![tag.to_owned()], ..MarkChange::default() };
    write_mark(dir.path(), &tag("one")).unwrap();
    let file = dir.path().join(MARKS_FILE);
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"t\":0,\"sess");
    std::fs::write(&file, text).unwrap();
    write_mark(dir.path(), &tag("two")).unwrap();
    let marks = Marks::read(dir.path()).unwrap();
    assert_eq!(marks.unreadable, [2]);
    assert_eq!(marks.of("s", None).tags.into_iter().collect::<Vec<_>>(), ["one", "two"]);
}

#[test]
fn two_programs_lose_nothing_to_each_other() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let dir = dir.path();
            scope.spawn(move || {
                for number in 0..25 {
                    let add = vec![format!("tag-{writer}-{number}")];
                    write_mark(dir, &MarkChange { session: "s".to_owned(), add, ..MarkChange::default() }).unwrap();
                }
            });
        }
    });
    let marks = Marks::read(dir.path()).unwrap();
    assert_eq!((marks.of("s", None).tags.len(), marks.unreadable), (100, vec![]));
}

#[test]
fn marks_are_next_to_their_session_wherever_that_lies() {
    let program = program();
    let other = program.dir().join("other");
    std::fs::create_dir(&other).unwrap();
    let file = program.session_file();
    let moved = other.join(file.file_name().unwrap());
    std::fs::rename(&file, &moved).unwrap();
    let path = moved.to_str().unwrap();
    program.run(["sessions", "tag", path, "+hey"]).exits(0);
    program.run(["sessions", "note", path, "there"]).exits(0);
    assert!(other.join(MARKS_FILE).exists() && !program.sessions_dir().join(MARKS_FILE).exists());
    program.run(["sessions", "show", path]).reports("session: #hey there");
    let json = program.run(["sessions", "tag", path, "--json"]).exits(0).json();
    assert_eq!(json["tags"], serde_json::json!(["hey"]));
}
