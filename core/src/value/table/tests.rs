//! Tables behave like sorted ones under all operations, in all representations.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn is_hashed<V>(table: &Table<V>) -> bool {
    matches!(table.0, Entries::Hashed(_))
}

/// Keys of most kinds, distinct for distinct numbers.
fn key(kind: u8, n: i64) -> Value {
    match kind {
        0 => Value::Int(n),
        1 => Value::str(format!("some longer name {n}")),
        2 => Value::keyword(&format!("k{n}")),
        3 => Value::Float(f64::from(i32::try_from(n).unwrap_or(0))),
        4 => Value::list([Value::list([Value::Int(n)])]),
        6 => Value::list([Value::Int(n), Value::str("x")]),
        5 => Value::str(format!("{n}")),
        _ => Value::Nil,
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u8, i64),
    Slot(u8, i64),
    Remove(u8, i64),
    Look,
}

#[test]
fn groups_are_hashed_while_they_grow_and_small_again_afterwards() {
    for kinds in [0..4, 0..7, 4..5] {
        let keys: Vec<Value> = kinds.flat_map(|kind| (0..5).map(move |n| key(kind, n * 7 % 5))).collect();
        let (mut groups, mut model) = (Table::<i64>::default(), BTreeMap::new());
        for (at, key) in (0..).zip(keys.iter().chain(&keys)) {
            *groups.group(key.clone()) += at;
            *model.entry(key.clone()).or_insert(0) += at;
        }
        let groups = groups.map(|sum| -sum);
        assert_eq!(groups.small().is_some(), model.len() <= SMALL);
        assert!(groups.iter().map(|(key, sum)| (key, -sum)).eq(model.iter().map(|(key, sum)| (key, *sum))));
    }
}

fn steps(kinds: std::ops::Range<u8>, most: i64) -> impl Strategy<Value = Vec<Step>> {
    let step = (0..20, kinds, 0..most).prop_map(|(what, kind, n)| match what {
        0 => Step::Remove(kind, n),
        1 if n % 8 == 0 => Step::Look,
        2..8 => Step::Slot(kind, n),
        _ => Step::Insert(kind, n),
    });
    prop::collection::vec(step, 0..400)
}

