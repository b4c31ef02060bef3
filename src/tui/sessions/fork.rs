//! The dialog of a fork: which turn, which stage, what is changed there.

use crate::event::Address;
use crate::tui::archive::{Ask, Forking, Points, Spot, TurnPoints};
use crate::tui::backend::SessionKey;
use crate::tui::colours::Language;
use crate::tui::form::{Choice, Field, Form, Input};

/// A fork that is being described.
#[derive(Debug, Clone)]
pub struct Fork {
    /// The session.
    pub key: SessionKey,
    /// The turn that was under the cursor.
    pub wanted: Option<Address>,
    /// Where it can be forked.
    pub points: Points,
    /// What the text of the form belongs to.
    spot: Option<Spot>,
}

/// Something that can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Nothing,
    Reply,
    /// prompt, signature, context: with the language that it is written in.
    Text(&'static str, Language),
    Memory,
    /// The result of this call.
    Result(Address),
}

impl Fork {
    /// The dialog while the session is read.
    pub fn open(key: SessionKey, wanted: Option<Address>) -> (Form, Self) {
        let form = Form {
            title: "Fork: a new session from a turn of this one".to_owned(),
            verb: "fork",
            waiting: Some("reading the session …"),
            ..Form::default()
        };
        (form, Self { key, wanted, points: Points::default(), spot: None })
    }

