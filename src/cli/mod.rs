//! The command line: flags, plain-text output of the workbench's functions, exit codes.
//!
//! In: arguments. Out: data on stdout, progress and diagnostics on stderr, an exit code. Text from models, tools and files is
//! made safe before it reaches a terminal.

mod arguments;
mod compare;
mod context;
mod doctor;
mod export;
mod fork;
mod inspect;
mod journal;
mod judge;
mod keyboard;
mod lisp;
mod login;
mod matrix;
mod mcp;
mod model_check;
mod models;
mod new;
mod offers;
mod optimize;
mod output;
mod plain;
mod printer;
mod proceed;
mod prompt;
mod proxy;
mod replay;
mod report;
mod rerun;
mod results;
mod run;
mod screenshot;
mod serve;
mod sessions;
mod signature;
mod source;
mod suggest;
mod test;
mod tools;
mod traffic;
mod tree;

pub use arguments::{Arguments, Command, meant_command};
pub use export::pieces;
pub use keyboard::ask_about_file;
pub use new::create_agent;
pub use optimize::{ShownSearch, shown_search};
pub use output::{UsageError, exit, print_error, print_waiting, print_warning};
pub use plain::{is_spoken, print_opened, print_session};
pub use proxy::proxy_spec;
pub use report::{catch_file_size_signal, hook_panics, keep_secret, log_to};
pub use screenshot::{CheckSettings, Draw, InterfaceServices, Picture};
pub use source::{SourceError, agent_source, pipeline_source};

use crate::workbench::Workbench;
use output::exit_code;

/// Runs a command and returns its exit code. Prints errors to stderr. `interface` makes pictures of screens and checks the settings of the
/// interface.
pub async fn run(
    command: &Command,
    arguments: &Arguments,
    workbench: &Workbench,
    interface: InterfaceServices<'_>,
) -> u8 {
    let done = match command {
        Command::New(flags) => new::new(flags, workbench),
        Command::Run(flags) => run::run(flags, arguments.plain, workbench).await,
        Command::Resume(flags) => proceed::resume(flags, arguments.plain, workbench).await,
        Command::Continue(flags) => proceed::proceed(flags, arguments.plain, workbench).await,
        Command::Exec(flags) => proceed::exec(flags, arguments.plain, workbench).await,
        Command::Replay(flags) => replay::replay(flags, arguments.plain, workbench).await,
        Command::Fork(flags) => fork::fork(flags, arguments.plain, workbench).await,
        Command::Rerun(flags) => rerun::rerun(flags, arguments.plain, workbench).await,
        Command::Compare(flags) => compare::compare(flags, arguments.plain, workbench).await,
        Command::Optimize(flags) => optimize::optimize(flags, arguments.plain, workbench).await,
        Command::Suggest(flags) => suggest::suggest(flags, workbench).await,
        Command::Merge(flags) => results::merge(flags, arguments.plain),
        Command::Test(flags) => test::test(flags, arguments.plain, workbench).await,
        Command::Judge(flags) => judge::judge(flags, arguments.plain, workbench).await,
        Command::Sessions { command } => sessions::sessions(command, arguments.plain, workbench, interface).await,
        Command::Signature { command } => signature::signature(command),
        Command::Prompt(flags) => prompt::prompt(flags, arguments.plain, workbench),
        Command::Tools(flags) => tools::tools(flags, arguments.plain, workbench).await,
        Command::Models(flags) => models::models(flags, arguments.plain, workbench).await,
        Command::Inspect(flags) => inspect::inspect(flags, workbench).await,
        Command::Doctor(flags) => doctor::doctor(flags, arguments.plain, workbench, interface.check).await,
        Command::Serve(flags) => serve::serve(flags, arguments.allow_tools, workbench).await,
        Command::Proxy(flags) => proxy::proxy(flags, workbench).await,
        Command::Mcp(flags) => Box::pin(mcp::mcp(flags, arguments.allow_tools, workbench)).await,
        Command::Lisp { command } => lisp::lisp(command, arguments),
        Command::Screenshot(flags) => screenshot::screenshot(flags, interface.screen).await,
    };
    exit_code(done)
}

/// Runs a command that needs neither configuration nor async runtime, and returns its exit code; `None` for others.
pub fn run_at_once(arguments: &Arguments) -> Option<u8> {
    match &arguments.command {
        Some(Command::Lisp { command }) => Some(exit_code(lisp::lisp(command, arguments))),
        _ => None,
    }
}
