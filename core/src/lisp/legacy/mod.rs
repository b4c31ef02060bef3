//! The legacy dialect: translates forms of older versions to modern ones before analysis.
//!
//! In: the forms from the reader, and the meanings of names outside of the program. Out: forms of the current language,
//! each with the span of the old one, and hints that name the modern form. Nothing else is resolved; quoted symbols and
//! comments are left unchanged. Recursion is as deep as the program's brackets, which the reader bounds.

mod names;
mod predicate;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};

use super::{Error, Form, Shape, ToolInfo};
use crate::reasons::Reason;
use crate::signature;
use crate::text::Span;
use crate::value::{Keyword, Value};

/// The meanings of names outside of the program.
#[derive(Clone, Copy)]
pub struct LegacyNames<'a> {
    /// The available tools.
    pub tools: &'a [ToolInfo],
    /// True for a key of the input data.
    pub input: &'a dyn Fn(&str) -> bool,
    /// True for a name bound in memory by an earlier program.
    pub memory: &'a dyn Fn(&str) -> bool,
    /// True for the name of a builtin or form of the language.
    pub language: &'a dyn Fn(&str) -> bool,
}

/// The modern form of a legacy form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The legacy form.
    pub span: Span,
    /// One sentence for users and models.
    pub text: String,
}

/// A translated program.
#[derive(Debug, Clone, PartialEq)]
pub struct Translation {
    /// Forms of the current language.
    pub forms: Vec<Form>,
    /// One per distinct legacy form, in order.
    pub hints: Vec<Hint>,
}

const MEMORY: &str = "memory/";
const CONTEXT: &str = "ctx/";
/// The key of the last program's value: `ctx/last-result` in older programs, and in the data of an agent's programs.
pub const LAST_RESULT: &str = "last-result";

/// True if the program uses a removed form. Bare calls of tools do not count.
pub fn uses(forms: &[Form]) -> bool {
    forms.iter().any(|form| match &form.shape {
        Shape::Symbol(name) => {
            let heads = ["call", "where", "all-of", "any-of", "none-of", "pluck"];
            let name = name.name();
            name.starts_with(MEMORY) || name.starts_with(CONTEXT) || heads.contains(&name)
        }
        _ => !is_comment(form) && uses(parts(form)),
    })
}

/// Translates a program; no hints means that nothing was translated. Bare calls of tools and bare names of inputs are
/// translated if the name has no other meaning.
///
/// Fails with `type_error` if `call` names its tool by anything but a literal string, and with `invalid_form` or
/// `invalid_arity` for an invalid predicate form.
pub fn translate(forms: &[Form], names: LegacyNames<'_>) -> Result<Translation, Error> {
    let bound = names::bound(forms);
    let mut translator = Translator { names, bound, hints: Vec::new(), hinted: BTreeSet::new() };
    let forms = translator.all(forms)?;
    Ok(Translation { forms, hints: translator.hints })
}

/// The forms inside brackets.
fn parts(form: &Form) -> &[Form] {
    match &form.shape {
        Shape::List(parts) | Shape::Vector(parts) | Shape::Map(parts) | Shape::Set(parts) | Shape::Short(parts) => {
            parts
        }
        _ => &[],
    }
}

fn is_comment(form: &Form) -> bool {
    let head = form.list().and_then(<[Form]>::first).and_then(Form::symbol);
    matches!(head, Some("comment" | "quote"))
}

fn symbol(name: &str, span: Span) -> Form {
    Form { shape: Shape::Symbol(Keyword::intern(name)), span }
}

fn list(parts: Vec<Form>, span: Span) -> Form {
    Form { shape: Shape::List(parts.into()), span }
}

struct Translator<'a> {
    names: LegacyNames<'a>,
    /// The names that the program binds anywhere; these are not translated.
    bound: HashSet<Keyword>,
    hints: Vec<Hint>,
    hinted: BTreeSet<String>,
}

