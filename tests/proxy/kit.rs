//! A proxy on a free port in front of a scripted server, with a folder of its own for sessions.
//!
//! In: what the server plays. Out: replies as bytes, and the sessions after the proxy has ended.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptc_workbench::config::Config;
use ptc_workbench::model::{Scrub, UpstreamClient};
use ptc_workbench::proxy::{
    Answers, Capture, CaptureOptions, ExchangeLine, IDLE, LiveTraffic, ProxyService, Replies, Retention, Rules,
    UnrecordedRequest, Upstreams,
};
use ptc_workbench::server::{Listener, ListenerEnd, ListenerLimits};
use ptc_workbench::session::Session;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::openai::server::{Play, Received, Server};

/// A running proxy.
pub(crate) struct Proxied {
    pub(crate) base: String,
    pub(crate) server: Server,
    pub(crate) lines: Arc<Mutex<Vec<ExchangeLine>>>,
    pub(crate) unrecorded: Arc<Mutex<Vec<UnrecordedRequest>>>,
    service: Arc<ProxyService>,
    end: ListenerEnd,
    task: JoinHandle<()>,
    pub(crate) dir: TempDir,
}

/// Options of a test's proxy.
#[derive(Default)]
pub(crate) struct Wish {
    pub(crate) rules: &'static str,
    pub(crate) recorded: Option<Answers>,
    pub(crate) asks_upstream: bool,
    pub(crate) records_all: bool,
    /// As with `--no-save`.
    pub(crate) saves_nothing: bool,
    pub(crate) retention: Option<Retention>,
    pub(crate) idle: Option<Duration>,
    pub(crate) live: Option<LiveTraffic>,
}

/// The whole reply to a request, or what broke.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) is_whole: bool,
}

impl Got {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A client without proxies of the environment, and without certificates, which take longer to read than a request.
pub(crate) fn client() -> reqwest::Client {
    _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_certs_only([]).no_gzip().no_deflate().build().unwrap()
}

/// Sends a request and reads what comes of the reply.
pub(crate) async fn fetch(request: reqwest::RequestBuilder) -> Got {
    read_reply(request.send().await.unwrap()).await
}

/// Reads what comes of a reply.
pub(crate) async fn read_reply(mut reply: reqwest::Response) -> Got {
    let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
    let mut body = Vec::new();
    let is_whole = loop {
        match reply.chunk().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    Got { status, headers, body, is_whole }
}

impl Proxied {
    pub(crate) async fn play(plays: impl IntoIterator<Item = Play>) -> Self {
        Self::start(Server::play(plays).await, Wish::default()).await
    }

    pub(crate) async fn script(script: impl Fn(usize, &Received) -> Play + Send + Sync + 'static) -> Self {
        Self::start(Server::script(script).await, Wish::default()).await
    }

    pub(crate) async fn start(server: Server, wish: Wish) -> Self {
        let root = server.base_url.trim_end_matches("/v1").to_owned();
        Self::at(server, &root, wish).await
    }

    /// A proxy whose upstreams all have this address.
    #[expect(clippy::unused_async, reason = "it is called in the context of a runtime")]
    pub(crate) async fn at(server: Server, root: &str, wish: Wish) -> Self {
        let config = Config::from_toml("", "config.toml", &|_: &str| None).unwrap();
        let named = ["openai", "anthropic", "gemini", "ollama"].map(|name| format!("{name}={root}"));
        let upstreams = Upstreams::read(&named, &config).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let lines: Arc<Mutex<Vec<ExchangeLine>>> = Arc::default();
        let kept = Arc::clone(&lines);
        let options = CaptureOptions {
            dir: dir.path().join("sessions"),
            retention: wish.retention.unwrap_or_default(),
            prices: Box::new(move |upstream, model| config.facts(upstream, model).price),
            report: Box::new(move |line: Result<&ExchangeLine, &str>| kept.lock().unwrap().push(line.unwrap().clone())),
            idle: wish.idle.unwrap_or(IDLE),
            live: wish.live.clone(),
        };
        let end = ListenerEnd::default();
        let capture = (!wish.saves_nothing).then(|| Capture::start(options, end.clone()).unwrap());
        let client = UpstreamClient::new().unwrap();
        let service = ProxyService::new(upstreams, client, capture, Scrub::default(), end.clone())
            .with_replies(Replies { recorded: wish.recorded, asks_upstream: wish.asks_upstream })
            .with_rules(Rules::read(wish.rules).unwrap());
        let unrecorded: Arc<Mutex<Vec<UnrecordedRequest>>> = Arc::default();
        let kept = Arc::clone(&unrecorded);
        let service = service.with_unrecorded(Arc::new(move |line| kept.lock().unwrap().push(line)));
        let service = if wish.records_all { service.recording_all() } else { service };
        let service = match &wish.live {
            Some(live) => service.with_holds(live.holds().clone()),
            None => service,
        };
        let service = Arc::new(service);
        let limits = ListenerLimits { grace: Duration::from_secs(30), ..ListenerLimits::default() };
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), limits).unwrap();
        let base = format!("http://{}", listener.address());
        let task = tokio::spawn(listener.serve(Arc::<ProxyService>::clone(&service), end.clone()));
        Self { base, server, lines, unrecorded, service, end, task, dir }
    }

