//! Files as inputs: `{ file = "invoice.png" }` as the value of a parameter of type `:file`.
//!
//! In: a context as it is written, and the bytes of the files that it names. Out: the same context with the record of each file. Files are
//! read where an agent file is read, and where the user names them; a context that comes from elsewhere names none.

use std::fmt;
use std::io;
use std::sync::Arc;

use ptc_core::limits::INPUT_FILE_BYTES;
use ptc_core::signature::{self, Field, Type, underscored};
use ptc_core::value::Json;

use super::Agent;
use super::inline::Source;
use crate::config::document::{Problem, Problems};
use crate::event::{FileRecord, hex_sha};
use crate::model::{media_type, supported_types};

/// The key of the cases.
const CASES: &str = "cases";
/// The key of a value that names a file.
const FILE: &str = "file";

/// A file that a context names.
#[derive(Clone, PartialEq)]
pub struct InputFile {
    /// The path as it is written.
    pub path: String,
    /// What is recorded of it.
    pub record: FileRecord,
    /// Its bytes.
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

    /// The value that names the file.
    pub fn value(path: &str) -> Json {
        Json::empty().with(FILE, Json::str(path))
    }
}

/// The path that a value names, if it names a file.
fn named(value: &Json) -> Option<&str> {
    let members = value.members()?;
    if members.len() == 1 { value.get(FILE)?.as_str() } else { None }
}

/// The parameters of type `:file`.
fn file_params(signature: Option<&str>) -> Vec<Field> {
    let signature = signature.and_then(|text| signature::parse_inputs(text).ok());
    let params = signature.and_then(|signature| signature.params).unwrap_or_default();
    params.into_iter().filter(|field| *field.ty.base() == Type::File).collect()
}

fn is_of(params: &[Field], name: &str) -> bool {
    params.iter().any(|field| underscored(&field.name) == underscored(name))
}

impl Agent {
    /// The context with the record of each known file in place of its name, where the parameter is of type `:file`.
    pub fn with_file_records(&self, context: &Json) -> Json {
        let (Some(members), params) = (context.members(), file_params(self.signature.as_deref())) else {
            return context.clone();
        };
        if params.is_empty() {
            return context.clone();
        }
        members.iter().fold(context.clone(), |all, member| {
            let path = named(&member.value).filter(|_| is_of(&params, &member.key));
            let file = path.and_then(|path| self.files.iter().find(|file| file.path == path));
            match file {
                Some(file) => {
                    let record = Json { span: member.value.span, ..file.record.json() };
                    all.with(member.key.as_str(), record)
                }
                None => all,
            }
        })
    }

    /// The names of the parameters of type `:file` that have a value in this context.
    pub fn file_inputs(&self, context: &Json) -> Vec<String> {
        let params = file_params(self.signature.as_deref());
        let members = context.members().unwrap_or_default().iter();
        members.filter(|member| is_of(&params, &member.key)).map(|member| member.key.clone()).collect()
    }

    /// The agent with the files that its context and its cases name.
    pub(super) fn with_input_files(mut self, source: &Source, problems: &mut Problems) -> Self {
        let params = file_params(self.signature.as_deref());
        if params.is_empty() || source.is_complete() {
            return self;
        }
        let cases = self.options.iter().find(|(name, _)| name == CASES).and_then(|(_, cases)| cases.items());
        let of_cases = cases.unwrap_or_default().iter().filter_map(|case| case.get("context"));
        let contexts: Vec<Json> = [&self.context].into_iter().chain(of_cases).cloned().collect();
        for member in contexts.iter().flat_map(|context| context.members().unwrap_or_default()) {
            let Some(path) = named(&member.value).filter(|_| is_of(&params, &member.key)) else { continue };
            if self.files.iter().any(|file| file.path == path) {
                continue;
            }
            let key = format!("context.{}", member.key);
            match source.read_input(&key, path) {
                Ok(file) => self.files.push(file),
                Err(problem) => {
                    let message = format!("`{key}` {problem}");
                    problems.push(Problem { key, span: member.value.span, message });
                }
            }
        }
        self
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
    fn a_file_of_an_unknown_type_or_size_is_refused() {
        assert!(InputFile::new("a.bin", b"\x00\xff".to_vec()).unwrap_err().to_string().contains("image/png"));
        let large = vec![b'a'; usize::try_from(INPUT_FILE_BYTES.most()).unwrap() + 1];
        assert!(InputFile::new("a.txt", large).unwrap_err().to_string().contains("input_file_bytes"));
    }
}
