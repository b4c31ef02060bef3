//! Checks of a program before it is run: unknown tools and names, wrong numbers of arguments, arguments that do not fit a tool's
//! parameters, missing data, a missing end.
//!
//! In: a program, and its inputs from agent and turn. Out: findings at their places in the program. Nothing is run: the language and
//! the tools judge with the functions that they judge with in a run. An error means that every run of the program ends with one.

use ptc_core::lisp::Limits;
use ptc_core::lisp::legacy::LAST_RESULT;
use ptc_core::lisp::{self, Binding, Dialect, Memory, ToolInfo, ToolUse, survey};
use ptc_core::reasons::Reason;
use ptc_core::signature::underscored;
use ptc_core::text::{Span, nearest};
use ptc_core::value::{Keyword, Value};

use super::{Diagnostic, Place, Plan, Settings};
use crate::tool::{Kind, Tool};

/// The failure of the turn before: a key of the data that the engine adds.
const FAIL: &str = "fail";

/// The inputs of a program, as far as they are known before it runs.
#[derive(Debug, Clone, Default)]
pub struct LintInputs {
    /// The tools that it may call.
    pub tools: Vec<Tool>,
    /// The data, where it is known.
    pub context: Option<Value>,
    /// The names that earlier programs defined.
    pub memory: Vec<String>,
    /// The dialect of the program.
    pub dialect: Dialect,
    /// Its value alone does not end the run, and no turn follows it.
    pub must_end: bool,
}

impl LintInputs {
    /// The inputs of the programs of a plan in its first turn, without data.
    pub fn by(plan: &Plan) -> Self {
        Self { tools: plan.program_tools().cloned().collect(), ..Self::from(&plan.settings) }
    }
}

impl From<&Settings> for LintInputs {
    /// The words and the names that the options give.
    fn from(settings: &Settings) -> Self {
        let memory = settings.memory.iter().map(|(name, _)| name.clone()).collect();
        Self { memory, dialect: settings.dialect, ..Self::default() }
    }
}

/// Checks the program of a tool; findings are at the key of its `code`. Warnings only: a session recorded with it is still replayed.
pub(super) fn lint_snippet(tool: &Tool) -> Vec<Diagnostic> {
    let Kind::Snippet(code) = &tool.kind else { return Vec::new() };
    let params = tool.signature.as_ref().and_then(|signature| signature.params.as_ref());
    let context = params.map(|params| {
        let names = params.iter().map(|field| underscored(&field.name));
        Value::map(names.map(|name| (Value::str(name), Value::Nil)))
    });
    let placed = |found: Diagnostic| {
        let at = found.span.map(|span| format!(" at {}", span.line_col(code))).unwrap_or_default();
        let message = format!("`code` of the tool `{}`{at}: {}", tool.name, found.message);
        let key = format!("tools.{}.code", tool.name);
        Diagnostic { place: Place::Options, span: None, key, message, ..found }.warning()
    };
    lint(code, &LintInputs { context, ..LintInputs::default() }).into_iter().map(placed).collect()
}

