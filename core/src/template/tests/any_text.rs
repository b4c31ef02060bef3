//! Properties of every text: parsing never panics, spans are correct, text outside of tags is unchanged.

use proptest::prelude::*;

use super::super::{MissingPolicy, Node, Origin, Template, check, check_context, parse, render, variables};
use crate::signature::{Field, Signature, Type};
use crate::text::Span;
use crate::value::Value;

/// Texts that often contain tags, complete and broken.
fn tagged() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => prop::sample::select(vec![
            "{{a}}", "{{b}}", "{{ a.b }}", "{{#a.l}}", "{{/a.l}}", "{{.}}", "{{#a}}", "{{/a}}", "{{^a}}", "{{#l}}", "{{/l}}", "{{#.}}", "{{/.}}", "{{! c\n }}", "{{", "}}", "{", "}",
            "{{{a}}}", "{{&a}}", "\n", "\r\n", " ", "\t", "é", "😀", ".",
        ]).prop_map(str::to_owned),
        1 => ".{0,4}",
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

fn context() -> Value {
    let inner = Value::record([("b", Value::from("B")), ("l", Value::list([Value::from(""), Value::from("x")]))]);
    Value::record([("a", inner.clone()), ("l", Value::list([inner.clone(), inner]))])
}

/// A signature for [`context`].
fn signature() -> Signature {
    let field = |name: &str, ty| Field { name: name.to_owned(), ty, description: None, span: Span::default() };
    let list = |element| Type::List(Box::new(element));
    let inner = Type::Record { fields: vec![field("b", Type::String), field("l", list(Type::String))], closed: false };
    Signature { params: Some(vec![field("a", inner.clone()), field("l", list(inner))]), output: Some(Type::String) }
}

/// The spans of all tags and texts, in order.
fn spans(nodes: &[Node], out: &mut Vec<Span>) {
    for node in nodes {
        match node {
            Node::Text(span) | Node::Comment(span) | Node::Variable { span, .. } => out.push(*span),
            Node::Section(section) => {
                out.push(section.span);
                spans(&section.body, out);
                out.push(section.close);
            }
        }
    }
}

fn places_are_right(template: &Template) {
    let source = template.source();
    let mut all = Vec::new();
    spans(template.nodes(), &mut all);
    assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start), "spans overlap in {source:?}");
    for used in variables(template) {
        let tag = used.span.text(source);
        assert!(tag.starts_with("{{") && tag.ends_with("}}"), "{tag:?}");
        assert!(used.path.segments().iter().all(|segment| tag.contains(segment.as_str())), "{tag:?}");
    }
    // Only the white space of standalone lines lies between the spans.
    let mut at = 0;
    for span in all.iter().chain([&Span::new(source.len(), source.len())]) {
        assert!(source[at..span.start].trim().is_empty(), "{source:?} loses text before {span:?}");
        at = span.end;
    }
}

proptest! {
    #[test]
    fn reading_never_panics_and_errors_lie_in_the_text(text in prop_oneof![tagged(), any::<String>()]) {
        match parse(&text) {
            Ok(template) => places_are_right(&template),
            Err(error) => prop_assert!(text[error.span.start..error.span.end].starts_with("{{")),
        }
    }

    #[test]
    fn text_without_tags_stays_as_it_is(text in "([^{]|\\{[^{])*") {
        let rendered =
            render(&parse(&text).expect("text without tags"), &Value::Nil, MissingPolicy::Refuse).expect("nothing to fill");
        prop_assert_eq!(rendered.text, text);
    }

    #[test]
    fn tags_without_values_are_unchanged_byte_for_byte(text in "([^{]{0,5}(\\{\\{ ?[a-z]{1,3}(\\.[a-z])? ?\\}\\})?){0,8}") {
        let rendered =
            render(&parse(&text).expect("variables only"), &Value::Nil, MissingPolicy::Keep).expect("tags are kept");
        prop_assert_eq!(rendered.text, text);
    }

    #[test]
    fn pieces_tile_the_text_and_template_pieces_are_the_templates_text(text in tagged()) {
        let Ok(template) = parse(&text) else { return Ok(()) };
        let rendered = render(&template, &context(), MissingPolicy::Keep).expect("small data");
        let mut at = 0;
        for piece in &rendered.pieces {
            prop_assert_eq!(piece.span.start, at);
            prop_assert!(piece.span.end > at);
            at = piece.span.end;
            if let Origin::Template(span) = piece.origin {
                prop_assert_eq!(piece.span.text(&rendered.text), span.text(&text));
            }
        }
        prop_assert_eq!(at, rendered.text.len());
    }

    #[test]
    fn what_the_check_accepts_is_filled_without_warnings(text in tagged()) {
        let Ok(template) = parse(&text) else { return Ok(()) };
        if check(&template, &signature()).is_empty() {
            prop_assert_eq!(check_context(&template, &context()), []);
        }
    }
}
