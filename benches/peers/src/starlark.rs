//! Starlark as Meta's crate runs it.

use starlark::environment::{Globals, LibraryExtension, Module};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect};

use crate::clock::Bench;
use crate::source;

fn parse(text: &str) -> AstModule {
    AstModule::parse("task.star", text.to_owned(), &Dialect::Extended).expect("it parses")
}

pub(crate) fn tasks(bench: &mut Bench) {
    let globals = Globals::extended_by(&[LibraryExtension::Map, LibraryExtension::Filter]);
    for task in ["a", "b", "c", "d", "g", "h"] {
        Module::with_temp_heap(|module| {
            let mut eval = Evaluator::new(&module);
            eval.eval_module(parse(include_str!("../programs/starlark.star")), &globals).expect("the program runs");
            let function = module.get(&format!("task_{task}")).expect("a function");
            bench.task(task, || {
                let answer = eval.eval_function(function, &[], &[]).expect("an answer");
                answer.to_string().parse().expect("an integer")
            });
        });
    }
    let text = source::starlark();
    bench.task("e", || {
        Module::with_temp_heap(|module| {
            Evaluator::new(&module).eval_module(parse(&text), &globals).expect("it compiles");
        });
        0
    });
    bench.task("f", || {
        Module::with_temp_heap(|module| {
            let mut eval = Evaluator::new(&module);
            let answer = eval.eval_module(parse("1 + 2"), &globals).expect("an answer");
            i64::from(answer.unpack_i32().expect("an integer"))
        })
    });
}
