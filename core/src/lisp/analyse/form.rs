//! The table of forms: which function analyses which. A test holds it against the rows of the builtins' table.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{A, Analyser, Tail};
use crate::lisp::Form;

/// Analyses a form: the whole of it, its parts after the head, and whether it stands in tail position.
pub(super) type Handler = fn(&mut Analyser<'_>, &Form, &[Form], Tail) -> A;

/// Forms that no local can hide.
const FIXED: &[&str] = &[
    "if", "do", "def", "defonce", "defn", "recur", "return", "fail", "task", "step-done", "task-reset", "quote", "comment",
];

/// All forms with what analyses them.
pub(super) const FORMS: &[(&str, Handler)] = &[
    ("let", Analyser::let_form),
    ("loop", Analyser::loop_form),
    ("recur", Analyser::recur_form),
    ("doseq", Analyser::doseq_form),
    ("for", Analyser::for_form),
    ("fn", Analyser::fn_form),
    ("if", Analyser::if_form),
    ("if-not", Analyser::if_not_form),
    ("if-let", Analyser::if_let_form),
    ("if-some", Analyser::if_some_form),
    ("when", Analyser::when_form),
    ("when-not", Analyser::when_not_form),
    ("when-let", Analyser::when_let_form),
    ("when-some", Analyser::when_some_form),
    ("when-first", Analyser::when_first_form),
    ("cond", Analyser::cond_form),
    ("case", Analyser::case_form),
    ("condp", Analyser::condp_form),
    ("->", Analyser::thread_first_form),
    ("->>", Analyser::thread_last_form),
    ("as->", Analyser::as_form),
    ("cond->", Analyser::cond_first_form),
    ("cond->>", Analyser::cond_last_form),
    ("some->", Analyser::some_first_form),
    ("some->>", Analyser::some_last_form),
    ("do", Analyser::do_form),
    ("comment", Analyser::comment_form),
    ("and", Analyser::and_form),
    ("or", Analyser::or_form),
    ("return", Analyser::return_form),
    ("fail", Analyser::fail_form),
    ("task", Analyser::task_form),
    ("step-done", Analyser::step_done_form),
    ("task-reset", Analyser::task_reset_form),
    ("def", Analyser::def_form),
    ("defonce", Analyser::defonce_form),
    ("defn", Analyser::defn_form),
    ("quote", Analyser::quote_form),
    ("budget/remaining", Analyser::budget_form),
];

/// What analyses the form of this name.
pub(super) fn handler(name: &str) -> Option<Handler> {
    static BY_NAME: OnceLock<HashMap<&str, Handler>> = OnceLock::new();
    BY_NAME.get_or_init(|| FORMS.iter().copied().collect()).get(name).copied()
}

/// Is there a form of this name?
pub(in crate::lisp) fn is_form(name: &str) -> bool {
    handler(name).is_some()
}

/// Does the form keep its meaning when a local has its name?
pub(super) fn is_fixed(name: &str) -> bool {
    FIXED.contains(&name)
}
