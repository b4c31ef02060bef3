//! Cases from sessions: "make a case from this session" and "make a regression test".
//!
//! In: a session, the name of its case, an agent file. Out: the agent file with one more case, comments and order kept; for a regression
//! test also a cassette, a copy of the session next to the agent file. The session itself is never changed.

use std::io;
use std::path::{Path, PathBuf};

use ptc_core::reasons::Reason;
use ptc_core::value::Json;

use super::files::{check_folder, write_whole, write_whole_in_folder};
use super::fork::inputs_at;
use super::{SessionKey, Workbench};
use crate::agent::{Agent, BundledExample, Case, Expect, InputFile, Inputs, RubricExample};
use crate::config::{read_named_bytes, read_regular_file};
use crate::event::{Address, ErrorRecord, Event, FileRecord, RunEnd, hex_sha};
use crate::port::Attachments as _;
use crate::replay::{Recording, cassette};
use crate::session::{AttachmentStore, Label, Session, read_rulings, write_ruling};
use crate::tool::FileAccess;

/// The folder of an agent file's cassettes, next to it.
const CASSETTES: &str = "cassettes";

/// Options of a new case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseSpec {
    /// The run of the session, when it holds several.
    pub run: Option<Address>,
    /// The name of the case; made from the session's id when absent.
    pub name: Option<String>,
    /// The agent file. One that does not exist is made from the definition in the session. When absent: the agent's name with `.toml` in
    /// the current folder, which must exist.
    pub file: Option<PathBuf>,
    /// Also a cassette, which answers for the model.
    pub cassette: bool,
    /// Rubric for a judge of the answer; replaces the recorded answer as the expectation.
    pub rubric: Option<String>,
}

/// A new case and its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCase {
    /// The name of the case.
    pub name: String,
    /// The agent file.
    pub file: PathBuf,
    /// True if the agent file was created.
    pub is_new_file: bool,
    /// The cassette.
    pub cassette: Option<PathBuf>,
}

/// Error of making a case, with what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseError(pub String);

impl std::fmt::Display for CaseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CaseError {}

/// The message contains the next step: it needs no hint of the reason.
impl From<CaseError> for ErrorRecord {
    fn from(error: CaseError) -> Self {
        Self { hint: None, ..Self::new(Reason::WriteFailed, error.0) }
    }
}

/// A run that has ended.
struct EndedRun {
    address: Address,
    /// Inputs of the run at its end, edits included; for a cassette, which contains the edits itself, those of its start.
    asked: Inputs,
    end: RunEnd,
}

impl Workbench {
    /// Makes a case of a session's run: its inputs, and its answer as the exact value that is expected (or the reason of its failure).
    /// With a cassette the case names that instead: it passes when its replay matches the recording.
    ///
    /// Errors: the run has not ended, continues another one or contains no agent; the file holds another agent, or a case of
    /// this name; the name leads to an example that is part of the program; a file cannot be read or written.
    pub fn make_case(&self, session: &Session, spec: &CaseSpec) -> Result<MadeCase, CaseError> {
        let mut ended = ended(session, spec)?;
        let recorded = ended.asked.agent.clone();
        let file = place(spec.file.as_deref(), &recorded)?;
        check_folder(&file).map_err(|error| unwritable(&file, &error))?;
        let (original, agent) = agent_in(&file, &recorded, self.file_access())?;
        let id = session.header.id.as_str();
        if spec.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err(CaseError("a case needs a name: write --name NAME, or omit the flag".to_owned()));
        }
        let name = spec.name.clone().unwrap_or_else(|| format!("session {}", id.rsplit('-').next().unwrap_or(id)));
        let known = agent.cases().map_err(|found| CaseError(format!("{}: {}", file.display(), found.message)))?;
        if known.iter().any(|case| case.name == name) {
            return Err(CaseError(format!("{} has a case `{name}`; give another --name", file.display())));
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let relative = spec.cassette.then(|| format!("{CASSETTES}/{}.jsonl", file_name(&name)));
        if !spec.cassette {
            ended.asked.context = with_named_files(&ended.asked.context, &agent, folder, session)?;
        }
        let case = match &spec.rubric {
            Some(rubric) => judged_table(&name, &ended, rubric, self.label_of_run(session, &ended.address)?.as_ref())?,
            None => table(&name, &ended, relative.as_deref(), self.label_of_run(session, &ended.address)?.as_ref())?,
        };
        let with_case = agent.clone().with_case(case);
        let label = file.display().to_string();
        let text = with_case.rewrite_with(&original.clone().unwrap_or_default(), &label, self.file_access());
        // The written file must parse to the same case.
        Agent::from_toml_with(&text, &label, self.file_access()).map_err(|error| CaseError(error.to_string()))?;
        let cassette = relative.map(|relative| folder.join(relative));
        if let Some(cassette) = &cassette {
            copy(session, cassette).map_err(|error| unwritable(cassette, &error))?;
            keep_similarities(session, cassette).map_err(|error| unwritable(cassette, &error))?;
        }
        write_whole(&file, text.as_bytes()).map_err(|error| unwritable(&file, &error))?;
        Ok(MadeCase { name, is_new_file: original.is_none(), file, cassette })
    }
}

