//! The upstream services, and which of them a request is for.
//!
//! In: upstreams as the user names them, paths of requests. Out: the upstream of a request with the address to send it to. The path's
//! protocol chooses the first upstream of that protocol; `/NAME/…` chooses by name. It must never send a request to a service that was not
//! named, or above its address, and never show the user name and password of an address.

use hyper::header::HeaderMap;

use crate::config::{Config, Protocol};
use crate::model::{Secret, Url, password_forms, protocol_of};

/// An upstream service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name.
    pub name: String,
    /// Its address; paths of clients are appended to it.
    pub root: Url,
    /// The protocol of its provider; `None` for a name that is not a provider's: such an upstream is reached by its name only.
    pub kind: Option<Protocol>,
    /// The path that clients of it append to the address of a service, such as `/v1`.
    pub base_path: String,
}

/// Error in the specification of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamError(pub String);

impl std::fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UpstreamError {}

/// The upstreams of a proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Upstreams(Vec<Upstream>);

/// Destination of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route<'u> {
    pub(super) upstream: &'u Upstream,
    /// The protocol, where the request asks a model.
    pub(super) protocol: Option<Protocol>,
    /// Path and query, relative to the upstream's address.
    pub(super) path: String,
}

/// Upstreams where none are named.
const USUAL: [&str; 4] = ["openai", "anthropic", "gemini", "ollama"];

/// Methods of Gemini's models other than those that ask one.
const GEMINI_METHODS: [&str; 7] = [
    "asyncBatchEmbedContent",
    "batchEmbedContents",
    "batchGenerateContent",
    "countTokens",
    "embedContent",
    "predict",
    "predictLongRunning",
];

/// First segments of Ollama's paths after `/api/`, other than those that ask a model.
const OLLAMA_COMMANDS: [&str; 13] =
    ["blobs", "copy", "create", "delete", "embed", "embeddings", "me", "ps", "pull", "push", "show", "tags", "version"];

/// First segments of paths of the protocols, which are not names.
const RESERVED: [&str; 4] = ["v1", "v1beta", "api", "openai"];

impl Upstreams {
    /// Reads `NAME` or `NAME=URL` of each upstream; without any, the usual ones.
    ///
    /// Errors: a name that is not a provider's and has no address, an invalid address, a name twice.
    pub fn read(texts: &[String], config: &Config) -> Result<Self, UpstreamError> {
        let usual: Vec<String> = USUAL.map(str::to_owned).to_vec();
        let texts = if texts.is_empty() { &usual } else { texts };
        let mut found: Vec<Upstream> = Vec::new();
        for text in texts {
            let upstream = read(text, config)?;
            if found.iter().any(|known| known.name == upstream.name) {
                return Err(UpstreamError(format!("--upstream {}: the name is given twice", upstream.name)));
            }
            found.push(upstream);
        }
        Ok(Self(found))
    }

    /// All of them, in order.
    pub fn all(&self) -> &[Upstream] {
        &self.0
    }

