//! A disk that refuses: the run continues, nothing recorded is lost while the program lives, and another place takes it all.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ptc_workbench::event::{Address, Event, Notice, NoticeLevel, TurnEnd};
use ptc_workbench::model::script;
use ptc_workbench::port::Sink as _;
use ptc_workbench::session::{Header, Medium, Recorder, Session, SessionId};

use super::{recorder, run_into};
use crate::cli::program::Program;
use crate::engine::{Ticks, agent};

const REPLIES: [&str; 3] = [r#"{"b": "ü"}"#, "no JSON at all 🚀", r#"{"a": 1, "b": "x"}"#];

/// A file that takes so many bytes, and of the next write only what fits.
struct Small {
    file: File,
    room: Arc<AtomicU64>,
}

impl Medium for Small {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.room.load(Ordering::SeqCst);
        let fits = room.min(bytes.len() as u64);
        self.room.store(room - fits, Ordering::SeqCst);
        self.file.append(&bytes[..usize::try_from(fits).unwrap()])?;
        if fits < bytes.len() as u64 { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    }

    fn cut(&mut self, end_bytes: u64) -> io::Result<()> {
        self.file.cut(end_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

/// A file whose disk is slow: a sync reports its start and ends when it is allowed to.
struct Slow {
    file: File,
    begun: mpsc::Sender<()>,
    allowed: mpsc::Receiver<()>,
}

impl Medium for Slow {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }

    fn cut(&mut self, end_bytes: u64) -> io::Result<()> {
        self.file.cut(end_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.begun.send(()).map_err(io::Error::other)?;
        self.allowed.recv_timeout(Duration::from_secs(20)).map_err(io::Error::other)
    }
}

/// The header of every session here.
fn header() -> Header {
    Header::new(SessionId::new(1_000, 1), 1_000)
}

/// A recorder whose file takes so many bytes after its header, and the room that is left.
fn small(dir: &Path, room: u64) -> (Recorder, PathBuf, Arc<AtomicU64>) {
    let path = {
        let recorder = recorder(dir, 1_000, 1);
        recorder.path().to_owned()
    };
    let file = File::options().append(true).open(&path).unwrap();
    let (end, room) = (file.metadata().unwrap().len(), Arc::new(AtomicU64::new(room)));
    let medium = Box::new(Small { file, room: room.clone() });
    (Recorder::with_medium(medium, &path, end, 0, Arc::new(Ticks(10))).unwrap(), path, room)
}

async fn run_on(recorder: &Recorder) {
    let model = script(REPLIES);
    let agent = agent("Say {{x}}", "(x :string) -> {a :int, b :string}");
    assert!(run_into(recorder, &agent, r#"{"x": "hi"}"#, &model).await.is_ok());
}

/// The text of a session without what a real clock puts into it, and the distances that follow from it.
fn lasting(bytes: &[u8]) -> String {
    let times = regex::Regex::new(r#""(first_ms|ms|b)":\[?\d+"#).unwrap();
    times.replace_all(&String::from_utf8_lossy(bytes), "\"$1\":0").into_owned()
}

/// The session as a disk with room for everything gets it.
async fn whole() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::create(dir.path(), &header(), Arc::new(Ticks(10))).unwrap();
    run_on(&recorder).await;
    std::fs::read(recorder.path()).unwrap()
}

#[tokio::test]
async fn wherever_the_disk_is_full_another_folder_takes_the_whole_session() {
    let whole = whole().await;
    let all = Session::from_bytes(Path::new("whole"), whole.clone()).unwrap().len();
    let (mut full, step) = (0, 97);
    for room in (0..whole.len() as u64).step_by(step) {
        let dir = tempfile::tempdir().unwrap();
        let (recorder, path, _) = small(dir.path(), room);
        let keeping = recorder.status();
        run_on(&recorder).await;
        drop(recorder);
        let Some(unwritten) = keeping.unwritten() else { continue };
        full += 1;
        assert!(unwritten.error.contains("no storage space"), "{unwritten}");
        // What the file holds are whole lines, and perhaps the beginning of one.
        let held = Session::open(&path).unwrap();
        assert!(held.damage.iter().all(|damage| damage.torn), "{room}: {:?}", held.damage);
        assert_eq!(held.len() as u64 + unwritten.events, all as u64, "{room}");
        let before = std::fs::read(&path).unwrap();

        let moved = keeping.move_to(&dir.path().join("elsewhere")).unwrap();
        assert_eq!(lasting(&std::fs::read(&moved).unwrap()), lasting(&whole), "{room}");
        assert_eq!((keeping.unwritten(), keeping.path()), (None, moved));
        assert_eq!(std::fs::read(&path).unwrap(), before, "the old file is not touched");
    }
    assert!(full > 10);
}

#[tokio::test]
async fn how_the_writing_is_is_known_while_the_disk_works() {
    let dir = tempfile::tempdir().unwrap();
    let (recorder, path, _) = small(dir.path(), 0);
    drop(recorder);
    let file = File::options().append(true).open(&path).unwrap();
    let end = file.metadata().unwrap().len();
    let ((begun, has_begun), (allow, allowed)) = (mpsc::channel(), mpsc::channel());
    let medium = Box::new(Slow { file, begun, allowed });
    let recorder = Recorder::with_medium(medium, &path, end, 0, Arc::new(Ticks(10))).unwrap();
    let keeping = recorder.status();
    // The end of a turn is on the disk before the next line is written, and the run does not wait for that.
    recorder.emit(Address::from("r0/t1"), TurnEnd::default().into()).await.unwrap();
    has_begun.recv().unwrap();
    assert_eq!((keeping.take_notice(), keeping.unwritten(), keeping.path()), (None, None, path.clone()));
    allow.send(()).unwrap();
    drop(recorder);
    assert_eq!(keeping.unwritten(), None, "the sync was allowed to end while it was asked for");
    assert_eq!(Session::open(&path).unwrap().len(), 1);
}

#[tokio::test]
async fn a_disk_that_has_room_again_gets_what_it_lacked() {
    let whole = whole().await;
    for room in [0, 300, 1_000] {
        let dir = tempfile::tempdir().unwrap();
        let (recorder, path, left) = small(dir.path(), room);
        run_on(&recorder).await;
        let keeping = recorder.status();
        assert!(keeping.take_notice().unwrap().contains("in memory; the run continues"));
        assert_eq!(keeping.take_notice(), None, "reported once");
        left.store(u64::MAX, Ordering::SeqCst);
        assert_eq!(keeping.retry(), None);
        assert_eq!(keeping.take_notice(), Some(format!("writing the session works again: {}", path.display())));
        assert_eq!(lasting(&std::fs::read(&path).unwrap()), lasting(&whole), "{room}");
    }
}

#[tokio::test]
async fn a_session_that_moved_continues_in_its_new_file() {
    let dir = tempfile::tempdir().unwrap();
    let (recorder, _, _) = small(dir.path(), 10);
    let notice = |text: &str| Event::Notice(Notice { level: NoticeLevel::Info, text: text.to_owned() });
    recorder.emit(Address::run(0), notice("one")).await.unwrap();
    let moved = recorder.status().move_to(&dir.path().join("new")).unwrap();
    let again = recorder.status().move_to(&dir.path().join("new")).unwrap_err();
    assert_eq!(again.error.kind(), io::ErrorKind::AlreadyExists);
    recorder.emit(Address::run(0), notice("two")).await.unwrap();
    drop(recorder);
    let session = Session::open(&moved).unwrap();
    assert_eq!(session.events().map(|envelope| envelope.event).collect::<Vec<_>>(), [notice("one"), notice("two")]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_does_not_end_a_run_and_is_reported_with_what_to_do() {
    // A limit on the size of files is used for full disks everywhere: 4 blocks of 512 bytes.
    let program = Program::new();
    let mut shell = std::process::Command::new("sh");
    program.surround(&mut shell);
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_ptc-workbench"), "--sessions", "sessions"]);
    shell.args(["--spare-sessions", "spare", "run", "sentiment", "--model", "sample", "--json"]);
    let done = program.done(shell.output().unwrap());
    assert!(done.exits(2).json()["return"]["score"].is_number(), "{}", done.stdout);
    done.reports("cannot be written: ").reports("only in memory; the run continues");
    done.reports("spare/").reports("could not be written either").reports("name a folder with --spare-sessions");
    assert!(!done.stderr.contains("saved as"));
    assert_eq!(std::fs::read_dir(program.dir().join("spare")).unwrap().count(), 0, "half a copy was left");
    program.run(["replay", "last", "--check"]).exits(0);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_refused_before_anything_is_asked() {
    let program = Program::new();
    program.file("sessions", "a file where the folder should be");
    let done = program.run(["run", "sentiment", "--model", "sample"]);
    done.exits(2).reports("could not create a session in sessions: it is not a folder (choose another folder with --sessions); --no-save runs without a session");
    program.run(["run", "sentiment", "--model", "sample", "--no-save"]).exits(0);
}

#[test]
fn a_session_is_read_while_another_program_writes_it_and_written_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let recorder = recorder(dir.path(), 1_000, 1);
    let path = recorder.path().to_owned();
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().append(b"{\"s\":1,\"t\":5").unwrap();
    let session = Session::open(&path).unwrap();
    assert!(session.is_being_written());
    assert!(session.damage_report().unwrap().contains("another program is writing it now"));
    let refused = Recorder::append(&session, Arc::new(Ticks(10))).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("another program is writing to this session"), "{refused}");
    drop(recorder);
    let session = Session::open(&path).unwrap();
    assert!(!session.is_being_written());
    assert!(session.damage_report().unwrap().contains("the program stopped while writing it"));
    Recorder::append(&session, Arc::new(Ticks(10))).map(|_| ()).unwrap();
}

#[tokio::test]
async fn a_file_of_a_later_version_is_read_and_not_written() {
    let text = String::from_utf8(whole().await).unwrap().replacen("\"version\":2", "\"version\":3", 1);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("later.jsonl");
    std::fs::write(&path, &text).unwrap();
    let session = Session::open(&path).unwrap();
    assert_eq!((session.damage_report(), session.header.is_of_later_version()), (None, true));
    let refused = Recorder::append(&session, Arc::new(Ticks(10))).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains(", which can continue it"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn the_chain_of_turn_ends_continues_when_a_session_is_appended_to() {
    let dir = tempfile::tempdir().unwrap();
    let first = recorder(dir.path(), 1_000, 1);
    run_on(&first).await;
    let path = first.path().to_owned();
    drop(first);
    let more = Recorder::append(&Session::open(&path).unwrap(), Arc::new(Ticks(10))).unwrap();
    run_on(&more).await;
    drop(more);
    let text = std::fs::read_to_string(path).unwrap();
    let (mut at, mut ends) = (0, Vec::new());
    for line in text.split_inclusive('\n') {
        if line.contains(r#""k":"turn.end""#) {
            ends.push((at, serde_json::from_str::<serde_json::Value>(line).unwrap()["b"].as_u64()));
        }
        at += line.len() as u64;
    }
    assert_eq!((ends.len(), ends[0].1), (6, None));
    assert!(ends.windows(2).all(|pair| pair[1].1 == Some(pair[1].0 - pair[0].0)), "{ends:?}");
}

#[tokio::test]
async fn a_whole_last_line_without_its_line_break_counts_and_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    let first = recorder(dir.path(), 1_000, 1);
    run_on(&first).await;
    let path = first.path().to_owned();
    drop(first);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.trim_end()).unwrap();
    let cut = Session::open(&path).unwrap();
    assert_eq!((cut.len() + 1, cut.damage.len()), (text.lines().count(), 0));
    let more = Recorder::append(&cut, Arc::new(Ticks(10))).unwrap();
    run_on(&more).await;
    drop(more);
    let whole = Session::open(&path).unwrap();
    assert_eq!((whole.len(), whole.damage.len()), (2 * cut.len(), 0));
}