impl Translator<'_> {
    fn all<T: FromIterator<Form>>(&mut self, forms: &[Form]) -> Result<T, Error> {
        forms.iter().map(|form| self.form(form)).collect()
    }

    fn form(&mut self, form: &Form) -> Result<Form, Error> {
        let span = form.span;
        let shape = match &form.shape {
            Shape::Symbol(name) => return Ok(self.value(*name, span)),
            Shape::List(_) if is_comment(form) => return Ok(form.clone()),
            Shape::List(parts) => return self.list(parts.to_vec(), span),
            Shape::Short(parts) => match self.list(parts.to_vec(), span)?.shape {
                Shape::List(parts) => Shape::Short(parts),
                other => other,
            },
            Shape::Vector(parts) => Shape::Vector(self.all(parts)?),
            Shape::Map(parts) => Shape::Map(self.all(parts)?),
            Shape::Set(parts) => Shape::Set(self.all(parts)?),
            other => other.clone(),
        };
        Ok(Form { shape, span })
    }

    /// A symbol outside of call position.
    fn value(&mut self, word: Keyword, span: Span) -> Form {
        let name = word.name();
        if let Some(key) = name.strip_prefix(CONTEXT) {
            return symbol(&self.context(key, span), span);
        }
        if let Some(key) = name.strip_prefix(MEMORY).filter(|key| !matches!(*key, "put" | "get")) {
            self.hint(span, format!("`{name}` is written `{key}` now, or `(or {key} nil)` when it may be unbound"));
            return self.stored(key, span);
        }
        if self.is_free(word) {
            if name == "pluck" {
                self.hint(span, "`(pluck :key coll)` is written `(map :key coll)` now".into());
                return symbol("map", span);
            }
            if let Some(combined) = predicate::combined(name, span) {
                self.hint(
                    span,
                    format!("`{name}` was removed; combine tests with `and`, `or` and `not` in one function"),
                );
                return combined;
            }
            if (self.names.input)(name) {
                self.hint(span, format!("`{name}` is written `data/{name}` now"));
                return symbol(&format!("data/{name}"), span);
            }
        }
        Form { shape: Shape::Symbol(word), span }
    }

    /// The modern form of `ctx/key` outside of call position.
    fn context(&mut self, key: &str, span: Span) -> String {
        let modern = match key {
            "last-result" => return self.last_result(span),
            key if self.is_tool(key) && !(self.names.input)(key) => format!("tool/{key}"),
            key => format!("data/{key}"),
        };
        self.hint(span, format!("`ctx/{key}` is written `{modern}` now"));
        modern
    }

    /// The complete last value, where the host provides it; `*1` may be shortened.
    fn last_result(&mut self, span: Span) -> String {
        self.hint(span, format!("`{CONTEXT}{LAST_RESULT}` is written `*1` now, which holds the start of large values; keep those with `def`"));
        if (self.names.input)(LAST_RESULT) { format!("data/{LAST_RESULT}") } else { "*1".to_owned() }
    }

    /// The value stored under a key; nil if there is none.
    fn stored(&self, key: &str, span: Span) -> Form {
        let is_stored = (self.names.memory)(key);
        if is_stored {
            // Locals of the same name do not shadow it.
            return Form { shape: Shape::Var(Keyword::intern(key)), span };
        }
        let nil = Form { shape: Shape::Literal(Value::Nil), span };
        if (self.names.language)(key) && !self.bound.contains(&Keyword::intern(key)) {
            return nil;
        }
        list(vec![symbol("or", span), symbol(key, span), nil], span)
    }

    fn list(&mut self, mut parts: Vec<Form>, span: Span) -> Result<Form, Error> {
        let Some(word) = parts.first().and_then(Form::name) else { return Ok(list(self.all(&parts)?, span)) };
        let head_span = parts[0].span;
        let is_free = self.is_free(word);
        match word.name() {
            "call" if is_free => return self.call(&parts, span),
            "where" if is_free => {
                let arguments = self.all(&parts[1..])?;
                self.hint(span, "`(where :key = value)` is written `(fn [row] (= (:key row) value))` now".into());
                return predicate::filter(arguments, span);
            }
            "pluck" if is_free && matches!(parts.get(1).map(|key| &key.shape), Some(Shape::Literal(Value::Str(_)))) => {
                self.hint(
                    span,
                    "`(pluck \"key\" coll)` is written `(map (fn [row] (get row \"key\")) coll)` now".into(),
                );
                let key = parts.remove(1);
                let rest: Vec<Form> = self.all(&parts[1..])?;
                let getter = predicate::getter(&key, span)?;
                return Ok(list([symbol("map", head_span), getter].into_iter().chain(rest).collect(), span));
            }
            head @ ("memory/put" | "memory/get") => {
                if let Some(form) = self.memory(head, &parts, span)? {
                    return Ok(form);
                }
            }
            name => {
                if let Some(key) = name.strip_prefix(CONTEXT).filter(|key| *key != LAST_RESULT) {
                    self.hint(span, format!("`(ctx/{key} …)` is written `(tool/{key} …)` now"));
                    parts[0] = symbol(&format!("tool/{key}"), head_span);
                } else if is_free && self.is_tool(name) {
                    self.hint(span, format!("`({name} …)` is written `(tool/{name} …)` now"));
                    let arguments = self.named(name, &parts.split_off(1), span)?;
                    parts[0] = symbol(&format!("tool/{name}"), head_span);
                    parts.extend(arguments);
                    return Ok(list(parts, span));
                }
            }
        }
        Ok(list(self.all(&parts)?, span))
    }

    /// `(call "tool" …)`
    fn call(&mut self, parts: &[Form], span: Span) -> Result<Form, Error> {
        let name = match parts.get(1).map(|name| &name.shape) {
            Some(Shape::Literal(Value::Str(name))) => name.to_string(),
            _ => {
                return Err(Error::new(Reason::TypeError, "the tool's name must be a literal string")
                    .within("call")
                    .hint("Write (tool/name {:key value})")
                    .at(parts.get(1).map_or(span, |name| name.span)));
            }
        };
        self.hint(span, format!("`(call \"{name}\" …)` is written `(tool/{name} …)` now"));
        let mut modern = vec![symbol(&format!("tool/{name}"), parts[1].span)];
        modern.extend(self.all::<Vec<Form>>(&parts[2..])?);
        Ok(list(modern, span))
    }

    /// `(memory/put :k v)` and `(memory/get :k)`; `None` for any other shape.
    fn memory(&mut self, head: &str, parts: &[Form], span: Span) -> Result<Option<Form>, Error> {
        let key: Box<str> = match parts.get(1).map(|key| &key.shape) {
            Some(Shape::Literal(Value::Keyword(key))) => key.name().into(),
            Some(Shape::Literal(Value::Str(key))) => key.as_ref().clone(),
            _ => return Ok(None),
        };
        match (head, parts.len()) {
            ("memory/get", 2) => {
                self.hint(span, format!("`(memory/get :{key})` is written `{key}` now"));
                Ok(Some(self.stored(&key, span)))
            }
            ("memory/put", 3) => {
                self.hint(span, format!("`(memory/put :{key} …)` is written `(def {key} …)` now"));
                let define = vec![symbol("def", span), symbol(&key, span), self.form(&parts[2])?];
                let stored = Form { shape: Shape::Var(Keyword::intern(&key)), span };
                Ok(Some(list(vec![symbol("do", span), list(define, span), stored], span)))
            }
            _ => Ok(None),
        }
    }

    /// The arguments of a bare tool call, named: by the tool's parameter at the same position, or by the argument's own
    /// name.
    fn named(&mut self, tool: &str, arguments: &[Form], span: Span) -> Result<Vec<Form>, Error> {
        let is_named = |form: &Form| matches!(form.shape, Shape::Map(_) | Shape::Literal(Value::Keyword(_)));
        if arguments.first().is_none_or(is_named) {
            return self.all(arguments);
        }
        let parameters = self.parameters(tool);
        let mut pairs = Vec::with_capacity(2 * arguments.len());
        for (place, argument) in arguments.iter().enumerate() {
            let own = argument.symbol().filter(|name| !name.contains('/'));
            let key = match parameters.get(place) {
                Some(parameter) if own.is_none_or(|own| !parameters.iter().any(|name| name == own)) => parameter,
                _ => match own {
                    Some(own) => own,
                    None => return self.all(arguments),
                },
            };
            pairs.push(Form { shape: Shape::Literal(Value::keyword(key)), span: argument.span });
            pairs.push(argument.clone());
        }
        let pairs = self.all(&pairs)?;
        Ok(vec![Form { shape: Shape::Map(pairs), span }])
    }

    /// The names of a tool's parameters, if its signature is known.
    fn parameters(&self, tool: &str) -> Vec<String> {
        let info = self.names.tools.iter().find(|info| info.name == tool);
        let signature = info.and_then(|info| info.signature.as_deref()).map(signature::parse_inputs);
        let fields = signature.and_then(Result::ok).and_then(|signature| signature.params).unwrap_or_default();
        fields.into_iter().map(|field| field.name).collect()
    }

    fn is_tool(&self, name: &str) -> bool {
        self.names.tools.iter().any(|tool| tool.name == name)
    }

    /// True if neither the program nor memory nor the language defines the name.
    fn is_free(&self, name: Keyword) -> bool {
        !self.bound.contains(&name) && !(self.names.memory)(name.name()) && !(self.names.language)(name.name())
    }

    fn hint(&mut self, span: Span, text: String) {
        if self.hinted.insert(text.clone()) {
            self.hints.push(Hint { span, text });
        }
    }
}
