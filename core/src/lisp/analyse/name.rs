//! Resolves symbols, and reports unknown names.

use super::word::HISTORY;
use super::{Analyser, AnalysisResult, absent, is_form};
use crate::lisp::builtins::{self, namespaces};
use crate::lisp::ir::{Expr, Local, Node, Unbound};
use crate::lisp::machine::Callable;
use crate::lisp::{Error, Form, ToolInfo};
use crate::reasons::Reason;
use crate::signature::underscored;
use crate::text::{Span, nearest};
use crate::value::{Keyword, Map, Value};

use super::scope::LocalSource;
use super::word::Word;

/// Unknown names and tools, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Unknown {
    names: Vec<Name>,
    tools: Vec<Tool>,
}

/// An unknown tool and its span.
type Tool = (Box<str>, Span);

/// An unknown name, its span, and the locals visible there.
type Name = (Keyword, Span, Vec<&'static str>);

/// Names of one kind, and the prefix that programs write before them.
type Group<'n> = (&'static str, Vec<&'n str>);

/// Number of unknown names that one message lists.
const LISTED: usize = 20;

impl Unknown {
    /// The number of unknown names so far.
    pub(super) fn mark(&self) -> usize {
        self.names.len()
    }

    /// Forgets the names added since the mark: errors inside an unknown form add nothing.
    pub(super) fn forget(&mut self, mark: usize) {
        self.names.truncate(mark);
    }

    /// Fails if names or tools are unknown.
    pub(super) fn check(&self, analyser: &Analyser<'_>) -> Result<(), Error> {
        let seen = self.distinct(LISTED + 1);
        if !seen.is_empty() {
            return Err(unbound(&seen, analyser));
        }
        self.tools.first().map_or(Ok(()), |unknown| Err(no_tool(unknown, analyser)))
    }

    /// One error for each unknown name and tool.
    pub(super) fn each(&self, analyser: &Analyser<'_>) -> Vec<Error> {
        let mut tools: Vec<&Tool> = Vec::new();
        for unknown in &self.tools {
            if tools.len() < LISTED && tools.iter().all(|(name, _)| *name != unknown.0) {
                tools.push(unknown);
            }
        }
        let names = self.distinct(LISTED).into_iter().map(|name| unbound(&[name], analyser));
        names.chain(tools.into_iter().map(|unknown| no_tool(unknown, analyser))).collect()
    }

    /// The first mention of each unknown name, at most this many.
    fn distinct(&self, most: usize) -> Vec<&Name> {
        let mut seen: Vec<&Name> = Vec::new();
        for unknown in &self.names {
            if seen.len() < most && seen.iter().all(|(name, _, _)| *name != unknown.0) {
                seen.push(unknown);
            }
        }
        seen
    }
}

/// The error about unknown names, at the span of the first.
fn unbound(seen: &[&Name], analyser: &Analyser<'_>) -> Error {
    let names: Vec<String> = seen.iter().take(LISTED).map(|(name, _, _)| format!("`{}`", name.name())).collect();
    let more = if seen.len() > LISTED { " and more" } else { "" };
    let problem = match names.as_slice() {
        [name] => format!("unknown name {name}"),
        names => format!("unknown names {}{more}", names.join(", ")),
    };
    let mut hints: Vec<String> = Vec::new();
    for hint in seen.iter().take(LISTED).filter_map(|(name, _, locals)| analyser.suggestion(name.name(), locals)) {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    let mut error = Error::new(Reason::UnboundVar, problem);
    if let Some((_, span, _)) = seen.first() {
        error = error.at(*span);
    }
    if hints.is_empty() { error } else { error.hint(sentences(&hints)) }
}

/// The error about a tool that the agent does not have.
fn no_tool((name, span): &Tool, analyser: &Analyser<'_>) -> Error {
    let mut known: Vec<&str> = analyser.tools.iter().copied().collect();
    known.sort_unstable();
    let near = nearest::nearest(name, known.iter().copied());
    let hint = match (near, known.as_slice()) {
        (_, []) => "The agent has no tools".to_owned(),
        (near, known) => {
            let guess = near.map(|near| format!("Did you mean tool/{near}? ")).unwrap_or_default();
            let listed: Vec<String> = known.iter().map(|name| format!("tool/{name}")).collect();
            format!("{guess}Available: {}", listed.join(", "))
        }
    };
    Error::new(Reason::UnknownTool, format!("unknown tool `{name}`")).at(*span).hint(hint)
}

/// Joins hints into sentences; the last one keeps its end.
fn sentences(hints: &[String]) -> String {
    let mut text = String::new();
    for hint in hints {
        if !text.is_empty() {
            text.push_str(if text.ends_with(['?', '.']) { " " } else { ". " });
        }
        text.push_str(hint);
    }
    text
}

impl<'a> Analyser<'a> {
    /// Analyses a symbol that is read.
    pub(super) fn symbol(&mut self, name: Keyword, span: Span) -> AnalysisResult {
        let name = self.unaliased(name);
        if self.shorts == 0 && is_placeholder(name.name()) {
            let problem = format!("`{}` is outside of #(…)", name.name());
            return Err(Box::new(Error::new(Reason::InvalidPlaceholder, problem).at(span)));
        }
        if let Some(source) = self.local(name) {
            let expr = match source {
                LocalSource::Slot(slot) => Expr::Local(Local { slot, last: false }),
                LocalSource::Capture(source) => Expr::Capture(source),
                LocalSource::Myself => Expr::Myself,
            };
            return Ok(Node::new(expr, span));
        }
        if let Some((namespace, member)) = namespaces::split(name.name()) {
            return self.qualified(namespace, member, span);
        }
        if let Some(expr) = self.known(name) {
            return Ok(Node::new(expr, span));
        }
        if name.name().starts_with('.') {
            return Ok(self.unknown_method(name.name(), span));
        }
        Ok(self.unknown_name(name, span))
    }

    /// Resolves a name to memory or to the language.
    fn known(&mut self, name: Keyword) -> Option<Expr> {
        let word = self.word(name);
        if self.is_global(name) {
            let builtin = word.and_then(|word| word.function);
            let unbound = builtin.map_or(Unbound::Fails, Unbound::Builtin);
            return Some(Expr::Global { global: self.global(name), unbound });
        }
        word.and_then(Word::expr)
    }

    /// True if the name is in memory or is defined by this program.
    pub(super) fn is_global(&self, name: Keyword) -> bool {
        self.defined.contains(&name) || self.names.memory.contains_key(&name)
    }

    /// Records an unknown name; the resulting node is never run.
    pub(super) fn unknown_name(&mut self, name: Keyword, span: Span) -> Node {
        let few = self.unknown.names.len() < LISTED;
        let locals = if few { self.locals.names().map(Keyword::name).collect() } else { Vec::new() };
        self.unknown.names.push((name, span, locals));
        Node::constant(Value::Nil, span)
    }

    /// The declared name of a tool: `-` and `_` are the same in tool names. Records an unknown tool.
    pub(super) fn tool_name<'n>(&mut self, name: &'n str, span: Span) -> &'n str
    where
        'a: 'n,
    {
        if self.tools.contains(name) {
            return name;
        }
        let wanted = underscored(name);
        let declared = self.names.tools.iter().find(|tool| underscored(&tool.name) == wanted);
        declared.map_or_else(
            || {
                self.unknown.tools.push((name.into(), span));
                name
            },
            |tool| tool.name.as_str(),
        )
    }

    /// Analyses a symbol with a namespace.
    fn qualified(&mut self, namespace: &str, member: &str, span: Span) -> AnalysisResult {
        match namespace {
            "data" => Ok(Node::new(Expr::Data(member.into()), span)),
            "tool" => {
                let tool = self.tool_name(member, span);
                Ok(Node::constant(Callable::Tool(tool.into()).into_value(), span))
            }
            "budget" if member == "remaining" => Ok(Node::new(Expr::Budget, span)),
            "budget" => {
                let problem = format!("`budget` has no `{member}`");
                Err(Box::new(Error::new(Reason::InvalidForm, problem).hint("Write (budget/remaining)").at(span)))
            }
            _ => match namespaces::find(namespace, member, self.names.dialect) {
                Ok(value) => Ok(Node::constant(value, span)),
                Err(error) => {
                    // A hint about `str/x` is one about `clojure.string/x` too.
                    let names = namespaces::named(namespace).map_or(&[][..], |space| space.names);
                    let mut names = std::iter::once(&namespace).chain(names);
                    let hint = names.find_map(|name| absent::hint(&format!("{name}/{member}"), self.is_current()));
                    let hint = hint.map(ToOwned::to_owned).or_else(|| self.misplaced(namespace, member));
                    let error = match hint {
                        Some(hint) => error.hint(hint),
                        None => error,
                    };
                    Err(Box::new(error.at(span)))
                }
            },
        }
    }

    /// `#'name`: the value of a definition or builtin; locals do not shadow it.
    pub(super) fn var(&mut self, name: Keyword, span: Span) -> Node {
        match self.known(name) {
            Some(expr) => Node::new(expr, span),
            None => self.unknown_name(name, span),
        }
    }

    /// A suggestion for an unknown name.
    fn suggestion(&self, name: &str, locals: &[&'static str]) -> Option<String> {
        let did_you_mean = |meant: String| format!("Did you mean `{meant}` instead of `{name}`?");
        let defined = self.defined.iter().map(|name| name.name());
        let memory = self.names.memory.keys().map(|name| name.name());
        let mut own: Vec<&str> =
            locals.iter().copied().filter(|name| is_written(name)).chain(defined).chain(memory).collect();
        own.sort_unstable();
        // `user.name` of other languages, where `user` is a name of the program.
        if let Some((of, field)) = name.split_once('.').filter(|(of, field)| own.contains(of) && is_plain(field)) {
            return Some(did_you_mean(format!("(:{field} {of})")));
        }
        if let Some(meant) = self.input_or_tool(name) {
            return Some(did_you_mean(meant));
        }
        if let Some((0 | 1, near)) = nearest::closest(name, own.iter().copied()) {
            return Some(did_you_mean(near.to_owned()));
        }
        // `Math.floor` for `Math/floor`.
        if let Some((class, member)) = name.rsplit_once('.')
            && namespaces::find(class, member, self.names.dialect).is_ok()
        {
            return Some(did_you_mean(format!("{class}/{member}")));
        }
        if let Some(hint) = absent::hint(name, self.is_current()) {
            return Some(format!("{name}: {}", lower(hint)));
        }
        if is_form(name) {
            return Some(format!("`{name}` is a special form, not a value; wrap it in (fn […] …)"));
        }
        let builtins = builtins::rows().filter(|row| row.exists_in(self.names.dialect)).map(|row| row.name);
        let mut groups: [Group<'_>; 4] = [("", own), self.input_names(), self.tool_names(), ("", builtins.collect())];
        // Of equally near names the program's own come before builtins.
        let near = groups.iter_mut().filter_map(|(prefix, names)| {
            names.sort_unstable();
            let (distance, near) = nearest::closest(name, names.iter().copied())?;
            Some((distance, format!("{prefix}{near}")))
        });
        near.min_by_key(|(distance, _)| *distance).map(|(_, meant)| did_you_mean(meant))
    }

    /// The input or tool of this name, or the one that a name such as `data.name` means.
    fn input_or_tool(&self, name: &str) -> Option<String> {
        let same = |(prefix, names): Group<'_>| {
            let (distance, same) = nearest::closest(name, names)?;
            (distance == 0).then(|| format!("{prefix}{same}"))
        };
        same(self.input_names()).or_else(|| same(self.tool_names())).or_else(|| {
            let (namespace, member) = name.split_once('.')?;
            self.member(namespaces::own(namespace)?, member)
        })
    }

    /// The hint for a name in a namespace that does not exist, when it means a tool or an input.
    fn misplaced(&self, namespace: &str, member: &str) -> Option<String> {
        if namespaces::named(namespace).is_some() {
            return None;
        }
        let is_tool = |tool: &&ToolInfo| underscored(&tool.name) == underscored(member);
        if let Some(tool) = self.names.tools.iter().find(is_tool) {
            return Some(format!("Did you mean tool/{}?", tool.name));
        }
        let own = namespaces::own(namespace)?;
        if let Some(meant) = self.member(own, member) {
            return Some(format!("Did you mean {meant}?"));
        }
        let (prefix, names) = if own == "data" { self.input_names() } else { self.tool_names() };
        let names: Vec<String> = names.iter().take(MOST_LISTED).map(|name| format!("{prefix}{name}")).collect();
        (!names.is_empty()).then(|| format!("Available: {}", names.join(", ")))
    }

    /// The member of `data` or `tool` that is nearest to this name; for a path such as `user.name`, the expression that reads it.
    fn member(&self, namespace: &str, member: &str) -> Option<String> {
        let (prefix, names) = match namespace {
            "data" => self.input_names(),
            "tool" => self.tool_names(),
            _ => return None,
        };
        let (first, path) = member.split_once('.').unwrap_or((member, ""));
        let (_, near) = nearest::closest(first, names)?;
        if path.is_empty() {
            return Some(format!("{prefix}{near}"));
        }
        let keys: Vec<String> = path.split('.').filter(|key| is_plain(key)).map(|key| format!(":{key}")).collect();
        Some(format!("(get-in {prefix}{near} [{}])", keys.join(" ")))
    }

    /// The keys of the data that can be written as `data/key`; hidden ones are not named.
    fn input_names(&self) -> Group<'a> {
        let keys = self.names.context.as_map().into_iter().flat_map(Map::keys);
        let names = keys.filter_map(|key| match key {
            Value::Keyword(word) => Some(word.name()),
            other => other.as_str(),
        });
        ("data/", names.filter(|name| is_plain(name)).collect())
    }

    /// The names of the tools.
    fn tool_names(&self) -> Group<'a> {
        ("tool/", self.names.tools.iter().map(|tool| tool.name.as_str()).collect())
    }
}

/// Maximum number of inputs or tools that a hint lists.
const MOST_LISTED: usize = 10;

/// True for the key of an input that a program may read as `data/key` and that is not hidden.
fn is_plain(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// A hint as the continuation of a sentence, in lower case.
fn lower(hint: &str) -> String {
    let mut chars = hint.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// `%`, `%&`, `%1` to `%20` and beyond, but not `%0`.
pub(super) fn is_placeholder(name: &str) -> bool {
    name.strip_prefix('%').is_some_and(|rest| rest.is_empty() || rest == "&" || number(rest).is_some())
}

/// The number of a placeholder `%n`, from 1; `usize::MAX` if it is too large.
pub(super) fn number(digits: &str) -> Option<usize> {
    let is_number =
        digits.starts_with(|c: char| ('1'..='9').contains(&c)) && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

/// True for a name that programs can contain, which the names of hidden locals are not.
fn is_written(name: &str) -> bool {
    !name.starts_with('\u{1}')
}

/// The name of a form that may be defined: a symbol without a namespace that is not an earlier result.
pub(super) fn plain(form: &Form) -> Option<Keyword> {
    form.name().filter(|name| namespaces::split(name.name()).is_none() && !HISTORY.contains(&name.name()))
}
