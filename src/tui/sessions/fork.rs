//! The dialog of a fork: its turn, stage and changes. Editing and continuing is the same dialog, opened at a text.

use super::check::{self, ReplyChecker};
use super::{Dialog, Purpose};
use crate::event::{Address, Edit, Editor, ErrorRecord};
use crate::replay::Stage;
use crate::session::ParentKind;
use crate::tui::archive::{ArchiveRequest, EditTarget};
use crate::tui::colours::Language;
use crate::tui::form::{Choice, Field, Form, Input};
use crate::tui::theme::Role;
use crate::tui::transcript::input_check::InputCheck;
use crate::workbench::format::size;
use crate::workbench::{CurrentText, ForkChange, ForkPoints, ForkSpec, PROGRAM, SessionKey, TurnPoints};

/// Maximum bytes of the earlier text that are shown as notes.
const NOTE_BYTES: usize = 32 << 10;

/// A fork that is being described.
#[derive(Debug, Clone)]
pub struct Fork {
    /// The session.
    pub key: SessionKey,
    /// The turn that was under the cursor.
    pub wanted: Option<Address>,
    /// The points at which it can be forked.
    pub points: ForkPoints,
    /// Target of the text in the form.
    edited: Option<EditTarget>,
    /// Purpose of the dialog.
    aim: Aim,
    /// The answer that the turn's request asks for, and the tools that it offers.
    checker: ReplyChecker,
    /// The text of the session there, as it was put into the form.
    original: Option<String>,
}

/// Purpose of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// A fork, with or without an edit.
    Fork,
    /// An edit, and continuing from there.
    Edit,
}

/// Something that can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Nothing,
    Reply,
    /// prompt, signature, context: with the language that it is written in.
    Text(&'static str, Language),
    Memory,
    Program,
    /// This name, which the turn defined.
    Defined(String),
    /// The result of this call.
    Result(Address),
}

impl Fork {
    /// The dialog while the session is read.
    pub fn open(key: SessionKey, wanted: Option<Address>, aim: Aim) -> Dialog {
        let (title, verb) = match aim {
            Aim::Fork => ("Fork: a new session from a turn of this one", "fork"),
            Aim::Edit => ("Edit and continue: a new session continues with the edit", "apply"),
        };
        let waiting = Some("reading the session …");
        let form = Form { title: title.to_owned(), verb, waiting, held: Some(Vec::new()), ..Form::default() };
        let requests = vec![ArchiveRequest::ForkPoints(key.clone())];
        let (points, checker) = (ForkPoints::default(), ReplyChecker::default());
        let fork = Self { key, wanted, points, edited: None, aim, checker, original: None };
        Dialog { form, purpose: Purpose::Fork(Box::new(fork)), requests }
    }

    /// Returns the start of the new session in words: its origin, the point, and what is edited.
    pub fn origin(&self, form: &Form) -> Option<String> {
        let turn = self.points.turns.get(form.chosen("turn"))?;
        let target = targets(turn).into_iter().nth(form.chosen("change"))?.1;
        let changed = match &target {
            Target::Nothing => String::new(),
            _ => format!(" · {} edited", form.choice("change")),
        };
        Some(format!("fork of {} at {}{changed}", self.points.summary.id, at(form, turn, &target)))
    }

