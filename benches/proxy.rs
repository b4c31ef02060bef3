//! Cost that the proxy adds to streamed replies: a service and its clients in this process, a proxy between them as a process of its own,
//! and the same clients without it.
//!
//! `cargo bench --bench proxy -- [STREAMS [DELTAS [EVERY_MS [START_S [ROUNDS]]]]] [-- COMMAND…]` runs STREAMS conversations at once, each a
//! reply of DELTAS pieces, one every `EVERY_MS`, which begin within `START_S` seconds: without a proxy, through `ptc-workbench proxy` with
//! and without sessions, and, if given, through another reverse proxy (`{port}` and `{upstream}` in COMMAND are replaced). It prints
//! latencies, processor time and memory, and fails when a reply is incomplete or its bytes differ between the service and the client.
//!
//! On a virtual machine the last column is the time for which its host gave the processors to others. A hundredth of the time decides a p99,
//! so several ROUNDS are measured in turns, and the round of each row that lost the least time is printed again at the end.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Time for a proxy to start listening.
const LISTENING: Duration = Duration::from_secs(20);

/// Amount and rate of the streamed replies.
#[derive(Clone, Copy)]
struct Load {
    streams: usize,
    deltas: usize,
    every: Duration,
    /// The streams start one after the other within this time, so that the first byte is not measured in a queue of connections.
    start: Duration,
    /// Number of times that each row is measured.
    rounds: usize,
}

impl Load {
    /// Returns the time from the beginning to the start of a stream. With equal steps between the starts, each start would coincide with
    /// deltas of the streams before it, because the pause between deltas is often a multiple of the step. Therefore each start has another
    /// offset within its step.
    fn start_of(&self, index: u32) -> Duration {
        const GOLDEN_RATIO: f64 = 0.618_033_988_75;
        let index = f64::from(index);
        let streams = f64::from(u32::try_from(self.streams).unwrap_or(u32::MAX));
        self.start.mul_f64((index + (index * GOLDEN_RATIO).fract()) / streams)
    }
}

/// Figures of one round.
struct Row {
    name: String,
    /// p50 and p99 of the time to the first byte, in ms.
    first_ms: [f64; 2],
    /// p50 and p99 of the time of a delta from the service to the client, in ms.
    delta_ms: [f64; 2],
    wall: Duration,
    /// Processor time of the proxy.
    cpu_s: f64,
    peak_mb: u64,
    /// Time of the processors that the host of a virtual machine gave to others.
    stolen_ms: u64,
}

impl Row {
    fn print(&self) {
        let Self { name, first_ms, delta_ms, wall, cpu_s, peak_mb, stolen_ms } = self;
        println!(
            "{name:<22} {:>13.2} /{:>6.2} {:>13.2} /{:>6.2} {:>8.1} {cpu_s:>8.1} {peak_mb:>6} {stolen_ms:>9}",
            first_ms[0],
            first_ms[1],
            delta_ms[0],
            delta_ms[1],
            wall.as_secs_f64(),
        );
    }
}

/// Timings and checksum of a reply, measured by one client.
struct Reply {
    first_us: u32,
    delta_us: Vec<u32>,
    sum: u32,
}

fn main() -> Result<(), Failure> {
    let mut numbers = Vec::new();
    let mut other = Vec::new();
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    for word in words.by_ref() {
        if word == "--" {
            break;
        }
        numbers.push(word.parse::<usize>()?);
    }
    other.extend(words);
    let number = |at: usize, otherwise: usize| numbers.get(at).copied().unwrap_or(otherwise);
    let load = Load {
        streams: number(0, 1_000),
        deltas: number(1, 100),
        every: Duration::from_millis(u64::try_from(number(2, 100))?),
        start: Duration::from_secs(u64::try_from(number(3, 5))?),
        rounds: number(4, 1),
    };
    // The kernel lets all threads wait while this process's table of file descriptors grows: it has its size from the start.
    #[cfg(unix)]
    drop(rustix::io::fcntl_dupfd_cloexec(std::io::stderr(), 16_383));
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    println!(
        "{} streams of {} deltas, one each {} ms; they start within {} s",
        load.streams,
        load.deltas,
        load.every.as_millis(),
        load.start.as_secs()
    );
    println!(
        "{:<22} {:>20} {:>20} {:>9} {:>8} {:>6} {:>9}",
        "", "first byte p50/p99 ms", "delta p50/p99 ms", "seconds", "cpu s", "MB", "stolen ms"
    );
    let mut calmest: Vec<Row> = Vec::new();
    for round in 0..load.rounds {
        for (index, row) in runtime.block_on(measure_all(load, folder.path(), round, &other))?.into_iter().enumerate() {
            match calmest.get_mut(index) {
                Some(best) if best.stolen_ms <= row.stolen_ms => {}
                Some(best) => *best = row,
                None => calmest.push(row),
            }
        }
    }
    if load.rounds > 1 {
        println!("\nthe calmest round of each");
        calmest.iter().for_each(Row::print);
    }
    Ok(())
}

