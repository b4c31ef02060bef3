//! Rhai.

use rhai::{Array, Dynamic, Engine, Scope};

use crate::clock::Bench;
use crate::source;

fn engine() -> Engine {
    let mut engine = Engine::new();
    engine.set_max_call_levels(10_000);
    engine
}

pub(crate) fn tasks(bench: &mut Bench) {
    let engine = engine();
    let ast = engine.compile(include_str!("../programs/rhai.rhai")).expect("it compiles");
    let call = |name: &str| engine.call_fn::<i64>(&mut Scope::new(), &ast, name, ()).expect("an integer");
    bench.task("a", || call("task_a"));
    let rows = engine.call_fn::<Array>(&mut Scope::new(), &ast, "make_rows", ()).expect("rows");
    let rows = Dynamic::from(rows).into_shared();
    bench.task("b", || engine.call_fn::<i64>(&mut Scope::new(), &ast, "task_b", (rows.clone(),)).expect("an integer"));
    bench.task("c", || call("task_c"));
    bench.task("d", || call("task_d"));
    bench.task("g", || call("task_g"));
    bench.task("h", || call("task_h"));
    bench.task("i", || call("task_i"));
    let text = source::rhai();
    bench.task("e", || {
        engine.compile(&text).expect("it compiles");
        0
    });
    bench.task("f", || Engine::new().eval::<i64>("1 + 2").expect("an integer"));
}
