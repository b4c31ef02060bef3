//! Calls: the behaviour of each kind of value in call position, frames, and the limit of nesting.

#![expect(clippy::inline_always, reason = "measured: most of a small function's time is that of its call")]

use super::builtin::{Arity, Builtin, Implementation};
use super::error_reason::{made_function_error, nested_error, program_error};
use super::function::{Bound, Callable, Closure};
use super::{CodePosition, Flow, Frame, Machine};
use crate::lisp::{Error, EvalResult, Halt, described};
use crate::reasons::Reason;
use crate::value::{Keyword, Map, Value};

impl Machine<'_> {
    /// Calls a value with these arguments; a value that is not callable fails as in call position.
    ///
    /// Definitions made by the function are undone when it returns.
    pub fn call(&mut self, function: &Value, args: &mut [Value]) -> EvalResult {
        let mark = self.globals.enter();
        let value = self.apply(function, args)?;
        self.globals.leave(mark);
        Ok(value)
    }

    /// Calls a closure for a builtin.
    #[inline]
    pub(crate) fn call_scoped(&mut self, closure: &Closure, args: &mut [Value]) -> EvalResult {
        let mark = self.globals.enter();
        let value = self.call_closure(closure, args)?;
        self.globals.leave(mark);
        Ok(value)
    }

    /// Like `call_scoped` with one argument, which is written directly into the frame.
    #[inline]
    pub(crate) fn call_scoped1(&mut self, closure: &Closure, arg: Value) -> EvalResult {
        if !closure.lambda.takes(1) {
            return self.call_scoped(closure, &mut [arg]);
        }
        let mark = self.globals.enter();
        let value = match closure.lambda.slots {
            0..=4 => framed1::<4>(self, closure, arg),
            5..=8 => framed1::<8>(self, closure, arg),
            _ => self.call_closure(closure, &mut [arg]),
        }?;
        self.globals.leave(mark);
        Ok(value)
    }

    /// Like `call_scoped` with two arguments.
    #[inline]
    pub(crate) fn call_scoped2(&mut self, closure: &Closure, one: Value, two: Value) -> EvalResult {
        if !closure.lambda.takes(2) {
            return self.call_scoped(closure, &mut [one, two]);
        }
        let mark = self.globals.enter();
        let value = match closure.lambda.slots {
            0..=4 => framed2::<4>(self, closure, one, two),
            5..=8 => framed2::<8>(self, closure, one, two),
            _ => self.call_closure(closure, &mut [one, two]),
        }?;
        self.globals.leave(mark);
        Ok(value)
    }

    /// Calls a value as in call position: its definitions persist.
    pub(crate) fn apply(&mut self, function: &Value, args: &mut [Value]) -> EvalResult {
        match function {
            Value::Function(body) => match Callable::of(body) {
                Some(callable) => self.call_function(callable, args),
                None => Err(not_callable(function)),
            },
            Value::Keyword(word) => self.call_keyword(*word, args),
            Value::Map(map) => call_map(self, map, args),
            // `(list index)`; data in parentheses, `([1 2] [3 4])`, stays an error.
            Value::List(list) if matches!(args, [Value::Int(_)]) && !self.is_reference() => Ok(item_at(list, args)),
            Value::Set(set) => match args {
                [member] => Ok(if set.contains(member) { std::mem::take(member) } else { Value::Nil }),
                _ => Error::new(Reason::ArityError, format!("a set is called with 1 argument, got {}", args.len()))
                    .hint("Write (set member)")
                    .halt(),
            },
            Value::Var(name) => {
                let Some(value) = self.globals.named(&self.world, *name).cloned() else {
                    return Err(unbound(*name));
                };
                // A var may refer to itself.
                self.enter()?;
                let result = self.apply(&value, args)?;
                self.exit();
                Ok(result)
            }
            other => Err(not_callable(other)),
        }
    }

    /// Calls a function value.
    #[inline]
    pub(crate) fn call_function(&mut self, function: &Callable, args: &mut [Value]) -> EvalResult {
        match function {
            Callable::Closure(closure) => self.call_closure(closure, args),
            Callable::Builtin(builtin) => self.call_row(builtin, args),
            Callable::Tool(name) => {
                let named = super::tool::gather(name, args)?;
                self.call_tool(name, &named)
            }
            Callable::Bound(bound) => {
                self.call_bound(bound, args).map_err(|halt| made_function_error(halt, bound.name))
            }
            Callable::Transducer(made) => Err(transducer_call(made.name)),
            Callable::Endless(_) => Err(endless_call()),
            Callable::Cell(_) => Err(cell_call()),
        }
    }

    /// Calls a function made of other functions.
    #[inline]
    pub(crate) fn call_bound(&mut self, bound: &Bound, args: &mut [Value]) -> EvalResult {
        self.enter()?;
        let value =
            (bound.run)(self, &bound.parts, args).map_err(|halt| nested_error(halt, bound.name, Arity::from(0)))?;
        self.exit();
        Ok(value)
    }

    /// Calls a builtin with any number of arguments on behalf of another builtin.
    #[inline]
    pub(crate) fn call_builtin(&mut self, builtin: &'static Builtin, args: &mut [Value]) -> EvalResult {
        match self.code(builtin, args.len()) {
            Ok(run) => run(self, args).map_err(|halt| nested_error(halt, builtin.name, builtin.reference_arity())),
            Err(halt) => Err(nested_error(halt, builtin.name, builtin.reference_arity())),
        }
    }

    /// Calls a builtin on behalf of the program.
    #[inline]
    pub(crate) fn call_row(&mut self, builtin: &'static Builtin, args: &mut [Value]) -> EvalResult {
        self.code(builtin, args.len())?(self, args).map_err(|halt| program_error(halt, builtin))
    }

    /// The implementation of a builtin for this number of arguments.
    #[inline]
    fn code(&self, builtin: &'static Builtin, count: usize) -> EvalResult<fn(&mut Self, &mut [Value]) -> EvalResult> {
        if !builtin.arity.allows(count) || (self.is_reference() && !builtin.reference_arity().allows(count)) {
            return Err(arity_error(builtin, count));
        }
        match builtin.run {
            Implementation::Function(run) => Ok(run),
            Implementation::Form => {
                let problem = format!("`{}` is a form, not a function", builtin.name);
                Error::new(Reason::NotCallable, problem).halt()
            }
        }
    }

    /// Calls a closure; the arguments are moved into its frame.
    #[inline]
    pub(crate) fn call_closure(&mut self, closure: &Closure, args: &mut [Value]) -> EvalResult {
        match closure.lambda.slots {
            0..=2 => framed::<2>(self, closure, args),
            3..=4 => framed::<4>(self, closure, args),
            5..=8 => framed::<8>(self, closure, args),
            9..=16 => framed::<16>(self, closure, args),
            17..=32 => framed::<32>(self, closure, args),
            slots => {
                let mut frame = vec![Value::Nil; slots as usize];
                self.run_framed(closure, args, &mut frame)
            }
        }
    }

    #[inline]
    fn run_framed(&mut self, closure: &Closure, args: &mut [Value], frame: &mut [Value]) -> EvalResult {
        let lambda = &*closure.lambda;
        let fixed = lambda.fixed as usize;
        if lambda.takes(args.len()) {
            for (slot, arg) in frame.iter_mut().zip(args) {
                slot.put(std::mem::take(arg));
            }
        } else {
            if args.len() < fixed || !lambda.rest {
                return Err(arity_mismatch(closure, args.len()));
            }
            let (firsts, rest) = args.split_at_mut(fixed);
            self.ticks(rest.len())?;
            let rest: Vec<Value> = rest.iter_mut().map(std::mem::take).collect();
            for (slot, arg) in frame.iter_mut().zip(firsts.iter_mut().map(std::mem::take).chain([Value::from(rest)])) {
                *slot = arg;
            }
        }
        let mut value = Value::Nil;
        self.enter()?;
        (closure.lambda.body)(self, frame, Some(closure), &mut value).settle(&mut value)?;
        self.exit();
        Ok(value)
    }

    /// Runs a closure with a frame on the native stack: the arguments are in their slots, their number has been
    /// checked.
    #[inline(always)]
    pub(crate) fn run<const N: usize>(&mut self, closure: &Closure, frame: &mut [Value; N], out: &mut Value) -> Flow {
        if let Err(halt) = self.enter_at(std::ptr::from_ref(frame).addr()) {
            return Flow::Halt(halt);
        }
        let flow = (closure.lambda.body)(self, frame, Some(closure), out);
        self.exit();
        flow
    }

    /// Counts a call and checks the depth. A machine is not used after an error, so returning from one may skip
    /// [`Machine::exit`].
    #[inline]
    pub(crate) fn enter(&mut self) -> EvalResult<()> {
        let here = 0_u8;
        self.enter_at(std::ptr::from_ref(&here).addr())
    }

    /// Like `enter`, with a current address of the native stack.
    #[inline(always)]
    fn enter_at(&mut self, here: usize) -> EvalResult<()> {
        self.depth += 1;
        if self.depth > self.limits.depth || here < self.stack_end {
            return Err(self.too_deep());
        }
        self.tick()
    }

    /// Counts the return of a call.
    #[inline]
    pub(crate) fn exit(&mut self) {
        self.depth -= 1;
    }

    /// True outside of all functions.
    pub(crate) fn outermost(&self) -> bool {
        self.depth == 0
    }

    #[cold]
    fn too_deep(&self) -> Box<Halt> {
        let depth = self.depth.min(self.limits.depth);
        let problem = if self.depth > self.limits.depth {
            format!("calls are nested deeper than {depth}")
        } else {
            format!("calls with large expressions are nested {depth} deep, which exhausts the stack")
        };
        Error::new(Reason::MemoryExceeded, problem).hint("Use loop with recur, or reduce, instead of recursion").into()
    }

    /// `(:key x)`: flexible lookup in a map, nil for anything else.
    #[inline]
    pub(crate) fn keyword_get(&mut self, word: Keyword, of: &Value) -> Value {
        match of {
            Value::Map(map) => map.lookup_near(word, &mut self.hint).cloned().unwrap_or_default(),
            _ => Value::Nil,
        }
    }

    /// The value under a key, looked up flexibly. In the dialect `reference` a list is always a path, even where it is a key.
    pub(crate) fn lookup<'m>(&self, map: &'m Map, key: &Value) -> Option<&'m Value> {
        match key {
            Value::List(path) if self.is_reference() => map.along(path),
            key => map.lookup_key(key),
        }
    }

    /// Calls a keyword.
    pub(crate) fn call_keyword(&mut self, word: Keyword, args: &mut [Value]) -> EvalResult {
        match args {
            [of] => Ok(self.keyword_get(word, of)),
            [Value::Map(map), default] => {
                let found = map.lookup_near(word, &mut self.hint).cloned();
                Ok(found.unwrap_or_else(|| std::mem::take(default)))
            }
            [_, default] => Ok(std::mem::take(default)),
            _ => Err(keyword_call(word, args.len())),
        }
    }

    /// Adds the name and span of a builtin's call to its error.
    #[cold]
    pub(crate) fn builtin_error(
        &self,
        halt: Box<Halt>,
        builtin: &'static Builtin,
        position: &CodePosition,
    ) -> Box<Halt> {
        self.with_span(program_error(halt, builtin), position)
    }
}

