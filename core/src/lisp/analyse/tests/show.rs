//! An analysed program as text: slots are numbers, with `!` at their last read; captures are `^n`.

use crate::lisp::ir::{
    Capture, CatchHandler, DefCondition, Expr, IterationResult, Local, Modifier, Node, Pattern, Program, Unbound,
};
use crate::value::Value;

pub(super) fn program(program: &Program) -> String {
    Show { program }.node(&program.body)
}

struct Show<'p> {
    program: &'p Program,
}

impl Show<'_> {
    fn node(&self, node: &Node) -> String {
        let form = |head: &str, nodes: &[&Node]| {
            let parts: Vec<String> = nodes.iter().map(|node| self.node(node)).collect();
            format!("({})", [vec![head.to_owned()], parts].concat().join(" "))
        };
        let list = |head: &str, nodes: &[Node]| form(head, &nodes.iter().collect::<Vec<_>>());
        let pairs = |head: &str, pairs: &[(Node, Node)]| {
            form(head, &pairs.iter().flat_map(|(one, two)| [one, two]).collect::<Vec<_>>())
        };
        match &node.expr {
            Expr::Const(value) => constant(value),
            Expr::Local(slot) => local(*slot),
            Expr::Capture(place) => format!("^{place}"),
            Expr::Myself => "myself".to_owned(),
            Expr::Global { global, unbound } => {
                let head = if matches!(unbound, Unbound::Nil) { "global?" } else { "global" };
                format!("({head} {})", self.global(*global))
            }
            Expr::Data(key) => format!("(data {key})"),
            Expr::Budget => "(budget)".to_owned(),
            Expr::History(place) => format!("(history {place})"),
            Expr::Vector(nodes) => list("vector", nodes),
            Expr::Map(entries) => pairs("map", entries),
            Expr::Set(nodes) => list("set", nodes),
            Expr::Do(nodes) => list("do", nodes),
            Expr::If(parts) => list("if", &**parts),
            Expr::Cond(clauses) => pairs("cond", clauses),
            Expr::And(nodes) => list("and", nodes),
            Expr::Or(nodes) => list("or", nodes),
            Expr::Case { subject, clauses, default } => {
                let clauses: Vec<String> = clauses
                    .iter()
                    .map(|(values, node)| format!("{} {}", constant(&Value::from(values.clone())), self.node(node)))
                    .collect();
                format!("(case {} {} {})", self.node(subject), clauses.join(" "), self.node(default))
            }
            Expr::Let { binds, body } => format!("(let {} {})", self.binds(binds), self.node(body)),
            Expr::Loop { binds, body } => format!("(loop {} {})", self.binds(binds), self.node(body)),
            Expr::Recur(nodes) => list("recur", nodes),
            Expr::For { levels, body, gives } => {
                let head = if *gives == IterationResult::List { "for" } else { "doseq" };
                let levels: Vec<String> = levels
                    .iter()
                    .map(|level| {
                        let mut parts = vec![self.pattern(&level.pattern), self.node(&level.source)];
                        parts.extend(level.modifiers.iter().map(|modifier| match modifier {
                            Modifier::When(test) => format!("when {}", self.node(test)),
                            Modifier::While(test) => format!("while {}", self.node(test)),
                            Modifier::Let(binds) => format!("let {}", self.binds(binds)),
                        }));
                        format!("{};", parts.join(" "))
                    })
                    .collect();
                format!("({head} {} {})", levels.join(" "), self.node(body))
            }
            Expr::Fn { lambda, captures } => {
                let mut parts = vec!["fn".to_owned()];
                parts.extend(lambda.name.filter(|_| !contains_myself(&lambda.body)).map(|name| name.name().to_owned()));
                parts.extend([lambda.shown.to_string(), lambda.slots.to_string()]);
                if !captures.is_empty() {
                    let captures: Vec<String> = captures
                        .iter()
                        .map(|capture| match capture {
                            Capture::Local(slot) => local(*slot),
                            Capture::Outer(place) => format!("^{place}"),
                            Capture::Myself => "myself".to_owned(),
                        })
                        .collect();
                    parts.push(format!("<{}>", captures.join(" ")));
                }
                parts.extend(lambda.params.iter().map(|pattern| self.pattern(pattern)));
                parts.extend(lambda.rest.iter().map(|pattern| format!("& {}", self.pattern(pattern))));
                parts.push(self.node(&lambda.body));
                format!("({})", parts.join(" "))
            }
            Expr::Builtin { builtin, args } => list(builtin.name, args),
            Expr::Call { callee, args } => form("call", &std::iter::once(&**callee).chain(args).collect::<Vec<_>>()),
            Expr::Tool { tool, args } => form(&format!("tool {tool}"), &[args]),
            Expr::Try { tool, args } => form(&format!("try {tool}"), &[args]),
            Expr::Attempt(attempt) => {
                let handler = |handler: &CatchHandler| {
                    format!("(catch {} {} {})", handler.class, handler.slot, self.node(&handler.body))
                };
                let parts = std::iter::once(self.node(&attempt.body))
                    .chain(attempt.handlers.iter().map(handler))
                    .chain(attempt.finally.iter().map(|finally| format!("(finally {})", self.node(finally))));
                format!("(attempt {})", parts.collect::<Vec<_>>().join(" "))
            }
            Expr::Def { global, value, doc, when } => {
                let head = if *when == DefCondition::Always { "def" } else { "defonce" };
                let doc = doc.as_ref().map(|doc| format!(" {doc:?}")).unwrap_or_default();
                form(&format!("{head} {}{doc}", self.global(*global)), &[value])
            }
            Expr::Return(value) => form("return", &[value]),
            Expr::Fail(value) => form("fail", &[value]),
            Expr::Task { id, body } => form("task", &[id, body]),
            Expr::StepDone { id, summary } => form("step-done", &[id, summary]),
            Expr::TaskReset(id) => form("task-reset", &[id]),
            Expr::Raise(error) => format!("(raise {})", error.reason),
        }
    }

    fn global(&self, number: u32) -> &str {
        self.program.globals[number as usize].name()
    }

    fn binds(&self, binds: &[(Pattern, Node)]) -> String {
        let binds: Vec<String> =
            binds.iter().map(|(pattern, value)| format!("{} {}", self.pattern(pattern), self.node(value))).collect();
        binds.join(" ")
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Slot(slot) => slot.to_string(),
            Pattern::Ignore => "_".to_owned(),
            Pattern::Vector { items, rest, whole, .. } => {
                let mut parts: Vec<String> = items.iter().map(|item| self.pattern(item)).collect();
                parts.extend(rest.iter().map(|rest| format!("& {}", self.pattern(rest))));
                parts.extend(whole.iter().map(|slot| format!("as {slot}")));
                format!("[{}]", parts.join(" "))
            }
            Pattern::Map { entries, whole, .. } => {
                let mut parts = Vec::new();
                for entry in entries {
                    parts.push(format!("{} {}", constant(&entry.key), self.pattern(&entry.pattern)));
                    parts.extend(entry.default.iter().map(|node| format!("or {}", self.node(node))));
                }
                parts.extend(whole.iter().map(|slot| format!("as {slot}")));
                format!("{{{}}}", parts.join(" "))
            }
        }
    }
}

fn local(local: Local) -> String {
    format!("{}{}", local.slot, if local.last { "!" } else { "" })
}

fn constant(value: &Value) -> String {
    value.to_string()
}

/// True if a function calls itself by its own name: then its name adds nothing.
fn contains_myself(node: &Node) -> bool {
    matches!(&node.expr, Expr::Call { callee, .. } if matches!(callee.expr, Expr::Myself))
}
