//! The configuration: built-in tables, then the developer's file; folders; and the reading of TOML documents that agent files share.
//!
//! In: `config.toml`, the environment. Out: one [`Config`] that resolves model names. It never holds the value of an API key: only
//! the name of a variable or a file.

mod catalog;
mod choice;
mod colours;
pub mod document;
mod folders;
mod model;
mod options;
mod provider;
mod secret;
mod server;

use std::fmt;
use std::path::{Path, PathBuf};

use ptc_core::limits;
use ptc_core::reasons::Reason;

pub use catalog::{Catalog, Facts};
pub use choice::{HttpModel, ModelChoice};
pub use colours::ColourLevel;
pub use folders::Folders;
pub use model::ModelEntry;
pub use options::{OPTIONS, options_over};
pub use provider::{KeySource, Protocol, Provider, Timeouts};
pub(crate) use secret::is_plain_secret;
pub use secret::speaks_of_a_secret;
pub use server::ServerEntry;

use document::{About, Entry, FileError, Key, KeyTable, Problem, Problems, key_table, read_table, set};
use provider::Start;

/// Looks up an environment variable.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process.
pub fn process_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Everything that is configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The model of agents that name none.
    pub default_model: String,
    /// Providers; built-in ones first.
    pub providers: Vec<Provider>,
    /// Aliases of models; built-in ones first.
    pub models: Vec<ModelEntry>,
    /// How often a model call is tried: limit `max_attempts`.
    pub max_attempts: u32,
    /// Servers of tools.
    pub servers: Vec<ServerEntry>,
    /// How the interface looks and is used.
    pub interface: Interface,
    /// Keys of the interface: action and its chords.
    pub keys: Vec<(String, Vec<String>)>,
    /// The file that was read.
    pub file: Option<PathBuf>,
}

/// How the interface looks and is used: `[interface]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The name of the theme: a built-in one, or a file in the folder `themes` beside the configuration.
    pub theme: String,
    /// Is the mouse taken from the terminal?
    pub mouse: bool,
    /// Is everything told line by line (`--plain`)? `None` = when the environment says so.
    pub plain: Option<bool>,
}

impl Default for Interface {
    fn default() -> Self {
        Self { theme: "ansi".to_owned(), mouse: true, plain: None }
    }
}

/// What is wrong with the configuration, or with a model's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// The file cannot be used.
    File(FileError),
    /// A model cannot be used.
    Model {
        /// Stable reason.
        reason: Reason,
        /// What is wrong and what to do.
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

/// What a configuration file is read into.
struct Target {
    config: Config,
    start: Start,
}

const BUILT_IN: &str = include_str!("../../assets/models.toml");

const KEYS: &[Key<Target>] = &[
    Key {
        name: "default_model",
        about: About::Said(
            "a model",
            "demo",
            "The model of agents that name none: an alias, `provider:model`, or a built-in one.",
        ),
        read: |entry, target, problems| set(&mut target.config.default_model, entry.words(), problems),
    },
    Key {
        name: "providers",
        about: About::Said(
            "tables",
            "",
            "Servers and services that have models, one section each; a section of a built-in name changes the keys that it has.",
        ),
        read: read_providers,
    },
    Key {
        name: "models",
        about: About::Said(
            "tables",
            "",
            "Aliases of models, one section each; built-in ones are changed in the same way.",
        ),
        read: read_models,
    },
    Key {
        name: "retry",
        about: About::Said("table", "", "How often a model is asked."),
        read: |entry, target, problems| read_table(entry, RETRY, &mut target.config, problems),
    },
    Key {
        name: "interface",
        about: About::Said("table", "", "How the workbench looks."),
        read: |entry, target, problems| read_table(entry, INTERFACE, &mut target.config.interface, problems),
    },
    Key {
        name: "keys",
        about: About::Said(
            "table of lists of texts",
            "",
            "Keys of the workbench, by the id of the action (docs/keys.md): `\"run.start\" = [\"f5\", \"alt-r\"]`.",
        ),
        read: read_keys,
    },
    Key { name: "mcp", about: About::Said("tables", "", "Servers of tools, one section each."), read: read_servers },
];

const RETRY: &[Key<Config>] = &[Key {
    name: "max_attempts",
    about: About::Limit(&limits::MODEL_ATTEMPTS),
    read: |entry, config, problems| {
        let attempts = entry.limit(&limits::MODEL_ATTEMPTS).map(|attempts| u32::try_from(attempts).unwrap_or(u32::MAX));
        set(&mut config.max_attempts, attempts, problems);
    },
}];

const INTERFACE: &[Key<Interface>] = &[
    Key {
        name: "theme",
        about: About::Said(
            "name of a theme",
            "ansi",
            "A theme of docs/themes.md, or the name of a file in the folder `themes` beside `config.toml`.",
        ),
        read: |entry, interface, problems| set(&mut interface.theme, entry.words(), problems),
    },
    Key {
        name: "mouse",
        about: About::Said("true or false", "true", "The mouse is taken from the terminal."),
        read: |entry, interface, problems| set(&mut interface.mouse, entry.flag(), problems),
    },
    Key {
        name: "plain",
        about: About::Said(
            "true or false",
            "as the environment says",
            "The linear face: words and lines instead of a screen, as with `--plain`.",
        ),
        read: |entry, interface, problems| set(&mut interface.plain, entry.flag().map(Some), problems),
    },
];

/// Everything that can be written into the file, for the reference.
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
    ]
}

