//! Access to servers by the configuration of this machine: certificates, logins, the requested log level, and whether they may ask
//! for replies of a model.
//!
//! In: the configuration. Out: the certificates and the login for a URL, the level of a server, the permission of a connection.
//! Certificates and logins are bound to URLs and not to names of servers: an agent file that gives another URL to a name gets nothing
//! that belongs to the configured one.

use super::Connection;
use super::oauth::Tokens;
use crate::config::{Config, OAuthSettings, TlsFiles};
use crate::model::Url;

/// Certificates, logins and log levels of servers.
#[derive(Debug, Clone, Default)]
pub struct ServerAccess {
    by_url: Vec<(String, TlsFiles)>,
    general: TlsFiles,
    levels: Vec<(String, &'static str)>,
    /// Names of the configured servers.
    names: Vec<String>,
    logins: Vec<ConfiguredLogin>,
    /// The servers that may ask for replies of a model.
    sampling: Vec<Connection>,
    tokens: Option<Tokens>,
}

/// The login of a configured server.
#[derive(Debug, Clone)]
struct ConfiguredLogin {
    url: Url,
    server: String,
    settings: OAuthSettings,
}

impl ServerAccess {
    /// Returns the access that the configuration gives to its servers.
    pub fn of(config: &Config) -> Self {
        let servers = config.servers.iter();
        let by_url = servers.filter_map(|server| Some((server.url.clone()?, server.tls.clone()))).collect();
        // A client certificate is for the servers of the configuration only.
        let general = TlsFiles { client_certificate_file: None, ..config.tls.clone() };
        let levels =
            config.servers.iter().filter_map(|server| Some((server.name.clone(), server.log_level?))).collect();
        let names = config.servers.iter().map(|server| server.name.clone()).collect();
        let servers = config.servers.iter();
        let logins = servers.filter_map(|server| {
            let url = Url::parse(server.url.as_deref()?).ok()?;
            Some(ConfiguredLogin { url, server: server.name.clone(), settings: server.oauth.clone() })
        });
        Self { by_url, general, levels, names, logins: logins.collect(), sampling: Vec::new(), tokens: None }
    }

    /// Lets the servers with these connections request model replies (sampling).
    #[must_use]
    pub fn with_sampling(self, sampling: Vec<Connection>) -> Self {
        Self { sampling, ..self }
    }

    /// Adds the tokens of these logins.
    #[must_use]
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    /// The stored tokens, if any are used.
    pub(super) fn tokens(&self) -> Option<&Tokens> {
        self.tokens.as_ref()
    }

    fn login(&self, url: &str) -> Option<&ConfiguredLogin> {
        let url = Url::parse(url).ok()?;
        self.logins.iter().find(|login| login.url == url)
    }

    /// Returns the login settings for the server with this URL.
    pub(super) fn oauth(&self, url: &str) -> OAuthSettings {
        self.login(url).map(|login| login.settings.clone()).unwrap_or_default()
    }

    /// The argument of `tools login` for this URL: the server's name in the configuration, or the URL.
    pub(super) fn login_name<'a>(&'a self, url: &'a str) -> &'a str {
        self.login(url).map_or(url, |login| &login.server)
    }

    /// The table that defines a server, for messages: a section of the configuration, or a tool of the agent file.
    pub(super) fn section(&self, server: &str) -> String {
        if server.contains("://") {
            "[mcp.NAME]".to_owned()
        } else if self.names.iter().any(|name| name == server) {
            format!("[mcp.{server}]")
        } else {
            format!("[tools.{server}] of the agent file")
        }
    }

    /// Returns whether the user is asked when the server with this connection wants a reply of a model.
    pub(super) fn asks_about_sampling(&self, to: &Connection) -> bool {
        self.sampling.contains(to)
    }

    /// The least severity of log messages that a server is asked for.
    pub(super) fn log_level(&self, server: &str) -> Option<&'static str> {
        self.levels.iter().find(|(name, _)| name == server).map(|(_, level)| *level)
    }

    /// The certificates for a URL; those for all where the configuration does not have it.
    pub fn tls(&self, url: &str) -> &TlsFiles {
        self.by_url.iter().find(|(known, _)| known == url).map_or(&self.general, |(_, tls)| tls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificates_of_a_server_belong_to_its_url() {
        let text = "ca_file = \"all.pem\"\nclient_certificate_file = \"me.pem\"\n[mcp.files]\nurl = \"https://a.test/mcp\"\nca_file = \"own.pem\"\n";
        let access = ServerAccess::of(&Config::from_toml(text, "conf/config.toml", &|_| None).unwrap());
        let names = |url: &str| {
            let TlsFiles { ca_file, client_certificate_file } = access.tls(url).clone();
            [ca_file, client_certificate_file].map(|file| file.map(|file| file.display().to_string()))
        };
        assert_eq!(names("https://a.test/mcp"), [Some("conf/own.pem".to_owned()), Some("conf/me.pem".to_owned())]);
        assert_eq!(names("https://b.test/mcp"), [Some("conf/all.pem".to_owned()), None]);
    }
}
