//! Popups on top of a screen: questions, lists, dialogs, texts.

use super::{Editor, Find, Menu};
use crate::agent::{Fix, Mode};
use crate::event::Address;
use crate::port::Question;
use crate::tool::NamedFile;
use crate::tui::actions::Context;
use crate::tui::archive::{AgentSource, SuggestedTexts};
use crate::tui::draft::Draft;
use crate::tui::form::{Field, Form};
use crate::tui::found::HitPlace;
use crate::tui::model::Differs;
use crate::tui::overview::TurnPrompt;
use crate::tui::recovery::Recovery;
use crate::tui::sessions::Purpose;
use crate::tui::traffic::HeldQuestion;
use crate::workbench::format::{count, plural};
use crate::workbench::optimize::{SuggestRequest, SuggestedEdit};
use crate::workbench::wording::in_plain_words;
use crate::workbench::{ComparedPart, FailureGroup, FailurePlace, OpenAgent, SessionKey};

/// The object that is saved under a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveWhat {
    /// The agent's file.
    Agent,
    /// The folder of a session that cannot be written where it began.
    Session,
}

impl SaveWhat {
    /// Title of the question for the path.
    pub fn title(self) -> &'static str {
        match self {
            Self::Agent => "Save the agent",
            Self::Session => "Save the session elsewhere",
        }
    }
}

/// Something on top of a screen.
#[derive(Debug, Clone)]
pub enum Popup {
    /// Every key, scrolled by this many rows.
    Help {
        /// First visible row.
        top: usize,
    },
    /// Actions by name.
    Palette {
        /// The typed text.
        input: Draft,
        /// Selected entry.
        selected: usize,
    },
    /// Actions by context.
    Menu(Menu),
    /// The search in the transcript, the inspector or the help.
    Seek {
        /// The typed text.
        input: Draft,
    },
    /// The number of a turn, or a filter of turns.
    Turns {
        /// Meaning of the typed text.
        what: TurnPrompt,
        /// The typed text.
        input: Draft,
    },
    /// The search over an editor.
    Find(Box<Find>),
    /// The fixes of a finding, or another list of which one line is chosen.
    Fixes {
        /// Its title.
        title: &'static str,
        /// The finding, or the question that the list answers.
        message: String,
        /// The lines to choose from.
        fixes: Picks,
        /// Selected line.
        selected: usize,
    },
    /// The tour, at this of its steps, from 0.
    Tour(usize),
    /// Unsaved edits: save, discard, stay.
    Leaving(LeaveAction),
    /// Kept texts of an earlier start.
    Recovery(Box<Recovery>),
    /// The path to save to.
    SavePath {
        /// The object that is saved.
        what: SaveWhat,
        /// The path.
        field: Box<Field>,
        /// Error of the previous path.
        error: Option<String>,
    },
    /// There is another file.
    Overwrite {
        /// The path.
        path: String,
    },
    /// The user is the model, or decides.
    Answer {
        /// The question.
        question: Question,
        /// Source of the question.
        asker: Asker,
        /// First visible row of the question.
        top: usize,
        /// Rows of the question that were visible, from the first on without a gap.
        read: usize,
        /// All of them were visible.
        end_seen: bool,
        /// The reply being written.
        editor: Box<Editor>,
    },
    /// Several fields to fill in, and what they are for.
    Form(Box<Form>, Purpose),
    /// The first request of the draft.
    Preview {
        /// The mode that it is compared with.
        against: Option<Against>,
        /// First visible row.
        top: usize,
    },
    /// A replay differs: what is done about it.
    Differs(Box<Differs>),
}

/// Source of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// The run of the workbench.
    Run,
    /// An agent to open: it names this file outside of its folder.
    Agent(AgentSource, Box<NamedFile>),
    /// The dialog of prompts: it needs the server of this definition.
    Prompts(String),
    /// An exchange of another program that waits.
    Held(HeldQuestion),
}

