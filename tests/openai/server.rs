//! A server that plays whatever a test needs: pieces at chosen borders, silence, broken connections, any status.
//!
//! It listens on a free loopback port, keeps every request it got, and reports when a client hung up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Received {
    /// The value of a header, empty when it is missing.
    pub(crate) fn header(&self, name: &str) -> String {
        let wanted = format!("{name}:");
        let line = self.head.lines().find(|line| line.to_ascii_lowercase().starts_with(&wanted));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Action of the server on one request.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// Bytes, each item written on its own; then the connection closes.
    Bytes(Vec<Vec<u8>>),
    /// Bytes, then silence until the client hangs up.
    Stall(Vec<Vec<u8>>),
    /// Bytes, then the last piece again and again until the client hangs up.
    Repeat(Vec<Vec<u8>>),
    /// Bytes, then others when the test opens the gate; then the connection closes.
    Gated(Vec<Vec<u8>>, Vec<Vec<u8>>, Arc<Notify>),
}

/// The head of a reply of this status, with further header lines.
fn head(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n").into_bytes()
}

fn chunk(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}

impl Play {
    /// A whole JSON answer.
    pub(crate) fn json(status: &str, body: impl Into<String>) -> Self {
        Self::page(status, "content-type: application/json\r\n", body)
    }

    /// A whole answer with these header lines.
    pub(crate) fn page(status: &str, headers: &str, body: impl Into<String>) -> Self {
        let body = body.into();
        let headers = format!("{headers}content-length: {}\r\n", body.len());
        Self::Bytes(vec![head(status, &headers), body.into_bytes()])
    }

    /// A whole answer in this content coding.
    pub(crate) fn coded(coding: &str, headers: &str, body: &[u8]) -> Self {
        let headers = format!("{headers}content-encoding: {coding}\r\ncontent-length: {}\r\n", body.len());
        Self::Bytes(vec![head("200 OK", &headers), body.to_vec()])
    }

    /// A stream of events in these pieces, properly ended.
    pub(crate) fn events<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Self {
        let mut bytes = Self::begun(pieces);
        bytes.push(b"0\r\n\r\n".to_vec());
        Self::Bytes(bytes)
    }

    /// A stream whose connection is dropped after these pieces, inside a chunk.
    pub(crate) fn cut<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Self {
        let mut bytes = Self::begun(pieces);
        bytes.push(b"ff\r\ndata: {\"cho".to_vec());
        Self::Bytes(bytes)
    }

    /// A stream that falls silent after these pieces.
    pub(crate) fn silent<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Self {
        Self::Stall(Self::begun(pieces))
    }

    /// A stream that repeats the last of these pieces without end.
    pub(crate) fn repeat<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Self {
        Self::Repeat(Self::begun(pieces))
    }

    /// A stream that begins with one piece; the other comes when the gate is opened, then the stream ends properly.
    pub(crate) fn gated(begin: &str, rest: &str, gate: &Arc<Notify>) -> Self {
        Self::Gated(Self::begun([begin]), vec![chunk(rest.as_bytes()), b"0\r\n\r\n".to_vec()], Arc::clone(gate))
    }

    /// The same as lines of JSON.
    pub(crate) fn into_lines(self) -> Self {
        let lines = |mut bytes: Vec<Vec<u8>>| {
            let head = String::from_utf8_lossy(&bytes[0]).replace("text/event-stream", "application/x-ndjson");
            bytes[0] = head.into_bytes();
            bytes
        };
        match self {
            Self::Bytes(bytes) => Self::Bytes(lines(bytes)),
            Self::Stall(bytes) => Self::Stall(lines(bytes)),
            Self::Repeat(bytes) => Self::Repeat(lines(bytes)),
            Self::Gated(bytes, rest, gate) => Self::Gated(lines(bytes), rest, gate),
        }
    }

    /// The same with another content type and each piece of the stream converted; a piece that becomes empty is dropped.
    pub(crate) fn converted(self, kind: &str, mut convert: impl FnMut(&[u8]) -> Vec<u8>) -> Self {
        let mut all = |bytes: Vec<Vec<u8>>| {
            let mut out = vec![String::from_utf8_lossy(&bytes[0]).replace("text/event-stream", kind).into_bytes()];
            for piece in &bytes[1..] {
                let begin = piece.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                match piece.strip_suffix(b"\r\n").and_then(|piece| piece.get(begin..)) {
                    // The end of the stream, or a chunk that breaks off.
                    _ if piece.starts_with(b"0\r\n") => out.push(piece.clone()),
                    None => out.push(piece.clone()),
                    Some(inner) => {
                        out.extend(Some(convert(inner)).filter(|new| !new.is_empty()).map(|new| chunk(&new)));
                    }
                }
            }
            out
        };
        match self {
            Self::Bytes(bytes) => Self::Bytes(all(bytes)),
            Self::Stall(bytes) => Self::Stall(all(bytes)),
            Self::Repeat(bytes) => Self::Repeat(all(bytes)),
            Self::Gated(bytes, rest, gate) => {
                // The rest has no head of its own.
                let rest = all([vec![Vec::new()], rest].concat()).split_off(1);
                Self::Gated(all(bytes), rest, gate)
            }
        }
    }

