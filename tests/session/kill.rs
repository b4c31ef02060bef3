//! Kill -9 at any moment: the file reads back, whole turns replay, and nothing is asked that the file does not contain.

use std::sync::Arc;

use ptc_workbench::event::Event;
use ptc_workbench::session::Session;

use crate::cli::program::Program;
use crate::openai::server::{Play, Received, Server, delta, ending};

/// Moments; `PTC_LONG_TESTS=1` runs the long form.
fn moments() -> u64 {
    crate::by_form(200, 14, 6)
}

/// Three replies that do not do, and one that does, in pieces.
fn reply(received: &Received) -> Play {
    let messages = received.json()["messages"].as_array().cloned().unwrap_or_default();
    let reply_text = messages.iter().filter(|message| message["role"] == "assistant").count();
    let lisp = messages.iter().any(|message| message["content"].as_str().is_some_and(|text| text.contains("clojure")));
    let text = match (lisp, reply_text) {
        (true, 0..3) => "I define a value.\n```clojure\n(def rows (map inc (range 20)))\n(println (count rows))\n```\n",
        (true, _) => "```clojure\n(return {:a (count rows)})\n```",
        (false, 0..3) => "{\"a\": \"no number\", \"why\": \"a text that takes its time to arrive\"}",
        (false, _) => "{\"a\": 1}",
    };
    let pieces = text.as_bytes().chunks(7).map(|piece| delta(&String::from_utf8_lossy(piece)));
    Play::events(pieces.chain([ending("stop")]))
}

/// Numbers that look random and are the same in every run.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn size(program: &Program) -> u64 {
    program.session_files().first().and_then(|file| std::fs::metadata(file).ok()).map_or(0, |found| found.len())
}

fn arguments(mode: &str) -> [&str; 8] {
    ["--config", "config.toml", "run", "agent.toml", "--mode", mode, "--model", "local:m"]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_killed_at_any_moment_reads_back_and_replays() {
    let server = Arc::new(Server::script(|_, received| reply(received)).await);
    tokio::task::spawn_blocking(move || {
        let mut seed = 0x2545_f491_4f6c_dd1d;
        for mode in ["json", "ptc_lisp"] {
            let whole = prepared(&server);
            let done = whole.run(arguments(mode));
            done.exits(0);
            let full = size(&whole);
            for _ in 0..moments() / 2 {
                kill_at(random(&mut seed) % full, mode, &server);
            }
        }
    })
    .await
    .unwrap();
}

fn prepared(server: &Server) -> Program {
    let program = Program::new();
    let provider = format!("[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\n", server.base_url);
    program.file("config.toml", provider);
    program.file("agent.toml", "prompt = \"go\"\nsignature = \"{a :int}\"\nmax_turns = 6\nmode = \"json\"\n");
    program
}

/// Kills a run when its file has this size, and looks at what is left.
fn kill_at(bytes: u64, mode: &str, server: &Server) {
    let program = prepared(server);
    let asked_before = server.received().len();
    let mut child = program.command(arguments(mode)).spawn().unwrap();
    while size(&program) < bytes && child.try_wait().unwrap().is_none() {
        std::thread::sleep(crate::POLL / 5);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let asked = server.received().len() - asked_before;

    let opened = program.session_files().first().map(|file| Session::open(file));
    let Some(Ok(session)) = opened else {
        assert_eq!(asked, 0, "{mode} at {bytes}: asked before anything was written");
        return;
    };
    let events: Vec<_> = session.events().collect();
    assert!(session.damage.iter().all(|damage| damage.torn), "{mode} at {bytes}: {:?}", session.damage);
    assert_eq!(events.len(), session.len());
    assert!(events.iter().map(|envelope| envelope.seq).eq(1..=events.len() as u64));
    let count = |is: fn(&Event) -> bool| events.iter().filter(|envelope| is(&envelope.event)).count();
    // What was asked is recorded, and everything before the last question is there to its end.
    let turns = count(|event| matches!(event, Event::TurnStart(_)));
    assert!(turns >= asked, "{mode} at {bytes}: {turns} turns, {asked} requests");
    for whole in [count(|event| matches!(event, Event::ReplyEnd(_))), count(|event| matches!(event, Event::TurnEnd(_)))]
    {
        assert!(whole + 1 >= asked, "{mode} at {bytes}: {whole} whole, {asked} requests");
    }
    let file = program.session_file();
    program.run(["replay", &file.to_string_lossy(), "--check"]).exits(0);
    program.run(["sessions", "verify", &file.to_string_lossy()]).exits(0);
}
