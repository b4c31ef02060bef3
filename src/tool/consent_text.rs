//! The text that the user reads before consent: what matters first.
//!
//! In: a tool or a connection. Out: resolved program and folder or address, variables, then all arguments, each on its own
//! line. The text depends on this machine: it is shown, never recorded.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::grant::resolve;
use super::mcp::{Connection, Mcp};
use super::{DEFAULT_VARIABLES, Http, Kind, Program, Tool};

/// The line that begins the arguments; everything before it is what matters first.
pub const ARGUMENTS: &str = "arguments ";

impl Tool {
    /// Describes what a call does on this machine; `None` for tools without external effects.
    pub fn consent_text(&self) -> Option<String> {
        Some(match &self.kind {
            Kind::Command(command) => of_program(&command.program),
            Kind::Http(http) => of_http(http),
            Kind::Mcp(mcp) => of_mcp(mcp, &self.name),
            _ => return None,
        })
    }
}

impl Connection {
    /// Describes what listing the tools of this server does on this machine.
    pub fn consent_text(&self, server: &str) -> String {
        format!("server     {server}\n{}", of_connection(self))
    }
}

fn of_mcp(mcp: &Mcp, own: &str) -> String {
    let name = mcp.tool.as_deref().unwrap_or(own);
    let connection = mcp.connection.as_ref().map(|connection| format!("\n{}", of_connection(connection)));
    format!("server     {}\nits tool   {name}{}", mcp.server, connection.unwrap_or_default())
}

fn of_connection(connection: &Connection) -> String {
    match connection {
        Connection::Process(program) => of_program(program),
        Connection::Http { url, headers } => headers
            .iter()
            .fold(format!("address    {url}"), |text, (name, value)| format!("{text}\nheader     {name}: {value}")),
    }
}

fn of_http(http: &Http) -> String {
    let mut text = format!("request    {} {}", http.method, http.url);
    for (name, value) in &http.headers {
        _ = write!(text, "\nheader     {name}: {value}");
    }
    if let Some(body) = &http.body {
        _ = write!(text, "\nbody       {}", body.to_text());
    }
    text
}

impl Program {
    /// Returns the file that its name leads to, and its working folder, both resolved; for the user to read.
    pub fn resolved(&self) -> (String, String) {
        let here = PathBuf::from(self.folder.as_deref().unwrap_or("."));
        let folder = here.canonicalize();
        let program = folder.as_ref().ok().and_then(|folder| resolve(self.name(), folder));
        let program = program.map_or_else(|| "not found".to_owned(), |path| path.display().to_string());
        let folder =
            folder.map_or_else(|error| format!("{}: {error}", here.display()), |path| path.display().to_string());
        (program, folder)
    }
}

fn of_program(program: &Program) -> String {
    let (resolved, folder) = program.resolved();
    let usual = DEFAULT_VARIABLES.join(", ");
    let variables = if program.variables.is_empty() {
        format!("only the default ones: {usual}")
    } else {
        format!("{}; and the default ones: {usual}", program.variables.join(", "))
    };
    let (name, arguments) = program.argv.split_first().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
    let mut text = format!(
        "program    {resolved} (written as {name:?})\nfolder     {folder}\nvariables  {variables}\n{ARGUMENTS} {}",
        arguments.len(),
    );
    let digits = arguments.len().to_string().len();
    for (number, argument) in arguments.iter().enumerate() {
        _ = write!(text, "\n  {:>digits$}  {argument:?}", number + 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_shows_program_folder_and_variables_before_all_arguments() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap();
        std::fs::write(folder.join("tool.sh"), "x").unwrap();
        let argv = ["./tool.sh".to_owned()].into_iter().chain((0..120).map(|number| format!("a\u{200b}{number}")));
        let program = Program {
            argv: argv.collect(),
            folder: Some(folder.display().to_string()),
            variables: vec!["AWS_SECRET_ACCESS_KEY".to_owned()],
        };
        let text = of_program(&program);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with(&format!("program    {}", folder.join("tool.sh").display())), "{text}");
        assert_eq!(lines[1], format!("folder     {}", folder.display()));
        assert!(lines[2].starts_with("variables  AWS_SECRET_ACCESS_KEY; "), "{text}");
        assert_eq!((lines[3], lines.len()), ("arguments  120", 124));
        assert_eq!(lines[123], r#"  120  "a\u{200b}119""#);
    }
}