#[inline(never)]
fn framed<const N: usize>(machine: &mut Machine<'_>, closure: &Closure, args: &mut [Value]) -> EvalResult {
    machine.run_framed(closure, args, &mut *Frame::<N>::new())
}

#[inline(never)]
fn framed1<const N: usize>(machine: &mut Machine<'_>, closure: &Closure, arg: Value) -> EvalResult {
    let mut frame = Frame::<N>::new();
    frame[0].put(arg);
    let mut value = Value::Nil;
    machine.run(closure, &mut frame, &mut value).settle(&mut value)?;
    Ok(value)
}

#[inline(never)]
fn framed2<const N: usize>(machine: &mut Machine<'_>, closure: &Closure, one: Value, two: Value) -> EvalResult {
    let mut frame = Frame::<N>::new();
    frame[0].put(one);
    frame[1].put(two);
    let mut value = Value::Nil;
    machine.run(closure, &mut frame, &mut value).settle(&mut value)?;
    Ok(value)
}

/// The item of a list that is called with an index; nil if there is none.
fn item_at(list: &[Value], args: &[Value]) -> Value {
    let [Value::Int(index)] = args else { return Value::Nil };
    usize::try_from(*index).ok().and_then(|index| list.get(index)).cloned().unwrap_or_default()
}

