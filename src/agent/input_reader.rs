//! Reading the files that contexts name.
//!
//! In: agents, cases and contexts, and the folder that their paths belong to. Out: files with their bytes, or problems with their places. Files
//! are read where an agent file or its cases are read, and where the user names them; a context that comes from elsewhere names none.

use std::collections::HashSet;
use std::path::Path;

use ptc_core::signature::Field;
use ptc_core::value::Json;

use super::inline::Source;
use super::input_file::{InputFile, file_params, is_of, named};
use super::{Agent, Case};
use crate::config::document::{Problem, Problems};
use crate::event::FileRecord;
use crate::tool::FileAccess;

impl Agent {
    /// The context with a record in place of each file that it names, and those of the files that the agent does not know. They are read
    /// from this folder.
    ///
    /// Errors: the first file that cannot be read.
    pub(crate) fn with_files_named_in(
        &self,
        context: &Json,
        folder: &Path,
        access: &FileAccess,
    ) -> Result<(Json, Vec<InputFile>), String> {
        let mut reader = InputReader::of(self, Source::folder(folder, access));
        let files: Result<Vec<InputFile>, Problem> = reader.read(context).into_iter().collect();
        let files = files.map_err(|problem| problem.message)?;
        Ok((self.with_records_of(&self.files.iter().chain(&files).collect::<Vec<_>>(), context), files))
    }

    /// The agent with the files that its context and the cases of its definition name.
    pub(super) fn with_input_files(mut self, source: &Source, problems: &mut Problems) -> Self {
        let mut reader = InputReader::of(&self, source.clone());
        if !reader.reads_files() {
            return self;
        }
        let of_cases = self.cases().unwrap_or_default().into_iter().filter_map(|case| case.context);
        for context in std::iter::once(source.without_replaced(&self.context)).chain(of_cases) {
            for file in reader.read(&context).into_iter().filter_map(|read| problems.take(read)) {
                if reader.known.insert(file.path.clone()) {
                    self.files.push(file);
                }
            }
        }
        self
    }
}

impl Case {
    /// The inputs of a run of this case, with the record of each known file in place of its name.
    pub fn inputs(&self, agent: &Agent) -> Json {
        let context = self.context.as_ref().unwrap_or(&agent.context);
        agent.with_records_of(&agent.files.iter().chain(&self.files).collect::<Vec<_>>(), context)
    }

    /// The agent and the context of a run of this case. The agent knows the files of this context and no others.
    pub(crate) fn run_inputs(&self, agent: Agent) -> (Agent, Json) {
        let context = self.inputs(&agent);
        let records = FileRecord::all_in(&context);
        let files = agent.files.iter().chain(&self.files).filter(|file| records.contains(&file.record));
        let files = files.cloned().collect();
        (Agent { files, ..agent }, context)
    }
}

/// Reads the files that contexts of an agent name. A file that consecutive contexts name is read once.
#[derive(Debug, Clone)]
pub(super) struct InputReader {
    params: Vec<Field>,
    source: Source,
    known: HashSet<String>,
    /// The files of the last context.
    last: Vec<InputFile>,
}

impl InputReader {
    /// The reader for this agent, whose files are known.
    pub(super) fn of(agent: &Agent, source: Source) -> Self {
        let known = agent.files.iter().map(|file| file.path.clone()).collect();
        Self { params: file_params(agent.signature.as_deref()), source, known, last: Vec::new() }
    }

    /// Returns whether contexts of the agent may name files.
    pub(super) fn reads_files(&self) -> bool {
        !self.params.is_empty() && !self.source.is_complete()
    }

    /// The files that a context names and that are not known.
    pub(super) fn read(&mut self, context: &Json) -> Vec<Result<InputFile, Problem>> {
        let members = context.members().filter(|_| self.reads_files()).unwrap_or_default();
        let named = members.iter().filter_map(|member| {
            let path =
                named(&member.value).filter(|path| is_of(&self.params, &member.key) && !self.known.contains(*path))?;
            let key = format!("context.{}", member.key);
            if let Some(file) = self.last.iter().find(|file| file.path == path) {
                return Some(Ok(file.clone()));
            }
            Some(self.source.read_input(&key, path).map_err(|problem| {
                let message = format!("`{key}` {problem}");
                Problem { key, span: member.value.span, message }
            }))
        });
        let read: Vec<_> = named.collect();
        self.last = read.iter().filter_map(|file| file.as_ref().ok()).cloned().collect();
        read
    }
}
