//! Agents out of captured requests: what another program asked, as an agent that can be run, forked and compared.
//!
//! In: a turn of a captured session. Out: an agent: its texts, images and other files, tools, schema, options and model. The tools answer what
//! they answered in the conversation. The session is never changed.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ptc_core::reasons::Reason;
use ptc_core::signature::{Type, from_json_schema};
use ptc_core::value::{Json, json};
use toml_edit::{DocumentMut, Item, Table, Value, value};

use super::body::sent_body;
use crate::agent::{Agent, InputFile};
use crate::config::document::to_inline;
use crate::config::{create_private_dir, private_options};
use crate::event::{Address, ErrorRecord, Event, NativeCall, RequestMade, Role, SentMessage, SentPart, ToolSchema};
use crate::model::{MediaPart, media_of, media_type};
use crate::port::Attachments as _;
use crate::session::{AttachmentStore, Session};

/// An agent of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedAgent {
    /// The text of its file.
    pub text: String,
    /// The images and other files that the request contains, which are inputs of the agent.
    pub files: Vec<InputFile>,
    /// The kinds of the parts that are no text and whose bytes are not in the request: the agent names them and does not send them.
    pub unsent: Vec<String>,
}

/// How the inputs of an agent name its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileNaming {
    /// By the names of files next to its own.
    Name,
    /// By what a session records of them: their bytes are stored next to the sessions.
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
    let start = session.events().find_map(|envelope| match envelope.event {
        Event::RunStart(start) => Some(start),
        _ => None,
    });
    let model = start.map(|start| start.model.alias).filter(|alias| !alias.ends_with(':'));
    if messages.is_empty() && made.tools.is_empty() {
        return Err(refused(format!(
            "no message of the request at {turn} could be read: `sessions show {} --body {turn}` prints its body",
            session.header.id
        )));
    }
    let media = Media::of(session, turn, &messages, name);
    let inputs: Vec<(String, Json)> = media
        .files
        .iter()
        .map(|(input, file)| {
            let value = if naming == FileNaming::Name { InputFile::value(&file.path) } else { file.record.json() };
            (input.clone(), value)
        })
        .collect();
    let mut file = document(name, model.as_deref(), &made, &media.without_sent(&messages), &all_messages(session));
    if !inputs.is_empty() {
        add_inputs(&mut file, &inputs);
    }
    let files = media.files.into_iter().map(|(_, file)| file).collect();
    Ok(CapturedAgent { text: file.to_string(), files, unsent: media.unsent })
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
/// Errors: the text is no valid agent; a file exists or cannot be written.
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
        Agent::from_toml(&agent.text, &path.display().to_string())
            .map_err(|error| refused(format!("the request makes no valid agent: {error}")))?;
        create(path, agent.text.as_bytes(), &mut created)
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

/// The parts of a request that are no text.
struct Media {
    /// Those whose bytes are known, with the names of their inputs.
    files: Vec<(String, InputFile)>,
    /// Are the bytes of each part known? In the order of the request.
    are_sent: Vec<bool>,
    /// The kinds of the others.
    unsent: Vec<String>,
}

impl Media {
    fn of(session: &Session, turn: &Address, messages: &[SentMessage], name: &str) -> Self {
        let kinds: Vec<String> = media_kinds(messages).map(ToOwned::to_owned).collect();
        let body = sent_body(session, turn.as_str()).unwrap_or_default();
        let of_body = media_of(body.as_bytes());
        // Messages that the service keeps come first, and are not in the body.
        let kept = kinds.len().saturating_sub(of_body.len());
        let mut media = Self { files: Vec::new(), are_sent: vec![false; kept], unsent: kinds[..kept].to_vec() };
        for MediaPart { kind, bytes } in of_body {
            let file = bytes.and_then(|bytes| media.file(name, bytes));
            media.are_sent.push(file.is_some());
            match file {
                Some(file) => media.files.push(file),
                None => media.unsent.push(kind),
            }
        }
        media
    }

    /// The next input, and its file; `None` for a file that cannot be an input.
    fn file(&self, name: &str, bytes: Vec<u8>) -> Option<(String, InputFile)> {
        let media_type = media_type(&bytes)?;
        let (kind, subtype) = media_type.split_once('/')?;
        let kind = match (kind, subtype) {
            ("image", _) => "image",
            ("audio", _) => "sound",
            _ => "document",
        };
        let ending = match subtype {
            "jpeg" => "jpg",
            "plain" => "txt",
            other => other,
        };
        let number = self.files.len() + 1;
        let file = InputFile::new(&format!("{name}-{kind}-{number}.{ending}"), bytes).ok()?;
        Some((format!("{kind}_{number}"), file))
    }

    /// The messages without the placeholder texts of sent files.
    fn without_sent(&self, messages: &[SentMessage]) -> Vec<SentMessage> {
        let mut are_sent = self.are_sent.iter();
        let mut messages = messages.to_vec();
        for message in messages.iter_mut().filter(|message| message.role == Role::User) {
            message.parts.retain(|part| !(is_media(part) && are_sent.next().copied().unwrap_or_default()));
        }
        messages
    }
}

/// Is it the placeholder text of an image, a sound or a document?
fn is_media(part: &SentPart) -> bool {
    matches!(part, SentPart::Text { section, .. } if section != Role::User.name())
}

