//! The transcript: a fold of events into cards, and a viewport that lays out only the visible ones.
//!
//! In: events of a live run or of a saved session, the size of the pane, moves of the reader. Out: visible rows, and which
//! turns of a saved session must be read. It must never lay out or add up all cells for one frame.

mod body;
mod branches;
pub mod card;
pub mod cell;
pub mod fenwick;
mod fold;
pub mod input_check;
mod layout;
mod order;
pub mod outline;
pub mod partial;
mod pieces;
mod places;
mod search;
mod select;
mod texts;
mod totals;
mod unread;
mod viewport;
pub mod wrapped_text;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use card::MessageStore;
use fenwick::Heights;
use viewport::Viewport;

use crate::event::{Address, ErrorRecord, Gaps, Notice, NoticeLevel, RunLedger, RunStart, Tokens};
use crate::session::TurnEntry;
use crate::workbench::overview::{Overview, TurnLine};
use crate::workbench::{Budget, Definitions};

pub use branches::Fold;
pub use cell::Cell;
pub use fenwick::HiddenAmount;
pub use select::Spot;
pub use totals::AllRuns;
pub use viewport::{Scroll, Visible, VisibleRow};
pub use wrapped_text::View;

pub use crate::workbench::format;

/// A run or a session as cards.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    cells: Vec<Cell>,
    /// Positions of the cells of each turn.
    turns: places::TurnPlaces,
    /// Turns that began and did not end.
    moving: Vec<Address>,
    /// Start times of the runs, Unix time in ms.
    started: HashMap<Address, i64>,
    /// Start events of the runs.
    starts: HashMap<Address, RunStart>,
    ledgers: HashMap<Address, RunLedger>,
    /// Error of the last failed tool call of each run, as far as it was seen.
    refused: HashMap<Address, ErrorRecord>,
    gaps: Gaps,
    /// Child runs that are folded.
    folded: Vec<Address>,
    /// All cards were unfolded: those of turns that are read later are open too.
    unfolded: bool,
    /// Turns of a saved session whose bodies are here, the longest first.
    read: VecDeque<Arc<TurnEntry>>,
    store: MessageStore,
    definitions: Definitions,
    readers: input_check::Readers,
    /// The content of the title and the status line.
    pub facts: Facts,
    /// Duration of the recorded run, where this is its replay; shown instead of the replay's own duration.
    pub recorded_ms: Option<u64>,
    heights: Heights,
    view: View,
    viewport: Viewport,
    /// The branch of a card's value that the keys are at.
    branch: Option<(usize, outline::Way)>,
    search: search::Search,
    /// One line for each turn; `None` for a saved session whose events were not read as a whole.
    overview: Option<Overview>,
    selection: Option<select::Selection>,
    /// Cells laid out since the start, for tests that count them.
    laid_out: u64,
}

/// The state of the last run in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Its address.
    pub run: Option<Address>,
    /// The agent's name.
    pub agent: String,
    /// Mode.
    pub mode: String,
    /// Aliases of the models that answered; before the first reply, of the model of the run.
    pub model: String,
    /// Limit of turns, when known.
    pub max_turns: Option<u64>,
    /// Number of the current turn; 0 before the first.
    pub turn: u32,
    /// Tokens so far, child runs included.
    pub tokens: Option<Tokens>,
    /// Cost so far, child runs included, when prices and tokens are known.
    pub cost: Option<f64>,
    /// The session has several runs, and this is of all of them.
    pub all: Option<AllRuns>,
    /// Its limits.
    pub budget: Budget,
    /// Tool calls so far.
    pub calls: u64,
    /// Items of the checklist that are done, and all of them.
    pub plan: Option<(usize, usize)>,
    /// Unix time in ms.
    pub started_ms: i64,
    /// Unix time in ms of the last event.
    pub last_ms: i64,
    /// A turn of a saved session failed.
    pub has_failed_turn: bool,
    /// Returned or failed, with the failure.
    pub end: Option<Result<(), ErrorRecord>>,
    /// A user is waited for: no clock runs.
    pub waits: bool,
    /// Nothing more will come, with or without an end.
    pub closed: bool,
}

impl Facts {
    /// The time it took, or the time so far with tenths of seconds.
    pub fn time(&self, now_ms: i64) -> String {
        let elapsed_ms = self.elapsed_ms(now_ms);
        if self.end.is_some() || self.closed { format::duration(elapsed_ms) } else { format::running(elapsed_ms) }
    }

