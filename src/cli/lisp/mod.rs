//! `lisp`: the language alone, from the command line. Nothing here needs the configuration or the async runtime.

mod batch;
mod bench;
mod doc;
mod face;
mod input;
mod repl;
mod run;
mod snippet;

use super::arguments::Arguments;
use super::arguments::lisp::LispCommand;
use super::output::UsageError;
use face::Face;

pub(super) fn lisp(command: &LispCommand, arguments: &Arguments) -> Result<u8, UsageError> {
    match command {
        LispCommand::Run(flags) => run::run(flags, Face::of(arguments)),
        LispCommand::Batch { dialect } => batch::batch(dialect),
        LispCommand::Doc { word } => Ok(doc::doc(word)),
        LispCommand::Bench(flags) => bench::bench(flags),
        LispCommand::Repl(flags) => repl::repl(flags, Face::of(arguments)),
    }
}