    /// The session was read.
    pub fn filled(&mut self, form: &mut Form, points: Points) -> Vec<Ask> {
        self.points = points;
        form.waiting = None;
        let turns = &self.points.turns;
        if turns.is_empty() {
            form.fail("the session holds no turns: R runs it again from its start");
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
        form.put(Field::choice("change", "What the new session does differently.", Vec::new(), 0));
        form.put(Field::choice("stage", "Where in the turn the new session begins.", Vec::new(), 0));
        form.put(Field::line("model", "Another model for what follows; empty: the recorded one.", ""));
        form.focus = 1;
        self.changed(form)
    }

    /// Brings stages and text into line with turn and change.
    pub fn changed(&mut self, form: &mut Form) -> Vec<Ask> {
        let Some(turn) = self.points.turns.get(form.chosen("turn")).cloned() else { return Vec::new() };
        let targets = targets(&turn);
        choose_among(form, "change", targets.iter().map(|(choice, _)| choice.clone()).collect());
        let target = targets.get(form.chosen("change")).map_or(Target::Nothing, |(_, target)| target.clone());
        choose_among(form, "stage", stages(&turn, &target));
        let spot = self.spot_of(form, &turn, &target);
        let (hint, language) = match &target {
            Target::Nothing => {
                form.remove("text");
                self.spot = None;
                return Vec::new();
            }
            Target::Reply => ("What the model says instead.", Language::Json),
            Target::Text(_, language) => ("What stands there from this turn on.", *language),
            Target::Memory => ("NAME = EXPRESSION, as a program would write the value.", Language::Lisp),
            Target::Result(_) => ("What the tool answers instead, as JSON.", Language::Json),
        };
        if spot == self.spot && form.field("text").is_some() {
            return Vec::new();
        }
        self.spot.clone_from(&spot);
        form.put(Field::text("text", hint, "", language));
        spot.map(Ask::Text).into_iter().collect()
    }

    /// The text that stands at a spot was read.
    pub fn read(&self, form: &mut Form, spot: &Spot, text: Option<String>) {
        let wanted = self.spot.as_ref() == Some(spot);
        let Some(field) = form.fields.iter_mut().find(|field| field.name == "text" && wanted) else { return };
        if let Input::Text(editor, language) = &mut field.input
            && editor.draft.version() == 0
        {
            let text = text.unwrap_or_default();
            let text = if *language == Language::Json { pretty(&text) } else { text };
            editor.draft = crate::tui::draft::Draft::new(text);
        }
    }

    fn spot_of(&self, form: &Form, turn: &TurnPoints, target: &Target) -> Option<Spot> {
        let (at, name) = match target {
            Target::Nothing | Target::Memory => return None,
            Target::Reply => (format!("{}:reply", turn.address), "reply"),
            Target::Text(name, _) => (format!("{}:{}", turn.address, form.choice("stage")), *name),
            Target::Result(call) => (format!("{call}:call"), "result"),
        };
        Some(Spot { key: self.key.clone(), at, target: name.to_owned() })
    }

    /// The fork that is described.
    pub fn submit(&self, form: &Form) -> Result<Ask, String> {
        let unread = || form.error.clone().unwrap_or_else(|| "the session is not read yet".to_owned());
        let turn = self.points.turns.get(form.chosen("turn")).ok_or_else(unread)?;
        let target = targets(turn).into_iter().nth(form.chosen("change")).map_or(Target::Nothing, |(_, target)| target);
        let text = form.written("text").to_owned();
        let stage = form.choice("stage");
        let at = match &target {
            Target::Result(call) => format!("{call}:call"),
            _ => format!("{}:{stage}", turn.address),
        };
        let change = match target {
            Target::Nothing => None,
            Target::Reply if text.trim().is_empty() => return Err("an empty reply is not sent: write one".to_owned()),
            Target::Reply => Some(("reply".to_owned(), text)),
            Target::Text(name, _) => Some((name.to_owned(), text)),
            Target::Result(_) => Some(("result".to_owned(), text)),
            Target::Memory => {
                let (name, value) = text.split_once('=').ok_or("write NAME = EXPRESSION")?;
                Some((format!("memory.{}", name.trim()), value.trim().to_owned()))
            }
        };
        Ok(Ask::Fork(self.key.clone(), Forking { at, change, model: form.said("model") }))
    }
}

/// Puts other values into a choice; the chosen one stays when it is still there.
fn choose_among(form: &mut Form, name: &str, values: Vec<Choice>) {
    let before = form.choice(name).to_owned();
    if let Some(Input::Choice { options, chosen }) =
        form.fields.iter_mut().find(|field| field.name == name).map(|field| &mut field.input)
    {
        *chosen = values.iter().position(|value| value.name == before).unwrap_or(0);
        *options = values;
    }
}

/// What can be changed at a turn.
fn targets(turn: &TurnPoints) -> Vec<(Choice, Target)> {
    let mut all = vec![(Choice::new("nothing", "goes on live from there"), Target::Nothing)];
    if turn.stages.contains(&"reply") {
        all.push((Choice::new("reply", "what the model said"), Target::Reply));
    }
    if turn.stages.contains(&"request") || turn.stages.contains(&"after") {
        let text = |name, meaning, language| (Choice::new(name, meaning), Target::Text(name, language));
        all.push(text("prompt", "the task, as a template", Language::Template));
        all.push(text("signature", "inputs and answer", Language::Signature));
        all.push(text("context", "the data, as JSON", Language::Json));
        all.push((Choice::new("memory", "a definition of the programs"), Target::Memory));
    }
    let result = |(call, tool): &(Address, String)| {
        let place = call.as_str().strip_prefix(turn.address.as_str()).unwrap_or(call.as_str());
        let name = format!("result of {tool} ({})", place.trim_start_matches('/'));
        (Choice::new(name, "what the tool answered"), Target::Result(call.clone()))
    };
    all.extend(turn.calls.iter().map(result));
    all
}

/// The stages at which a change can be made.
fn stages(turn: &TurnPoints, target: &Target) -> Vec<Choice> {
    let wanted: &[&str] = match target {
        Target::Nothing => &["request", "reply", "after"],
        Target::Reply => &["reply"],
        Target::Result(_) => return vec![Choice::new("call", "the call is kept, its result is not")],
        Target::Text(..) | Target::Memory => &["request", "after"],
    };
    let meaning = |stage: &str| match stage {
        "request" => "before the turn: its request is made anew",
        "reply" => "its request is kept, the reply is open",
        _ => "the turn is kept, the next one is open",
    };
    let there = turn.stages.iter().filter(|stage| wanted.contains(*stage));
    there.map(|stage| Choice::new(*stage, meaning(stage))).collect()
}

/// JSON on several lines; other texts as they are.
fn pretty(text: &str) -> String {
    match ptc_core::value::json::parse(text) {
        Ok(json) if matches!(text.trim_start().chars().next(), Some('{' | '[')) => json.to_pretty(),
        _ => text.to_owned(),
    }
}