    /// From the start to the end, to the last event of what has none, or to `now_ms` while it runs.
    pub fn elapsed_ms(&self, now_ms: i64) -> u64 {
        let until = if self.end.is_some() || self.closed { self.last_ms } else { self.clock_ms(now_ms) };
        if self.run.is_none() { 0 } else { u64::try_from(until - self.started_ms).unwrap_or_default() }
    }

    /// The time that the clocks of the run show at `now_ms`: while a user is waited for, that of the last event.
    pub fn clock_ms(&self, now_ms: i64) -> i64 {
        if self.waits { self.last_ms } else { now_ms.max(self.last_ms) }
    }
}

impl Transcript {
    /// The turn that is opened: the selected one, else the last.
    pub fn turn_in_hand(&self) -> Option<Address> {
        let mut turns = self.cells.iter().rev().map(|cell| cell.at.turn_part());
        self.selected_turn().or_else(|| turns.find(|at| at.turn_number().is_some()))
    }

    /// Returns whether there are no cards.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Inserts a notice about the origin of the session as the first card.
    pub fn come_from(&mut self, origin: &str) {
        let card = card::Card::Notice(Box::new(Notice { level: NoticeLevel::Info, text: origin.to_owned() }));
        self.insert(0, [(Cell::new(Address::run(0), card, true), 1)]);
    }

    /// The cells, in order.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the view in which texts are shown.
    pub fn view(&self) -> View {
        self.view
    }

    /// Shows texts in another way.
    pub fn set_view(&mut self, view: View) {
        self.view = view;
    }

    /// Cells laid out since the start.
    pub fn laid_out(&self) -> u64 {
        self.laid_out
    }

    /// The card of a turn.
    pub fn turn_card(&self, turn: &Address) -> Option<&card::TurnCard> {
        match &self.cells.get(self.turn_index(turn)?)?.card {
            card::Card::Turn(card) => Some(card),
            _ => None,
        }
    }

    /// A user is asked in this turn, or no longer.
    pub fn set_asked(&mut self, turn: &Address, asked: bool) {
        for card in self.cards_of(turn) {
            card.asked = asked;
        }
    }
}

impl Transcript {
    /// Returns the address of the selected card: a run, turn or call.
    pub fn selected_address(&self) -> Option<Address> {
        self.cells.get(self.selected()?).map(|cell| cell.at.clone())
    }

    /// Selects the card of the turn that an address lies in, and brings it into view. Returns whether there is one.
    pub fn go_to(&mut self, at: &Address) -> bool {
        let Some(cell) = self.turn_index(&at.turn_part()) else { return false };
        if self.cells[cell].hidden {
            let _unfolded = self.unfold_runs_around(cell);
        }
        self.select(cell);
        true
    }

    /// Like `go_to`, and unfolds the card; one that is not in view comes to the top, so that as much of it as possible is seen.
    pub fn jump_to(&mut self, at: &Address) -> bool {
        let found = self.go_to(at);
        if let Some(cell) = self.selected().filter(|_| found) {
            self.cells[cell].open = true;
            self.show_from_start(cell);
        }
        found
    }

    /// The last turn of the last root run.
    pub fn last_turn(&self) -> Option<Address> {
        let turns = self.cells.iter().rev().map(|cell| cell.at.turn_part());
        turns.into_iter().find(|at| at.turn_number().is_some() && at.depth() == 0)
    }

    /// One line for each turn, as of the last refresh; `None` for a saved session that was not read as a whole.
    pub fn overview(&self) -> Option<&Overview> {
        self.overview.as_ref()
    }

    /// Returns whether a failure is known: of the run, or in one of its turns.
    pub fn has_failures(&self) -> bool {
        let has_failed = matches!(self.facts.end, Some(Err(_))) || self.facts.has_failed_turn;
        has_failed || self.overview.iter().flat_map(Overview::lines).any(TurnLine::has_failed)
    }

    /// Brings the lines of the turns up to date.
    pub fn refresh_overview(&mut self) {
        self.overview.iter_mut().for_each(Overview::refresh);
    }

    /// The overview of a saved session.
    pub fn set_overview(&mut self, overview: Overview) {
        self.overview = Some(overview);
    }
}
