//! Arguments → configuration → workbench or command; error → exit code. Nothing else.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Parser;
use ptc_workbench::cli::{self, Arguments};
use ptc_workbench::config::{Config, Folders, process_env};
use ptc_workbench::workbench::Workbench;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match start(&arguments) {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            cli::tell_error(&message);
            ExitCode::from(cli::exit::USAGE)
        }
    }
}

fn start(arguments: &Arguments) -> Result<u8, String> {
    if let Some(file) = &arguments.log {
        log_to(file).map_err(|error| format!("{}: cannot be written: {error}", file.display()))?;
    }
    let folders = Folders::new(arguments.sessions.as_deref());
    let config =
        Config::load(arguments.config.as_deref(), &folders, &process_env).map_err(|error| error.to_string())?;
    let workbench = Workbench::new(config, folders);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime cannot be started: {error}"))?;
    let code = match &arguments.command {
        Some(command) => runtime.block_on(cli::run(command, arguments, &workbench)),
        None => return Err("the interface is being built".to_owned()),
    };
    // A thread that waits for the keyboard must not keep the program alive.
    runtime.shutdown_background();
    Ok(code)
}

fn log_to(file: &Path) -> std::io::Result<()> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    tracing_subscriber::fmt().with_writer(Mutex::new(file)).with_ansi(false).init();
    Ok(())
}
