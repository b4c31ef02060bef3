#![allow(warnings)]
#[path = "../../tests/lisp/suite/mod.rs"]
mod suite;
use ptc_core::value::{Json, json};
use std::io::BufRead;
fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let case = json::parse(&line).unwrap();
        let got = suite::record(&case);
        let text = |key: &str| got.get(key).and_then(Json::as_str);
        let out = match (text("reason"), text("prn")) {
            (Some(r), _) => format!("!{r}\t{}", text("message").unwrap_or_default().replace('\n', "\\n")),
            (None, Some(p)) => format!("{}\t", p.replace('\n', "\\n")),
            _ => format!("{}\t", got.to_text()),
        };
        println!("{out}");
    }
}
