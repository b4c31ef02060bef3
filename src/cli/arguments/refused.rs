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
    let message = misplaced(error, words).or_else(|| other_flag(error, words)).or_else(|| signature_of_a_file(error));
    match (message, error.kind(), &near) {
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
        return Some(format!("`{flag}` needs a command, for example: `{} {example} … {flag}`", program.get_name()));
    }
    let mut behind = words.iter().skip_while(|word| word.split('=').next() != Some(flag));
    let is_before = behind.any(|word| word == command.get_name());
    (is_before && has(&command))
        .then(|| format!("`{flag}` is a flag of the command: write it after `{}`", path.join(" ")))
}

/// Flags that users expect of a command: the command, the flag as written, and the one that it has.
const OTHER_FLAGS: [(&str, &str, &str); 4] = [
    ("test", "--case", "--filter TEXT"),
    ("compare", "--case", "--filter TEXT"),
    ("run", "--input", "--set K=V"),
    ("prompt", "--input", "--set K=V"),
];

/// The intended flag, where the parser would suggest one that only looks similar.
fn other_flag(error: &clap::Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    let program = Arguments::command();
    let command = plain(&program, words).next()?;
    let (.., meant) = OTHER_FLAGS.iter().find(|(of, written, _)| *of == command && written == flag)?;
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    is_unknown.then(|| format!("`{command}` has no `{flag}`; did you mean `{meant}`?"))
}

/// `--signature` with an agent file.
fn signature_of_a_file(error: &clap::Error) -> Option<String> {
    let is_signature = |text: &String| text.starts_with("--signature");
    let has_signature = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => is_signature(text),
        Some(ContextValue::Strings(texts)) => texts.iter().any(is_signature),
        _ => false,
    };
    let is_refused = error.kind() == ErrorKind::ArgumentConflict
        && has_signature(ContextKind::InvalidArg) != has_signature(ContextKind::PriorArg);
    is_refused.then(|| "--signature goes with --prompt; an agent file has its own signature".to_owned())
}

/// Added to an error about an unknown name: the command that was probably meant.
pub fn meant_command(name: &str) -> String {
    near_command(&[name.to_owned()]).map(|near| format!("; did you mean the command `{near}`?")).unwrap_or_default()
}

/// The command that the first word may have meant: one below another command, as `search` of `sessions search`, else one with a
/// similar name. None when the word is a command.
fn near_command(words: &[String]) -> Option<String> {
    let program = Arguments::command();
    let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    let first = plain(&program, words).next()?;
    if names.contains(&first) {
        return None;
    }
    let mut commands: Vec<&clap::Command> = program.get_subcommands().collect();
    // Most subcommands that users look for belong to `sessions`.
    commands.sort_by_key(|command| command.get_name() != "sessions");
    let below = commands.iter().find_map(|command| {
        let below = command.find_subcommand(first)?;
        Some(format!("{} {}", command.get_name(), below.get_name()))
    });
    below.or_else(|| nearest(first, names.iter().copied()).map(ToOwned::to_owned))
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
