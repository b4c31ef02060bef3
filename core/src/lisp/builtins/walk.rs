//! Walking values: trees, and all nested parts of a value. Nesting is not bounded: nothing here recurses.

use std::mem::take;

use super::argument::{CollectionKinds, callee, hinted, taken};
use super::build::pair;
use super::sort::members_of;
use super::view::collect;
use super::{Arity, Builtin, Clojure, Cost};
use crate::lisp::machine::{Callable, Callee, Machine};
use crate::lisp::{Error, EvalResult, Items, described, wrong};
use crate::reasons::Reason;
use crate::value::{Map, Value};

/// The rows of this file.
pub(super) const ROWS: &[Builtin] = &[
    Builtin::new("flatten", Arity::exactly(1), flatten).calls_nothing()
        .doc(&["(flatten coll)"], "The items of a list and of all nested lists; [] for anything but a list.")
        .examples(&[("(flatten [1 [2 [3 nil]]])", "[1 2 3 nil]"), ("(flatten [#{4} [{:a [1]}]])", "[#{4} {:a [1]}]"), ("(flatten 5)", "[]")]),
    Builtin::new("tree-seq", Arity::exactly(3), tree_seq)
        .doc(
            &["(tree-seq branch? children root)"],
            "All nodes of a tree, each before its children; strings are leaves.",
        )
        .examples(&[
            ("(tree-seq vector? seq [1 [2]])", "[[1 [2]] 1 [2] 2]"),
            ("(map :id (tree-seq :children :children {:id 1 :children [{:id 2}]}))", "[1 2]"),
        ])
        .clojure(Clojure::Differs("branch? is not called for strings"))
        .cost(Cost::Output),
    Builtin::new("walk", Arity::exactly(3), walk)
        .doc(
            &["(walk inner outer form)"],
            "Applies inner to each item (of a map to each [key value]), and outer to the resulting collection; other values are passed to outer unchanged.",
        )
        .examples(&[("(walk inc identity [1 2])", "[2 3]"), ("(walk (fn [[k v]] [k (inc v)]) identity {:a 1})", "{:a 2}")])
        .clojure(Clojure::Named("clojure.walk/walk")),
    Builtin::new("prewalk", Arity::exactly(2), prewalk)
        .doc(&["(prewalk f form)"], "Applies f to the value, then to everything inside the result, from the outside in.")
        .examples(&[("(prewalk #(if (number? %) (inc %) %) {:a [1]})", "{:a [2]}"), ("(prewalk identity 5)", "5")])
        .clojure(Clojure::Named("clojure.walk/prewalk")),
    Builtin::new("postwalk", Arity::exactly(2), postwalk)
        .doc(&["(postwalk f form)"], "Applies f to everything inside the value, then to the result, from the inside out.")
        .examples(&[
            ("(postwalk #(if (number? %) (inc %) %) {:a [1 {:b 2}]})", "{:a [2 {:b 3}]}"),
            ("(postwalk #(if (keyword? %) (name %) %) {:a 1})", "{\"a\" 1}"),
        ])
        .clojure(Clojure::Named("clojure.walk/postwalk")),
    Builtin::new("keywordize-keys", Arity::exactly(1), keywordize_keys)
        .doc(&["(keywordize-keys form)"], "The value with keywords instead of strings as keys of all maps in it.")
        .examples(&[("(keywordize-keys {\"a\" [{\"b\" 1}]})", "{:a [{:b 1}]}"), ("(keywordize-keys {1 2})", "{1 2}")])
        .clojure(Clojure::Named("clojure.walk/keywordize-keys"))
        .current(),
    Builtin::new("stringify-keys", Arity::exactly(1), stringify_keys)
        .doc(&["(stringify-keys form)"], "The value with strings instead of keywords as keys of all maps in it.")
        .examples(&[("(stringify-keys {:a [{:b 1}]})", "{\"a\" [{\"b\" 1}]}"), ("(stringify-keys {1 2})", "{1 2}")])
        .clojure(Clojure::Named("clojure.walk/stringify-keys"))
        .current(),
];

