//! The builtin tools `grep` and `grep-n`.
//!
//! In: a pattern and a text. Out: the matching lines, optionally with numbers and context. The search is a PTC-Lisp
//! program, so that tools and programs find the same under the same limits.

use ptc_core::value::Value;

use super::{Failure, Invocation, snippet};

/// Program that returns the indexes of matching lines.
const PROGRAM: &str = "(let [regex (re-pattern data/pattern)]
  (keep-indexed (fn [place line] (when (re-find regex line) place)) data/lines))";

/// Maximum entries of a result with context; a last entry reports truncation.
const ENTRIES: usize = 100;

/// Form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultForm {
    /// Matching lines.
    Matches,
    /// Matching lines with numbers and context.
    WithContext,
}

/// Searches the argument `text` for `pattern`, ignoring case.
pub(super) async fn lines(call: &Invocation<'_>, form: ResultForm) -> Result<Value, Failure> {
    let text =
        |key: &str| call.args.lookup(key).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
    let (pattern, text) = (text("pattern"), text("text"));
    let lines: Vec<&str> = text.lines().collect();
    let basic = to_extended(&pattern);
    let found = match matching_lines(&basic, &lines, call).await {
        // An invalid basic pattern may be a valid extended one.
        Err(_) if basic != pattern => matching_lines(&pattern, &lines, call).await?,
        found => found?,
    };
    match form {
        ResultForm::Matches => {
            Ok(Value::list(found.iter().filter_map(|at| lines.get(*at)).map(|line| Value::str(*line))))
        }
        ResultForm::WithContext => {
            let context = call.args.lookup("context").and_then(to_index);
            Ok(with_context(&lines, &found, context.unwrap_or_default()))
        }
    }
}

async fn matching_lines(pattern: &str, lines: &[&str], call: &Invocation<'_>) -> Result<Vec<usize>, Failure> {
    let lines = Value::list(lines.iter().map(|line| Value::str(*line)));
    let pattern = Value::str(format!("(?i){pattern}"));
    let data = Value::map([(Value::str("pattern"), pattern), (Value::str("lines"), lines)]);
    let found = snippet::run(PROGRAM, data, call).await?;
    let places = found.as_list().into_iter().flatten();
    Ok(places.filter_map(to_index).collect())
}

fn to_index(value: &Value) -> Option<usize> {
    if let Value::Int(int) = value { usize::try_from(*int).ok() } else { None }
}

/// Converts the escapes of basic regular expressions, which models write for `grep`, to extended syntax.
fn to_extended(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some(next @ ('|' | '(' | ')' | '{' | '}' | '+' | '?'))) => {
                out.push(*next);
                rest.next();
            }
            ('\\', Some(next)) => {
                out.extend([c, *next]);
                rest.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// Returns each match with its context lines; no line appears twice.
fn with_context(lines: &[&str], found: &[usize], context: usize) -> Value {
    let entry = |line: i64, text: &str, is_match: bool| {
        Value::map([
            (Value::str("line"), Value::Int(line)),
            (Value::str("text"), Value::str(text)),
            (Value::str("match"), Value::Bool(is_match)),
        ])
    };
    let mut entries: Vec<Value> = Vec::new();
    let mut next = 0;
    for at in found {
        let last = at.saturating_add(context).min(lines.len().saturating_sub(1));
        for place in next.max(at.saturating_sub(context))..=last {
            if entries.len() == ENTRIES {
                entries.push(entry(-1, &format!("stopped after {ENTRIES} entries; narrow the pattern"), false));
                return Value::list(entries);
            }
            let number = i64::try_from(place + 1).unwrap_or(i64::MAX);
            let is_match = found.binary_search(&place).is_ok();
            entries.push(entry(number, lines.get(place).copied().unwrap_or_default(), is_match));
        }
        next = next.max(last + 1);
    }
    Value::list(entries)
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::event::Address;
    use crate::tool::{Tool, Tools};
    use ptc_core::value::{Json, json};

    async fn answer(name: &str, args: &str) -> Result<String, Failure> {
        let tool = Tool::from_table(name, &Json::empty().with("kind", Json::str("builtin"))).unwrap();
        let (address, cancel) = (Address::run(0).turn(1).call(0), CancellationToken::new());
        let (notes, _notes) = tokio::sync::mpsc::unbounded_channel();
        let (requests, _requested) = tokio::sync::mpsc::unbounded_channel();
        let args = json::parse(args).unwrap().to_value();
        let call = crate::tool::Invocation {
            address: &address,
            tool: &tool,
            args: &args,
            now_ms: 0,
            cancel: &cancel,
            notes: &notes,
            requests: &requests,
        };
        crate::tool::LiveTools.call(&call).await.map(|value| Json::from(&value).to_text())
    }

    #[tokio::test]
    async fn case_is_ignored() {
        let text = r#""text":"One error\nfine\r\nERROR 2\n""#;
        assert_eq!(
            answer("grep", &format!(r#"{{"pattern":"error",{text}}}"#)).await.unwrap(),
            r#"["One error","ERROR 2"]"#
        );
        assert_eq!(answer("grep", &format!(r#"{{"pattern":"x",{text}}}"#)).await.unwrap(), "[]");
        assert_eq!(
            answer("grep", &format!(r#"{{"pattern":"fine\\|\\(r 2\\)$",{text}}}"#)).await.unwrap(),
            r#"["fine","ERROR 2"]"#
        );
    }

    #[tokio::test]
    async fn an_invalid_basic_pattern_is_used_as_written() {
        assert_eq!(answer("grep", r#"{"pattern":"f\\(","text":"f(x)\ng(x)"}"#).await.unwrap(), r#"["f(x)"]"#);
        let Err(Failure::Error(record)) = answer("grep", r#"{"pattern":"(","text":"a"}"#).await else {
            panic!("a pattern")
        };
        assert!(record.message.contains("is not valid"), "{}", record.message);
    }

    #[tokio::test]
    async fn matches_have_context_and_no_line_appears_twice() {
        let text = r#""text":"a\nb\nhit\nhit\nc\nd\nhit""#;
        let got = answer("grep-n", &format!(r#"{{"pattern":"hit",{text},"context":1}}"#)).await.unwrap();
        let entry = |line, text, hit| format!(r#"{{"line":{line},"match":{hit},"text":"{text}"}}"#);
        let expected = [
            entry(2, "b", false),
            entry(3, "hit", true),
            entry(4, "hit", true),
            entry(5, "c", false),
            entry(6, "d", false),
            entry(7, "hit", true),
        ];
        assert_eq!(got, format!("[{}]", expected.join(",")));
    }

    #[tokio::test]
    async fn results_are_limited_to_a_hundred_entries() {
        let text = "hit\\n".repeat(150);
        let got = answer("grep-n", &format!(r#"{{"pattern":"hit","text":"{text}"}}"#)).await.unwrap();
        assert_eq!(got.matches(r#""match":true"#).count(), 100);
        assert!(
            got.ends_with(r#"{"line":-1,"match":false,"text":"stopped after 100 entries; narrow the pattern"}]"#),
            "{got}"
        );
    }
}