    /// Fills the form after the session was read.
    pub fn filled(&mut self, form: &mut Form, points: ForkPoints) -> Vec<ArchiveRequest> {
        self.points = points;
        form.waiting = None;
        let turns = &self.points.turns;
        if turns.is_empty() {
            form.fail("the session has no turns: R runs it again from the start");
            return Vec::new();
        }
        let last = turns.len() - 1;
        let wanted = self.wanted.as_ref().map(Address::turn_part);
        let chosen = turns.iter().position(|turn| Some(&turn.address) == wanted.as_ref()).unwrap_or(last);
        let calls = |turn: &TurnPoints| match turn.calls.len() {
            0 => String::new(),
            count => crate::workbench::format::plural(count as u64, "tool call"),
        };
        let options = turns.iter().map(|turn| Choice::new(turn.address.as_str(), calls(turn))).collect();
        form.put(Field::choice("turn", "Everything before it is kept byte for byte.", options, chosen));
        form.put(Field::choice("change", "Edit of the new session.", Vec::new(), 0));
        form.put(Field::choice("stage", "Point of the turn at which the new session starts.", Vec::new(), 0));
        form.put(Field::line("model", "Model of the following turns; empty: the recorded one.", ""));
        form.focus = 1;
        let is_left = form.hidden.has_choice("change");
        let mut asks = self.changed(form);
        if self.aim == Aim::Edit && !is_left {
            let targets = targets(&self.points.turns[chosen]);
            let of_call =
                |target: &Target| matches!(target, Target::Result(call) if Some(call) == self.wanted.as_ref());
            let place = |is: &dyn Fn(&Target) -> bool| targets.iter().position(|(_, target)| is(target));
            let first = place(&of_call).or_else(|| place(&|it| *it == Target::Program));
            let first = first.or_else(|| place(&|it| *it == Target::Reply)).unwrap_or(0);
            if let Some(Input::Choice { chosen, .. }) =
                form.fields.iter_mut().find(|field| field.name == "change").map(|field| &mut field.input)
            {
                *chosen = first;
            }
            asks = self.changed(form);
        }
        if self.aim == Aim::Edit {
            form.focus = form.fields.iter().position(|field| field.name == "text").unwrap_or(1);
        }
        asks
    }

    /// Brings stages and text into line with turn and change.
    pub fn changed(&mut self, form: &mut Form) -> Vec<ArchiveRequest> {
        let Some(turn) = self.points.turns.get(form.chosen("turn")).cloned() else { return Vec::new() };
        let targets = targets(&turn);
        choose_among(form, "change", targets.iter().map(|(choice, _)| choice.clone()).collect());
        let target = targets.get(form.chosen("change")).map_or(Target::Nothing, |(_, target)| target.clone());
        choose_among(form, "stage", stages(&turn, &target));
        let edited = self.edit_target(form, &turn, &target);
        let (hint, language) = match &target {
            Target::Nothing => {
                form.remove("text");
                (self.edited, self.original, form.check) = (None, None, None);
                form.notes.clear();
                return Vec::new();
            }
            Target::Reply => {
                ("The new reply of the model; where tools are offered, /call NAME {json} calls one.", Language::Json)
            }
            Target::Program => ("The program of the reply; the rest of the reply is kept.", Language::Lisp),
            Target::Defined(_) => ("The value from the next turn on, as an expression.", Language::Lisp),
            Target::Text(_, language) if form.choice("stage") == Stage::After.name() => {
                ("The value from the next turn on.", *language)
            }
            Target::Text(_, language) => ("The value from this turn on.", *language),
            Target::Memory => ("NAME = EXPRESSION, as a program would write the value.", Language::Lisp),
            Target::Result(_) => ("The new result of the tool, as JSON.", Language::Json),
        };
        if edited == self.edited && form.field("text").is_some() {
            self.judge(form, &target);
            return Vec::new();
        }
        self.edited.clone_from(&edited);
        self.original = None;
        form.notes.clear();
        let key = edited
            .as_ref()
            .map_or_else(|| form.choice("change").to_owned(), |edited| format!("{} {}", edited.at, edited.name));
        form.put(Field::text("text", hint, "", language).keyed(key));
        self.judge(form, &target);
        edited.map(ArchiveRequest::CurrentText).into_iter().collect()
    }

    /// Returns the problem of the text so far.
    fn judge(&self, form: &mut Form, target: &Target) {
        let text = form.written("text");
        form.check = Some(match target {
            _ if check::is_too_long(text) => {
                InputCheck::so_far(format!("{} · checked when it is used", size(text.len() as u64)))
            }
            Target::Reply => self.checker.reply(text),
            Target::Program => self.checker.program(text),
            Target::Defined(_) => self.checker.expression(text),
            Target::Memory => self.checker.expression(text.split_once('=').map_or("", |(_, value)| value)),
            Target::Result(_) => check::data(text, false),
            Target::Text(_, Language::Json) => check::data(text, true),
            Target::Text(_, Language::Signature) => check::signature(text),
            Target::Text(..) => check::template(text),
            Target::Nothing => InputCheck::default(),
        });
    }

    /// The original text, when another one is shown.
    pub fn original(&self, form: &Form) -> Option<&str> {
        self.original.as_deref().filter(|original| *original != form.written("text"))
    }

    /// Returns whether its text is that of this target.
    pub fn is_about(&self, target: &EditTarget) -> bool {
        self.edited.as_ref() == Some(target)
    }