pub(super) fn unwritable(path: &Path, error: &io::Error) -> CaseError {
    CaseError(format!("{} cannot be written: {error}", path.display()))
}

/// The inputs of a case, in which each file is named by its path from the folder of the agent file. A file that is not there is copied.
///
/// Errors: the bytes of a file are missing, or it cannot be written.
fn with_named_files(context: &Json, agent: &Agent, folder: &Path, session: &Session) -> Result<Json, CaseError> {
    let stored = AttachmentStore::of_session(&session.path);
    agent.file_inputs(context).iter().try_fold(context.clone(), |context, input| {
        let Some(record) = context.get(input).and_then(FileRecord::of_json) else { return Ok(context) };
        let known = agent.files.iter().find(|file| file.record.sha256 == record.sha256);
        let known = known.filter(|file| folder.join(&file.path).is_file());
        let path = match known {
            Some(file) => file.path.clone(),
            None => copied_file(&record, &stored, folder)?,
        };
        Ok(context.with(input, InputFile::value(&path)))
    })
}

/// The name of the file of this record in a folder; it is created if it is not there.
fn copied_file(record: &FileRecord, stored: &AttachmentStore, folder: &Path) -> Result<String, CaseError> {
    let last = record.name.rsplit(['/', '\\']).next().unwrap_or_default().trim_start_matches('.');
    let plain: String =
        last.chars().filter(|c| !c.is_control() && !matches!(c, ':' | '?' | '*' | '"' | '<' | '>' | '|')).collect();
    let hash = record.sha256.get(..8).unwrap_or_default();
    for name in [plain.clone(), format!("{hash}-{plain}")].into_iter().filter(|name| !name.is_empty()) {
        let path = folder.join(&name);
        if path.exists() {
            if read_named_bytes(&path).is_ok_and(|bytes| hex_sha(&bytes) == record.sha256) {
                return Ok(name);
            }
            continue;
        }
        let bytes = stored.bytes(&record.sha256).ok_or_else(|| {
            CaseError(format!(
                "the bytes of the file {} are missing (SHA-256 {}): put the file into the folder of the agent file",
                record.name, record.sha256
            ))
        })?;
        write_whole(&path, &bytes).map_err(|error| unwritable(&path, &error))?;
        return Ok(name);
    }
    Err(CaseError(format!("{} holds another file {plain}; rename it", folder.display())))
}

/// The run that a case is made of.
fn ended(session: &Session, spec: &CaseSpec) -> Result<EndedRun, CaseError> {
    let id = &session.header.id;
    let recording = Recording::of(session).map_err(CaseError)?;
    if spec.cassette && recording.runs().len() > 1 {
        return Err(CaseError(format!(
            "a cassette replays one agent's whole session, and {id} holds {} runs (of a pipeline or a conversation): omit --cassette \
             and name one run with --run, or check the whole session with `ptc-workbench replay {id} --check`",
            recording.runs().len()
        )));
    }
    if spec.cassette {
        cassette::only_run(session).map_err(CaseError)?;
    }
    let address = match (&spec.run, recording.runs().as_slice()) {
        (Some(run), _) => run.clone(),
        (None, [only]) => only.clone(),
        (None, []) => return Err(CaseError(format!("{id} contains no run"))),
        (None, runs) => {
            return Err(CaseError(format!("{id} holds {} runs; name one with --run, such as --run r0", runs.len())));
        }
    };
    let start = recording.run_start(&address).cloned();
    let start = start.ok_or_else(|| CaseError(format!("{id} has no run {address}")))?;
    if let Some(earlier) = &start.continues {
        return Err(CaseError(format!(
            "{address} continues {earlier}: its answer depends on what was sent there, so it cannot be a separate case"
        )));
    }
    let end = recording.at(&address).iter().find_map(|envelope| match &envelope.event {
        Event::RunEnd(end) => Some(end.clone()),
        _ => None,
    });
    let end = end.ok_or_else(|| CaseError(format!("{id} has not ended; `resume` continues it")))?;
    if let Some(fail) = end.fail.as_ref().filter(|fail| Case::is_untried(fail)) {
        return Err(CaseError(format!(
            "the run failed with {}: {}; this is not a failure of the agent",
            fail.reason, fail.message
        )));
    }
    let asked = if spec.cassette {
        Inputs::of(&start).map_err(|error| CaseError(format!("the session's agent cannot be read: {error}")))?
    } else {
        inputs_at(&recording, &address).map_err(|error| CaseError(error.to_string()))?
    };
    Ok(EndedRun { address, asked, end })
}

