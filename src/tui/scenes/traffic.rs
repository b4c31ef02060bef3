//! The traffic of the scenes: three programs, one of whose conversations was recorded by the proxy.

use std::path::Path;
use std::sync::Arc;

use crate::event::Tokens;
use crate::proxy::{ConversationLine, ConversationState, HeldExchange, HeldForm, HeldSide, TrafficUpdate};
use crate::tui::traffic::{ProxyFacts, TrafficResponse};

/// The recorded conversation.
const SESSION: &str = include_str!("../../../assets/scenes/traffic.jsonl");
/// Its id.
const ID: &str = "2026-11-26T12-22-27Z-dccd16e0";

/// Puts the session where the proxy would have written it.
pub(super) fn write(sessions_dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(sessions_dir)?;
    std::fs::write(sessions_dir.join(format!("{ID}.jsonl")), SESSION)
}

/// Returns the responses that the interface gets about the traffic, in order.
pub(super) fn responses(now_ms: i64) -> Vec<TrafficResponse> {
    let variables = [("OPENAI_BASE_URL", "/v1"), ("ANTHROPIC_BASE_URL", "")];
    let facts = ProxyFacts {
        address: std::net::SocketAddr::from(([127, 0, 0, 1], 4141)),
        upstreams: vec!["openai (https://api.openai.com/)".to_owned()],
        variables: variables.map(|(name, path)| (name, format!("http://127.0.0.1:4141{path}"))).into(),
    };
    let line = |session: &str, client: &str, upstream: &str, model: &str| ConversationLine {
        session: session.to_owned(),
        client: client.to_owned(),
        upstream: upstream.to_owned(),
        model: model.to_owned(),
        user_text: "Which pull requests are in this release?".to_owned(),
        turns: 1,
        state: ConversationState::Answered,
        tokens: None,
        cost: None,
        first_ms: None,
        errors: 0,
        problem: None,
        at_ms: now_ms,
    };
    let tokens = |input, output| Some(Tokens { input, output, ..Tokens::default() });
    let lines = [
        ConversationLine {
            turns: 2,
            tokens: tokens(880, 59),
            cost: Some(0.0022),
            first_ms: Some(403),
            ..line(ID, "release-bot/3.1", "openai", "gpt-4.1")
        },
        ConversationLine {
            turns: 14,
            state: ConversationState::Streams,
            tokens: tokens(182_400, 9_120),
            cost: Some(0.684),
            first_ms: Some(1_210),
            user_text: "fix the flaky test of the parser".to_owned(),
            ..line("2026-11-26T12-21-50Z-51c03f7e", "coding-cli/2.4.1", "anthropic", "claude-sonnet-4-5")
        },
        ConversationLine {
            turns: 3,
            state: ConversationState::Failed,
            tokens: tokens(2_130, 96),
            cost: Some(0.0013),
            first_ms: Some(86),
            errors: 1,
            problem: Some("status 429: slow down".to_owned()),
            ..line("2026-11-26T12-19-08Z-0be7a2d4", "OpenAI/Python", "openai", "gpt-4.1-mini")
        },
    ];
    let updates = lines.map(|line| TrafficUpdate::Conversation(Box::new(line))).into();
    vec![TrafficResponse::Started(Ok(facts)), TrafficResponse::Updates(updates)]
}

/// A request that waits.
pub(super) fn held(now_ms: i64) -> TrafficResponse {
    let text = "{\n  \"model\": \"gpt-4.1\",\n  \"stream\": true,\n  \"messages\": [\n    {\n      \"role\": \"user\",\n      \
                \"content\": \"Write the release notes.\"\n    }\n  ]\n}";
    let held = HeldExchange {
        id: 1,
        side: HeldSide::Request,
        client: "release-bot/3.1".to_owned(),
        upstream: "openai".to_owned(),
        model: "gpt-4.1".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        is_streamed: true,
        status: None,
        at_ms: now_ms - 4_000,
        form: HeldForm::Body,
        text: text.to_owned(),
    };
    TrafficResponse::Updates(vec![TrafficUpdate::Held(vec![Arc::new(held)])])
}