fn check(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut table = Table::default();
    let mut model = BTreeMap::new();
    for (at, step) in (0..).zip(steps) {
        match step {
            Step::Insert(kind, n) => {
                prop_assert_eq!(table.insert(key(kind, n), at), model.insert(key(kind, n), at));
            }
            Step::Slot(kind, n) => {
                *table.slot(key(kind, n)) += 1;
                *model.entry(key(kind, n)).or_default() += 1;
            }
            Step::Remove(kind, n) => prop_assert_eq!(table.remove(&key(kind, n)), model.remove(&key(kind, n))),
            Step::Look => prop_assert_eq!(table.iter().next(), model.iter().next()),
        }
        prop_assert_eq!(table.len(), model.len());
    }
    for (key, value) in &model {
        prop_assert_eq!(table.entry(key), Some((key, value)));
        prop_assert_eq!(table.get_mut(key).copied(), Some(*value));
        if let Some(text) = key.as_str() {
            prop_assert_eq!(table.get_str(text), Some(value));
        }
    }
    prop_assert_eq!(table.has_only_strings(), model.keys().all(|key| matches!(key, Value::Str(_))));
    prop_assert_eq!(table.entry(&key(4, 1_000)), None);
    prop_assert_eq!(table.entry(&key(1, 1_000)), None);
    let copy = table.clone();
    prop_assert!(table.iter().eq(&model) && table.iter().rev().eq(model.iter().rev()));
    prop_assert!(table.any(|_, value| *value == 3) == model.values().any(|value| *value == 3));
    let mut unordered: Vec<_> = table.clone().into_unordered().collect();
    unordered.sort();
    prop_assert!(unordered.iter().map(|(key, value)| (key, value)).eq(&model));
    for value in table.values_mut() {
        *value *= 2;
    }
    prop_assert!(table.iter().map(|(_, value)| *value).eq(model.values().map(|value| value * 2)));
    let texts = copy.clone().map(|value| value.to_string());
    prop_assert!(texts.into_iter().eq(model.iter().map(|(key, value)| (key.clone(), value.to_string()))));
    let again: Table<i64> = copy.clone().into_unordered().chain(copy.clone()).collect();
    prop_assert!(again.into_iter().eq(copy.into_iter()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tables_of_one_kind_of_key_behave_like_sorted_ones(kind in 0_u8..7, steps in steps(0..1, 120)) {
        let steps = steps.into_iter().map(|step| match step {
            Step::Insert(_, n) => Step::Insert(kind, n),
            Step::Slot(_, n) => Step::Slot(kind, n),
            Step::Remove(_, n) => Step::Remove(kind, n),
            Step::Look => Step::Look,
        });
        check(steps.collect())?;
    }

    #[test]
    fn tables_of_many_kinds_of_keys_behave_like_sorted_ones(steps in steps(0..8, 60)) {
        check(steps)?;
    }

    #[test]
    fn tables_that_nobody_looks_at_behave_like_sorted_ones(kinds in 1_u8..4, steps in steps(0..4, 100)) {
        let steps = steps.into_iter().filter_map(|step| match step {
            Step::Insert(kind, n) | Step::Remove(kind, n) => Some(Step::Insert(kind % kinds, n)),
            Step::Slot(kind, n) => Some(Step::Slot(kind % kinds, n)),
            Step::Look => None,
        });
        check(steps.collect())?;
    }

    #[test]
    fn the_first_of_equal_keys_wins_at_any_size(keys in prop::collection::vec((0_u8..6, 0_i64..80), 0..600)) {
        let entries = || (0_i64..).zip(&keys).map(|(at, (kind, n))| (key(*kind, *n), at));
        let table: Table<i64> = entries().collect();
        let mut model = BTreeMap::new();
        entries().for_each(|(key, at)| _ = model.entry(key).or_insert(at));
        prop_assert!(table.into_iter().eq(model));
    }
}

#[test]
fn large_tables_are_hashed_until_they_are_looked_at_and_changed() {
    let shuffled = (0..5_000).map(|n| n * 7_919 % 5_003);
    for kind in [0, 1, 2, 3, 5, 6] {
        let mut table: Table<i64> = Table::default();
        for n in shuffled.clone() {
            *table.slot(key(kind, n)) = n;
        }
        assert!(is_hashed(&table));
        let keys: Vec<Value> = table.iter().map(|(key, _)| key.clone()).collect();
        assert!(keys.is_sorted_by(|a, b| a < b) && keys.len() == 5_000);
        // Writing to an existing key keeps the order.
        *table.slot(keys[17].clone()) = -1;
        assert!(is_hashed(&table));
        assert_eq!(table.iter().nth(17), Some((&keys[17], &-1)));
        table.insert(key(kind, 1_000_000), 0);
        assert!(!is_hashed(&table));
        assert_eq!(table.len(), 5_001);
        assert!(table.iter().is_sorted_by(|a, b| a.0 < b.0));
    }
}

#[test]
fn keys_that_nest_are_not_hashed() {
    let mut table: Table<i64> = (0..100).map(|n| (key(0, n), n)).collect();
    assert!(is_hashed(&table));
    assert_eq!(table.entry(&key(4, 3)), None);
    table.insert(key(4, 3), 1);
    assert!(!is_hashed(&table));
    assert_eq!(table.entry(&key(4, 3)), Some((&key(4, 3), &1)));
    let table: Table<i64> = (0..100).map(|n| (key(4, n), n)).collect();
    assert!(!is_hashed(&table) && table.len() == 100);
}

#[test]
fn texts_that_begin_alike_are_in_order() {
    let texts = (0..200).flat_map(|n| [format!("prefix-{n}"), "\0".repeat(n), "a".repeat(n + 1)]);
    let table: Table<i64> = texts.map(|text| (Value::str(text), 0)).collect();
    assert!(is_hashed(&table) && table.len() == 600);
    assert!(table.iter().is_sorted_by(|a, b| a.0 < b.0));
    assert!(table.into_iter().is_sorted_by(|a, b| a.0 < b.0));
}
