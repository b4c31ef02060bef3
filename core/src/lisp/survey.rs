//! Static surveys of programs: their errors, the tools they call, the data they read.
//!
//! In: an [`Input`]. Out: a [`Survey`]. It uses the stages up to analysis and runs nothing. It must never report an
//! error as certain that some run of the program avoids.

use std::sync::Arc;

use super::analyse::analyse_leniently;
use super::host::Watch;
use super::ir::{DefCondition, Expr, Modifier, Node, Pattern};
use super::read::{Budget, read_watched};
use super::run::understand;
use super::{Error, Form, Input, Names, Stack};
use crate::reasons::Reason;
use crate::text::Span;
use crate::value::Value;

/// Facts about a program from its text.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Number of top-level forms.
    pub forms: usize,
    /// Errors, in the order of the text.
    pub faults: Vec<Fault>,
    /// Tool calls with literal arguments.
    pub calls: Vec<ToolUse>,
    /// The keys of the data that it reads, with spans.
    pub data: Vec<(Arc<str>, Span)>,
    /// True if it contains `return` or `fail`.
    pub has_return: bool,
    /// Texts about legacy forms and their modern ones.
    pub hints: Vec<String>,
}

/// An error found by a survey.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The error that a run ends with.
    pub error: Error,
    /// True if every run ends with it, or with an earlier error; otherwise only runs that reach it do.
    pub certain: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub tool: Arc<str>,
    /// Its arguments by name, with the values of constants; `None` if the names are not literal.
    pub args: Option<Vec<(Value, Option<Value>)>>,
    /// The call in the text.
    pub span: Span,
    /// True if every run that has no earlier error reaches it.
    pub certain: bool,
}

/// Surveys a program. `internal_error` is among the faults if no thread can be started for it.
pub fn survey(input: &Input<'_>) -> Survey {
    Stack::with(|_| look(input)).unwrap_or_else(broken)
}

fn broken(error: Error) -> Survey {
    Survey { faults: vec![Fault { error, certain: true }], ..Survey::default() }
}

fn look(input: &Input<'_>) -> Survey {
    let forms = match read_watched(input.source, Budget::of(input.limits), input.dialect, &Watch::none()) {
        Ok(forms) => forms,
        Err(error) => return broken(error),
    };
    let found = match understand(&forms, input, &Watch::none()) {
        Ok((program, hints)) => Survey { hints, ..walked(&program.body, input) },
        Err(error) => refused(error, &forms, input),
    };
    Survey { forms: forms.len(), ..found }
}

/// A program that analysis rejects. Unknown names do not hide other errors.
fn refused(error: Error, forms: &[Form], input: &Input<'_>) -> Survey {
    if !matches!(error.reason, Reason::UnboundVar | Reason::UnknownTool) {
        return broken(error);
    }
    let names = Names { memory: input.memory, tools: input.tools, context: input.context, dialect: input.dialect };
    let Ok((body, unknown)) = analyse_leniently(forms, &names) else { return broken(error) };
    let mut found = walked(&body, input);
    found.faults.extend(unknown.into_iter().map(|error| Fault { error, certain: true }));
    found.faults.sort_by_key(|fault| fault.error.span.map_or(0, |span| span.start));
    found
}

fn walked(body: &Node, input: &Input<'_>) -> Survey {
    let foreign = !input.memory.is_empty();
    let mut walk = Walk { found: Survey::default(), certain: true, left: false, foreign };
    walk.node(body);
    walk.found
}

/// A walk in the order of evaluation.
struct Walk {
    found: Survey,
    /// True if every run reaches this point.
    certain: bool,
    /// A run may have ended without an error before.
    left: bool,
    /// Functions of earlier programs may be called, whose effects are unknown.
    foreign: bool,
}

