//! The arguments of `sessions export` and `sessions import`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `sessions export`.
#[derive(Debug, Args)]
pub struct ExportFlags {
    /// Path, id, unique beginning of an id, or `last`
    pub session: String,
    /// md, html, json, atif, otlp, svg, asciicast, bundle; by default what the file's name ends with
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The file, or the folder of a bundle; without it, or with -, the export goes to stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to take out: none, secrets, summary, full, context, messages, arguments, results, memory, agent, field:NAME,
    /// field:A.B (separated by commas), regex:EXPRESSION
    #[arg(long, value_name = "RULES", allow_hyphen_values = true)]
    pub redact: Vec<String>,
    /// Print what would be removed and what looks like a secret, and write nothing
    #[arg(long)]
    pub preview: bool,
    /// Export although something looks like a secret
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
    /// A trace file of PtcRunner (JSON lines, schema version 2)
    pub file: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
