//! Quick fixes: corrections of findings by one key.
//!
//! In: the texts of a draft, what could be read of them, the findings. Out: replacements of parts of the texts, added to the
//! findings. It must never change a text itself: an interface applies a fix where undo takes it back.

use ptc_core::signature::{self, Field, Signature, Type, underscored};
use ptc_core::template::{self, Template};
use ptc_core::text::{Span, nearest};
use ptc_core::value::Json;
use ptc_core::value::json::Node;

use super::closing;
use super::{Agent, Diagnostic, DraftTexts, Fix, Mode, Place};
use crate::config::document::{self, suggested_name};

/// Parameters that are offered for a text without a name.
const MOST_VALUES: usize = 3;

/// The readable parts of a draft: its signature and its prompt.
pub(super) type Read<'a> = (Option<&'a Signature>, Option<&'a Template>);

/// Adds to each finding what can be done about it.
pub(super) fn propose(texts: &DraftTexts, agent: &Agent, read: Read<'_>, findings: &mut [Diagnostic]) {
    let (signature, template) = read;
    let draft = Draft { texts, agent, signature, template };
    for finding in findings {
        finding.fixes = match finding.place {
            Place::Prompt => draft.of_prompt(finding),
            Place::Signature => draft.of_signature(finding),
            Place::Context => draft.of_context(finding),
            Place::Tools | Place::Options => draft.of_options(finding),
            Place::Program => Vec::new(),
        };
        if finding.fixes.is_empty() {
            finding.fixes.extend(draft.near(finding));
        }
    }
}

/// The change of the options that gives a key this value; `None` where they cannot be read.
pub fn set_option(options: &str, key: &str, value: &str, title: String) -> Option<Fix> {
    let document = document::parse(options).ok()?;
    let value = Json::str(value).to_text();
    Some(match document.members()?.iter().find(|member| member.key == key) {
        Some(member) => fix(title, Place::Options, member.value.span, &value),
        None => fix(title, Place::Options, Span::new(0, 0), &format!("{key} = {value}\n")),
    })
}

struct Draft<'a> {
    texts: &'a DraftTexts,
    agent: &'a Agent,
    signature: Option<&'a Signature>,
    template: Option<&'a Template>,
}

