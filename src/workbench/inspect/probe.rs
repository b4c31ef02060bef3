//! The value of the form under a cursor, found by running the program again with a print around that form.
//!
//! In: a program, a position, a function that runs programs. Out: the values of the form. A run with the print counts only when it ends
//! like the program itself; else the enclosing form is tried, because not every bracketed form has a value (bindings, patterns, arguments
//! of macros).

use ptc_core::lisp::{Budget, Form, Outcome, Shape, Signal, read};
use ptc_core::reasons::Reason;

/// Prefix of the printed values.
const SIGN: &str = "⟦value of the form⟧";
/// Maximum number of forms to try, from the inside out.
const TRIES: usize = 6;
/// Forms whose parts are stages: each receives the value of the previous one.
const STAGED: [&str; 2] = ["->", "->>"];

/// A part of a program that may have a value.
#[derive(Clone, Copy)]
enum Part<'f> {
    /// A form of its own.
    Form(&'f Form),
    /// A stage of `->` or `->>`: its value is passed to the next stage.
    Stage(&'f Form),
}

impl<'f> Part<'f> {
    fn form(self) -> &'f Form {
        match self {
            Self::Form(form) | Self::Stage(form) => form,
        }
    }

    /// Returns the program with a print of this part's value.
    fn printed(self, program: &str) -> String {
        let (start, end) = (self.form().span.start, self.form().span.end);
        let (before, form, behind) = (&program[..start], &program[start..end], &program[end..]);
        let print = format!("(println \"{SIGN}\" (pr-str probed__)) probed__");
        match self {
            Self::Form(_) => format!("{before}(let [probed__ {form}] {print}){behind}"),
            Self::Stage(_) => format!("{before}{form} ((fn [probed__] {print})){behind}"),
        }
    }
}

/// Values of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Span of the form in the program, in bytes: start (inclusive) and end (exclusive).
    pub span: (usize, usize),
    /// Number of evaluations.
    pub times: usize,
    /// First and last value, as PTC-Lisp text; one if it was evaluated once, none if never.
    pub values: Vec<String>,
}

/// Evaluates the form at this byte of the program. `whole`: the outcome of the unchanged program.
pub(super) fn probe(program: &str, at: usize, whole: &Outcome, run: impl Fn(String) -> Outcome) -> Option<Probe> {
    let forms = read(program, Budget::default()).ok()?;
    let top = forms.iter().find(|form| holds(form, at))?;
    let mut around = vec![Part::Form(top)];
    descend(top, at, &mut around);
    for part in around.iter().rev().take(TRIES) {
        let span = part.form().span;
        let outcome = run(part.printed(program));
        if ends_alike(&outcome, whole) {
            let values =
                outcome.prints.iter().filter_map(|line| line.strip_prefix(SIGN)).map(|text| text.trim().to_owned());
            let mut values: Vec<String> = values.collect();
            let times = values.len();
            if times > 2 {
                let last = values.pop().unwrap_or_default();
                values = vec![values.swap_remove(0), last];
            }
            return Some(Probe { span: (span.start, span.end), times, values });
        }
    }
    top_level(program, top, run)
}

/// Returns the value of a whole top-level form by running the program up to it.
fn top_level(program: &str, form: &Form, run: impl Fn(String) -> Outcome) -> Option<Probe> {
    let outcome = run(program.get(..form.span.end)?.to_owned());
    let (Signal::Value, value) = outcome.result.ok()? else { return None };
    let text = value.print(ptc_core::value::Bounds { items: Some(200), chars: None }).text;
    Some(Probe { span: (form.span.start, form.span.end), times: 1, values: vec![text] })
}

fn holds(form: &Form, at: usize) -> bool {
    (form.span.start..form.span.end).contains(&at)
}

/// Collects the parts inside of this form that contain the position and may have a value, outermost first.
fn descend<'f>(form: &'f Form, at: usize, around: &mut Vec<Part<'f>>) {
    let (Shape::List(parts) | Shape::Vector(parts) | Shape::Map(parts) | Shape::Set(parts) | Shape::Short(parts)) =
        &form.shape
    else {
        return;
    };
    let is_call = matches!(form.shape, Shape::List(_) | Shape::Short(_));
    let head = parts.first().and_then(Form::symbol).filter(|_| is_call).unwrap_or_default();
    let threads = head.contains("->");
    let Some((place, inner)) = parts.iter().enumerate().find(|(_, part)| holds(part, at)) else { return };
    // The name of a called function is of no interest, and a form inside of a threading form may lack an argument.
    match place {
        0 if is_call && inner.symbol().is_some() => return,
        2.. if STAGED.contains(&head) => around.push(Part::Stage(inner)),
        2.. if threads => return,
        _ => around.push(Part::Form(inner)),
    }
    descend(inner, at, around);
}

