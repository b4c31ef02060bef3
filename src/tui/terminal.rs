//! The terminal: taken at the start, given back at the end, whatever the end is.
//!
//! A guard restores it when it is dropped, a panic hook restores it before the panic is reported, signals become [`Input`].
//! Nothing here waits for an answer of the terminal.

use std::io::{self, IsTerminal as _, Stdout, Write as _, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use base64::Engine as _;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture, Event, EventStream, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::model::Model;
use super::stage::{Copying, Input, Stage};
use crate::agent::Place;
use crate::config::Notify;
use crate::config::terminal_size;

mod clipboard;
mod external;
mod signals;

pub use signals::Signals;

/// True while the program controls the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Maximum bytes of a text that is copied to the terminal's clipboard.
pub(super) const LONGEST_CLIP: usize = 100_000;

/// An error that prevents showing the interface.
#[derive(Debug)]
pub enum TakeError {
    /// Standard input or output is not a terminal, or is one that cannot place text (`TERM=dumb`).
    NoTerminal,
    /// An I/O error of the terminal.
    Io(io::Error),
}

impl std::fmt::Display for TakeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoTerminal => f.write_str(
                "the workbench needs a terminal with cursor addressing on standard input and output; `ptc-workbench run AGENT.toml` works without one",
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
    backend: CrosstermBackend<Stdout>,
    /// Content of the terminal; `None` when it is unknown.
    shown: Option<Buffer>,
    keyboard: Option<Keyboard>,
    signals: Signals,
    pointer: Pointer,
}

/// Owner of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointer {
    /// Clicks, wheel and drags come to the program.
    Taken,
    /// The terminal keeps it, to select text as usual.
    Left,
}

/// Reads the terminal's events in a task of its own, so that they can be taken with and without waiting.
struct Keyboard {
    events: mpsc::UnboundedReceiver<Event>,
    task: JoinHandle<()>,
}

impl Keyboard {
    fn listen() -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut stream = EventStream::new();
            while let Some(event) = stream.next().await {
                let sent = event.map(|event| sender.send(event));
                match sent {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return,
                    Err(error) => {
                        tracing::error!(%error, "reading the terminal");
                        return;
                    }
                }
            }
        });
        Self { events, task }
    }

    /// Ends the reading; afterwards no thread takes keys away from others.
    async fn stop(self) {
        self.task.abort();
        if let Err(error) = self.task.await {
            tracing::trace!(%error, "the keyboard's task has ended");
        }
    }
}

impl Screen {
    /// Takes the terminal, and the signals from now on unless they are taken already. Must be called inside a runtime.
    pub fn take(pointer: Pointer, signals: Option<Signals>) -> Result<Self, TakeError> {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if dumb || !(io::stdin().is_terminal() && stdout().is_terminal()) {
            return Err(TakeError::NoTerminal);
        }
        let signals = signals.map_or_else(Signals::listen, Ok)?;
        hook_panics(std::thread::current().id());
        let mut screen =
            Self { backend: CrosstermBackend::new(stdout()), shown: None, keyboard: None, signals, pointer };
        enter(pointer)?;
        screen.keyboard = Some(Keyboard::listen());
        Ok(screen)
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        terminal_size(io::stdout()).unwrap_or((80, 24))
    }

    /// Runs `to` with the terminal restored, then takes it over again.
    async fn lend<T>(&mut self, to: impl FnOnce() -> T) -> io::Result<T> {
        if let Some(keyboard) = self.keyboard.take() {
            keyboard.stop().await;
        }
        restore();
        let result = to();
        enter(self.pointer)?;
        self.keyboard = Some(Keyboard::listen());
        self.shown = None;
        Ok(result)
    }

    /// Writes the cells that differ from the terminal's content.
    fn show(&mut self, next: Buffer, cursor: Option<Position>) -> io::Result<()> {
        self.backend.hide_cursor()?;
        let mut before = if let Some(shown) = self.shown.take().filter(|shown| shown.area == next.area) {
            shown
        } else {
            execute!(self.backend, Clear(ClearType::All))?;
            Buffer::empty(next.area)
        };
        for row in wide_rows(&mut before, &next) {
            queue!(self.backend, cursor::MoveTo(0, row), Clear(ClearType::UntilNewLine))?;
        }
        self.backend.draw(before.diff(&next).into_iter())?;
        if let Some(cursor) = cursor {
            self.backend.set_cursor_position(cursor)?;
            self.backend.show_cursor()?;
        }
        self.shown = Some(next);
        Ok(())
    }
}

