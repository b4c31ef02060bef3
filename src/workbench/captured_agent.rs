//! Agents from captured requests: a request of another program, as an agent that can be run, forked and compared.
//!
//! In: a turn of a captured session. Out: an agent: its texts, images and other files, tools, schema, options and model. The tools return
//! the results that they had in the conversation. The session is never changed.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ptc_core::limits::FILE_BYTES;
use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use toml_edit::{DocumentMut, Item, Table, Value, value};

use super::body::{events_of, plain_body};
use super::captured_media::Media;
use super::captured_messages::CapturedMessages;
use super::captured_request::RequestParts;
use super::captured_tools::{ToolNames, tool_table};
use crate::agent::{Agent, InputFile, Plan, RawSchema, error_messages};
use crate::config::document::to_inline;
use crate::config::{Protocol, create_private_dir, private_options};
use crate::event::{Address, ErrorRecord, Event, Options, SentMessage};
use crate::model::body_json;
use crate::port::Attachments as _;
use crate::session::{AttachmentStore, Session};

/// An agent of a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CapturedAgent {
    /// The text of its file.
    pub text: String,
    /// The images and other files that the request contains, which are inputs of the agent.
    pub files: Vec<InputFile>,
    /// The kinds of the parts that are not text and whose bytes are not in the request: the agent names them and does not send them.
    pub unsent: Vec<String>,
    /// The differences between its first request and the captured one.
    pub differences: Vec<String>,
    /// The path of the captured request.
    pub(super) path: String,
    /// Its body; null if it is not recorded.
    pub(super) body: Json,
    /// The paths of members of the body that are not sent, as far as they are known without the body that is sent.
    pub(super) omitted: Vec<String>,
    /// The model that the request names, as `upstream:model`.
    pub model: Option<String>,
    /// The protocol of the request.
    pub protocol: Option<Protocol>,
    /// The members of the body that its `extra_body` repeats: an object.
    pub extra_body: Json,
}

/// Form in which the inputs of an agent name its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileNaming {
    /// By the names of files next to its own.
    Name,
    /// By their records in a session; the bytes are stored next to the sessions.
    Record,
}

/// Returns the text of an agent file for the request of a turn, which names files by their records.
///
/// Errors: the session was not captured, or has no request there.
pub fn agent_of_request(session: &Session, turn: &Address, name: &str) -> Result<String, ErrorRecord> {
    captured_agent(session, turn, name, FileNaming::Record).map(|agent| agent.text)
}

