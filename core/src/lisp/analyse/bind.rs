//! Bindings: patterns, `let` and `loop`.

use super::call::count;
use super::expand::{symbol, vector};
use super::name::plain;
use super::{Analyser, AnalysisResult, Tail, form_error, form_error_with_hint};
use crate::lisp::builtins::namespaces;
use crate::lisp::ir::{Entry, Expr, Node, Pattern};
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::value::{Keyword, Value};

/// The forms of a map pattern's `:or`, by name.
type Defaults<'f> = Vec<(Keyword, &'f Form)>;

impl Analyser<'_> {
    /// `(let [p v …] body…)`
    pub(super) fn let_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        count("let", args, form.span)?;
        let mark = self.enter();
        let binds = self.binds("let", &args[0])?;
        let body = Box::new(self.body(&args[1..], form.span, tail)?);
        self.leave(mark);
        Ok(Node::new(Expr::Let { binds, body }, form.span))
    }

    /// `(loop [p v …] body…)`
    pub(super) fn loop_form(&mut self, form: &Form, args: &[Form], _: Tail) -> AnalysisResult {
        count("loop", args, form.span)?;
        let mark = self.enter();
        let binds = self.binds("loop", &args[0])?;
        self.scope().targets.push(binds.len());
        let body = Box::new(self.body(&args[1..], form.span, Tail::Yes)?);
        self.scope().targets.pop();
        self.leave(mark);
        Ok(Node::new(Expr::Loop { binds, body }, form.span))
    }

    /// `[p v …]`: each pattern sees the names declared to its left.
    pub(super) fn binds(&mut self, op: &str, form: &Form) -> AnalysisResult<Vec<(Pattern, Node)>> {
        let wrong = |problem: &str| {
            let hint = format!("Write ({op} [name value …] body)");
            form_error_with_hint(Reason::InvalidForm, op, problem, &hint, form.span)
        };
        let Shape::Vector(parts) = &form.shape else { return Err(wrong("the bindings must be a vector")) };
        if !parts.len().is_multiple_of(2) {
            return Err(wrong("a binding has no value"));
        }
        let mut binds = Vec::with_capacity(parts.len() / 2);
        for pair in parts.chunks_exact(2) {
            let value = self.expr(&pair[1], Tail::No)?;
            binds.push((self.pattern(&pair[0])?, value));
        }
        Ok(binds)
    }

    /// Analyses a pattern and declares its names.
    pub(super) fn pattern(&mut self, form: &Form) -> AnalysisResult<Pattern> {
        match &form.shape {
            Shape::Symbol(_) => self.name_pattern(form).map(Pattern::Slot),
            Shape::Vector(parts) => self.vector_pattern(form, parts),
            Shape::Map(parts) => self.map_pattern(form, parts),
            _ => Err(unsupported(form, "a pattern must be a symbol, a vector or a map")),
        }
    }

    /// Declares a symbol as a local.
    fn name_pattern(&mut self, form: &Form) -> AnalysisResult<u32> {
        let Some(name) = plain(form) else {
            return Err(unsupported(form, "a local name must be a symbol without a namespace, not an earlier result"));
        };
        let slot = self.scope().slot();
        self.declare(name, slot);
        Ok(slot)
    }

    /// `[a b & r :as v]`
    fn vector_pattern(&mut self, form: &Form, parts: &[Form]) -> AnalysisResult<Pattern> {
        let (mut items, mut rest, mut whole) = (Vec::new(), None, None);
        let mut parts = parts.iter();
        while let Some(part) = parts.next() {
            if part.symbol() == Some("&") {
                let Some(pattern) = parts.next().filter(|_| rest.is_none()) else {
                    return Err(after_ampersand(form));
                };
                rest = Some(Box::new(self.pattern(pattern)?));
            } else if is_keyword(part, "as") {
                let (Some(name), None) = (parts.next(), whole) else {
                    return Err(unsupported(form, ":as needs one symbol"));
                };
                whole = Some(self.name_pattern(name)?);
            } else if rest.is_some() || whole.is_some() {
                return Err(after_ampersand(form));
            } else {
                items.push(self.pattern(part)?);
            }
        }
        Ok(Pattern::Vector { items, rest, whole, span: form.span })
    }

    /// `{:keys [a] b :c :or {…} :as m}`
    fn map_pattern(&mut self, form: &Form, parts: &[Form]) -> AnalysisResult<Pattern> {
        let pairs = || parts.chunks_exact(2).map(|pair| (&pair[0], &pair[1]));
        let mut defaults = Defaults::new();
        if let Some((_, given)) = pairs().find(|(key, _)| is_keyword(key, "or")) {
            let Shape::Map(given) = &given.shape else {
                return Err(form_error(Reason::InvalidForm, ":or", "the defaults must be a map", given.span));
            };
            for pair in given.chunks_exact(2) {
                let Some(name) = plain(&pair[0]) else {
                    let hint = "Write {:keys [a] :or {a 1}}";
                    return Err(form_error_with_hint(
                        Reason::InvalidForm,
                        ":or",
                        "the names must be symbols",
                        hint,
                        pair[0].span,
                    ));
                };
                defaults.push((name, &pair[1]));
            }
        }
        let whole = match pairs().find(|(key, _)| is_keyword(key, "as")) {
            Some((_, name)) => Some(self.name_pattern(name)?),
            None => None,
        };
        let mut entries = Vec::new();
        for (key, value) in pairs() {
            match &key.shape {
                Shape::Literal(Value::Keyword(word)) => match word.name() {
                    "keys" => self.names_pattern(value, &defaults, Value::Keyword, &mut entries)?,
                    "strs" => self.names_pattern(value, &defaults, |name| Value::from(name.name()), &mut entries)?,
                    "or" | "as" => {}
                    // `:order/keys [id]` reads `:order/id`.
                    other if self.is_current() && other.ends_with("/keys") => {
                        let namespace = &other[..other.len() - "keys".len()];
                        let names = self.qualified_names(namespace, value)?;
                        self.names_pattern(&names, &defaults, Value::Keyword, &mut entries)?;
                    }
                    other => return Err(unsupported(key, format!("`:{other}` is not supported in a map pattern"))),
                },
                Shape::Symbol(_) | Shape::Vector(_) | Shape::Map(_) => {
                    let wanted = match (&value.shape, plain(value)) {
                        (Shape::Literal(wanted @ (Value::Keyword(_) | Value::Str(_))), _) => wanted.clone(),
                        // As in the reference, a symbol here is the keyword of its name.
                        (_, Some(name)) => Value::Keyword(name),
                        _ => self.constant_key(value)?,
                    };
                    let default = self.default(key.name(), &defaults)?;
                    entries.push(Entry { key: wanted, pattern: self.pattern(key)?, default });
                }
                _ => return Err(unsupported(key, "a map pattern needs symbols, patterns, :keys, :strs, :or or :as")),
            }
        }
        if entries.is_empty() && whole.is_none() && defaults.is_empty() {
            return Err(unsupported(form, "the pattern binds nothing"));
        }
        Ok(Pattern::Map { entries, whole, span: form.span })
    }

    /// A number, boolean, nil or vector of constants as key of a map pattern: `{no false}`, `{here [0 1]}`.
    fn constant_key(&self, form: &Form) -> AnalysisResult<Value> {
        match &form.shape {
            Shape::Literal(value) if self.is_current() => Ok(value.clone()),
            Shape::Vector(items) if self.is_current() => {
                items.iter().map(|item| self.constant_key(item)).collect::<Result<Vec<_>, _>>().map(Value::from)
            }
            _ => {
                let hint = "Write {name :key} or {name \"key\"}";
                let problem = "a map pattern needs a keyword or string as key";
                Err(form_error_with_hint(Reason::InvalidForm, "destructuring", problem, hint, form.span))
            }
        }
    }

    /// The names after `:keys` and `:strs`.
    fn names_pattern(
        &mut self,
        form: &Form,
        defaults: &Defaults<'_>,
        key: fn(Keyword) -> Value,
        entries: &mut Vec<Entry>,
    ) -> AnalysisResult<()> {
        let Shape::Vector(names) = &form.shape else {
            return Err(form_error(Reason::InvalidForm, ":keys", "the names must be a vector of symbols", form.span));
        };
        for part in &**names {
            // `user/name` and `:user/name` bind `name`.
            let qualified = match part.shape {
                Shape::Literal(Value::Keyword(word)) | Shape::Symbol(word) if self.is_current() => Some(word),
                _ => None,
            };
            if let Some(word) = qualified
                && let Some((_, member)) = namespaces::split(word.name())
            {
                let name = Keyword::intern(member);
                let default = self.default(Some(name), defaults)?;
                let slot = self.scope().slot();
                self.declare(name, slot);
                entries.push(Entry { key: key(word), pattern: Pattern::Slot(slot), default });
                continue;
            }
            let name = match part.shape {
                Shape::Literal(Value::Keyword(word)) => word,
                _ => plain(part).ok_or_else(|| {
                    let problem = "a name must be a symbol without a namespace";
                    form_error_with_hint(Reason::InvalidForm, ":keys", problem, "Write {:keys [a b]}", part.span)
                })?,
            };
            let default = self.default(Some(name), defaults)?;
            let slot = self.scope().slot();
            self.declare(name, slot);
            entries.push(Entry { key: key(name), pattern: Pattern::Slot(slot), default });
        }
        Ok(())
    }

    /// Names with a namespace in front of each.
    fn qualified_names(&self, namespace: &str, form: &Form) -> AnalysisResult<Form> {
        let Shape::Vector(names) = &form.shape else {
            return Err(form_error(Reason::InvalidForm, ":keys", "the names must be a vector of symbols", form.span));
        };
        let qualified = |part: &Form| match part.name() {
            Some(name) => symbol(&format!("{namespace}{}", name.name()), part.span),
            None => part.clone(),
        };
        Ok(vector(names.iter().map(qualified), form.span))
    }

    /// The default of a name; it sees the names bound to its left.
    fn default(&mut self, name: Option<Keyword>, defaults: &Defaults<'_>) -> AnalysisResult<Option<Node>> {
        let found = name.and_then(|name| defaults.iter().find(|(given, _)| *given == name));
        found.map(|(_, form)| self.expr(form, Tail::No)).transpose()
    }
}

/// True if the form is this keyword.
pub(super) fn is_keyword(form: &Form, name: &str) -> bool {
    matches!(&form.shape, Shape::Literal(Value::Keyword(word)) if word.name() == name)
}

fn after_ampersand(form: &Form) -> Box<crate::lisp::Error> {
    let hint = "Write [a b & rest] or [a b & rest :as all]";
    form_error_with_hint(Reason::InvalidForm, "destructuring", "exactly one pattern must follow &", hint, form.span)
}

/// The error for an invalid pattern.
pub(super) fn unsupported(form: &Form, problem: impl Into<String>) -> Box<crate::lisp::Error> {
    let hint = "Use a symbol, [a b & rest :as all] or {:keys [a] b :key :or {a 1} :as all}";
    form_error_with_hint(Reason::UnsupportedPattern, "destructuring", problem, hint, form.span)
}
