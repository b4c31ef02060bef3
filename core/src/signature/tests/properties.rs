//! Properties of arbitrary signatures, and of samples.

use proptest::prelude::*;

use super::{json, ty};
use crate::signature::json_schema::{Schema, answer, returned_answer, strict_answer, unwrap};
use crate::signature::{
    Field, Issue, Policy, Signature, Type, check, coerce, from_json_schema, normalize_keys, parse, sample,
    sample_inputs,
};
use crate::text::Span;
use crate::value::Json;

/// Any text that is allowed in quotes.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "\\PC{0,8}", Just("a\"b\\c\nd\te\r".to_owned())]
}

/// Fields with unique names.
fn fields(
    ty: impl Strategy<Value = Type>,
    names: &'static str,
    sizes: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<Field>> {
    let field = (names, ty, proptest::option::of(text()));
    proptest::collection::vec(field, sizes).prop_map(|fields| {
        let mut unique: Vec<Field> = Vec::new();
        for (name, ty, description) in fields {
            if unique.iter().all(|field| field.name.replace('-', "_") != name.replace('-', "_")) {
                unique.push(Field { name, ty, description, span: Span::default() });
            }
        }
        unique
    })
}

fn choices() -> impl Strategy<Value = Type> {
    proptest::collection::btree_set(text(), 1..4).prop_map(|values| Type::Enum(values.into_iter().collect()))
}

fn optional(ty: Type) -> Type {
    match ty {
        Type::Optional(_) => ty,
        ty => Type::Optional(Box::new(ty)),
    }
}

/// Any type that a signature can express.
fn types() -> impl Strategy<Value = Type> {
    use Type::{Any, Bool, Datetime, Float, Int, Keyword, Map, Number, String};
    let scalars = proptest::sample::select(vec![String, Int, Float, Number, Bool, Keyword, Any, Map, Datetime]);
    let leaf = prop_oneof![4 => scalars, 1 => choices()];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let record = fields(inner.clone(), "[a-zA-Z_][a-zA-Z0-9_-]{0,5}", 0..4);
        prop_oneof![
            inner.clone().prop_map(|item| Type::List(Box::new(item))),
            record.prop_map(|fields| Type::Record { fields, closed: false }),
            inner.prop_map(optional),
        ]
    })
}

/// Any type that a JSON Schema distinguishes: each has its own schema; with closed maps and narrowing keywords.
fn schema_types() -> impl Strategy<Value = Type> {
    let narrowed = |base: Type, keywords: &[(&str, i64)]| Type::Narrowed {
        base: Box::new(base),
        keywords: keywords.iter().map(|(key, n)| ((*key).to_owned(), json(&n.to_string()))).collect(),
    };
    let leaf = prop_oneof![
        4 => proptest::sample::select(vec![Type::String, Type::Int, Type::Float, Type::Bool, Type::Map, Type::Datetime]),
        1 => choices(),
        1 => (-5..5_i64, 0..9_i64).prop_map(move |(least, more)| narrowed(Type::Int, &[("minimum", least), ("maximum", least + more)])),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let item = prop_oneof![3 => inner.clone(), 1 => inner.clone().prop_map(optional)];
        let record = fields(item.clone(), "[ -~]{1,6}", 0..4);
        let list = item.prop_map(|item| Type::List(Box::new(item)));
        prop_oneof![
            list.clone(),
            (list, 0..3_i64).prop_map(move |(list, least)| narrowed(list, &[("minItems", least)])),
            record.prop_map(|fields| Type::Record { fields, closed: true }),
        ]
    })
}

