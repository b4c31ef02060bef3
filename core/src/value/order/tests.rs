//! Tests of equality, order and hash: tables of the language, properties of random values, deep and shared values.

use std::hash::{DefaultHasher, Hash, Hasher};

use num_bigint::BigInt;
use proptest::prelude::*;

use super::*;

const MIXED: [Value; 5] = [Value::Float(f64::NAN), Value::Float(-0.0), Value::Float(0.0), Value::Int(0), Value::Nil];

fn big(power: u32) -> Value {
    Value::integer(BigInt::from(2).pow(power))
}

fn hash_of(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn kinds_are_in_the_order_of_the_contract() {
    let sorted = [
        Value::Float(f64::NEG_INFINITY),
        Value::integer(-BigInt::from(2).pow(80)),
        Value::Int(-1),
        Value::Float(0.5),
        Value::Int(1),
        Value::Float(1.5),
        big(80),
        Value::Float(f64::INFINITY),
        Value::Bool(false),
        Value::Nil,
        Value::Bool(true),
        Value::keyword("a"),
        Value::keyword("b"),
        Value::set([]),
        Value::set([Value::Int(9)]),
        Value::set([Value::Int(1), Value::Int(2)]),
        Value::map([]),
        Value::record([("b", Value::Int(1))]),
        Value::record([("b", Value::Int(2))]),
        Value::record([("a", Value::Int(9)), ("b", Value::Int(0))]),
        Value::Instant(super::super::Instant::new(-5)),
        Value::Instant(super::super::Instant::new(5)),
        Value::list([]),
        Value::list([Value::Int(1)]),
        Value::list([Value::Int(1), Value::Int(0)]),
        Value::list([Value::Int(2)]),
        Value::str("B"),
        Value::str("a"),
        Value::str("é"),
    ];
    for (i, a) in sorted.iter().enumerate() {
        for (j, b) in sorted.iter().enumerate() {
            assert_eq!(a.cmp(b), i.cmp(&j), "{a} and {b}");
            assert_eq!(a.compare(b), Some(i.cmp(&j)), "{a} and {b}");
            assert_eq!(a.order(b), i.cmp(&j), "{a} and {b}");
            assert_eq!(a.same(b), i == j, "{a} and {b}");
        }
    }
}

#[test]
fn loose_equality_looks_at_the_number_and_not_at_its_kind() {
    let one = |value: Value| [Value::list([value.clone()]), Value::record([("a", value.clone())]), value];
    for (int, float) in one(Value::Int(1)).iter().zip(&one(Value::Float(1.0))) {
        assert!(int.same(float) && float.same(int));
        assert_ne!(int, float);
        assert_eq!(int.compare(float), Some(Ordering::Equal));
    }
    let keyed = |key| Value::map([(key, Value::Nil)]);
    assert!(!keyed(Value::Int(1)).same(&keyed(Value::Float(1.0))));
    assert!(!Value::set([Value::Int(1)]).same(&Value::set([Value::Float(1.0)])));
    assert!(Value::Float(0.0).same(&Value::Float(-0.0)) && Value::Int(0).same(&Value::Float(-0.0)));
    assert!(!Value::keyword("a").same(&Value::str("a")));
    assert!(!Value::list([]).same(&Value::set([])));
}

#[test]
fn nan_is_loosely_unequal_and_strictly_equal() {
    let nan = Value::Float(f64::NAN);
    let other_nan = Value::Float(-f64::NAN);
    let list = Value::list([nan.clone()]);
    assert!(!nan.same(&nan) && !list.same(&list) && !list.same(&list.clone()));
    assert_eq!((nan.compare(&nan), nan.compare(&Value::Nil), list.compare(&list)), (None, None, None));
    assert_eq!(Value::list([Value::Int(1), nan.clone()]).compare(&Value::list([Value::Int(2)])), Some(Ordering::Less));
    assert_eq!(nan, other_nan);
    assert_eq!(hash_of(&nan), hash_of(&other_nan));
    assert_eq!(list, list.clone());
    assert_eq!(nan.order(&Value::Float(f64::INFINITY)), Ordering::Greater);
    assert_eq!(nan.order(&Value::Bool(false)), Ordering::Less);
    // Members of a set are compared strictly, so the sets are equal.
    assert!(Value::set([nan.clone()]).same(&Value::set([nan])));
}

#[test]
fn strict_order_separates_integers_floats_and_zeros() {
    let mut sorted = MIXED.to_vec();
    sorted.sort();
    assert_eq!(format!("{sorted:?}"), "[0, -0.0, 0.0, ##NaN, nil]");
    assert!(MIXED.iter().enumerate().all(|(i, a)| MIXED.iter().enumerate().all(|(j, b)| (a == b) == (i == j))));
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "the loss is what is tested")]
fn integers_and_floats_compare_exactly() {
    let edge = 1_i64 << 53;
    let cases = [
        (Value::Int(edge + 1), Value::Float((edge + 1) as f64), Ordering::Greater),
        (Value::Int(edge), Value::Float(edge as f64), Ordering::Equal),
        (Value::Int(i64::MAX), Value::Float(i64::MAX as f64), Ordering::Less),
        (Value::Int(i64::MIN), Value::Float(i64::MIN as f64), Ordering::Equal),
        (Value::Int(i64::MIN), Value::Float(-1e19), Ordering::Greater),
        (Value::Int(2), Value::Float(2.5), Ordering::Less),
        (Value::Int(-2), Value::Float(-2.5), Ordering::Greater),
        (big(100), Value::Float(2_f64.powi(100)), Ordering::Equal),
        (Value::integer(BigInt::from(2).pow(100) + 1), Value::Float(2_f64.powi(100)), Ordering::Greater),
        (Value::integer(BigInt::from(2).pow(100) - 1), Value::Float(2_f64.powi(100)), Ordering::Less),
        (big(2_000), Value::Float(f64::MAX), Ordering::Greater),
        (big(2_000), Value::Float(f64::INFINITY), Ordering::Less),
        (big(64), Value::Int(i64::MAX), Ordering::Greater),
        (Value::integer(-BigInt::from(2).pow(64)), Value::Int(i64::MIN), Ordering::Less),
    ];
    for (a, b, expected) in cases {
        assert_eq!(a.compare(&b), Some(expected), "{a} and {b}");
        assert_eq!(b.compare(&a), Some(expected.reverse()), "{b} and {a}");
        let strict = expected.then(Ordering::Less);
        assert_eq!((a.cmp(&b), b.cmp(&a)), (strict, strict.reverse()), "{a} and {b}");
    }
}

