//! The configuration: built-in tables and the user's file; folders; and the TOML documents that agent files share.
//!
//! In: `config.toml`, the environment. Out: a [`Config`] that resolves model names. It contains names of variables and
//! files, never the value of an API key.

mod catalog;
mod choice;
mod colours;
pub mod document;
mod folders;
mod learned;
mod locked_file;
mod model;
mod options;
mod private;
mod provider;
mod read;
mod secret_name;
mod server;
mod telemetry;
mod tls;
mod variable;

use std::fmt;
use std::path::{Path, PathBuf};

use ptc_core::limits;
use ptc_core::reasons::Reason;

pub use catalog::{Catalog, ModelFacts};
pub use choice::{HttpModel, ModelChoice};
pub use colours::{ColourLevel, terminal_size};
pub use folders::Folders;
pub use learned::{LearnedModel, LearnedModels, Restriction, without_query};
pub use locked_file::LockedFile;
pub use model::ModelEntry;
pub(crate) use options::carries_key;
pub use options::{OPTIONS, options_over};
pub use private::{create_private_dir, create_private_file, private_options, write_private_file};
pub use provider::{Api, KeyCommand, KeySource, Protocol, Provider, Timeouts};
pub use read::{
    open_resolved_file, read_named_bytes, read_named_file, read_regular_file, read_resolved_bytes, read_resolved_file,
};
pub use secret_name::is_secret_name;
pub(crate) use secret_name::{NOT_SECRET, is_plain_secret, is_secret_value};
pub use server::{OAuthSettings, Sampling, ServerEntry};
pub use telemetry::TelemetryConfig;
pub use tls::TlsFiles;
pub use variable::is_variable_name;

use document::{Entry, FileError, Key, KeyDoc, KeyTable, Names, Problem, Problems, key_table, read_table, set};
use provider::BaseFolders;
use tls::{CA_FILE, CLIENT_CERTIFICATE_FILE};

/// Looks up an environment variable.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process.
pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The model of agents without one.
    pub default_model: String,
    /// Providers; built-in ones first.
    pub providers: Vec<Provider>,
    /// Aliases of models; built-in ones first.
    pub models: Vec<ModelEntry>,
    /// Limit `max_attempts` of a model call.
    pub max_attempts: u32,
    /// MCP servers.
    pub servers: Vec<ServerEntry>,
    /// Certificates in addition to those of the system, for providers and servers without their own.
    pub tls: TlsFiles,
    /// Settings of the interface.
    pub interface: Interface,
    /// Reporting of runs while they happen.
    pub telemetry: TelemetryConfig,
    /// Key bindings: action and its chords.
    pub keys: Vec<(String, Vec<String>)>,
    /// The models that were checked.
    pub learned: LearnedModels,
    /// The configuration file.
    pub file: Option<PathBuf>,
}

/// A notification of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notify {
    /// None.
    #[default]
    Off,
    /// The bell, BEL.
    Bell,
    /// A desktop notification, OSC 9.
    Osc9,
}

