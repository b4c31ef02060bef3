//! The program: arguments → configuration → workbench or command; error → exit code. Nothing else.
//!
//! It is part of the library so that the code of the commands is generated once, and not in each binary that runs them.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use crate::agent::BUNDLED;
use crate::cli::{self, Arguments, Command, InterfaceServices};
use crate::config::{Config, Folders, process_env};
use crate::export::Content;
use crate::proxy::{Audience, LiveTraffic, ProxySpec};
use crate::session::LAST;
use crate::tool::{ALLOW_FILES_FLAG, ConsentPolicy, FileAccess, Grants, NamedFile};
use crate::tui::archive::AgentSource;
use crate::tui::scenes::scene;
use crate::tui::services::Services;
use crate::tui::{self, Colours, FollowedProxy, Setup, Signals};
use crate::workbench::{AgentFiles, NewAgent, SessionKey, Workbench};
use futures::FutureExt as _;

/// Runs the program and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    cli::hook_panics();
    match start(Arguments::from_process()) {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            cli::print_error(&message);
            ExitCode::from(cli::exit::USAGE)
        }
    }
}

fn start(mut arguments: Arguments) -> Result<u8, String> {
    if let (Some(open), Some(_)) = (&arguments.open, &arguments.command) {
        return Err(format!(
            "`{open}` is before a command: write the command first (`ptc-workbench --help` lists them)"
        ));
    }
    if let Some(file) = &arguments.log {
        cli::log_to(file).map_err(|error| format!("{}: cannot be written: {error}", file.display()))?;
    }
    if let Some(code) = cli::run_at_once(&arguments) {
        return Ok(code);
    }
    let folders = Folders::new(arguments.sessions.as_deref()).with_spare(arguments.spare_sessions.as_deref());
    let config =
        Config::load(arguments.config.as_deref(), &folders, &process_env).map_err(|error| error.to_string())?;
    arguments.plain |= config.interface.plain.unwrap_or_else(|| cli::is_spoken(&process_env));
    cli::keep_secret(&config.providers);
    let workbench = Workbench::new(config, folders).with_policy(policy(&arguments));
    let access = file_access(&arguments, workbench.grants())?;
    let workbench = workbench.with_file_access(access);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime cannot be started: {error}"))?;
    runtime.block_on(async { cli::catch_file_size_signal() });
    let telemetry = workbench.clone();
    let is_on_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let follows = is_on_terminal && !arguments.plain;
    if let Some(Command::New(flags)) = &arguments.command
        && is_on_terminal
        && !arguments.plain
    {
        let path = cli::create_agent(flags, &workbench).map_err(|error| error.0)?;
        arguments.open = Some(path.display().to_string());
        arguments.command = None;
    }
    let mut search = None;
    if let Some(Command::Optimize(flags)) = &arguments.command
        && follows
        && let Some(shown) = cli::shown_search(flags, &workbench).map_err(|error| error.0)?
    {
        search = Some(shown.dir);
        arguments.open = shown.agent;
        arguments.command = None;
    }
    let code = match &arguments.command {
        Some(Command::Proxy(flags)) if follows && flags.command.is_empty() => {
            let spec = cli::proxy_spec(flags);
            let live = LiveTraffic::new();
            let audience = Audience::Screen(live.clone());
            // Before anything listens: a signal ends the proxy in order from its first request on.
            let signals = runtime.block_on(async { Signals::listen() }).map_err(|error| error.to_string())?;
            let proxy = runtime.block_on(async { spec.start(&workbench, audience) })?;
            open(&arguments, workbench, &runtime, Some((spec, FollowedProxy { proxy, live }, signals)), None)?
        }
        Some(command) => {
            let screen = |name: String, size| {
                // The same picture whatever is configured here.
                let config = Config::built_in().map_err(|error| error.to_string());
                let drawn = async move { Ok(tui::screenshot(&mut scene(&config?, &name, size).await?, size)) };
                drawn.boxed()
            };
            let session = |content: &Content, size| tui::session_screenshot(&content.session, &content.events, size);
            let check = || Setup::new(&workbench.config, &workbench.folders.config_dir, Colours::Off).map(drop);
            let interface = InterfaceServices { check: &check, screen: &screen, session: &session };
            runtime.block_on(cli::run(command, &arguments, &workbench, interface))
        }
        None if arguments.plain => print_linear(&arguments, &workbench)?,
        None => open(&arguments, workbench, &runtime, None, search)?,
    };
    if let Some(lost) = runtime.block_on(telemetry.end_telemetry()) {
        cli::print_warning(&lost);
    }
    // A thread that waits for the keyboard must not keep the program alive.
    runtime.shutdown_background();
    Ok(code)
}

/// Returns the consent policy for tools that start a process or leave the machine: by the flag, else by the user, if there is one.
fn policy(arguments: &Arguments) -> ConsentPolicy {
    let is_attended = arguments.command.is_none() || std::io::stdin().is_terminal();
    match (arguments.allow_tools, is_attended) {
        (true, _) => ConsentPolicy::Allow,
        (false, true) => ConsentPolicy::Ask,
        (false, false) => ConsentPolicy::Refuse,
    }
}

