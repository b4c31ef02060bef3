//! Asking a server for its models.

use ptc_workbench::model::{ErrorClass, listed};
use serde_json::json;

use super::kit::ALL;
use crate::openai::server::{Play, Server};

#[tokio::test]
async fn each_protocol_lists_its_models_in_its_own_place() {
    let answers = [
        ("GET /v1/models", json!({"data": [{"id": "a"}, {"id": "b"}]})),
        ("GET /v1/models?limit=1000", json!({"data": [{"id": "a", "type": "model"}, {"id": "b"}]})),
        ("GET /v1/models?pageSize=1000", json!({"models": [{"name": "models/a"}, {"name": "models/b"}]})),
        ("GET /api/tags", json!({"models": [{"name": "a", "model": "a"}, {"name": "b"}]})),
    ];
    for (kit, (line, answer)) in ALL.into_iter().zip(answers) {
        let server = Server::play([Play::json("200 OK", answer.to_string())]).await;
        assert_eq!(listed(&kit.endpoint(&server)).await.unwrap(), ["a", "b"], "{kit:?}");
        assert!(server.received()[0].head.starts_with(&format!("{line} HTTP/1.1")), "{}", server.received()[0].head);
    }
}

#[tokio::test]
async fn a_server_without_a_list_is_distinguished_from_one_that_is_not_there() {
    for kit in ALL {
        let server = Server::play([Play::json("200 OK", "{}"), Play::json("401 Unauthorized", "{}")]).await;
        let endpoint = kit.endpoint(&server);
        assert_eq!(listed(&endpoint).await.unwrap_err().class, ErrorClass::Configuration);
        assert_eq!(listed(&endpoint).await.unwrap_err().class, ErrorClass::Auth);
    }
}