/// Returns whether both ended with the same value or the same error reason; errors in the program text never match.
fn ends_alike(one: &Outcome, other: &Outcome) -> bool {
    match (&one.result, &other.result) {
        (Ok((signal, value)), Ok((same, other))) => signal == same && value == other,
        (Err(error), Err(other)) => error.reason == other.reason && !is_of_text(error.reason),
        _ => false,
    }
}

/// Returns whether an error is in the program text itself: the added print may have caused it.
fn is_of_text(reason: Reason) -> bool {
    matches!(reason, Reason::ParseError | Reason::InvalidForm)
}

#[cfg(test)]
mod tests {
    use ptc_core::lisp::Limits;
    use ptc_core::lisp::{Input, Outcome};
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::program::{NoTools, ProgramSettings};

    fn run(source: &str) -> Outcome {
        let limits = Limits { print_chars: 10_000, ..Limits::default() };
        let stop = AtomicBool::new(false);
        let settings =
            ProgramSettings { tools: &NoTools, timeout_ms: 5_000, compile_timeout_ms: 5_000, now_ms: 0, stop: &stop };
        crate::program::run(&Input::new(source, &limits), &settings)
    }

    /// The form under the `|` of a program, and what it gave.
    fn probed(marked: &str) -> (String, usize, Vec<String>) {
        let at = marked.find('|').expect("a mark");
        let program = marked.replacen('|', "", 1);
        let probe = probe(&program, at, &run(&program), |source| run(&source)).expect("a form");
        (program[probe.span.0..probe.span.1].to_owned(), probe.times, probe.values)
    }

    fn probe_values(form: &str, times: usize, values: &[&str]) -> (String, usize, Vec<String>) {
        (form.to_owned(), times, values.iter().map(|value| (*value).to_owned()).collect())
    }

    #[test]
    fn the_innermost_form_with_a_value_is_reported() {
        assert_eq!(probed("(def a [1 2])\n(+ 1 |(count a))"), probe_values("(count a)", 1, &["2"]));
        assert_eq!(probed("(+ 1 (|count [1 2]))"), probe_values("(count [1 2])", 1, &["2"]));
        assert_eq!(probed("(let [x {:a \"b\"}] (get |x :a))"), probe_values("x", 1, &["{:a \"b\"}"]));
    }

    #[test]
    fn a_stage_has_the_value_that_the_next_one_gets() {
        assert_eq!(probed("(->> [1 2] (|map inc) (reduce +))"), probe_values("(map inc)", 1, &["[2 3]"]));
        assert_eq!(probed("(->> [1 2] (map inc) (reduce |+))").1, 1);
        assert_eq!(probed("(-> {:a {:b 7}} |:a :b inc)"), probe_values(":a", 1, &["{:b 7}"]));
        assert_eq!(probed("(-> |[1 2] (conj 3) count)"), probe_values("[1 2]", 1, &["[1 2]"]));
        assert_eq!(probed("(-> [1 2] (conj |(inc 2)) count)"), probe_values("(inc 2)", 1, &["3"]));
        assert_eq!(probed("(map #(-> % (|* 2) inc) [1 2 3])"), probe_values("(* 2)", 3, &["2", "6"]));
        assert_eq!(
            probed("(some-> {:a nil} (|get :a) inc)"),
            probe_values("(some-> {:a nil} (get :a) inc)", 1, &["nil"])
        );
    }

    #[test]
    fn a_form_in_a_function_is_reported_first_and_last() {
        assert_eq!(probed("(map (fn [x] |(* x 2)) [1 2 3])"), probe_values("(* x 2)", 3, &["2", "6"]));
        assert_eq!(probed("(if true 1 |(inc 5))"), probe_values("(inc 5)", 0, &[]));
    }

    #[test]
    fn what_has_no_value_gives_that_of_the_form_around_it() {
        assert_eq!(probed("(let [|x 1] (inc x))"), probe_values("(let [x 1] (inc x))", 1, &["2"]));
        assert_eq!(
            probed("(cond-> [1 2] true (|conj 3))"),
            probe_values("(cond-> [1 2] true (conj 3))", 1, &["[1 2 3]"])
        );
        assert_eq!(probed("(def |a 7)\n(inc a)").0, "(def a 7)");
    }

    #[test]
    fn a_program_that_breaks_shows_what_came_before() {
        assert_eq!(probed("(let [x |(str 1)] (+ x 1))"), probe_values("(str 1)", 1, &["\"1\""]));
    }
}
