//! The dialog of breakpoints: where runs stop because of what their programs do.

use crate::port::Breakpoint;
use crate::tui::form::{Field, Form};
use crate::tui::theme::Role;

/// The dialog, with the breakpoints that are set.
pub fn dialog(set: &[Breakpoint]) -> Form {
    let written: Vec<String> = set.iter().map(ToString::to_string).collect();
    let hint = "tool:NAME, def:NAME or error, with commas between them. Empty: runs do not stop.";
    let notes = [
        "tool:NAME  before the tool is called",
        "def:NAME   when a program has defined the name",
        "error      when a program has ended with an error, or failed",
        "A run that stands there goes on when you let it. Until then its turn can be taken apart, with the REPL on what the program left.",
    ];
    Form {
        title: "Breakpoints of programs".to_owned(),
        verb: "set",
        fields: vec![Field::line("stop at", hint, written.join(", "))],
        notes: notes.map(|note| (Role::Dim, note.to_owned())).into(),
        ..Form::default()
    }
}

/// The breakpoints that are written.
///
/// Errors: one cannot be read.
pub fn submit(form: &Form) -> Result<Vec<Breakpoint>, String> {
    Breakpoint::all(form.written("stop at"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stands_in_the_dialog_and_comes_out_of_it() {
        let set = Breakpoint::all("def:total, error").unwrap();
        assert_eq!(submit(&dialog(&set)), Ok(set));
        assert_eq!(submit(&dialog(&[])), Ok(Vec::new()));
    }
}
