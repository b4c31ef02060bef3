//! Servers and networks that fail: what is tried again, what is not, and what the developer reads.

use ptc_workbench::event::PartKind;
use ptc_workbench::model::{Adapter, Endpoint, ErrorClass, Gate, ModelEvent, RetryPolicy, Timeouts};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::server::{Play, Server, answer, delta, ending};
use super::{ask, ask_server, ask_until, endpoint, model, request, unused_port};

fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

#[tokio::test]
async fn a_reply_that_broke_off_is_discarded_and_asked_for_again() {
    let broken = [
        ("the connection drops inside a chunk", Play::cut([delta("half")]), "network"),
        ("the stream ends without an end", Play::events([delta("half")]), "stream"),
        ("an event is not JSON", Play::events([delta("half"), event("{\"choices\":[{\"del")]), "stream"),
        ("an event is of another kind", Play::events([delta("half"), event("[1,2]")]), "stream"),
        (
            "an error comes inside",
            Play::events([delta("half"), event(r#"{"error":{"message":"upstream died","code":502}}"#)]),
            "server_error",
        ),
        (
            "an error event comes",
            Play::events([delta("half"), format!("event: error\n{}", event(r#"{"message":"boom"}"#))]),
            "server_error",
        ),
        ("the finish reason is an error", Play::events([delta("half"), ending("error")]), "server_error"),
    ];
    for (what, play, class) in broken {
        let server = Server::play([play, answer("whole")]).await;
        let asked = ask_server(&server, &model(&server), &request("hi")).await;
        let reply = asked.reply();
        assert_eq!((reply.text.as_str(), reply.attempt, reply.requests), ("whole", 2, 2), "{what}");
        assert_eq!(asked.discarded(), [(1, class.to_owned())], "{what}");
        assert_eq!(asked.text_of(1, PartKind::Text), "half", "{what}");
        assert_eq!(asked.text_of(2, PartKind::Text), "whole", "{what}");
        assert!(String::from_utf8_lossy(&asked.raw(1)).starts_with(&delta("half")), "{what}");
    }
}

#[tokio::test]
async fn retry_after_is_honoured_and_reported() {
    let busy = Play::page(
        "429 Too Many Requests",
        "retry-after-ms: 7\r\n",
        r#"{"error":{"message":"Slow down","code":"rate_limit_exceeded"}}"#,
    );
    let server = Server::play([busy, answer("ok")]).await;
    let asked = ask_server(&server, &model(&server), &request("hi")).await;
    assert_eq!((asked.reply().text.as_str(), asked.reply().attempt), ("ok", 2));
    let wait = asked.events.iter().find_map(|event| match event {
        ModelEvent::RetryWait(wait) => Some(wait),
        _ => None,
    });
    let wait = wait.unwrap();
    assert_eq!((wait.attempt, wait.wait_ms, wait.retry_after, wait.class.as_str()), (1, 7, true, "rate_limit"));
    assert_eq!(wait.message, "local answered 429 Too Many Requests: Slow down (rate_limit_exceeded)");
}

#[tokio::test]
async fn a_service_that_stays_busy_is_an_error_in_its_own_words() {
    let busy = Play::json("503 Service Unavailable", r#"{"error":"Loading model"}"#);
    let server = Server::play([busy]).await;
    let asked = ask_server(&server, &model(&server), &request("hi")).await;
    let error = asked.error();
    assert_eq!((error.class, error.status, error.attempt, error.requests), (ErrorClass::Server, Some(503), 3, 3));
    assert_eq!(error.message, "local answered 503 Service Unavailable: Loading model (tried 3 times)");
    assert_eq!(server.received().len(), 3);
    assert_eq!(String::from_utf8(asked.raw(3)).unwrap(), r#"{"error":"Loading model"}"#);
}

#[tokio::test]
async fn what_cannot_succeed_is_not_repeated() {
    let cases = [
        ("401 Unauthorized", r#"{"error":{"message":"Bad key"}}"#, ErrorClass::Auth, "api_key_env"),
        ("404 Not Found", r#"{"error":{"message":"No such model"}}"#, ErrorClass::NotFound, "m-asked"),
        ("400 Bad Request", r#"{"error":{"message":"Bad top_p","param":"top_p"}}"#, ErrorClass::Client, "top_p"),
    ];
    for (status, body, class, hint) in cases {
        let server = Server::play([Play::json(status, body)]).await;
        let asked = ask_server(&server, &model(&server), &request("hi")).await;
        let error = asked.error();
        assert_eq!((error.class, error.requests), (class, 1));
        assert!(error.message.starts_with(&format!("local answered {status}: ")), "{}", error.message);
        assert!(error.hint.as_ref().unwrap().contains(hint), "{:?}", error.hint);
    }
}

#[tokio::test]
async fn refusals_and_filters_are_errors_with_their_tokens() {
    let refusal = event(r#"{"choices":[{"delta":{"refusal":"I cannot "}}]}"#)
        + &event(r#"{"choices":[{"delta":{"refusal":"help."}}]}"#);
    let cases = [
        (format!("{refusal}{}", ending("stop")), ErrorClass::Refusal, "the model refused: I cannot help."),
        (ending("content_filter"), ErrorClass::ContentFilter, "the filter of local withheld the reply"),
    ];
    for (stream, class, message) in cases {
        let server = Server::play([Play::events([stream])]).await;
        let asked = ask_server(&server, &model(&server), &request("hi")).await;
        let error = asked.error();
        assert_eq!((error.class, error.message.as_str(), error.requests), (class, message, 1));
        assert_eq!(error.usage.as_ref().map(|usage| usage.output), Some(7));
    }
}

#[tokio::test]
async fn silence_has_limits_before_and_within_a_reply() {
    let silent = [
        (Play::Stall(vec![]), 40, "gave no answer within 40 ms"),
        (Play::silent::<&str>([]), 40, "gave no answer within 40 ms"),
        (Play::silent([delta("half")]), 10_000, "sent nothing for 30 ms after"),
    ];
    for (play, first_byte_ms, message) in silent {
        let mut server = Server::play([play]).await;
        let mut hasty = endpoint(&server);
        hasty.timeouts = Timeouts { first_byte_ms, silence_ms: 30, ..Timeouts::default() };
        hasty.retry = RetryPolicy { max_attempts: 1, ..hasty.retry };
        let asked = ask_server(&server, &Adapter::new(hasty).unwrap(), &request("hi")).await;
        assert_eq!(asked.error().class, ErrorClass::Timeout);
        assert!(asked.error().message.contains(message), "{}", asked.error().message);
        assert_eq!(server.client_hung_up().await, 0);
    }
}

#[tokio::test]
async fn a_connection_that_is_never_made_is_given_up() {
    // It takes the connection and never answers the secure handshake, which is part of connecting.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut mute = Endpoint::new("local", "m", format!("https://{}/v1", listener.local_addr().unwrap()));
    mute.timeouts = Timeouts { connect_ms: 40, ..Timeouts::default() };
    mute.retry = RetryPolicy { max_attempts: 1, ..mute.retry };
    let asked = ask(&Adapter::new(mute).unwrap(), &request("hi")).await;
    let error = asked.error();
    assert_eq!(error.class, ErrorClass::Timeout);
    assert!(error.message.contains("no connection to local at https://127.0.0.1"), "{}", error.message);
    assert!(error.message.contains("within 40 ms"), "{}", error.message);
    assert!(error.hint.as_ref().unwrap().contains("connect_ms under [providers.local]"), "{:?}", error.hint);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_a_way_to_check() {
    let port = unused_port();
    let mut gone = Endpoint::new("local", "m", format!("http://127.0.0.1:{port}/v1?api_key=in-the-query"));
    gone.retry = RetryPolicy { base_delay_ms: 1, ..RetryPolicy::default() };
    let asked = ask(&Adapter::new(gone).unwrap(), &request("hi")).await;
    let error = asked.error();
    assert_eq!((error.class, error.requests), (ErrorClass::Network, 3));
    let place = format!("http://127.0.0.1:{port}/v1");
    assert_eq!(
        error.message,
        format!("cannot connect to local at {place}/chat/completions: connection refused (tried 3 times)")
    );
    assert_eq!(error.hint, Some(format!("is the server running? check with: curl {place}/models")));
    assert!(!asked.everything().contains("in-the-query"));
}

#[tokio::test]
async fn a_server_without_tls_is_not_taken_for_a_missing_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain = Endpoint::new("local", "m", format!("https://{}/v1", listener.local_addr().unwrap()));
    let (model, request) = (Adapter::new(plain).unwrap(), request("hi"));
    let greet = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        socket
    };
    let (asked, _socket) = futures::join!(ask(&model, &request), greet);
    assert_eq!((asked.error().class, asked.error().requests), (ErrorClass::Configuration, 1));
    assert!(asked.error().hint.as_ref().unwrap().contains("http or https"), "{:?}", asked.error().hint);
}

#[tokio::test]
async fn a_page_instead_of_the_api_points_at_base_url() {
    let page = Play::page("200 OK", "content-type: text/html\r\n", "<html><title>Welcome</title></html>");
    let server = Server::play([page]).await;
    let asked = ask_server(&server, &model(&server), &request("hi")).await;
    assert_eq!(asked.error().class, ErrorClass::Configuration);
    assert!(asked.error().hint.as_ref().unwrap().starts_with("base_url usually ends in /v1"));
}

#[tokio::test]
async fn a_cancel_ends_a_reply_and_the_server_sees_it() {
    for play in [Play::Stall(vec![]), Play::silent([delta("half")])] {
        let begun = matches!(play, Play::Stall(ref pieces) if !pieces.is_empty());
        let mut server = Server::play([play]).await;
        let model = model(&server);
        let cancel = CancellationToken::new();
        let request = request("hi");
        let (asked, ()) = futures::join!(ask_until(&model, &request, cancel.clone()), async {
            while server.received().is_empty() {
                tokio::time::sleep(crate::POLL).await;
            }
            cancel.cancel();
        });
        assert_eq!((asked.error().class, asked.error().requests), (ErrorClass::Cancelled, 1), "{begun}");
        assert_eq!(server.client_hung_up().await, 0);
    }
}

#[tokio::test]
async fn a_cancel_does_not_wait_for_a_reader_of_events() {
    let pieces: Vec<String> = (0..100).map(|number| delta(&number.to_string())).collect();
    let mut server = Server::play([Play::silent(pieces)]).await;
    let (events, mut unread) = tokio::sync::mpsc::channel(1);
    let cancel = CancellationToken::new();
    let call = ptc_workbench::model::Call { events, cancel: cancel.clone() };
    let (model, request) = (model(&server), request("hi"));
    let (result, ()) = futures::join!(ptc_workbench::model::Model::answer(&model, &request, &call), async {
        assert!(matches!(unread.recv().await, Some(ModelEvent::Sent(_))));
        while server.received().is_empty() {
            tokio::time::sleep(crate::POLL).await;
        }
        cancel.cancel();
    });
    assert_eq!(result.unwrap_err().class, ErrorClass::Cancelled);
    assert_eq!(server.client_hung_up().await, 0);
}

#[tokio::test]
async fn models_of_one_provider_share_its_gate() {
    let mut server = Server::play([Play::Stall(vec![]), answer("second")]).await;
    let gate = Gate::new(1);
    let (first, second) = (model(&server).gate(gate.clone()), model(&server).gate(gate));
    let cancel = CancellationToken::new();
    let request = request("hi");
    let stalled = ask_until(&first, &request, cancel.clone());
    let later = async {
        while server.received().is_empty() {
            tokio::time::sleep(crate::POLL).await;
        }
        let waiting = ask(&second, &request);
        let stop = async {
            // The second question has had every chance to be sent, and was not.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert_eq!(server.received().len(), 1);
            cancel.cancel();
        };
        futures::join!(waiting, stop).0
    };
    let (stopped, answered) = futures::join!(stalled, later);
    assert_eq!(stopped.error().class, ErrorClass::Cancelled);
    assert_eq!(answered.reply().text, "second");
    assert_eq!(server.client_hung_up().await, 0);
}
