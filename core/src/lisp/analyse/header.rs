//! Headers without effect: `ns`, `require`, `use`, `import`, `declare`, `set!`. All functions are always available; only
//! the aliases of namespaces matter.

use super::{Analyser, AnalysisResult, Tail, form_error_with_hint};
use crate::lisp::builtins::namespaces;
use crate::lisp::ir::Node;
use crate::lisp::{Form, Shape};
use crate::reasons::Reason;
use crate::value::{Keyword, Value};

use super::bind::is_keyword;

/// Libraries whose functions are here in another namespace.
const LIBRARIES: [(&str, &str); 5] = [
    ("cheshire.core", "json"),
    ("clojure.data.json", "json"),
    ("jsonista.core", "json"),
    ("clojure.math", "Math"),
    ("clojure.core", "clojure.core"),
];

/// Namespaces of inputs, which no alias can hide.
const INPUTS: [&str; 3] = ["data", "tool", "budget"];

impl Analyser<'_> {
    /// A form without effect; nil.
    pub(super) fn header_form(&mut self, form: &Form, _: &[Form], _: Tail) -> AnalysisResult {
        Ok(Node::constant(Value::Nil, form.span))
    }

    /// `(set! *setting* value)` has no effect; other names and fields do not change.
    pub(super) fn set_form(&mut self, form: &Form, args: &[Form], tail: Tail) -> AnalysisResult {
        match args.first() {
            Some(target) if target.symbol().is_none_or(|name| !name.starts_with('*')) => {
                let hint =
                    "Use an atom: (def n (atom 1)) (reset! n 2) @n; or bind the new value with let, loop or reduce";
                Err(form_error_with_hint(Reason::InvalidForm, "set!", "values do not change", hint, form.span))
            }
            _ => self.header_form(form, args, tail),
        }
    }

    /// Collects the aliases of a header: each `[namespace :as alias]` in it.
    pub(super) fn collect_aliases(&mut self, parts: &[Form]) {
        let mut rest: Vec<&Form> = parts.iter().collect();
        while let Some(form) = rest.pop() {
            let (Shape::List(parts) | Shape::Vector(parts)) = &form.shape else { continue };
            rest.extend(&**parts);
            let Some(library) = parts.first().and_then(Form::symbol) else { continue };
            let is_as = |part: &Form| is_keyword(part, "as") || is_keyword(part, "as-alias");
            let alias = parts.iter().skip_while(|part| !is_as(part)).nth(1).and_then(Form::symbol);
            let known =
                LIBRARIES.iter().find(|(name, _)| *name == library).map_or(library, |(_, namespace)| *namespace);
            // An alias of an unknown library hides no namespace, but errors name the library.
            let may_name = |alias: &&str| namespaces::named(known).is_some() || namespaces::named(alias).is_none();
            if let Some(alias) = alias.filter(|alias| !INPUTS.contains(alias)).filter(may_name) {
                self.aliases.insert(alias, known);
            }
        }
    }

    /// The name with its namespace instead of an alias.
    #[inline]
    pub(super) fn unaliased(&self, name: Keyword) -> Keyword {
        if self.aliases.is_empty() { name } else { self.resolved(name) }
    }

    #[cold]
    fn resolved(&self, name: Keyword) -> Keyword {
        match namespaces::split(name.name()) {
            Some((alias, member)) if self.aliases.contains_key(alias) => {
                Keyword::intern(&format!("{}/{member}", self.aliases[alias]))
            }
            _ => name,
        }
    }
}