impl Draft<'_> {
    fn params(&self) -> &[Field] {
        self.signature.and_then(|signature| signature.params.as_deref()).unwrap_or_default()
    }

    fn text(&self, place: Place) -> &str {
        match place {
            Place::Prompt => &self.texts.prompt,
            Place::Signature => &self.texts.signature,
            Place::Context => &self.texts.context,
            Place::Tools => &self.texts.tools,
            Place::Program => &self.texts.program,
            Place::Options => &self.texts.options,
        }
    }

    /// A name of the prompt that is not a parameter, or has no value.
    fn of_prompt(&self, finding: &Diagnostic) -> Vec<Fix> {
        let Some(span) = finding.span else { return Vec::new() };
        let Some(template) = self.template else {
            let closing = closing::of_prompt(&self.texts.prompt, span);
            return closing.map(|closing| closing_fix(Place::Prompt, closing)).into_iter().collect();
        };
        let used = template::variables(template).into_iter().find(|used| used.span == span);
        let Some(used) = used else { return Vec::new() };
        let Some((name, _)) = used.path.split_first() else { return Vec::new() };
        if self.params().iter().any(|field| same(&field.name, name)) {
            let missing = member(&self.agent.context, name).is_none();
            return self.fill().filter(|_| missing).into_iter().collect();
        }
        let mut fixes = Vec::new();
        let known = self.params().iter().map(|field| field.name.as_str());
        if let (Some(near), Some(at)) = (nearest(name, known), self.find(Place::Prompt, span, name)) {
            fixes.push(fix(format!("write `{near}` instead of `{name}`"), Place::Prompt, at, near));
        }
        fixes.extend(self.declare(name));
        fixes
    }

    /// A parameter more in the signature, typed like its value in the context.
    fn declare(&self, name: &str) -> Option<Fix> {
        let signature = self.signature?;
        let text = &self.texts.signature;
        let field = format!("{name} {}", type_of(member(&self.agent.context, name)));
        let (at, text) = match signature.params.as_deref() {
            Some([.., last]) => (last.span.end, format!(", {field}")),
            Some([]) => (text.find('(')? + 1, field),
            None if text.contains("->") => (0, format!("({field}) ")),
            None => (0, format!("({field}) -> ")),
        };
        Some(fix(format!("add `{name}` to the signature"), Place::Signature, Span::new(at, at), &text))
    }

    fn of_signature(&self, finding: &Diagnostic) -> Vec<Fix> {
        if self.texts.signature.trim().is_empty() {
            return self.first_signature().into_iter().collect();
        }
        if self.signature.is_none() {
            let closing = closing::of_signature(&self.texts.signature);
            return closing.map(|closing| closing_fix(Place::Signature, closing)).into_iter().collect();
        }
        let params = self.params();
        let Some(place) = params.iter().position(|field| Some(field.span) == finding.span && field.name == finding.key)
        else {
            return Vec::new();
        };
        let name = &params[place].name;
        let prompt = &self.texts.prompt;
        let gap = if prompt.ends_with(char::is_whitespace) || prompt.is_empty() { "" } else { " " };
        let end = Span::new(prompt.len(), prompt.len());
        let used = fix(format!("use `{name}` in the prompt"), Place::Prompt, end, &format!("{gap}{{{{{name}}}}}"));
        // With its comma: the one after it, or the one before the last.
        let span = match (place.checked_sub(1).map(|before| &params[before]), params.get(place + 1)) {
            (_, Some(next)) => Span::new(params[place].span.start, next.span.start),
            (Some(before), None) => Span::new(before.span.end, params[place].span.end),
            (None, None) => params[place].span,
        };
        vec![used, fix(format!("remove the unused parameter `{name}`"), Place::Signature, span, "")]
    }

    /// A signature for a draft that has none, with the names of the prompt as parameters.
    fn first_signature(&self) -> Option<Fix> {
        let mut fields: Vec<String> = Vec::new();
        for used in self.template.map(template::variables).unwrap_or_default() {
            let Some((name, _)) = used.path.split_first() else { continue };
            let field = format!("{name} {}", type_of(member(&self.agent.context, name)));
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        let text = format!("({}) -> {{answer :string}}", fields.join(", "));
        let all = Span::new(0, self.texts.signature.len());
        let title = format!("start with the signature {text}");
        signature::parse(&text).is_ok().then(|| fix(title, Place::Signature, all, &text))
    }

    /// A value that is missing or of another type.
    fn of_context(&self, finding: &Diagnostic) -> Vec<Fix> {
        if super::draft::read_context(&self.texts.context).is_err() {
            return self.of_unreadable_context();
        }
        // What is missing is placed at the bracket that opens the object it should be in.
        let value = finding.span.filter(|_| !finding.key.is_empty()).filter(|span| self.is_value(*span));
        let fix = value.map_or_else(|| self.fill(), |span| self.converted(&finding.key, span));
        fix.into_iter().collect()
    }

    /// A text that is not a JSON object: its brackets are closed, or it becomes the value of a parameter as it is.
    fn of_unreadable_context(&self) -> Vec<Fix> {
        let text = &self.texts.context;
        let closing = closing::of_json(text).map(|closing| closing_fix(Place::Context, closing));
        let texts = self.params().iter().filter(|field| *field.ty.base() == Type::String).take(MOST_VALUES);
        let values = texts.map(|field| {
            let object = Json::object(vec![(field.name.clone(), Json::str(text.as_str()))]);
            let title = format!("use as the value of `{}`", field.name);
            fix(title, Place::Context, Span::new(0, text.len()), &object.to_pretty())
        });
        closing.into_iter().chain(values).collect()
    }

    /// Returns whether these bytes of the context are a whole value.
    fn is_value(&self, span: Span) -> bool {
        self.texts.context.get(span.start..span.end).is_some_and(|text| ptc_core::value::json::parse(text).is_ok())
    }

    /// The value at a path as the type asks for it, converted when that loses nothing; an empty value becomes a sample.
    fn converted(&self, path: &str, span: Span) -> Option<Fix> {
        let mut steps = path.split('.');
        let first = steps.next()?;
        let mut ty = &self.params().iter().find(|field| same(&field.name, first))?.ty;
        for step in steps {
            ty = match ty.base() {
                Type::List(item) => item,
                record => &record.fields().iter().find(|field| same(&field.name, step))?.ty,
            };
        }
        let found = ptc_core::value::json::parse(self.texts.context.get(span.start..span.end)?).ok()?;
        let fits = |json: &Json| signature::check(ty, &json.to_value()).is_empty();
        let value = respelled(&found).filter(fits);
        if value.is_none() && !is_blank(&found) {
            return None;
        }
        let title = match &value {
            Some(value) => format!("write {} here", value.to_text()),
            None => format!("put a sample of {} here", ty.render()),
        };
        let value = value.unwrap_or_else(|| signature::sample(ty, 0, path.rsplit('.').next().unwrap_or_default()));
        Some(fix(title, Place::Context, span, &value.to_text()))
    }

    /// The whole context with a sample for each parameter that has no value.
    fn fill(&self) -> Option<Fix> {
        let params = self.params();
        let old = super::draft::read_context(&self.texts.context).ok()?;
        let mut members: Vec<(String, Json)> = Vec::new();
        for held in old.members().into_iter().flatten() {
            members.push((held.key.clone(), held.value.clone()));
        }
        let missing = params.iter().filter(|field| !members.iter().any(|(key, _)| same(key, &field.name)));
        let missing: Vec<(String, Json)> =
            missing.map(|field| (field.name.clone(), signature::sample(&field.ty, 0, &field.name))).collect();
        if missing.is_empty() {
            return None;
        }
        members.extend(missing);
        let text = Json::object(members).to_pretty();
        let span = Span::new(0, self.texts.context.len());
        Some(fix("fill the inputs with a sample".to_owned(), Place::Context, span, &text))
    }

    /// Fixes for a mode that does not support the tools of the draft.
    fn of_options(&self, finding: &Diagnostic) -> Vec<Fix> {
        let refused = finding.key == "tools" && self.agent.mode == Mode::Json;
        if !refused {
            return Vec::new();
        }
        let Ok(options) = document::parse(&self.texts.options) else { return Vec::new() };
        let written = options.members().unwrap_or_default().iter().find(|member| member.key == "mode");
        let choose = |mode: Mode| {
            let value = format!("\"{}\"", mode.name());
            let title = format!("use the mode {}", mode.name());
            match written {
                Some(member) => fix(title, Place::Options, member.value.span, &value),
                None => fix(title, Place::Options, Span::new(0, 0), &format!("mode = {value}\n")),
            }
        };
        [Mode::PtcLisp, Mode::Text, Mode::JsonLoop].map(choose).into()
    }

    /// The name that the message advises, instead of the one that is there: never for a key whose value is wrong.
    fn near(&self, finding: &Diagnostic) -> Option<Fix> {
        let near = suggested_name(&finding.message)?;
        let span = finding.span?;
        let text = self.text(finding.place);
        let span = match finding.place {
            Place::Tools | Place::Options => misspelled(text, span, &finding.message)?,
            _ => span,
        };
        let there = text.get(span.start..span.end)?;
        let bare = there.trim_matches(|c: char| "\"'{}#/^: ".contains(c));
        let old = bare.rsplit('.').next().filter(|old| !old.is_empty() && !old.contains(char::is_whitespace))?;
        let near = near.trim_start_matches(':');
        let at = self.find(finding.place, span, old)?;
        Some(fix(format!("write `{near}` instead of `{old}`"), finding.place, at, near))
    }

    /// The position of a name inside a part of a text.
    fn find(&self, place: Place, within: Span, name: &str) -> Option<Span> {
        let part = self.text(place).get(within.start..within.end)?;
        let at = within.start + part.rfind(name)?;
        Some(Span::new(at, at + name.len()))
    }
}

