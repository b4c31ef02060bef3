//! Tests of maps: a table of lookups, and the equivalence of large and small maps.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn map(entries: &[(Value, i64)]) -> Map {
    entries.iter().map(|(key, value)| (key.clone(), Value::Int(*value))).collect()
}

#[test]
fn keys_are_strict_and_sorted_and_the_first_of_equal_ones_wins() {
    let mut map = map(&[(Value::str("b"), 1), (Value::Float(1.0), 2), (Value::Int(1), 3), (Value::str("b"), 4)]);
    assert_eq!(map.keys().cloned().collect::<Vec<_>>(), [Value::Int(1), Value::Float(1.0), Value::str("b")]);
    assert_eq!(map.get_str("b"), Some(&Value::Int(1)));
    assert_eq!(map.insert(Value::str("a"), Value::Nil), None);
    assert_eq!(map.insert(Value::str("b"), Value::Nil), Some(Value::Int(1)));
    assert_eq!(map.remove(&Value::Int(1)), Some(Value::Int(3)));
    assert_eq!(map.remove(&Value::Int(1)), None);
    assert_eq!(map.keys().cloned().collect::<Vec<_>>(), [Value::Float(1.0), Value::str("a"), Value::str("b")]);
}

#[test]
fn lookup_is_flexible_in_the_order_of_the_contract() {
    let both = map(&[(Value::str("age"), 1), (Value::keyword("age"), 2)]);
    assert_eq!(both.lookup("age"), Some(&Value::Int(1)));
    assert_eq!(both.lookup_key(&Value::keyword("age")), Some(&Value::Int(2)));
    assert_eq!(both.lookup_key(&Value::str("age")), Some(&Value::Int(1)));

    let under = map(&[(Value::str("user_id"), 7), (Value::keyword("a_b"), 8)]);
    assert_eq!(under.lookup("user-id"), Some(&Value::Int(7)));
    assert_eq!(under.lookup_key(&Value::keyword("user-id")), Some(&Value::Int(7)));
    assert_eq!(under.lookup("a-b"), Some(&Value::Int(8)));
    assert_eq!(under.lookup_key(&Value::str("a_b")), Some(&Value::Int(8)));

    let dashed = map(&[(Value::keyword("a-b"), 1)]);
    assert_eq!(dashed.lookup("a_b"), None);
    assert_eq!(dashed.lookup("a-b"), Some(&Value::Int(1)));
    assert_eq!(dashed.lookup_key(&Value::Int(1)), None);
    assert_eq!(dashed.lookup("no keyword of this name"), None);

    let place = |x: i64, y: i64| Value::list([Value::Int(x), Value::Int(y)]);
    let grid = Map::from_iter([(place(0, 1), Value::Int(5)), (Value::Int(0), map(&[(Value::Int(1), 6)]).into())]);
    assert_eq!(grid.lookup_key(&place(0, 1)), Some(&Value::Int(5)), "a list that is a key is not a path");
    assert_eq!(
        Map::from_iter([(Value::Int(0), grid.get(&Value::Int(0)).cloned().unwrap_or_default())])
            .lookup_key(&place(0, 1)),
        Some(&Value::Int(6))
    );
}

proptest! {
    #[test]
    fn maps_of_any_size_behave_like_a_sorted_table(
        steps in prop::collection::vec((0_i64..60, any::<bool>(), any::<bool>()), 0..200),
    ) {
        let mut map = Map::default();
        let mut model = BTreeMap::new();
        for (step, (n, text, remove)) in (0..).zip(steps) {
            let key = if text { Value::str(format!("k{n}")) } else { Value::Int(n) };
            if remove {
                prop_assert_eq!(map.remove(&key), model.remove(&key));
            } else {
                prop_assert_eq!(map.insert(key.clone(), Value::Int(step)), model.insert(key, Value::Int(step)));
            }
        }
        prop_assert_eq!(map.len(), model.len());
        prop_assert!(map.iter().eq(model.iter()) && map.iter().rev().eq(model.iter().rev()));
        for (key, value) in &model {
            prop_assert_eq!(map.get(key), Some(value));
            prop_assert_eq!(map.lookup_key(key), Some(value));
            prop_assert_eq!(map.get_mut(key).cloned(), Some(value.clone()));
            if let Some(name) = key.as_str() {
                prop_assert_eq!(map.get_str(name), Some(value));
            }
        }
        prop_assert_eq!(map.get_str("absent"), None);
        let again: Map = map.iter().rev().map(|(key, value)| (key.clone(), value.clone())).collect();
        prop_assert_eq!(&again, &map);
        prop_assert!(map.into_iter().eq(model));
    }
}