impl Walk {
    fn nodes<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>) {
        nodes.into_iter().for_each(|node| self.node(node));
    }

    /// Visits code that only some runs reach.
    fn maybe(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.certain, false);
        visit(self);
        self.certain = before && !self.left;
    }

    /// Visits nodes of which the first is always evaluated, the others only sometimes.
    fn first<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>) {
        let mut nodes = nodes.into_iter();
        self.nodes(nodes.next());
        self.maybe(|walk| walk.nodes(nodes));
    }

    /// The run may end here without an error.
    fn leave(&mut self) {
        (self.left, self.certain) = (true, false);
    }

    /// A value is called; one of these may be a function of an earlier program.
    fn called<'n>(&mut self, among: impl IntoIterator<Item = &'n Node>) {
        let is_data =
            |node: &Node| matches!(node.expr, Expr::Const(_) | Expr::Data(_) | Expr::Tool { .. } | Expr::Try { .. });
        if self.foreign && !among.into_iter().all(is_data) {
            self.leave();
        }
    }

    fn node(&mut self, node: &Node) {
        match &node.expr {
            Expr::Const(_)
            | Expr::Local(_)
            | Expr::Capture(_)
            | Expr::Myself
            | Expr::Global { .. }
            | Expr::Budget
            | Expr::History(_) => {}
            Expr::Data(key) => self.found.data.push((key.clone(), node.span)),
            Expr::Raise(error) => {
                self.found.faults.push(Fault { error: (**error).clone(), certain: self.certain });
            }
            Expr::Vector(nodes) | Expr::Set(nodes) | Expr::Do(nodes) | Expr::Recur(nodes) => self.nodes(nodes),
            Expr::Map(entries) => entries.iter().for_each(|(key, value)| self.nodes([key, value])),
            Expr::Builtin { args, .. } => {
                self.nodes(args);
                self.called(args);
            }
            Expr::Call { callee, args } => {
                self.node(callee);
                self.nodes(args);
                self.called(args.iter().chain([&**callee]));
            }
            Expr::Tool { tool, args } | Expr::Try { tool, args } => {
                self.node(args);
                let call =
                    ToolUse { tool: tool.clone(), args: arguments(args), span: node.span, certain: self.certain };
                self.found.calls.push(call);
            }
            Expr::Attempt(attempt) => {
                self.maybe(|walk| {
                    walk.node(&attempt.body);
                    walk.nodes(attempt.handlers.iter().map(|handler| &handler.body));
                });
                self.nodes(&attempt.finally);
            }
            Expr::If(parts) => self.first(&**parts),
            Expr::Cond(clauses) => self.first(clauses.iter().flat_map(|(test, value)| [test, value])),
            Expr::And(nodes) | Expr::Or(nodes) => self.first(nodes),
            Expr::Case { subject, clauses, default } => {
                let values = clauses.iter().map(|(_, value)| value);
                self.first(std::iter::once(&**subject).chain(values).chain([&**default]));
            }
            Expr::Let { binds, body } | Expr::Loop { binds, body } => {
                self.binds(binds);
                self.node(body);
            }
            Expr::For { levels, body, .. } => {
                let (source, rest) = match levels.split_first() {
                    Some((first, _)) => (Some(&first.source), &levels[1..]),
                    None => (None, &levels[..]),
                };
                self.nodes(source);
                self.maybe(|walk| {
                    for level in levels {
                        walk.pattern(&level.pattern);
                        level.modifiers.iter().for_each(|modifier| walk.modifier(modifier));
                    }
                    walk.nodes(rest.iter().map(|level| &level.source));
                    walk.node(body);
                });
            }
            Expr::Fn { lambda, .. } => self.maybe(|walk| {
                lambda.params.iter().chain(&lambda.rest).for_each(|pattern| walk.pattern(pattern));
                walk.node(&lambda.body);
            }),
            Expr::Def { value, when: DefCondition::Always, .. } | Expr::TaskReset(value) => self.node(value),
            Expr::Def { value, when: DefCondition::Unbound, .. } => self.maybe(|walk| walk.node(value)),
            Expr::Return(value) | Expr::Fail(value) => {
                self.node(value);
                self.found.has_return = true;
                self.leave();
            }
            Expr::Task { id, body } => self.first([&**id, &**body]),
            Expr::StepDone { id, summary } => self.nodes([&**id, &**summary]),
        }
    }

    fn binds(&mut self, binds: &[(Pattern, Node)]) {
        for (pattern, value) in binds {
            self.node(value);
            self.pattern(pattern);
        }
    }

    fn modifier(&mut self, modifier: &Modifier) {
        match modifier {
            Modifier::When(node) | Modifier::While(node) => self.node(node),
            Modifier::Let(binds) => self.binds(binds),
        }
    }

    /// Defaults are evaluated only for missing values.
    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Slot(_) | Pattern::Ignore => {}
            Pattern::Vector { items, rest, .. } => {
                items.iter().chain(rest.as_deref()).for_each(|pattern| self.pattern(pattern));
            }
            Pattern::Map { entries, .. } => {
                for entry in entries {
                    self.maybe(|walk| walk.nodes(&entry.default));
                    self.pattern(&entry.pattern);
                }
            }
        }
    }
}

/// The arguments of a call, if their names are literal.
fn arguments(args: &Node) -> Option<Vec<(Value, Option<Value>)>> {
    match &args.expr {
        Expr::Const(Value::Map(map)) => {
            Some(map.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect())
        }
        Expr::Map(entries) => entries.iter().map(|(key, value)| Some((constant(key)?, constant(value)))).collect(),
        _ => None,
    }
}

