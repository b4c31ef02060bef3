//! Servers and networks that fail, in every protocol: what is asked for again, and what the developer reads.

use ptc_workbench::config::Protocol;
use ptc_workbench::event::PartKind;
use ptc_workbench::model::{Adapter, ErrorClass, ModelEvent, RetryPolicy, Timeouts, WithFallback};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ask;
use super::kit::{ALL, Kit};
use crate::openai::server::{Play, Server};
use crate::openai::{hear, request};

/// Replies that are none: what they are, what the server plays, and the class of the error.
fn broken(kit: Kit) -> Vec<(&'static str, Play, &'static str)> {
    let begun = || [kit.begin(), kit.text("half")];
    let and = |last: String| kit.play(begun().into_iter().chain([last]));
    let garbage = match kit.0 {
        Protocol::Ollama | Protocol::Bedrock => "{\"message\":{\"con\n".to_owned(),
        _ => "data: {\"choices\":[{\"del\n\n".to_owned(),
    };
    vec![
        ("the connection drops inside a chunk", kit.typed(Play::cut(begun())), "network"),
        ("the stream ends cleanly before the reply does", kit.play(begun()), "stream"),
        ("a frame is not JSON", and(garbage), "stream"),
        ("an overload comes inside", and(kit.frame(&kit.error("overloaded_error", "Overloaded"))), "server_error"),
        ("nothing comes at all", kit.typed(Play::events([] as [&str; 0])), "stream"),
        ("the body is empty JSON", Play::json("200 OK", "{}"), "stream"),
        ("the body is cut JSON", Play::json("200 OK", "{\"choices\":[{"), "stream"),
    ]
}

#[tokio::test]
async fn a_reply_that_broke_off_is_discarded_and_asked_for_again() {
    for kit in ALL {
        for (what, play, class) in broken(kit) {
            let server = Server::play([play, kit.answer("whole")]).await;
            let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
            let reply = asked.reply();
            assert_eq!((reply.text.as_str(), reply.attempt, reply.requests), ("whole", 2, 2), "{kit:?}: {what}");
            assert_eq!(asked.discarded(), [(1, class.to_owned())], "{kit:?}: {what}");
            assert_eq!(asked.text_of(2, PartKind::Text), "whole", "{kit:?}: {what}");
        }
    }
}

#[tokio::test]
async fn without_a_retry_each_of_them_is_an_error() {
    for kit in ALL {
        for (what, play, class) in broken(kit) {
            let server = Server::play([play]).await;
            let mut once = kit.endpoint(&server);
            once.retry = RetryPolicy { max_attempts: 1, ..once.retry };
            let asked = ask(kit, &server, &Adapter::new(once).unwrap(), &request("hi")).await;
            assert_eq!(asked.error().class.name(), class, "{kit:?}: {what}");
        }
    }
}