/// The kinds of the parts of the user's messages that are no text.
fn media_kinds(messages: &[SentMessage]) -> impl Iterator<Item = &str> {
    let parts = messages.iter().filter(|message| message.role == Role::User).flat_map(|message| &message.parts);
    parts.filter(|part| is_media(part)).filter_map(|part| match part {
        SentPart::Text { section, .. } => Some(section.as_str()),
        _ => None,
    })
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

fn events_of<'s>(session: &'s Session, turn: &Address) -> impl Iterator<Item = Event> + use<'s> {
    let turn = turn.clone();
    session.events().filter(move |envelope| envelope.address == turn).map(|envelope| envelope.event)
}

/// All messages of the conversation, for the results of its tools.
fn all_messages(session: &Session) -> Vec<SentMessage> {
    let turns = session.skeleton().roots();
    let last = turns.last().and_then(|run| run.turns.last()).map(|turn| turn.address.clone());
    last.and_then(|turn| session.request(&turn)).unwrap_or_default()
}

fn document(
    name: &str,
    model: Option<&str>,
    made: &RequestMade,
    messages: &[SentMessage],
    all: &[SentMessage],
) -> DocumentMut {
    let mut file = DocumentMut::new();
    file["name"] = value(name);
    let is_json = made.schema.is_some() && made.tools.is_empty();
    file["mode"] = value(if is_json { "json" } else { "text" });
    if let Some(model) = model {
        file["model"] = value(model);
    }
    // The text of another program has no tags of ours.
    file["literal"] = value(true);
    let system: Vec<String> =
        messages.iter().filter(|message| message.role == Role::System).map(SentMessage::text).collect();
    file["prompt"] = value(prompt(messages));
    file["system_prompt"] = value(system.join("\n\n"));
    if let Some(schema) = made.schema.as_ref().filter(|_| is_json) {
        file["schema"] = value(schema.json().to_pretty());
    }
    file["max_turns"] = value(if made.tools.is_empty() { 1 } else { 10 });
    let options = options(made);
    if !options.is_empty() {
        file["model_options"] = Item::Table(options);
    }
    if !made.tools.is_empty() {
        let mut tools = Table::new();
        tools.set_implicit(true);
        for tool in &made.tools {
            tools[&tool.name] = Item::Table(tool_table(tool, all));
        }
        file["tools"] = Item::Table(tools);
    }
    file
}

/// The task: the user's messages before the first reply; where the conversation went further, all of it as text.
fn prompt(messages: &[SentMessage]) -> String {
    let others: Vec<&SentMessage> = messages.iter().filter(|message| message.role != Role::System).collect();
    if others.iter().all(|message| message.role == Role::User) {
        return others.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n\n");
    }
    let parts = others.iter().map(|message| format!("# {}\n\n{}", message.role.name(), message.lines().trim_end()));
    parts.collect::<Vec<_>>().join("\n\n")
}

fn options(made: &RequestMade) -> Table {
    let mut table = Table::new();
    let options = &made.options;
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
    table
}

/// A tool that answers what it answered in the conversation.
fn tool_table(tool: &ToolSchema, all: &[SentMessage]) -> Table {
    let mut table = Table::new();
    table["kind"] = value("table");
    table["signature"] = value(signature(&tool.parameters.json()));
    table["description"] = value(tool.description.clone().unwrap_or_else(|| tool.name.clone()));
    let answers = answers_of(&tool.name, all);
    if !answers.is_empty() {
        let rows = Json::list(answers.into_iter().map(|(args, result)| {
            Json::object([
                ("args", json_of(args).unwrap_or_else(Json::empty)),
                ("result", json_of(result).unwrap_or_default()),
            ])
        }));
        // Values that TOML cannot represent are stored as JSON text.
        let inline = to_inline(&rows).and_then(|text| text.parse::<Value>().ok());
        table["rows"] = value(inline.unwrap_or_else(|| Value::from(rows.to_text())));
    }
    table["default"] = value("not recorded");
    table
}

fn json_of(text: &str) -> Option<Json> {
    json::parse(text).ok()
}

/// Arguments and result of each call of a tool. Results name their call by its id; where a protocol has none, they come in the order of the
/// calls.
fn answers_of<'m>(tool: &str, all: &'m [SentMessage]) -> Vec<(&'m str, &'m str)> {
    let mut calls: Vec<&NativeCall> = Vec::new();
    let mut answers = Vec::new();
    for part in all.iter().flat_map(|message| &message.parts) {
        match part {
            SentPart::Call(call) if call.name == tool => calls.push(call),
            SentPart::Result { call, name, result } => {
                let by_id = calls.iter().position(|known| !call.is_empty() && known.id == *call);
                let next = || (call.is_empty() && name == tool && !calls.is_empty()).then_some(0);
                if let Some(place) = by_id.or_else(next) {
                    answers.push((calls.remove(place).args.as_str(), result.as_str()));
                }
            }
            _ => {}
        }
    }
    answers
}

/// The signature of a tool, as far as its schema has one: what cannot be expressed is `:any`.
fn signature(parameters: &Json) -> String {
    let required: Vec<&str> =
        parameters.get("required").and_then(Json::items).unwrap_or_default().iter().filter_map(Json::as_str).collect();
    let fields = parameters.get("properties").and_then(Json::members).unwrap_or_default().iter().map(|member| {
        let known = from_json_schema(&member.value).unwrap_or(Type::Any);
        let of = if required.contains(&member.key.as_str()) || known.is_optional() {
            known
        } else {
            Type::Optional(Box::new(known))
        };
        format!("{} {}", member.key, of.render())
    });
    format!("({}) -> :any", fields.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(text: &str) -> CapturedAgent {
        let image = InputFile::new("seen-image-1.png", b"\x89PNG\r\n\x1a\n".to_vec()).unwrap();
        CapturedAgent { text: text.to_owned(), files: vec![image], unsent: Vec::new() }
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
