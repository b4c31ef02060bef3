//! A screen in memory that measures: when frames were drawn, how long each took, and how long a key waited for its frame.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_workbench::agent::Place;
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::stage::{Input, Stage};
use ptc_workbench::tui::{draw, layout};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::mpsc;

use crate::{lock, ms};

/// Columns and rows.
pub(crate) const SIZE: (u16, u16) = (120, 40);

/// Measurements of the screen.
#[derive(Default, Clone)]
pub(crate) struct Seen {
    /// The first frame of all.
    pub(crate) first: Option<Instant>,
    /// Time of the first key press that is not drawn yet.
    pub(crate) pressed: Option<Instant>,
    /// Duration of each frame, in ms.
    pub(crate) frames: Vec<f64>,
    /// Time of each frame.
    pub(crate) at: Vec<Instant>,
    /// From a key to its frame, in ms.
    pub(crate) keys: Vec<f64>,
    /// The text of the last frame.
    pub(crate) text: String,
}

/// A screen in memory.
pub(crate) struct Screen {
    inputs: mpsc::UnboundedReceiver<Input>,
    seen: Arc<Mutex<Seen>>,
    before: Buffer,
    /// A key was taken and not drawn yet.
    taken: bool,
}

impl Screen {
    pub(crate) fn new() -> (Self, mpsc::UnboundedSender<Input>, Arc<Mutex<Seen>>) {
        let (sender, inputs) = mpsc::unbounded_channel();
        let seen = Arc::<Mutex<Seen>>::default();
        let before = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
        (Self { inputs, seen: seen.clone(), before, taken: false }, sender, seen)
    }
}

impl Stage for Screen {
    fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let begun = Instant::now();
        let mut buffer = Buffer::empty(self.before.area);
        layout(model);
        draw(model, &mut buffer);
        // What a terminal would be sent is found out as well; it is part of a frame's time.
        std::hint::black_box(self.before.diff(&buffer).len());
        self.before = buffer;
        let now = Instant::now();
        let mut seen = lock(&self.seen);
        seen.first.get_or_insert(now);
        seen.frames.push(ms(now.duration_since(begun)));
        seen.at.push(now);
        seen.text = self.before.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        if std::mem::take(&mut self.taken)
            && let Some(pressed) = seen.pressed.take()
        {
            seen.keys.push(ms(now.duration_since(pressed)));
        }
        Ok(())
    }

    fn redraw(&mut self) {}

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn edit<'a>(&'a mut self, _: Place, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        futures::future::ready(Err("there is no editor".to_owned())).boxed()
    }

    fn suspend(&mut self) -> BoxFuture<'_, Result<(), String>> {
        futures::future::ready(Err("it cannot be suspended".to_owned())).boxed()
    }

    fn clip(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Option<Input>> {
        async move {
            let input = self.inputs.recv().await;
            self.taken = true;
            input
        }
        .boxed()
    }

    fn pending(&mut self) -> Option<Input> {
        let input = self.inputs.try_recv().ok();
        self.taken |= input.is_some();
        input
    }
}
