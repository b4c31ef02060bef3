//! Bodies that are no text: recorded and printed byte for byte.

use ptc_workbench::workbench::{agent_of_request, sent_bytes};

use super::kit::{Proxied, fetch};
use crate::openai::server::answer;

#[tokio::test]
async fn a_body_that_is_no_text_is_printed_as_it_was_sent_and_makes_no_agent() {
    let body = b"\x1b[31m\xff\xfe{\"model\": \"m\"".to_vec();
    let proxied = Proxied::play([answer("fine")]).await;
    assert!(fetch(proxied.post("/v1/chat/completions", body.clone())).await.is_whole);
    let (sessions, _dir) = proxied.end().await;
    assert_eq!(sent_bytes(&sessions[0], "r0/t1").unwrap(), body);
    let refused = agent_of_request(&sessions[0], &"r0/t1".into(), "agent").unwrap_err();
    assert!(refused.message.contains("no message of the request at r0/t1 could be read"), "{}", refused.message);
}
