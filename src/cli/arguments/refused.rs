//! Reports argument errors and prints `--help`.
//!
//! In: the error of the parser, the words as typed. Out: text on stderr (the help on stdout) and the exit code.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use ptc_core::text::nearest;

use super::Arguments;
use crate::cli::output;
use crate::cli::output::{exit, print_error, print_note};

/// Reports an argument error or prints the requested help, and returns the exit code.
pub(super) fn refused(error: &clap::Error, words: &[String]) -> u8 {
    if !error.use_stderr() {
        output::remember(error.print());
        return output::exit_code(Ok(exit::OK));
    }
    let near = near_command(words);
    match (misplaced(error, words), error.kind(), &near) {
        (Some(message), ..) => print_error(&message),
        // The first word was taken for a file to open, and the second one for the command.
        (None, ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument, Some(_)) => {
            let first = plain(&Arguments::command(), words).next().unwrap_or_default().to_owned();
            print_error(&format!("`{first}` is not a command"));
        }
        _ => _ = error.print(),
    }
    if let Some(near) = near {
        print_note(&format!("tip: did you mean the command `{near}`?"));
    }
    exit::USAGE
}

/// The command of a flag that precedes it or has none; `None` for any other error.
fn misplaced(error: &clap::Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let has = |command: &&clap::Command| {
        command.get_arguments().any(|known| {
            let long = known.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long));
            long || known.get_short().is_some_and(|short| *flag == format!("-{short}"))
        })
    };
    let program = Arguments::command();
    let mut command = &program;
    let mut path = vec![program.get_name()];
    for word in plain(&program, words) {
        let Some(next) = command.find_subcommand(word) else { continue };
        command = next;
        path.push(next.get_name());
    }
    if path.len() == 1 {
        let example = program.get_subcommands().find(has)?.get_name();
        return Some(format!(
            "`{flag}` belongs to a command, and none is written: `{} {example} … {flag}`, for example",
            program.get_name()
        ));
    }
    let mut behind = words.iter().skip_while(|word| word.split('=').next() != Some(flag));
    let is_before = behind.any(|word| word == command.get_name());
    (is_before && has(&command))
        .then(|| format!("`{flag}` belongs to the command: write it after `{}`", path.join(" ")))
}

/// Added to an error about an unknown name: the command that was probably meant.
pub fn meant_command(name: &str) -> String {
    near_command(&[name.to_owned()]).map(|near| format!("; did you mean the command `{near}`?")).unwrap_or_default()
}

/// The command that the first word may have meant; none when it is one.
fn near_command(words: &[String]) -> Option<String> {
    let program = Arguments::command();
    let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    let first = plain(&program, words).next()?;
    if names.contains(&first) {
        return None;
    }
    nearest(first, names.iter().copied()).map(ToOwned::to_owned)
}

/// The words that are neither flags nor values of the program's own flags.
fn plain<'w>(program: &clap::Command, words: &'w [String]) -> impl Iterator<Item = &'w str> {
    let valued = program.get_arguments().filter(|known| known.get_action().takes_values());
    let valued: Vec<String> = valued.filter_map(|known| Some(format!("--{}", known.get_long()?))).collect();
    let before = std::iter::once("").chain(words.iter().map(String::as_str));
    let plain = words.iter().map(String::as_str).zip(before);
    plain
        .filter(move |(word, before)| !word.starts_with('-') && !valued.iter().any(|flag| flag == before))
        .map(|(word, _)| word)
}
