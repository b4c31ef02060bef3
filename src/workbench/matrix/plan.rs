//! The plan of a matrix: its cells (an agent in a mode with a model on a case), those in which an agent cannot run, and the seed of every
//! trial.
//!
//! In: a [`MatrixSpec`]. Out: a [`MatrixPlan`] with everything that a later resume needs; agent files are not read again.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use ptc_core::reasons::Reason;
use ptc_core::value::Json;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::run::MatrixError;
use super::state::TrialKey;
use crate::agent::{Agent, Case, CaseChecker, Diagnostic, InputFile, Mode, Place, Plan};
use crate::config::ModelChoice;
use crate::model::Sample;
use crate::workbench::Workbench;
use crate::workbench::prepare::in_own_mode;
use crate::workbench::suite::{CaseFilter, Selection};

/// Agents, modes, models and cases to compare.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatrixSpec {
    /// Agents, each with its name in the cells.
    pub agents: Vec<(String, Agent)>,
    /// Modes; the default when empty.
    pub modes: Vec<Mode>,
    /// Default modes.
    pub default_modes: DefaultModes,
    /// Models; each agent's own when empty.
    pub models: Vec<String>,
    /// Number of trials of each cell.
    pub trials: u32,
    /// Seed from which the seeds of the trials are derived.
    pub seed: u64,
    /// Filter for the cases of each agent.
    pub filter: Box<CaseFilter>,
    /// Base folder for the case files that agents name; the current folder when empty.
    pub folder: PathBuf,
}

/// Modes of the agents of a matrix that names none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DefaultModes {
    /// Each agent runs in all modes.
    #[default]
    All,
    /// Each agent runs in its own mode.
    Own,
}

/// An agent of a matrix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixAgent {
    /// Name in the cells.
    pub name: String,
    /// Definition of the agent when the matrix was planned.
    pub toml: String,
    /// The files that its contexts name. Their bytes are stored with those of the sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<InputFile>,
}

/// Cells of a matrix with the definitions, number of trials and seed to run them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixPlan {
    /// The agents.
    pub agents: Vec<MatrixAgent>,
    /// Number of trials of each cell, at least 1.
    pub trials: u32,
    /// Seed from which the seeds of the trials are derived.
    pub seed: u64,
    /// Cells by agent, mode, model and case, in the order in which they were requested.
    pub cells: Vec<Cell>,
}

/// Agents of a plan by name: the definition without its cases, and the cases by name.
pub(super) struct Definitions(HashMap<String, (Agent, HashMap<String, Case>)>);

impl Definitions {
    /// Returns the cases of the cells in which an agent can run.
    pub(super) fn cases<'d>(&'d self, plan: &'d MatrixPlan) -> impl Iterator<Item = &'d Case> {
        let fit = plan.cells.iter().filter(|cell| cell.unfit.is_none());
        fit.filter_map(|cell| self.0.get(&cell.agent)?.1.get(cell.case.as_ref()?))
    }
}

fn unusable(what: &str) -> MatrixError {
    MatrixError(format!("the plan of the matrix cannot be used: {what}"))
}

/// Name in the cells for the model of an agent that is a program.
const PINNED: &str = "pinned";

/// Everything needed to run one trial.
pub(super) struct TrialSpec {
    /// Agent in its mode.
    pub(super) agent: Agent,
    /// Model; `None` for an agent that is a program.
    pub(super) model: Option<String>,
    /// Case; one without expectations when the agent has no cases.
    pub(super) case: Case,
    /// Seed of the run.
    pub(super) seed: u64,
}

impl MatrixPlan {
    /// Returns every trial, cell by cell.
    pub fn trials(&self) -> impl Iterator<Item = TrialKey> {
        let fit = self.cells.iter().enumerate().filter(|(_, cell)| cell.unfit.is_none());
        fit.flat_map(|(cell, _)| (1..=self.trials).map(move |trial| TrialKey { cell, trial }))
    }

    /// Returns whether the plan contains this trial.
    pub fn has(&self, key: TrialKey) -> bool {
        let cell = self.cells.get(key.cell);
        cell.is_some_and(|cell| cell.unfit.is_none()) && (1..=self.trials).contains(&key.trial)
    }

    /// Returns the seed of a trial: a hash of the matrix's seed, the cell's name and the trial's number, so that a cell has the same seeds
    /// in every matrix. It has 53 bits, which every JSON reader keeps.
    pub fn seed_of(&self, key: TrialKey) -> u64 {
        let cell = self.cells.get(key.cell).map(Cell::name).unwrap_or_default();
        let hash = Sha256::digest(format!("{}\n{cell}\n{}", self.seed, key.trial));
        let bytes = hash.first_chunk::<8>().copied().unwrap_or_default();
        u64::from_be_bytes(bytes) >> 11
    }

