//! Prompt templates: a subset of Mustache.
//!
//! `{{name}}`, `{{a.b}}`, `{{.}}`, `{{! comment}}`, `{{#name}}…{{/name}}`, `{{^name}}…{{/name}}`.
//! In: template text, a signature, a context. Out: a tree with spans, findings, and the filled text with the origin of each byte.
//! It must never escape HTML, read tags out of inserted data, or include other templates.

mod check;
mod diagnostic;
mod lookup;
mod parse;
mod render;

use std::fmt;

pub use check::{check, check_context, check_references, unused};
pub use diagnostic::{Diagnostic, DiagnosticKind, Severity, TemplateError};
pub use parse::{literal, parse};
pub use render::{MissingPolicy, Origin, Piece, RenderedTemplate, render, render_references};

use crate::text::Span;

/// The notation of templates: each tag with its meaning, for the reference. Every row is a valid template.
pub const TAGS: &[(&str, &str)] = &[
    (
        "{{name}}",
        "The value of `name`: text unchanged, nil as empty text. Lists and objects need a section or a field.",
    ),
    ("{{order.id}}", "A field of a value; `-` and `_` in names are interchangeable."),
    (
        "{{#items}}…{{/items}}",
        "Once for each item of a list; once for any other truthy value; names are looked up in the item first.",
    ),
    ("{{#items}}{{.}}{{/items}}", "`{{.}}` is the item itself."),
    ("{{^items}}…{{/items}}", "If the value is missing, nil, false, \"\" or an empty list."),
    ("{{! a remark }}", "A comment: it is not sent."),
];

/// A parsed template: its text and the tree of its tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: String,
    nodes: Vec<Node>,
}

impl Template {
    /// Its text; all spans refer to it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The tree, in the order of the text.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Literal text. The lines of standalone tags are not part of it.
    Text(Span),
    /// `{{path}}`
    Variable {
        /// The variable.
        path: DottedName,
        /// The tag.
        span: Span,
    },
    /// `{{#path}}…{{/path}}` or `{{^path}}…{{/path}}`
    Section(Section),
    /// `{{! … }}`
    Comment(Span),
}

/// A part of a template that is written once, several times or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The value that decides.
    pub path: DottedName,
    /// The opening tag.
    pub span: Span,
    /// The closing tag.
    pub close: Span,
    /// Written if the value is falsy (`{{^…}}`) instead of truthy.
    pub inverted: bool,
    /// The nodes between the tags; sections are at most [`TEMPLATE_DEPTH`](crate::limits::TEMPLATE_DEPTH) deep.
    pub body: Vec<Node>,
}

/// A dotted name. Without segments it is `.`, the innermost value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DottedName {
    segments: Vec<String>,
}

impl DottedName {
    /// The names between the dots; empty for `.`.
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// The name that is looked up in the context, and the names inside that value; `None` for `.`.
    pub fn split_first(&self) -> Option<(&str, &[String])> {
        self.segments.split_first().map(|(first, rest)| (first.as_str(), rest))
    }
}

impl fmt::Display for DottedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.segments.is_empty() { "." } else { "" })?;
        f.write_str(&self.segments.join("."))
    }
}

/// A name that a template uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableUse {
    /// The name.
    pub path: DottedName,
    /// The tag (of a section: the opening one).
    pub span: Span,
    /// True for the name of a section.
    pub section: bool,
}

/// Every use of a name, in the order of the text.
pub fn variables(template: &Template) -> Vec<VariableUse> {
    let mut uses = Vec::new();
    collect(&template.nodes, &mut uses);
    uses
}

fn collect(nodes: &[Node], uses: &mut Vec<VariableUse>) {
    for node in nodes {
        match node {
            Node::Text(_) | Node::Comment(_) => {}
            Node::Variable { path, span } => uses.push(VariableUse { path: path.clone(), span: *span, section: false }),
            Node::Section(section) => {
                uses.push(VariableUse { path: section.path.clone(), span: section.span, section: true });
                collect(&section.body, uses);
            }
        }
    }
}

#[cfg(test)]
mod spec;
#[cfg(test)]
mod tests;