/// Replaces string keys of one map.
static KEYWORD_KEYS: Builtin = Builtin::new("keywordize-keys", Arity::exactly(1), |machine, args| {
    change_keys(machine, args, |machine, key| match key {
        Value::Str(_) => super::texts::keyword(machine, &mut [key]),
        key => Ok(key),
    })
});

/// Replaces keyword keys of one map.
static STRING_KEYS: Builtin = Builtin::new("stringify-keys", Arity::exactly(1), |machine, args| {
    change_keys(machine, args, |_, key| match key {
        Value::Keyword(word) => Ok(Value::str(word.name())),
        key => Ok(key),
    })
});

/// The value with the keys of maps changed by a function, at one level; any other value unchanged.
fn change_keys(
    machine: &mut Machine<'_>,
    args: &mut [Value],
    change: fn(&mut Machine<'_>, Value) -> EvalResult,
) -> EvalResult {
    let Value::Map(map) = &args[0] else { return Ok(take(&mut args[0])) };
    let mut changed = Map::default();
    for (key, value) in &**map {
        machine.ticks(2)?;
        let key = change(machine, key.clone())?;
        changed.insert(key, value.clone());
    }
    Ok(changed.into())
}

fn keywordize_keys(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    postwalk(machine, &mut [Callable::Builtin(&KEYWORD_KEYS).into_value(), take(&mut args[0])])
}

fn stringify_keys(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    postwalk(machine, &mut [Callable::Builtin(&STRING_KEYS).into_value(), take(&mut args[0])])
}

fn flatten(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    if Callable::is_endless(&args[0]) {
        return Err(wrong(1, "a list", &args[0]));
    }
    let mut flat = Vec::new();
    let mut levels = Vec::new();
    if matches!(args[0], Value::List(_)) {
        levels.extend(Items::of(take(&mut args[0])));
    }
    while let Some(level) = levels.last_mut() {
        machine.tick()?;
        match level.next() {
            None => drop(levels.pop()),
            Some(Value::List(list)) => levels.extend(Items::of(Value::List(list))),
            Some(item) => flat.push(item),
        }
    }
    Ok(flat.into())
}

/// A function argument of `tree-seq`. nil acts as a function that returns nil, as a keyword does for a value without
/// such a key.
fn callee_or_nil<'v>(machine: &Machine<'_>, position: usize, function: &'v Value) -> EvalResult<Option<Callee<'v>>> {
    if function.is_nil() { Ok(None) } else { Callee::of(machine, position, function).map(Some) }
}

fn tree_seq(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [branch, children, root] = taken(args);
    let (branch, children) = (callee_or_nil(machine, 1, &branch)?, callee_or_nil(machine, 2, &children)?);
    let mut nodes = Vec::new();
    let mut levels = vec![Items::Owned(vec![root].into_iter())];
    while let Some(level) = levels.last_mut() {
        machine.tick()?;
        let Some(node) = level.next() else {
            levels.pop();
            continue;
        };
        nodes.push(node.clone());
        if let (Some(branch), Some(children), false) = (branch, children, matches!(node, Value::Str(_)))
            && branch.test(machine, node.clone())?
        {
            let found = children.call1(machine, node)?;
            if found == Value::Bool(false) {
                continue;
            }
            CollectionKinds::All.check(2, &found).map_err(|_| no_children(&found))?;
            levels.push(Items::Owned(collect(machine, found)?.into_iter()));
        }
    }
    Ok(nodes.into())
}

#[cold]
fn no_children(found: &Value) -> Box<crate::lisp::Halt> {
    let problem = format!("children must return a list or nil, got {}", described(found));
    Error::new(Reason::RuntimeError, problem).into()
}

fn walk(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [inner, outer, form] = taken(args);
    let outer = Callee::of(machine, 2, &outer)?;
    let form = match Level::open(machine, form)? {
        // A value without parts: the inner function is not called.
        Err(leaf) => leaf,
        Ok(mut level) => {
            let inner = Callee::of(machine, 1, &inner)?;
            while let Some(item) = level.next() {
                machine.tick()?;
                level.put(inner.call1(machine, item)?);
            }
            level.close(machine)?
        }
    };
    outer.call1(machine, form)
}

fn prewalk(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [function, form] = taken(args);
    let function = callee(machine, &function, &form, "(prewalk f form)")?;
    rebuild(machine, form, Some(function), None)
}

fn postwalk(machine: &mut Machine<'_>, args: &mut [Value]) -> EvalResult {
    let [function, form] = taken(args);
    let function = callee(machine, &function, &form, "(postwalk f form)")?;
    rebuild(machine, form, None, Some(function))
}

/// Rebuilds a value from the inside out: each part passes through `before` on the way in and through `after` on the way
/// out.
fn rebuild(
    machine: &mut Machine<'_>,
    root: Value,
    before: Option<Callee<'_>>,
    after: Option<Callee<'_>>,
) -> EvalResult {
    let mut levels: Vec<Level> = Vec::new();
    let mut part = root;
    loop {
        machine.tick()?;
        if let Some(before) = before {
            part = before.call1(machine, part)?;
        }
        let mut done = match Level::open(machine, part)? {
            Err(leaf) => Some(leaf),
            Ok(level) => {
                levels.push(level);
                None
            }
        };
        part = loop {
            if let Some(value) = done.take() {
                let value = match after {
                    Some(after) => after.call1(machine, value)?,
                    None => value,
                };
                match levels.last_mut() {
                    Some(level) => level.put(value),
                    None => return Ok(value),
                }
            }
            if let Some(part) = levels.last_mut().and_then(Level::next) {
                break part;
            }
            if let Some(level) = levels.pop() {
                done = Some(level.close(machine)?);
            }
        };
    }
}

/// A collection whose items are replaced one by one.
struct Level {
    kind: Kind,
    items: Vec<Value>,
    /// The index of the item being replaced.
    at: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    List,
    Map,
    Set,
}

impl Level {
    /// Takes a collection apart; `Err` returns a value without parts.
    fn open(machine: &mut Machine<'_>, value: Value) -> EvalResult<Result<Self, Value>> {
        let kind = match value {
            Value::List(_) => Kind::List,
            Value::Map(_) => Kind::Map,
            Value::Set(_) => Kind::Set,
            leaf => return Ok(Err(leaf)),
        };
        Ok(Ok(Self { kind, items: collect(machine, value)?, at: 0 }))
    }

    /// Takes out the next item to replace.
    fn next(&mut self) -> Option<Value> {
        self.items.get_mut(self.at).map(take)
    }

    /// Stores the replacement.
    fn put(&mut self, item: Value) {
        if let Some(place) = self.items.get_mut(self.at) {
            *place = item;
        }
        self.at += 1;
    }

    /// The collection of the replacements.
    fn close(self, machine: &mut Machine<'_>) -> EvalResult {
        match self.kind {
            Kind::List => Ok(self.items.into()),
            Kind::Set => Ok(Value::Set(members_of(machine, self.items)?.into())),
            Kind::Map => {
                let mut map = Map::default();
                for item in self.items {
                    machine.ticks(2)?;
                    let (key, value) = pair(item).map_err(|item| {
                        hinted(
                            wrong_entry(&item),
                            "The function is also called with the entries of maps, as [key value]",
                        )
                    })?;
                    map.insert(key, value);
                }
                Ok(map.into())
            }
        }
    }
}

#[cold]
fn wrong_entry(item: &Value) -> Box<crate::lisp::Halt> {
    let problem = format!("an entry of a map must stay [key value], got {}", described(item));
    Error::new(Reason::TypeError, problem).into()
}