    /// The passwords of their addresses, in every form.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        self.0.iter().flat_map(|upstream| password_forms(&upstream.root)).collect()
    }

    /// Returns the upstream of a request; `None` when no upstream has its protocol or name.
    pub(super) fn route(&self, path_and_query: &str, headers: &HeaderMap) -> Option<Route<'_>> {
        let protocol = protocol_of(path_and_query);
        let of = |upstream, path: &str| Some(Route { upstream, protocol, path: path.to_owned() });
        let first = path_and_query.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
        let is_named = |upstream: &&Upstream| upstream.name == first;
        if let Some(named) = self.0.iter().find(is_named)
            && let Some(rest) = path_and_query.strip_prefix('/').and_then(|path| path.strip_prefix(first))
            && (!RESERVED.contains(&first)
                || rest.starts_with("/v1/") && !named.is_azure() && !self.is_path_of_other(named, path_and_query))
        {
            return of(named, if rest.is_empty() { "/" } else { rest });
        }
        // Gemini has the paths of OpenAI's API too.
        let kind = if path_and_query.starts_with("/v1beta/") { Some(Protocol::Gemini) } else { protocol };
        let kind = kind.or_else(|| kind_of(path_and_query, headers))?;
        let kind = if kind == Protocol::Responses { Protocol::OpenAi } else { kind };
        let of_kind = |upstream: &&Upstream| match upstream.kind {
            Some(Protocol::Responses) => kind == Protocol::OpenAi,
            other => other == Some(kind),
        };
        of(self.0.iter().find(of_kind)?, path_and_query)
    }

    /// `/openai/v1/…` is also the path of services that name the protocol so.
    fn is_path_of_other(&self, named: &Upstream, path: &str) -> bool {
        self.0.iter().any(|other| other != named && !other.base_path.is_empty() && path.starts_with(&other.base_path))
    }

    /// The variables by which programs find the proxy at this address.
    pub fn variables(&self, proxy: &str) -> Vec<(&'static str, String)> {
        let mut variables: Vec<(&'static str, String)> = Vec::new();
        for upstream in &self.0 {
            let with_path = format!("{proxy}{}", upstream.base_path);
            let own: &[(&'static str, &str)] = match upstream.kind {
                Some(Protocol::OpenAi | Protocol::Responses) => {
                    &[("OPENAI_BASE_URL", &with_path), ("OPENAI_API_BASE", &with_path)]
                }
                Some(Protocol::Anthropic) => &[("ANTHROPIC_BASE_URL", proxy)],
                Some(Protocol::Gemini) => &[("GOOGLE_GEMINI_BASE_URL", proxy), ("GEMINI_API_BASE_URL", proxy)],
                Some(Protocol::Ollama) => &[("OLLAMA_HOST", proxy)],
                Some(Protocol::Bedrock) | None => &[],
            };
            for (name, value) in own {
                if variables.iter().all(|(known, _)| known != name) {
                    variables.push((name, (*value).to_owned()));
                }
            }
        }
        variables
    }
}

impl Upstream {
    /// Its name and address, and a remark on anything suspicious, for users.
    pub(super) fn describe(&self) -> String {
        let named = format!("{} ({})", self.name, shown_address(&self.root));
        match doubled_segment(&self.root, self.kind) {
            // Not an error: the base URL of a client may be without it.
            Some(segment) => format!(
                "{named}: the paths of most clients begin with `/{segment}`; for those, write the address without it"
            ),
            None => named,
        }
    }

    /// Returns whether the service is Azure's: its own paths begin with `/openai/`.
    fn is_azure(&self) -> bool {
        self.root.host_str().is_some_and(|host| host.ends_with(".azure.com") || host.ends_with(".azure-api.net"))
    }

    /// The address of a path of it; `None` where the path leads above its address.
    pub(super) fn url(&self, path_and_query: &str) -> Option<Url> {
        if has_parent_segment(path_and_query) {
            return None;
        }
        let root = self.root.as_str().trim_end_matches('/');
        Url::parse(&format!("{root}/{}", path_and_query.trim_start_matches('/'))).ok()
    }
}

/// An address without user name, password, query and fragment, which may hold secrets.
pub(super) fn shown_address(url: &Url) -> Url {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Only addresses without a host refuse this; they have no user name either.
    _ = shown.set_username("");
    _ = shown.set_password(None);
    shown
}

/// `NAME=URL` or the text of an address, which need not be a valid one, without user name and password.
fn without_user(text: &str) -> String {
    let Some((user, host)) = text.rsplit_once('@') else { return text.to_owned() };
    let start = user.find("://").map(|at| at + 3).or_else(|| user.find('=').map(|at| at + 1));
    format!("{}{host}", user.get(..start.unwrap_or_default()).unwrap_or_default())
}

/// Returns whether a path has a segment `..`, in one of the forms that the URL standard resolves.
fn has_parent_segment(path_and_query: &str) -> bool {
    let path = path_and_query.split('?').next().unwrap_or_default();
    path.split(['/', '\\']).any(|segment| segment.to_ascii_lowercase().replace("%2e", ".") == "..")
}

fn read(text: &str, config: &Config) -> Result<Upstream, UpstreamError> {
    let fail = |why: String| UpstreamError(format!("--upstream {}: {why}", without_user(text)));
    let (name, url) = text.split_once('=').map_or((text, None), |(name, url)| (name, Some(url)));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(fail("a name has letters, digits, `-`, `_` and `.`".to_owned()));
    }
    let provider = config.providers.iter().find(|provider| provider.name == name);
    let base = provider.map(|provider| Url::parse(&provider.base_url));
    let root = match (url, &base) {
        (Some(url), _) => {
            Url::parse(url).map_err(|error| fail(format!("{} is not an address: {error}", without_user(url))))?
        }
        (None, Some(Ok(base))) => {
            let mut root = base.clone();
            root.set_path("");
            root.set_query(None);
            root.set_fragment(None);
            root
        }
        (None, Some(Err(error))) => return Err(fail(format!("its base_url is not an address: {error}"))),
        (None, None) => {
            return Err(fail(format!("no provider has this name; give its address: --upstream {name}=https://…")));
        }
    };
    if !matches!(root.scheme(), "http" | "https") || root.host_str().is_none() {
        return Err(fail("an address begins with http:// or https:// and names a host".to_owned()));
    }
    if root.query().is_some() || root.fragment().is_some() {
        return Err(fail("an address has no `?` and no `#`: the paths of clients are appended to it".to_owned()));
    }
    let kind = provider.map(|provider| provider.kind);
    let doubled = doubled_segment(&root, kind);
    if let (Some(segment), Some(Protocol::Anthropic | Protocol::Gemini | Protocol::Ollama)) = (doubled, kind) {
        let mut shorter = shown_address(&root);
        if let Ok(mut segments) = shorter.path_segments_mut() {
            segments.pop_if_empty().pop();
        }
        return Err(fail(format!(
            "the paths of clients begin with `/{segment}`: write `--upstream {name}={}`",
            shorter.as_str().trim_end_matches('/')
        )));
    }
    let base_path = match (url, base) {
        (None, Some(Ok(base))) => base.path().trim_end_matches('/').to_owned(),
        _ if matches!(kind, Some(Protocol::OpenAi | Protocol::Responses)) => "/v1".to_owned(),
        _ => String::new(),
    };
    Ok(Upstream { name: name.to_owned(), root, kind, base_path })
}

