//! Functions of a program that have the name of a form of the agent: a call of `(defn task [x] …)` would run the form
//! `task`.
//!
//! In: the forms of a program. Out: an error where one of these functions is called. Names that are only read, such as
//! that of a parameter, are no fault.

use super::function::is_function;
use super::{Analyser, AnalysisResult, form_error_with_hint};
use crate::lisp::machine::Callable;
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::Keyword;

/// Forms of the agent that locals and definitions do not shadow.
const AGENT: &[&str] = &["task", "fail", "return", "step-done", "task-reset"];

impl Analyser<'_> {
    /// Collects the function that a form defines or binds, if a form of the agent has its name.
    pub(super) fn collect_fixed(&mut self, parts: &[Form]) {
        let Some((head, args)) = parts.split_first() else { return };
        match (head.symbol(), args) {
            (Some("defn" | "defn-"), [name, ..]) => self.note_fixed(name),
            (Some("def" | "defonce"), [name, .., value]) if is_function(value) => self.note_fixed(name),
            (Some("let" | "loop"), [Form { shape: Shape::Vector(binds), .. }, ..]) => {
                for bind in binds.chunks_exact(2).filter(|bind| is_function(&bind[1])) {
                    self.note_fixed(&bind[0]);
                }
            }
            (Some("letfn"), [Form { shape: Shape::Vector(functions), .. }, ..]) => {
                for name in functions.iter().filter_map(|function| function.list()?.first()) {
                    self.note_fixed(name);
                }
            }
            _ => {}
        }
    }

    fn note_fixed(&mut self, name: &Form) {
        if let Some(name) = name.name().filter(|name| AGENT.contains(&name.name())) {
            self.fixed.insert(name);
        }
    }

    /// Fails for a call of a function with the name of a form of the agent.
    pub(super) fn check_fixed(&self, name: Keyword, span: Span) -> AnalysisResult<()> {
        if !self.is_current() || !AGENT.contains(&name.name()) {
            return Ok(());
        }
        let of_program = self.fixed.contains(&name) && (self.is_local(name) || self.defined.contains(&name));
        let of_memory = || {
            let known = self.names.memory.get(&name).filter(|_| !self.is_local(name));
            known.is_some_and(|binding| Callable::closure_of(&binding.value).is_some())
        };
        if !of_program && !of_memory() {
            return Ok(());
        }
        let name = name.name();
        let problem = format!("this calls the special form `{name}`, not the function with this name");
        let hint = format!("Give the function another name, such as my-{name}");
        Err(form_error_with_hint(Reason::InvalidForm, name, &problem, &hint, span))
    }
}
