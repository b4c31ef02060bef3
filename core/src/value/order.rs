//! Equality, order and hash of values.
//!
//! There are two rules. The *strict* one (`Eq`, `Ord`, `Hash`) is for map keys, set members and canonical printing: it
//! is total, distinguishes `1` from `1.0` and `0.0` from `-0.0`, and NaN equals itself. The *loose* one
//! ([`Value::same`], [`Value::compare`], [`Value::order`]) is the language's: numbers by value at every depth, NaN
//! equal to nothing; map keys and set members remain strict inside it.
//!
//! Comparison is iterative and remembers pairs of shared containers, so neither nesting nor sharing is bounded.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

use super::number::{compare_big_float, compare_big_int, compare_int_float};
use super::{Members, Value, map};

/// Containers compared before pairs are remembered; for fewer, comparing twice is cheaper.
const REMEMBER_AFTER: usize = 4_096;
/// Depth and number of values that a hash examines; equal values agree on all deeper and later ones.
const HASH_DEPTH: usize = 64;
const HASH_VALUES: usize = 4_096;

/// Pairs of values that are compared without being charged.
const FREE_PAIRS: usize = 32;
/// Texts up to this many bytes are compared and hashed without being charged.
const SHORT_TEXT: usize = 4_096;

thread_local! {
    // Uncharged work of comparing and hashing on this thread. It has no destructor, so access is cheap.
    static UNCHARGED: Cell<usize> = const { Cell::new(0) };
}

/// True if this thread has uncharged work of comparing or hashing.
#[inline]
pub(crate) fn has_uncharged() -> bool {
    UNCHARGED.get() > 0
}

/// The uncharged work of comparing and hashing large values on this thread, in pairs of values; resets it.
pub(crate) fn take_uncharged() -> usize {
    UNCHARGED.take()
}

fn charge(work: usize) {
    if work > FREE_PAIRS {
        UNCHARGED.set(UNCHARGED.get().saturating_add(work));
    }
}

/// Adds the work for this much text: compared by words, hashed by bytes.
fn charge_text(bytes: usize, bytes_per_pair: usize) {
    if bytes > SHORT_TEXT {
        charge(FREE_PAIRS + bytes / bytes_per_pair);
    }
}

/// Adds the work of hashing or searching a text of this many bytes.
pub(super) fn charge_hash(bytes: usize) {
    charge_text(bytes, 16);
}

fn compare_texts(a: &str, b: &str) -> Ordering {
    charge_text(a.len().min(b.len()), 256);
    a.cmp(b)
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Rule {
    /// Numbers by value, then integers before floats, then `-0.0` before `0.0`; NaN after all other numbers.
    Strict,
    /// Numbers by value; NaN cannot be compared.
    Loose,
    /// Numbers by value; NaN after all other numbers.
    Sorting,
}

impl Value {
    /// The language's `=`: numbers by value at every depth, NaN equal to nothing (not even itself), map keys and set
    /// members strict.
    pub fn same(&self, other: &Self) -> bool {
        walk(self, other, Rule::Loose) == Some(Ordering::Equal)
    }

    /// The language's order for `<`, `compare` and similar; `None` if the result depends on NaN.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        walk(self, other, Rule::Loose)
    }

    /// The language's order for sorting: as [`Value::compare`], with NaN after all other numbers. A total preorder: `1`
    /// and `1.0` tie, so sorts must be stable.
    pub fn order(&self, other: &Self) -> Ordering {
        walk(self, other, Rule::Sorting).unwrap_or(Ordering::Equal)
    }

    /// As [`Value::order`], with the number of pairs of nested values it compared.
    pub(crate) fn order_counted(&self, other: &Self) -> (Ordering, usize) {
        let (ordering, pairs) = walk_counted(self, other, Rule::Sorting);
        (ordering.unwrap_or(Ordering::Equal), pairs)
    }

    /// As [`Value::compare`], with the number of pairs of nested values it compared.
    pub(crate) fn compare_counted(&self, other: &Self) -> (Option<Ordering>, usize) {
        walk_counted(self, other, Rule::Loose)
    }

    /// As `cmp`, with the number of pairs of nested values it compared.
    pub(crate) fn cmp_counted(&self, other: &Self) -> (Ordering, usize) {
        let (ordering, pairs) = walk_counted(self, other, Rule::Strict);
        (ordering.unwrap_or(Ordering::Equal), pairs)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // Most keys: equality without ordering.
            (Self::Str(a), Self::Str(b)) => {
                if Arc::ptr_eq(a, b) {
                    return true;
                }
                if a.len() == b.len() {
                    charge_text(a.len(), 256);
                }
                a == b
            }
            (Self::Keyword(a), Self::Keyword(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::List(a), Self::List(b)) => equal_leaves(a, b).unwrap_or_else(|| self.cmp(other) == Ordering::Equal),
            // Values of different kinds are never equal, not even numbers.
            _ => discriminant(self) == discriminant(other) && self.cmp(other) == Ordering::Equal,
        }
    }
}