/// Options that need nothing to have been read.
pub const REFUSALS: [&str; 2] = ["deny", "skip"];

impl Popup {
    /// Returns whether it is a question of the workbench's run.
    pub fn is_of_run(&self) -> bool {
        matches!(self, Self::Answer { asker: Asker::Run, .. })
    }

    /// Returns whether it is a question that one letter answers.
    pub fn is_choice(&self) -> bool {
        matches!(self, Self::Answer { question, .. } if !question.options.is_empty())
    }

    /// Returns whether it opens by itself, and keys in it do more than scroll.
    pub fn opens_unrequested(&self) -> bool {
        let is_suggestion = matches!(self, Self::Fixes { fixes: Picks::Suggestion { .. }, .. });
        let is_question = matches!(self, Self::Recovery(_) | Self::Overwrite { .. } | Self::Differs(_));
        let is_held = matches!(self, Self::Answer { asker: Asker::Held(asks), .. } if asks.is_unrequested);
        is_suggestion || is_question || is_held || self.is_choice()
    }

    /// Its context.
    pub fn context(&self) -> Context {
        match self {
            Self::Help { .. } => Context::Reading,
            Self::Preview { .. } => Context::Preview,
            Self::Differs(_) => Context::Differs,
            Self::Menu(_) => Context::Menu,
            Self::Palette { .. } => Context::Palette,
            Self::Seek { .. } => Context::Seek,
            Self::Turns { .. } => Context::TurnPrompt,
            Self::Find(_) => Context::Find,
            Self::Fixes { .. } => Context::Fixes,
            Self::Tour(_) => Context::Tour,
            Self::Leaving(_) => Context::Leaving,
            Self::Recovery(_) => Context::Recovery,
            Self::SavePath { .. } => Context::SavePath,
            Self::Overwrite { .. } => Context::Overwrite,
            Self::Answer { .. } => Context::Answer,
            Self::Form(..) => Context::Dialog,
        }
    }
}

/// The lines of a list of which one is taken.
#[derive(Debug, Clone)]
pub enum Picks {
    /// Changes of the texts.
    Fixes(Vec<Fix>),
    /// Failures to look at: a line for each kind, and one for each place of it.
    Failures(Vec<FailureLine>),
    /// Matches of a search, in the order of the text.
    Hits(Vec<HitLine>),
    /// The question before a model is asked for a suggestion.
    Question {
        /// The line that sends it.
        line: String,
        /// The request that would be sent.
        request: Box<SuggestRequest>,
    },
    /// Suggested changes of the draft, each with its lines.
    Suggestion {
        /// The remaining changes.
        edits: Vec<SuggestedEdit>,
        /// All of it.
        suggested: Box<SuggestedTexts>,
    },
}

impl Picks {
    /// The lines.
    pub fn titles(&self) -> Vec<String> {
        match self {
            Self::Fixes(fixes) => fixes.iter().map(|fix| fix.title.clone()).collect(),
            Self::Failures(lines) => lines.iter().map(|line| line.title.clone()).collect(),
            Self::Hits(lines) => lines.iter().map(|line| line.title.clone()).collect(),
            Self::Question { line, .. } => vec![line.clone()],
            Self::Suggestion { edits, .. } => {
                let lines = |edit: &SuggestedEdit| {
                    let changed = edit.lines.iter().map(|line| format!("  {line}"));
                    std::iter::once(edit.fix.title.clone()).chain(changed).collect::<Vec<_>>()
                };
                edits.iter().flat_map(lines).collect()
            }
        }
    }

    /// The suggested change to which a line belongs.
    pub fn edit_at(&self, line: usize) -> Option<&SuggestedEdit> {
        let Self::Suggestion { edits, .. } = self else { return None };
        let mut end = 0;
        edits.iter().find(|edit| {
            end += 1 + edit.lines.len();
            line < end
        })
    }

