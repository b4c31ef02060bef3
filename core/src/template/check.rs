//! Construction checks: each name of a template must fit the signature, and each parameter should be used.
//!
//! In: a template and a signature (or a context). Out: all findings, in the order of the text. Names are resolved as in
//! rendering: through the enclosing sections from the inside out; values of unknown type are not checked.

use super::diagnostic::{CURRENT_OUTSIDE_SECTION, Findings, SECTION_NOT_ALLOWED};
use super::{Diagnostic, DiagnosticKind, DottedName, MissingPolicy, Node, Section, Template, render, variables};
use crate::signature::{Field, Signature, Type, names};
use crate::text::{Span, nearest};
use crate::value::Value;

/// Checks a template whose variables are replaced by values (text and JSON modes).
pub fn check(template: &Template, signature: &Signature) -> Vec<Diagnostic> {
    inspect(template, signature, Form::Values).findings.into_vec()
}

/// Checks a template whose variables become references (`ptc_lisp`): no sections; lists and maps are fine.
pub fn check_references(template: &Template, signature: &Signature) -> Vec<Diagnostic> {
    inspect(template, signature, Form::References).findings.into_vec()
}

/// The parameters that the template never uses, in the order of the signature. A name inside a section counts for the
/// element's field if there is one of that name.
pub fn unused<'s>(template: &Template, signature: &'s Signature) -> Vec<&'s str> {
    let used = inspect(template, signature, Form::Values).used;
    let names = parameters(signature).iter().map(|field| field.name.as_str());
    names.filter(|name| !used.contains(name)).collect()
}

/// The missing values, and the values written as JSON, when this context fills the template.
pub fn check_context(template: &Template, context: &Value) -> Vec<Diagnostic> {
    match render(template, context, MissingPolicy::Keep) {
        Ok(rendered) => rendered.warnings,
        Err(error) => vec![Diagnostic::error(DiagnosticKind::NotFilled, error.span, error.message)],
    }
}

fn parameters(signature: &Signature) -> &[Field] {
    signature.params.as_deref().unwrap_or_default()
}

fn inspect<'s>(template: &Template, signature: &'s Signature, form: Form) -> Inspection<'s> {
    let params = parameters(signature);
    let root = if params.is_empty() { Shape::Open } else { Shape::Record(params) };
    let mut inspection = Inspection { form, scopes: vec![root], used: Vec::new(), findings: Findings::default() };
    if let Some(first) = variables(template).first().filter(|_| params.is_empty()) {
        let message = "the signature lists no parameters, so the names in this template are not checked";
        inspection.findings.push(Diagnostic::warning(DiagnosticKind::Unchecked, first.span, message));
    }
    inspection.nodes(template.nodes());
    inspection
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Values,
    References,
}

/// The shape of a type, as far as templates distinguish it.
#[derive(Clone, Copy)]
enum Shape<'s> {
    /// A value that is written as text.
    Scalar,
    List(&'s Type),
    Record(&'s [Field]),
    /// A map with any fields.
    Map,
    /// Unknown before the run.
    Open,
}

impl<'s> Shape<'s> {
    fn of(ty: &'s Type) -> Self {
        match ty.base() {
            Type::List(element) => Self::List(element),
            Type::Record { fields, .. } if !fields.is_empty() => Self::Record(fields),
            Type::Record { .. } | Type::Map => Self::Map,
            Type::Any => Self::Open,
            _ => Self::Scalar,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Scalar => "a single value",
            Self::List(_) => "a list",
            Self::Record(_) | Self::Map => "a map",
            Self::Open => "a value of any type",
        }
    }
}

/// A walk over the template with the shapes of the open sections; the first is the context.
struct Inspection<'s> {
    form: Form,
    scopes: Vec<Shape<'s>>,
    used: Vec<&'s str>,
    findings: Findings,
}

type Problem = (DiagnosticKind, String);

