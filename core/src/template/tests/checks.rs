//! Construction checks: each case of `cases/check.json` gives exactly these findings and unused parameters.

use super::{cases, place, text};
use crate::signature;
use crate::template::{Diagnostic, DiagnosticKind, Severity, check, check_context, check_references, parse, unused};
use crate::value::Value;
use crate::value::json::Json;

fn line(template: &str, finding: &Diagnostic) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    format!("{severity} {} {:?} {}", place(finding.span.line_col(template)), finding.kind, finding.message)
}

fn strings<'c>(case: &'c Json, key: &str) -> Vec<&'c str> {
    case.get(key).and_then(Json::items).unwrap_or_default().iter().filter_map(Json::as_str).collect()
}

#[test]
fn templates_are_checked_against_signatures() {
    for case in cases(include_str!("../cases/check.json")) {
        let (name, source) = (text(&case, "name"), text(&case, "template"));
        let signature = signature::parse(text(&case, "signature")).expect(name);
        let template = parse(source).expect(name);
        let inspect = if case.get("references").is_some() { check_references } else { check };
        let findings: Vec<String> =
            inspect(&template, &signature).iter().map(|finding| line(source, finding)).collect();
        assert_eq!(findings, strings(&case, "findings"), "{name}");
        assert_eq!(unused(&template, &signature), strings(&case, "unused"), "{name}");
    }
}

#[test]
fn a_context_is_checked_for_missing_names_with_their_places() {
    let source = "{{a}}\n{{#l}}{{b}}{{/l}} {{ zz }} {{l}}";
    let context = Value::record([("a", Value::Nil), ("l", Value::list([Value::from(1)]))]);
    let findings = check_context(&parse(source).expect("a good template"), &context);
    let lines: Vec<String> = findings.iter().map(|finding| line(source, finding)).collect();
    let expected = [
        "warning 2:7 Missing `b` has no value in the context; {{b}} stays in the text as written",
        "warning 2:19 Missing `zz` has no value in the context; {{ zz }} stays in the text as written",
        "warning 2:28 NotText `l` is a list; it is written as JSON",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_context_that_cannot_fill_the_template_is_an_error() {
    let source = "{{#l}}{{#l}}{{#l}}{{/l}}{{/l}}{{/l}}";
    let context = Value::record([("l", Value::list(std::iter::repeat_n(Value::Nil, 300)))]);
    let findings = check_context(&parse(source).expect("a good template"), &context);
    let [Diagnostic { severity: Severity::Error, kind: DiagnosticKind::NotFilled, .. }] = findings.as_slice() else {
        panic!("{findings:?}");
    };
}
