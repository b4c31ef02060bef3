//! The user's catalogue: what `models check` found out about models, in `catalog.toml` of the configuration folder.
//!
//! In: the file, results of checks. Out: restrictions that hold for later requests to the same model at the same address.
//! It must never hold a key, or the query of an address.

use std::io;
use std::path::{Path, PathBuf};

use ptc_core::text::Span;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::document::{FileError, Problem};
use super::{Folders, Protocol, create_private_dir, read_regular_file, write_private_file};
use crate::event::StructuredBy;

/// Name of the file.
pub(super) const FILE: &str = "catalog.toml";

const HEAD: &str = "# Written by `ptc-workbench models check`. Delete a section to forget the check of its model.\n\n";

/// Something that a server does not accept; requests to it do without from the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restriction {
    /// Streamed replies.
    Streaming,
    /// Token counts at the end of a stream.
    StreamOptions,
    /// The older name of the limit of output tokens.
    MaxTokens,
    /// Reasoning effort as a word.
    ReasoningEffort,
    /// Temperature and the like.
    Sampling,
    /// Encrypted reasoning.
    EncryptedReasoning,
    /// Naming the tool that must be called.
    NamedTool,
    /// Requiring an object without a schema.
    JsonObject,
    /// The `OpenAPI` form of schemas.
    OpenApiSchema,
    /// Schemas that are not strict.
    LooseSchema,
    /// Strict tools.
    StrictTools,
    /// Images in tool results.
    ResultImages,
}

impl Restriction {
    /// All of them; a later one applies on top of the earlier ones.
    pub const ALL: [Self; 12] = [
        Self::Streaming,
        Self::StreamOptions,
        Self::MaxTokens,
        Self::ReasoningEffort,
        Self::Sampling,
        Self::EncryptedReasoning,
        Self::NamedTool,
        Self::JsonObject,
        Self::OpenApiSchema,
        Self::LooseSchema,
        Self::StrictTools,
        Self::ResultImages,
    ];

    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::StreamOptions => "stream_options",
            Self::MaxTokens => "max_tokens",
            Self::ReasoningEffort => "reasoning_effort",
            Self::Sampling => "sampling",
            Self::EncryptedReasoning => "encrypted_reasoning",
            Self::NamedTool => "named_tool",
            Self::JsonObject => "json_object",
            Self::OpenApiSchema => "open_api_schema",
            Self::LooseSchema => "loose_schema",
            Self::StrictTools => "strict_tools",
            Self::ResultImages => "result_images",
        }
    }
}

/// A model that was checked.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedModel {
    /// Its provider's name.
    pub provider: String,
    /// Its id there.
    pub id: String,
    /// The protocol spoken, by name.
    pub kind: String,
    /// The address it was checked at, without query.
    pub address: String,
    /// The date of the check.
    pub checked: String,
    /// The strongest way in which it takes a schema, if that is known.
    pub structured_output: Option<StructuredBy>,
    /// Its restrictions.
    #[serde(default)]
    pub refused: Vec<Restriction>,
}

impl LearnedModel {
    fn is_about(&self, other: &Self) -> bool {
        let key = |model: &Self| (model.provider.clone(), model.id.clone(), model.kind.clone(), model.address.clone());
        key(self) == key(other)
    }
}

/// The models that were checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedModels {
    #[serde(default, rename = "model")]
    models: Vec<LearnedModel>,
}

impl LearnedModels {
    /// Returns the path of the file.
    pub fn path(folders: &Folders) -> PathBuf {
        folders.config_dir.join(FILE)
    }

    /// Reads the file; without one nothing was checked.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let file = path.display().to_string();
        let text = match read_regular_file(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(FileError::unreadable(&file, &error)),
        };
        toml::from_str(&text).map_err(|error| {
            let range = error.span().unwrap_or_default();
            let message = format!("{}; correct it, or delete the file and check again", error.message().trim());
            FileError::of(
                &file,
                &text,
                &Problem { key: String::new(), span: Span::new(range.start, range.end), message },
            )
        })
    }

    /// Returns the known facts about a model at this address.
    pub fn find(&self, provider: &str, id: &str, kind: Protocol, base_url: &str) -> Option<&LearnedModel> {
        let address = without_query(base_url);
        self.models.iter().find(|model| {
            model.provider == provider && model.id == id && model.kind == kind.name() && model.address == address
        })
    }

    /// Adds the result of a check to the file; it replaces an older one of the same model. The file is replaced as a whole.
    pub fn save(path: &Path, model: LearnedModel) -> io::Result<()> {
        let mut all = Self::load(path).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        all.models.retain(|known| !known.is_about(&model));
        all.models.push(model);
        let text = toml::to_string(&all).map_err(io::Error::other)?;
        if let Some(folder) = path.parent() {
            create_private_dir(folder)?;
        }
        let draft = path.with_extension(format!("toml.{}", std::process::id()));
        write_private_file(&draft, format!("{HEAD}{text}").as_bytes())?;
        std::fs::rename(&draft, path)
    }
}

/// Returns an address without its query, as the file holds it.
pub fn without_query(base_url: &str) -> &str {
    base_url.split(['?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(id: &str, refused: &[Restriction]) -> LearnedModel {
        LearnedModel {
            provider: "local".into(),
            id: id.into(),
            kind: "openai".into(),
            address: "http://127.0.0.1:1/v1".into(),
            checked: "2026-11-26".into(),
            structured_output: Some(StructuredBy::JsonObject),
            refused: refused.to_vec(),
        }
    }

    #[test]
    fn a_result_is_read_as_it_was_saved_and_replaces_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new folder").join(FILE);
        assert_eq!(LearnedModels::load(&path).unwrap(), LearnedModels::default());
        let second = model("b", &[]);
        for saved in [model("a", &[Restriction::Sampling]), second.clone(), model("a", &Restriction::ALL)] {
            LearnedModels::save(&path, saved).unwrap();
        }
        let all = LearnedModels::load(&path).unwrap();
        assert_eq!(all.models, [second, model("a", &Restriction::ALL)]);
        let find = |id: &str, kind, url: &str| all.find("local", id, kind, url).is_some();
        assert!(find("a", Protocol::OpenAi, "http://127.0.0.1:1/v1?tenant=x"));
        assert!(!find("a", Protocol::OpenAi, "http://127.0.0.1:2/v1"), "another address");
        assert!(!find("a", Protocol::Responses, "http://127.0.0.1:1/v1"), "another protocol");
        assert!(!find("c", Protocol::OpenAi, "http://127.0.0.1:1/v1"), "another model");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(Restriction::ALL.iter().all(|restriction| text.contains(restriction.name())), "{text}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        std::fs::write(&path, "[[model]]\nprovider = \"local\"\nrefused = [\"everything\"]\n").unwrap();
        let error = LearnedModels::load(&path).unwrap_err();
        assert_eq!(error.line, 3, "{error}");
        assert!(error.message.contains("everything") && error.message.contains("delete the file"), "{error}");
        assert!(LearnedModels::save(&path, model("a", &[])).is_err(), "it is not overwritten");
    }
}