/// Checks a program; the findings are in the order of the text.
pub fn lint(program: &str, given: &LintInputs) -> Vec<Diagnostic> {
    let tools: Vec<ToolInfo> = given.tools.iter().map(Tool::info).collect();
    let binding = || Binding { value: Value::Nil, doc: None };
    let memory: Memory = given.memory.iter().map(|name| (Keyword::intern(name), binding())).collect();
    let nothing = Value::map([]);
    let limits = Limits::default();
    let found = survey(&lisp::Input {
        context: given.context.as_ref().unwrap_or(&nothing),
        memory: &memory,
        tools: &tools,
        dialect: given.dialect,
        ..lisp::Input::new(program, &limits)
    });
    let mut findings: Vec<Diagnostic> = found
        .faults
        .iter()
        .map(|fault| finding(fault.error.reason, fault.error.span, fault.error.message(), fault.certain))
        .collect();
    if findings.is_empty() && found.forms == 0 {
        return vec![finding(Reason::ParseError, None, "the program is only a comment".to_owned(), true)];
    }
    findings.extend(found.calls.iter().filter_map(|call| misfit(call, &given.tools)));
    findings.extend(given.context.iter().flat_map(|context| absent(&found.data, context)));
    findings.extend(found.hints.into_iter().map(|hint| finding(Reason::InvalidForm, None, hint, false)));
    let is_whole = findings.iter().all(|finding| !finding.is_error());
    if given.must_end && is_whole && !found.has_return {
        let message = "(return …) or (fail …) is missing: the value of a program alone does not end a run".to_owned();
        findings.push(finding(Reason::MustReturnMissing, None, message, false));
    }
    findings.sort_by_key(|finding| finding.span.map_or(usize::MAX, |span| span.start));
    findings
}

fn finding(reason: Reason, span: Option<Span>, message: String, certain: bool) -> Diagnostic {
    let error = Diagnostic { span, ..Diagnostic::error(Place::Program, reason, message) };
    if certain { error } else { error.warning() }
}

/// Arguments that do not fit the parameters of their tool.
fn misfit(call: &ToolUse, tools: &[Tool]) -> Option<Diagnostic> {
    let tool = tools.iter().find(|tool| *tool.name == *call.tool)?;
    let wrong = tool.check_known_args(call.args.as_deref()?).err()?;
    let reason = Reason::from_name(&wrong.reason).unwrap_or(Reason::InvalidToolArgs);
    Some(finding(reason, Some(call.span), wrong.message, call.certain))
}

