//! Compilation: `ir::Program` → closures specialized by everything known in advance.
//!
//! Leaves are held inline in [`Expression`] and [`Condition`], so that locals, constants and small sums of integers need no call;
//! everything else is a closure ([`Code`]). Code in tail position is called last, which costs a jump and no frame; a
//! loop is one native loop around its body. Frames are on the native stack. Compilation cannot fail.

#![expect(clippy::unnecessary_box_returns, reason = "boxed errors keep a result as small as a value")]

mod access;
mod attempt;
mod bind;
mod body;
mod builtin;
mod call;
mod cell;
mod condition;
mod effect;
mod expression;
mod iterate;
mod literal;
mod projection;

use hashbrown::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use expression::Expression;

use super::ir::{self, Expr, Node, Pattern};
use super::machine::{Code, CodePosition, Lambda};
use crate::text::Span;
use crate::value::Keyword;

/// A compiled program.
pub(crate) struct Unit {
    /// Its number, unique in the process.
    pub(crate) number: u64,
    /// The names of its globals, by number.
    pub(crate) globals: Vec<Keyword>,
    /// Size of the frame.
    pub(crate) slots: u32,
    /// The code.
    pub(crate) body: Code,
}

/// Compiles an analysed program; `source` is its text.
pub(crate) fn compile(program: &ir::Program, source: &str) -> Unit {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut compiler = Compiler { unit: number, source, globals: &program.globals, frames: HashMap::new() };
    compiler.measure(&program.body);
    let body = compiler.ex(&program.body).into_code();
    Unit { number, globals: program.globals.clone(), slots: program.slots, body }
}

struct Compiler<'p> {
    unit: u64,
    source: &'p str,
    globals: &'p [Keyword],
    /// Frame sizes of the functions that globals are defined as.
    frames: HashMap<u32, u32>,
}

impl Compiler<'_> {
    fn position(&self, span: Span) -> CodePosition {
        CodePosition { span, unit: self.unit }
    }

    fn global(&self, global: u32) -> Keyword {
        self.globals.get(global as usize).copied().unwrap_or_else(|| Keyword::intern(""))
    }

    /// Records the frame sizes of functions that the program defines by name, so that calls prepare frames of the right
    /// size.
    fn measure(&mut self, node: &Node) {
        match &node.expr {
            Expr::Do(parts) => parts.iter().for_each(|part| self.measure(part)),
            Expr::Def { global, value, .. } => {
                if let Expr::Fn { lambda, .. } = &value.expr {
                    self.frames.insert(*global, lambda.slots);
                }
            }
            _ => {}
        }
    }

    fn lambda(&self, lambda: &ir::Lambda) -> Lambda {
        let places = 0_u32..;
        let arriving = lambda.params.iter().chain(&lambda.rest).zip(places);
        let prologue = arriving
            .filter(|(pattern, slot)| !matches!(pattern, Pattern::Slot(at) if at == slot))
            .map(|(pattern, slot)| {
                let rest = slot as usize == lambda.params.len();
                (slot, self.parameter(pattern, rest, lambda.span))
            })
            .collect();
        let arguments = lambda.params.len() + usize::from(lambda.rest.is_some());
        Lambda {
            name: lambda.name,
            params: lambda.shown.clone(),
            source: lambda.span.text(self.source).into(),
            fixed: u32::try_from(lambda.params.len()).unwrap_or(u32::MAX),
            rest: lambda.rest.is_some(),
            slots: lambda.slots.max(u32::try_from(arguments).unwrap_or(u32::MAX)),
            projection: projection::projection(lambda),
            body: self.function(prologue, &lambda.body),
            calls: lambda.calls.clone(),
        }
    }

    fn shared(&self, lambda: &ir::Lambda) -> Arc<Lambda> {
        Arc::new(self.lambda(lambda))
    }

    fn all(&self, nodes: &[Node]) -> Box<[Expression]> {
        nodes.iter().map(|node| self.ex(node)).collect()
    }
}
