//! `models check` against a server of each protocol: what it reports, what it stores, and what later requests do with that.

use std::path::Path;

use ptc_workbench::config::{Config, Folders, LearnedModels, ModelChoice, Protocol, Restriction};
use ptc_workbench::event::{Options, StructuredBy};
use ptc_workbench::model::{Adapter, ErrorClass, Request};
use ptc_workbench::workbench::Workbench;
use ptc_workbench::workbench::model_check::{Ability, CheckReport};
use serde_json::{Value, json};

use super::assert_fits;
use super::kit::{ALL, BEDROCK_KEY, Kit};
use super::structure::{refusal, way};
use crate::openai::server::{Play, Received, Server};
use crate::openai::{request, request_json};

const JUDGED: &str = r#"{"sentiment":"positive","score":9}"#;

/// A question of the check, recognised by its words.
fn asks(received: &Received, words: &str) -> bool {
    received.body.contains(words)
}

fn is_streamed(received: &Received) -> bool {
    received.body.contains("\"stream\":true") || received.head.lines().next().unwrap().contains("stream")
}

fn names_unknown_model(received: &Received) -> bool {
    received.body.contains("ptc-workbench-unknown-model") || received.head.contains("ptc-workbench-unknown-model")
}

/// The text as this request wants it: in two pieces, or at once.
fn text(kit: Kit, received: &Received, text: &str) -> Play {
    if !is_streamed(received) {
        return kit.whole(text);
    }
    let (first, second) = text.split_at(text.len() / 2);
    kit.play([kit.begin(), kit.text(first), kit.text(second), kit.end("stop")])
}

/// A server that can do everything.
fn able(kit: Kit, received: &Received) -> Play {
    let call =
        |place: u64, city: &str| kit.call(place, &format!("c{place}"), "get_temperature", &json!({"city": city}));
    if names_unknown_model(received) {
        return Play::json("404 Not Found", kit.error("not_found_error", "no such model").to_string());
    }
    if asks(received, "celsius") {
        return text(kit, received, "21");
    }
    if asks(received, "for both cities") {
        return kit.play([kit.begin(), call(0, "Paris"), call(1, "Rome"), kit.end("calls")]);
    }
    if asks(received, "Call the tool") {
        return kit.play([kit.begin(), call(0, "Paris"), kit.end("calls")]);
    }
    if asks(received, "are prime") {
        return kit.play([kit.begin(), kit.thought("2, 3, 5 …"), kit.text("8"), kit.end("stop")]);
    }
    if asks(received, "What colour") {
        return text(kit, received, "Red.");
    }
    if asks(received, "Judge the sentence") {
        return match way(kit, &received.json()) {
            StructuredBy::Tool => {
                let answer: Value = serde_json::from_str(JUDGED).unwrap();
                kit.play([kit.begin(), kit.call(0, "a", "respond", &answer), kit.end("calls")])
            }
            _ => text(kit, received, JUDGED),
        };
    }
    let answer = if asks(received, "one JSON object") { "{\"ready\":true}" } else { "ready then" };
    text(kit, received, answer)
}

/// A workbench whose only own provider is this server.
fn workbench(kit: Kit, server: &Server, dir: &Path) -> Workbench {
    let (kind, api) = match kit.0 {
        Protocol::Responses => ("openai", "api = \"responses\"\n"),
        other => (other.name(), ""),
    };
    let key = if kit.0 == Protocol::Bedrock { format!("api_key_file = '{BEDROCK_KEY}'\n") } else { String::new() };
    let text = format!(
        "[retry]\nmax_attempts = 1\n[providers.mine]\nkind = \"{kind}\"\nbase_url = \"{}\"\n{api}{key}",
        server.base_url
    );
    std::fs::write(dir.join("config.toml"), text).unwrap();
    let folders = Folders::at(dir.to_owned(), dir, None);
    Workbench::new(Config::load(None, &folders, &|_| None).unwrap(), folders)
}

