//! What the compare screen asks for becomes calls of the backend, on blocking threads.

use super::backend::{Ask, BegunMatrix, Told};
use crate::event::ErrorRecord;
use crate::tui::drive::{Done, Driver};
use crate::tui::effects::work;
use crate::tui::message::{Msg, Slot};

/// Does it.
pub(in crate::tui) fn perform(driver: &mut Driver, ask: Ask) {
    let backend = driver.backend.clone();
    let told = |told| Done::Msg(Msg::Comparing(told));
    match ask {
        Ask::Sessions(names) => work(driver, move || {
            let compared = backend.compare(&names);
            told(Told::Compared(names, compared))
        }),
        Ask::Modes(texts, modes) => {
            let handle = tokio::runtime::Handle::current();
            work(driver, move || {
                let _inside = handle.enter();
                match backend.start_modes(&texts, &modes) {
                    Ok(runs) => {
                        let sessions = runs.iter().map(|run| run.session()).collect();
                        let runs = [Slot::Left, Slot::Right].into_iter().zip(runs).collect();
                        Done::Runs(runs, Msg::Comparing(Told::Started(Ok(sessions))))
                    }
                    Err(findings) => told(Told::Started(Err(findings))),
                }
            });
        }
        Ask::Find(name, turn) => {
            work(driver, move || told(Told::Found(backend.key_of(&name).map(|key| (key, turn)))));
        }
        Ask::Matrix(texts, wish) => matrix(driver, move || backend.begin_matrix(&texts, &wish)),
        Ask::GoOn(id, jobs) => matrix(driver, move || backend.go_on_matrix(&id, jobs)),
        Ask::Stop => driver.matrix.iter().for_each(|matrix| matrix.stop()),
        Ask::Matrices => work(driver, move || told(Told::Matrices(backend.matrices()))),
        Ask::OpenMatrix(id) => work(driver, move || {
            let state = backend.open_matrix(&id);
            told(Told::MatrixOpened(id, state))
        }),
        Ask::Settle(slot) => driver.runs[slot as usize].iter().for_each(|run| run.save_to(None)),
        Ask::PutDown(slot) => driver.runs[slot as usize].iter().for_each(|run| run.put_down()),
    }
}

/// Starts a matrix on a blocking thread.
fn matrix(driver: &mut Driver, begin: impl FnOnce() -> Result<BegunMatrix, ErrorRecord> + Send + 'static) {
    let handle = tokio::runtime::Handle::current();
    work(driver, move || {
        let _inside = handle.enter();
        match begin() {
            Ok(BegunMatrix { id, state, run }) => Done::Matrix(run, Msg::Comparing(Told::MatrixBegun(Ok((id, state))))),
            Err(error) => Done::Msg(Msg::Comparing(Told::MatrixBegun(Err(error)))),
        }
    });
}