/// Measures and prints all rows of a round.
async fn measure_all(load: Load, folder: &Path, round: usize, other: &[String]) -> Result<Vec<Row>, Failure> {
    let mut rows = vec![measure("direct", load, None).await?];
    for (name, save) in [("ptc-workbench", true), ("ptc-workbench, unsaved", false)] {
        let folder = folder.join(format!("{name} {round}"));
        rows.push(measure(name, load, Some(&|port, upstream| workbench(&folder, save, port, upstream))).await?);
    }
    if let Some(name) = other.first() {
        rows.push(measure(name, load, Some(&|port, upstream| another(other, port, upstream))).await?);
    }
    Ok(rows)
}

/// Returns the command of this project's proxy, with sessions in `folder` or without any.
fn workbench(folder: &Path, save: bool, port: u16, upstream: SocketAddr) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-workbench"));
    command
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .env("XDG_STATE_HOME", folder);
    command
        .arg("--plain")
        .arg("proxy")
        .arg(format!("--upstream=openai=http://{upstream}"))
        .arg(format!("--port={port}"));
    if !save {
        command.arg("--no-save");
    }
    command
}

/// Returns the command of another reverse proxy.
fn another(words: &[String], port: u16, upstream: SocketAddr) -> Command {
    let mut words = words
        .iter()
        .map(|word| word.replace("{port}", &port.to_string()).replace("{upstream}", &format!("http://{upstream}")));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Runs `load` through the proxy that `command` starts (directly without one), and prints its row.
async fn measure(name: &str, load: Load, command: Option<&dyn Fn(u16, SocketAddr) -> Command>) -> Result<Row, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = listener.local_addr()?;
    let origin = Instant::now();
    let sums: Arc<Vec<AtomicU32>> = Arc::new((0..load.streams).map(|_| AtomicU32::new(0)).collect());
    let service = tokio::spawn(serve(listener, load, origin, Arc::clone(&sums)));
    let proxy = match command {
        None => None,
        Some(command) => Some(Proxy::start(upstream, command).await?),
    };
    let address = proxy.as_ref().map_or(upstream, |proxy| proxy.address);
    let (started, stolen_before_ms) = (Instant::now(), stolen_ms());
    let clients: Vec<_> = (0..load.streams).map(|index| tokio::spawn(ask(address, index, load, origin))).collect();
    let (mut first_us, mut delta_us, mut broken) = (Vec::new(), Vec::new(), 0);
    for (index, client) in clients.into_iter().enumerate() {
        match client.await? {
            Ok(reply) => {
                broken += usize::from(
                    reply.delta_us.len() != load.deltas || reply.sum != sums[index].load(Ordering::Acquire),
                );
                first_us.push(reply.first_us);
                delta_us.extend(reply.delta_us);
            }
            Err(_) => broken += 1,
        }
    }
    let wall = started.elapsed();
    service.abort();
    let (cpu_s, peak_mb) = proxy.as_ref().map_or((0.0, 0), Proxy::usage);
    let ms = |values: &mut Vec<u32>| [0.5, 0.99].map(|share| quantile(values, share) / 1_000.0);
    let row = Row {
        name: name.to_owned(),
        first_ms: ms(&mut first_us),
        delta_ms: ms(&mut delta_us),
        wall,
        cpu_s,
        peak_mb,
        stolen_ms: stolen_ms() - stolen_before_ms,
    };
    row.print();
    if broken > 0 {
        return Err(format!("{name}: {broken} of {} replies are incomplete or changed", load.streams).into());
    }
    Ok(row)
}

/// Returns the time of all processors that the host of a virtual machine gave to others since its start; 0 where the system does not count it.
fn stolen_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    // `cpu user nice system idle iowait irq softirq steal …`, in hundredths of a second.
    let ticks: Option<u64> = stat.split_whitespace().nth(8).and_then(|word| word.parse().ok());
    ticks.unwrap_or(0) * 10
}

/// Returns the value below which `share` of the values lie, in their unit; 0 without values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index of a list"
)]
fn quantile(values: &mut [u32], share: f64) -> f64 {
    values.sort_unstable();
    let at = (values.len().saturating_sub(1) as f64 * share).round() as usize;
    values.get(at).copied().map_or(0.0, f64::from)
}

/// A proxy as a process, ended when dropped.
struct Proxy {
    process: Child,
    address: SocketAddr,
}

