//! Laws of the functions over collections, tested on generated values: builtins are called directly, without a program.

use proptest::prelude::*;

use super::find;
use crate::lisp::Limits;
use crate::lisp::machine::Callable;
use crate::lisp::machine::{Machine, SharedCounters};
use crate::lisp::{CallAddress, Error, Failure, Host};
use crate::value::{Map, Value};

/// A host without tools, time or interrupts.
struct NoHost;

impl Host for NoHost {
    fn call(&self, _: &CallAddress, tool: &str, _: &Value) -> Result<Value, Failure> {
        Err(Failure::Tool(format!("there is no {tool}")))
    }

    fn interrupt(&self) -> Option<Error> {
        None
    }

    fn now_ms(&self) -> i64 {
        0
    }
}

/// The builtin as a value.
fn function(name: &str) -> Value {
    find(name).map(|row| Callable::Builtin(row).into_value()).unwrap_or_default()
}

/// `(name args…)`
fn call(name: &str, args: impl Into<Vec<Value>>) -> Value {
    apply(&function(name), args)
}

/// `(f args…)` with exact keys; an error becomes its text, so that it satisfies no law.
fn apply(f: &Value, args: impl Into<Vec<Value>>) -> Value {
    let shared = SharedCounters::default();
    let mut machine = Machine::new(&NoHost, &shared, Limits::default());
    machine.world.exact_keys = true;
    machine.call(f, &mut args.into()).unwrap_or_else(|halt| Value::from(format!("{f}: {halt:?}")))
}

/// A deep copy: it shares nothing with the original.
fn apart(value: &Value) -> Value {
    match value {
        Value::List(list) => Value::list(list.iter().map(apart)),
        Value::Set(set) => Value::set(set.iter().map(apart)),
        Value::Map(map) => Value::map(map.iter().map(|(key, value)| (apart(key), apart(value)))),
        other => other.clone(),
    }
}

fn key() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..6_i64).prop_map(Value::Int),
        "[a-d]".prop_map(|name| Value::keyword(&name)),
        "[a-d]".prop_map(Value::from),
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        (0..3_i64).prop_map(|n| Value::list([Value::Int(n)])),
    ]
}

fn items() -> impl Strategy<Value = Value> {
    proptest::collection::vec(key(), 0..40).prop_map(Value::from)
}

fn set() -> impl Strategy<Value = Value> {
    proptest::collection::vec(key(), 0..12).prop_map(Value::set)
}

/// Maps of both representations: up to 32 entries and more.
fn map() -> impl Strategy<Value = Value> {
    let keys = prop_oneof![key(), (100..160_i64).prop_map(Value::Int)];
    proptest::collection::vec((keys, key()), 0..60).prop_map(Value::map)
}

/// Functions of one argument that are defined for every argument.
fn total() -> impl Strategy<Value = Value> {
    let both = call("juxt", [function("identity"), function("identity")]);
    prop_oneof![
        Just(function("identity")),
        Just(call("complement", [function("identity")])),
        Just(call("partial", [function("assoc"), Value::Nil, Value::keyword("is")])),
        key().prop_map(|value| call("constantly", [value])),
        Just(call("comp", [call("constantly", [Value::Int(1)]), both])),
    ]
}

fn as_map(value: &Value) -> Map {
    value.as_map().cloned().unwrap_or_default()
}

fn as_items(value: &Value) -> Vec<Value> {
    value.as_list().unwrap_or_default().to_vec()
}

/// The items in canonical order, with duplicates.
fn as_bag(items: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut bag: Vec<Value> = items.into_iter().collect();
    bag.sort();
    bag
}

