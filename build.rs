//! Writes the table of example sessions: every `sessions/*.jsonl`, included in the binary. Reads nothing else.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=sessions");
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let mut files: Vec<_> = fs::read_dir(Path::new(&root).join("sessions"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        writeln!(table, "    ({name:?}, include_str!({:?})),", file.display().to_string()).map_err(io::Error::other)?;
    }
    table.push(']');
    // In a development build with debug code, 270,000 relocations are half of the start of a process, and the tests start thousands.
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux && env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("sessions.rs"), table)
}
