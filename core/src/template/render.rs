//! Rendering a template with a context: tree + value → text, warnings, and the origin of each byte.
//!
//! Falsy values are missing names, nil, false, "" and empty lists; a list renders its section once per element, any
//! other truthy value once. As variables, lists and maps become compact JSON with a warning, dates ISO text, nil
//! nothing. It must never read tags in inserted data, and its output is bounded by `TEMPLATE_OUTPUT`.

use std::borrow::Cow;
use std::collections::HashSet;

use super::diagnostic::{CURRENT_OUTSIDE_SECTION, Findings, SECTION_NOT_ALLOWED};
use super::lookup::{FoundValue, find};
use super::{Diagnostic, DiagnosticKind, DottedName, Node, Section, Template, TemplateError};
use crate::limits::TEMPLATE_OUTPUT;
use crate::text::Span;
use crate::value::json::Node as JsonNode;
use crate::value::{Json, Value};

/// The treatment of a variable without a value in the context. (A section of that name is falsy in any case.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MissingPolicy {
    /// Write nothing.
    Empty,
    /// Write the tag unchanged, with a warning.
    Keep,
    /// Fail.
    Refuse,
}

/// A rendered template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedTemplate {
    /// The text.
    pub text: String,
    /// Warnings, at most one per tag; of many the last one counts those that are not listed.
    pub warnings: Vec<Diagnostic>,
    /// The origins of the text: pieces in order, without gaps, none of them empty.
    pub pieces: Vec<Piece>,
}

/// A range of the rendered text with one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The bytes of the rendered text.
    pub span: Span,
    /// Their origin.
    pub origin: Origin,
}

/// The origin of a piece of rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// These bytes of the template: literal text, a tag kept because it has no value, or a tag written as a reference.
    Template(Span),
    /// Data of the context (untrusted).
    Data {
        /// Its path from the context, as in `items.0.name`; empty for the context itself.
        path: String,
        /// The tag in the template.
        tag: Span,
    },
}

/// Renders a template with the values of a context map.
///
/// Errors: a missing name with [`MissingPolicy::Refuse`], more output than `TEMPLATE_OUTPUT`.
pub fn render(template: &Template, context: &Value, missing: MissingPolicy) -> Result<RenderedTemplate, TemplateError> {
    fill(template, context, Form::Values(missing))
}

/// Renders each variable as a reference to its value (`ptc_lisp`), which must be present in the context.
///
/// Errors: a missing name, a section, more output than `TEMPLATE_OUTPUT`.
pub fn render_references(
    template: &Template,
    context: &Value,
    reference: &dyn Fn(&DottedName) -> String,
) -> Result<RenderedTemplate, TemplateError> {
    fill(template, context, Form::References(reference))
}

fn fill(template: &Template, context: &Value, form: Form<'_>) -> Result<RenderedTemplate, TemplateError> {
    let stack = vec![FoundValue { value: context, way: String::new() }];
    let left = TEMPLATE_OUTPUT.max;
    let mut fill = Fill {
        source: template.source(),
        form,
        stack,
        left,
        warned: HashSet::new(),
        warnings: Findings::default(),
        done: RenderedTemplate::default(),
    };
    fill.nodes(template.nodes())?;
    Ok(RenderedTemplate { warnings: fill.warnings.into_vec(), ..fill.done })
}

#[derive(Clone, Copy)]
enum Form<'a> {
    Values(MissingPolicy),
    References(&'a dyn Fn(&DottedName) -> String),
}

struct Fill<'a> {
    source: &'a str,
    form: Form<'a>,
    stack: Vec<FoundValue<'a>>,
    left: u64,
    /// Start and end of the tags that have a warning.
    warned: HashSet<(usize, usize)>,
    warnings: Findings,
    done: RenderedTemplate,
}

impl<'a> Fill<'a> {
    /// Recursion is bounded by the parser.
    fn nodes(&mut self, nodes: &[Node]) -> Result<(), TemplateError> {
        nodes.iter().try_for_each(|node| match node {
            Node::Text(span) => self.write_template(*span),
            Node::Comment(_) => Ok(()),
            Node::Variable { path, span } => self.variable(path, *span),
            Node::Section(section) => self.section(section),
        })
    }

