//! Converts the result of a server's tool to a value: structured content if its schema promised it, else the texts, with
//! structured content that differs from them.
//!
//! In: the result of a call. Out: a value, or the tool's error text, and the images that a model can see. Other binary data and links are named.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_core::value::{Value, json};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, Tool};

use super::Listing;
use crate::model::media_type;
use crate::tool::ToolImage;

/// Placeholder for content of an unknown kind.
const UNKNOWN: &str = "[content of an unknown kind]";

/// Maximum images of a result that are given to a model.
const MAX_IMAGES: usize = 5;
/// Maximum bytes of such an image: the least that the services take.
const MAX_IMAGE_BYTES: usize = 3_750_000;
/// Maximum bytes of a description of content that does not fit.
const PROBLEM_BYTES: usize = 300;

/// Returns the images of a result that models can see, at most [`MAX_IMAGES`], named for the tool.
pub(super) fn images(result: &CallToolResult, tool: &str) -> Vec<ToolImage> {
    if result.is_error == Some(true) {
        return Vec::new();
    }
    let decoded = result.content.iter().filter_map(|block| match block {
        ContentBlock::Image(image) => visible(&image.data),
        _ => None,
    });
    let named = (1..).zip(decoded).take(MAX_IMAGES);
    named.map(|(number, (_, bytes))| ToolImage { name: format!("{tool}-{number}"), bytes: bytes.into() }).collect()
}

/// The media type and the bytes of an image that models can see: by its content, within the size that services take.
fn visible(base64: &str) -> Option<(&'static str, Vec<u8>)> {
    if base64.len() / 4 * 3 > MAX_IMAGE_BYTES + 2 {
        return None;
    }
    let bytes = STANDARD.decode(base64).ok()?;
    let media_type = media_type(&bytes).filter(|media_type| media_type.starts_with("image/"))?;
    (bytes.len() <= MAX_IMAGE_BYTES).then_some((media_type, bytes))
}

/// Returns the value of a result. `structured`: the signature promises structured content.
pub(super) fn value(result: &CallToolResult, structured: bool) -> Result<Value, String> {
    let text = result.content.iter().map(block).collect::<Vec<_>>().join("\n");
    if result.is_error == Some(true) {
        return Err(if text.is_empty() { "the tool failed without a message".to_owned() } else { text });
    }
    match &result.structured_content {
        Some(content) if structured || text.is_empty() => {
            json::parse(&content.to_string()).map(|json| json.to_value()).map_err(|error| error.message)
        }
        _ if structured => Ok(json::parse(&text).map_or_else(|_| Value::str(text.as_str()), |json| json.to_value())),
        Some(content) => Ok(Value::str(with_structured(text, content))),
        None => Ok(Value::str(text)),
    }
}

/// Describes why structured content does not fit the schema that its tool promised. The value is used all the same.
pub(super) fn schema_problem(result: &CallToolResult, tool: &Tool) -> Option<String> {
    let schema = tool.output_schema.as_ref().filter(|_| result.is_error != Some(true))?;
    let Some(content) = &result.structured_content else {
        return Some(format!("the tool {} promised structured content and gave none", tool.name));
    };
    let validator = jsonschema::validator_for(&serde_json::Value::Object(schema.as_ref().clone())).ok()?;
    let error = validator.iter_errors(content).next()?;
    let (name, mut text) = (&tool.name, error.to_string());
    text.truncate(text.floor_char_boundary(PROBLEM_BYTES));
    Some(format!("the result of the tool {name} does not fit its schema: {}: {text}", error.instance_path()))
}

/// Returns the text with structured content that no schema promised, unless the text is that content.
fn with_structured(text: String, content: &serde_json::Value) -> String {
    if serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|same| same == *content) {
        return text;
    }
    format!("{text}\n{content}")
}

/// Returns the text of a block, or a placeholder.
pub(super) fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => match visible(&image.data) {
            Some((media_type, bytes)) => format!("[image {media_type}, {} bytes]", bytes.len()),
            None => named("image", &image.mime_type, &image.data),
        },
        ContentBlock::Audio(audio) => named("audio", &audio.mime_type, &audio.data),
        ContentBlock::ResourceLink(link) => format!("[resource {}]", link.uri),
        ContentBlock::Resource(resource) => resource_text(&resource.resource),
        _ => UNKNOWN.to_owned(),
    }
}

/// Returns the text of a resource, or a placeholder.
pub(super) fn resource_text(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { uri, blob, .. } => named("resource", uri, blob),
        _ => UNKNOWN.to_owned(),
    }
}

/// Returns the placeholder for binary data.
fn named(what: &str, about: &str, base64: &str) -> String {
    format!("[{what} {about}, about {} bytes, not shown to models]", base64.len() / 4 * 3)
}

/// Converts a listed tool, for fuzzing without a server; `None` if the text is not one.
#[must_use]
pub fn read_listing(json: &str) -> Option<Listing> {
    serde_json::from_str::<Tool>(json).ok().map(|tool| Listing::of(&tool))
}

/// Converts the result of a call, for fuzzing without a server; `None` if the text is not one.
#[must_use]
pub fn read_result(json: &str) -> Option<Result<Value, String>> {
    serde_json::from_str::<CallToolResult>(json).ok().map(|result| value(&result, true))
}
