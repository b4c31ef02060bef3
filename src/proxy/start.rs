//! Starting and stopping a proxy, for the command line and the screen.
//!
//! In: the options, a workbench, the audience of the traffic. Out: a proxy that listens, until it is ended. It must never end before
//! what it has recorded is on the disk.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::answers::{Answers, Miss};
use super::capture::{Capture, CaptureOptions, IDLE, Report};
use super::exchange::ExchangeLine;
use super::live::LiveTraffic;
use super::program::allow_many_files;
use super::retention::Retention;
use super::rules::Rules;
use super::service::{ProxyService, Replies};
use super::unrecorded::UnrecordedReport;
use super::upstreams::{Upstream, Upstreams};
use crate::config::{create_private_dir, read_regular_file};
use crate::model::{UpstreamClient, known_secrets};
use crate::server::{Listener, ListenerEnd, ListenerLimits};
use crate::session::{LAST, SessionId};
use crate::workbench::{SessionKey, Workbench};

/// The port that it listens on, unless another one is named.
const PORT: u16 = 4141;

/// Specification of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxySpec {
    /// Upstreams: `NAME` or `NAME=URL`; the known services when there is none.
    pub upstreams: Vec<String>,
    /// Address to listen on.
    pub host: IpAddr,
    /// Port; 0 takes a free one.
    pub port: u16,
    /// File of rules.
    pub rules: Option<PathBuf>,
    /// Sessions and folders of them that answer instead of the upstreams.
    pub replay: Vec<String>,
    /// Patterns of texts that do not count when requests are compared.
    pub ignore: Vec<String>,
    /// Requests that are not recorded are sent to the upstream, and recorded next to the others.
    pub records_missing: bool,
    /// Non-chat requests are recorded too.
    pub records_all: bool,
    /// Limits of the sessions that are kept; `None` records nothing.
    pub keeps: Option<Retention>,
}

impl Default for ProxySpec {
    fn default() -> Self {
        Self {
            upstreams: Vec::new(),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: PORT,
            rules: None,
            replay: Vec::new(),
            ignore: Vec::new(),
            records_missing: false,
            records_all: false,
            keeps: Some(Retention::default()),
        }
    }
}

/// Receiver of the traffic's reports.
pub enum Audience {
    /// Reports line by line: of recorded requests, and of others. No user can be asked about a request: rules that hold some are refused.
    Lines(Report, UnrecordedReport),
    /// A screen.
    Screen(LiveTraffic),
}

