//! A session file that is removed, replaced, cut or overwritten while a run writes it: the spare folder takes everything.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};

use ptc_workbench::event::{Address, Event, Notice, NoticeLevel};
use ptc_workbench::port::Sink as _;
use ptc_workbench::session::{RecorderStatus, Session};

use super::recorder;
use crate::cli::program::{Program, read_until, signal};

/// A change of a file in one step, so that the check each second sees no other accident half-way: its name, the change, its description in
/// the report.
type Accident = (&'static str, fn(&Path), &'static str);

const ACCIDENTS: [Accident; 7] = [
    ("file removed", |path| fs::remove_file(path).unwrap(), "it was removed"),
    ("folder removed", |path| fs::remove_dir_all(path.parent().unwrap()).unwrap(), "it was removed"),
    ("emptied", |path| drop(fs::File::create(path).unwrap()), "it was cut to 0 bytes"),
    (
        "cut",
        |path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(40).unwrap(),
        "it was cut to 40 bytes",
    ),
    (
        "replaced",
        |path| {
            let other = path.with_extension("other");
            fs::copy(path, &other).unwrap();
            fs::rename(&other, path).unwrap();
        },
        "another file is in its place",
    ),
    ("header overwritten", |path| overwrite(path, 3), "it was overwritten"),
    (
        "appended to",
        |path| {
            let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
            std::io::Write::write_all(&mut file, b"{}\n").unwrap();
        },
        "another program has written to it",
    ),
];

/// Changes a byte in place.
fn overwrite(path: &Path, at: u64) {
    use std::os::unix::fs::FileExt as _;
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(b"#", at).unwrap();
}

fn notice(text: &str) -> Event {
    Notice { level: NoticeLevel::Info, text: text.to_owned() }.into()
}

/// Waits until the file has an event: `emit` does not wait for a notice, another thread writes it.
fn wait_until_written(path: &Path, status: &RecorderStatus) {
    while fs::read_to_string(path).unwrap().lines().count() < 2 {
        status.retry();
        std::thread::sleep(crate::POLL);
    }
}

fn texts(path: &Path) -> Vec<Event> {
    let session = Session::open(path).unwrap();
    assert_eq!(session.damage, []);
    session.events().map(|envelope| envelope.event).collect()
}

#[tokio::test]
async fn the_spare_folder_takes_a_session_whose_file_is_lost_and_the_run_continues_there() {
    for (accident, cause, words) in ACCIDENTS {
        let dir = tempfile::tempdir().unwrap();
        let (own, spare) = (dir.path().join("own"), dir.path().join("spare"));
        let recorder = recorder(&own, 1_000, 1);
        let (path, status) = (recorder.path().to_owned(), recorder.status());
        status.set_spare_dir(&spare);
        recorder.emit(Address::run(0), notice("one")).await.unwrap();
        wait_until_written(&path, &status);
        cause(&path);
        status.check_place();
        let moved = spare.join(path.file_name().unwrap());
        assert_eq!((status.path(), status.unwritten()), (moved.clone(), None), "{accident}");
        let lost = status.moved_from().unwrap();
        assert!(lost.path == path && lost.error.contains(words), "{accident}: {}", lost.error);
        assert!(status.take_notice().unwrap().contains("the run continues in"), "{accident}");
        assert_eq!(status.take_notice(), None, "{accident}: once");
        recorder.emit(Address::run(0), notice("two")).await.unwrap();
        drop(recorder);
        assert_eq!(status.retry(), None, "{accident}");
        assert_eq!(texts(&moved), [notice("one"), notice("two")], "{accident}");
    }
}

#[tokio::test]
async fn without_a_folder_that_takes_it_a_lost_session_stays_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = recorder(&dir.path().join("own"), 1_000, 1);
    let (path, status) = (recorder.path().to_owned(), recorder.status());
    fs::write(dir.path().join("file"), "").unwrap();
    status.set_spare_dir(&dir.path().join("file/spare"));
    recorder.emit(Address::run(0), notice("one")).await.unwrap();
    wait_until_written(&path, &status);
    fs::remove_file(&path).unwrap();
    status.check_place();
    recorder.emit(Address::run(0), notice("two")).await.unwrap();
    drop(recorder);
    let unwritten = status.retry().unwrap();
    assert_eq!((unwritten.events, unwritten.path.clone()), (2, path));
    assert!(unwritten.to_string().contains("2 events"), "{unwritten}");
    // A folder that is named later takes everything.
    let moved = status.move_to(&dir.path().join("later")).unwrap();
    assert_eq!(texts(&moved), [notice("one"), notice("two")]);
}