/// Equality of two lists; `None` if it depends on nested containers.
fn equal_leaves(a: &[Value], b: &[Value]) -> Option<bool> {
    if std::ptr::eq(a, b) {
        return Some(true);
    }
    if a.len() != b.len() {
        return Some(false);
    }
    let decides = |(a, b): &(&Value, &Value)| (a.is_container() && b.is_container()) || a != b;
    let decided = a.iter().zip(b).enumerate().find(|(_, pair)| decides(pair));
    charge(decided.map_or(a.len(), |(place, _)| place));
    match decided {
        None => Some(true),
        Some((_, (a, b))) if a.is_container() && b.is_container() => None,
        Some(_) => Some(false),
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            // Fast paths for most keys.
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Str(a), Self::Str(b)) => compare_texts(a, b),
            (Self::Keyword(a), Self::Keyword(b)) => a.cmp(b),
            _ => walk(self, other, Rule::Strict).unwrap_or(Ordering::Equal),
        }
    }
}

/// The rank of a kind in the total order.
pub(super) fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Big(_) | Value::Float(_) => 0,
        Value::Bool(false) => 1,
        Value::Nil => 2,
        Value::Bool(true) => 3,
        Value::Function(_) => 4,
        Value::Regex(_) => 5,
        Value::Var(_) => 6,
        Value::Symbol(_) => 7,
        Value::Keyword(_) => 8,
        Value::Set(_) => 9,
        Value::Map(_) => 10,
        Value::Date(_) => 11,
        Value::Instant(_) => 12,
        Value::Duration(_) => 13,
        Value::List(_) => 14,
        Value::Str(_) => 15,
    }
}

/// Compares two values of which at least one has no nested values; `Err` if both are containers of one kind.
fn leaves(a: &Value, b: &Value, rule: Rule) -> Result<Option<Ordering>, ()> {
    Ok(match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(compare_texts(a, b)),
        (Value::Keyword(a), Value::Keyword(b))
        | (Value::Var(a), Value::Var(b))
        | (Value::Symbol(a), Value::Symbol(b)) => Some(a.cmp(b)),
        (Value::Instant(a), Value::Instant(b)) => Some(a.cmp(b)),
        (Value::Date(a), Value::Date(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Regex(a), Value::Regex(b)) => Some(a.cmp(b)),
        (Value::Function(a), Value::Function(b)) => Some(a.cmp(b)),
        (Value::List(_), Value::List(_)) | (Value::Set(_), Value::Set(_)) | (Value::Map(_), Value::Map(_)) => {
            return Err(());
        }
        _ if rule == Rule::Loose && (is_nan(a) || is_nan(b)) => None,
        _ => Some(rank(a).cmp(&rank(b)).then_with(|| compare_numbers(a, b, rule))),
    })
}

/// True for the float NaN.
fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_nan())
}