/// Returns the agent file that a case or an example is added to.
pub(super) fn place(file: Option<&Path>, recorded: &Agent) -> Result<PathBuf, CaseError> {
    if let Some(file) = file {
        let name = file.display().to_string();
        if !file.exists() && BundledExample::find(&name).is_some() {
            return Err(CaseError(format!(
                "{name} is an example of the program; name your own file, such as --agent {name}.toml"
            )));
        }
        return Ok(file.to_owned());
    }
    let file = PathBuf::from(format!("{}.toml", file_name(&recorded.name)));
    if file.exists() {
        return Ok(file);
    }
    Err(CaseError(format!(
        "name the agent file with --agent FILE ({} does not exist; a missing file is created from the session)",
        file.display()
    )))
}

/// The file's text and its agent; without a file the recorded one.
pub(super) fn agent_in(
    file: &Path,
    recorded: &Agent,
    access: &FileAccess,
) -> Result<(Option<String>, Agent), CaseError> {
    let name = file.display().to_string();
    match read_regular_file(file) {
        Ok(text) => {
            let agent = Agent::from_toml_with(&text, &name, access).map_err(|error| CaseError(error.to_string()))?;
            if agent.name != recorded.name {
                return Err(CaseError(format!(
                    "{name} holds the agent `{}`, and the session ran `{}`",
                    agent.name, recorded.name
                )));
            }
            Ok((Some(text), agent))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((None, recorded.clone())),
        Err(error) => Err(CaseError(format!("{name} cannot be read: {error}"))),
    }
}

impl Workbench {
    /// The label of a root run: its own, else that of its session.
    pub(super) fn label_of_run(&self, session: &Session, run: &Address) -> Result<Option<Label>, CaseError> {
        let marks = self.marks_next_to(&SessionKey::of(session)).map_err(|error| CaseError(error.to_string()))?;
        let id = session.header.id.as_str();
        let own = marks.get(id, Some(run)).and_then(|mark| mark.label.clone());
        Ok(own.or_else(|| marks.get(id, None).and_then(|mark| mark.label.clone())))
    }
}

/// Copies the embedding rulings on a session next to its cassette, so that tests of the cassette request no embeddings.
fn keep_similarities(session: &Session, cassette: &Path) -> io::Result<()> {
    let [Some(from), Some(to)] = [session.path.parent(), cassette.parent()] else { return Ok(()) };
    let found = read_rulings(from, session.header.id.as_str())?;
    found.iter().filter(|ruled| !ruled.ruling.measure.is_judge()).try_for_each(|ruled| write_ruling(to, ruled))
}

/// The table of a case whose answer is judged by a rubric. A label of the run is an example for the judge.
fn judged_table(name: &str, ended: &EndedRun, rubric: &str, label: Option<&Label>) -> Result<Json, CaseError> {
    if rubric.trim().is_empty() {
        return Err(CaseError("the rubric is empty: write --rubric TEXT".to_owned()));
    }
    let expect = Json::empty().with("rubric", Json::str(rubric.trim()));
    let example = label.zip(ended.end.value.as_ref()).map(|(label, answer)| RubricExample {
        inputs: None,
        answer: answer.json(),
        score: label.grade.score(),
        reason: label.note.clone(),
    });
    let expect = match example {
        Some(example) => expect.with("examples", Json::list([example.to_json()])),
        None => expect,
    };
    let named = Json::empty().with("name", Json::str(name));
    Ok(named.with("context", Case::write_context(&ended.asked.context)).with("expect", expect))
}

/// The table of the case. An answer that a user labelled as a failure becomes a `not` expectation.
fn table(name: &str, ended: &EndedRun, cassette: Option<&str>, label: Option<&Label>) -> Result<Json, CaseError> {
    let named = Json::empty().with("name", Json::str(name));
    if let Some(cassette) = cassette {
        return Ok(named.with("cassette", Json::str(cassette)));
    }
    let expect = match (&ended.end.value, &ended.end.fail) {
        (_, Some(fail)) => Expect::write_fail(&fail.reason),
        (Some(answer), None) if label.is_some_and(|label| !label.grade.is_pass()) => {
            Json::empty().with("not", Json::empty().with("value", answer.json()))
        }
        (Some(answer), None) => Expect::write_value(&answer.json()),
        (None, None) => return Err(CaseError(format!("{} ended without an answer", ended.address))),
    };
    Ok(named.with("context", Case::write_context(&ended.asked.context)).with("expect", expect))
}

/// A name that every file system takes: small letters, digits and `-`.
fn file_name(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' });
    let text: String = letters.collect();
    let words: Vec<&str> = text.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "case".to_owned() } else { words.join("-") }
}

/// Copies a session to a file that does not exist yet.
fn copy(session: &Session, file: &Path) -> io::Result<()> {
    if file.exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it already exists; give the case another --name"));
    }
    write_whole_in_folder(file, &session.complete_lines()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("Great Lamp! (2/3)"), "great-lamp-2-3");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("…"), "case");
    }
}