#[tokio::test]
async fn a_line_that_was_overwritten_is_noticed_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = recorder(dir.path(), 1_000, 1);
    let (path, status) = (recorder.path().to_owned(), recorder.status());
    for _ in 0..3 {
        recorder.emit(Address::run(0), notice("one")).await.unwrap();
    }
    drop(recorder);
    assert_eq!(status.retry(), None);
    overwrite(&path, fs::metadata(&path).unwrap().len() - 10);
    assert_eq!(status.retry().unwrap().error, "it was overwritten");
}

/// Starts a slow run and causes an accident while its reply arrives. Returns the exit code and stderr.
fn interrupted(program: &Program, spare: &str, cause: fn(&Path)) -> (Option<i32>, String) {
    let arguments = ["--spare-sessions", spare, "run", "sentiment", "--model", "sample:slow"];
    let mut child = program.command(arguments).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut output = read_until(&mut stderr, "  | {");
    cause(&program.session_file());
    std::io::Read::read_to_string(&mut stderr, &mut output).unwrap();
    (child.wait().unwrap().code(), output)
}

fn files(dir: PathBuf) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_run_whose_file_is_lost_names_the_spare_folder_which_has_all_of_it() {
    let run = |(accident, cause, _): Accident| {
        let program = Program::new();
        let (code, shown) = interrupted(&program, "spare", cause);
        assert_eq!(code, Some(0), "{accident}: {shown}");
        assert!(shown.contains("The whole session is in spare/") && !shown.contains("saved as"), "{accident}: {shown}");
        let moved = files(program.dir().join("spare"));
        assert_eq!(moved.len(), 1, "{accident}: {moved:?}");
        program.run(["sessions", "verify", moved[0].to_str().unwrap()]).exits(0);
    };
    // At once: each run waits for its slow model most of the time.
    std::thread::scope(|scope| ACCIDENTS.into_iter().for_each(|accident| _ = scope.spawn(move || run(accident))));
}

#[test]
fn a_run_whose_file_is_lost_and_that_no_folder_takes_is_no_success() {
    let program = Program::new();
    program.file("taken", "a file where the spare folder should be");
    let (code, shown) = interrupted(&program, "taken/spare", |path| fs::remove_file(path).unwrap());
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("could not be written either") && !shown.contains("saved as"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_cannot_be_created_is_in_the_spare_folder() {
    let program = Program::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ptc-workbench"));
    program.surround(&mut command);
    // Nobody can create folders there, not even root.
    command.args(["--sessions", "/sys/ptc-sessions", "--spare-sessions", "spare", "run", "sentiment"]);
    let done = program.done(command.output().unwrap());
    done.exits(0).reports("a session could not be created in /sys/ptc-sessions").reports("saved as spare/");
    assert_eq!(std::fs::read_dir(program.dir().join("spare")).unwrap().count(), 1);
}

#[test]
fn a_limit_on_the_size_of_files_is_a_full_disk() {
    let program = Program::new();
    let mut shell = std::process::Command::new("sh");
    program.surround(&mut shell);
    let script = "ulimit -f 4; exec \"$0\" \"$@\"";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_ptc-workbench"), "--sessions", "sessions"]);
    shell.args(["--spare-sessions", "spare", "run", "sentiment", "--model", "sample", "--json"]);
    let done = program.done(shell.output().unwrap());
    done.exits(2).reports("cannot be written: ").reports("could not be written either");
}

#[test]
fn a_run_that_sigterm_ended_is_resumed_where_it_was() {
    let program = Program::new();
    let mut child = program.command(["run", "sentiment", "--model", "sample:slow"]).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    read_until(&mut stderr, "  | {");
    signal(&child, "TERM");
    read_until(&mut stderr, "resume with: ptc-workbench resume ");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let ends = |session: &Session| session.events().filter(|envelope| envelope.event.kind() == "run.end").count();
    assert_eq!(ends(&program.session()), 0);
    program.run(["resume", "last"]).exits(0);
    assert_eq!(ends(&program.session()), 1);
    program.run(["sessions", "verify", "last"]).exits(0);
}

#[test]
fn an_id_finds_the_whole_copy_in_the_spare_folder_and_a_path_the_file_itself() {
    let program = Program::new();
    program.run(["run", "sentiment", "--model", "sample"]).exits(0);
    let own = program.session_file();
    let name = own.file_name().unwrap().to_str().unwrap().to_owned();
    let whole = std::fs::read_to_string(&own).unwrap();
    std::fs::create_dir(program.dir().join("spare")).unwrap();
    std::fs::write(program.dir().join("spare").join(&name), &whole).unwrap();
    let begun: String = whole.split_inclusive('\n').take(3).collect();
    std::fs::write(&own, begun).unwrap();
    let shown = |session: &str| {
        program.run(["--spare-sessions", "spare", "sessions", "show", session]).exits(0).printed().contains("returned")
    };
    let id = name.trim_end_matches(".jsonl");
    assert_eq!([shown(id), shown("last"), shown(own.to_str().unwrap())], [true, true, false]);
    std::fs::remove_file(&own).unwrap();
    assert!(shown(id));
}