/// A proxy that listens.
pub struct RunningProxy {
    service: Arc<ProxyService>,
    served: JoinHandle<()>,
    end: ListenerEnd,
    live: Option<LiveTraffic>,
    address: SocketAddr,
    upstreams: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl ProxySpec {
    /// Starts it. Must be called in the context of a runtime.
    ///
    /// Errors: a part of the specification cannot be used, with its flag; the port is taken.
    pub fn start(&self, workbench: &Workbench, audience: Audience) -> Result<RunningProxy, String> {
        let upstreams = Upstreams::read(&self.upstreams, &workbench.config).map_err(|error| error.to_string())?;
        let read = |file: &PathBuf| read_rules(file, &upstreams);
        let rules = self.rules.as_ref().map(read).transpose()?.unwrap_or_default();
        if let (Some(rule), Audience::Lines(..), Some(file)) = (rules.holding(), &audience, &self.rules) {
            let file = file.display();
            return Err(format!(
                "--rules {file}: `{rule}` waits for a user: run `proxy` on a terminal without --plain and without a command"
            ));
        }
        if self.records_all && !self.replay.is_empty() && !self.records_missing {
            return Err("--record-all: with --replay nothing is recorded without --record-missing".to_owned());
        }
        let recorded = if self.replay.is_empty() { None } else { Some(self.recordings(workbench)?) };
        let grace = match audience {
            Audience::Lines(..) => ListenerLimits::default().grace,
            Audience::Screen(_) => Duration::from_secs(3),
        };
        // A client in a debugger reads nothing for a long time; its service decides how long that may be.
        let limits = ListenerLimits { connections: 16_384, grace, stall: None, ..ListenerLimits::default() };
        allow_many_files();
        let thread = PassingThread::of(&rules, recorded.as_ref())?;
        let listener = thread.bind(SocketAddr::new(self.host, self.port), limits).map_err(|error| {
            format!("--host {} --port {}: {error}; choose another port with --port", self.host, self.port)
        })?;
        let (report, unrecorded, live) = match audience {
            Audience::Lines(report, unrecorded) => (report, unrecorded, None),
            Audience::Screen(live) => (problems(live.clone()), unrecorded(live.clone()), Some(live)),
        };
        let end = ListenerEnd::default();
        let saves = recorded.is_none() || self.records_missing;
        let capture = match self.keeps.filter(|_| saves) {
            Some(retention) => Some(self.capture(workbench, retention, report, live.clone(), &end)?),
            None => None,
        };
        let address = listener.address();
        let variables = upstreams.variables(&format!("http://{address}"));
        let named = upstreams.all().iter().map(Upstream::describe).collect();
        let client = UpstreamClient::new()?;
        let scrub = known_secrets(&workbench.config.providers);
        let service = ProxyService::new(upstreams, client, capture, scrub, end.clone())
            .with_replies(Replies { recorded, asks_upstream: self.records_missing })
            .with_rules(rules)
            .with_unrecorded(unrecorded);
        let service = if self.records_all { service.recording_all() } else { service };
        let service = match &live {
            Some(live) => service.with_holds(live.holds().clone()),
            None => service,
        };
        let service = Arc::new(service);
        let served = thread.spawn(listener.serve(Arc::<ProxyService>::clone(&service), end.clone()));
        Ok(RunningProxy { service, served, end, live, address, upstreams: named, variables })
    }

    fn capture(
        &self,
        workbench: &Workbench,
        retention: Retention,
        report: Report,
        live: Option<LiveTraffic>,
        end: &ListenerEnd,
    ) -> Result<Capture, String> {
        let config = workbench.config.clone();
        let every = Retention { sessions: usize::MAX, bytes: u64::MAX };
        let options = CaptureOptions {
            // Missing replies are added to the folder that the others are read from.
            dir: self.cassette_dir().unwrap_or_else(|| workbench.folders.sessions_dir.clone()),
            retention: if self.records_missing { every } else { retention },
            prices: Box::new(move |upstream, model| config.facts(upstream, model).price),
            report,
            idle: IDLE,
            live,
        };
        Capture::start(options, end.clone()).map_err(|error| format!("the recorder cannot start: {error}"))
    }

    /// The folder of recordings that takes the missing ones. The recordings are read before, which creates it.
    fn cassette_dir(&self) -> Option<PathBuf> {
        self.replay.iter().map(PathBuf::from).find(|path| path.is_dir()).filter(|_| self.records_missing)
    }

    /// The recordings of `--replay`: sessions, and folders of them. With `--record-missing` a folder may be missing: it is created.
    fn recordings(&self, workbench: &Workbench) -> Result<Answers, String> {
        let mut files: Vec<PathBuf> = Vec::new();
        for name in &self.replay {
            let fail = |error: String| format!("--replay {name}: {error}");
            let path = PathBuf::from(name);
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).map_err(|error| fail(error.to_string()))?;
                let is_session = |path: &PathBuf| {
                    let name = path.file_name().and_then(|name| name.to_str());
                    name.is_some_and(|name| SessionId::from_file_name(name).is_some())
                };
                let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_session).collect();
                found.sort();
                files.extend(found);
                continue;
            }
            match workbench.find_session(name) {
                Ok(SessionKey::File(path)) => files.push(path),
                Ok(SessionKey::Example(id)) => return Err(fail(format!("{id} is an example; `replay` replays it"))),
                // The first recording of a test begins with a folder that does not exist.
                Err(_) if self.records_missing && is_folder_name(name) => {
                    if self.keeps.is_some() {
                        create_private_dir(&path).map_err(|error| fail(error.to_string()))?;
                    }
                }
                Err(error) => return Err(fail(error.to_string())),
            }
        }
        let answers = Answers::read(&files, &self.ignore).map_err(|error| format!("--replay: {error}"))?;
        if answers.is_empty() && !self.records_missing {
            return Err("--replay: no recorded requests; record some with `proxy`".to_owned());
        }
        Ok(answers)
    }
}

/// The thread that passes the traffic. Passing a piece takes a few microseconds, and waking another thread for it takes longer than that:
/// one thread passes all of them (a quarter less time to the first byte). Rules and recordings compare bodies, which takes longer than
/// others may wait: with them the traffic is on the threads of the program.
struct PassingThread(Option<Runtime>);

