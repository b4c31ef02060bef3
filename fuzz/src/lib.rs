//! Fuzz targets: the reader, the formatter, whole programs with small limits, the sanitiser of terminal text, and (in `outside`) everything
//! else that reads text from outside. A panic or an answer that takes too long is a find.

mod outside;

use std::time::{Duration, Instant};

use ptc_core::lisp::case::Case;
use ptc_core::lisp::{self, Budget, CallAddress, Error, Failure, Host, format};
use ptc_core::reasons::Reason;
use ptc_core::text::SafeText;
use ptc_core::value::{Json, Value, json};

pub use outside::{TARGETS, Target, agent, mcp, reply, schema, session, signature, stream, template};

/// The programs have a memory limit.
#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

/// A program must have ended after this.
const LONGEST: Duration = Duration::from_secs(5);
/// Time limit of a program.
const DEADLINE: Duration = Duration::from_secs(2);

const OPTIONS: &str = r#"{
    "max_steps": 300000, "max_memory_bytes": 4000000, "max_depth": 500, "max_symbols": 2000, "max_tool_calls": 20,
    "max_parallel_workers": 2
}"#;

/// Reads a text.
pub fn read(text: &str) {
    let budget = Budget { bytes: 1_000_000, symbols: 10_000 };
    if let Err(error) = lisp::read(text, budget) {
        assert!(!error.message().is_empty());
    }
}

/// Lays a text out; what was laid out stays as it is and can still be read.
pub fn format(text: &str) {
    let Some(once) = format::program(text, 80) else { return };
    assert_eq!(format::program(&once, 80).as_ref(), Some(&once), "laid out twice");
}

/// Makes a text safe in all three ways: nothing that is left acts in a terminal, hides or reorders; safe text stays as it is.
pub fn safe(text: &str) {
    let acts = |c: char| c.is_control() && c != '\n';
    let hides = |c: char| matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    for made in [SafeText::multi_line(text), SafeText::single_line(text), SafeText::escape_controls(text)] {
        assert!(!made.as_str().contains(|c| acts(c) || hides(c)), "{made:?}");
    }
    let (lines, line) = (SafeText::multi_line(text), SafeText::single_line(text));
    assert!(!line.as_str().contains('\n'), "{line:?}");
    assert_eq!(SafeText::multi_line(&lines), lines, "made safe twice");
    assert_eq!(SafeText::single_line(&line), line, "made safe twice");
}

/// Runs a text as a program.
pub fn run(text: &str) {
    let members = [
        ("program", Json::str(text)),
        ("context", json::parse(r#"{"xs": [1, 2, 3], "m": {"a": 1}, "s": "é", "rows": [{"a": 1}]}"#).expect("JSON")),
        ("tools", json::parse(r#"{"echo": "echo"}"#).expect("JSON")),
        ("opts", json::parse(OPTIONS).expect("JSON")),
    ];
    let case = Case::read(&Json::object(members)).expect("a case");
    let started = Instant::now();
    let outcome = lisp::run(&case.input(), &Surroundings { case: &case, deadline: started + DEADLINE });
    let record = case.record(&outcome).to_text();
    assert!(started.elapsed() < LONGEST, "it took {:?}", started.elapsed());
    let is_fault = matches!(&outcome.result, Err(error) if error.reason == Reason::InternalError);
    assert!(!is_fault, "{record}");
}

struct Surroundings<'c> {
    case: &'c Case,
    deadline: Instant,
}

impl Host for Surroundings<'_> {
    fn call(&self, _: &CallAddress, tool: &str, args: &Value) -> Result<Value, Failure> {
        self.case.answer(tool, args)
    }

    fn interrupt(&self) -> Option<Error> {
        (Instant::now() > self.deadline).then(|| Error::new(Reason::Timeout, "out of time"))
    }

    fn now_ms(&self) -> i64 {
        0
    }
}