proptest! {
    #[test]
    fn mapping_twice_is_mapping_the_composition(f in total(), g in total(), xs in items()) {
        let twice = call("map", [f.clone(), call("map", [g.clone(), xs.clone()])]);
        let once = call("map", [call("comp", [f, g]), xs]);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn every_item_is_either_selected_or_removed(pred in total(), xs in items()) {
        let kept = call("filter", [pred.clone(), xs.clone()]);
        let removed = call("remove", [pred.clone(), xs.clone()]);
        let all_kept = call("every?", [pred.clone(), kept.clone()]);
        let none_removed = call("not-any?", [pred, removed.clone()]);
        prop_assert_eq!(as_bag(as_items(&kept).into_iter().chain(as_items(&removed))), as_bag(as_items(&xs)));
        prop_assert_eq!((all_kept, none_removed), (Value::Bool(true), Value::Bool(true)));
    }

    #[test]
    fn groups_hold_all_items_in_order_under_their_key(f in total(), xs in items()) {
        let groups = as_map(&call("group-by", [f.clone(), xs.clone()]));
        for (key, group) in &groups {
            let mine = as_items(&xs).into_iter().filter(|x| &apply(&f, [x.clone()]) == key);
            prop_assert_eq!(as_items(group), mine.collect::<Vec<_>>());
        }
        prop_assert_eq!(groups.values().map(|group| as_items(group).len()).sum::<usize>(), as_items(&xs).len());
    }

    #[test]
    fn frequencies_count_every_item_once(xs in items()) {
        let counted = as_map(&call("frequencies", [xs.clone()]));
        let grouped = call("group-by", [function("identity"), xs]);
        for (item, count) in &counted {
            let group = as_map(&grouped).get(item).map(as_items).unwrap_or_default();
            prop_assert_eq!(count, &Value::Int(group.len().try_into().unwrap_or(i64::MAX)));
        }
        prop_assert_eq!(counted.len(), as_map(&grouped).len());
    }

    #[test]
    fn merging_is_associative_and_the_last_wins(a in map(), b in map(), c in map()) {
        let left = call("merge", [call("merge", [a.clone(), b.clone()]), c.clone()]);
        let right = call("merge", [a.clone(), call("merge", [b.clone(), c.clone()])]);
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(&left, &call("merge", [a.clone(), Value::Nil, b.clone(), c.clone()]));
        for (key, value) in &as_map(&left) {
            let expected = [&c, &b, &a].into_iter().find_map(|map| map.as_map()?.get(key).cloned());
            prop_assert_eq!(Some(value), expected.as_ref());
        }
    }

    #[test]
    fn what_is_put_at_a_path_is_found_there(m in map(), path in proptest::collection::vec(key(), 1..5), x in key()) {
        // A path through a value without keys is rejected, and a list within a path is read as a path.
        let path: Vec<Value> = path.into_iter().filter(|key| !matches!(key, Value::List(_))).collect();
        let path = Value::from([vec![Value::keyword("new")], path].concat());
        let with = call("assoc-in", [m.clone(), path.clone(), x.clone()]);
        prop_assert_eq!(call("get-in", [with.clone(), path.clone()]), x.clone());
        let always = call("constantly", [x]);
        prop_assert_eq!(call("update-in", [m.clone(), path, always]), with.clone());
        prop_assert_eq!(call("dissoc", [with, Value::keyword("new")]), m);
    }

    #[test]
    fn what_is_written_is_read_and_adds_at_most_one_key(m in map(), name in "[ab]-?[cd]?", word in any::<bool>(), x in key()) {
        let key = if word { Value::keyword(&name) } else { Value::str(name.as_str()) };
        let shared = SharedCounters::default();
    let mut machine = Machine::new(&NoHost, &shared, Limits::default());
        let mut args = [m.clone(), key.clone(), x.clone()];
        let with = machine.call(&function("assoc"), &mut args).unwrap();
        let (before, after) = (as_map(&m), as_map(&with));
        prop_assert_eq!(after.lookup_key(&key), Some(&x));
        prop_assert_eq!(after.len() - before.len(), usize::from(before.lookup_key(&key).is_none()));
    }

    #[test]
    fn updating_with_identity_changes_nothing(m in map()) {
        for key in as_map(&m).keys() {
            let same = call("update", [m.clone(), key.clone(), function("identity")]);
            prop_assert_eq!(&same, &m);
        }
        prop_assert_eq!(call("update-vals", [m.clone(), function("identity")]), m.clone());
        prop_assert_eq!(call("update-keys", [m.clone(), function("identity")]), m.clone());
        let entries = Value::list(as_map(&m).iter().map(|(key, value)| Value::list([key.clone(), value.clone()])));
        prop_assert_eq!(call("entries", [m]), entries);
    }

    #[test]
    fn sets_follow_the_laws_of_sets(a in set(), b in set(), c in set()) {
        let both = call("intersection", [a.clone(), b.clone()]);
        let only = call("difference", [a.clone(), b.clone()]);
        let either = call("union", [a.clone(), b.clone()]);
        prop_assert_eq!(call("union", [both.clone(), only.clone()]), a.clone());
        prop_assert_eq!(&either, &call("union", [b.clone(), a.clone()]));
        prop_assert_eq!(&both, &call("intersection", [b.clone(), a.clone()]));
        prop_assert_eq!(call("union", [only, b.clone()]), either.clone());
        prop_assert_eq!(call("subset?", [both, b.clone()]), Value::Bool(true));
        prop_assert_eq!(call("superset?", [either.clone(), a.clone()]), Value::Bool(true));
        // (a ∪ b) \ c = (a \ c) ∪ (b \ c)
        let parts = [a, b].map(|set| call("difference", [set, c.clone()]));
        prop_assert_eq!(call("difference", [either, c]), call("union", parts));
    }

    /// In-place changes must be invisible: shared values stay as they are, and the result is the same.
    #[test]
    fn shared_arguments_are_not_changed(m in map(), xs in items(), s in set(), k in key(), f in total()) {
        let calls = [
            ("map", vec![f.clone(), xs.clone()]),
            ("map-indexed", vec![call("comp", [f.clone(), function("get")]), xs.clone()]),
            ("filter", vec![f.clone(), xs.clone()]),
            ("remove", vec![f.clone(), xs.clone()]),
            ("keep", vec![f.clone(), xs.clone()]),
            ("mapcat", vec![call("constantly", [xs.clone()]), xs.clone()]),
            ("group-by", vec![f.clone(), xs.clone()]),
            ("assoc", vec![m.clone(), k.clone(), xs.clone()]),
            ("assoc", vec![xs.clone(), Value::Int(0), k.clone()]),
            ("assoc-in", vec![m.clone(), Value::list([Value::keyword("new"), k.clone()]), k.clone()]),
            ("update", vec![m.clone(), k.clone(), f.clone()]),
            ("update-in", vec![Value::list([m.clone()]), Value::list([Value::Int(0), k.clone()]), f.clone()]),
            ("update-vals", vec![m.clone(), f.clone()]),
            ("dissoc", vec![m.clone(), k.clone()]),
            ("merge", vec![m.clone(), Value::map([(k.clone(), xs.clone())])]),
            ("vals", vec![m.clone()]),
            ("union", vec![s.clone(), Value::set([k.clone()])]),
            ("intersection", vec![s.clone(), xs.clone()]),
            ("difference", vec![s.clone(), xs.clone()]),
            ("disj", vec![s.clone(), k.clone()]),
            ("distinct-by", vec![f, xs]),
        ];
        for (name, args) in calls {
            let before = args.iter().map(apart).collect::<Vec<_>>();
            let shared = call(name, args.clone());
            prop_assert_eq!(&args, &before, "{} changed an argument", name);
            prop_assert_eq!(shared, call(name, before), "{}", name);
        }
    }
}
