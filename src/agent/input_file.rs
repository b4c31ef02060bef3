//! Files as inputs: `{ file = "invoice.png" }` or `{ resource = "server:uri" }` as the value of a parameter of type `:file`.
//!
//! In: a context as it is written, and the bytes of the files that it names. Out: the same context with the record of each file. It must never
//! read a file: `input_reader` does. Resources of servers are read when a run begins.

use std::fmt;
use std::io;
use std::sync::Arc;

use ptc_core::limits::INPUT_FILE_BYTES;
use ptc_core::signature::{self, Field, underscored};
use ptc_core::value::Json;
use serde::{Deserialize, Serialize};

use super::Agent;
use crate::event::{FileRecord, hex_sha};
use crate::model::{media_type, supported_types};

/// The key of a value that names a file.
const FILE: &str = "file";

/// The key of a value that names a resource of a server.
const RESOURCE: &str = "resource";

/// A resource that a context names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedResource {
    /// The server's name in the agent or in the configuration.
    pub server: String,
    /// The URI of the resource.
    pub uri: String,
}

impl NamedResource {
    /// Reads `server:uri`.
    fn of_text(text: &str) -> Option<Self> {
        let (server, uri) = text.split_once(':').filter(|(server, uri)| !server.is_empty() && !uri.is_empty())?;
        Some(Self { server: server.to_owned(), uri: uri.to_owned() })
    }

    /// The resource that a value names.
    fn of_value(value: &Json) -> Option<Self> {
        Self::of_text(only_member(value, RESOURCE)?)
    }

    /// The path under which its content is known.
    fn path(&self) -> String {
        format!("{RESOURCE}:{}:{}", self.server, self.uri)
    }

    /// The record that is shown before the resource is read.
    fn unread_record(&self) -> FileRecord {
        FileRecord {
            name: self.uri.clone(),
            media_type: "read when the run begins".to_owned(),
            size: 0,
            sha256: hex_sha(self.path().as_bytes()),
        }
    }
}

/// A file that a context names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// The path as it is written.
    pub path: String,
    /// Its record: name, type, size and hash.
    pub record: FileRecord,
    /// Its bytes; they are stored by their hash.
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InputFile").field("path", &self.path).field("record", &self.record).finish_non_exhaustive()
    }
}

impl InputFile {
    /// The file of this path with these bytes. Errors: its type is unknown, or it is too large.
    pub fn new(path: &str, bytes: Vec<u8>) -> io::Result<Self> {
        let most = INPUT_FILE_BYTES.most();
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!("it is larger than {most} bytes (`{}`)", INPUT_FILE_BYTES.name)));
        }
        let Some(media_type) = media_type(&bytes) else {
            return Err(io::Error::other(format!("its type is unknown; supported: {}", supported_types())));
        };
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        let (size, sha256) = (bytes.len() as u64, hex_sha(&bytes));
        let record = FileRecord { name, media_type: media_type.to_owned(), size, sha256 };
        Ok(Self { path: path.to_owned(), record, bytes: bytes.into() })
    }

    /// The content of a resource. Errors: its type is unknown, or it is too large.
    pub fn of_resource(resource: &NamedResource, bytes: Vec<u8>) -> io::Result<Self> {
        let file = Self::new(&resource.path(), bytes)?;
        Ok(Self { record: FileRecord { name: resource.uri.clone(), ..file.record }, ..file })
    }

    /// The value that names the file.
    pub fn value(path: &str) -> Json {
        Json::empty().with(FILE, Json::str(path))
    }

    /// The value that names a resource of a server; `None` if the text is not `server:uri`.
    pub fn resource_value(text: &str) -> Option<Json> {
        NamedResource::of_text(text)?;
        Some(Json::empty().with(RESOURCE, Json::str(text)))
    }
}

/// The text of the only member of an object, if it has this name.
fn only_member<'j>(value: &'j Json, name: &str) -> Option<&'j str> {
    let members = value.members()?;
    if members.len() == 1 { value.get(name)?.as_str() } else { None }
}

/// The path that a value names, if it names a file.
pub(super) fn named(value: &Json) -> Option<&str> {
    only_member(value, FILE)
}

/// The path of the file or the resource that a value names.
fn known_path(value: &Json) -> Option<String> {
    let resource = || NamedResource::of_value(value).map(|resource| resource.path());
    named(value).map(ToOwned::to_owned).or_else(resource)
}

/// The parameters of type `:file`.
pub(super) fn file_params(signature: Option<&str>) -> Vec<Field> {
    let signature = signature.and_then(|text| signature::parse_inputs(text).ok());
    let params = signature.and_then(|signature| signature.params).unwrap_or_default();
    params.into_iter().filter(|field| field.ty.is_file()).collect()
}

pub(super) fn is_of(params: &[Field], name: &str) -> bool {
    params.iter().any(|field| underscored(&field.name) == underscored(name))
}

