//! The names of the language, with everything the analyser needs to know about each.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::form::{CURRENT, FIXED, FORMS, Handler};
use crate::heap::uncounted;
use crate::lisp::builtins::namespaces;
use crate::lisp::builtins::{self, Builtin, Implementation, InReference};
use crate::lisp::ir::Expr;
use crate::value::{Keyword, Value};

/// A name of the language.
#[derive(Default)]
pub(super) struct Word {
    /// Analyses lists that begin with the name.
    pub(super) form: Option<Handler>,
    /// Locals do not shadow the form.
    pub(super) is_fixed: bool,
    /// The dialect `reference` does not have it.
    pub(super) is_current: bool,
    /// The function of this name.
    pub(super) function: Option<&'static Builtin>,
    /// Its value, if it can be read.
    value: Option<Meaning>,
}

/// The value of a name.
enum Meaning {
    Constant(Value),
    History(u8),
}

/// The names of earlier results, the last result first.
pub(super) const HISTORY: [&str; 3] = ["*1", "*2", "*3"];

/// Functions that can only be called by name.
const CALLED: [&str; 3] = ["juxt", "pmap", "pcalls"];

impl Word {
    /// The expression that reads the name.
    pub(super) fn expr(&self) -> Option<Expr> {
        self.value.as_ref().map(|meaning| match meaning {
            Meaning::Constant(value) => Expr::Const(value.clone()),
            Meaning::History(back) => Expr::History(*back),
        })
    }
}

/// The word of this name.
pub(super) fn word(name: Keyword) -> Option<&'static Word> {
    static WORDS: OnceLock<HashMap<Keyword, Word>> = OnceLock::new();
    WORDS.get_or_init(|| uncounted(words)).get(&name)
}

fn words() -> HashMap<Keyword, Word> {
    let mut words: HashMap<Keyword, Word> = HashMap::new();
    let mut change = |name: &str, change: &dyn Fn(&mut Word)| change(words.entry(Keyword::intern(name)).or_default());
    for (name, handler) in FORMS {
        change(name, &|word| {
            word.form = Some(*handler);
            word.is_fixed = FIXED.contains(name);
            word.is_current = CURRENT.contains(name);
        });
    }
    for (back, name) in (0..).zip(HISTORY) {
        change(name, &|word| word.value = Some(Meaning::History(back)));
    }
    for name in builtins::rows().map(|row| row.name).chain(namespaces::UNQUALIFIED.map(|(name, _)| name)) {
        let function = namespaces::bare(name).filter(|row| matches!(row.run, Implementation::Function(_)));
        if let Some(row) = function {
            change(name, &|word| {
                word.function = function;
                word.is_current = row.reference == InReference::Absent;
                // Functions that analyse their arguments like a form are not values.
                word.value = (!CALLED.contains(&row.name)).then(|| Meaning::Constant(builtins::value(row)));
            });
        }
    }
    for (name, number) in namespaces::CONSTANTS {
        change(name, &|word| word.value = Some(Meaning::Constant(Value::Float(number))));
    }
    words
}