impl PassingThread {
    /// Errors: the system has no thread or timer left.
    fn of(rules: &Rules, recorded: Option<&Answers>) -> Result<Self, String> {
        let passes_only = rules.is_empty() && recorded.is_none();
        let runtime = passes_only.then(|| Builder::new_current_thread().enable_all().build()).transpose();
        runtime.map(Self).map_err(|error| format!("the proxy cannot start: {error}"))
    }

    fn bind(&self, address: SocketAddr, limits: ListenerLimits) -> io::Result<Listener> {
        let _context = self.0.as_ref().map(Runtime::enter);
        Listener::bind(address, limits)
    }

    fn spawn(mut self, serving: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        match self.0.take() {
            Some(runtime) => tokio::task::spawn_blocking(move || runtime.block_on(serving)),
            None => tokio::spawn(serving),
        }
    }
}

impl Drop for PassingThread {
    fn drop(&mut self) {
        // A runtime that is dropped waits for its threads, which the tasks of another one must not.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Returns whether this name can be a folder that does not exist yet. Ids of sessions, their parts and session files name sessions, unless
/// a separator of paths makes an id a path.
fn is_folder_name(name: &str) -> bool {
    let is_of_id = |c: char| c.is_ascii_hexdigit() || matches!(c, '-' | 'T' | 'Z');
    let names_session = name == LAST || name.chars().all(is_of_id);
    let is_file = Path::new(name).extension().is_some_and(|ending| ending == "jsonl");
    !is_file && (name.contains(std::path::is_separator) || !names_session)
}

/// A report that a screen shows: lines of exchanges come to it from the recorder.
fn problems(live: LiveTraffic) -> Report {
    Box::new(move |line: Result<&ExchangeLine, &str>| {
        if let Err(problem) = line {
            live.problem(problem.to_owned());
        }
    })
}

fn unrecorded(live: LiveTraffic) -> UnrecordedReport {
    Arc::new(move |line| live.unrecorded(line))
}

fn read_rules(file: &Path, upstreams: &Upstreams) -> Result<Rules, String> {
    let text = read_regular_file(file).map_err(|error| format!("--rules {}: {error}", file.display()))?;
    let rules = Rules::read(&text).and_then(|rules| rules.check(upstreams).map(|()| rules));
    rules.map_err(|error| format!("--rules {}, {error}", file.display()))
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        // The end of the program waits for the thread that passes its traffic.
        self.end.abort();
    }
}

impl RunningProxy {
    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its upstreams with their addresses.
    pub fn upstreams(&self) -> &[String] {
        &self.upstreams
    }

    /// The variables that point a program to it.
    pub fn variables(&self) -> &[(&'static str, String)] {
        &self.variables
    }

    /// Returns the number of recorded requests that it answers; `None` when it replays none.
    pub fn recorded(&self) -> Option<usize> {
        self.service.recorded().map(Answers::len)
    }

    /// Accepts nothing more, and waits for the requests that run, up to the grace of its listener.
    pub async fn drain(&mut self) {
        self.end.close();
        if let Some(live) = &self.live {
            live.holds().end();
        }
        if !self.served.is_finished() {
            _ = (&mut self.served).await;
        }
    }

    /// Returns a counter of the requests whose end is not recorded yet.
    pub fn remaining_requests(&self) -> impl Fn() -> u64 + use<> {
        let service = Arc::clone(&self.service);
        move || service.remaining_requests()
    }

    /// Ends it: what still passes is recorded as far as it came. Returns the requests that were not recorded.
    pub async fn close(mut self) -> Vec<Miss> {
        self.end.abort();
        if !self.served.is_finished() {
            _ = (&mut self.served).await;
        }
        let service = Arc::clone(&self.service);
        // Files are written on a thread of their own.
        _ = tokio::task::spawn_blocking(move || service.close()).await;
        self.service.recorded().map(Answers::misses).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_in_use_is_an_error_and_its_runtime_is_released() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let taken = Listener::bind(address, ListenerLimits::default()).unwrap();
        let thread = PassingThread::of(&Rules::default(), None).unwrap();
        assert!(thread.0.is_some());
        let bound = thread.bind(taken.address(), ListenerLimits::default());
        assert_eq!(bound.map(drop).map_err(|error| error.kind()), Err(io::ErrorKind::AddrInUse));
        // In a task, a runtime that is just dropped panics.
        drop(thread);
        assert!(PassingThread::of(&Rules::default(), Some(&Answers::read(&[], &[]).unwrap())).unwrap().0.is_none());
    }
}
