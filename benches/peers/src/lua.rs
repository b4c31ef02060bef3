//! Lua 5.4.

use mlua::{Function, Lua};

use crate::clock::Bench;
use crate::source;

pub(crate) fn tasks(bench: &mut Bench) {
    let lua = Lua::new();
    lua.load(include_str!("../programs/lua.lua")).exec().expect("the program runs");
    for (task, name) in [("a", "task_a"), ("b", "task_b"), ("c", "task_c"), ("d", "task_d")] {
        let function: Function = lua.globals().get(name).expect("a function");
        bench.task(task, || function.call::<i64>(()).expect("an integer"));
    }
    let text = source::lua();
    bench.task("e", || {
        lua.load(text.as_str()).into_function().expect("it compiles");
        0
    });
    bench.task("f", || Lua::new().load("return 1 + 2").eval().expect("an integer"));
}
