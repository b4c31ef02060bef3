//! The functions behind forms that the analyser rewrites: multimethods and named arguments. Programs cannot name them.

use super::{Arity, Builtin};
use crate::lisp::machine::{Callable, Machine};
use crate::lisp::{Error, EvalResult, described};
use crate::reasons::Reason;
use crate::value::{Map, Value};

/// The name of the functions that `defmulti` makes.
const MULTI: &str = "multimethod";

/// `defmulti`: name, dispatch function, default key → a function.
pub(crate) static MULTIMETHOD: Builtin = Builtin::new("defmulti", Arity::exactly(3), |_, args| {
    let mut parts: Vec<Value> = args.iter_mut().map(std::mem::take).collect();
    parts.push(Map::default().into());
    Ok(Callable::bound(MULTI, parts, dispatch))
});

/// `defmethod`: name, multimethod, key, function → the multimethod with one more method.
pub(crate) static METHOD: Builtin = Builtin::new("defmethod", Arity::exactly(4), |_, args| {
    let parts = match Callable::of_value(&args[1]) {
        Some(Callable::Bound(bound)) if bound.name == MULTI => &bound.parts,
        _ => {
            let name = args[0].as_str().unwrap_or_default();
            let problem = format!("`{name}` must be a multimethod, got {}", described(&args[1]));
            return Error::new(Reason::RuntimeError, problem)
                .hint(format!("Write (defmulti {name} dispatch-function) first"))
                .halt();
        }
    };
    let mut parts = parts.clone();
    if let Some(Value::Map(methods)) = parts.last() {
        let mut methods = (**methods).clone();
        methods.insert(std::mem::take(&mut args[2]), std::mem::take(&mut args[3]));
        parts.pop();
        parts.push(methods.into());
    }
    Ok(Callable::bound(MULTI, parts, dispatch))
});

/// Calls the method of the dispatch value, or the default one.
fn dispatch(machine: &mut Machine<'_>, parts: &[Value], args: &mut [Value]) -> EvalResult {
    let [name, function, default, Value::Map(methods)] = parts else { return Ok(Value::Nil) };
    let key = machine.apply(function, &mut args.to_vec())?;
    if let Some(method) = methods.get(&key).or_else(|| methods.get(default)) {
        return machine.apply(method, args);
    }
    let known: Vec<String> = methods.keys().map(|key| key.brief(BRIEF)).collect();
    let name = name.as_str().unwrap_or_default();
    let problem = format!("no method for {}", key.brief(BRIEF));
    Error::new(Reason::RuntimeError, problem)
        .within(name.to_owned())
        .hint(format!("Methods: {}. Add (defmethod {name} :default […] …)", known.join(", ")))
        .halt()
}

/// Bytes shown of a dispatch value.
const BRIEF: usize = 80;

/// The map of arguments after `&`: alternating names and values, or one map.
pub(crate) static NAMED_ARGUMENTS: Builtin = Builtin::new("fn", Arity::exactly(1), |machine, args| {
    let Value::List(list) = &args[0] else { return Ok(Value::Nil) };
    if let [map @ Value::Map(_)] = &list[..] {
        return Ok(map.clone());
    }
    machine.ticks(list.len())?;
    let mut map = Map::default();
    for pair in list.chunks_exact(2) {
        map.insert(pair[0].clone(), pair[1].clone());
    }
    Ok(map.into())
});