    /// The text of the session at a target was read.
    pub fn read(&mut self, form: &mut Form, target: &EditTarget, current: CurrentText) {
        let wanted = self.is_about(target);
        let Some(field) = form.fields.iter_mut().find(|field| field.name == "text" && wanted) else { return };
        let Input::Text(_, language) = &field.input else { return };
        let text = current.text.unwrap_or_default();
        // A reply is a text: its layout is part of it.
        let is_data = *language == Language::Json && target.name != Edit::REPLY;
        let text = if is_data { pretty(&text) } else { text };
        field.start_with(text.clone());
        form.notes = if text.trim().is_empty() { Vec::new() } else { earlier(&text) };
        self.original = Some(text);
        self.checker =
            ReplyChecker { want: current.want, schema: current.schema, tools: current.tools, reader: current.reader };
        let turn = self.points.turns.get(form.chosen("turn"));
        if let Some((_, target)) = turn.and_then(|turn| targets(turn).into_iter().nth(form.chosen("change"))) {
            self.judge(form, &target);
        }
    }

    /// Returns the target of the form's text; `None` where there is nothing to read.
    fn edit_target(&self, form: &Form, turn: &TurnPoints, target: &Target) -> Option<EditTarget> {
        let name = match target {
            Target::Nothing | Target::Memory => return None,
            Target::Reply => Edit::REPLY.to_owned(),
            Target::Program => PROGRAM.to_owned(),
            Target::Text(name, _) => (*name).to_owned(),
            Target::Defined(name) => format!("memory.{name}"),
            Target::Result(_) => Edit::RESULT.to_owned(),
        };
        // What cannot be changed there has no text.
        let at = at(form, turn, target);
        (!at.ends_with(':')).then(|| EditTarget { key: self.key.clone(), at, name })
    }

    /// The fork that is described.
    ///
    /// Errors: what must be written or chosen first.
    pub fn submit(&self, form: &Form) -> Result<ArchiveRequest, String> {
        let unread = || form.error.clone().unwrap_or_else(|| "the session is still being read".to_owned());
        let turn = self.points.turns.get(form.chosen("turn")).ok_or_else(unread)?;
        let target = targets(turn).into_iter().nth(form.chosen("change")).map_or(Target::Nothing, |(_, target)| target);
        let text = form.written("text").to_owned();
        let at = at(form, turn, &target);
        if at.ends_with(':') {
            return Err("nothing follows this turn, so a definition has no effect: change the program".to_owned());
        }
        if self.aim == Aim::Edit && target != Target::Nothing && self.original.as_deref() == Some(text.as_str()) {
            return Err(
                "nothing was changed: change the text, or choose `nothing` to continue live from there".to_owned()
            );
        }
        let change = match target {
            Target::Nothing => None,
            Target::Reply if text.trim().is_empty() => return Err("an empty reply is not sent: write one".to_owned()),
            Target::Reply => Some((Edit::REPLY.to_owned(), text)),
            Target::Program if text.trim().is_empty() => {
                return Err("an empty program is not run: write one".to_owned());
            }
            Target::Program => Some((PROGRAM.to_owned(), text)),
            Target::Text(name, _) => Some((name.to_owned(), text)),
            Target::Defined(name) => Some((format!("memory.{name}"), text.trim().to_owned())),
            Target::Result(_) => Some((Edit::RESULT.to_owned(), text)),
            Target::Memory => {
                let (name, value) = text.split_once('=').ok_or("write NAME = EXPRESSION")?;
                Some((format!("memory.{}", name.trim()), value.trim().to_owned()))
            }
        };
        let changes = change.map(|(target, text)| ForkChange::parse(&target, &text)).transpose();
        let changes = changes.map_err(|error: ErrorRecord| error.with_hint())?.into_iter().collect();
        let (model, by, kind) = (form.entered("model"), Editor::User, ParentKind::Fork);
        Ok(ArchiveRequest::Fork(self.key.clone(), ForkSpec { at, changes, model, by, kind }))
    }
}

/// Puts other values into a choice; the chosen one stays when it is still there.
fn choose_among(form: &mut Form, name: &str, values: Vec<Choice>) {
    let before = form.hidden.take_choice(name).unwrap_or_else(|| form.choice(name).to_owned());
    if let Some(Input::Choice { options, chosen, .. }) =
        form.fields.iter_mut().find(|field| field.name == name).map(|field| &mut field.input)
    {
        *chosen = values.iter().position(|value| value.name == before).unwrap_or(0);
        *options = values;
    }
}