impl Config {
    /// The built-in tables and then the file at `path`; without a path the one in the configuration folder, if it is there.
    pub fn load(path: Option<&Path>, folders: &Folders, env: Env<'_>) -> Result<Self, ConfigError> {
        let usual = folders.config_dir.join("config.toml");
        let path = match path {
            Some(path) => path,
            None if usual.is_file() => &usual,
            None => return Ok(Self::built_in()?),
        };
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| FileError::unreadable(&file, &error))?;
        Ok(Self { file: Some(path.to_owned()), ..Self::from_toml(&text, &file, env)? })
    }

    /// The built-in tables alone.
    pub fn built_in() -> Result<Self, FileError> {
        let empty = Self {
            default_model: "demo".to_owned(),
            providers: Vec::new(),
            models: Vec::new(),
            max_attempts: limits::MODEL_ATTEMPTS.usual(),
            servers: Vec::new(),
            interface: Interface::default(),
            keys: Vec::new(),
            file: None,
        };
        empty.read_onto(BUILT_IN, "assets/models.toml", &|_| None)
    }

    /// The built-in tables and then this text. `file` is its name for messages, and its folder is where key files start from.
    pub fn from_toml(text: &str, file: &str, env: Env<'_>) -> Result<Self, FileError> {
        Self::built_in()?.read_onto(text, file, env)
    }

    fn read_onto(self, text: &str, file: &str, env: Env<'_>) -> Result<Self, FileError> {
        let mut problems = Problems::default();
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let home = env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let mut target = Target { config: self, start: Start { folder: folder.to_owned(), home } };
        if let Some(document) = problems.take(document::parse(text)) {
            read_table(&Entry::root(&document), KEYS, &mut target, &mut problems);
            target.config.check(&Entry::root(&document), &mut problems);
        }
        problems.or_first(target.config, file, text)
    }

    /// What can only be judged when everything is read: do the models' providers exist?
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

    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The model of this alias.
    pub fn model(&self, alias: &str) -> Option<&ModelEntry> {
        self.models.iter().find(|model| model.alias == alias)
    }
}

fn read_providers(entry: &Entry<'_>, target: &mut Target, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        let known = target.config.provider(entry.key).cloned();
        let provider = provider::read(&entry, known, &target.start, problems);
        place(&mut target.config.providers, provider, |provider| &provider.name);
    }
}

fn read_models(entry: &Entry<'_>, target: &mut Target, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        let known = target.config.model(entry.key).cloned();
        let model = model::read(&entry, known, problems);
        place(&mut target.config.models, model, |model| &model.alias);
    }
}

fn read_servers(entry: &Entry<'_>, target: &mut Target, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        let server = server::read(&entry, problems);
        place(&mut target.config.servers, server, |server| &server.name);
    }
}

/// Replaces the row of the same name, or adds one.
fn place<T>(rows: &mut Vec<T>, row: T, name: fn(&T) -> &str) {
    match rows.iter_mut().find(|have| name(have) == name(&row)) {
        Some(have) => *have = row,
        None => rows.push(row),
    }
}

fn read_keys(entry: &Entry<'_>, target: &mut Target, problems: &mut Problems) {
    for entry in problems.take(entry.entries()).unwrap_or_default() {
        if let Some(chords) = problems.take(entry.texts()) {
            place(&mut target.config.keys, (entry.key.to_owned(), chords), |(action, _)| action);
        }
    }
}