    /// Parses the definitions of the agents once for all trials. Errors: a plan that was edited by hand and is invalid.
    pub(super) fn definitions(&self) -> Result<Definitions, MatrixError> {
        let read = |agent: &MatrixAgent| {
            let wrong = |what: &str| unusable(what);
            let definition = Agent::recorded(&agent.toml).map_err(|error| wrong(&error.to_string()))?;
            let definition = Agent { files: agent.files.clone(), ..definition };
            let cases = definition.cases().map_err(|found| wrong(&found.message))?;
            let cases = cases.into_iter().map(|case| (case.name.clone(), case)).collect();
            // Each trial and its session get a copy of the definition: without cases it is small, and the cell names the case.
            Ok((agent.name.clone(), (definition.without_cases(), cases)))
        };
        self.agents.iter().map(read).collect::<Result<_, _>>().map(Definitions)
    }

    /// Returns everything needed to run a trial. Errors: a plan that was edited by hand and is invalid.
    pub(super) fn trial(&self, definitions: &Definitions, key: TrialKey) -> Result<TrialSpec, MatrixError> {
        let wrong = |what: &str| unusable(what);
        let cell = self.cells.get(key.cell).ok_or_else(|| wrong("unknown cell"))?;
        let (agent, cases) = definitions.0.get(&cell.agent).ok_or_else(|| wrong("unknown agent"))?;
        let mode = Mode::from_name(&cell.mode).ok_or_else(|| wrong("unknown mode"))?;
        let case = match &cell.case {
            Some(name) => cases.get(name).cloned().ok_or_else(|| wrong("unknown case"))?,
            None => without_expectations(),
        };
        let agent = agent.for_mode(mode).map_err(|found| wrong(&findings_text(&found)))?;
        // With several trials, none may be answered from the cache of replies of an earlier one.
        let agent = Agent { cache: agent.cache && self.trials == 1, ..agent };
        let model = (agent.program().is_none() || cell.model != PINNED).then(|| cell.model.clone());
        Ok(TrialSpec { agent, model, case, seed: self.seed_of(key) })
    }
}

impl Workbench {
    /// Plans a matrix without running anything or reading keys. Errors: invalid model names, invalid cases, no cell in which an agent can
    /// run. A shard may be empty: its plan has no cells.
    pub fn plan_matrix(&self, spec: &MatrixSpec) -> Result<MatrixPlan, MatrixError> {
        if spec.trials == 0 {
            return Err(MatrixError("a matrix needs at least one trial (--trials)".to_owned()));
        }
        let twice = |mode: &&Mode| spec.modes.iter().filter(|other| other == mode).count() > 1;
        if let Some(mode) = spec.modes.iter().find(twice) {
            return Err(MatrixError(format!("the mode `{}` is named twice", mode.name())));
        }
        let mut plan = MatrixPlan { agents: Vec::new(), trials: spec.trials, seed: spec.seed, cells: Vec::new() };
        for (name, agent) in &spec.agents {
            if plan.agents.iter().any(|known| known.name == *name) {
                return Err(MatrixError(format!("`{name}` is named twice")));
            }
            let agent = agent.clone().with_case_files_read(&spec.folder, self.file_access());
            let agent = agent.map_err(|found| MatrixError(format!("{name}: {}", found.message)))?;
            plan.agents.push(MatrixAgent { name: name.clone(), toml: agent.to_toml(), files: agent.files.clone() });
            let cases =
                chosen(&agent, &spec.filter).map_err(|found| MatrixError(format!("{name}: {}", found.message)))?;
            let Some(cases) = cases else { continue };
            let agent = &agent.without_cases();
            let modes: &[Mode] = match spec.default_modes {
                _ if !spec.modes.is_empty() => &spec.modes,
                DefaultModes::All => &Mode::ALL[..],
                DefaultModes::Own => std::slice::from_ref(&agent.mode),
            };
            for mode in modes {
                let in_mode = agent.for_mode(*mode).and_then(|in_mode| Plan::new(&in_mode));
                let checker = in_mode.as_ref().ok().map(|plan| CaseChecker::of(&plan.agent));
                for model in self.models_of(spec, &Agent { mode: *mode, ..agent.clone() })? {
                    let cell = Cell {
                        agent: name.clone(),
                        mode: mode.name().to_owned(),
                        model,
                        case: None,
                        unfit: in_mode.as_ref().err().map(|findings| findings_text(findings)),
                    };
                    let no_inputs = |case: &Case| {
                        let (plan, checker) = (in_mode.as_ref().ok()?, checker.as_ref()?);
                        no_inputs(plan, &case.inputs(agent)).or_else(|| checker.misfit(case))
                    };
                    plan.cells.extend(of_cases(&cell, &cases, no_inputs));
                }
            }
        }
        if plan.trials().next().is_none() && !plan.cells.is_empty() {
            let reasons =
                plan.cells.iter().filter_map(|cell| Some(format!("{}: {}", cell.name(), cell.unfit.as_ref()?)));
            return Err(MatrixError(format!("no cell can run\n  {}", reasons.collect::<Vec<_>>().join("\n  "))));
        }
        Ok(plan)
    }