impl Agent {
    /// The context with the record of each known file in place of its name, where the parameter is of type `:file`.
    pub fn with_file_records(&self, context: &Json) -> Json {
        self.with_records_of(&self.files.iter().collect::<Vec<_>>(), context)
    }

    /// The context with the record of each of these files in place of its name.
    pub(super) fn with_records_of(&self, files: &[&InputFile], context: &Json) -> Json {
        let (Some(members), params) = (context.members(), file_params(self.signature.as_deref())) else {
            return context.clone();
        };
        if params.is_empty() {
            return context.clone();
        }
        members.iter().fold(context.clone(), |all, member| {
            let path = known_path(&member.value).filter(|_| is_of(&params, &member.key));
            let file = path.and_then(|path| files.iter().find(|file| file.path == path));
            match file {
                Some(file) => {
                    let record = Json { span: member.value.span, ..file.record.json() };
                    all.with(member.key.as_str(), record)
                }
                None => all,
            }
        })
    }

    /// The inputs that are resources of servers in this context and have not been read, by their names.
    pub fn unread_resources(&self, context: &Json) -> Vec<(String, NamedResource)> {
        let params = file_params(self.signature.as_deref());
        let context = self.with_file_records(context);
        let members = context.members().unwrap_or_default().iter().filter(|member| is_of(&params, &member.key));
        members.filter_map(|member| Some((member.key.clone(), NamedResource::of_value(&member.value)?))).collect()
    }

    /// The context with a record in place of each resource that has not been read, for checks and previews.
    pub(super) fn with_unread_records(&self, context: &Json) -> Json {
        let unread = self.unread_resources(context);
        unread.into_iter().fold(self.with_file_records(context), |all, (name, resource)| {
            let span = all.get(&name).map(|value| value.span).unwrap_or_default();
            all.with(name.as_str(), Json { span, ..resource.unread_record().json() })
        })
    }

    /// The names of the parameters of type `:file` that have a value in this context.
    pub fn file_inputs(&self, context: &Json) -> Vec<String> {
        let params = file_params(self.signature.as_deref());
        let members = context.members().unwrap_or_default().iter();
        members.filter(|member| is_of(&params, &member.key)).map(|member| member.key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    fn agent(context: &str) -> Agent {
        let file = InputFile::new("pictures/a.png", PNG.to_vec()).unwrap();
        let (signature, context) =
            (Some("(photo :file, other :map?) -> :string".to_owned()), json::parse(context).unwrap());
        Agent { signature, context, files: vec![file], ..Agent::default() }
    }

    #[test]
    fn a_named_file_becomes_its_record_for_a_parameter_of_its_type() {
        let agent = agent(r#"{"photo": {"file": "pictures/a.png"}, "other": {"file": "pictures/a.png"}}"#);
        let context = agent.with_file_records(&agent.context);
        let record = FileRecord::of_json(context.get("photo").unwrap()).unwrap();
        assert_eq!((record.name.as_str(), record.media_type.as_str(), record.size), ("a.png", "image/png", 8));
        assert_eq!(context.get("other"), agent.context.get("other"), "a map is data");
        assert_eq!(agent.with_file_records(&context), context, "a record stays");
        assert_eq!(agent.file_inputs(&context), ["photo"]);
    }

    #[test]
    fn a_file_that_was_not_read_stays_a_name() {
        let agent = agent(r#"{"photo": {"file": "/etc/passwd"}}"#);
        assert_eq!(agent.with_file_records(&agent.context), agent.context);
    }

    #[test]
    fn a_resource_is_a_name_until_it_was_read() {
        let mut agent = agent(r#"{"photo": {"resource": "files:note://1"}}"#);
        let [(input, resource)] = agent.unread_resources(&agent.context).try_into().unwrap();
        assert_eq!((input.as_str(), resource.server.as_str(), resource.uri.as_str()), ("photo", "files", "note://1"));
        let shown = agent.with_unread_records(&agent.context);
        let shown = FileRecord::of_json(shown.get("photo").unwrap()).unwrap().to_string();
        assert_eq!(shown, "note://1 (read when the run begins, 0 bytes)");
        agent.files.push(InputFile::of_resource(&resource, PNG.to_vec()).unwrap());
        let record = agent.with_file_records(&agent.context);
        let record = FileRecord::of_json(record.get("photo").unwrap()).unwrap();
        assert_eq!((record.name.as_str(), record.media_type.as_str()), ("note://1", "image/png"));
        assert!(agent.unread_resources(&agent.context).is_empty());
        for text in ["files", ":x", "files:"] {
            assert_eq!(InputFile::resource_value(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_of_an_unknown_type_or_size_is_refused() {
        assert!(InputFile::new("a.bin", b"\x00\xff".to_vec()).unwrap_err().to_string().contains("image/png"));
        let large = vec![b'a'; usize::try_from(INPUT_FILE_BYTES.most()).unwrap() + 1];
        assert!(InputFile::new("a.txt", large).unwrap_err().to_string().contains("input_file_bytes"));
    }
}
