"""Runs of agents over HTTP: throughput, latency and memory of `serve` at N runs at once, then `kill -9` in the middle of such a load.

In: the binary in $PTC; `serve.py [AT_ONCE [RUNS]]` (200, 4000). Out: figures on stdout. Exits with 1 if a run fails, if the session of a
run that was answered is missing or cannot be read, or if `kill -9` loses a session that a client has the id of.
"""
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENT = """name = "triage"
mode = "json"
prompt = "Classify the ticket"
signature = "(text :string) -> {category :string, urgent :bool}"
model = "sample"
"""


class Server:
    """A server in a folder of its own."""

    def __init__(self, folder, at_once):
        self.sessions = Path(folder) / "sessions"
        agent = Path(folder) / "triage.toml"
        agent.write_text(AGENT)
        command = [os.environ["PTC"], "--sessions", self.sessions, "serve", agent, "--port", "0", "--max-runs", str(at_once)]
        places = {name: folder for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
        log = Path(folder) / "log"
        self.process = subprocess.Popen(command, stderr=log.open("w"), stdout=subprocess.DEVNULL, env=os.environ | places)
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)\n", log.read_text())):
            time.sleep(0.02)
        self.port = int(found[1])

    def memory_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024

    def cpu_s(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def run(port, number, is_streamed):
    """One run: status, id of its session, seconds."""
    body = json.dumps({"context": {"text": f"ticket {number}"}, "seed": number, "stream": is_streamed}).encode()
    started = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"POST /agents/triage/run HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        reply = await reader.readuntil(b"\r\n\r\n")
        session = re.search(rb"(?i)x-ptc-session: (\S+)", reply)
        session = session and session[1].decode()
        if not is_streamed:
            await reader.read()
        else:
            await reader.readline()
        return int(reply.split()[1]), session, time.monotonic() - started
    finally:
        writer.close()


async def load(server, at_once, runs):
    """Sends `runs` requests, `at_once` at a time; returns their results."""
    numbers = iter(range(runs))
    results = []

    async def client():
        for number in numbers:
            results.append(await run(server.port, number, False))

    await asyncio.gather(*(client() for _ in range(at_once)))
    return results


def lost(server, ids):
    """The sessions of these ids that are missing, or damaged."""
    missing = [name for name in ids if not list(server.sessions.glob(f"*{name}*.jsonl"))]
    command = [os.environ["PTC"], "--sessions", server.sessions, "sessions", "list", "--json"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    known = {row["id"]: row for row in json.loads(listed)}
    damaged = [name for name in ids if name in known and "damage" in known[name]["state"]]
    return missing + damaged + [name for name in ids if name not in known]


def main():
    at_once, runs = (int(word) for word in (sys.argv[1:] + ["200", "4000"][len(sys.argv) - 1:])[:2])
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, at_once)
        started = time.monotonic()
        results = asyncio.run(load(server, at_once, runs))
        seconds = time.monotonic() - started
        times = sorted(result[2] * 1_000 for result in results)
        failed = [result for result in results if result[0] != 200]
        print(f"{runs} runs, {at_once} at once: {runs / seconds:.0f} runs/s, p50 {times[len(times) // 2]:.0f} ms, p99 {times[len(times) * 99 // 100]:.0f} ms")
        print(f"processor time {server.cpu_s() * 1_000 / runs:.2f} ms a run, memory {server.memory_mb()} MB, failed {len(failed)}")
        server.process.terminate()
        server.process.wait()
        lost_ids = lost(server, [result[1] for result in results])
        print(f"sessions {len(results)}, lost {len(lost_ids)}")
        bad += len(failed) + len(lost_ids)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, at_once)

        async def killed():
            running = [asyncio.create_task(run(server.port, number, True)) for number in range(at_once)]
            answered = []
            for done in asyncio.as_completed(running):
                try:
                    answered.append((await done)[1])
                except (OSError, asyncio.IncompleteReadError):
                    continue
                if len(answered) == at_once // 2:
                    server.process.kill()
            return answered

        ids = [name for name in asyncio.run(killed()) if name]
        server.process.wait()
        lost_ids = lost(server, ids)
        print(f"kill -9 with {at_once} runs: {len(ids)} clients had the id of a session, lost {len(lost_ids)}")
        bad += len(lost_ids)
    sys.exit(bad > 0)


main()
