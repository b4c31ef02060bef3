//! Behaviour of templates: tables of cases (`cases/*.json`), values that JSON cannot represent, and properties of any
//! text.

mod any_text;
mod checks;

use super::{
    Diagnostic, DottedName, MissingPolicy, Node, Origin, RenderedTemplate, TemplateError, VariableUse, check,
    check_context, parse, render, render_references, variables,
};
use crate::limits::{TEMPLATE_DEPTH, TEMPLATE_OUTPUT};
use crate::reasons::Reason;
use crate::signature;
use crate::text::{LineCol, Span};
use crate::value::json::{self, Json};
use crate::value::{Instant, Value};

fn cases(source: &str) -> Vec<Json> {
    json::parse(source).expect("a table of cases is JSON").items().expect("a table is a list").to_vec()
}

fn text<'c>(case: &'c Json, key: &str) -> &'c str {
    case.get(key).and_then(Json::as_str).unwrap_or_else(|| panic!("{} has no text {key}", case.to_text()))
}

fn place(at: LineCol) -> String {
    format!("{}:{}", at.line, at.column)
}

fn lines(template: &str, findings: &[Diagnostic]) -> Vec<String> {
    let line = |finding: &Diagnostic| format!("{} {}", place(finding.span.line_col(template)), finding.message);
    findings.iter().map(line).collect()
}

fn filled(template: &str, context: &Value, missing: MissingPolicy) -> Result<RenderedTemplate, TemplateError> {
    render(&parse(template)?, context, missing)
}

#[test]
fn malformed_templates_are_refused_at_their_place() {
    for case in cases(include_str!("cases/parse.json")) {
        let (name, template) = (text(&case, "name"), text(&case, "template"));
        let error = parse(template).expect_err(name);
        assert_eq!(error.message, text(&case, "error"), "{name}");
        assert_eq!(place(error.line_col(template)), text(&case, "at"), "{name}");
        assert_eq!(error.span.text(template), text(&case, "marks"), "{name}");
        assert_eq!(error.reason(), Reason::TemplateError);
    }
}

#[test]
fn templates_are_rendered_as_in_the_table() {
    for case in cases(include_str!("cases/render.json")) {
        let (name, template) = (text(&case, "name"), text(&case, "template"));
        let context = case.get("context").expect(name).to_value();
        let missing = match case.get("missing").and_then(Json::as_str) {
            None | Some("keep") => MissingPolicy::Keep,
            Some("empty") => MissingPolicy::Empty,
            Some("refuse") => MissingPolicy::Refuse,
            other => panic!("{name}: {other:?}"),
        };
        match filled(template, &context, missing) {
            Ok(rendered) => {
                assert_eq!(rendered.text, text(&case, "text"), "{name}");
                let expected: Vec<&str> = case
                    .get("warnings")
                    .and_then(Json::items)
                    .unwrap_or_default()
                    .iter()
                    .filter_map(Json::as_str)
                    .collect();
                assert_eq!(lines(template, &rendered.warnings), expected, "{name}");
            }
            Err(error) => {
                let line = format!("{} {}", place(error.line_col(template)), error.message);
                assert_eq!(line, text(&case, "error"), "{name}");
            }
        }
    }
}

#[test]
fn values_beyond_json_print_as_text() {
    let context = Value::record([
        ("at", Value::Instant(Instant::new(1_700_000_000_000_000))),
        ("word", Value::keyword("green")),
        ("set", Value::set([Value::Int(1), Value::Int(2)])),
        ("none", Value::set([])),
        ("nan", Value::Float(f64::NAN)),
    ]);
    let rendered =
        filled("{{at}} {{word}} {{nan}} {{#set}}{{.}},{{/set}}{{^none}}none{{/none}}", &context, MissingPolicy::Refuse);
    assert_eq!(rendered.expect("all names have values").text, "2023-11-14T22:13:20Z green NaN 1,2,none");
}

#[test]
fn keyword_keys_are_found_after_string_keys() {
    let context = Value::map([
        (Value::keyword("a-b"), Value::from("keyword")),
        (Value::str("c_d"), Value::from("string")),
        (Value::keyword("c-d"), Value::from("keyword")),
    ]);
    let rendered = filled("{{a_b}} {{c-d}}", &context, MissingPolicy::Refuse).expect("both names have values");
    assert_eq!(rendered.text, "keyword string");
}

#[test]
fn the_tree_keeps_names_and_places() {
    let source = "Hi {{ user.name }}\n{{^items}}\nnone{{! note }}\n{{/items}}\n";
    let template = parse(source).expect("a good template");
    let [Node::Text(hi), Node::Variable { path, span }, Node::Text(line), Node::Section(section)] = template.nodes()
    else {
        panic!("{:?}", template.nodes());
    };
    assert_eq!((hi.text(source), span.text(source), line.text(source)), ("Hi ", "{{ user.name }}", "\n"));
    assert_eq!((path.to_string().as_str(), path.segments().len()), ("user.name", 2));
    assert!(section.inverted);
    assert_eq!((section.span.text(source), section.close.text(source)), ("{{^items}}", "{{/items}}"));
    let [Node::Text(inner), Node::Comment(note), Node::Text(end)] = section.body.as_slice() else {
        panic!("{:?}", section.body);
    };
    assert_eq!((inner.text(source), note.text(source), end.text(source)), ("none", "{{! note }}", "\n"));
}

