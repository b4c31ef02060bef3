//! The backend of the measurement: the real one, but every run tells what it is given.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_workbench::agent::{Diagnostic, DraftTexts, Mode};
use ptc_workbench::event::{Address, Envelope, ErrorRecord};
use ptc_workbench::tui::archive::{
    self, Archive, CaseWanted, ExportRefusal, Exporting, Failing, Forking, Hit, Points, QueryProblem, Removals,
    Rerunning, Source, Spot, Taken,
};
use ptc_workbench::tui::backend::{
    AgentFile, Backend, OpenSession, Opening, Overwrite, Policy, Preview, Recovery, Run, SaveError, SessionKey,
    SessionSummary, Trial, Written,
};
use ptc_workbench::tui::compare::backend::{BegunMatrix, Compared, Comparing, MatrixLine, MatrixWish};
use ptc_workbench::tui::inspector::Subject;
use ptc_workbench::tui::live::Live;
use ptc_workbench::workbench::inspect::Inspection;
use ptc_workbench::workbench::matrix::MatrixState;
use ptc_workbench::workbench::{Pipeline, Standing};

use crate::told::Told;

/// The real backend with another run.
pub(crate) struct Scripted {
    pub(crate) live: Live,
    pub(crate) run: Arc<Told>,
    /// Checks of texts that were begun.
    pub(crate) checks: Arc<AtomicUsize>,
}

impl Archive for Scripted {
    fn take(&self, source: &Source) -> Result<Taken, ErrorRecord> {
        self.live.take(source)
    }

    fn search(&self, query: &str) -> Result<Vec<Hit>, QueryProblem> {
        self.live.search(query)
    }

    fn failures(&self, query: &str) -> Result<Vec<Failing>, ErrorRecord> {
        self.live.failures(query)
    }

    fn write(&self, place: &archive::Place, written: &Written) -> Result<(), ErrorRecord> {
        self.live.write(place, written)
    }

    fn points(&self, key: &SessionKey) -> Result<Points, ErrorRecord> {
        self.live.points(key)
    }

    fn text_at(&self, spot: &Spot) -> Result<Standing, ErrorRecord> {
        self.live.text_at(spot)
    }

    fn fork(&self, key: &SessionKey, fork: &Forking) -> Result<Arc<dyn Run>, ErrorRecord> {
        self.live.fork(key, fork)
    }

    fn rerun(&self, key: &SessionKey, rerun: &Rerunning) -> Result<Arc<dyn Run>, ErrorRecord> {
        self.live.rerun(key, rerun)
    }

    fn proceed(&self, key: &SessionKey, message: &str, model: Option<&str>) -> Result<Arc<dyn Run>, ErrorRecord> {
        self.live.proceed(key, message, model)
    }

    fn accept(&self, key: &SessionKey) -> Result<Arc<dyn Run>, ErrorRecord> {
        self.live.accept(key)
    }

    fn example(&self, key: &SessionKey, turn: &Address, prompt: &str) -> Result<String, ErrorRecord> {
        self.live.example(key, turn, prompt)
    }

    fn make_case(&self, key: &SessionKey, case: &CaseWanted) -> Result<String, ErrorRecord> {
        self.live.make_case(key, case)
    }

    fn prepare(&self, key: &SessionKey, rules: &[String]) -> Result<Removals, ErrorRecord> {
        self.live.prepare(key, rules)
    }

    fn export(&self, key: &SessionKey, export: &Exporting) -> Result<String, ExportRefusal> {
        self.live.export(key, export)
    }

    fn events(&self, key: &SessionKey) -> Result<Arc<[Envelope]>, ErrorRecord> {
        self.live.events(key)
    }
}

impl Comparing for Scripted {
    fn compare(&self, names: &[String]) -> Result<Compared, ErrorRecord> {
        self.live.compare(names)
    }

    fn key_of(&self, name: &str) -> Result<SessionKey, ErrorRecord> {
        self.live.key_of(name)
    }

    fn start_modes(&self, texts: &DraftTexts, modes: &[Mode]) -> Result<Vec<Arc<dyn Run>>, Vec<Diagnostic>> {
        self.live.start_modes(texts, modes)
    }

    fn begin_matrix(&self, texts: &DraftTexts, wish: &MatrixWish) -> Result<BegunMatrix, ErrorRecord> {
        self.live.begin_matrix(texts, wish)
    }

    fn go_on_matrix(&self, id: &str, jobs: usize) -> Result<BegunMatrix, ErrorRecord> {
        self.live.go_on_matrix(id, jobs)
    }

    fn matrices(&self) -> Result<Vec<MatrixLine>, ErrorRecord> {
        self.live.matrices()
    }

    fn open_matrix(&self, id: &str) -> Result<MatrixState, ErrorRecord> {
        self.live.open_matrix(id)
    }
}

impl Backend for Scripted {
    fn opening(&self) -> Opening {
        // The tour of a first start would take the keys.
        Opening { first_time: false, ..self.live.opening() }
    }

    fn diagnose(&self, texts: &DraftTexts) -> Vec<Diagnostic> {
        self.checks.fetch_add(1, Ordering::Relaxed);
        self.live.diagnose(texts)
    }

    fn preview(&self, texts: &DraftTexts) -> Preview {
        self.live.preview(texts)
    }

    fn start(&self, _: &DraftTexts) -> Result<Arc<dyn Run>, Vec<Diagnostic>> {
        Ok(self.run.clone())
    }

    fn start_pipeline(&self, _: &Pipeline) -> Result<Arc<dyn Run>, Vec<Diagnostic>> {
        Ok(self.run.clone())
    }

    fn sessions(&self) -> Result<Vec<SessionSummary>, ErrorRecord> {
        self.live.sessions()
    }

    fn open(&self, session: &SessionKey) -> Result<OpenSession, ErrorRecord> {
        self.live.open(session)
    }

    fn resume(&self, session: &SessionKey) -> Result<Arc<dyn Run>, ErrorRecord> {
        self.live.resume(session)
    }

    fn inspect(&self, subject: &Subject, turn: &Address) -> Result<(Inspection, Arc<dyn Trial>), ErrorRecord> {
        self.live.inspect(subject, turn)
    }

    fn replay(&self, session: &SessionKey, policy: Policy) -> Result<Arc<dyn Run>, ErrorRecord> {
        self.live.replay(session, policy)
    }

    fn save(
        &self,
        path: &Path,
        texts: &DraftTexts,
        known: Option<&AgentFile>,
        overwrite: Overwrite,
    ) -> Result<AgentFile, SaveError> {
        self.live.save(path, texts, known, overwrite)
    }

    fn recoveries(&self) -> Vec<Recovery> {
        Vec::new()
    }

    fn keep(&self, _: &Recovery) -> Result<(), ErrorRecord> {
        Ok(())
    }

    fn forget(&self) {}

    fn drop_recovery(&self, _: &str) {}
}