/// Returns the parts that can be changed at a turn.
fn targets(turn: &TurnPoints) -> Vec<(Choice, Target)> {
    let mut all = vec![(Choice::new("nothing", "continues live from there"), Target::Nothing)];
    if turn.stages.contains(&Stage::Reply) {
        all.push((Choice::new("reply", "the model's reply"), Target::Reply));
    }
    if turn.program {
        all.push((Choice::new("program", "the model's program"), Target::Program));
    }
    if turn.stages.contains(&Stage::Request) || turn.stages.contains(&Stage::After) {
        let text = |name, meaning, language| (Choice::new(name, meaning), Target::Text(name, language));
        all.push(text("prompt", "the task, as a template", Language::Template));
        all.push(text("signature", "inputs and answer", Language::Signature));
        all.push(text("context", "the inputs, as JSON", Language::Json));
        if turn.has_memory {
            all.push((Choice::new("memory", "a definition of the programs"), Target::Memory));
        }
    }
    let result = |(call, tool): &(Address, String)| {
        let place = call.as_str().strip_prefix(turn.address.as_str()).unwrap_or(call.as_str());
        let name = format!("result of {tool} ({})", place.trim_start_matches('/'));
        (Choice::new(name, "what the tool answered"), Target::Result(call.clone()))
    };
    all.extend(turn.calls.iter().map(result));
    let defined = |name: &String| {
        let meaning =
            if turn.stages.contains(&Stage::After) { "defined in this turn" } else { "nothing follows this turn" };
        (Choice::new(format!("value of {name}"), meaning), Target::Defined(name.clone()))
    };
    all.extend(turn.defined.iter().map(defined));
    all
}

/// The point of a change: `ADDRESS:STAGE`; without a stage where none takes it.
fn at(form: &Form, turn: &TurnPoints, target: &Target) -> String {
    match target {
        Target::Result(call) => format!("{call}:call"),
        _ => format!("{}:{}", turn.address, form.choice("stage")),
    }
}

/// The stages at which a change can be made.
fn stages(turn: &TurnPoints, target: &Target) -> Vec<Choice> {
    let wanted: &[Stage] = match target {
        Target::Nothing => &[Stage::Request, Stage::Reply, Stage::After],
        Target::Reply | Target::Program => &[Stage::Reply],
        Target::Defined(_) => &[Stage::After],
        Target::Result(_) => return vec![Choice::new("call", "the call is kept, its result is the edited one")],
        Target::Text(..) | Target::Memory => &[Stage::Request, Stage::After],
    };
    let there = turn.stages.iter().filter(|stage| wanted.contains(*stage));
    there.map(|stage| Choice::new(stage.name(), meaning(*stage, target))).collect()
}

/// Returns what happens at a stage with this change.
fn meaning(stage: Stage, target: &Target) -> &'static str {
    match (stage, target) {
        (Stage::Reply, Target::Reply) => "the edited reply is used at once, without a request",
        (Stage::Reply, Target::Program) => "the edited program runs at once, without a request",
        (Stage::Reply, _) => "its request is kept, the reply is requested again",
        (Stage::Request, Target::Nothing) => "before the turn: its request is sent again",
        (Stage::Request, _) => "before the turn: its request is sent with the edit",
        (_, Target::Nothing) => "the turn is kept, the next one runs live",
        _ => "the turn is kept, the next one gets the edit",
    }
}

/// The earlier text as notes: of a long one the beginning, as notes are laid out as a whole.
fn earlier(text: &str) -> Vec<(Role, String)> {
    let end = text.floor_char_boundary(NOTE_BYTES);
    let head = if end < text.len() {
        format!("the earlier text, the first {} of {}:", size(end as u64), size(text.len() as u64))
    } else {
        "the earlier text:".to_owned()
    };
    let lines = text[..end].lines().map(|line| (Role::Text, line.to_owned()));
    std::iter::once((Role::Dim, head)).chain(lines).collect()
}

/// JSON on several lines; other texts as they are.
fn pretty(text: &str) -> String {
    match ptc_core::value::json::parse(text) {
        Ok(json) if matches!(text.trim_start().chars().next(), Some('{' | '[')) => json.to_pretty(),
        _ => text.to_owned(),
    }
}
