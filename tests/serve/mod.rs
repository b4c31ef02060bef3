//! Agents over HTTP and over MCP: what clients get, what is refused, what is recorded.

mod browsers;
mod chat;
mod command;
mod kit;
mod mcp;
mod mcp_limits;
mod mcp_messages;
mod official_clients;
mod runs;
mod states;

/// Computes without a model.
pub(crate) const DOUBLE: &str = r#"
name = "double"
mode = "ptc_lisp"
prompt = "Double it"
signature = "(n :int) -> {twice :int}"
max_turns = 1
program = "(return {:twice (* 2 data/n)})"
"#;

/// Declares no inputs.
pub(crate) const FREE: &str = r#"
name = "free"
mode = "ptc_lisp"
prompt = "go"
signature = "() -> :int"
max_turns = 1
program = "(return 1)"
"#;

/// Waits for the user.
pub(crate) const ASK: &str = r#"
name = "ask"
mode = "ptc_lisp"
prompt = "go"
signature = "() -> {colour :string, size :string}"
max_turns = 1
program = """
(return {:colour (tool/ask_user {:question "Which colour?"}) :size (tool/ask_user {:question "Which size?"})})
"""
[tools.ask_user]
kind = "builtin"
"#;

/// Answers with the model's text.
pub(crate) const TEXT: &str = r#"
name = "writer"
mode = "text"
prompt = "Write about {{subject}}"
signature = "(subject :string) -> :string"
"#;

/// Answers with checked JSON.
pub(crate) const JSON: &str = r#"
name = "judge"
mode = "json"
prompt = "Judge {{text}}"
signature = "(text :string) -> {good :bool}"
"#;

/// Starts a process.
pub(crate) const COMMAND: &str = r#"
name = "shell"
mode = "ptc_lisp"
prompt = "go"
signature = "() -> :string"
max_turns = 1
program = "(return (tool/touch {}))"
[tools.touch]
signature = "() -> :string"
kind = "command"
description = "Creates a file"
command = ["touch", "started"]
"#;
