//! The program of task e in each language: 40 functions of 5 lines with the same shape.

const FUNCTIONS: usize = 40;

fn functions(one: impl Fn(usize) -> String) -> String {
    (0..FUNCTIONS).map(one).collect()
}

pub(crate) fn ptc() -> String {
    functions(|i| {
        format!(
            "(defn f{i} [x y]\n  (let [a (+ x {i}) b (* y 2)]\n    (if (> a b)\n      (- a b)\n      (+ a b {i}))))\n"
        )
    })
}

pub(crate) fn lua() -> String {
    functions(|i| {
        format!(
            "function f{i}(x, y)\n  local a, b = x + {i}, y * 2\n  if a > b then return a - b end\n  return a + b + {i}\nend\n"
        )
    })
}

pub(crate) fn starlark() -> String {
    functions(|i| {
        format!("def f{i}(x, y):\n  a, b = x + {i}, y * 2\n  if a > b:\n    return a - b\n  return a + b + {i}\n")
    })
}

pub(crate) fn rhai() -> String {
    functions(|i| {
        format!(
            "fn f{i}(x, y) {{\n  let a = x + {i}; let b = y * 2;\n  if a > b {{ a - b }}\n  else {{ a + b + {i} }}\n}}\n"
        )
    })
}