/// Returns the agent of the request of a turn.
///
/// Errors: the session was not captured, or has no request there.
pub fn captured_agent(
    session: &Session,
    turn: &Address,
    name: &str,
    naming: FileNaming,
) -> Result<CapturedAgent, ErrorRecord> {
    let refused = |message: String| ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidAgent, message) };
    if session.header.captured.is_none() {
        return Err(refused(format!(
            "{} was not captured: `sessions export` and the workbench show the agent that it ran",
            session.header.id
        )));
    }
    let none = || refused(format!("{} has no request at {turn}", session.header.id));
    let messages = session.request(turn).ok_or_else(none)?;
    let made = events_of(session, turn).find_map(|event| match event {
        Event::RequestMade(made) => Some(made),
        _ => None,
    });
    let made = made.ok_or_else(none)?;
    if messages.is_empty() && made.tools.is_empty() {
        let is_fetch =
            events_of(session, turn).any(|event| matches!(event, Event::RawRequest(raw) if raw.method == "GET"));
        if is_fetch {
            return Err(refused(format!(
                "the request at {turn} only fetches the reply to an earlier one: choose the turn that its notice names"
            )));
        }
        return Err(refused(format!(
            "no message of the request at {turn} could be read: `sessions show {} --body {turn}` prints its body",
            session.header.id
        )));
    }
    let body = plain_body(session, turn.as_str()).unwrap_or_default();
    let media = Media::of(&body, &messages, name);
    let inputs: Vec<(String, Json)> = media
        .files
        .iter()
        .map(|(input, file)| {
            let value = if naming == FileNaming::Name { InputFile::value(&file.path) } else { file.record.json() };
            (input.clone(), value)
        })
        .collect();
    let mut parts = RequestParts::of(session, turn, &made, &body);
    let schema = parts.schema.as_ref().map(|schema| RawSchema::compile(&schema.json()));
    if let Some(Err(why)) = schema {
        parts.schema = None;
        parts.differences.push(format!("the schema of the answer is not sent: {why}"));
    }
    let names = ToolNames::of(&parts.tools);
    parts.extra = names.in_choices(&parts.extra);
    let mut captured = CapturedMessages::of(&media.without_sent(&messages), &names);
    if captured.prompt.trim().is_empty() && !inputs.is_empty() {
        captured.differences.push("the message has no text: the names of its files are sent as its text".to_owned());
    }
    let renamed = names.changed().map(|(captured, name)| format!("the tool {captured} is named {name}"));
    let differences = captured.differences.iter().cloned().chain(parts.differences.clone()).chain(renamed);
    let differences = differences.chain(media.differences(&messages)).collect();
    let mut file = document(name, &parts, captured, &names, &all_messages(session));
    if !inputs.is_empty() {
        add_inputs(&mut file, &inputs);
    }
    let files = media.files.into_iter().map(|(_, file)| file).collect();
    Ok(CapturedAgent {
        text: file.to_string(),
        files,
        unsent: media.unsent,
        differences,
        model: parts.model,
        protocol: parts.protocol,
        extra_body: parts.extra,
        path: parts.path,
        body: body_json(body.as_bytes()).unwrap_or_default(),
        omitted: parts.omitted,
    })
}

impl CapturedAgent {
    /// The differences to the captured request as comments of an agent file; empty without any.
    pub fn comments(&self) -> String {
        let mut lines = Vec::new();
        if !self.differences.is_empty() {
            lines.push("differences to the captured request:".to_owned());
            lines.extend(self.differences.iter().map(|difference| format!("* {difference}")));
        }
        if let (Some(protocol), true) = (self.protocol, inline(&self.extra_body).is_some()) {
            let name = protocol.name();
            lines.push(format!("extra_body is for the protocol {name}: services with another one may refuse it"));
        }
        let line = |text: &String| format!("# {}\n", text.replace(char::is_control, " "));
        lines.iter().map(line).collect()
    }

    /// The text of its file with the differences as comments.
    pub fn file_text(&self) -> String {
        format!("{}{}", self.comments(), self.text)
    }

    /// The same agent with other members of the body.
    #[must_use]
    pub(super) fn with_extra_body(self, extra: Json) -> Self {
        let Ok(mut file) = self.text.parse::<DocumentMut>() else { return self };
        let Some(options) = file.get_mut("model_options").and_then(Item::as_table_mut) else { return self };
        match inline(&extra) {
            Some(extra) => options["extra_body"] = value(extra),
            None => _ = options.remove("extra_body"),
        }
        if options.is_empty() {
            file.remove("model_options");
        }
        Self { text: file.to_string(), extra_body: extra, ..self }
    }
}

/// Checks a captured agent as a run does; `file` is the path of its file.
///
/// Errors: it cannot be read, or it cannot run.
pub fn check_captured_agent(agent: &CapturedAgent, file: &str) -> Result<(), ErrorRecord> {
    let refused = |message: String| ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidAgent, message) };
    let text = agent.file_text();
    if text.len() as u64 > FILE_BYTES.most() {
        let most = FILE_BYTES.most();
        return Err(refused(format!("the agent file of the request has more than {most} bytes (`file_bytes`)")));
    }
    let read = Agent::from_toml(&text, file);
    let read = read.map_err(|error| refused(format!("the agent of the request is invalid: {error}")))?;
    let unusable =
        |findings: Vec<_>| refused(format!("the agent of the request cannot run: {}", error_messages(&findings)));
    Plan::new(&read).map(|_| ()).map_err(unusable)
}

