//! Template parsing: text → tree. Lines with only section or comment tags are removed (Mustache specification).
//!
//! It must never recurse: open sections are kept on a stack, at most `TEMPLATE_DEPTH` of them.

use super::{DottedName, Node, Section, Template, TemplateError};
use crate::limits::TEMPLATE_DEPTH;
use crate::text::Span;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// Parses a template.
///
/// Errors: empty name, unclosed tag or section, a closing tag that does not match or opens nothing, sections deeper than
/// `TEMPLATE_DEPTH`, the tags of full Mustache that are not supported (`{{{x}}}`, `{{&x}}`, `{{>x}}`, `{{=x}}`), and the
/// helpers of Handlebars (`{{#each x}}`, `{{#if x}}`).
pub fn parse(text: &str) -> Result<Template, TemplateError> {
    let mut open: Vec<OpenSection> = Vec::new();
    let mut nodes = Vec::new();
    let mut at = 0;
    while let Some(tag) = next_tag(text, at)? {
        let taken = if tag.sigil == Sigil::Variable { tag.span } else { standalone_line(text, tag.span) };
        push_text(&mut nodes, Span::new(at, taken.start));
        at = taken.end;
        match tag.sigil {
            Sigil::Variable => nodes.push(Node::Variable { path: tag.path()?, span: tag.span }),
            Sigil::Comment => nodes.push(Node::Comment(tag.span)),
            Sigil::Section | Sigil::Inverted => {
                if open.len() as u64 >= TEMPLATE_DEPTH.max {
                    let message = format!("sections are nested more than {} levels deep", TEMPLATE_DEPTH.max);
                    return Err(TemplateError::new(tag.span, message));
                }
                let outer = std::mem::take(&mut nodes);
                open.push(OpenSection {
                    path: tag.path()?,
                    span: tag.span,
                    inverted: tag.sigil == Sigil::Inverted,
                    outer,
                });
            }
            Sigil::Close => {
                let path = tag.path()?;
                let section = open.pop().ok_or_else(|| {
                    TemplateError::new(tag.span, format!("`{{{{/{path}}}}}` closes a section that was not opened"))
                })?;
                if section.path != path {
                    return Err(section.mismatch(&path, tag.span, text));
                }
                nodes = section.close(tag.span, nodes);
            }
        }
    }
    if let Some(section) = open.pop() {
        let unclosed = || format!("this section is never closed; write `{{{{/{}}}}}` where it ends", section.path);
        let message = helper(&section.path.to_string()).unwrap_or_else(unclosed);
        return Err(TemplateError::new(section.span, message));
    }
    push_text(&mut nodes, Span::new(at, text.len()));
    Ok(Template { source: text.to_owned(), nodes })
}

/// A template of literal text, without tags.
pub fn literal(text: &str) -> Template {
    let mut nodes = Vec::new();
    push_text(&mut nodes, Span::new(0, text.len()));
    Template { source: text.to_owned(), nodes }
}

/// A section whose closing tag has not been found, and the nodes before it.
struct OpenSection {
    path: DottedName,
    span: Span,
    inverted: bool,
    outer: Vec<Node>,
}

impl OpenSection {
    fn close(self, close: Span, body: Vec<Node>) -> Vec<Node> {
        let mut nodes = self.outer;
        nodes.push(Node::Section(Section { path: self.path, span: self.span, close, inverted: self.inverted, body }));
        nodes
    }

    fn mismatch(&self, found: &DottedName, span: Span, text: &str) -> TemplateError {
        if let Some(message) = helper(&self.path.to_string()) {
            return TemplateError::new(self.span, message);
        }
        let (tag, at) = (self.span.text(text), self.span.line_col(text));
        let message = format!(
            "`{{{{/{found}}}}}` at {} does not close `{tag}` opened at {at}; write `{{{{/{}}}}}`",
            span.line_col(text),
            self.path
        );
        TemplateError::new(span, message)
    }
}

fn push_text(nodes: &mut Vec<Node>, span: Span) {
    if span.start < span.end {
        nodes.push(Node::Text(span));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sigil {
    Variable,
    Section,
    Inverted,
    Close,
    Comment,
}

/// A tag in the text.
struct Tag<'t> {
    sigil: Sigil,
    name: &'t str,
    span: Span,
}

impl Tag<'_> {
    fn path(&self) -> Result<DottedName, TemplateError> {
        let name = self.name;
        if name == "." {
            return Ok(DottedName::default());
        }
        let segments: Vec<String> = name.split('.').map(|segment| segment.trim().to_owned()).collect();
        if name.is_empty() {
            return Err(TemplateError::new(self.span, "the tag has no name; write a name between the braces"));
        }
        if segments.iter().any(String::is_empty) {
            let message = format!("`{name}` has an empty name next to a dot; write it as in `user.name`");
            return Err(TemplateError::new(self.span, message));
        }
        Ok(DottedName { segments })
    }
}