#[test]
fn every_use_of_a_name_is_listed_in_order() {
    let source = "{{a}}{{#b.c}}{{.}}{{^d}}{{! x }}{{/d}}{{/b.c}}{{a}}";
    let uses = variables(&parse(source).expect("a good template"));
    let seen: Vec<(String, &str, bool)> = uses
        .iter()
        .map(|VariableUse { path, span, section }| (path.to_string(), span.text(source), *section))
        .collect();
    let expected = [
        ("a", "{{a}}", false),
        ("b.c", "{{#b.c}}", true),
        (".", "{{.}}", false),
        ("d", "{{^d}}", true),
        ("a", "{{a}}", false),
    ];
    assert_eq!(seen, expected.map(|(path, tag, section)| (path.to_owned(), tag, section)));
}

#[test]
fn each_byte_of_the_text_knows_its_origin() {
    let source = "A {{title}}:\n{{#items}}\n- {{name}} {{nope}}\n{{/items}}\n";
    let item = |name: &str| Value::record([("name", Value::from(name))]);
    let context = Value::record([("title", Value::from("list")), ("items", Value::list([item("x"), item("")]))]);
    let rendered = filled(source, &context, MissingPolicy::Keep).expect("it can be filled");
    let pieces: Vec<(&str, String)> = rendered
        .pieces
        .iter()
        .map(|piece| {
            let origin = match &piece.origin {
                Origin::Template(span) => format!("template: {}", span.text(source)),
                Origin::Data { path, tag } => format!("{path} by {}", tag.text(source)),
            };
            (piece.span.text(&rendered.text), origin)
        })
        .collect();
    let expected = [
        ("A ", "template: A "),
        ("list", "title by {{title}}"),
        (":\n", "template: :\n"),
        ("- ", "template: - "),
        ("x", "items.0.name by {{name}}"),
        (" ", "template:  "),
        ("{{nope}}", "template: {{nope}}"),
        ("\n", "template: \n"),
        ("- ", "template: - "),
        (" ", "template:  "),
        ("{{nope}}", "template: {{nope}}"),
        ("\n", "template: \n"),
    ];
    assert_eq!(pieces, expected.map(|(text, origin)| (text, origin.to_owned())));
}

#[test]
fn references_are_written_for_names_that_have_values() {
    let reference = |path: &DottedName| format!("~{{data/{path}}}");
    let context = Value::record([("text", Value::from("secret")), ("rows", Value::list([Value::Int(1)]))]);
    let write = |source| render_references(&parse(source)?, &context, &reference);
    let rendered = write("Count {{rows}} in {{text}}").expect("both names have values");
    assert_eq!(rendered.text, "Count ~{data/rows} in ~{data/text}");
    assert_eq!(rendered.warnings, []);
    assert!(rendered.pieces.iter().all(|piece| matches!(piece.origin, Origin::Template(_))));

    let refused = |source| write(source).expect_err("it is refused").message;
    assert_eq!(refused("{{txet}}"), "`txet` has no value in the context; there is `text`");
    assert_eq!(refused("{{#rows}}x{{/rows}}"), "sections cannot be used in a program's prompt; write variables only");
    assert_eq!(refused("{{.}}"), "`{{.}}` is the element of a section; outside of sections write a parameter's name");
}

fn nested(levels: usize) -> String {
    "{{#a}}".repeat(levels) + "x" + &"{{/a}}".repeat(levels)
}

#[test]
fn sections_nest_to_the_limit_and_no_deeper() {
    let deepest = usize::try_from(TEMPLATE_DEPTH.max).expect("a small number");
    let context = Value::record([("a", Value::from(true))]);
    assert_eq!(filled(&nested(deepest), &context, MissingPolicy::Refuse).expect("just deep enough").text, "x");

    let source = nested(deepest + 1);
    let error = parse(&source).expect_err("one level too deep");
    assert_eq!(error.message, "sections are nested more than 20 levels deep");
    assert_eq!(error.span, Span::new(6 * deepest, 6 * deepest + 6));
}

#[test]
fn sections_in_sections_end_at_the_size_limit() {
    let context = Value::record([("a", Value::list(std::iter::repeat_n(Value::Int(1), 1_000)))]);
    let error = filled(&nested(20), &context, MissingPolicy::Refuse).expect_err("a thousand to the power of twenty");
    assert_eq!(error.message, "the rendered template is larger than 16777216 bytes; use less data");

    let large = "x".repeat(usize::try_from(TEMPLATE_OUTPUT.max).expect("a number of bytes"));
    let context = Value::record([("a", Value::from(large))]);
    assert!(filled("{{a}}", &context, MissingPolicy::Refuse).is_ok());
    assert!(filled("{{a}}.", &context, MissingPolicy::Refuse).is_err());
}

#[test]
fn many_findings_are_counted_instead_of_listed() {
    let template = parse(&"{{a}} {{c}} ".repeat(20_000)).expect("a template");
    let signature = signature::parse("(b :string) -> :string").expect("a signature");
    let context = Value::record([("a", Value::from(vec![Value::Int(1)]))]);
    for (findings, last) in [(check(&template, &signature), 39_900), (check_context(&template, &context), 39_900)] {
        assert_eq!(findings.len(), 101);
        let message = &findings[100].message;
        assert!(message.ends_with(&format!("; {last} findings from here on are not listed")), "{message}");
    }
}