proptest! {
    #[test]
    fn a_rendered_signature_reads_back_the_same(
        params in proptest::option::of(fields(types(), "[a-zA-Z_][a-zA-Z0-9_-]{0,5}", 0..4)),
        output in types(),
    ) {
        let signature = Signature { params, output: Some(output) };
        let text = signature.render();
        let back = parse(&text);
        prop_assert_eq!(back.as_ref(), Ok(&signature), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_place_in_it(text in "[(){}\\[\\]:?,\"> a-c\\\\é-]{0,24}") {
        if let Err(error) = parse(&text) {
            prop_assert!(text.get(error.span.start..error.span.end).is_some());
        }
    }

    #[test]
    fn a_sample_is_valid_in_every_policy(of in types(), seed in 0..4_u64) {
        let value = sample(&of, seed, "").to_value();
        for policy in [Policy::Inputs, Policy::AnswerStrict, Policy::AnswerStandard, Policy::AnswerLenient] {
            let coerced = coerce(&of, value.clone(), policy);
            prop_assert!(!coerced.issues.iter().any(Issue::is_error), "{}: {:?}", of.render(), coerced.issues);
            let normal = normalize_keys(&of, coerced.value);
            prop_assert_eq!(check(&of, &normal), []);
        }
    }

    #[test]
    fn a_sample_fits_the_schemas_of_its_type(of in prop_oneof![types(), schema_types()], seed in 0..4_u64) {
        for Schema { json: schema, wrap } in answer(&of, &[]).into_iter().chain(strict_answer(&of, &[])) {
            let reply = wrap.around(sample(&of, seed, ""));
            let errors = foreign_errors(&schema, &reply);
            prop_assert!(errors.is_empty(), "{} against {}: {errors:?}", reply.to_text(), schema.to_text());
            let inner = unwrap(&of, &reply).map(Json::to_text);
            prop_assert_eq!(inner, Ok(sample(&of, seed, "").to_text()));
        }
    }

    #[test]
    fn a_returned_answer_fits_the_schema_of_its_readers(of in prop_oneof![types(), schema_types()], seed in 0..4_u64) {
        let coerced = coerce(&of, sample(&of, seed, "").to_value(), Policy::AnswerStrict);
        let value = Json::from(&normalize_keys(&of, coerced.value));
        if let Some(Schema { json: schema, wrap }) = returned_answer(&of, &[]) {
            let errors = foreign_errors(&schema, &wrap.around(value.clone()));
            prop_assert!(errors.is_empty(), "{} against {}: {errors:?}", value.to_text(), schema.to_text());
        }
    }

    #[test]
    fn a_schema_reads_back_as_the_same_type(of in schema_types()) {
        let Schema { json: schema, .. } = answer(&of, &[]).expect("not :any");
        let back = from_json_schema(&schema).map_err(|error| TestCaseError::fail(error.to_string()))?;
        // A wrapped answer is the only field of the object.
        let back = match (of.base(), back) {
            (Type::Record { .. } | Type::Map, back) => back,
            (_, Type::Record { mut fields, .. }) => fields.remove(0).ty,
            (_, other) => other,
        };
        prop_assert_eq!(back, of);
    }
}

/// The errors of an independent validator.
fn foreign_errors(schema: &Json, value: &Json) -> Vec<String> {
    let foreign =
        |json: &Json| -> serde_json::Value { serde_json::from_str(&json.to_text()).expect("our JSON is JSON") };
    let validator = jsonschema::validator_for(&foreign(schema)).expect("our schema is a schema");
    validator.iter_errors(&foreign(value)).map(|error| error.to_string()).collect()
}

#[test]
fn samples_are_plausible_and_the_same_for_a_seed() {
    let of = ty(
        "{product_name :string, city :string, score :float, sentiment :enum[positive negative], emails [:string], at :datetime?}",
    );
    let first = sample(&of, 0, "");
    assert_eq!(
        first.to_text(),
        concat!(
            r#"{"product_name":"desk lamp","city":"Lisbon","score":0.92,"sentiment":"positive","#,
            r#""emails":["ada@example.com","grace@example.com"],"at":"2026-03-01T09:30:00Z"}"#
        )
    );
    assert_eq!(sample(&of, 7, "").to_text(), sample(&of, 7, "").to_text());
    assert!((1..20).any(|seed| sample(&of, seed, "") != first));
    assert!((1..20).any(|seed| sample(&of, seed, "").get("sentiment").and_then(Json::as_str) == Some("negative")));
    assert_eq!(sample(&Type::String, 0, "city").as_str(), Some("Lisbon"));
    assert_eq!(sample(&Type::String, 0, "user-id").as_str(), Some("a-1"));
    assert_eq!(sample(&Type::String, 0, "anything").as_str(), Some("alpha"));
}

#[test]
fn sample_inputs_fill_every_parameter() {
    let params = parse("(text :string, n :int?) -> :any").expect("valid").params.expect("a list");
    assert_eq!(sample_inputs(&params, 0).to_text(), r#"{"text":"It works well and arrived on time.","n":3}"#);
}

#[test]
fn samples_stay_small_for_hostile_types() {
    let nested = format!("{}:int{}", "[".repeat(60), "]".repeat(60));
    assert!(sample(&ty(&nested), 1, "").to_text().len() < 2_000);
    let schema = format!("{}{{}}{}", r#"{"minItems":9,"items":"#.repeat(60), "}".repeat(60));
    let of = from_json_schema(&json(&schema)).expect("supported");
    assert!(sample(&of, 0, "").to_text().len() < 1_000_000);
    let of = from_json_schema(&json(r#"{"type":"array","items":{"type":"integer"},"minItems":1000000000}"#))
        .expect("supported");
    assert_eq!(sample(&of, 0, "").items().map(<[Json]>::len), Some(10_000));
}