impl Notify {
    const ALL: [(&'static str, Self); 3] = [("off", Self::Off), ("bell", Self::Bell), ("osc9", Self::Osc9)];
}

/// The list of turns next to the transcript of a long run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnList {
    /// Shown where there is room for it.
    #[default]
    Auto,
    /// Not shown.
    Off,
}

impl TurnList {
    const ALL: [(&'static str, Self); 2] = [("auto", Self::Auto), ("off", Self::Off)];

    /// Returns the other one.
    #[must_use]
    pub fn switched(self) -> Self {
        match self {
            Self::Auto => Self::Off,
            Self::Off => Self::Auto,
        }
    }
}

/// Settings of the interface: `[interface]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Name of the theme: a built-in one, or a file in the folder `themes` next to the configuration.
    pub theme: String,
    /// True if the program captures the mouse.
    pub mouse: bool,
    /// Notification of the terminal when a long run has ended or asks.
    pub notify: Notify,
    /// List of turns next to long runs.
    pub turn_list: TurnList,
    /// True for line-by-line output (`--plain`); `None`: depends on the environment.
    pub plain: Option<bool>,
}

impl Default for Interface {
    fn default() -> Self {
        Self { theme: "ansi".to_owned(), mouse: true, notify: Notify::Off, turn_list: TurnList::Auto, plain: None }
    }
}

/// An error in the configuration, or in a model's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// Error in the file.
    File(FileError),
    /// Unusable model.
    Model {
        /// Stable reason.
        reason: Reason,
        /// The problem and what to do next.
        message: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Model { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<FileError> for ConfigError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// The target of reading a configuration file.
struct Target {
    config: Config,
    start: BaseFolders,
}

const BUILT_IN: &str = include_str!("../../assets/models.toml");

const KEYS: &[Key<Target>] = &[
    Key {
        name: "default_model",
        about: KeyDoc::Text(
            "a model",
            "demo",
            "The model of agents without one: an alias, `provider:model`, or a built-in one.",
        ),
        read: |entry, target, problems| set(&mut target.config.default_model, entry.non_blank_text(), problems),
    },
    Key {
        name: "providers",
        about: KeyDoc::Text(
            "tables",
            "",
            "Model services, one section each; a section with the name of a built-in one overrides its keys.",
        ),
        read: read_providers,
    },
    Key {
        name: "models",
        about: KeyDoc::Text(
            "tables",
            "",
            "Model aliases, one section each; built-in ones are overridden in the same way.",
        ),
        read: read_models,
    },
    Key {
        name: "retry",
        about: KeyDoc::Text("table", "", "Retries of model calls."),
        read: |entry, target, problems| read_table(entry, RETRY, &mut target.config, problems),
    },
    Key {
        name: "interface",
        about: KeyDoc::Text("table", "", "Appearance of the workbench."),
        read: |entry, target, problems| read_table(entry, INTERFACE, &mut target.config.interface, problems),
    },
    Key {
        name: "telemetry",
        about: KeyDoc::Text("table", "", "A collector that receives runs live."),
        read: |entry, target, problems| {
            read_table(entry, telemetry::KEYS, &mut target.config.telemetry, problems);
        },
    },
    Key {
        name: "keys",
        about: KeyDoc::Text(
            "table of lists of strings",
            "",
            "Key bindings of the workbench, by action id (docs/keys.md): `\"run.start\" = [\"f5\", \"alt-r\"]`.",
        ),
        read: read_keys,
    },
    Key {
        name: CA_FILE.0,
        about: CA_FILE.1,
        read: |entry, target, problems| {
            set(&mut target.config.tls.ca_file, target.start.file(entry).map(Some), problems);
        },
    },
    Key {
        name: CLIENT_CERTIFICATE_FILE.0,
        about: CLIENT_CERTIFICATE_FILE.1,
        read: |entry, target, problems| {
            let file = target.start.file(entry).map(Some);
            set(&mut target.config.tls.client_certificate_file, file, problems);
        },
    },
    Key { name: "mcp", about: KeyDoc::Text("tables", "", "MCP servers, one section each."), read: read_servers },
];

const RETRY: &[Key<Config>] = &[Key {
    name: "max_attempts",
    about: KeyDoc::Limit(&limits::MODEL_ATTEMPTS),
    read: |entry, config, problems| {
        let attempts = entry.limit(&limits::MODEL_ATTEMPTS).map(|attempts| u32::try_from(attempts).unwrap_or(u32::MAX));
        set(&mut config.max_attempts, attempts, problems);
    },
}];

const INTERFACE: &[Key<Interface>] = &[
    Key {
        name: "theme",
        about: KeyDoc::Text(
            "name of a theme",
            "ansi",
            "A theme of docs/themes.md, or the name of a file in the folder `themes` next to `config.toml`.",
        ),
        read: |entry, interface, problems| set(&mut interface.theme, entry.non_blank_text(), problems),
    },
    Key {
        name: "mouse",
        about: KeyDoc::Text("true or false", "true", "Whether the workbench captures the mouse."),
        read: |entry, interface, problems| set(&mut interface.mouse, entry.flag(), problems),
    },
    Key {
        name: "notify",
        about: KeyDoc::Text(
            "`off`, `bell` or `osc9`",
            "off",
            "Notifies when a run of ten seconds or more ends or asks a question: the bell, or a desktop notification (OSC 9).",
        ),
        read: |entry, interface, problems| {
            set(&mut interface.notify, entry.named(&Names { what: "notification", rows: &Notify::ALL }), problems);
        },
    },
    Key {
        name: "turn_list",
        about: KeyDoc::Text(
            "`auto` or `off`",
            "auto",
            "The list of turns next to the transcript of a long run on a wide screen; **Shift-U** switches it.",
        ),
        read: |entry, interface, problems| {
            set(&mut interface.turn_list, entry.named(&Names { what: "turn list", rows: &TurnList::ALL }), problems);
        },
    },
    Key {
        name: "plain",
        about: KeyDoc::Text(
            "true or false",
            "depends on the environment",
            "Line-by-line output instead of a full screen, as with `--plain`.",
        ),
        read: |entry, interface, problems| set(&mut interface.plain, entry.flag().map(Some), problems),
    },
];

/// Returns the documentation of the file.
pub fn reference() -> Vec<KeyTable> {
    let [models, price] = model::tables();
    vec![
        key_table("", KEYS),
        provider::table(),
        models,
        price,
        server::table(),
        key_table("[retry]", RETRY),
        key_table("[interface]", INTERFACE),
        telemetry::table(),
    ]
}

impl Config {
    /// Reads the built-in tables and the file at `path`; without a path, the file in the configuration folder if it
    /// exists. The models that were checked are read from that folder.
    pub fn load(path: Option<&Path>, folders: &Folders, env: Env<'_>) -> Result<Self, ConfigError> {
        let learned = LearnedModels::load(&LearnedModels::path(folders))?;
        let usual = folders.config_dir.join("config.toml");
        let path = match path {
            Some(path) => path,
            None if usual.is_file() => &usual,
            None => return Ok(Self { learned, ..Self::built_in()? }),
        };
        let file = path.display().to_string();
        let text = read_regular_file(path).map_err(|error| FileError::unreadable(&file, &error))?;
        Ok(Self { learned, file: Some(path.to_owned()), ..Self::from_toml(&text, &file, env)? })
    }

    /// Reads the built-in tables only.
    pub fn built_in() -> Result<Self, FileError> {
        let empty = Self {
            default_model: "demo".to_owned(),
            providers: Vec::new(),
            models: Vec::new(),
            max_attempts: limits::MODEL_ATTEMPTS.usual(),
            servers: Vec::new(),
            tls: TlsFiles::default(),
            interface: Interface::default(),
            telemetry: TelemetryConfig::default(),
            keys: Vec::new(),
            learned: LearnedModels::default(),
            file: None,
        };
        empty.read_onto(BUILT_IN, "assets/models.toml", &|_| None)
    }

    /// Reads the built-in tables and this text. `file` is its name in messages; its folder is the base of relative key
    /// files.
    pub fn from_toml(text: &str, file: &str, env: Env<'_>) -> Result<Self, FileError> {
        Self::built_in()?.read_onto(text, file, env)
    }

    fn read_onto(self, text: &str, file: &str, env: Env<'_>) -> Result<Self, FileError> {
        let mut problems = Problems::default();
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let home = env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let mut target = Target { config: self, start: BaseFolders { folder: folder.to_owned(), home } };
        if let Some(document) = problems.take(document::parse(text)) {
            read_table(&Entry::root_with(&document, reference), KEYS, &mut target, &mut problems);
            target.config.check(&Entry::root(&document), &mut problems);
        }
        let Config { providers, servers, tls, .. } = &mut target.config;
        let own = providers.iter_mut().map(|provider| &mut provider.tls);
        for files in own.chain(servers.iter_mut().map(|server| &mut server.tls)) {
            *files = std::mem::take(files).or(tls);
        }
        problems.or_error(target.config, file, text)
    }

    /// Checks that require the whole file: whether the providers of all models exist.
    fn check(&self, document: &Entry<'_>, problems: &mut Problems) {
        let Some(models) = document.json.get("models").and_then(|models| models.members()) else { return };
        for member in models {
            let Some(named) = member.value.get("provider") else { continue };
            let Some(name) = named.as_str().filter(|name| self.provider(name).is_none()) else { continue };
            let known: Vec<&str> = self.providers.iter().map(|provider| provider.name.as_str()).collect();
            let message = format!("unknown provider `{name}`{}", document::advice(name, &known));
            problems.push(Problem { key: format!("models.{}.provider", member.key), span: named.span, message });
        }
    }

    /// Returns the provider of this name.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// Returns the model of this alias.
    pub fn model(&self, alias: &str) -> Option<&ModelEntry> {
        self.models.iter().find(|model| model.alias == alias)
    }
}

fn read_providers(entry: &Entry<'_>, target: &mut Target, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        let known = target.config.provider(entry.key).cloned();
        let provider = provider::read(&entry, known, &target.start, problems);
        insert_or_replace(&mut target.config.providers, provider, |provider| &provider.name);
    }
}

fn read_models(entry: &Entry<'_>, target: &mut Target, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        let known = target.config.model(entry.key).cloned();
        let model = model::read(&entry, known, problems);
        insert_or_replace(&mut target.config.models, model, |model| &model.alias);
    }
}

fn read_servers(entry: &Entry<'_>, target: &mut Target, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        let server = server::read(&entry, &target.start, problems);
        insert_or_replace(&mut target.config.servers, server, |server| &server.name);
    }
}

/// Replaces the row of the same name, or adds one.
fn insert_or_replace<T>(rows: &mut Vec<T>, row: T, name: fn(&T) -> &str) {
    match rows.iter_mut().find(|have| name(have) == name(&row)) {
        Some(have) => *have = row,
        None => rows.push(row),
    }
}

fn read_keys(entry: &Entry<'_>, target: &mut Target, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        if let Some(chords) = problems.take(entry.texts()) {
            insert_or_replace(&mut target.config.keys, (entry.key.to_owned(), chords), |(action, _)| action);
        }
    }
}