#[tokio::test]
async fn statuses_have_their_class_in_every_protocol() {
    let cases = [
        ("401 Unauthorized", "authentication_error", ErrorClass::Auth, 1),
        ("404 Not Found", "not_found_error", ErrorClass::NotFound, 1),
        ("413 Payload Too Large", "request_too_large", ErrorClass::Client, 1),
        ("429 Too Many Requests", "rate_limit_error", ErrorClass::RateLimit, 3),
        ("500 Internal Server Error", "api_error", ErrorClass::Server, 3),
        ("529 Overloaded", "overloaded_error", ErrorClass::Server, 3),
    ];
    for kit in ALL {
        for (status, kind, class, requests) in cases {
            let server = Server::play([Play::json(status, kit.error(kind, "Its own words").to_string())]).await;
            let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
            let error = asked.error();
            assert_eq!((error.class, error.requests), (class, requests), "{kit:?}: {status}");
            assert!(error.message.contains("Its own words") && error.hint.is_some(), "{kit:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn silence_is_noticed_in_every_protocol() {
    for kit in ALL {
        let server = Server::play([kit.typed(Play::silent([kit.begin(), kit.text("half")]))]).await;
        let mut hasty = kit.endpoint(&server);
        hasty.timeouts = Timeouts { first_byte_ms: 10_000, silence_ms: 30, ..Timeouts::default() };
        hasty.retry = RetryPolicy { max_attempts: 1, ..hasty.retry };
        let asked = ask(kit, &server, &Adapter::new(hasty).unwrap(), &request("hi")).await;
        assert_eq!(asked.error().class, ErrorClass::Timeout, "{kit:?}");
    }
}

/// Pieces that are no part of a reply, each sent without end: comments, pings, blanks, events without content, an event that never ends.
fn idle(kit: Kit) -> Vec<String> {
    match kit.0 {
        Protocol::Ollama => vec!["\n".to_owned(), " ".to_owned(), "{\"message\":{\"content\":\"\"}}\n".to_owned()],
        Protocol::Anthropic => vec![": ping\n\n".to_owned(), kit.frame(&json!({"type": "ping"})), "data: x".to_owned()],
        Protocol::OpenAi => {
            vec![": wait\n\n".to_owned(), "\n".to_owned(), kit.frame(&json!({"choices": []})), "data: x".to_owned()]
        }
        Protocol::Responses => {
            let progress = kit.frame(&json!({"type": "response.in_progress"}));
            vec![": wait\n\n".to_owned(), "\n".to_owned(), progress, "data: x".to_owned()]
        }
        Protocol::Gemini => vec![": wait\n\n".to_owned(), kit.frame(&json!({"candidates": []})), "data: x".to_owned()],
        Protocol::Bedrock => {
            let nothing = json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {}}});
            vec![kit.frame(&json!({"initial-response": {}})), kit.frame(&nothing)]
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_kept_open_without_a_reply_ends_by_its_limit() {
    for kit in ALL {
        for piece in idle(kit) {
            for pieces in [vec![piece.clone()], vec![kit.begin(), kit.text("half"), piece.clone()]] {
                let mut server = Server::play([kit.typed(Play::repeat(pieces))]).await;
                let mut hasty = kit.endpoint(&server);
                hasty.timeouts =
                    Timeouts { first_byte_ms: 60_000, silence_ms: 60_000, keep_alive_ms: 200, ..Timeouts::default() };
                hasty.retry = RetryPolicy { max_attempts: 1, ..hasty.retry };
                let asked = ask(kit, &server, &Adapter::new(hasty).unwrap(), &request("hi")).await;
                let message = &asked.error().message;
                assert_eq!(asked.error().class, ErrorClass::Timeout, "{kit:?}: {piece:?}: {message}");
                assert!(
                    message.contains("for 200 ms without sending more of its reply"),
                    "{kit:?}: {piece:?}: {message}"
                );
                assert_eq!(server.client_hung_up().await, 0);
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_continues_after_the_end_of_its_reply_gives_the_reply() {
    for kit in ALL.into_iter().filter(|kit| kit.0 == Protocol::OpenAi) {
        let finish = kit.frame(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        let server =
            Server::play([Play::repeat([kit.begin(), kit.text("whole"), finish, ": ping\n\n".to_owned()])]).await;
        let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
        assert_eq!(asked.reply().text, "whole");
    }
}

#[tokio::test]
async fn a_fallback_is_asked_when_the_first_model_cannot_answer_and_only_then() {
    let kit = ALL[1];
    let second = Server::play([ALL[3].answer("from the second")]).await;
    let pair = |first: &Server| {
        let mut once = kit.endpoint(first);
        once.retry = RetryPolicy { max_attempts: 2, ..once.retry };
        let first = std::sync::Arc::new(Adapter::new(once).unwrap());
        WithFallback::new(first, std::sync::Arc::new(ALL[3].model(&second)))
    };
    let down = Server::play([Play::json("503 Service Unavailable", "{}")]).await;
    let asked = hear(&pair(&down), &request("hi"), CancellationToken::new()).await;
    let reply = asked.reply();
    assert_eq!((reply.text.as_str(), reply.attempt, reply.requests), ("from the second", 3, 3));
    assert_eq!(asked.discarded(), [(1, "server_error".to_owned()), (2, "server_error".to_owned())]);
    assert_eq!(asked.text_of(3, PartKind::Text), "from the second");
    assert!(asked.notices()[0].contains("asking the fallback model"), "{:?}", asked.notices());

    let wrong = Server::play([Play::json("400 Bad Request", "{}")]).await;
    let asked = hear(&pair(&wrong), &request("hi"), CancellationToken::new()).await;
    assert_eq!((asked.error().class, second.received().len()), (ErrorClass::Client, 1));
}

/// Waits that were reported, in ms, and whether the server asked for them.
fn waits(events: &[ModelEvent]) -> Vec<(u64, bool)> {
    let wait = |event: &ModelEvent| match event {
        ModelEvent::RetryWait(wait) => Some((wait.wait_ms, wait.retry_after)),
        _ => None,
    };
    events.iter().filter_map(wait).collect()
}

#[tokio::test]
async fn a_service_says_in_its_own_way_how_long_to_wait() {
    let cases = [
        (0, "retry-after-ms: 7\r\n", "{}"),
        (
            0,
            "x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 7ms\r\nx-ratelimit-remaining-tokens: 9\r\nx-ratelimit-reset-tokens: 6m0s\r\n",
            "{}",
        ),
        (
            2,
            "",
            r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.007s"}]}}"#,
        ),
    ];
    for (kit, headers, body) in cases {
        let kit = ALL[kit];
        let busy = Play::page("429 Too Many Requests", &format!("{headers}content-type: application/json\r\n"), body);
        let server = Server::play([busy, kit.answer("ok")]).await;
        let asked = ask(kit, &server, &kit.model(&server), &request("hi")).await;
        assert_eq!((asked.reply().attempt, waits(&asked.events)), (2, vec![(7, true)]), "{kit:?} {headers}");
    }
}