    /// Returns the number of lines.
    pub fn count(&self) -> usize {
        match self {
            Self::Fixes(fixes) => fixes.len(),
            Self::Failures(lines) => lines.len(),
            Self::Hits(lines) => lines.len(),
            Self::Question { .. } => 1,
            Self::Suggestion { edits, .. } => edits.iter().map(|edit| 1 + edit.lines.len()).sum(),
        }
    }
}

/// A line of the matches of a search, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitLine {
    /// Its text.
    pub title: String,
    /// The place.
    pub place: HitPlace,
}

/// A line of the failures, and what it opens.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureLine {
    /// Its text.
    pub title: String,
    /// The session.
    pub session: SessionKey,
    /// The turn or call.
    pub at: Address,
    /// The places that replace this line when it is chosen.
    pub rest: Vec<FailureLine>,
}

/// Places of a kind of failure that are listed at first.
const FIRST_PLACES: usize = 3;

/// Lines for kinds of failures: one for the kind, which opens the newest, and one for each place where there are several; the places that
/// exceed the first few are in one line that lists them when it is opened.
pub fn failure_lines(groups: &[FailureGroup], when: impl Fn(i64) -> String) -> Vec<FailureLine> {
    let mut lines = Vec::new();
    for group in groups {
        let (title, session) = (failure_title(group), group.newest.key());
        lines.push(FailureLine { title, session, at: group.at.clone(), rest: Vec::new() });
        if group.places.len() < 2 {
            continue;
        }
        let places = group.places.iter().map(|place| FailureLine {
            title: place_title(place, &when(place.created_ms)),
            session: place.session.clone(),
            at: place.at.clone(),
            rest: Vec::new(),
        });
        let mut places: Vec<FailureLine> = places.collect();
        // A line for one place more takes as much room as the place.
        if places.len() > FIRST_PLACES + 1 {
            let rest = places.split_off(FIRST_PLACES);
            let (session, at) = (rest[0].session.clone(), rest[0].at.clone());
            places.push(FailureLine { title: more_places(group, rest.len()), session, at, rest });
        }
        lines.extend(places);
    }
    lines
}

fn place_title(place: &FailurePlace, when: &str) -> String {
    let message = in_plain_words(&place.message);
    format!("  {when}  {}  {}  {message}", place.at, place.agent).trim_end().to_owned()
}

/// The line for the places that follow the first ones. Of a session that failed very often not every place is kept.
fn more_places(group: &FailureGroup, kept: usize) -> String {
    match group.count.saturating_sub(FIRST_PLACES) {
        all if all > kept => format!("  … {} more places, {} of them listed", count(all as u64), count(kept as u64)),
        _ => format!("  … {} more places", count(kept as u64)),
    }
}

/// Returns the title of a kind of failure: reason, path, numbers of failures and sessions; the message of a failure that happened once.
fn failure_title(group: &FailureGroup) -> String {
    let of = if group.path.is_empty() { String::new() } else { format!(" of {}", group.path) };
    let (times, sessions) = (plural(group.count as u64, "time"), plural(group.sessions as u64, "session"));
    let message = match group.places.as_slice() {
        [only] if !only.message.is_empty() => format!(" · {}", in_plain_words(&only.message)),
        _ => String::new(),
    };
    format!("{}{of} · {times} in {sessions}{message}", group.reason)
}

/// The mode that a preview is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// The other mode.
    pub mode: Mode,
    /// The differences, or why that mode would send nothing; `None` until it is known.
    pub held: Option<Result<Vec<ComparedPart>, String>>,
}

/// The action after a successful save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterSave {
    /// Nothing.
    Stay,
    /// The program ends.
    Quit,
    /// This is opened.
    Open(AgentSource),
}

/// The action that waits for unsaved edits.
#[derive(Debug, Clone, PartialEq)]
pub enum LeaveAction {
    /// The program is to end.
    Program,
    /// Something was read that takes their place: where it comes from, and it.
    For(AgentSource, Box<OpenAgent>),
}
