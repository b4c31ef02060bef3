//! The arguments of `sessions search`, `failures`, `tag`, `note`, `mark`, `label`,
//! `verify`, `recover`, `case`, `example`, `export` and `import`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// Flags of `sessions search`.
#[derive(Debug, Args)]
#[command(after_help = filters())]
pub struct SearchFlags {
    /// Words that must occur, "words together", /a pattern/, -without, and filters
    #[arg(value_name = "TEXT", required = true)]
    pub text: Vec<String>,
    /// Words are regular expressions
    #[arg(long)]
    pub regex: bool,
    /// Maximum number of sessions to show; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions failures`.
#[derive(Debug, Args)]
#[command(after_help = filters())]
pub struct FailuresFlags {
    /// Words and filters that select sessions, as for `sessions search`; all sessions when absent
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// Maximum number of failure groups to show; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Print the groups as JSON
    #[arg(long)]
    pub json: bool,
}

/// The words of the command line as they are parsed: in those of a query a minus turns what follows around, and is not a flag. Such words
/// go to the end, after `--`; only `-h` keeps its meaning everywhere.
pub(super) fn with_turned(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_query = |pair: &[OsString]| pair[0] == "sessions" && (pair[1] == "search" || pair[1] == "failures");
    let Some(at) = words.windows(2).position(is_query) else { return words };
    let query = words.split_off(at + 2);
    let (before, behind) = match query.iter().position(|word| word == "--") {
        Some(end) => (&query[..end], &query[end + 1..]),
        None => (&query[..], &[][..]),
    };
    let is_turned = |word: &&OsString| {
        let word = word.to_string_lossy();
        word.len() > 1 && word.starts_with('-') && !word.starts_with("--") && word != "-h"
    };
    let (turned, plain): (Vec<_>, Vec<_>) = before.iter().partition(is_turned);
    words.extend(plain.into_iter().cloned());
    if !(turned.is_empty() && behind.is_empty()) {
        words.push("--".into());
    }
    words.extend(turned.into_iter().chain(behind).cloned());
    words
}

/// The table of filters, for the help.
fn filters() -> String {
    let rows = crate::session::index::FILTERS.iter().map(|known| format!("  {:<8}{}", known.name, known.example));
    let fields = crate::session::index::Field::ALL.iter().map(|field| field.name()).collect::<Vec<_>>().join(", ");
    format!("Filters (a leading - negates one):\n{}\n\nFields for `in:`: {fields}", rows.collect::<Vec<_>>().join("\n"))
}

/// Flags of `sessions tag`.
#[derive(Debug, Args)]
pub struct TagFlags {
    /// SESSION, or SESSION@ADDRESS for a run or turn (r0, r0/t2)
    #[arg(value_name = "SESSION[@ADDRESS]", value_parser = NonEmptyStringValueParser::new())]
    pub place: String,
    /// +TAG adds a tag, -TAG removes it; write flags before the tags
    #[arg(value_name = "+TAG|-TAG", allow_hyphen_values = true)]
    pub tags: Vec<String>,
    /// Print the resulting tags, note, mark and label as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions note`.
#[derive(Debug, Args)]
pub struct NoteFlags {
    /// SESSION, or SESSION@ADDRESS for a run or turn (r0, r0/t2)
    #[arg(value_name = "SESSION[@ADDRESS]", value_parser = NonEmptyStringValueParser::new())]
    pub place: String,
    /// The note; an empty text removes it
    #[arg(allow_hyphen_values = true)]
    pub text: String,
    /// Print the resulting tags, note, mark and label as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions mark`.
#[derive(Debug, Args)]
pub struct MarkFlags {
    /// SESSION, or SESSION@ADDRESS for a run or turn (r0, r0/t2)
    #[arg(value_name = "SESSION[@ADDRESS]", value_parser = NonEmptyStringValueParser::new())]
    pub place: String,
    /// Remove the mark
    #[arg(long)]
    pub remove: bool,
    /// Print the resulting tags, note, mark and label as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions label`.
#[derive(Debug, Args)]
pub struct LabelFlags {
    /// SESSION, or SESSION@ADDRESS for a run or turn (r0, r0/t2)
    #[arg(value_name = "SESSION[@ADDRESS]", value_parser = NonEmptyStringValueParser::new())]
    pub place: String,
    /// pass, fail, a score from 0 to 1, or none to remove the label
    #[arg(value_name = "LABEL")]
    pub label: String,
    /// Reason for the label
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Print the resulting tags, note, mark and label as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions verify`.
#[derive(Debug, Args)]
pub struct VerifyFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions recover`.
#[derive(Debug, Args)]
pub struct RecoverFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions delete`.
#[derive(Debug, Args)]
pub struct DeleteFlags {
    /// Paths, ids, unique beginnings or ends of ids, or `last`
    #[arg(value_name = "SESSION", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub named: Vec<String>,
    /// Delete without asking
    #[arg(long)]
    pub yes: bool,
}

/// Flags of `sessions case`.
#[derive(Debug, Args)]
pub struct CaseFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// Name of the case; without it the end of the session's id
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Agent file that gets the case; created from the session if missing
    #[arg(long, value_name = "FILE")]
    pub agent: Option<PathBuf>,
    /// The run, when the session holds several
    #[arg(long, value_name = "ADDRESS", value_parser = NonEmptyStringValueParser::new())]
    pub run: Option<String>,
    /// Expect that a model judges the answer to fulfil TEXT; a label of the run becomes an example for the judge
    #[arg(long, value_name = "TEXT", conflicts_with = "cassette")]
    pub rubric: Option<String>,
    /// Make a regression test: replays a copy of the session (next to the agent file) without a model
    #[arg(long)]
    pub cassette: bool,
    /// Print the new case as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions example`.
#[derive(Debug, Args)]
pub struct ExampleFlags {
    /// SESSION, or SESSION@TURN (r0/t2); without a turn the last one
    #[arg(value_name = "SESSION[@TURN]", value_parser = NonEmptyStringValueParser::new())]
    pub place: String,
    /// Agent file whose prompt gets the example; created from the session if missing
    #[arg(long, value_name = "FILE")]
    pub agent: Option<PathBuf>,
    /// Print the new example as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions agent`.
#[derive(Debug, Args)]
pub struct CapturedAgentFlags {
    /// SESSION, or SESSION@TURN (r0/t2); without a turn the first one
    #[arg(value_name = "SESSION[@TURN]", value_parser = NonEmptyStringValueParser::new())]
    pub place: String,
    /// New agent file; without it the agent is printed
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Flags of `sessions export`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct ExportFlags {
    /// Path, id, unique beginning or end of an id, or `last`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// md, html, json, atif, otlp, svg, asciicast, bundle; default: the extension of the file
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The file, or the folder of a bundle; without it, or with -, the export goes to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file of -o if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Content to remove: none, secrets, summary, full, context, messages, arguments, results, memory, agent, field:NAME,
    /// field:A.B (separated by commas), regex:EXPRESSION
    #[arg(long, value_name = "RULES", allow_hyphen_values = true)]
    pub redact: Vec<String>,
    /// Print what would be removed and what looks like a secret, and write nothing
    #[arg(long)]
    pub preview: bool,
    /// Export even if something looks like a secret
    #[arg(long)]
    pub allow_secrets: bool,
    /// Columns and rows of svg and asciicast (120x40)
    #[arg(long, value_name = "COLSxROWS")]
    pub size: Option<String>,
    /// With --preview or -o: print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sessions import`.
#[derive(Debug, Args)]
pub struct ImportFlags {
    /// A trace file of PtcRunner (JSON lines, schema version 2), OpenTelemetry spans (OTLP JSON), an ATIF trajectory, a transcript of a
    /// coding assistant (JSON lines), an HTTP archive (HAR), or JSON lines `{"request": …, "response": …}`; detected by content
    pub file: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(line: &str) -> String {
        let words = with_turned(line.split(' ').map(OsString::from).collect());
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_with_a_minus_are_words_of_the_query() {
        assert_eq!(turned("x sessions search -mode:json lamp --json"), "x sessions search lamp --json -- -mode:json");
        assert_eq!(turned("x sessions failures --limit 3 -a -- -b"), "x sessions failures --limit 3 -- -a -b");
        for kept in ["x sessions search - a -h --limit 3", "x sessions search -- -b", "x sessions list -x", "x run -x"]
        {
            assert_eq!(turned(kept), kept);
        }
    }
}