    fn section(&mut self, section: &Section) -> Result<(), TemplateError> {
        if matches!(self.form, Form::References(_)) {
            return Err(TemplateError::new(section.span, SECTION_NOT_ALLOWED));
        }
        let found = find(&self.stack, &section.path).ok().filter(|found| is_truthy(found.value));
        match (found, section.inverted) {
            (None, true) => self.pass(section, None),
            (Some(found), false) => match found.value.elements() {
                Some(items) => {
                    items.enumerate().try_for_each(|(at, item)| self.pass(section, Some(found.part(at, item))))
                }
                None => self.pass(section, Some(found)),
            },
            (None, false) | (Some(_), true) => Ok(()),
        }
    }

    /// Writes the body of a section once, with `frame` as the innermost value.
    fn pass(&mut self, section: &Section, frame: Option<FoundValue<'a>>) -> Result<(), TemplateError> {
        self.charge(1, section.span)?;
        let depth = self.stack.len();
        self.stack.extend(frame);
        self.nodes(&section.body)?;
        self.stack.truncate(depth);
        Ok(())
    }

    fn variable(&mut self, path: &DottedName, tag: Span) -> Result<(), TemplateError> {
        let found = match find(&self.stack, path) {
            Ok(found) => found,
            Err(miss) => {
                let hint = miss.nearest().map_or_else(String::new, |near| format!("; there is `{near}`"));
                return self.missing(tag, format!("`{path}` has no value in the context{hint}"));
            }
        };
        match self.form {
            Form::Values(_) => {
                if found.value.elements().is_some() || found.value.as_map().is_some() {
                    let message = format!("`{path}` is a {}; it is written as JSON", found.value.kind());
                    self.warn(DiagnosticKind::NotText, tag, message);
                }
                self.write(&text_of(found.value), Origin::Data { path: found.way, tag }, tag)
            }
            Form::References(_) if path.segments().is_empty() => Err(TemplateError::new(tag, CURRENT_OUTSIDE_SECTION)),
            Form::References(reference) => self.write(&reference(path), Origin::Template(tag), tag),
        }
    }

    fn missing(&mut self, tag: Span, message: String) -> Result<(), TemplateError> {
        match self.form {
            Form::Values(MissingPolicy::Empty) => Ok(()),
            Form::Values(MissingPolicy::Keep) => {
                self.warn(
                    DiagnosticKind::Missing,
                    tag,
                    format!("{message}; {} stays in the text as written", tag.text(self.source)),
                );
                self.write_template(tag)
            }
            Form::Values(MissingPolicy::Refuse) | Form::References(_) => Err(TemplateError::new(tag, message)),
        }
    }

    fn warn(&mut self, kind: DiagnosticKind, tag: Span, message: String) {
        // A section visits its tags once per element.
        if self.warned.insert((tag.start, tag.end)) {
            self.warnings.push(Diagnostic::warning(kind, tag, message));
        }
    }

    fn write_template(&mut self, span: Span) -> Result<(), TemplateError> {
        self.write(span.text(self.source), Origin::Template(span), span)
    }

    /// Appends text for the given span of the template.
    fn write(&mut self, text: &str, origin: Origin, span: Span) -> Result<(), TemplateError> {
        self.charge(text.len() as u64, span)?;
        let start = self.done.text.len();
        if !text.is_empty() {
            self.done.text.push_str(text);
            self.done.pieces.push(Piece { span: Span::new(start, self.done.text.len()), origin });
        }
        Ok(())
    }

    fn charge(&mut self, bytes: u64, span: Span) -> Result<(), TemplateError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let message = format!("the rendered template is larger than {} bytes; use less data", TEMPLATE_OUTPUT.max);
            TemplateError::new(span, message)
        })?;
        Ok(())
    }
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Nil | Value::Bool(false) => false,
        Value::Str(text) => !text.is_empty(),
        other => other.elements().is_none_or(|items| items.len() > 0),
    }
}

/// The text of a value: strings and keywords unchanged, nil empty, everything else as compact JSON (dates ISO).
fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Nil => Cow::Borrowed(""),
        Value::Str(text) => Cow::Borrowed(text),
        other => match Json::from(other) {
            Json { node: JsonNode::Str(text), .. } => Cow::Owned(text),
            json => Cow::Owned(json.to_text()),
        },
    }
}
