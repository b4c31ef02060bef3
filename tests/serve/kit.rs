//! A server of agents on a free port, with a folder of its own for sessions.
//!
//! In: agent files as text, a model server or none. Out: replies of requests, sessions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptc_workbench::agent::Agent;
use ptc_workbench::config::{Config, Folders};
use ptc_workbench::serve::http::AgentService;
use ptc_workbench::serve::{RunOptions, Runs, ServedAgent};
use ptc_workbench::server::{Listener, ListenerEnd, ListenerLimits};
use ptc_workbench::session::Session;
use ptc_workbench::workbench::Workbench;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A running server.
pub(crate) struct Served {
    pub(crate) base: String,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    pub(crate) end: CancellationToken,
    pub(crate) closing: ListenerEnd,
    pub(crate) task: JoinHandle<()>,
    pub(crate) workbench: Workbench,
    pub(crate) runs: Arc<Runs>,
    dir: TempDir,
}

/// Options of a test's server.
pub(crate) struct Wish<'a> {
    pub(crate) agents: &'a [(&'a str, &'a str)],
    pub(crate) config: String,
    pub(crate) options: RunOptions,
    pub(crate) key: Option<&'a str>,
}

impl<'a> Wish<'a> {
    pub(crate) fn of(agents: &'a [(&'a str, &'a str)]) -> Self {
        let options = RunOptions { model: None, save: true, max_runs: 8, timeout: None, allow_tools: false };
        Self { agents, config: String::new(), options, key: None }
    }

    /// The model `m` of this server answers.
    pub(crate) fn with_model_at(mut self, base_url: &str) -> Self {
        self.config = format!(
            "[retry]\nmax_attempts = 2\n[providers.local]\nkind = \"openai\"\nbase_url = \"{base_url}\"\nconcurrent_requests = 64\n"
        );
        self.options.model = Some("local:m".to_owned());
        self
    }

    #[expect(clippy::unused_async, reason = "it is called in the context of a runtime")]
    pub(crate) async fn start(self) -> Served {
        let dir = tempfile::tempdir().unwrap();
        let config = Config::from_toml(&self.config, "config.toml", &|_: &str| None).unwrap();
        let workbench = Workbench::new(config, Folders::at(dir.path().to_owned(), dir.path(), Some(dir.path())));
        let agents = self.agents.iter().map(|(name, toml)| {
            let agent = Agent::from_toml(toml, name).unwrap();
            ServedAgent::new((*name).to_owned(), format!("{name}.toml"), agent, &workbench).unwrap()
        });
        let (end, closing) = (CancellationToken::new(), ListenerEnd::default());
        let runs = Arc::new(Runs::new(agents.collect(), &workbench, self.options, end.clone()));
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&log);
        let write = Box::new(move |line: &str| kept.lock().unwrap().push(line.to_owned()));
        let service = Arc::new(AgentService::new(Arc::clone(&runs), self.key, write));
        let limits = ListenerLimits { grace: Duration::from_secs(30), ..ListenerLimits::default() };
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), limits).unwrap();
        let base = format!("http://{}", listener.address());
        let task = tokio::spawn(listener.serve(service, closing.clone()));
        Served { base, log, end, closing, task, workbench, runs, dir }
    }
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The data of its server-sent events, with their names.
    pub(crate) fn events(&self) -> Vec<(String, String)> {
        let blocks = self.text.split("\n\n").filter(|block| !block.is_empty() && !block.starts_with(':'));
        let field = |block: &str, name: &str| {
            let lines = block.lines().filter_map(|line| line.strip_prefix(name));
            lines.map(ToOwned::to_owned).collect::<Vec<_>>().join("\n")
        };
        blocks.map(|block| (field(block, "event: "), field(block, "data: "))).collect()
    }
}

impl Served {
    fn client() -> reqwest::Client {
        _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        Self::client().request(method.parse().unwrap(), format!("{}{path}", self.base))
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Got {
        let reply = request.send().await.unwrap();
        let session = reply.headers().get("x-ptc-session").map(|id| id.to_str().unwrap().to_owned());
        Got { status: reply.status().as_u16(), session, text: reply.text().await.unwrap() }
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.send(self.request("GET", path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<String>) -> Got {
        self.send(self.request("POST", path).body(body.into())).await
    }

    /// The session of this id.
    pub(crate) fn session(&self, id: &str) -> Session {
        self.workbench.open_session(id).unwrap()
    }

    /// Waits until the counters have this line, without the prefix of their names.
    pub(crate) async fn until_counted(&self, line: &str) {
        let line = format!("ptc_workbench_{line}\n");
        let counted = async {
            while !self.runs.metrics().contains(&line) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(30), counted).await;
        assert!(in_time.is_ok(), "{line}: {}", self.runs.metrics());
    }

    /// Copies the only session of another server into the folder of this one. Its id.
    pub(crate) fn adopt(&self, other: &Self) -> String {
        let file = other.session_files().remove(0);
        let folder = &self.workbench.folders.sessions_dir;
        std::fs::create_dir_all(folder).unwrap();
        std::fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
        file.file_stem().unwrap().to_str().unwrap().to_owned()
    }

    /// The files of all sessions.
    pub(crate) fn session_files(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(&self.workbench.folders.sessions_dir).into_iter().flatten();
        let files = files.map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
    }

    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }
}
