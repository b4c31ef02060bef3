//! The terminal: taken at the start, given back at the end, whatever the end is.
//!
//! A guard restores it when it is dropped, a panic hook restores it before the panic is told, signals become [`Input`].
//! Nothing here waits for an answer of the terminal.

use std::io::{self, IsTerminal as _, Stdout, Write as _, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use base64::Engine as _;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, EventStream,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::model::Model;
use super::stage::{Input, Stage};
use crate::agent::Place;

mod external;
mod signals;

use signals::Signals;

/// Is the terminal ours at the moment?
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Bytes up to which a copied text goes to the terminal's clipboard.
const LONGEST_CLIP: usize = 100_000;

/// Why the interface cannot be shown.
#[derive(Debug)]
pub enum TakeError {
    /// Standard input or output is no terminal.
    NoTerminal,
    /// The terminal did not obey.
    Io(io::Error),
}

impl std::fmt::Display for TakeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoTerminal => f.write_str(
                "the workbench needs a terminal on standard input and output; `ptc-workbench run AGENT.toml` works without one",
            ),
            Self::Io(error) => write!(f, "the terminal cannot be used: {error}"),
        }
    }
}

impl std::error::Error for TakeError {}

impl From<io::Error> for TakeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The terminal while it is ours.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    events: Option<EventStream>,
    signals: Signals,
}

impl Screen {
    /// Takes the terminal.
    pub fn take() -> Result<Self, TakeError> {
        if !(io::stdin().is_terminal() && stdout().is_terminal()) {
            return Err(TakeError::NoTerminal);
        }
        let signals = Signals::listen()?;
        hook_panics(std::thread::current().id());
        let mut screen = Self { terminal: Terminal::new(CrosstermBackend::new(stdout()))?, events: None, signals };
        enter()?;
        screen.events = Some(EventStream::new());
        Ok(screen)
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        crossterm::terminal::size().unwrap_or((80, 24))
    }

    /// Gives the terminal back for a while and takes it again.
    fn lend<T>(&mut self, to: impl FnOnce() -> T) -> io::Result<T> {
        self.events = None;
        restore();
        let result = to();
        enter()?;
        self.events = Some(EventStream::new());
        self.terminal.clear()?;
        Ok(result)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.events = None;
        restore();
    }
}

/// Puts the terminal into our modes.
fn enter() -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableMouseCapture,
        PushKeyboardEnhancementFlags(flags),
        cursor::Hide
    )
}

/// Puts the terminal back as it was; goes on after errors, because the terminal may be gone.
pub fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = stdout();
    let modes =
        queue!(out, EndSynchronizedUpdate, PopKeyboardEnhancementFlags, DisableMouseCapture, DisableBracketedPaste)
            .and_then(|()| queue!(out, LeaveAlternateScreen, cursor::Show))
            .and_then(|()| out.flush());
    for result in [modes, disable_raw_mode()] {
        if let Err(error) = result {
            tracing::debug!(%error, "restoring the terminal");
        }
    }
}

/// Before a panic of the interface is told, the terminal is restored. Panics elsewhere are logged and do not paint over it.
fn hook_panics(interface: ThreadId) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == interface {
            restore();
        } else if TAKEN.load(Ordering::SeqCst) {
            tracing::error!(%info, "a background task panicked");
            return;
        }
        before(info);
    }));
}

impl Stage for Screen {
    fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        super::layout(model);
        queue!(stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| {
            if let Some(cursor) = super::draw(model, frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        })?;
        execute!(stdout(), EndSynchronizedUpdate)
    }

    fn redraw(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    fn resume(&mut self) -> io::Result<()> {
        // The shell may have changed the modes; crossterm would believe that they are still set.
        disable_raw_mode()?;
        enter()?;
        self.terminal.clear()
    }

    fn edit<'a>(&'a mut self, place: Place, text: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let text = text.to_owned();
        Box::pin(async move { self.lend(|| external::edit(place, &text)).map_err(|error| error.to_string())? })
    }

    fn suspend(&mut self) -> Result<(), String> {
        signals::can_stop()?;
        self.lend(signals::stop).map_err(|error| error.to_string())?
    }

    fn clip(&mut self, text: &str) -> io::Result<()> {
        if text.len() > LONGEST_CLIP {
            return Ok(());
        }
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        let mut out = stdout();
        write!(out, "\x1b]52;c;{encoded}\x07")?;
        out.flush()
    }

    fn input(&mut self) -> BoxFuture<'_, Option<Input>> {
        Box::pin(async move {
            let Some(events) = &mut self.events else { return std::future::pending().await };
            tokio::select! {
                biased;
                signal = self.signals.next() => Some(signal),
                event = events.next() => match event {
                    Some(Ok(event)) => Some(Input::Terminal(event)),
                    Some(Err(error)) => {
                        tracing::error!(%error, "reading the terminal");
                        None
                    }
                    None => None,
                },
            }
        })
    }

    fn pending(&mut self) -> Option<Input> {
        self.input().now_or_never().flatten()
    }
}