/// The first tag at or after byte `from`.
fn next_tag(text: &str, from: usize) -> Result<Option<Tag<'_>>, TemplateError> {
    let Some(start) = text[from..].find(OPEN).map(|offset| from + offset) else { return Ok(None) };
    let inner_start = start + OPEN.len();
    let inner_end = text[inner_start..].find(CLOSE).map(|offset| inner_start + offset);
    let inner = &text[inner_start..inner_end.unwrap_or(text.len())];
    let content = inner.trim();
    let comment = content.starts_with('!');
    // A name contains neither a line break nor another tag: one that seems to was not closed.
    let runs_on = content.contains('\n') || content.contains(OPEN);
    let Some(inner_end) = inner_end.filter(|_| comment || inner.starts_with('{') || !runs_on) else {
        let line_end = inner.find(['\n', '\r']).unwrap_or(inner.len());
        let end = inner.find(OPEN).unwrap_or(line_end).min(line_end);
        return Err(TemplateError::new(
            Span::new(start, inner_start + end),
            "this tag is never closed; write `}}` after the name",
        ));
    };
    let span = Span::new(start, inner_end + CLOSE.len());
    let (sigil, name) = match content.chars().next() {
        Some('#') => (Sigil::Section, content[1..].trim_start()),
        Some('^') => (Sigil::Inverted, content[1..].trim_start()),
        Some('/') => (Sigil::Close, content[1..].trim_start()),
        Some('!') => (Sigil::Comment, ""),
        Some(mark @ ('{' | '&' | '>' | '=')) => return Err(TemplateError::new(span, unsupported(mark))),
        _ => (Sigil::Variable, content),
    };
    Ok(Some(Tag { sigil, name, span }))
}

/// The replacement for a helper of another template language, such as `each items`. A section with such a name that is closed by it is
/// valid, so that this is for errors only.
fn helper(name: &str) -> Option<String> {
    let (word, rest) = name.split_once(char::is_whitespace)?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    // `for item in items`
    let path = rest.rsplit_once(" in ").map_or(rest, |(_, list)| list).split_whitespace().next().unwrap_or_default();
    let path = if path == "this" { "." } else { path.strip_prefix("this.").unwrap_or(path) };
    let path = if path.is_empty() || !path.chars().all(is_name) { "name" } else { path };
    let instead = match word {
        "each" | "for" | "foreach" => format!("write `{{{{#{path}}}}}{{{{.}}}}{{{{/{path}}}}}`"),
        "if" => format!("write `{{{{#{path}}}}}…{{{{/{path}}}}}`, and `{{{{^{path}}}}}…{{{{/{path}}}}}` for else"),
        "unless" => format!("write `{{{{^{path}}}}}…{{{{/{path}}}}}`"),
        "with" => format!("write `{{{{#{path}}}}}…{{{{/{path}}}}}`"),
        _ => return None,
    };
    Some(format!("`{word}` is not supported: {instead}"))
}

fn unsupported(mark: char) -> &'static str {
    match mark {
        '{' => {
            "triple braces are not supported, values are never escaped: write `{{name}}`; put a space after a literal brace"
        }
        '&' => "`&` is not supported, values are never escaped: write `{{name}}`",
        '>' => "templates cannot include other templates; put the text here, or pass it as a parameter",
        _ => "the braces of tags cannot be changed; pass text with double braces as a parameter",
    }
}

/// The whole line (or lines) of a tag with only spaces and tabs around it; otherwise the tag itself.
fn standalone_line(text: &str, tag: Span) -> Span {
    let blank = [' ', '\t'];
    let before = text[..tag.start].trim_end_matches(blank);
    let after = text[tag.end..].trim_start_matches(blank);
    let line_break = ["\r\n", "\n"].into_iter().find(|end| after.starts_with(end));
    let starts_line = before.is_empty() || before.ends_with('\n');
    match line_break {
        Some(end) if starts_line => Span::new(before.len(), text.len() - after.len() + end.len()),
        None if starts_line && after.is_empty() => Span::new(before.len(), text.len()),
        _ => tag,
    }
}