/// Returns the files that definitions may name: those in their own folder, those that the flag allows, and those that the user
/// allowed or allows now. The workbench asks on its screen.
fn file_access(arguments: &Arguments, grants: Grants) -> Result<FileAccess, String> {
    let access = FileAccess::default().with_grants(grants);
    for folder in &arguments.allow_files {
        access.allow(folder).map_err(|error| format!("{ALLOW_FILES_FLAG} {}: {error}", folder.display()))?;
    }
    let is_attended = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let asks = arguments.command.is_some() || arguments.plain;
    Ok(if asks && is_attended { access.with_question(Arc::new(cli::ask_about_file)) } else { access })
}

/// Prints line by line what the workbench would open.
fn print_linear(arguments: &Arguments, workbench: &Workbench) -> Result<u8, String> {
    let opened = match arguments.open.as_deref() {
        Some(name) if session_named(name, workbench)?.is_some() => cli::print_session(name, workbench),
        opened => cli::print_opened(opened, workbench),
    };
    opened.map_err(|error| error.0)
}

/// Opens the workbench with an agent file, an example or a session, or with the traffic of a proxy, or with the candidates of a search.
fn open(
    arguments: &Arguments,
    workbench: Workbench,
    runtime: &tokio::runtime::Runtime,
    proxy: Option<(ProxySpec, FollowedProxy, Signals)>,
    search: Option<PathBuf>,
) -> Result<u8, String> {
    let colours = if arguments.no_color { Colours::Off } else { Colours::On };
    let mut setup = Setup::new(&workbench.config, &workbench.folders.config_dir, colours)?;
    setup.search = search;
    let example = BUNDLED[0].name;
    let mut agent = cli::agent_source(example, workbench.file_access()).map_err(|error| error.0)?;
    let mut file = None;
    let mut pipeline = None;
    let mut draft = None;
    let files = AgentFiles::new(workbench.file_access().clone());
    if let Some(name) = arguments.open.as_deref().filter(|name| files.is_new(name)) {
        let new = workbench.new_draft(&files, &NewAgent::at(name));
        draft = Some(new.map_err(|error| error.with_hint())?);
    }
    if let Some(name) = arguments.open.as_deref().filter(|_| draft.is_none()) {
        setup.session = session_named(name, &workbench)?;
        let access = workbench.file_access();
        if setup.session.is_none() {
            match cli::pipeline_source(name, access) {
                Ok(found) => pipeline = found,
                Err(error) => setup.file = Some(file_question(name, access).ok_or(error.0)?),
            }
        }
        if setup.session.is_none() && pipeline.is_none() && setup.file.is_none() {
            match cli::agent_source(name, access) {
                Ok(found) => (agent, file) = (found, Some(Path::new(name)).filter(|path| path.exists())),
                Err(error) => {
                    let message = format!("{}{}", error.0, cli::meant_command(name));
                    setup.file = file_question(name, access);
                    if setup.file.is_none() {
                        draft = Some(files.open_unreadable(name).ok_or(message)?);
                    }
                }
            }
        }
    }
    let services = match (pipeline, draft) {
        (Some(pipeline), _) => Services::of_pipeline(workbench, pipeline),
        (None, Some(draft)) => Services::of_draft(workbench, draft),
        (None, None) => Services::new(workbench, &agent, file),
    };
    let services = services.with_terminal_lines(cli::pieces);
    let left = runtime.block_on(tui::run(Arc::new(services), setup, proxy)).map_err(|error| error.to_string())?;
    left.notes.iter().for_each(|note| cli::print_warning(note));
    if let Some(session) = &left.waiting {
        cli::print_waiting(session);
    }
    Ok(left.code)
}

/// The file that needs consent before this agent or pipeline can be opened; `None` when it cannot be opened for another
/// reason.
fn file_question(name: &str, access: &FileAccess) -> Option<(AgentSource, NamedFile)> {
    let named = access.take_named().into_iter().find(|named| !access.is_allowed(named))?;
    Some((AgentSource::Named(name.to_owned()), named))
}

/// The session that a name means; `None` when it means an agent.
///
/// Errors: it can only mean a session, and there is none that can be read.
fn session_named(name: &str, workbench: &Workbench) -> Result<Option<SessionKey>, String> {
    let ending = Path::new(name).extension();
    if ending.is_some_and(|ending| ending == "toml") {
        return Ok(None);
    }
    let begins_an_id = name.starts_with(|c: char| c.is_ascii_digit()) && !Path::new(name).exists();
    let only_session = name == LAST || begins_an_id || ending.is_some_and(|ending| ending == "jsonl");
    let found = workbench.find_session(name).and_then(|key| workbench.open_found(&key).map(|_| key));
    match found {
        Ok(key) => Ok(Some(key)),
        Err(error) if only_session => Err(error.to_string()),
        Err(_) => Ok(None),
    }
}
