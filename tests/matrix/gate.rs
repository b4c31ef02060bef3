//! A provider that asks for a pause: it holds all requests, and waiting for it is not the model's time.

use ptc_workbench::config::Config;
use ptc_workbench::event::elapsed_ms;
use ptc_workbench::session::Session;

use super::{ran, spec, trials, workbench};
use crate::openai::server::{Play, Server, answer};

const AGENT: &str = "mode = \"json\"\nprompt = \"go\"\nsignature = \"{n :int}\"\n";
const PAUSE_MS: u64 = 150;

#[tokio::test]
async fn a_429_is_waited_for_once_and_counts_as_waiting() {
    let busy = Play::page(
        "429 Too Many Requests",
        &format!("retry-after-ms: {PAUSE_MS}\r\n"),
        r#"{"error":{"message":"Slow down","code":"rate_limit_exceeded"}}"#,
    );
    let server = Server::play([busy, answer(r#"{"n":7}"#)]).await;
    let provider =
        format!("[providers.local]\nkind = \"openai\"\nbase_url = \"{}\"\nconcurrent_requests = 1\n", server.base_url);
    let config = Config::from_toml(&provider, "config.toml", &|_| None).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let state = ran(&workbench(config, dir.path()), &spec("a", AGENT, &["local:m"], 4), 4).await;

    let trials = trials(&state);
    assert_eq!((trials.len(), server.received().len()), (4, 5));
    assert!(trials.iter().all(|trial| trial.passed), "{trials:?}");
    let report = &state.reports()[0];
    assert_eq!((report.retries, report.input, report.cached), (1, Some(10.0), Some(4.0)));
    for trial in &trials {
        let session = Session::open(&dir.path().join(format!("{}.jsonl", trial.session))).unwrap();
        let times: Vec<_> = session.events().map(|envelope| envelope.at_ms).collect();
        let whole = elapsed_ms(times[0], times[times.len() - 1]);
        assert_eq!(trial.measures.time_ms + trial.measures.waited_ms, whole, "{trial:?}");
        if trial.measures.retries > 0 {
            // The pause begins with the reply, its record a moment later.
            assert!(trial.measures.waited_ms > 0, "{trial:?}");
        }
    }
}
