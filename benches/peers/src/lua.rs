//! Lua 5.4.

use mlua::{Function, Lua};

use crate::clock::Bench;
use crate::source;

pub(crate) fn tasks(bench: &mut Bench) {
    let lua = Lua::new();
    lua.load(include_str!("../programs/lua.lua")).exec().expect("the program runs");
    for task in ["a", "b", "c", "d", "g", "h", "i"] {
        let function: Function = lua.globals().get(format!("task_{task}")).expect("a function");
        bench.task(task, || function.call::<i64>(()).expect("an integer"));
    }
    let text = source::lua();
    bench.task("e", || {
        lua.load(text.as_str()).into_function().expect("it compiles");
        0
    });
    bench.task("f", || Lua::new().load("return 1 + 2").eval().expect("an integer"));
}
