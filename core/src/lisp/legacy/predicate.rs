//! The predicate builders `where`, `all-of`, `any-of` and `none-of` as functions of the current language.
//!
//! Each is expanded from a template in which placeholders are replaced by the arguments. Arguments are evaluated once,
//! outside of the resulting function, so that names of the templates never capture names of the program.

use crate::lisp::read::{Budget, read};
use crate::lisp::{Error, Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::Keyword;

/// Converts keywords to their names, so that `:open` equals `"open"`.
const PLAIN: &str = "(fn [x] (if (core/keyword? x) (core/name x) x))";

/// The test of each operator, with the field as `a` and the wanted value as `b`; `plain` converts keywords to names.
const OPERATORS: [(&str, &str); 8] = [
    ("=", "(core/= (plain a) (plain b))"),
    ("not=", "(core/not= (plain a) (plain b))"),
    (">", "(if (core/nil? a) false (if (core/nil? b) false (core/> (plain a) (plain b))))"),
    ("<", "(if (core/nil? a) false (if (core/nil? b) false (core/< (plain a) (plain b))))"),
    (">=", "(if (core/nil? a) false (if (core/nil? b) false (core/>= (plain a) (plain b))))"),
    ("<=", "(if (core/nil? a) false (if (core/nil? b) false (core/<= (plain a) (plain b))))"),
    (
        "includes",
        "(if (core/string? a) \
           (if (core/string? (plain b)) (clojure.string/includes? a (plain b)) false) \
           (if (core/coll? a) (core/boolean (core/some (fn [x] (core/= (plain x) (plain b))) a)) false))",
    ),
    ("in", "(if (core/coll? b) (core/boolean (core/some (fn [x] (core/= (plain x) (plain a))) b)) false)"),
];

/// `(where field)` and `(where field op value)` with translated arguments.
pub(super) fn filter(arguments: Vec<Form>, span: Span) -> Result<Form, Error> {
    let wrong = |reason, problem: String, at| {
        Err(Error::new(reason, problem).within("where").hint("Write (where :key = value) or (where :key)").at(at))
    };
    match <[Form; 3]>::try_from(arguments) {
        Ok([field, operator, value]) => {
            let test = operator.symbol().and_then(|name| OPERATORS.iter().find(|(known, _)| *known == name));
            let Some((_, test)) = test else {
                let names: Vec<_> = OPERATORS.iter().map(|(name, _)| *name).collect();
                let problem = format!("the operator must be one of {}", names.join(" "));
                return wrong(Reason::InvalidForm, problem, operator.span);
            };
            let text =
                format!("(let [field FIELD b VALUE plain {PLAIN}] (fn [row] (let [a (core/get row field)] {test})))");
            // The value is evaluated where `field` is already bound; a name that programs cannot write prevents
            // capture.
            made(&text, &[("FIELD", &field), ("VALUE", &value)], span)
        }
        Err(rest) => match rest.as_slice() {
            [field] => getter_of("(core/boolean (core/get row field))", field, span),
            rest => wrong(
                Reason::InvalidArity,
                format!("takes a field, or a field, an operator and a value, got {}", rest.len()),
                span,
            ),
        },
    }
}

/// A function that looks up a key of its argument.
pub(super) fn getter(key: &Form, span: Span) -> Result<Form, Error> {
    getter_of("(core/get row field)", key, span)
}

fn getter_of(body: &str, field: &Form, span: Span) -> Result<Form, Error> {
    made(&format!("(let [field FIELD] (fn [row] {body}))"), &[("FIELD", field)], span)
}

/// The function of `all-of`, `any-of` or `none-of`.
pub(super) fn combined(name: &str, span: Span) -> Option<Form> {
    let test = match name {
        "all-of" => "(core/every? (fn [test] (test row)) tests)",
        "any-of" => "(core/boolean (core/some (fn [test] (test row)) tests))",
        "none-of" => "(core/not-any? (fn [test] (test row)) tests)",
        _ => return None,
    };
    made(&format!("(fn [& tests] (fn [row] {test}))"), &[], span).ok()
}

/// Expands a template, all of it at one span. Its own names get a mark that the reader does not accept.
fn made(template: &str, arguments: &[(&str, &Form)], span: Span) -> Result<Form, Error> {
    let form = read(template, Budget::default())?.into_iter().next();
    form.map(|form| filled(&form, arguments, span))
        .ok_or_else(|| Error::new(Reason::InvalidForm, "this form cannot be translated").at(span))
}

fn filled(form: &Form, arguments: &[(&str, &Form)], span: Span) -> Form {
    let all = |forms: &[Form]| forms.iter().map(|form| filled(form, arguments, span)).collect();
    let shape = match &form.shape {
        Shape::Symbol(name) => match arguments.iter().find(|(place, _)| *place == name.name()) {
            Some((_, argument)) => return (*argument).clone(),
            None if LOCALS.contains(&name.name()) => Shape::Symbol(Keyword::intern(&format!("{}′", name.name()))),
            None => Shape::Symbol(*name),
        },
        Shape::List(forms) => Shape::List(all(forms)),
        Shape::Vector(forms) => Shape::Vector(all(forms)),
        other => other.clone(),
    };
    Form { shape, span }
}

/// The names that templates bind.
const LOCALS: [&str; 8] = ["field", "plain", "row", "a", "b", "x", "test", "tests"];