fn call_map(machine: &Machine<'_>, map: &Map, args: &mut [Value]) -> EvalResult {
    match args {
        [key] => Ok(machine.lookup(map, key).cloned().unwrap_or_default()),
        [key, default] => Ok(machine.lookup(map, key).cloned().unwrap_or_else(|| std::mem::take(default))),
        _ => {
            let problem = format!("a map is called with 1 or 2 arguments, got {}", args.len());
            Error::new(Reason::InvalidMapCall, problem).hint("Write (map key) or (map key default)").halt()
        }
    }
}

#[cold]
fn keyword_call(word: Keyword, got: usize) -> Box<Halt> {
    let name = word.name();
    Error::new(Reason::InvalidKeywordCall, format!("a keyword is called with 1 or 2 arguments, got {got}"))
        .within(format!(":{name}"))
        .hint(format!("Write (:{name} map) or (:{name} map default)"))
        .into()
}

/// `not_callable`
#[cold]
pub(crate) fn not_callable(value: &Value) -> Box<Halt> {
    let hint = match value {
        Value::List(_) => "Use (nth list i) or (get list i) for an item; write a list of data as [1 2]",
        Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Big(_) => "Write a list of data as [1 2], not (1 2)",
        _ => "Only functions, keywords, maps and sets can be called",
    };
    Error::new(Reason::NotCallable, format!("{} cannot be called", described(value))).hint(hint).into()
}