    fn begun<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Vec<Vec<u8>> {
        let start = head("200 OK", "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n");
        let pieces = pieces.into_iter().filter(|piece| !piece.as_ref().is_empty());
        [start].into_iter().chain(pieces.map(|piece| chunk(piece.as_ref()))).collect()
    }
}

/// The event of a chunk with this text.
pub(crate) fn delta(text: &str) -> String {
    let chunk = serde_json::json!({"id": "c", "object": "chat.completion.chunk", "model": "m-answering",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
    format!("data: {chunk}\n\n")
}

/// The events that end a stream: finish reason, token counts, end mark.
pub(crate) fn ending(finish: &str) -> String {
    let last = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    let usage = serde_json::json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 4}}});
    format!("data: {last}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

/// A stream with this text and a proper end.
pub(crate) fn answer(text: &str) -> Play {
    Play::events([delta(text), ending("stop")])
}

/// A running server; it ends with its runtime.
#[derive(Debug)]
pub(crate) struct Server {
    /// Base URL of the API.
    pub(crate) base_url: String,
    received: Arc<Mutex<Vec<Received>>>,
    hung_up: mpsc::UnboundedReceiver<usize>,
}

impl Server {
    /// Plays these one after the other; the last one repeats.
    pub(crate) async fn play(plays: impl IntoIterator<Item = Play>) -> Self {
        let plays: Vec<Play> = plays.into_iter().collect();
        Self::script(move |number, _| plays[number.min(plays.len() - 1)].clone()).await
    }

    /// Plays what `script` returns for the request with this number, from 0.
    pub(crate) async fn script(script: impl Fn(usize, &Received) -> Play + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let (tell, hung_up) = mpsc::unbounded_channel();
        let (script, kept) = (Arc::new(script), Arc::clone(&received));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (script, kept, tell) = (Arc::clone(&script), Arc::clone(&kept), tell.clone());
                tokio::spawn(async move {
                    if let Some(number) = serve(socket, &*script, &kept).await {
                        tell.send(number).unwrap_or_default();
                    }
                });
            }
        });
        Self { base_url, received, hung_up }
    }

    /// Every request so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until a client leaves a silent reply; returns the number of its request.
    pub(crate) async fn client_hung_up(&mut self) -> usize {
        self.hung_up.recv().await.unwrap()
    }
}

/// Serves one connection; returns the request's number when the client hung up on a silent reply.
async fn serve(
    mut socket: TcpStream,
    script: &(dyn Fn(usize, &Received) -> Play + Send + Sync),
    kept: &Mutex<Vec<Received>>,
) -> Option<usize> {
    socket.set_nodelay(true).ok()?;
    let received = read_request(&mut socket).await?;
    let (number, play) = {
        let mut kept = kept.lock().unwrap();
        kept.push(received.clone());
        let number = kept.len() - 1;
        (number, script(number, &received))
    };
    let (Play::Bytes(pieces) | Play::Stall(pieces) | Play::Repeat(pieces) | Play::Gated(pieces, ..)) = &play;
    for piece in pieces {
        // A client that has enough may leave in the middle.
        socket.write_all(piece).await.ok()?;
    }
    match &play {
        Play::Bytes(_) => return None,
        Play::Stall(_) => {}
        Play::Repeat(pieces) => {
            let last = pieces.last()?;
            while socket.write_all(last).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            return Some(number);
        }
        Play::Gated(_, rest, gate) => {
            gate.notified().await;
            for piece in rest {
                socket.write_all(piece).await.ok()?;
            }
            return None;
        }
    }
    let mut rest = [0; 64];
    while !matches!(socket.read(&mut rest).await, Ok(0) | Err(_)) {}
    Some(number)
}

async fn read_request(socket: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut received = Received { head, body: String::new() };
            let length = received.header("content-length").parse().unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                received.body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
                return Some(received);
            }
        }
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}