/// Numbers by value, NaN last; under the strict rule ties go to integers, then to the smaller bit pattern (`-0.0`).
/// Values that are not numbers are equal.
fn compare_numbers(a: &Value, b: &Value, rule: Rule) -> Ordering {
    let by_value = match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Big(a), Value::Big(b)) => a.cmp(b),
        (Value::Int(_), Value::Big(big)) => compare_big_int(big).reverse(),
        (Value::Big(big), Value::Int(_)) => compare_big_int(big),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        (Value::Int(a), Value::Float(b)) => compare_int_float(*a, *b),
        (Value::Float(a), Value::Int(b)) => compare_int_float(*b, *a).reverse(),
        (Value::Big(a), Value::Float(b)) => compare_big_float(a, *b),
        (Value::Float(a), Value::Big(b)) => compare_big_float(b, *a).reverse(),
        _ => Ordering::Equal,
    };
    match rule {
        Rule::Strict => by_value.then_with(|| number_kind(a).cmp(&number_kind(b))),
        Rule::Loose | Rule::Sorting => by_value,
    }
}

/// Integers, then -0.0, then other floats.
fn number_kind(value: &Value) -> u8 {
    match value {
        Value::Float(float) if *float == 0.0 && float.is_sign_negative() => 1,
        Value::Float(_) => 2,
        _ => 0,
    }
}

/// Consecutive values in a container.
enum Row<'a> {
    Items(std::slice::Iter<'a, Value>),
    Members(Members<'a>),
    Keys(map::Iter<'a>),
    Values(map::Iter<'a>),
}

impl<'a> Iterator for Row<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Self::Items(items) => items.next(),
            Self::Members(members) => members.next(),
            Self::Keys(entries) => entries.next().map(|(key, _)| key),
            Self::Values(entries) => entries.next().map(|(_, value)| value),
        }
    }
}

/// Two rows compared item by item; if one ends first, `then` decides.
struct Frame<'a> {
    rows: (Row<'a>, Row<'a>),
    rule: Rule,
    then: Ordering,
}

fn walk(a: &Value, b: &Value, rule: Rule) -> Option<Ordering> {
    leaves(a, b, rule).unwrap_or_else(|()| {
        let mut pairs = 0;
        let ordering = walk_containers(a, b, rule, &mut pairs);
        charge(pairs);
        ordering
    })
}

/// As [`walk`], with the number of pairs compared; long texts are charged later.
fn walk_counted(a: &Value, b: &Value, rule: Rule) -> (Option<Ordering>, usize) {
    let mut pairs = 0;
    let ordering = match leaves(a, b, rule) {
        Ok(decided) => decided,
        Err(()) => walk_containers(a, b, rule, &mut pairs),
    };
    (ordering, pairs)
}

fn walk_containers(a: &Value, b: &Value, rule: Rule, pairs: &mut usize) -> Option<Ordering> {
    let mut walk = Walk::default();
    let mut next = Step::Compare(a, b, rule);
    loop {
        match next {
            Step::Decided(ordering) => return Some(ordering),
            Step::Compare(a, b, rule) => match leaves(a, b, rule) {
                Ok(Some(Ordering::Equal)) => {}
                Ok(decided) => return decided,
                Err(()) => {
                    if let Some(ordering) = walk.enter(a, b, rule) {
                        return Some(ordering);
                    }
                }
            },
        }
        *pairs += 1;
        next = walk.step();
    }
}

enum Step<'a> {
    Compare(&'a Value, &'a Value, Rule),
    Decided(Ordering),
}

#[derive(Default)]
struct Walk<'a> {
    frames: Vec<Frame<'a>>,
    entered: usize,
    /// Pairs of containers compared before. Meeting one again means that they were equal, or are part of the current
    /// comparison: the first difference ends the whole walk.
    met: Option<HashSet<(usize, usize, Rule)>>,
}