/// The last segment of an address, if paths of this protocol's clients begin with it.
fn doubled_segment(root: &Url, kind: Option<Protocol>) -> Option<&'static str> {
    let first = match kind? {
        Protocol::OpenAi | Protocol::Responses | Protocol::Anthropic => "v1",
        Protocol::Gemini => "v1beta",
        Protocol::Ollama => "api",
        Protocol::Bedrock => return None,
    };
    let last = root.path_segments()?.rfind(|segment| !segment.is_empty());
    last.is_some_and(|last| last == first).then_some(first)
}

/// The protocol of a non-chat request, such as a list of models.
fn kind_of(path_and_query: &str, headers: &HeaderMap) -> Option<Protocol> {
    let path = path_and_query.split('?').next().unwrap_or_default();
    if ["anthropic-version", "anthropic-beta"].iter().any(|name| headers.contains_key(*name))
        || path.starts_with("/v1/messages")
    {
        return Some(Protocol::Anthropic);
    }
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    let is_model = matches!(parent.rsplit('/').next(), Some("models" | "tunedModels"));
    // Names of models contain `:` as well: `ft:gpt-4o-mini:acme::abc`, `llama3:8b`.
    let has_method = last.rsplit_once(':').is_some_and(|(_, method)| GEMINI_METHODS.contains(&method));
    let (is_of_gemini, is_of_vertex) = (is_model && has_method, path.contains("/projects/"));
    let has_key = headers.contains_key("x-goog-api-key");
    let is_live = path.starts_with("/ws/google.ai.generativelanguage.");
    if has_key || is_live || path.starts_with("/v1beta") || is_of_gemini && !is_of_vertex {
        return Some(Protocol::Gemini);
    }
    // The first segment of `/api/…`; the program `ollama` asks `/` whether the server runs.
    let command = path.strip_prefix("/api/").map(|rest| rest.split('/').next().unwrap_or_default());
    if path == "/" || command.is_some_and(|command| OLLAMA_COMMANDS.contains(&command)) {
        return Some(Protocol::Ollama);
    }
    // Vertex AI names services of several vendors: its paths need the name of an upstream.
    (path.contains("/v1/") && !is_of_vertex).then_some(Protocol::OpenAi)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstreams(texts: &[&str]) -> Result<Upstreams, UpstreamError> {
        let config = Config::from_toml("", "config.toml", &|_: &str| None).unwrap();
        Upstreams::read(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), &config)
    }

    fn url(upstreams: &Upstreams, path: &str) -> String {
        let route = upstreams.route(path, &HeaderMap::new());
        route.and_then(|route| route.upstream.url(&route.path)).map(String::from).unwrap_or_default()
    }

    #[test]
    fn the_protocol_of_the_path_chooses_the_upstream_and_the_path_is_appended() {
        let all = upstreams(&["openai", "anthropic=http://127.0.0.1:9/x", "gemini", "ollama", "groq"]).unwrap();
        let rows = [
            ("/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
            ("/v1/responses?a=1", "https://api.openai.com/v1/responses?a=1"),
            ("/v1/messages", "http://127.0.0.1:9/x/v1/messages"),
            ("/v1/messages/count_tokens", "http://127.0.0.1:9/x/v1/messages/count_tokens"),
            (
                "/v1beta/models/g:streamGenerateContent?alt=sse",
                "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse",
            ),
            (
                "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=1",
                "https://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=1",
            ),
            ("/api/chat", "http://127.0.0.1:11434/api/chat"),
            ("/api/tags", "http://127.0.0.1:11434/api/tags"),
            ("/v1/models", "https://api.openai.com/v1/models"),
            ("/groq/openai/v1/chat/completions", "https://api.groq.com/openai/v1/chat/completions"),
            ("/openai/v1/chat/completions", "https://api.openai.com/openai/v1/chat/completions"),
            ("/favicon.ico", ""),
            ("/", "http://127.0.0.1:11434/"),
            ("/api/event_logging/batch", ""),
            (
                "/v1/models/g:countTokens?key=1",
                "https://generativelanguage.googleapis.com/v1/models/g:countTokens?key=1",
            ),
            (
                "/v1beta/openai/chat/completions",
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            ),
            ("/v1/models/ft:gpt-4o-mini:acme::abc", "https://api.openai.com/v1/models/ft:gpt-4o-mini:acme::abc"),
            ("/v1/models/llama3:8b", "https://api.openai.com/v1/models/llama3:8b"),
            ("/v1/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict", ""),
        ];
        for (path, expected) in rows {
            assert_eq!(url(&all, path), expected, "{path}");
        }
    }

    #[test]
    fn paths_of_azure_are_unchanged() {
        let all = upstreams(&["openai=https://me.openai.azure.com"]).unwrap();
        for path in ["/openai/v1/chat/completions", "/openai/deployments/d/chat/completions?api-version=1"] {
            assert_eq!(url(&all, path), format!("https://me.openai.azure.com{path}"));
        }
        let direct = upstreams(&["openai=http://x"]).unwrap();
        assert_eq!(url(&direct, "/openai/v1/models"), "http://x/v1/models");
    }

    #[test]
    fn an_upstream_without_the_protocol_is_not_asked() {
        let one = upstreams(&["anthropic"]).unwrap();
        assert_eq!(url(&one, "/v1/chat/completions"), "");
        let own = upstreams(&["work=http://127.0.0.1:1/llm"]).unwrap();
        assert_eq!(url(&own, "/v1/chat/completions"), "");
        assert_eq!(url(&own, "/work/v1/chat/completions"), "http://127.0.0.1:1/llm/v1/chat/completions");
    }

    #[test]
    fn what_is_wrong_with_an_upstream_is_named() {
        let rows = [
            (&["nobody"][..], "no provider has this name"),
            (&["a b=http://x"], "a name has letters"),
            (&["work=file:///etc/passwd"], "begins with http"),
            (&["work=nonsense"], "is not an address"),
            (&["openai", "openai=http://x"], "given twice"),
            (&["anthropic=http://x/a/v1/"], "write `--upstream anthropic=http://x/a`"),
            (&["gemini=http://x/v1beta"], "write `--upstream gemini=http://x`"),
            (&["ollama=http://x/api"], "write `--upstream ollama=http://x`"),
            (&["openai=http://x?api-version=1"], "has no `?` and no `#`"),
            (&["work=http://x/#a"], "has no `?` and no `#`"),
        ];
        for (texts, expected) in rows {
            let error = upstreams(texts).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_path_does_not_lead_above_the_address() {
        let all = upstreams(&["openai=http://x/root/llm"]).unwrap();
        for path in [
            "/v1/../../secret/v1/x",
            "/v1/%2e%2e/%2E./x",
            "/v1/.%2e/x",
            "/v1/..\\..\\secret",
            "/openai/v1/../../../secret",
            "/v1/..",
        ] {
            assert_eq!(url(&all, path), "", "{path}");
        }
        for path in ["/v1/a..b/...?q=/../x", "/v1/.%2fx", "/v1//models"] {
            assert_eq!(url(&all, path), format!("http://x/root/llm{path}"));
        }
    }

    #[test]
    fn the_user_of_an_address_is_used_and_not_shown() {
        let all = upstreams(&["openai=http://user:PASS@x/llm"]).unwrap();
        assert_eq!(all.all()[0].describe(), "openai (http://x/llm)");
        let asked = Url::parse(&url(&all, "/v1/models?key=1")).unwrap();
        assert_eq!((asked.username(), asked.password()), ("user", Some("PASS")));
        assert_eq!(shown_address(&asked).as_str(), "http://x/llm/v1/models");
        for text in [
            "openai=http://user:PASS@x:y/",
            "openai=http://user:PA/SS@x",
            "openai=ftp://user:PASS@x",
            "openai=user:PASS@x",
            "anthropic=http://user:PA@SS@x/v1",
        ] {
            let error = upstreams(&[text]).unwrap_err().to_string();
            assert!(!error.contains("PA") && !error.contains("SS"), "{error}");
        }
    }

    #[test]
    fn an_address_with_the_prefix_of_paths_is_reported() {
        let described = |text: &str| upstreams(&[text]).unwrap().all()[0].describe();
        let rows = [
            ("openai=http://x/v1", true),
            ("openai=http://x/v1/", true),
            ("groq=http://x/openai", false),
            ("zai=http://x/v4", false),
            ("openrouter", false),
            ("work=http://x/v1", false),
        ];
        for (text, is_reported) in rows {
            assert_eq!(described(text).contains("begin with `/v1`"), is_reported, "{text}: {}", described(text));
        }
    }

    #[test]
    fn programs_find_the_proxy_by_the_usual_variables() {
        let all = upstreams(&["openai=http://127.0.0.1:1", "anthropic", "gemini", "ollama"]).unwrap();
        let variables = all.variables("http://127.0.0.1:4141");
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        assert_eq!(value("OPENAI_BASE_URL"), Some("http://127.0.0.1:4141/v1"));
        assert_eq!(value("ANTHROPIC_BASE_URL"), Some("http://127.0.0.1:4141"));
        assert_eq!(value("OLLAMA_HOST"), Some("http://127.0.0.1:4141"));
    }
}