/// Checks the model of a server, stores the result, and checks every body that was sent.
async fn check(kit: Kit, server: &Server, dir: &Path) -> CheckReport {
    let check = workbench(kit, server, dir).check_of("mine:m").unwrap();
    let mut shown = Vec::new();
    let report = check.run(|row| shown.push(row.clone())).await.unwrap();
    assert_eq!(shown, report.abilities, "{kit:?}");
    check.save(&report).unwrap();
    for received in server.received() {
        assert_fits(kit.0, &received.json());
    }
    report
}

fn abilities(report: &CheckReport) -> Vec<(&str, Ability)> {
    report.abilities.iter().map(|row| (row.name, row.ability)).collect()
}

/// The adapter that a new start of the program makes for the model.
fn adapter(kit: Kit, server: &Server, dir: &Path) -> Adapter {
    let ModelChoice::Http(model) = workbench(kit, server, dir).config.resolve_model("mine:m").unwrap() else {
        panic!("a model of a provider")
    };
    Adapter::new((*model).into()).unwrap()
}

fn body(adapter: &Adapter, request: &Request) -> Value {
    serde_json::from_str(&adapter.body(request).to_text()).unwrap()
}

#[tokio::test]
async fn a_server_that_can_do_everything_is_reported_so_in_each_protocol() {
    use Ability::{Partly, Untried, Yes};
    for kit in ALL {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::script(move |_, received| able(kit, received)).await;
        let check = workbench(kit, &server, dir.path()).check_of("mine:m").unwrap();
        let estimate = check.estimate();
        assert!(server.received().is_empty(), "an estimate sends nothing");
        let report = check.run(|_| {}).await.unwrap();
        // Two protocols cannot require an object without a schema.
        let strict = if kit.0.has_strict_tools() { Yes } else { Untried };
        let object = if matches!(kit.0, Protocol::Anthropic | Protocol::Bedrock) { Partly } else { Yes };
        let expected = [
            ("text", Yes),
            ("streaming", Yes),
            ("schema", Yes),
            ("json object", object),
            ("tools", Yes),
            ("strict tools", strict),
            ("parallel calls", Yes),
            ("tool results", Yes),
            ("reasoning", Yes),
            ("temperature", Yes),
            ("images", Yes),
            ("errors", Yes),
        ];
        assert_eq!(abilities(&report), expected, "{kit:?}: {report:#?}");
        assert!(report.refused.is_empty(), "{kit:?}: {report:?}");
        assert_eq!(
            (u64::from(report.requests), server.received().len()),
            (estimate.requests, if strict == Yes { 12 } else { 11 }),
            "{kit:?}"
        );
        assert!(report.tokens.output <= estimate.output && report.tokens.input > 0, "{kit:?}");
        for received in server.received() {
            assert_fits(kit.0, &received.json());
        }
    }
}

#[tokio::test]
async fn what_a_server_refused_is_stored_and_not_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let kit = Kit(Protocol::OpenAi);
    let refuse = |param: &str, message: &str| {
        let error = json!({"error": {"message": message, "type": "invalid_request_error", "param": param}});
        Some(Play::json("400 Bad Request", error.to_string()))
    };
    let server = Server::script(move |_, received| {
        let asked = received.json();
        let refused = match way(kit, &asked) {
            _ if asked.get("max_tokens").is_some() => refuse("max_tokens", "use max_completion_tokens instead"),
            _ if asked.get("stream_options").is_some() => refuse("stream_options", "stream_options is unknown"),
            _ if asked.get("temperature").is_some() => refuse("temperature", "temperature is not supported"),
            _ if received.body.contains("\"strict\":true") => refuse("tools", "strict is not supported"),
            _ if asked.get("reasoning_effort").is_some() => refuse("reasoning_effort", "not a reasoning model"),
            StructuredBy::JsonSchema => Some(refusal(kit, StructuredBy::JsonSchema)),
            StructuredBy::Tool if asks(received, "Judge the sentence") => Some(refusal(kit, StructuredBy::Tool)),
            _ => None,
        };
        refused.unwrap_or_else(|| able(kit, received))
    })
    .await;
    let report = check(kit, &server, dir.path()).await;
    let expected = [
        Restriction::StreamOptions,
        Restriction::MaxTokens,
        Restriction::ReasoningEffort,
        Restriction::Sampling,
        Restriction::StrictTools,
    ];
    assert_eq!(report.refused, expected);
    assert_eq!(report.structured_output, Some(StructuredBy::JsonObject));
    let no: Vec<_> = report.abilities.iter().filter(|row| row.ability == Ability::No).map(|row| row.name).collect();
    assert_eq!(no, ["strict tools", "temperature"], "{report:#?}");
    assert!(report.abilities.iter().any(|row| !row.refusals.is_empty()));
    // The next start of the program asks at once for what the server takes.
    let model = adapter(kit, &server, dir.path());
    let options = Options { temperature: Some(0.5), max_tokens: Some(9), ..Options::default() };
    let options = Options { reasoning: Some("low".into()), ..options };
    let asked = body(&model, &Request { options, ..request_json("hi") });
    for refused in ["stream_options", "max_tokens", "temperature", "reasoning_effort", "tools"] {
        assert!(asked.get(refused).is_none(), "{refused}: {asked}");
    }
    assert_eq!(
        (&asked["max_completion_tokens"], &asked["response_format"]["type"]),
        (&json!(9), &json!("json_object"))
    );
    // A second check begins without the first one.
    assert_eq!(check(kit, &server, dir.path()).await, report);
}

