//! `merge FILES…`: the matrix of the results of several machines.
//!
//! In: files of rows that `--results` wrote. Out: the same report as `compare` prints. It starts nothing and reads no session.

use std::fs::File;
use std::io::BufReader;

use super::arguments::MergeFlags;
use super::matrix::print_merged;
use super::output::{UsageError, exit};
use crate::workbench::matrix::{ResultRow, merge_rows, read_result_lines};

/// Prints the matrix of the files.
pub(super) fn merge(flags: &MergeFlags, plain: bool) -> Result<u8, UsageError> {
    let read = |path: &std::path::PathBuf| {
        let file = path.display().to_string();
        let opened = File::open(path).map_err(|error| UsageError(format!("{file}: cannot be read: {error}")))?;
        Ok::<(String, Vec<ResultRow>), UsageError>((file.clone(), read_result_lines(&file, BufReader::new(opened))?))
    };
    let files = flags.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let state = merge_rows(files)?;
    if state.plan.cells.is_empty() {
        return Err(UsageError(
            "the files hold no row: write them with `test` or `compare` and --results FILE".to_owned(),
        ));
    }
    print_merged(&state, flags, plain)?;
    Ok(if state.untried().is_empty() { exit::OK } else { exit::FAILED })
}