    /// Returns the models of the cells of an agent in its mode.
    fn models_of(&self, spec: &MatrixSpec, agent: &Agent) -> Result<Vec<String>, MatrixError> {
        if spec.models.is_empty() && in_own_mode(agent).program().is_some() {
            return Ok(vec![PINNED.to_owned()]);
        }
        let own = || vec![self.model_name(None, agent)];
        let models = if spec.models.is_empty() { own() } else { spec.models.clone() };
        for model in &models {
            if !spec.models.is_empty() {
                self.trust_recording(model);
            }
            if self.choose(model)? == ModelChoice::Human {
                return Err(MatrixError(
                    "the model `human` cannot be compared: a matrix runs without a user".to_owned(),
                ));
            }
            if models.iter().filter(|other| *other == model).count() > 1 {
                return Err(MatrixError(format!("the model `{model}` is named twice")));
            }
        }
        Ok(models)
    }
}

/// Splits lists of models at commas. The options of `sample` contain commas too: `sample:slow,seed=7,demo` is two models.
pub fn split_models(words: &[String]) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for word in words.iter().map(|word| word.trim()) {
        match models.last_mut() {
            Some(last) if last.starts_with("sample:") && Sample::parse(word).is_ok() => {
                *last = format!("{last},{word}");
            }
            _ => models.push(word.to_owned()),
        }
    }
    models
}

/// Returns the cases of an agent that a filter chooses; `None` when this shard contains none of them.
///
/// Errors: an invalid case; a filter that chooses none of the agent's cases.
fn chosen(agent: &Agent, filter: &CaseFilter) -> Result<Option<Vec<Case>>, Diagnostic> {
    let cases = agent.cases()?;
    let selection = Selection::of(cases.iter().cloned().map(Ok), filter)?;
    if selection.count() == 0 && !cases.is_empty() {
        if filter.shard.is_some() {
            return Ok(None);
        }
        let message = format!("none of its {} cases is selected; change --filter, --sample or --shard", cases.len());
        return Err(Diagnostic::error(Place::Options, Reason::InvalidAgent, message).key("cases"));
    }
    Ok(Some(selection.choose(cases)))
}

/// Returns the cell once per case. A cell in which the agent cannot run represents all cases.
fn of_cases(cell: &Cell, cases: &[Case], no_inputs: impl Fn(&Case) -> Option<String>) -> Vec<Cell> {
    if cell.unfit.is_some() {
        return vec![cell.clone()];
    }
    if cases.is_empty() {
        return vec![Cell { unfit: no_inputs(&without_expectations()), ..cell.clone() }];
    }
    let recording = "the case is a recording: `ptc-workbench test` replays it, and no model is asked";
    let of = |case: &Case| Cell {
        case: Some(case.name.clone()),
        unfit: case.cassette.as_ref().map(|_| recording.to_owned()).or_else(|| no_inputs(case)),
        ..cell.clone()
    };
    cases.iter().map(of).collect()
}

/// Returns the reason why an agent cannot run on these inputs, if it cannot.
fn no_inputs(plan: &Plan, inputs: &Json) -> Option<String> {
    let (_, findings) = plan.check_context(inputs);
    findings.iter().any(Diagnostic::is_error).then(|| findings_text(&findings))
}

fn findings_text(findings: &[Diagnostic]) -> String {
    let errors = findings.iter().filter(|finding| finding.is_error()).map(|finding| finding.message.as_str());
    errors.collect::<Vec<_>>().join("; ")
}

/// Returns a case without expectations: it passes when the run returns.
fn without_expectations() -> Case {
    Case::default()
}