/// A value of lists, maps and sets, nested to a depth of `levels`.
fn nest(levels: u64, end: Value) -> Value {
    (0..levels).fold(end, |inner, level| match level % 3 {
        0 => Value::list([Value::Int(1), inner]),
        1 => Value::record([("a", inner)]),
        _ => Value::set([inner]),
    })
}

fn on_a_stack_of(bytes: usize, work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(bytes).spawn(work);
    assert!(thread.is_ok_and(|thread| thread.join().is_ok()));
}

#[test]
fn values_of_any_depth_compare_clone_hash_and_drop_on_a_small_stack() {
    on_a_stack_of(64 * 1024, || {
        let (a, b, c) = (nest(100_000, Value::Int(1)), nest(100_000, Value::Int(1)), nest(100_000, Value::Int(2)));
        assert!(a == b && a.same(&b) && a < c && a.compare(&c) == Some(Ordering::Less));
        assert_eq!(hash_of(&a), hash_of(&b));
        assert_eq!(a.extent().depth, 100_000);
        let in_key = Value::map([(a, b)]);
        drop(in_key.clone());
    });
}

#[test]
fn values_of_any_depth_print_and_convert_on_the_stack_of_a_task() {
    on_a_stack_of(2 * 1024 * 1024, || {
        let deep = nest(1_000_000, Value::Int(1));
        assert!(deep.print(super::super::Bounds::default()).cut);
        assert!(crate::value::Json::from(&deep).to_text().contains('…'));
    });
}

#[test]
fn comparing_shared_parts_takes_linear_time() {
    let doubled = || (0..200).fold(Value::Int(1), |inner, _| Value::list([inner.clone(), inner]));
    let (a, b) = (doubled(), doubled());
    assert!(a == b && a.same(&b) && a.same(&a));
    assert_eq!(hash_of(&a), hash_of(&b));
}

/// Values of all kinds, small enough that equal ones are common.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        (-2_i64..3).prop_map(Value::Int),
        any::<i64>().prop_map(Value::Int),
        prop::sample::select(vec![-0.0, 0.0, 1.0, 1.5, f64::NAN, f64::INFINITY, 9e18, 1.8e19]).prop_map(Value::Float),
        any::<f64>().prop_map(Value::Float),
        (60_u32..70).prop_map(big),
        "[a-c]{0,2}".prop_map(Value::from),
        "[a-c]{1,2}".prop_map(|name| Value::keyword(&name)),
        (-2_i64..3).prop_map(|us| Value::Instant(super::super::Instant::new(us))),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::set),
            prop::collection::vec((inner.clone(), inner), 0..4).prop_map(Value::map),
        ]
    })
}

proptest! {
    #[test]
    fn strict_and_loose_orders_are_total_and_agree_with_equality(a in any_value(), b in any_value(), c in any_value()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.order(&b), b.order(&a).reverse());
        prop_assert_eq!(&a, &a.clone());
        prop_assert_eq!(a.order(&a), Ordering::Equal);
        let mut strict = [&a, &b, &c];
        strict.sort();
        prop_assert!(strict[0] <= strict[2]);
        let mut loose = [&a, &b, &c];
        loose.sort_by(|a, b| a.order(b));
        prop_assert!(loose[0].order(loose[2]) != Ordering::Greater);
        if a == b {
            prop_assert_eq!(hash_of(&a), hash_of(&b));
            prop_assert_eq!(a.order(&b), Ordering::Equal);
        }
        prop_assert_eq!(a.same(&b), a.compare(&b) == Some(Ordering::Equal));
        if let Some(ordering) = a.compare(&b) {
            prop_assert_eq!(ordering, a.order(&b));
        }
    }
}
