//! A pseudo-terminal with a program in it: keys go in, the screen is waited for. No sleeps; a wait that never comes true
//! ends after a generous limit and shows the screen.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtyPair, PtySize, native_pty_system};

/// After this long a wait has failed.
const LIMIT: Duration = Duration::from_secs(30);

/// Output of the program.
struct Output {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    ended: bool,
}

/// A running program and its terminal.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    pair: PtyPair,
    writer: Box<dyn Write + Send>,
    output: Arc<(Mutex<Output>, Condvar)>,
    /// Settings of the terminal before the program started.
    pub(crate) before: String,
}

/// Command that starts a program in a terminal.
pub(crate) struct Start {
    command: CommandBuilder,
    size: (u16, u16),
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Start {
    /// The workbench, in this folder, which is also its home.
    pub(crate) fn workbench(home: &Path) -> Self {
        Self::program(Path::new(env!("CARGO_BIN_EXE_ptc-workbench")), home)
    }

    /// Any program, in this folder.
    pub(crate) fn program(program: &Path, home: &Path) -> Self {
        let mut command = CommandBuilder::new(program);
        command.cwd(home);
        command.env_clear();
        for (name, value) in [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")] {
            command.env(name, value);
        }
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", home);
        let state = home.join(".local/share/ptc-workbench");
        std::fs::create_dir_all(&state).unwrap();
        std::fs::write(state.join("tour-seen"), "seen\n").unwrap();
        Self { command, size: (100, 30) }
    }

    /// As if the workbench had never been opened in this home.
    pub(crate) fn first_time(self, home: &Path) -> Self {
        std::fs::remove_file(home.join(".local/share/ptc-workbench/tour-seen")).unwrap();
        self
    }

    /// In another folder than its home.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.cwd(folder);
        self
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    pub(crate) fn spawn(self) -> Terminal {
        let (columns, rows) = self.size;
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let before = settings(&*pair.master);
        let child = pair.slave.spawn_command(self.command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let parser = vt100::Parser::new(cells(rows), cells(columns), 0);
        let output = Arc::new((Mutex::new(Output { parser, bytes: Vec::new(), ended: false }), Condvar::new()));
        let shared = output.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let read = reader.read(&mut buffer).unwrap_or(0);
                let mut output = shared.0.lock().unwrap();
                output.parser.process(&buffer[..read]);
                output.bytes.extend_from_slice(&buffer[..read]);
                output.ended = read == 0;
                shared.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Terminal { child, pair, writer, output, before }
    }
}

impl Output {
    /// Returns whether no frame is half drawn. The program marks where each begins and ends (synchronized updates).
    fn is_whole(&self) -> bool {
        let last = |mark: &[u8]| self.bytes.windows(mark.len()).rposition(|window| window == mark);
        self.ended || last(b"\x1b[?2026h") <= last(b"\x1b[?2026l")
    }
}

fn settings(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().unwrap())
}

impl Terminal {
    /// Sends keys as a terminal would.
    pub(crate) fn send(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Waits until the screen shows a text.
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait(&format!("{text:?} on the screen"), |output| output.parser.screen().contents().contains(text));
    }

    /// Waits until a row of the screen, counted from 0, contains a text.
    pub(crate) fn wait_for_row(&self, row: usize, text: &str) {
        self.wait(&format!("{text:?} in row {row}"), |output| {
            output.parser.screen().contents().lines().nth(row).is_some_and(|line| line.contains(text))
        });
    }

    /// Waits until the screen no longer shows a text.
    pub(crate) fn wait_until_gone(&self, text: &str) {
        self.wait(&format!("{text:?} to go"), |output| !output.parser.screen().contents().contains(text));
    }

    /// Waits until the last line with anything in it is this one: a shell that waits for its next command.
    pub(crate) fn wait_for_prompt(&self, prompt: &str) {
        self.wait(&format!("the prompt {prompt:?}"), |output| {
            let contents = output.parser.screen().contents();
            !output.parser.screen().alternate_screen()
                && contents.lines().map(str::trim).rfind(|line| !line.is_empty()) == Some(prompt)
        });
    }

    /// Waits until the program has written these bytes.
    pub(crate) fn wait_for_bytes(&self, bytes: &[u8]) {
        self.wait(&format!("{bytes:?}"), |output| output.bytes.windows(bytes.len()).any(|window| window == bytes));
    }

    fn wait(&self, what: &str, holds: impl Fn(&Output) -> bool) {
        let (output, changed) = &*self.output;
        let limit = Instant::now() + LIMIT;
        let mut output = output.lock().unwrap();
        while !(output.is_whole() && holds(&output)) {
            let left = limit.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !output.ended, "waited for {what}:\n{}", output.parser.screen().contents());
            output = changed.wait_timeout(output, left).unwrap().0;
        }
    }

    /// Waits until the terminal sends Ctrl-C as a signal: keys are not read one by one.
    pub(crate) fn wait_until_cooked(&self) {
        let limit = Instant::now() + LIMIT;
        while settings(&*self.pair.master) != self.before {
            assert!(Instant::now() < limit, "the program continues to read keys:\n{}", self.screen());
            std::thread::sleep(crate::POLL);
        }
    }

    /// Everything that the program has written.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.output.0.lock().unwrap().bytes.clone()
    }

    /// The screen as text, after a whole frame.
    pub(crate) fn screen(&self) -> String {
        let (output, changed) = &*self.output;
        let output = output.lock().unwrap();
        let (output, _) = changed.wait_timeout_while(output, LIMIT, |output| !output.is_whole()).unwrap();
        output.parser.screen().contents()
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.output.0.lock().unwrap().parser.screen_mut().set_size(cells(rows), cells(columns));
        self.pair.master.resize(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }).unwrap();
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.process_id().unwrap()).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Waits for the end of the program; gives its exit code.
    pub(crate) fn exit_code(&mut self) -> u32 {
        let limit = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(Instant::now() < limit, "the program does not end:\n{}", self.screen());
            std::thread::sleep(crate::POLL);
        }
    }

    /// Checks that the terminal is as it was before the program.
    pub(crate) fn assert_restored(&self) {
        assert_eq!(settings(&*self.pair.master), self.before, "terminal settings");
        self.wait("the terminal to be given back", |output| {
            let screen = output.parser.screen();
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        let bytes = self.output.0.lock().unwrap().bytes.clone();
        let pop: &[u8] = b"\x1b[<1u";
        assert!(bytes.windows(pop.len()).any(|window| window == pop), "the keyboard's flags are taken back");
        let last = |mode: &[u8]| bytes.windows(mode.len()).rposition(|window| window == mode);
        assert!(last(b"\x1b[?1004l") > last(b"\x1b[?1004h"), "changes of the focus are not reported any more");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Already ended in most tests; otherwise nothing must outlive the test.
        if let Ok(None) = self.child.try_wait() {
            drop(self.child.kill());
        }
    }
}

/// An empty home, with an agent file of this model in it.
pub(crate) fn home(model: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join("mood.toml");
    let text = format!(
        "name = \"mood\"\nmode = \"json\"\nmodel = \"{model}\"\nprompt = \"Mood of: {{{{text}}}}\"\n\
         signature = \"(text :string) -> {{mood :enum[good bad], score :float}}\"\nmax_turns = 3\n\n\
         [context]\ntext = \"I love it\"\n"
    );
    std::fs::write(&agent, text).unwrap();
    (dir, agent)
}
