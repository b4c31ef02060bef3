//! Work is linear in the reply: counted in bytes examined, for all texts that could make a search restart.

use crate::reply::extract::search;
use crate::reply::{AnswerShape, ExtractOutcome, Finish, Recovery, Reject};

const MEGABYTE: usize = 1 << 20;

#[test]
fn hostile_replies_cost_a_few_looks_at_each_byte() {
    let units = [
        "{",
        "[",
        "}",
        "]",
        "\"",
        "'",
        "`",
        "```",
        "```\n",
        "```json\n",
        "~~~\n",
        "```json {\"a\":1}``` ",
        "[{\"",
        "{\"a\":",
        "[1,",
        "{\"a\"",
        "{a:",
        "{\"a\":1}",
        "{\"a\":1},",
        "{} ",
        "[] ",
        "{\"a\":\"",
        "\",\"",
        "\" \"",
        "\", ",
        "\\\"",
        "{\\\"",
        "/*",
        "{/*",
        "<think>",
        "</think>",
        "<think></think>",
        "<",
        "{'",
        "“",
        "{“a",
        "...",
        "[...",
        "(",
        "a(",
        "1,",
        "1",
        "{\"a\":1,234,",
        "[a, ",
        "{\"a\": b, ",
        " ",
        "\n",
        "{ ",
        "[ ",
        "\u{a0}",
        "é",
        "{\"a\n",
        "{\"a\":\"\n\"b",
        "`{",
        "{\"a\":[1}",
        "[-",
        "{\"\"",
        "[0, 1) ",
        "{\"a\": $5} ",
        "{\"a\": $5 ",
        "{\"a\":1}</think>",
        "{\"a\":1}<think></think>",
        "\"<think></think>",
        "\"{</think>",
        "[0, 1)</think>",
        "[1,000",
        "[\"\"\",",
    ];
    for recovery in Recovery::ALL {
        for unit in units {
            for head in ["", "{\"a\":\"", "{\"a\":[", "[{\"k\": 1, \"", "{\"a\": x "] {
                let reply = format!("{head}{}", unit.repeat(MEGABYTE / 64 / unit.len()));
                let mut refuse = |_: &_| Err(Reject::Shape("no".to_owned()));
                let (_, visited) = search(&reply, &AnswerShape::List, recovery, Finish::Complete, &mut refuse);
                assert!(visited <= 24 * reply.len(), "{head:?} {unit:?} {recovery}: {}", visited / reply.len());
            }
        }
    }
}

#[test]
fn a_megabyte_of_answer_is_looked_at_a_few_times() {
    let rows = "{\"name\": \"some text here\", \"n\": [1, 2.5, true, null]},\n".repeat(MEGABYTE / 56);
    let valid = format!("{{\"rows\": [{}]}}", rows.trim_end().trim_end_matches(','));
    let broken = format!("{{'rows': [{rows}]}}");
    for (reply, most) in [(valid, 1), (broken, 3)] {
        let (found, visited) =
            search(&reply, &AnswerShape::Object, Recovery::Standard, Finish::Complete, &mut |_| Ok(()));
        assert!(matches!(found.outcome, ExtractOutcome::Found { .. }));
        assert!(visited <= most * reply.len() + 64, "{visited} of {}", reply.len());
    }
}

#[test]
fn deep_nesting_is_an_error_and_its_inner_part_is_no_answer() {
    for unit in ["[", "{\"a\":", "[{\"a\":", "[(", "[f("] {
        for recovery in Recovery::ALL {
            let reply = format!("{}1", unit.repeat(100_000));
            let (found, _) = search(&reply, &AnswerShape::Any, recovery, Finish::Complete, &mut |_| Ok(()));
            assert!(
                matches!(found.outcome, ExtractOutcome::Malformed { .. } | ExtractOutcome::NotFound),
                "{unit} {recovery}"
            );
        }
    }
    let closed = format!("{}{}", "[".repeat(513), "]".repeat(513));
    let (found, _) = search(&closed, &AnswerShape::Any, Recovery::Lenient, Finish::Complete, &mut |_| Ok(()));
    assert!(matches!(&found.outcome, ExtractOutcome::Malformed { error } if error.message.contains("512 levels")));
    let closed = format!("{}{}", "[".repeat(512), "]".repeat(512));
    let (found, _) = search(&closed, &AnswerShape::Any, Recovery::Strict, Finish::Complete, &mut |_| Ok(()));
    assert!(matches!(found.outcome, ExtractOutcome::Found { .. }));
}
