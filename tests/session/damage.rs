//! Damaged session files: what could be read is used, what could not is reported, nothing is guessed.

use insta::assert_snapshot;

use crate::cli::program::Program;

/// A session of one turn, as text lines.
fn lines() -> (Program, Vec<String>) {
    let program = Program::new();
    program.fed(["run", "sentiment", "--model", "human"], r#"{"sentiment": "positive", "score": 1}"#).exits(0);
    let text = std::fs::read_to_string(program.session_file()).unwrap();
    (program, text.lines().map(ToOwned::to_owned).collect())
}

/// Returns what `show` and `replay` print to stderr about these lines.
fn reports_of(program: &Program, text: impl AsRef<[u8]>, show: i32, replay: i32) -> String {
    program.file("damaged.jsonl", text);
    let show = program.run(["sessions", "show", "damaged.jsonl"]).exits(show).reported();
    let replay = program.run(["replay", "damaged.jsonl", "--check"]).exits(replay).reported();
    format!("show:\n{show}\nreplay:\n{replay}")
}

#[test]
fn a_torn_last_line_is_dropped_with_a_notice() {
    let (program, lines) = lines();
    let text = lines.join("\n");
    assert_snapshot!(reports_of(&program, &text[..text.len() - 5], 0, 0), @r"
    show:
    warning: 10 events could be read; line 12: it is incomplete because the program stopped while writing it; all events before it are kept
    replay:
    warning: 10 events could be read; line 12: it is incomplete because the program stopped while writing it; all events before it are kept
    ");
}

#[test]
fn garbage_in_the_middle_is_shown_around_and_not_replayed() {
    let (program, mut lines) = lines();
    lines[4] = "}{ garbage".to_owned();
    assert_snapshot!(reports_of(&program, lines.join("\n") + "\n", 0, 2), @r"
    show:
    warning: 10 events could be read; line 5: it is not an event: expected value at column 1; `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    replay:
    error: damaged.jsonl is damaged and cannot be replayed: 10 events could be read; line 5: it is not an event: expected value at column 1; `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    ");
    lines[4] = "{\"s\":4}".to_owned();
    assert_snapshot!(reports_of(&program, lines.join("\n") + "\n", 0, 2), @r"
    show:
    warning: 10 events could be read; line 5: it is not an event: missing field `t`; `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    replay:
    error: damaged.jsonl is damaged and cannot be replayed: 10 events could be read; line 5: it is not an event: missing field `t`; `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    ");
    let mut bytes = (lines.join("\n") + "\n").into_bytes();
    let place = bytes.iter().rposition(|byte| *byte == b'v').unwrap();
    bytes[place] = 0xff;
    assert_snapshot!(reports_of(&program, bytes, 0, 2), @r"
    show:
    warning: 9 events could be read; line 5: it is not an event: missing field `t` (and 1 more); `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    replay:
    error: damaged.jsonl is damaged and cannot be replayed: 9 events could be read; line 5: it is not an event: missing field `t` (and 1 more); `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    ");
}

#[test]
fn a_line_that_is_missing_is_noticed() {
    let (program, mut lines) = lines();
    lines.remove(4);
    assert_snapshot!(reports_of(&program, lines.join("\n") + "\n", 0, 2), @r"
    show:
    warning: 10 events could be read; line 5: event 5 follows event 3: the events between them are missing; `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    replay:
    error: damaged.jsonl is damaged and cannot be replayed: 10 events could be read; line 5: event 5 follows event 3: the events between them are missing; `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    ");
}

#[test]
fn an_event_whose_data_is_unreadable_is_left_out_and_counted() {
    let (program, mut lines) = lines();
    lines[4] = lines[4].replace("\"role\"", "\"roll\"");
    assert_snapshot!(reports_of(&program, lines.join("\n") + "\n", 0, 2), @r"
    show:
    warning: this program cannot read the data of 1 of 11 events; it is omitted
    replay:
    error: damaged.jsonl: event 4 has data that this program cannot read
    ");
}

#[test]
fn a_file_without_a_header_or_from_the_future_is_not_read() {
    let (program, mut lines) = lines();
    assert_snapshot!(reports_of(&program, lines[1..].join("\n") + "\n", 2, 2), @r"
    show:
    error: damaged.jsonl: line 1 is not a session header (missing field `format`); `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    replay:
    error: damaged.jsonl: line 1 is not a session header (missing field `format`); `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    ");
    assert_snapshot!(reports_of(&program, format!("\u{feff}note\n{}\n", lines.join("\n")), 2, 2), @r"
    show:
    error: damaged.jsonl: line 1 is not a session header (expected value at column 1); `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    replay:
    error: damaged.jsonl: line 1 is not a session header (expected value at column 1); `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    ");
    assert_snapshot!(reports_of(&program, "", 2, 2), @r"
    show:
    error: damaged.jsonl: the file is empty and contains no session
    replay:
    error: damaged.jsonl: the file is empty and contains no session
    ");
    lines[0] =
        lines[0].replace("\"min_reader\":2", "\"min_reader\":9").replace("ptc-workbench 0.1.0", "ptc-workbench 4.2.0");
    assert_snapshot!(reports_of(&program, lines.join("\n") + "\n", 2, 2), @r"
    show:
    error: damaged.jsonl: it needs a reader of version 9, this program reads up to 2: use ptc-workbench 4.2.0 or newer
    replay:
    error: damaged.jsonl: it needs a reader of version 9, this program reads up to 2: use ptc-workbench 4.2.0 or newer
    ");
    lines[0] = lines[0].replace("ptc-workbench-session", "other-session");
    assert_snapshot!(reports_of(&program, lines.join("\n") + "\n", 2, 2), @r#"
    show:
    error: damaged.jsonl: line 1 names the format "other-session", expected "ptc-workbench-session"; `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    replay:
    error: damaged.jsonl: line 1 names the format "other-session", expected "ptc-workbench-session"; `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    "#);
    assert_snapshot!(reports_of(&program, [0xff, 0xfe, 0, b'\n'], 2, 2), @r"
    show:
    error: damaged.jsonl: line 1 is not a session header (expected value at column 1); no readable event follows
    replay:
    error: damaged.jsonl: line 1 is not a session header (expected value at column 1); no readable event follows
    ");
}

#[test]
fn the_list_names_what_is_wrong_with_a_file() {
    let (program, lines) = lines();
    let dir = program.sessions_dir();
    std::fs::write(dir.join("2026-01-01T00-00-00Z-00000001.jsonl"), "").unwrap();
    let text = lines.join("\n");
    std::fs::write(dir.join("2026-01-01T00-00-00Z-00000002.jsonl"), &text[..text.len() - 5]).unwrap();
    std::fs::write(dir.join("2026-01-01T00-00-00Z-00000003.jsonl"), lines[0].clone() + "\n").unwrap();
    std::fs::write(dir.join("marks.jsonl"), "not a session").unwrap();
    std::fs::create_dir(dir.join("2026-01-01T00-00-00Z-00000004.jsonl")).unwrap();
    let listed = program.run(["sessions", "list", "--json"]).exits(0).json();
    let of = |end: &str| {
        let path = |line: &&serde_json::Value| {
            line["path"].as_str().is_some_and(|path| path.ends_with(&format!("{end}.jsonl")))
        };
        listed.as_array().unwrap().iter().find(path).map(|line| (line["state"].clone(), line["damage"].clone()))
    };
    assert_eq!(of("00000001").unwrap().1, "the file is empty and contains no session");
    assert!(of("00000002").unwrap().1.as_str().unwrap().contains("it is incomplete"));
    assert_eq!(of("00000003"), None, "a session that was stopped before its run began is not listed");
    assert!(of("00000004").unwrap().1.as_str().unwrap().contains("cannot be read"));
    assert_eq!(of("marks"), None);
}

#[test]
fn kinds_of_a_later_program_are_kept_shown_and_no_obstacle() {
    let (program, mut lines) = lines();
    let last = lines.len();
    lines.push(format!(r#"{{"s":{last},"t":1,"r":"r0","k":"mood.change","d":{{"to":["glad"]}}}}"#));
    program.file("later.jsonl", lines.join("\n") + "\n");
    let shown = program.run(["sessions", "show", "later.jsonl"]);
    let words = "! an event of the unknown kind \"mood.change\"";
    assert!(shown.exits(0).stdout.contains(words), "{}", shown.stdout);
    assert_eq!(shown.stderr, "");
    program.run(["replay", "later.jsonl", "--check"]).exits(0);

    let session = ptc_workbench::session::Session::open(&program.dir().join("later.jsonl")).unwrap();
    let event = session.events().last().unwrap();
    assert_eq!(event.to_line(None).unwrap(), *lines.last().unwrap());
}

#[test]
fn a_name_that_fits_no_session_or_several() {
    let (program, _) = lines();
    for chance in ["0000000a", "0000000b"] {
        let name = format!("2026-01-01T00-00-00Z-{chance}.jsonl");
        std::fs::copy(program.session_files().remove(0), program.sessions_dir().join(name)).unwrap();
    }
    let shown = |name: &str| program.run(["sessions", "show", name]).exits(2).reported();
    assert_snapshot!(shown("nope"), @r#"error: no session "nope": not a file, and no id in sessions starts with it, or ends with it (at least 6 characters) (`ptc-workbench sessions list` shows all ids)"#);
    assert_snapshot!(shown(""), @"
    error: a value is required for '<SESSION>' but none was supplied

    For more information, try '--help'.
    ");
    assert_snapshot!(shown("2026-01-01"), @r#"error: "2026-01-01" is ambiguous: 2 session ids start with it: <id>, <id>"#);
    program.run(["sessions", "show", "2026-01-01T00-00-00Z-0000000b"]).exits(0);
    program.run(["sessions", "show", "0000000b"]).exits(0);
    let twice = program.sessions_dir().join("2026-01-02T00-00-00Z-0000000b.jsonl");
    std::fs::copy(program.session_files().remove(0), twice).unwrap();
    assert_snapshot!(shown("0000000b"), @r#"error: "0000000b" is ambiguous: 2 session ids end with it: <id>, <id>"#);
    program.run(["sessions", "show", "2026-01-01T00-00-00Z-0000000b.jsonl"]).exits(2);
    program.run(["sessions", "show", "sessions/2026-01-01T00-00-00Z-0000000b.jsonl"]).exits(0);
}

/// The lines with every number under these keys replaced.
fn with_numbers(lines: &[String], keys: &[&str], number: &str) -> String {
    let mut text = lines.join("\n") + "\n";
    for key in keys {
        let key = format!("\"{key}\":");
        let parts: Vec<_> = text.split(&key).map(ToOwned::to_owned).collect();
        let rest = parts.iter().skip(1).map(|part| {
            let tail = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
            if tail.len() < part.len() { format!("{key}{number}{tail}") } else { format!("{key}{part}") }
        });
        text = parts[0].clone() + &rest.collect::<String>();
    }
    text
}

#[test]
fn any_number_in_a_file_is_read_without_a_crash() {
    let (program, lines) = lines();
    let numbers: [(&[&str], &str); 6] = [
        (&["t", "now", "created_ms"], "9223372036854775807"),
        (&["t", "now", "created_ms"], "-9223372036854775808"),
        (&["s"], "18446744073709551615"),
        (&["input", "output"], "18446744073709551615"),
        (&["requests", "turns", "attempt", "m"], "4294967295"),
        (&["first_ms", "queued_ms", "max_turns", "seed"], "18446744073709551615"),
    ];
    for (keys, number) in numbers {
        let mut mixed = with_numbers(&lines, keys, number);
        for _ in 0..2 {
            program.file("odd.jsonl", &mixed);
            for command in [&["sessions", "show"][..], &["sessions", "show", "--json"], &["replay"]] {
                let done = program.run(command.iter().copied().chain(["odd.jsonl"]));
                assert!(matches!(done.code, Some(0 | 2 | 3)), "{command:?} {keys:?} {number}: {}", done.stderr);
            }
            // From the second line on as it was: the two ends of a range meet.
            let odd: Vec<_> = mixed.lines().take(2).chain(lines.iter().skip(2).map(String::as_str)).collect();
            mixed = odd.join("\n") + "\n";
        }
    }
}

#[test]
fn what_can_be_read_of_a_damaged_session_becomes_a_new_one() {
    let (program, lines) = lines();
    let whole = program.session_file();
    program.run(["sessions", "recover", &whole.to_string_lossy()]).exits(2).reports("there is nothing to recover");

    // A note in the middle is gone, and the last line is torn.
    let mut damaged = lines.clone();
    let sent = damaged.iter().position(|line| line.contains("\"k\":\"message\"")).unwrap();
    damaged[sent] = "}{ garbage".to_owned();
    let text = damaged.join("\n");
    program.file("damaged.jsonl", &text[..text.len() - 3]);
    let done = program.run(["sessions", "recover", "damaged.jsonl", "--json"]).exits(0).json();
    assert_eq!(std::fs::read_to_string(program.dir().join("damaged.jsonl")).unwrap(), text[..text.len() - 3]);
    assert_eq!(done["events"], lines.len() - 3);
    assert!(done["lost"][0].as_str().unwrap().starts_with(&format!("line {}: it is not an event", sent + 1)));
    let path = program.dir().join(done["path"].as_str().unwrap());
    let session = ptc_workbench::session::Session::open(&path).unwrap();
    assert_eq!(
        (session.damage_report(), session.header.parent.as_ref().map(|p| p.kind.name())),
        (None, Some("recover"))
    );
    assert!(session.events().map(|envelope| envelope.seq).eq(1..=session.len() as u64));
    let shown = program.run(["sessions", "show", done["session"].as_str().unwrap()]);
    assert!(shown.exits(0).stdout.contains("recovered from damaged.jsonl"), "{}", shown.stdout);

    // Without a header, everything else is there.
    program.file("headless.jsonl", lines[1..].join("\n") + "\n");
    let done = program.run(["sessions", "recover", "headless.jsonl", "--json"]).exits(0).json();
    assert_eq!(done["events"], lines.len() - 1);
    program.run(["replay", done["session"].as_str().unwrap(), "--check"]).exits(0);

    // What is before the header is left out, and the header is found after it.
    program.file("late.jsonl", format!("some text\n\n{}\n", lines.join("\n")));
    program.run(["replay", "late.jsonl"]).exits(2).reports("`ptc-workbench sessions recover late.jsonl`");
    let done = program.run(["sessions", "recover", "late.jsonl", "--json"]).exits(0).json();
    assert_eq!(
        (&done["events"], &done["lost"]),
        (&(lines.len() - 1).into(), &serde_json::json!(["line 1: it is not a session header", "line 2: it is empty"]))
    );
    let recovered = done["session"].as_str().unwrap();
    program.run(["replay", recovered, "--check"]).exits(0);
    let id = whole.file_stem().unwrap().to_str().unwrap();
    let tree = program.run(["sessions", "tree", id]).exits(0).stdout.clone();
    assert!(tree.contains(recovered), "it names the session that it was made from:\n{tree}");

    let newer = lines[0].replace("\"min_reader\":2", "\"min_reader\":9");
    program.file("newer.jsonl", newer + "\n" + &lines[1..].join("\n"));
    program.run(["sessions", "recover", "newer.jsonl"]).exits(2).reports("it needs a reader of version 9");
}

/// Returns what `recover` prints about these lines, and the new session.
fn recovered(program: &Program, lines: &[String]) -> (Vec<String>, ptc_workbench::session::Session) {
    program.file("damaged.jsonl", lines.join("\n") + "\n");
    let done = program.run(["sessions", "recover", "damaged.jsonl", "--json"]).exits(0).json();
    let lost = done["lost"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect();
    let session = ptc_workbench::session::Session::open(&program.dir().join(done["path"].as_str().unwrap())).unwrap();
    let notices = session.events().filter(|envelope| envelope.event.kind() == "notice").count();
    assert_eq!((session.damage_report(), done["events"].as_u64()), (None, Some((session.len() - notices) as u64)));
    (lost, session)
}

#[test]
fn every_gap_is_named_in_what_was_recovered() {
    let (program, lines) = lines();
    let mut damaged = lines.clone();
    damaged[3] = "garbage".to_owned();
    damaged.drain(6..8);
    damaged.remove(7);
    let (lost, session) = recovered(&program, &damaged);
    assert_eq!(lost.len(), 3, "{lost:?}");
    assert!(lost[0].starts_with("line 4: it is not an event"), "{lost:?}");
    assert_eq!(lost[1], "line 7: event 8 follows event 5: 2 are missing between them");
    assert_eq!(lost[2], "line 8: event 10 follows event 8: 1 is missing between them");
    // Four events are gone, four notices are new, and the header is a line as well.
    assert_eq!(session.len() + 1, lines.len());
    let shown = session.events().filter_map(|envelope| match envelope.event {
        ptc_workbench::event::Event::Notice(notice) => Some((envelope.seq, notice.text)),
        _ => None,
    });
    let missing = "missing here: they were damaged in the session that this one was recovered from";
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown[0], (3, format!("1 event is {missing}")));
    assert_eq!(shown[1], (6, format!("2 events are {missing}")));
    assert_eq!(shown[2], (8, format!("1 event is {missing}")));
}

#[test]
fn a_line_that_is_there_twice_is_taken_once() {
    let (program, lines) = lines();
    let mut damaged = lines.clone();
    damaged.insert(5, lines[4].clone());
    damaged.extend_from_slice(&lines[3..6]);
    assert_snapshot!(reports_of(&program, damaged.join("\n") + "\n", 0, 2), @r"
    show:
    warning: 15 events could be read; line 6: event 4 follows event 4: it is repeated or out of order (and 1 more); `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    replay:
    error: damaged.jsonl is damaged and cannot be replayed: 15 events could be read; line 6: event 4 follows event 4: it is repeated or out of order (and 1 more); `ptc-workbench sessions recover damaged.jsonl` saves the readable events as a new session
    ");
    let (lost, session) = recovered(&program, &damaged);
    assert_eq!(lost.len(), 4, "{lost:?}");
    assert_eq!(lost[0], "line 6: event 4 is a duplicate and was skipped");
    assert_eq!(session.len(), lines.len());
    program.run(["replay", session.header.id.as_str(), "--check"]).exits(0);
}

#[test]
fn without_a_readable_event_nothing_is_recovered() {
    let (program, lines) = lines();
    let before = program.session_files();
    let header_and_garbage = format!("{}\nnothing\n", lines[0]);
    for text in ["", "\u{1}\u{2}garbage\nmore of it", &header_and_garbage] {
        program.file("damaged.jsonl", text);
        let done = program.run(["sessions", "recover", "damaged.jsonl"]);
        done.exits(2).reports("damaged.jsonl cannot be recovered: no line is an event; nothing was written");
        assert_eq!(done.stdout, "");
    }
    assert_eq!(program.session_files(), before);
    let left = std::fs::read_dir(program.sessions_dir()).unwrap().map(|entry| entry.unwrap().file_name());
    let drafts: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
}

#[test]
fn messages_about_damage_say_how_to_save_the_rest() {
    let (program, mut lines) = lines();
    lines[4] = "}{ garbage".to_owned();
    std::fs::write(program.session_file(), lines.join("\n") + "\n").unwrap();
    let id = program.session_file().file_stem().unwrap().to_str().unwrap().to_owned();
    let file = format!("sessions/{id}.jsonl");
    let advice = format!("`ptc-workbench sessions recover {file}` saves the readable events as a new session");
    let commands: [&[&str]; 5] = [
        &["replay", "last"],
        &["fork", "last", "--at", "r0/t1"],
        &["rerun", "last"],
        &["resume", "last"],
        &["sessions", "case", "last", "--agent", "new.toml"],
    ];
    for command in commands {
        program.run(command).exits(2).reports(&advice);
    }
    let done = program.run(["sessions", "recover", &file]).exits(0).stdout.clone();
    assert!(done.contains("events recovered as"), "{done}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_named_when_nothing_is_recovered() {
    let (program, mut lines) = lines();
    lines[4] = "}{ garbage".to_owned();
    program.file("damaged.jsonl", lines.join("\n") + "\n");
    let refused = || program.run(["sessions", "recover", "damaged.jsonl"]).exits(2).stderr.clone();
    std::fs::remove_dir_all(program.sessions_dir()).unwrap();
    program.file("sessions", "a file");
    let shown = refused();
    assert!(shown.contains("damaged.jsonl cannot be recovered into sessions: "), "{shown}");
    assert!(shown.contains("choose another folder with --sessions"), "{shown}");
    // What the system reports about a folder that exists, and not that the draft, which was never made, cannot be removed.
    if std::path::Path::new("/sys/kernel").is_dir() {
        std::fs::remove_file(program.sessions_dir()).unwrap();
        std::os::unix::fs::symlink("/sys/kernel", program.sessions_dir()).unwrap();
        let shown = refused();
        assert!(!shown.contains("No such file"), "{shown}");
    }
}

/// The name of a session that is outside of the folder and has the id of one in it.
#[test]
fn a_file_outside_of_the_folder_is_named_by_its_path() {
    let (program, lines) = lines();
    let file = program.session_file();
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let id = name.trim_end_matches(".jsonl");
    let outside = format!("other folder/{name}");
    std::fs::create_dir(program.dir().join("other folder")).unwrap();
    let open = lines[..lines.len() - 6].join("\n") + "\n";
    std::fs::write(program.dir().join(&outside), &open).unwrap();
    let resumed = program.run(["resume", &outside, "--model", "sample"]);
    resumed.exits(0).reports(&format!("saved as 'other folder/{name}'"));
    assert_ne!(std::fs::read_to_string(program.dir().join(&outside)).unwrap(), open);
    std::fs::write(program.dir().join(&outside), &open).unwrap();
    let waiting = program.run(["resume", &outside]);
    waiting.exits(4).reports(&format!("answer with: ptc-workbench resume 'other folder/{name}' --answer TEXT"));
    std::fs::write(&file, &open).unwrap();
    program.run(["resume", id, "--model", "sample"]).exits(0).reports(&format!("saved as {id}\n"));
}

#[cfg(unix)]
#[test]
fn a_pipe_that_has_the_name_of_a_session_is_not_waited_for() {
    let (program, _) = lines();
    let id = "2026-01-01T00-00-00Z-00000001";
    let pipe = program.sessions_dir().join(format!("{id}.jsonl"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let listed = program.run(["sessions", "list"]).exits(0).stdout.clone();
    assert!(listed.contains("damaged: cannot be read: it is not a regular file"), "{listed}");
    program.run(["sessions", "search", "lamp"]).exits(0);
    program.run(["sessions", "tree"]).exits(0);
    for command in [["sessions", "show"], ["sessions", "recover"]] {
        program.run(command.iter().chain([&id])).exits(2).reports("it is not a regular file");
    }
}

#[test]
fn a_request_is_rebuilt_from_its_lines_alone() {
    let mut compared = 0;
    for session in ptc_workbench::workbench::example_sessions() {
        let recording = ptc_workbench::replay::Recording::of(session).unwrap();
        for turn in session.skeleton().runs.iter().flat_map(|run| &run.turns) {
            assert_eq!(session.request(&turn.address), recording.request(&turn.address), "{}", turn.address);
            compared += 1;
        }
    }
    assert!(compared > 20);
}

#[test]
fn of_unreadable_lines_any_number_may_have_been_events() {
    let (program, lines) = lines();
    for garbage in [&["garbage"][..], &["garbage", "more of it"]] {
        let mut damaged = lines.clone();
        damaged.splice(4..5, garbage.iter().map(|line| (*line).to_owned()));
        program.file("damaged.jsonl", damaged.join("\n") + "\n");
        let session = ptc_workbench::session::Session::open(&program.dir().join("damaged.jsonl")).unwrap();
        assert_eq!(session.damage.len(), garbage.len(), "{:?}", session.damage);
        assert_eq!(recovered(&program, &damaged).0.len(), garbage.len());
    }
}

#[test]
fn a_session_never_takes_the_place_of_another() {
    use ptc_workbench::session::{Header, Prefix, SessionId, recover, write_session};
    let (program, lines) = lines();
    program.file("damaged.jsonl", lines.join("\n") + "\n}{");
    let dir = program.dir().join("folder");
    std::fs::create_dir(&dir).unwrap();
    let id = SessionId::new(0, 1);
    let header = Header::new(id.clone(), 0);
    let file = dir.join(id.file_name());
    std::fs::write(&file, "another").unwrap();
    let refused = [
        recover(&program.dir().join("damaged.jsonl"), &dir, id, 0).map(|_| ()).unwrap_err(),
        write_session(&dir, &header, &[]).unwrap_err().error,
        Prefix::default().write(&dir, &header, &[]).unwrap_err().error,
    ];
    assert_eq!(refused.map(|error| error.kind()), [std::io::ErrorKind::AlreadyExists; 3]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "another");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "drafts were left");
}