/// Data that is not there is nil: often a name that was not written right.
fn absent<'a>(data: &'a [(std::sync::Arc<str>, Span)], context: &'a Value) -> impl Iterator<Item = Diagnostic> + 'a {
    let engine = |key: &str| [FAIL, LAST_RESULT].contains(&key);
    data.iter().filter(move |(key, _)| !engine(key) && context.lookup(key).is_none()).map(|(key, span)| {
        let keys: Vec<&str> = match context {
            Value::Map(map) => map.keys().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let near = nearest::nearest(key, keys.iter().copied());
        let there = match (near, keys.as_slice()) {
            (Some(near), _) => format!("; did you mean data/{near}?"),
            (None, []) => String::new(),
            (None, keys) => {
                let keys: Vec<String> = keys.iter().map(|key| format!("data/{key}")).collect();
                format!("; there are {}", keys.join(", "))
            }
        };
        finding(Reason::InvalidContext, Some(*span), format!("the context has no `{key}`, so it is nil{there}"), false)
    })
}

#[cfg(test)]
mod tests {
    use ptc_core::value::json;

    use super::*;
    use crate::agent::Agent;

    const AGENT: &str = r#"
        mode = "ptc_lisp"
        prompt = "go"
        [tools.region-name]
        kind = "snippet"
        signature = "(id :string) -> :string"
        description = "names a region"
        code = '"north"'
    "#;

    fn lint_inputs() -> LintInputs {
        let plan = Plan::new(&Agent::from_toml(AGENT, "lint.toml").unwrap()).unwrap();
        let context = json::parse(r#"{"rows": [], "unit-price": 1}"#).unwrap().to_value();
        LintInputs { context: Some(context), memory: vec!["total".to_owned()], must_end: true, ..LintInputs::by(&plan) }
    }

    /// Severity, reason, the text at the place, the message.
    fn lint_texts(program: &str) -> Vec<String> {
        let as_line = |found: Diagnostic| {
            let mark = if found.is_error() { "✗" } else { "!" };
            let place = found.span.map_or("", |span| span.text(program));
            format!("{mark} {} {place}: {}", found.reason.name(), found.message)
        };
        lint(program, &lint_inputs()).into_iter().map(as_line).collect()
    }

    #[test]
    fn unknown_tools_names_and_counts_are_errors_at_their_places() {
        let found = lint_texts(
            "(do (tool/region-nam {:a 1}) (undefined-fn 3) (reduce) (return (tool/region-name {:id \"x\"})))",
        );
        assert_eq!(found.len(), 3, "{found:#?}");
        assert!(
            found[0].starts_with(
                "✗ unknown_tool tool/region-nam: unknown tool `region-nam`. Did you mean tool/region-name?"
            )
        );
        assert!(found[1].starts_with("✗ unbound_var undefined-fn: unknown name `undefined-fn`"), "{}", found[1]);
        assert!(found[2].starts_with("✗ arity_error (reduce): reduce: needs "), "{}", found[2]);
    }

    #[test]
    fn arguments_of_tools_are_checked_as_far_as_they_are_written_out() {
        assert_eq!(lint_texts("(return (tool/region-name {:id (str 1)}))"), [""; 0]);
        for call in
            ["(tool/region-name {:id 7})", "(tool/region-name {:idd \"x\"})", "(tool/region-name {:idd (str 1)})"]
        {
            let found = lint_texts(&format!("(return {call})"));
            assert!(found.len() == 1 && found[0].starts_with(&format!("✗ invalid_tool_args {call}: ")), "{found:?}");
        }
        assert!(lint_texts("(return (if data/rows (tool/region-name {}) 1))")[0].starts_with("! invalid_tool_args"));
    }

    #[test]
    fn data_that_is_not_there_is_worth_a_warning() {
        assert_eq!(lint_texts("(return [data/rows data/unit-price data/fail total])"), [""; 0]);
        let found = lint_texts("(return (count data/rowz))");
        assert_eq!(
            found,
            ["! invalid_context data/rowz: the context has no `rowz`, so it is nil; did you mean data/rows?"]
        );
        assert!(lint_texts("(return data/x)")[0].ends_with("; there are data/rows, data/unit-price"));
        assert_eq!(lint("(return data/x)", &LintInputs { context: None, ..lint_inputs() }), []);
    }

    #[test]
    fn snippets_of_tools_are_checked_with_their_parameters() {
        let found = |code: &str| {
            let text = AGENT.replace("'\"north\"'", &format!("'{code}'"));
            let agent = Agent::from_toml(&text, "lint.toml").unwrap();
            let found = Plan::new(&agent).map_or_else(|found| found, |plan| plan.warnings);
            let of_code = found.into_iter().filter(|found| found.key == "tools.region-name.code");
            of_code.map(|found| (found.is_error(), found.message)).collect::<Vec<_>>()
        };
        assert_eq!(found("(str data/id)"), []);
        let open = found("(str data/id");
        assert!(open.len() == 1 && !open[0].0, "{open:?}");
        let start = "`code` of the tool `region-name` at line 1, column ";
        assert!(open[0].1.starts_with(start) && open[0].1.contains("closing parenthesis"), "{open:?}");
        let unknown = found("(str id)");
        assert!(unknown.len() == 1 && !unknown[0].0 && unknown[0].1.contains("Did you mean `data/id`"), "{unknown:?}");
        let absent = found("(str data/idd)");
        assert!(absent.len() == 1 && !absent[0].0 && absent[0].1.contains("data/id?"), "{absent:?}");
    }

    #[test]
    fn a_program_without_return_is_reported_where_it_is_required() {
        assert!(lint_texts("(def a 1)")[0].starts_with("! must_return_missing"));
        assert_eq!(lint("(def a 1)", &LintInputs { must_end: false, ..lint_inputs() }), []);
        assert_eq!(lint_texts("(when (empty? data/rows) (fail \"none\"))"), [""; 0]);
        assert!(lint_texts("; later")[0].starts_with("✗ parse_error"));
        assert!(lint_texts("(+ 1")[0].starts_with("✗ parse_error"));
    }
}