impl Proxy {
    /// Starts a proxy on a free port and waits until it accepts connections.
    async fn start(upstream: SocketAddr, command: &dyn Fn(u16, SocketAddr) -> Command) -> Result<Self, Failure> {
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let process = command(address.port(), upstream)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let proxy = Self { process, address };
        let until = Instant::now() + LISTENING;
        while TcpStream::connect(address).await.is_err() {
            if Instant::now() > until {
                return Err("the proxy does not listen".into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(proxy)
    }

    /// Returns processor time in seconds and the largest resident size in MB so far (zeros where there is no `/proc`).
    fn usage(&self) -> (f64, u64) {
        let read =
            |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", self.process.id())).unwrap_or_default();
        let stat = read("stat");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
        let ticks: f64 = fields.take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
        let status = read("status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        let kilobytes: u64 = peak.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
        (ticks / 100.0, kilobytes / 1024)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The service: answers each connection's request with its stream, and notes the checksum of what it sent.
async fn serve(listener: TcpListener, load: Load, origin: Instant, sums: Arc<Vec<AtomicU32>>) {
    while let Ok((connection, _)) = listener.accept().await {
        let sums = Arc::clone(&sums);
        tokio::spawn(async move { stream_reply(connection, load, origin, &sums).await });
    }
}

/// Reads one request and sends its reply; each delta carries the time at which it was written, in µs since `origin`.
async fn stream_reply(
    mut connection: TcpStream,
    load: Load,
    origin: Instant,
    sums: &[AtomicU32],
) -> Result<(), Failure> {
    connection.set_nodelay(true)?;
    let mut request = Vec::new();
    let index = loop {
        if connection.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
        if let Some(index) = number_after(&request, b"stream ") {
            break index;
        }
    };
    let mut sum = crc32fast::Hasher::new();
    connection
        .write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        .await?;
    let mut ticks = tokio::time::interval(load.every);
    for _ in 0..load.deltas {
        ticks.tick().await;
        let piece = format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"at {} \"}}}}]}}\n\n",
            origin.elapsed().as_micros()
        );
        sum.update(piece.as_bytes());
        connection.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await?;
    }
    let end = "data: [DONE]\n\n";
    sum.update(end.as_bytes());
    if let Some(place) = sums.get(index) {
        place.store(sum.finalize(), Ordering::Release);
    }
    connection.write_all(format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len()).as_bytes()).await?;
    Ok(())
}

/// The client of one stream: sends its request and reads the reply to its end.
async fn ask(address: SocketAddr, index: usize, load: Load, origin: Instant) -> Result<Reply, Failure> {
    tokio::time::sleep(load.start_of(u32::try_from(index)?)).await;
    let asked = Instant::now();
    let mut connection = TcpStream::connect(address).await?;
    connection.set_nodelay(true)?;
    let body = format!(
        "{{\"model\":\"m\",\"stream\":true,\"messages\":[{{\"role\":\"user\",\"content\":\"stream {index} \"}}]}}"
    );
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all((head + &body).as_bytes()).await?;
    let mut reply = Reply { first_us: 0, delta_us: Vec::with_capacity(load.deltas), sum: 0 };
    let (mut head, mut piece, mut chunks, mut sum) =
        (Vec::new(), vec![0; 16 << 10], Chunked::default(), crc32fast::Hasher::new());
    let mut body = Vec::new();
    while !chunks.ended {
        let read = connection.read(&mut piece).await?;
        if read == 0 {
            break;
        }
        let now = origin.elapsed();
        if reply.first_us == 0 {
            reply.first_us = u32::try_from(asked.elapsed().as_micros())?;
        }
        if chunks.begun {
            chunks.read(&piece[..read], &mut body);
        } else {
            head.extend_from_slice(&piece[..read]);
            let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            chunks.begun = true;
            chunks.read(&head[end + 4..], &mut body);
        }
        // Whole events only; what is left of one waits for its end.
        let whole = body.windows(2).rposition(|two| two == b"\n\n").map_or(0, |at| at + 2);
        for event in body[..whole].split(|byte| *byte == b'\n') {
            if let Some(sent_us) = number_after(event, b"\"at ") {
                reply.delta_us.push(u32::try_from(now.as_micros().saturating_sub(sent_us as u128))?);
            }
        }
        sum.update(&body[..whole]);
        body.drain(..whole);
    }
    reply.sum = sum.finalize();
    Ok(reply)
}

/// Returns the number that follows `label` and ends with a space.
fn number_after(text: &[u8], label: &[u8]) -> Option<usize> {
    let at = text.windows(label.len()).position(|window| window == label)? + label.len();
    let end = text[at..].iter().position(|byte| *byte == b' ')? + at;
    std::str::from_utf8(&text[at..end]).ok()?.parse().ok()
}

/// Reads the body of a reply with `transfer-encoding: chunked` as it comes.
#[derive(Default)]
struct Chunked {
    begun: bool,
    ended: bool,
    left: usize,
    line: Vec<u8>,
}

impl Chunked {
    /// Appends the body's part of `bytes` to `body`.
    fn read(&mut self, mut bytes: &[u8], body: &mut Vec<u8>) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.left > 0 {
                let taken = self.left.min(bytes.len());
                body.extend_from_slice(&bytes[..taken]);
                self.left -= taken;
                bytes = &bytes[taken..];
                continue;
            }
            bytes = rest;
            if *first != b'\n' {
                self.line.push(*first);
                continue;
            }
            // A size, or the empty line after a chunk.
            let size = std::str::from_utf8(&self.line).ok().map(str::trim).filter(|text| !text.is_empty());
            if let Some(size) = size.and_then(|text| usize::from_str_radix(text, 16).ok()) {
                self.left = size;
                self.ended = size == 0;
            }
            self.line.clear();
        }
    }
}
