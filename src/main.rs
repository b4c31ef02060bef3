//! The binary; [`ptc_workbench::app`] is the program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ptc_workbench::app::main()
}