/// Stores the files of an agent next to the sessions in a folder. Errors: one cannot be written.
pub fn store_captured_files(agent: &CapturedAgent, sessions_dir: &Path) -> Result<(), ErrorRecord> {
    let store = AttachmentStore::of_sessions(sessions_dir);
    let mut files = agent.files.iter();
    files
        .try_for_each(|file| store.store(&file.record.sha256, &file.bytes))
        .map_err(|message| ErrorRecord::new(Reason::InvalidAgent, message))
}

/// Creates an agent file, and its files next to it, for their owner only; one that exists is not changed.
///
/// Errors: the agent cannot run; a file exists or cannot be written.
pub fn write_new_agent(path: &Path, agent: &CapturedAgent) -> Result<(), ErrorRecord> {
    let refused = |message: String| ErrorRecord { hint: None, ..ErrorRecord::new(Reason::InvalidAgent, message) };
    let next_to = |file: &InputFile| path.with_file_name(&file.path);
    let paths: Vec<PathBuf> = agent.files.iter().map(next_to).chain([path.to_owned()]).collect();
    if let Some(existing) = paths.iter().find(|path| path.exists()) {
        return Err(refused(format!("{} exists: name another file with -o", existing.display())));
    }
    let mut created: Vec<&Path> = Vec::new();
    let mut write = || {
        for (file, path) in agent.files.iter().zip(&paths) {
            create(path, &file.bytes, &mut created).map_err(|error| refused(format!("{}: {error}", path.display())))?;
        }
        check_captured_agent(agent, &path.display().to_string())?;
        create(path, agent.file_text().as_bytes(), &mut created)
            .map_err(|error| refused(format!("{}: {error}", path.display())))
    };
    let written = write();
    if written.is_err() {
        // Files without their agent are of no use.
        for path in created {
            if let Err(error) = fs::remove_file(path) {
                tracing::debug!(%error, path = %path.display(), "removing a file");
            }
        }
    }
    written
}

/// Creates a file for its owner only, in a folder that is made when it does not exist. Error: it exists, or cannot be written.
fn create<'p>(path: &'p Path, content: &[u8], created: &mut Vec<&'p Path>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    let mut file = private_options().write(true).create_new(true).open(path)?;
    created.push(path);
    file.write_all(content)?;
    file.sync_all()
}

/// Adds parameters of type `:file` with their values. Where the request has no text, their names are the prompt: an agent needs one.
fn add_inputs(file: &mut DocumentMut, inputs: &[(String, Json)]) {
    if file.get("prompt").and_then(Item::as_str).is_none_or(|prompt| prompt.trim().is_empty()) {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| name.as_str()).collect();
        file["prompt"] = value(names.join(", "));
    }
    let params: Vec<String> = inputs.iter().map(|(name, _)| format!("{name} :file")).collect();
    let output = if file.contains_key("schema") { "" } else { " -> :string" };
    file["signature"] = value(format!("({}){output}", params.join(", ")));
    let mut context = Table::new();
    for (name, input) in inputs {
        let inline = to_inline(input).and_then(|text| text.parse::<Value>().ok());
        context[name] = value(inline.unwrap_or_else(|| Value::from(input.to_text())));
    }
    file["context"] = Item::Table(context);
}

/// The members of a table in one line; `None` without any.
pub(super) fn inline(members: &Json) -> Option<Value> {
    members.members().filter(|members| !members.is_empty())?;
    to_inline(members)?.parse().ok()
}

/// All messages of the conversation, for the results of its tools.
fn all_messages(session: &Session) -> Vec<SentMessage> {
    let turns = session.skeleton().roots();
    let last = turns.last().and_then(|run| run.turns.last()).map(|turn| turn.address.clone());
    last.and_then(|turn| session.request(&turn)).unwrap_or_default()
}