    pub(crate) fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> reqwest::RequestBuilder {
        client().post(format!("{}{path}", self.base)).header("content-type", "application/json").body(body)
    }

    /// Asks for a chat completion with these messages (role, content).
    pub(crate) async fn chat(&self, messages: &[(&str, &str)]) -> Got {
        fetch(self.post("/v1/chat/completions", body_of(messages))).await
    }

    /// Opens a connection to the proxy.
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.base.trim_start_matches("http://")).await.unwrap()
    }

    /// Asks for a chat completion with these further header lines, on a connection that is closed after the reply; returns the reply as it
    /// came.
    pub(crate) async fn raw_chat(&self, headers: &str) -> String {
        let mut connection = self.connect().await;
        let request = raw_request(&format!("connection: close\r\n{headers}"));
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        connection.read_to_string(&mut reply).await.unwrap();
        reply
    }

    pub(crate) fn misses(&self) -> usize {
        self.service.recorded().map_or(0, |recorded| recorded.misses().len())
    }

    pub(crate) fn sessions_dir(&self) -> PathBuf {
        self.dir.path().join("sessions")
    }

    /// Ends the requests that run.
    pub(crate) async fn abort(&mut self) {
        self.end.abort();
        (&mut self.task).await.unwrap();
    }

    /// Ends the proxy; returns its sessions by id, and the folder with them.
    pub(crate) async fn end(self) -> (Vec<Session>, TempDir) {
        self.end.close();
        if !self.task.is_finished() {
            self.task.await.unwrap();
        }
        let service = self.service;
        tokio::task::spawn_blocking(move || service.close()).await.unwrap();
        (sessions_in(&self.dir.path().join("sessions")), self.dir)
    }
}

pub(crate) fn sessions_in(dir: &std::path::Path) -> Vec<Session> {
    let files = std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    let is_session =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl") && !path.ends_with("marks.jsonl");
    let mut files: Vec<PathBuf> = files.filter(is_session).collect();
    files.sort();
    files.iter().map(|path| Session::open(path).unwrap()).collect()
}

/// A text compressed at this Unix time, which gzip writes into the bytes.
pub(crate) fn gzip(text: &str, mtime: u32) -> Vec<u8> {
    let mut encoder = flate2::GzBuilder::new().mtime(mtime).write(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A request for a chat completion with these further header lines.
pub(crate) fn raw_request(headers: &str) -> String {
    let body = body_of(&[("user", "hi")]);
    let length = body.len();
    format!("POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

/// The body of a request for a chat completion.
pub(crate) fn body_of(messages: &[(&str, &str)]) -> String {
    let messages: Vec<serde_json::Value> =
        messages.iter().map(|(role, content)| serde_json::json!({"role": role, "content": content})).collect();
    serde_json::json!({"model": "m-asked", "stream": true, "messages": messages}).to_string()
}
