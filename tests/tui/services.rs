//! Services over a temporary folder, runs that a test drives, sessions of many turns, and a stage that keeps its pictures.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ptc_workbench::agent::{Agent, Place, Step};
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::event::{Envelope, Role, Source};
use ptc_workbench::port::Stop;
use ptc_workbench::session::{Header, SessionId, Summary};
use ptc_workbench::tui::model::Model;
use ptc_workbench::tui::picture;
use ptc_workbench::tui::services::Services;
use ptc_workbench::tui::stage::{Input, Stage};
use ptc_workbench::workbench::{BackgroundRun, Feed, OpenSession, QuestionQueue, RunHandle, SessionKey, Workbench};
use tokio::sync::{mpsc, oneshot};

use super::story::{NOW_MS, SESSION, Story, sentiment};

/// A workbench over a folder, with the built-in configuration.
pub(crate) fn workbench(dir: &Path) -> Workbench {
    Workbench::new(Config::built_in().unwrap(), Folders::at(dir.to_owned(), dir, None))
}

/// Services that open with the texts that the stories are about.
pub(crate) fn services_of_story(dir: &Path) -> Services {
    Services::new(workbench(dir), &sentiment().to_agent(&Agent::default()).unwrap(), None)
}

/// Writes events as a session file of a folder.
pub(crate) fn write_session(dir: &Path, events: &[Envelope]) -> PathBuf {
    let header = Header::new(SessionId::new(NOW_MS, 7), NOW_MS);
    let lines = events.iter().map(|event| event.to_line(None).unwrap());
    let lines: Vec<String> = [serde_json::to_string(&header).unwrap()].into_iter().chain(lines).collect();
    let path = dir.join(header.id.file_name());
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// Writes events as a session file of a folder, and opens it.
pub(crate) fn saved(dir: &Path, events: &[Envelope]) -> OpenSession {
    workbench(dir).open(&SessionKey::File(write_session(dir, events))).unwrap()
}

/// The events of a run of many turns, each with another number in its answer.
pub(crate) fn many_turns(turns: usize) -> Vec<Envelope> {
    let story = (0..turns).fold(Story::new().start(), |story, before| {
        let (number, message) = (before + 1, u32::try_from(before).unwrap());
        let (turn, reply) = (format!("r0/t{number}"), format!("{{\"number\": {number}}}"));
        let task = format!("the task of {turn}");
        let story = story.turn(&turn).message(&turn, message, Role::User, Source::Prompt, "task", &task);
        let story = story.request_of(&turn, (message, message)).wait(300).reply(&turn, &reply, (1, 1));
        story.extract(&turn, "whole", (0, reply.len())).turn_end(&turn, None, (1, 1), (1, 1, 1))
    });
    story.run_end(Some("{}"), None, (3, 1, 1)).events()
}

/// A saved session of many turns, as the list knows it by the id `long`.
pub(crate) fn long_session(turns: usize) -> OpenSession {
    let dir = tempfile::tempdir().unwrap();
    let session = saved(dir.path(), &many_turns(turns));
    let usage = session.summary.usage.clone();
    OpenSession { summary: Summary { id: "long".to_owned(), example: true, usage, ..Summary::default() }, ..session }
}

/// A run whose events, questions and end come from a test.
pub(crate) struct TestRun {
    pub(crate) feed: Feed,
    pub(crate) queue: Arc<QuestionQueue>,
    pub(crate) stop: Stop,
    end: oneshot::Sender<()>,
}

impl TestRun {
    /// The run, and its handle for the driver. It ends when the test asks for it or when it is stopped.
    pub(crate) fn new() -> (Self, RunHandle) {
        let (feed, stop, queue) = (Feed::default(), Stop::default(), Arc::new(QuestionQueue::default()));
        let (end, ended) = oneshot::channel::<()>();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            tokio::select! {
                _ = ended => {}
                () = stopped.token().cancelled() => {}
            }
            Step::default()
        });
        let (session, warnings) = (Some(SESSION.to_owned()), Vec::new());
        let (path, saver) = (None, None);
        let run = BackgroundRun { session, path, saver, feed: feed.clone(), stop: stop.clone(), warnings, task };
        let handle = RunHandle::of_run(run, queue.clone());
        (Self { feed, queue, stop, end }, handle)
    }

    /// Ends it.
    pub(crate) fn end(self) {
        self.end.send(()).unwrap();
    }
}

/// A stage that keeps pictures, and takes its input from a channel.
pub(crate) struct Paper {
    inputs: mpsc::UnboundedReceiver<Input>,
    pub(crate) last: Arc<Mutex<String>>,
    pub(crate) edited: Option<String>,
}

impl Paper {
    pub(crate) fn new() -> (Self, mpsc::UnboundedSender<Input>) {
        let (sender, inputs) = mpsc::unbounded_channel();
        (Self { inputs, last: Arc::default(), edited: None }, sender)
    }
}

impl Stage for Paper {
    fn draw(&mut self, model: &mut Model) -> io::Result<()> {
        let size = model.size;
        let buffer = picture(model, size);
        *self.last.lock().unwrap() = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        Ok(())
    }

    fn redraw(&mut self) {}

    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn edit<'a>(&'a mut self, _: Place, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let edited = self.edited.clone().ok_or_else(|| "there is no editor".to_owned());
        futures::future::ready(edited).boxed()
    }

    fn suspend(&mut self) -> BoxFuture<'_, Result<(), String>> {
        futures::future::ready(Err("paper cannot be suspended".to_owned())).boxed()
    }

    fn clip(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn input(&mut self) -> BoxFuture<'_, Option<Input>> {
        self.inputs.recv().boxed()
    }

    fn pending(&mut self) -> Option<Input> {
        self.inputs.try_recv().ok()
    }
}