#[tokio::test]
async fn a_server_that_ignores_what_it_takes_is_found_out() {
    for kit in ALL {
        let dir = tempfile::tempdir().unwrap();
        // It answers everything with prose, in one piece, and knows every model.
        let server = Server::script(move |_, received| {
            if is_streamed(received) { kit.answer("ready, I think") } else { kit.whole("ready, I think") }
        })
        .await;
        let report = check(kit, &server, dir.path()).await;
        let of = |name: &str| report.abilities.iter().find(|row| row.name == name).unwrap().ability;
        assert_eq!((of("text"), of("streaming")), (Ability::Yes, Ability::Partly), "{kit:?}");
        for name in ["schema", "json object", "tools", "parallel calls"] {
            assert_eq!(of(name), Ability::No, "{kit:?} {name}");
        }
        assert_eq!((of("tool results"), of("errors")), (Ability::Untried, Ability::Partly), "{kit:?}");
        assert_eq!(report.structured_output, None, "{kit:?}");
    }
}

#[tokio::test]
async fn a_server_without_streams_is_asked_for_whole_replies_from_then_on() {
    for kit in ALL {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::script(move |_, received| {
            if is_streamed(received) {
                let error = kit.error("invalid_request_error", "no streams here");
                return Play::json("400 Bad Request", error.to_string());
            }
            kit.whole("ready")
        })
        .await;
        let report = check(kit, &server, dir.path()).await;
        assert!(report.refused.contains(&Restriction::Streaming), "{kit:?}: {report:?}");
        let before = server.received().len();
        let asked = super::ask(kit, &server, &adapter(kit, &server, dir.path()), &request("hi")).await;
        assert_eq!((asked.reply().text.as_str(), asked.reply().requests), ("ready", 1), "{kit:?}");
        assert!(!is_streamed(&server.received()[before]), "{kit:?}");
    }
}

#[tokio::test]
async fn a_model_that_does_not_answer_is_an_error_and_nothing_is_stored() {
    for kit in ALL {
        let dir = tempfile::tempdir().unwrap();
        let refused = kit.error("authentication_error", "bad key").to_string();
        let server = Server::play([Play::json("401 Unauthorized", refused)]).await;
        let workbench = workbench(kit, &server, dir.path());
        let error = workbench.check_of("mine:m").unwrap().run(|_| {}).await.unwrap_err();
        assert_eq!((error.class, server.received().len()), (ErrorClass::Auth, 1), "{kit:?}");
        assert!(!LearnedModels::path(&workbench.folders).exists(), "{kit:?}");
    }
}

#[test]
fn built_in_models_are_not_checked() {
    let dir = tempfile::tempdir().unwrap();
    let folders = Folders::at(dir.path().to_owned(), dir.path(), None);
    let workbench = Workbench::new(Config::built_in().unwrap(), folders);
    for (name, words) in [("demo", "is built in"), ("sample", "is built in"), ("nosuch:m", "unknown provider")] {
        let error = workbench.check_of(name).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