/// The error of calling a transducer.
#[cold]
fn transducer_call(name: &str) -> Box<Halt> {
    Error::new(Reason::NotCallable, format!("a transducer made by `{name}` cannot be called"))
        .hint("Pass it to into, sequence or transduce, or give the collection as last argument")
        .into()
}

/// The error of calling an endless sequence.
#[cold]
fn endless_call() -> Box<Halt> {
    Error::new(Reason::NotCallable, "an endless sequence cannot be called").hint("Use (nth sequence i)").into()
}

/// `not_callable`, for an atom.
#[cold]
fn cell_call() -> Box<Halt> {
    let hint = "Read its value with @: (@f x) or (:key @a)";
    Error::new(Reason::NotCallable, "an atom cannot be called").hint(hint).into()
}

/// `unbound_var`
#[cold]
pub(crate) fn unbound(name: Keyword) -> Box<Halt> {
    let name = name.name();
    Error::new(Reason::UnboundVar, format!("`{name}` is not defined yet"))
        .hint(format!("Evaluate (def {name} …) first"))
        .into()
}

#[cold]
fn arity_error(builtin: &'static Builtin, got: usize) -> Box<Halt> {
    let error = Error::new(Reason::ArityError, format!("takes {}, got {got}", builtin.arity)).within(builtin.name);
    match builtin.signatures {
        [] => error.into(),
        ways => error.hint(format!("Write {}", ways.join(" or "))).into(),
    }
}

#[cold]
fn arity_mismatch(closure: &Closure, got: usize) -> Box<Halt> {
    let lambda = &*closure.lambda;
    let least = if lambda.rest { "at least " } else { "" };
    let noun = if lambda.fixed == 1 { "argument" } else { "arguments" };
    let problem = format!("takes {least}{} {noun} {}, got {got}", lambda.fixed, lambda.params);
    let name = lambda.name.map_or_else(|| "fn".into(), |name| name.name().to_owned());
    Error::new(Reason::ArityMismatch, problem).within(name).into()
}
