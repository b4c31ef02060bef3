//! Audit of a configuration: the servers it names, where their keys come from, the programs of MCP servers.
//!
//! In: the text. Out: lines of the audit. No key is read and no variable is looked up.

use std::path::Path;

use super::{AuditConsent, AuditEffect, AuditLine, Auditor, definition};
use crate::config::{Config, Provider, ServerEntry};

pub(super) fn audit(text: &str, path: &Path, auditor: &mut Auditor<'_>) {
    let built_in = Config::built_in().ok();
    let config = match Config::from_toml(text, &path.display().to_string(), &|_| None) {
        Ok(config) => config,
        Err(error) => return auditor.add_oddity("configuration", format!("cannot be used: {error}")),
    };
    let is_new = |provider: &&Provider| built_in.as_ref().is_none_or(|built_in| !built_in.providers.contains(provider));
    for provider in config.providers.iter().filter(is_new) {
        definition::provider(provider, &format!("providers.{}", provider.name), auditor);
    }
    for server in &config.servers {
        self::server(server, auditor);
    }
    if let Some(endpoint) = &config.telemetry.otlp_endpoint {
        let content =
            if config.telemetry.content { "with messages, arguments and results" } else { "names, counts and times" };
        let headers = config.telemetry.headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        auditor.line(AuditLine {
            effect: AuditEffect::Contacts,
            key: "telemetry.otlp_endpoint".to_owned(),
            what: format!("{endpoint}, with every run"),
            details: vec![("sends", content.to_owned()), ("headers", headers)],
            consent: AuditConsent::NotNeeded,
        });
    }
    if config.interface.theme != crate::config::Interface::default().theme {
        auditor.line(AuditLine {
            effect: AuditEffect::Reads,
            key: "interface.theme".to_owned(),
            what: format!("the theme {}", config.interface.theme),
            details: vec![("place", "built in, or in the folder `themes` of the configuration".to_owned())],
            consent: AuditConsent::NotNeeded,
        });
    }
}

fn server(server: &ServerEntry, auditor: &mut Auditor<'_>) {
    let table = ptc_core::value::Json::empty()
        .with("kind", ptc_core::value::Json::str("mcp"))
        .with("server", ptc_core::value::Json::str(&server.name));
    let table = server.keys().into_iter().fold(table, |table, (key, value)| table.with(key, value));
    definition::tool(&server.name, &table, &format!("mcp.{}", server.name), auditor);
}
