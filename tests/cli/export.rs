//! `sessions export` and `sessions import` as a user calls them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ptc_workbench::export::Format;

use super::program::Program;

/// The shape of a key, put together so that no file holds one.
fn key() -> String {
    format!("ghp_{}", "Zx9Kq2Lm7Vb4Nt8Rw3Yp6Sd1Fg5Hj0AcEuIo")
}

/// A folder with a session whose context holds this text.
fn with_session(program: Program, text: &str) -> Program {
    program
        .run([
            "run",
            "--mode",
            "text",
            "--prompt",
            "Say it: {{text}}",
            "--model",
            "sample",
            "--set",
            &format!("text={text}"),
        ])
        .exits(0);
    program
}

#[test]
fn every_format_is_written_and_named_by_the_file() {
    let program = with_session(Program::new(), "hello");
    for format in Format::ALL.iter().filter(|format| **format != Format::Bundle) {
        let file = format!("all.{}", format.name());
        // The picture and the lines fold what was sent.
        let shown = match format {
            Format::Svg => "Session",
            Format::Asciicast => "turn 1",
            _ => "hello",
        };
        let done = program.run(["sessions", "export", "last", "--format", format.name(), "-o", &file]);
        done.exits(0);
        assert!(done.stderr.contains("nothing removed"), "{}", done.stderr);
        assert!(fs::read_to_string(program.dir().join(&file)).unwrap().contains(shown), "{file}");
        let piped = program.run(["sessions", "export", "last", "-f", format.name()]);
        piped.exits(0);
        assert_eq!(piped.stdout, fs::read_to_string(program.dir().join(&file)).unwrap(), "{file}");
    }
    program.run(["sessions", "export", "last", "-o", "page.html"]).exits(0);
    assert!(fs::read_to_string(program.dir().join("page.html")).unwrap().starts_with("<!doctype html>"));
    let done = program.run(["sessions", "export", "last", "-o", "page.txt"]);
    done.exits(2);
    let expected = "page.txt: the file's ending does not name a format; choose one with --format: md, html";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
    for flags in [&["sessions", "export", "last"][..], &["sessions", "export", "last", "-o", "-"]] {
        let done = program.run(flags);
        done.exits(2);
        assert!(done.stderr.contains("error: choose a format with --format: md, html"), "{}", done.stderr);
    }
    let done = program.run(["sessions", "export", "last", "-f", "pdf"]);
    done.exits(2);
    assert!(done.stderr.contains("unknown format \"pdf\""), "{}", done.stderr);
}

#[test]
fn what_looks_like_a_secret_is_not_written_unless_that_is_allowed() {
    let program = with_session(Program::new(), &key());
    let done = program.run(["sessions", "export", "last", "-o", "out.md"]);
    done.exits(2);
    assert!(
        done.stderr.contains("r0  run.start context.text  github_token") && done.stderr.contains("--redact secrets"),
        "{}",
        done.stderr
    );
    assert!(!done.stderr.contains(&key()) && !program.dir().join("out.md").exists());
    let done = program.run(["sessions", "export", "last", "-f", "md"]);
    done.exits(2);
    assert_eq!(done.stdout, "");
    program.run(["sessions", "export", "last", "-o", "out.md", "--redact", "secrets"]).exits(0);
    let text = fs::read_to_string(program.dir().join("out.md")).unwrap();
    assert!(text.contains("[removed: github_token]") && !text.contains(&key()));
    // A rule that leaves the secret does not count as having looked.
    program.run(["sessions", "export", "last", "-o", "other.md", "--redact", "memory"]).exits(2);
    let done = program.run(["sessions", "export", "last", "-o", "all.md", "--allow-secrets"]);
    done.exits(0);
    assert!(done.stderr.contains("warning: the export contains text that looks like a secret"));
    assert!(fs::read_to_string(program.dir().join("all.md")).unwrap().contains(&key()));
}