/// The value of a node that is the same in every run.
fn constant(node: &Node) -> Option<Value> {
    match &node.expr {
        Expr::Const(value) => Some(value.clone()),
        Expr::Vector(nodes) => nodes.iter().map(constant).collect::<Option<Vec<_>>>().map(Value::list),
        Expr::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| Some((constant(key)?, constant(value)?)));
            entries.collect::<Option<Vec<_>>>().map(Value::map)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limits;
    use super::super::{Binding, Dialect, Memory, ToolInfo};
    use super::*;
    use crate::value::Keyword;

    fn of(source: &str, memory: &Memory) -> Survey {
        let tools = [ToolInfo { name: "region-name".to_owned(), ..ToolInfo::default() }];
        let limits = Limits::default();
        survey(&Input { tools: &tools, memory, ..Input::new(source, &limits) })
    }

    /// Reason, text of the span, certainty.
    fn faults(source: &str) -> Vec<(&'static str, String, bool)> {
        let fault = |fault: Fault| {
            let text = fault.error.span.map_or("", |span| span.text(source));
            (fault.error.reason.name(), text.to_owned(), fault.certain)
        };
        of(source, &Memory::new()).faults.into_iter().map(fault).collect()
    }

    fn fault(reason: &'static str, text: &str, certain: bool) -> (&'static str, String, bool) {
        (reason, text.to_owned(), certain)
    }

    #[test]
    fn all_errors_are_reported_with_spans() {
        let found = faults("(do (tool/nope {:a 1}) (undefined-fn 3) (reduce) (tool/region-name {:id \"x\"}))");
        let expected = [
            fault("unknown_tool", "tool/nope", true),
            fault("unbound_var", "undefined-fn", true),
            fault("arity_error", "(reduce)", true),
        ];
        assert_eq!(found, expected);
        assert_eq!(faults("(let [] 1)(+ 1").len(), 1, "what cannot be read is one fault");
    }

    #[test]
    fn similar_names_are_suggested() {
        let survey = of("(tool/region-nam {}) (cuont 1)", &Memory::new());
        let hints: Vec<_> = survey.faults.iter().filter_map(|fault| fault.error.hint.as_deref()).collect();
        assert!(hints[0].contains("Did you mean tool/region-name?") && hints[1].contains("`count`"), "{hints:?}");
    }

    #[test]
    fn what_a_run_may_pass_by_is_not_certain() {
        for source in [
            "(if data/x (reduce) 1)",
            "(when data/x (return 1)) (reduce)",
            "(defn f [] (reduce))",
            "(and data/x (reduce))",
            "(for [x data/xs] (reduce))",
            "(defn f [] (return 1)) (f) (reduce)",
            "(let [{:keys [a] :or {a (reduce)}} data/m] a)",
        ] {
            assert_eq!(faults(source), [fault("arity_error", "(reduce)", false)], "{source}");
        }
        for source in ["(let [a (reduce)] a)", "(loop [i 0] (reduce))", "(if (reduce) 1 2)", "(map inc (reduce))"] {
            assert_eq!(faults(source), [fault("arity_error", "(reduce)", true)], "{source}");
        }
        let binding = Binding { value: Value::Nil, doc: None };
        let memory = Memory::from([(Keyword::intern("f"), binding)]);
        assert!(!of("(f) (reduce)", &memory).faults[0].certain, "a function of an earlier program may return");
        assert!(!of("(map f [1]) (reduce)", &memory).faults[0].certain);
        assert!(of("(str 1 data/x) (reduce)", &memory).faults[0].certain);
    }

    #[test]
    fn calls_and_data_are_listed_with_their_constants() {
        let survey = of("(return (tool/region-name {:id data/id :deep [1 {:a 2}]}))", &Memory::new());
        let call = &survey.calls[0];
        let args = call.args.as_ref().unwrap();
        assert_eq!((&*call.tool, args.len(), call.certain), ("region-name", 2, true));
        let values: Vec<_> = args.iter().map(|(key, value)| (key.to_string(), value.is_some())).collect();
        assert!(values.contains(&(":id".to_owned(), false)) && values.contains(&(":deep".to_owned(), true)));
        assert_eq!(survey.data.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["id"]);
        assert!(survey.has_return && !of("(def a 1)", &Memory::new()).has_return);
        let map = of("(map tool/region-name data/xs)", &Memory::new());
        assert_eq!((map.calls.len(), map.faults.len()), (0, 0));
    }

    #[test]
    fn older_words_are_understood_where_the_agent_understands_them() {
        let tools = [ToolInfo { name: "find".to_owned(), ..ToolInfo::default() }];
        let limits = Limits::default();
        let input = Input { tools: &tools, dialect: Dialect::Auto, ..Input::new("(call \"find\" {:q 1})", &limits) };
        let found = survey(&input);
        assert!(found.faults.is_empty() && !found.hints.is_empty(), "{found:?}");
        assert!(!survey(&Input { dialect: Dialect::Current, ..input }).faults.is_empty());
    }
}