/// Rows that change and hold a text on whose width terminals do not agree: they are forgotten, to be drawn whole.
fn wide_rows(before: &mut Buffer, next: &Buffer) -> Vec<u16> {
    let width = usize::from(next.area.width).max(1);
    let wide = |cells: &[Cell]| cells.iter().any(|cell| cell.symbol().len() > 1 && !is_plain(cell.symbol()));
    let mut rows = Vec::new();
    for (row, (old, new)) in (0..).zip(before.content.chunks_mut(width).zip(next.content.chunks(width))) {
        if old != new && (wide(old) || wide(new)) {
            old.fill(Cell::default());
            rows.push(row);
        }
    }
    rows
}

/// One character of one column.
fn is_plain(symbol: &str) -> bool {
    symbol.chars().nth(1).is_none() && ptc_core::text::width::width(symbol) == 1
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Puts the terminal into our modes.
fn enter(pointer: Pointer) -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange,
        PushKeyboardEnhancementFlags(flags),
        cursor::Hide
    )?;
    match pointer {
        Pointer::Taken => execute!(stdout(), EnableMouseCapture),
        Pointer::Left => Ok(()),
    }
}

/// Puts the terminal back as it was; continues after errors, because the terminal may be gone.
pub fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = stdout();
    let modes = queue!(
        out,
        EndSynchronizedUpdate,
        PopKeyboardEnhancementFlags,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste
    )
    .and_then(|()| queue!(out, LeaveAlternateScreen, cursor::Show))
    .and_then(|()| out.flush());
    for result in [modes, disable_raw_mode()] {
        if let Err(error) = result {
            tracing::debug!(%error, "restoring the terminal");
        }
    }
}

/// The terminal is restored before a panic of the interface is reported. Panics elsewhere are logged and do not paint over it.
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
        // While the terminal was given away, its size may have changed without an event.
        if self.shown.is_none()
            && let Some(size) = terminal_size(io::stdout())
        {
            model.size = size;
        }
        super::layout(model);
        let mut next = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
        let cursor = super::draw(model, &mut next);
        queue!(self.backend, BeginSynchronizedUpdate)?;
        self.show(next, cursor)?;
        execute!(self.backend, EndSynchronizedUpdate)
    }

    fn redraw(&mut self) {
        self.shown = None;
    }

    fn resume(&mut self) -> io::Result<()> {
        // The shell may have changed the modes; crossterm would believe that they are still set.
        disable_raw_mode()?;
        enter(self.pointer)?;
        self.shown = None;
        Ok(())
    }

    fn edit<'a>(&'a mut self, place: Place, text: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { self.lend(|| external::edit(place, text)).await.map_err(|error| error.to_string())? })
    }

    fn suspend(&mut self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            signals::can_stop()?;
            self.lend(signals::stop).await.map_err(|error| error.to_string())?
        })
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

    fn notify(&mut self, how: Notify, text: &str) -> io::Result<()> {
        let mut out = stdout();
        match how {
            Notify::Off => return Ok(()),
            Notify::Bell => out.write_all(b"\x07")?,
            Notify::Osc9 => write!(out, "\x1b]9;{}\x07", ptc_core::text::SafeText::single_line(text))?,
        }
        out.flush()
    }

    fn local_clipboard(&self) -> Option<Copying> {
        Some(clipboard::copy)
    }

    fn input(&mut self) -> BoxFuture<'_, Option<Input>> {
        Box::pin(async move {
            let Some(keyboard) = &mut self.keyboard else { return std::future::pending().await };
            tokio::select! {
                biased;
                signal = self.signals.next() => Some(signal),
                event = keyboard.events.recv() => event.map(Input::Terminal),
            }
        })
    }

    fn pending(&mut self) -> Option<Input> {
        self.keyboard.as_mut()?.events.try_recv().ok().map(Input::Terminal)
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn rows_of_wide_text_are_drawn_whole_when_they_change_and_others_in_part() {
        let area = Rect::new(0, 0, 8, 3);
        let mut before = Buffer::empty(area);
        let mut next = Buffer::empty(area);
        for (row, old, new) in [(0, "─ab", "─ax"), (1, "日本a", "日本b"), (2, "👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦")]
        {
            before.set_string(0, row, old, Style::new());
            next.set_string(0, row, new, Style::new());
        }
        assert_eq!(wide_rows(&mut before, &next), [1]);
        let drawn: Vec<(u16, u16, &str)> =
            before.diff(&next).into_iter().map(|(column, row, cell)| (column, row, cell.symbol())).collect();
        assert_eq!(drawn, [(2, 0, "x"), (0, 1, "日"), (2, 1, "本"), (4, 1, "b")]);
    }
}
