//! The surface of the loop: draws frames, returns input, hands texts to other programs. Implemented by the terminal and by tests.

use std::io;

use futures::future::BoxFuture;

use super::model::Model;
use crate::agent::Place;
use crate::config::Notify;

/// Hands a text to a clipboard; the error gives the reason.
pub type Copying = fn(&str) -> Result<(), String>;

/// A screen and what goes with it.
pub trait Stage: Send {
    /// Draws a frame of the model.
    fn draw(&mut self, model: &mut Model) -> io::Result<()>;

    /// Forgets what is on the screen, so that the next frame draws everything.
    fn redraw(&mut self);

    /// The process was continued: sets everything up again.
    fn resume(&mut self) -> io::Result<()>;

    /// Hands a text to `$VISUAL` or `$EDITOR` and waits. Input is not read meanwhile.
    fn edit<'a>(&'a mut self, place: Place, text: &'a str) -> BoxFuture<'a, Result<String, String>>;

    /// Gives the terminal to the shell until the process is continued. Returns the reason when it cannot.
    fn suspend(&mut self) -> BoxFuture<'_, Result<(), String>>;

    /// Puts a text on the terminal's clipboard.
    fn clip(&mut self, text: &str) -> io::Result<()>;

    /// Notifies the user; a surface without a terminal has no way to.
    fn notify(&mut self, _how: Notify, _text: &str) -> io::Result<()> {
        Ok(())
    }

    /// Returns a function that copies a text to the clipboard of this machine. It blocks: it is called on a thread of its own.
    fn local_clipboard(&self) -> Option<Copying> {
        None
    }

    /// The next thing a user or the system does; `None` when the input has ended. Safe to drop and call again.
    fn input(&mut self) -> BoxFuture<'_, Option<Input>>;

    /// Returns the input that is available without waiting.
    fn pending(&mut self) -> Option<Input>;
}

/// Input of the loop from the terminal and the system.
#[derive(Debug, Clone)]
pub enum Input {
    /// An event of the terminal.
    Terminal(crossterm::event::Event),
    /// A signal that ends the process, by number.
    Terminate(i32),
    /// SIGTSTP.
    Stop,
    /// SIGCONT.
    Continue,
}