/// The place of the word that a message about a TOML text calls unknown: the key here, else a text in its value.
fn misspelled(text: &str, span: Span, message: &str) -> Option<Span> {
    let (before, _) = message.rsplit_once("did you mean ")?;
    let words: Vec<&str> = before.split(['`', '"', '\'']).skip(1).step_by(2).filter(|word| !word.is_empty()).collect();
    let here = text.get(span.start..span.end)?.trim_matches(['"', '\'']);
    if words.iter().any(|word| *word == here || word.rsplit('.').next() == Some(here)) {
        return Some(span);
    }
    let document = document::parse(text).ok()?;
    let value = value_at(&document, span)?;
    // The position of the value, or that of a text inside it.
    let found = text_in(value, &words)?;
    text.get(found.start..found.end).map(|_| found)
}

/// The value of the key at this place, or the value that is there itself.
fn value_at(json: &Json, span: Span) -> Option<&Json> {
    if json.span == span && json.members().is_none() {
        return Some(json);
    }
    let members = json.members().into_iter().flatten();
    let found =
        members.map(|member| if member.key_span == span { Some(&member.value) } else { value_at(&member.value, span) });
    let items = json.items().into_iter().flatten().map(|item| value_at(item, span));
    found.chain(items).flatten().next()
}

/// The place of the first text that is one of these words.
fn text_in(json: &Json, words: &[&str]) -> Option<Span> {
    if let Node::Str(text) = &json.node {
        return words.contains(&text.as_str()).then_some(json.span);
    }
    let members = json.members().into_iter().flatten().map(|member| text_in(&member.value, words));
    members.chain(json.items().into_iter().flatten().map(|item| text_in(item, words))).flatten().next()
}

