//! Key presses of everyday tasks, counted in the real program.

use super::terminal::{Start, Terminal};
use super::typing::bytes;
use crate::presses::{AGENT, LONG_RUN, Stroke, TASKS, Task};
use crate::tour::{Do, action};

fn send(terminal: &mut Terminal, strokes: &[Stroke]) {
    for (what, sees) in strokes {
        match what {
            Do::Press(id) => terminal.send(&bytes(action(id).chords[0])),
            Do::Times(times, id) => terminal.send(&bytes(action(id).chords[0]).repeat(*times)),
            Do::Type(text) => terminal.send(text),
        }
        terminal.wait_for(sees);
    }
}

/// Does a task on a terminal of this size.
fn done(task: &Task, columns: u16, rows: u16) {
    let home = tempfile::tempdir().unwrap();
    let agent = AGENT.replace("MODEL", task.model);
    std::fs::write(home.path().join("mood.toml"), agent).unwrap();
    let sessions = home.path().join(".local/share/ptc-workbench/sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    std::fs::write(sessions.join(LONG_RUN.0), LONG_RUN.1).unwrap();
    let start = Start::workbench(home.path()).args(&["mood.toml"]).size(columns, rows);
    let is_first = task.before.is_empty() && task.does.len() == 1;
    let mut terminal = if is_first { start.first_time(home.path()) } else { start }.spawn();
    terminal.wait_for(if is_first { "Tour 1 of 6" } else { "✓ 2 fields" });
    send(&mut terminal, task.before);
    send(&mut terminal, task.does);
    task.sees.iter().for_each(|text| terminal.wait_for(text));
}

#[test]
fn everyday_tasks_take_no_more_presses_than_they_should() {
    for task in TASKS {
        assert!(task.presses() <= task.goal, "{}: {} presses", task.name, task.presses());
    }
}

#[test]
fn everyday_tasks_are_done_by_these_presses_on_a_small_terminal() {
    for task in TASKS {
        done(task, 80, 24);
    }
}

#[test]
fn everyday_tasks_are_done_by_these_presses_on_a_wide_terminal() {
    for task in TASKS {
        done(task, 140, 40);
    }
}