/// The texts of the files of a folder by name; the session's name is `session`.
fn files_in(folder: &Path) -> BTreeMap<String, String> {
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_session = path.extension().is_some_and(|ending| ending == "jsonl");
        (if is_session { "session".to_owned() } else { name }, fs::read_to_string(path).unwrap())
    };
    fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap().path())).collect()
}

/// The session in a bundle.
fn session_in(folder: &Path) -> String {
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let session = files.find(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    session.unwrap().display().to_string()
}

#[test]
fn a_bundle_is_a_folder_whose_session_replays_and_whose_agent_runs() {
    let program = with_session(Program::new(), "hello");
    let done = program.run(["sessions", "export", "last", "-f", "bundle", "-o", "bug", "--json"]).exits(0).json();
    assert_eq!((&done["format"], &done["file"]), (&"bundle".into(), &"bug".into()));
    let folder = program.dir().join("bug");
    let files = files_in(&folder);
    assert_eq!(files.keys().collect::<Vec<_>>(), ["README.md", "agent.toml", "doctor.json", "session"]);
    assert_eq!(done["bytes"], files.values().map(String::len).sum::<usize>());
    let doctor: serde_json::Value = serde_json::from_str(&files["doctor.json"]).unwrap();
    let looked_at = doctor["findings"].as_array().unwrap().iter().map(|finding| finding["what"].as_str().unwrap());
    assert!(looked_at.clone().any(|what| what == "terminal") && looked_at.clone().any(|what| what == "configuration"));
    assert!(!looked_at.clone().any(|what| what == "example sessions"), "nothing but the session is replayed");
    let session = session_in(&folder);
    let replayed = program.run(["replay", &session, "--check"]);
    assert!(replayed.exits(0).stdout.starts_with("identical"), "{}", replayed.stdout);
    assert!(files["README.md"].contains("replay reported: identical,"), "{}", files["README.md"]);
    assert!(files["README.md"].contains("Nothing but the raw network frames"), "{}", files["README.md"]);
    program.run(["run", "bug/agent.toml", "--model", "sample"]).exits(0);
    assert!(files["agent.toml"].contains("hello"), "with its inputs: {}", files["agent.toml"]);
    // A folder that is there is not touched, and a folder is no text.
    program.run(["sessions", "export", "last", "-f", "bundle", "-o", "bug"]).exits(2).reports("bug: already exists");
    program.run(["sessions", "export", "last", "-f", "bundle"]).exits(2).reports("a bundle is a folder");
    program.run(["sessions", "export", "last", "-o", "again.bundle"]).exits(0);
    assert!(program.dir().join("again.bundle/README.md").is_file());
}

#[test]
fn a_bundle_without_its_secrets_still_replays() {
    let program = with_session(Program::new(), &key());
    program.run(["sessions", "export", "last", "-f", "bundle", "-o", "bug"]).exits(2).reports("--redact secrets");
    assert!(!program.dir().join("bug").exists());
    let export = ["sessions", "export", "last", "-f", "bundle", "-o", "bug", "--redact"];
    program.run([&export[..], &["secrets"]].concat()).exits(0);
    let folder = program.dir().join("bug");
    let files = files_in(&folder);
    for (name, text) in &files {
        assert!(!text.contains(&key()) && !text.contains(&key()[9..]), "{name}");
    }
    assert!(files["session"].contains("[removed: github_token]") && files["README.md"].contains("* github_token: "));
    let replayed = program.run(["replay", &session_in(&folder), "--check"]);
    assert!(replayed.exits(0).stdout.starts_with("identical"), "{}", replayed.stdout);
    // Where the course of the run depends on what was removed, the recorded values stay.
    program.run(["sessions", "export", "last", "-f", "bundle", "-o", "full", "--redact", "full"]).exits(0);
    let session = session_in(&program.dir().join("full"));
    let replayed = program.run(["replay", &session, "--check"]);
    assert!(replayed.exits(0).stdout.starts_with("identical"), "{}", replayed.stdout);
}

#[test]
fn a_secret_of_the_environment_is_known() {
    let program = with_session(Program::new().with_env("MY_SERVICE_TOKEN", "plain words only"), "plain words only");
    let done = program.run(["sessions", "export", "last", "-f", "md"]);
    done.exits(2);
    assert!(done.stderr.contains("known_secret"), "{}", done.stderr);
}

#[test]
fn the_preview_shows_each_removal_and_writes_nothing() {
    let program = with_session(Program::new(), "ada@example.test");
    let done = program.run(["sessions", "export", "last", "--preview", "--redact", "field:text", "-o", "out.md"]);
    done.exits(0);
    let first = done.stdout.lines().next().unwrap();
    assert_eq!(first, "r0  run.start context.text  field:text  ada… (16 characters)");
    assert!(done.stdout.contains("repeated") && done.stdout.trim_end().ends_with("places removed"), "{}", done.stdout);
    assert!(!program.dir().join("out.md").exists());
    let done = program.run(["sessions", "export", "last", "--preview", "--redact", "field:text", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["removed"][0]["field"], "run.start context.text");
    assert_eq!(report["secrets"], serde_json::json!([]));
}

#[test]
fn the_session_itself_is_never_the_target() {
    let program = with_session(Program::new(), "hello");
    let path = fs::read_dir(program.dir().join("sessions")).unwrap().next().unwrap().unwrap().path();
    let before = fs::read(&path).unwrap();
    let done = program.run(["sessions", "export", "last", "-f", "md", "-o", path.to_str().unwrap()]);
    done.exits(2);
    assert!(done.stderr.contains("this is the session itself"), "{}", done.stderr);
    assert_eq!(fs::read(&path).unwrap(), before);
    // Nor is another one.
    let other = program.file("other.jsonl", &before);
    let done = program.run(["sessions", "export", "last", "-f", "json", "-o", other]);
    done.exits(2).reports("other.jsonl: this file is a session and would be overwritten; choose another file");
    assert_eq!(fs::read(program.dir().join(other)).unwrap(), before);
    let done = program.run(["sessions", "export", "last", "-f", "md", "-o", "no/such/folder.md"]);
    done.exits(2);
    assert!(done.stderr.contains("no/such/folder.md: cannot be written"), "{}", done.stderr);
}

#[test]
fn a_file_that_exists_is_replaced_only_with_force() {
    let program = with_session(Program::new(), "hello");
    let read = |file: &str| fs::read_to_string(program.dir().join(file)).unwrap();
    let agent = program.file("agent.toml", "prompt = \"mine\"\n");
    program.file("empty.md", "");
    program.run(["sessions", "export", "last", "-o", "page.md"]).exits(0);
    for (file, format) in [(agent, "md"), ("page.md", "md"), ("page.md", "html")] {
        let before = read(file);
        let done = program.run(["sessions", "export", "last", "-f", format, "-o", file]);
        let expected = format!("error: {file} exists: name another file with -o, or replace it with --force");
        done.exits(2).reports(&expected);
        assert_eq!(read(file), before);
    }
    program.run(["sessions", "export", "last", "-o", "empty.md"]).exits(0);
    program.run(["sessions", "export", "last", "-f", "html", "-o", "page.md", "--force"]).exits(0);
    assert!(read("page.md").starts_with("<!doctype html>"));
    // A session is not replaced even so, and a bundle is a folder.
    let session = program.session_file().display().to_string();
    program
        .run(["sessions", "export", "last", "-f", "md", "-o", &session, "--force"])
        .exits(2)
        .reports("the session itself");
    program.run(["sessions", "export", "last", "-o", "a.bundle", "--force"]).exits(2).reports("a bundle is a folder");
    program.run(["sessions", "export", "last", "-f", "md", "--force"]).exits(2).reports("--output");
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_written_to_as_they_are() {
    use std::os::unix::fs::FileTypeExt as _;

    let program = with_session(Program::new(), "hello");
    let whole = program.run(["sessions", "export", "last", "-f", "md"]).exits(0).stdout.clone();
    let stdout = program.run(["sessions", "export", "last", "-f", "md", "-o", "/dev/stdout"]).exits(0).stdout.clone();
    assert_eq!(stdout, whole);
    program.run(["sessions", "export", "last", "-f", "md", "-o", "/dev/null"]).exits(0);
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let pipe = program.dir().join("pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    program.run(["sessions", "export", "last", "-o", "pipe.md"]).exits(0);
    assert_eq!(reader.join().unwrap(), whole);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    program
        .run(["sessions", "export", "last", "-f", "md", "-o", "."])
        .exits(2)
        .reports(": this is a folder; name a file");
    // A file that stdout is gets the report after what was printed before.
    let out = fs::File::create(program.dir().join("all.txt")).unwrap();
    let arguments = ["test", "sentiment", "--junit", "/dev/stdout"];
    program.done(program.command(arguments).stdout(out).output().unwrap()).exits(0);
    let all = fs::read_to_string(program.dir().join("all.txt")).unwrap();
    assert!(all.starts_with("<?xml") && all.contains("</testsuites>\n") && all.contains("0 failed"), "{all}");
}

const TRACE: &str = include_str!("../export/trace.jsonl");

#[test]
fn a_trace_becomes_a_session_that_is_shown_exported_and_not_replayed() {
    let program = Program::new();
    program.file("trace.jsonl", TRACE);
    let done = program.run(["sessions", "import", "trace.jsonl"]);
    done.exits(0);
    let id = done.stdout.trim().to_owned();
    assert!(
        id.starts_with("2026-05-04T10-00-00Z-") && done.stderr.contains("it cannot be replayed"),
        "{} {}",
        id,
        done.stderr
    );
    let shown = program.run(["sessions", "show", &id]);
    shown.exits(0);
    for output in ["planner", "imported from the PtcRunner trace", "call count", "counter", "max_turns_exceeded"] {
        assert!(shown.stdout.contains(output), "{output}: {}", shown.stdout);
    }
    assert!(!shown.stdout.contains('\u{1b}'));
    let listed = program.run(["sessions", "list"]);
    assert!(listed.stdout.lines().any(|line| line.starts_with(&id) && line.contains("imported:")), "{}", listed.stdout);
    let page = program.run(["sessions", "export", &id, "-f", "md"]);
    page.exits(0);
    assert!(page.stdout.contains("it cannot be replayed"));
    for refused in [vec!["replay", &id], vec!["continue", &id, "more"], vec!["resume", &id]] {
        let done = program.run(&refused);
        done.exits(2);
        assert!(done.stderr.contains("was imported from ptc_runner trace 2"), "{refused:?}: {}", done.stderr);
    }
    program.run(["exec", &id, "r0/t1"]).exits(2).reports("its programs can be viewed but not run again");
    let again = program.run(["sessions", "import", "trace.jsonl"]);
    again.exits(2);
    assert!(again.stderr.contains(&format!("was imported before, as session {id}")), "{}", again.stderr);
}

#[test]
fn a_dash_is_stdout_and_a_size_is_for_pictures() {
    let program = Program::new();
    program.run(["run", "sentiment"]).exits(0);
    let whole = program.run(["sessions", "export", "last", "-f", "md"]).exits(0).stdout.clone();
    let dash = program.run(["sessions", "export", "last", "-f", "md", "-o", "-"]).exits(0).stdout.clone();
    assert!(dash == whole && !whole.is_empty() && !program.dir().join("-").exists(), "{dash}");
    let sized = program.run(["sessions", "export", "last", "-f", "md", "--size", "80x24"]);
    sized.exits(2).reports("--size is for svg and asciicast");
    program.run(["sessions", "export", "last", "-f", "svg", "--size", "80x24"]).exits(0);
}

#[test]
fn a_trace_without_an_id_is_named_by_its_file() {
    let program = Program::new();
    let lines = TRACE.lines().map(|line| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("trace_id");
        record.to_string()
    });
    program.file("nameless.jsonl", lines.collect::<Vec<_>>().join("\n") + "\n");
    let id = program.run(["sessions", "import", "nameless.jsonl"]).exits(0).stdout.trim().to_owned();
    program.run(["replay", &id]).exits(2).reports("was imported from ptc_runner trace 2 (nameless.jsonl)");
}

#[test]
fn a_bad_file_leaves_no_files() {
    let program = Program::new();
    program.file("bad.jsonl", format!("{TRACE}not json\n"));
    program.file("binary.jsonl", [0xff, 0xfe, 0x00]);
    for (file, expected) in
        [("bad.jsonl", "is not JSON"), ("binary.jsonl", "is not UTF-8"), ("none.jsonl", "cannot be read")]
    {
        let done = program.run(["sessions", "import", file]);
        done.exits(2);
        assert!(done.stderr.contains(expected) && done.stderr.contains(file), "{}", done.stderr);
        assert!(!program.dir().join("sessions").exists(), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_only_its_owner_may_read_stays_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let program = with_session(Program::new(), "hello");
    let page = program.dir().join(program.file("page.html", "old"));
    fs::set_permissions(&page, fs::Permissions::from_mode(0o600)).unwrap();
    program.run(["sessions", "export", "last", "-o", "page.html", "--force"]).exits(0);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn examples_are_exported_by_every_redaction_and_their_bundles_replay() {
    let program = Program::new();
    let listed = program.run(["sessions", "search", "is:example", "--json", "--limit", "1000"]).exits(0).json();
    let ids: Vec<String> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(ids.len() >= 28, "{ids:?}");
    let rules = [
        "secrets",
        "full",
        "summary",
        "context",
        "messages",
        "arguments",
        "results",
        "memory",
        "agent",
        "field:text",
        "regex:[a-z]{5,}",
    ];
    for (number, id) in ids.iter().enumerate() {
        // Each rule once, for another example; the short form tries every third, the long form all for all.
        let is_own = |place: usize| place == number && (crate::is_complete() || place.is_multiple_of(3));
        let is_tried = |place: usize| crate::is_long() || is_own(place);
        let tried = rules.iter().enumerate().filter(|(place, _)| is_tried(*place));
        for (_, rule) in tried {
            let folder = format!("{number}.bundle");
            let done = program.run(["sessions", "export", id, "-f", "bundle", "-o", &folder, "--redact", rule]);
            done.exits(0);
            let session = session_in(&program.dir().join(&folder));
            let replayed = program.run(["replay", &session, "--check"]);
            assert!(replayed.exits(0).stdout.starts_with("identical"), "{id} {rule}: {}", replayed.stdout);
            let verified = program.run(["sessions", "verify", &session]);
            assert!(verified.exits(0).stdout.contains("no findings"), "{id} {rule}: {}", verified.stdout);
            fs::remove_dir_all(program.dir().join(&folder)).unwrap();
        }
    }
}

#[test]
fn a_bundle_of_a_session_with_a_foreign_id_is_refused() {
    let program = with_session(Program::new(), "hello");
    let file = program.session_file();
    let text = fs::read_to_string(&file).unwrap();
    let id = file.file_stem().unwrap().to_str().unwrap();
    let foreign = program.dir().join("foreign.jsonl");
    fs::write(&foreign, text.replacen(id, "../outside", 1)).unwrap();
    let done = program.run(["sessions", "export", "foreign.jsonl", "-f", "bundle", "-o", "bug"]);
    done.exits(2).reports("the id of the session is not one of this program");
    assert!(!program.dir().join("outside.jsonl").exists() && !program.dir().join("bug").exists());
}