fn document(
    name: &str,
    parts: &RequestParts,
    messages: CapturedMessages,
    names: &ToolNames,
    all: &[SentMessage],
) -> DocumentMut {
    let mut file = DocumentMut::new();
    file["name"] = value(name);
    let is_json = parts.schema.is_some() && parts.tools.is_empty();
    file["mode"] = value(if is_json { "json" } else { "text" });
    if let Some(model) = &parts.model {
        file["model"] = value(model);
    }
    file["verbatim"] = value(true);
    file["prompt"] = value(messages.prompt);
    if let Some(system) = messages.system {
        file["system_prompt"] = value(system);
    }
    if let Some(schema) = &parts.schema {
        file["schema"] = value(schema.json().to_pretty());
    }
    file["max_turns"] = value(if parts.tools.is_empty() || parts.forces_call { 1 } else { 10 });
    if parts.has_cache {
        file["cache"] = value(true);
    }
    for (key, list) in [("messages", messages.before), ("messages_after", messages.after)] {
        if !list.is_empty() {
            file[key] = Item::ArrayOfTables(list);
        }
    }
    let options = options(&parts.options, &parts.extra);
    if !options.is_empty() {
        file["model_options"] = Item::Table(options);
    }
    if !parts.tools.is_empty() {
        let mut tools = Table::new();
        tools.set_implicit(true);
        for (tool, name) in parts.tools.iter().zip(names.in_order()) {
            tools[name] = Item::Table(tool_table(tool, all));
        }
        file["tools"] = Item::Table(tools);
    }
    file
}

fn options(options: &Options, extra: &Json) -> Table {
    let mut table = Table::new();
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    if let Some(temperature) = options.temperature {
        table["temperature"] = value(temperature);
    }
    if let Some(tokens) = options.max_tokens {
        table["max_tokens"] = value(whole(tokens));
    }
    if let Some(top_p) = options.top_p {
        table["top_p"] = value(top_p);
    }
    if !options.stop.is_empty() {
        table["stop"] = value(options.stop.iter().collect::<toml_edit::Array>());
    }
    if let Some(seed) = options.seed {
        table["seed"] = value(whole(seed));
    }
    if let Some(reasoning) = &options.reasoning {
        table["reasoning"] = value(reasoning);
    }
    if let Some(are_strict) = options.strict_tools {
        table["strict_tools"] = value(are_strict);
    }
    if let Some(is_strict) = options.strict_schema {
        table["strict_schema"] = value(is_strict);
    }
    if let Some(extra) = inline(extra) {
        table["extra_body"] = value(extra);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(text: &str) -> CapturedAgent {
        let image = InputFile::new("seen-image-1.png", b"\x89PNG\r\n\x1a\n".to_vec()).unwrap();
        CapturedAgent { text: text.to_owned(), files: vec![image], ..CapturedAgent::default() }
    }

    #[test]
    fn the_prompt_of_a_request_without_text_is_the_names_of_its_inputs() {
        let inputs = ["image_1", "image_2"].map(|name| (name.to_owned(), InputFile::value("a.png")));
        let prompt = |text: &str| {
            let mut file: DocumentMut = text.parse().unwrap();
            add_inputs(&mut file, &inputs);
            file["prompt"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(prompt("prompt = \" \"\n"), "image_1, image_2");
        assert_eq!(prompt("prompt = \"Look\"\n"), "Look");
    }

    #[test]
    fn the_files_of_a_captured_agent_are_new_and_their_owner_s_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/seen.toml");
        let image = path.with_file_name("seen-image-1.png");
        let valid = captured(
            "name = 'seen'\nmode = 'text'\nprompt = 'x'\nsignature = '(image_1 :file) -> :string'\n[context]\nimage_1 = { file = 'seen-image-1.png' }\n",
        );
        assert!(write_new_agent(&path, &captured("mode = ")).is_err());
        assert!(!image.exists() && !path.exists(), "nothing is left");
        write_new_agent(&path, &valid).unwrap();
        #[cfg(unix)]
        for file in [&image, &path] {
            let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(file).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600, "{}", file.display());
        }
        fs::remove_file(&path).unwrap();
        fs::write(&image, "other").unwrap();
        assert!(write_new_agent(&path, &valid).is_err());
        assert_eq!(fs::read_to_string(&image).unwrap(), "other", "it was there before");
    }
}