impl<'s> Inspection<'s> {
    /// Recursion is bounded by the parser.
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Text(_) | Node::Comment(_) => {}
                Node::Variable { path, span } => self.variable(path, *span),
                Node::Section(section) => self.section(section),
            }
        }
    }

    fn variable(&mut self, path: &DottedName, span: Span) {
        let problem = self.resolve(path).and_then(|shape| match self.form {
            Form::Values => is_text(path, shape),
            Form::References => Ok(()),
        });
        self.report(span, problem);
    }

    fn section(&mut self, section: &Section) {
        let resolved = self.resolve(&section.path);
        let inner = match resolved {
            Ok(Shape::List(element)) => Shape::of(element),
            Ok(shape) => shape,
            // A wrong name is reported once, not again for everything inside.
            Err(_) => Shape::Open,
        };
        let allowed = match self.form {
            Form::Values => resolved.map(|_| ()),
            Form::References => Err((DiagnosticKind::SectionNotAllowed, SECTION_NOT_ALLOWED.to_owned())),
        };
        self.report(section.span, allowed);
        let depth = self.scopes.len();
        self.scopes.extend((!section.inverted).then_some(inner));
        self.nodes(&section.body);
        self.scopes.truncate(depth);
    }

    fn report(&mut self, span: Span, result: Result<(), Problem>) {
        if let Err((kind, message)) = result {
            self.findings.push(Diagnostic::error(kind, span, message));
        }
    }

    /// The shape of the value that `path` names; marks the parameter as used.
    fn resolve(&mut self, path: &DottedName) -> Result<Shape<'s>, Problem> {
        let Some((first, rest)) = path.split_first() else { return self.current() };
        let mut shape = self.first(first)?;
        let mut seen = first.to_owned();
        for name in rest {
            shape = match shape {
                Shape::Record(fields) => {
                    Shape::of(&field(fields, name).ok_or_else(|| no_field(&seen, fields, name))?.ty)
                }
                Shape::Map | Shape::Open => return Ok(Shape::Open),
                Shape::List(element) => {
                    // A name of its elements, where it is one: a place in a list has no name.
                    let inner = match Shape::of(element) {
                        Shape::Record(fields) if field(fields, name).is_some() => name.clone(),
                        Shape::Record([first, ..]) => first.name.clone(),
                        Shape::Map | Shape::Open if !name.bytes().all(|byte| byte.is_ascii_digit()) => name.clone(),
                        _ => ".".to_owned(),
                    };
                    let message = format!("`{seen}` is a list; write `{{{{#{seen}}}}}{{{{{inner}}}}}{{{{/{seen}}}}}`");
                    return Err((DiagnosticKind::UnknownField, message));
                }
                Shape::Scalar => {
                    let message = format!("`{seen}` is a single value and has no field `{name}`");
                    return Err((DiagnosticKind::UnknownField, message));
                }
            };
            seen = format!("{seen}.{name}");
        }
        Ok(shape)
    }

    /// `{{.}}`: never means the context itself, unless its type is unknown.
    fn current(&self) -> Result<Shape<'s>, Problem> {
        match (self.form, self.scopes.as_slice()) {
            // Inside a rejected section it is not reported again.
            (Form::References, [_]) | (Form::Values, [Shape::Record(_)]) => {
                Err((DiagnosticKind::CurrentOutsideSection, CURRENT_OUTSIDE_SECTION.to_owned()))
            }
            (_, scopes) => Ok(scopes.last().copied().unwrap_or(Shape::Open)),
        }
    }

    fn first(&mut self, name: &str) -> Result<Shape<'s>, Problem> {
        for (depth, scope) in self.scopes.iter().enumerate().rev() {
            match *scope {
                Shape::Record(fields) => {
                    if let Some(field) = field(fields, name) {
                        self.used.extend((depth == 0).then_some(field.name.as_str()));
                        return Ok(Shape::of(&field.ty));
                    }
                }
                Shape::Map | Shape::Open => {
                    // It may be the parameter if the value has no such field.
                    if let Some(Shape::Record(params)) = self.scopes.first() {
                        self.used.extend(field(params, name).map(|field| field.name.as_str()));
                    }
                    return Ok(Shape::Open);
                }
                Shape::Scalar | Shape::List(_) => {}
            }
        }
        Err((DiagnosticKind::UnknownName, self.unknown(name)))
    }

    fn unknown(&self, name: &str) -> String {
        let inner = match self.scopes.as_slice() {
            [] | [_] => format!("`{name}` is not a parameter"),
            [.., Shape::Record(_)] => format!("`{name}` is neither a field of this section's value nor a parameter"),
            [.., Shape::Scalar] => {
                format!("`{name}` is not a parameter, and this section's value has no fields (write `{{{{.}}}}`)")
            }
            _ => format!("`{name}` is not a parameter, and this section's value has no fields"),
        };
        let records = self.scopes.iter().rev().filter_map(|scope| match scope {
            Shape::Record(fields) => Some(*fields),
            _ => None,
        });
        format!("{inner}; {}", suggestion(name, records.flatten()))
    }
}

fn field<'s>(fields: &'s [Field], name: &str) -> Option<&'s Field> {
    let exact = fields.iter().find(|field| field.name == name);
    exact.or_else(|| fields.iter().find(|field| names::same(&field.name, name)))
}

fn no_field(of: &str, fields: &[Field], name: &str) -> Problem {
    (DiagnosticKind::UnknownField, format!("`{of}` has no field `{name}`; {}", suggestion(name, fields)))
}

/// The nearest name, or all names.
fn suggestion<'s>(name: &str, fields: impl IntoIterator<Item = &'s Field>) -> String {
    let names: Vec<&str> = fields.into_iter().map(|field| field.name.as_str()).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}

fn is_text(path: &DottedName, shape: Shape<'_>) -> Result<(), Problem> {
    let advice = match shape {
        Shape::Scalar | Shape::Open => return Ok(()),
        Shape::List(element) => match Shape::of(element) {
            Shape::Record([first, ..]) => format!("write `{{{{#{path}}}}}{{{{{}}}}}{{{{/{path}}}}}`", first.name),
            _ => format!("write `{{{{#{path}}}}}{{{{.}}}}{{{{/{path}}}}}`"),
        },
        Shape::Record([first, ..]) if path.segments().is_empty() => {
            format!("write a field, as in `{{{{{}}}}}`", first.name)
        }
        Shape::Record([first, ..]) => format!("write a field, as in `{{{{{path}.{}}}}}`", first.name),
        Shape::Record([]) | Shape::Map => "name one of its fields".to_owned(),
    };
    Err((DiagnosticKind::NotText, format!("`{path}` is {} and cannot be written as text; {advice}", shape.noun())))
}
