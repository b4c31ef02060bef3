//! The table of forms: the function that analyses each. A test compares it with the rows of the builtins' table.

use super::{Analyser, AnalysisResult, Tail};
use crate::lisp::Form;

/// Analyses a form: the whole form, its parts after the head, and whether it is in tail position.
pub(super) type Handler = fn(&mut Analyser<'_>, &Form, &[Form], Tail) -> AnalysisResult;

/// Forms that locals cannot shadow.
pub(super) const FIXED: &[&str] = &[
    "if",
    "do",
    "def",
    "defonce",
    "defn",
    "recur",
    "return",
    "fail",
    "task",
    "step-done",
    "task-reset",
    "quote",
    "comment",
];

/// Forms that the dialect `reference` does not have.
pub(super) const CURRENT: &[&str] = &[
    "try",
    "letfn",
    "dotimes",
    "while",
    "doto",
    "assert",
    "defn-",
    "declare",
    "defmulti",
    "defmethod",
    "ns",
    "require",
    "use",
    "import",
    "set!",
    "with-out-str",
];

macro_rules! forms {
    ($($name:literal $handler:ident;)*) => {
        /// All forms with their handlers.
        pub(super) const FORMS: &[(&str, Handler)] =
            &[$(($name, |analyser, form, args, tail| analyser.$handler(form, args, tail)),)*];
    };
}

forms! {
    "let" let_form;
    "loop" loop_form;
    "recur" recur_form;
    "doseq" doseq_form;
    "for" for_form;
    "fn" fn_form;
    "if" if_form;
    "if-not" if_not_form;
    "if-let" if_let_form;
    "if-some" if_some_form;
    "when" when_form;
    "when-not" when_not_form;
    "when-let" when_let_form;
    "when-some" when_some_form;
    "when-first" when_first_form;
    "cond" cond_form;
    "case" case_form;
    "condp" condp_form;
    "->" thread_first_form;
    "->>" thread_last_form;
    "as->" as_form;
    "cond->" cond_first_form;
    "cond->>" cond_last_form;
    "some->" some_first_form;
    "some->>" some_last_form;
    "do" do_form;
    "comment" comment_form;
    "and" and_form;
    "or" or_form;
    "return" return_form;
    "fail" fail_form;
    "task" task_form;
    "step-done" step_done_form;
    "task-reset" task_reset_form;
    "def" def_form;
    "defonce" defonce_form;
    "defn" defn_form;
    "quote" quote_form;
    "budget/remaining" budget_form;
    "tool/try" try_form;
    "try" attempt_form;
    "letfn" letfn_form;
    "dotimes" dotimes_form;
    "while" while_form;
    "doto" doto_form;
    "assert" assert_form;
    "defn-" defn_form;
    "declare" header_form;
    "defmulti" defmulti_form;
    "defmethod" defmethod_form;
    "ns" header_form;
    "require" header_form;
    "use" header_form;
    "import" header_form;
    "set!" set_form;
    "with-out-str" capture_form;
}

/// True if there is a form of this name.
pub(in crate::lisp) fn is_form(name: &str) -> bool {
    FORMS.iter().any(|(form, _)| *form == name)
}