/// An agent in a mode with a model on a case; trials are grouped by cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// Agent, as it was named.
    pub agent: String,
    /// Name of the mode.
    pub mode: String,
    /// Model, as it was named.
    pub model: String,
    /// Name of the case; absent when the agent has no cases and runs on its own context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The reason why the agent cannot run here. Such a cell has no trials and represents every case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<String>,
}

impl Cell {
    /// Returns the name of the cell, the same in every matrix: agent, mode, model, case.
    pub fn name(&self) -> String {
        let words = [Some(&self.agent), Some(&self.mode), Some(&self.model), self.case.as_ref()];
        words.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" · ")
    }

    /// Returns whether both cells have the same agent, mode, model and case.
    pub fn is_same(&self, other: &Self) -> bool {
        // Plans of older versions contain agent names as typed.
        let agent = |cell: &Self| called(&cell.agent, Path::new(""));
        let words = |cell: &Self| (agent(cell), cell.mode.clone(), cell.model.clone(), cell.case.clone());
        words(self) == words(other)
    }
}

/// Returns the name of an agent in the cells: its path relative to `here`, without `.`, and without `..` after the name of a folder.
pub fn called(name: &str, here: &Path) -> String {
    let path = Path::new(name);
    let whole = plain(&here.join(path));
    let inside = whole.strip_prefix(plain(here)).map(Path::to_owned);
    inside.unwrap_or_else(|_| plain(path)).display().to_string()
}

/// The path without `.`, and without `..` after the name of a folder.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                plain.pop();
            }
            _ => plain.push(part),
        }
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64) -> MatrixPlan {
        let cell = |mode: &str, unfit: Option<&str>| Cell {
            agent: "a".to_owned(),
            mode: mode.to_owned(),
            model: "demo".to_owned(),
            case: None,
            unfit: unfit.map(ToOwned::to_owned),
        };
        let cells = vec![cell("json", None), cell("text", Some("no")), cell("ptc_lisp", None)];
        MatrixPlan { agents: Vec::new(), trials: 2, seed, cells }
    }

    #[test]
    fn an_agent_has_one_name_however_its_path_is_written() {
        for name in ["m.toml", "./m.toml", "../c/m.toml", "d/../m.toml", "/t/c/m.toml", "/t/x/../c/m.toml"] {
            assert_eq!(called(name, Path::new("/t/c")), "m.toml", "{name}");
        }
        assert_eq!(called("../d/./m.toml", Path::new("/t/c")), "../d/m.toml");
        assert_eq!(called("/other/m.toml", Path::new("/t/c")), "/other/m.toml");
        assert_eq!(called("./d/../m.toml", Path::new("")), "m.toml");
        assert_eq!(called("sales", Path::new("/t/c")), "sales");
    }

    #[test]
    fn cells_that_do_not_fit_have_no_trials() {
        let keys: Vec<_> = plan(0).trials().map(|key| (key.cell, key.trial)).collect();
        assert_eq!(keys, [(0, 1), (0, 2), (2, 1), (2, 2)]);
        assert!(!plan(0).has(TrialKey { cell: 1, trial: 1 }) && !plan(0).has(TrialKey { cell: 0, trial: 3 }));
        assert!(plan(0).has(TrialKey { cell: 2, trial: 2 }));
    }

    #[test]
    fn every_trial_has_a_seed_of_its_own_that_depends_on_nothing_else() {
        let seeds = |plan: &MatrixPlan| plan.trials().map(|key| plan.seed_of(key)).collect::<Vec<_>>();
        let one = seeds(&plan(1));
        assert_eq!(one.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert!(one.iter().all(|seed| *seed < 1 << 53));
        assert_eq!(one, seeds(&plan(1)));
        assert!(seeds(&plan(2)).iter().all(|seed| !one.contains(seed)));
        let mut fewer = plan(1);
        fewer.cells.remove(0);
        assert_eq!(seeds(&fewer), one[2..]);
    }

    #[test]
    fn a_repeat_asks_for_no_cache() {
        let toml = "mode = \"json\"\nprompt = \"go\"\nsignature = \"{n :int}\"\ncache = true\n";
        let of = |trials: u32| {
            let agents = vec![MatrixAgent { name: "a".to_owned(), toml: toml.to_owned(), files: Vec::new() }];
            let plan = MatrixPlan { agents, trials, ..plan(0) };
            plan.trial(&plan.definitions().unwrap(), TrialKey { cell: 0, trial: 1 }).unwrap().agent.cache
        };
        assert_eq!((of(1), of(2)), (true, false));
    }
}
