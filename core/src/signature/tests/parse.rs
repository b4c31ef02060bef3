//! Valid and invalid texts for the signature parser.

use super::table;
use crate::limits::SIGNATURE_DEPTH;
use crate::signature::{Field, Signature, Type, parse, parse_inputs};
use crate::text::Span;

#[test]
fn accepted_texts_render_canonically() {
    for (line, case) in table(include_str!("accept.txt")) {
        let [text, canonical] = case.as_slice() else { panic!("accept.txt:{line}: {case:?}") };
        let signature = parse(text).unwrap_or_else(|error| panic!("accept.txt:{line}: {}", error.render(text)));
        assert_eq!(&signature.render(), canonical, "accept.txt:{line}");
        assert_eq!(parse(canonical).as_ref(), Ok(&signature), "accept.txt:{line}");
    }
}

#[test]
fn syntax_errors_have_positions_and_hints() {
    for (line, case) in table(include_str!("reject.txt")) {
        let [text, place, message] = case.as_slice() else { panic!("reject.txt:{line}: {case:?}") };
        let error = parse(text).expect_err(text);
        let at = error.line_col(text);
        assert_eq!(format!("{}:{}", at.line, at.column), *place, "reject.txt:{line}: {error}");
        assert_eq!(error.to_string(), *message, "reject.txt:{line}");
        assert!(!error.expected.is_empty(), "reject.txt:{line}");
        assert!(text.get(error.span.start..error.span.end).is_some(), "reject.txt:{line}");
    }
}

#[test]
fn a_missing_and_an_empty_parameter_list_differ() {
    let output = Some(Type::Int);
    assert_eq!(parse(":int"), Ok(Signature { params: None, output: output.clone() }));
    assert_eq!(parse("() -> :int"), Ok(Signature { params: Some(vec![]), output: output.clone() }));
    assert_eq!(parse("-> :int"), Ok(Signature { params: Some(vec![]), output }));
}

#[test]
fn parameters_alone_are_valid_next_to_a_schema() {
    let signature = parse_inputs(" (a :string) ").expect("parameters alone");
    assert_eq!(signature.output, None);
    assert_eq!(signature.render(), "(a :string)");
    assert_eq!(parse_inputs("(a :int) -> :int"), parse("(a :int) -> :int"));
    assert!(parse_inputs("(a :string) :int").is_err());
}

#[test]
fn fields_have_spans() {
    let text = "(a :int) -> {score :float? \"0 to 1\", n :int}";
    let signature = parse(text).expect("valid");
    let Some(Type::Record { fields, .. }) = &signature.output else { panic!("a record") };
    let spans: Vec<&str> = fields.iter().map(|field| field.span.text(text)).collect();
    assert_eq!(spans, ["score :float? \"0 to 1\"", "n :int"]);
    assert_eq!(fields[0].description.as_deref(), Some("0 to 1"));
    assert_eq!(signature.param("a").map(|field| field.span.text(text)), Some("a :int"));
}

#[test]
fn nesting_is_bounded() {
    let nested = |levels: usize| format!("{}:int{}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    let most = usize::try_from(SIGNATURE_DEPTH.max).expect("fits");
    assert!(parse(&nested(most)).is_ok());
    let text = nested(most + 1);
    let error = parse(&text).expect_err("too deep");
    assert_eq!(error.line_col(&text).column, most + 1);
    assert_eq!(error.message, "types are nested deeper than 64 levels");
    assert!(parse(&"[".repeat(100_000)).is_err());
    assert!(parse(&"{a ".repeat(100_000)).is_err());
}

#[test]
fn equality_does_not_see_where_a_field_was() {
    let field = |span| Field { name: "a".to_owned(), ty: Type::Int, description: None, span };
    assert_eq!(field(Span::new(0, 1)), field(Span::new(5, 9)));
}

#[test]
fn hidden_fields_are_found_at_any_depth() {
    let signature = parse("(_a :int, b {_c :int}) -> [{d :int, _e [{_f :int}]?}]").expect("valid");
    let names: Vec<&str> = signature.hidden_fields().iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["_a", "_c", "_e", "_f"]);
    assert!(parse("(a_ :int) -> {b_c :int}").expect("valid").hidden_fields().is_empty());
}