impl<'a> Walk<'a> {
    fn step(&mut self) -> Step<'a> {
        while let Some(frame) = self.frames.last_mut() {
            if let (Some(a), Some(b)) = (frame.rows.0.next(), frame.rows.1.next()) {
                return Step::Compare(a, b, frame.rule);
            }
            let then = frame.then;
            self.frames.pop();
            if then != Ordering::Equal {
                return Step::Decided(then);
            }
        }
        Step::Decided(Ordering::Equal)
    }

    /// Enters two containers of one kind; an ordering if that alone decides.
    fn enter(&mut self, a: &'a Value, b: &'a Value, rule: Rule) -> Option<Ordering> {
        let (left, right) = (address(a), address(b));
        // A container may differ from itself under the loose rule: it may contain NaN.
        if left == right && rule != Rule::Loose {
            return None;
        }
        self.entered += 1;
        if self.entered > REMEMBER_AFTER && !self.met.get_or_insert_default().insert((left, right, rule)) {
            return None;
        }
        let mut push = |a, b, rule, then| self.frames.push(Frame { rows: (a, b), rule, then });
        match (a, b) {
            (Value::List(a), Value::List(b)) => {
                push(Row::Items(a.iter()), Row::Items(b.iter()), rule, a.len().cmp(&b.len()));
            }
            (Value::Set(a), Value::Set(b)) if a.len() == b.len() => {
                push(Row::Members(a.iter()), Row::Members(b.iter()), Rule::Strict, Ordering::Equal);
            }
            (Value::Map(a), Value::Map(b)) if a.len() == b.len() => {
                push(Row::Values(a.iter()), Row::Values(b.iter()), rule, Ordering::Equal);
                push(Row::Keys(a.iter()), Row::Keys(b.iter()), Rule::Strict, Ordering::Equal);
            }
            (Value::Set(a), Value::Set(b)) => return Some(a.len().cmp(&b.len())),
            (Value::Map(a), Value::Map(b)) => return Some(a.len().cmp(&b.len())),
            _ => {}
        }
        None
    }
}

/// The address of a container; equal addresses mean the same container.
pub(crate) fn address(value: &Value) -> usize {
    match value {
        Value::List(list) => Arc::as_ptr(list).addr(),
        Value::Set(set) => Arc::as_ptr(set).addr(),
        Value::Map(map) => Arc::as_ptr(map).addr(),
        _ => 0,
    }
}

/// Consistent with `Eq`. Examines the first 4,096 values down to 64 levels, and the lengths of all containers among
/// them.
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut left = HASH_VALUES;
        hash(self, state, 0, &mut left);
    }
}

fn hash<H: Hasher>(value: &Value, state: &mut H, depth: usize, left: &mut usize) {
    *left -= 1;
    rank(value).hash(state);
    match value {
        Value::Nil | Value::Bool(_) => {}
        Value::Int(int) => int.hash(state),
        Value::Big(big) => big.hash(state),
        Value::Float(float) => if float.is_nan() { f64::NAN } else { *float }.to_bits().hash(state),
        Value::Keyword(word) => word.hash(state),
        Value::Str(text) => {
            charge_hash(text.len());
            text.hash(state);
        }
        Value::Instant(at) => at.hash(state),
        Value::Date(day) => day.hash(state),
        Value::Duration(span) => span.hash(state),
        Value::Var(name) | Value::Symbol(name) => name.hash(state),
        Value::Regex(pattern) => pattern.hash(state),
        Value::Function(function) => function.hash(state),
        Value::List(items) => {
            items.len().hash(state);
            hash_all(items.iter(), state, depth, left);
        }
        Value::Set(members) => {
            members.len().hash(state);
            hash_all(members.iter(), state, depth, left);
        }
        Value::Map(map) => {
            map.len().hash(state);
            hash_all(map.iter().flat_map(|(key, value)| [key, value]), state, depth, left);
        }
    }
}

fn hash_all<'a, H: Hasher>(values: impl Iterator<Item = &'a Value>, state: &mut H, depth: usize, left: &mut usize) {
    if depth < HASH_DEPTH {
        for value in values {
            if *left == 0 {
                return;
            }
            hash(value, state, depth + 1, left);
        }
    }
}

#[cfg(test)]
mod tests;
