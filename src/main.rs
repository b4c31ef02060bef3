//! The binary; [`ptc_workbench::app`] is the program.

use std::process::ExitCode;

/// Counts allocations for the memory limit of programs.
#[global_allocator]
static ALLOCATOR: ptc_core::CountingAllocator = ptc_core::CountingAllocator;

fn main() -> ExitCode {
    ptc_workbench::app::main()
}