fn closing_fix(place: Place, (at, more): closing::Insertion) -> Fix {
    fix(format!("close it with `{more}`"), place, Span::new(at, at), &more)
}

/// Returns whether a value is null or blank text.
fn is_blank(json: &Json) -> bool {
    matches!(&json.node, Node::Null) || matches!(&json.node, Node::Str(text) if text.trim().is_empty())
}

fn fix(title: String, place: Place, span: Span, text: &str) -> Fix {
    Fix { title, place, span, text: text.to_owned() }
}

fn same(one: &str, other: &str) -> bool {
    underscored(one) == underscored(other)
}

fn member<'a>(context: &'a Json, name: &str) -> Option<&'a Json> {
    context.members()?.iter().find(|member| same(&member.key, name)).map(|member| &member.value)
}

/// A type that a value has; text when there is none.
fn type_of(value: Option<&Json>) -> &'static str {
    match value.map(|value| &value.node) {
        Some(Node::Bool(_)) => ":bool",
        Some(Node::Int(_) | Node::Big(_) | Node::Float(_)) => ":number",
        Some(Node::List(_)) => "[:any]",
        Some(Node::Object(_)) => ":map",
        Some(Node::Null) => ":any",
        None | Some(Node::Str(_)) => ":string",
    }
}

/// The same value as text instead of a number, or as a number, true or false instead of text.
fn respelled(value: &Json) -> Option<Json> {
    match &value.node {
        Node::Str(text) => ptc_core::value::json::parse(text.trim()).ok(),
        Node::Int(_) | Node::Big(_) | Node::Float(_) | Node::Bool(_) => Some(Json::str(value.to_text())),
        _ => None,
    }
}
