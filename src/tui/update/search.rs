//! Searching as one types: one query at a time is under way, and the latest one counts.

use crate::tui::archive::{Ask, Hit, QueryProblem};
use crate::tui::message::Effect;
use crate::tui::model::{Model, Search};

fn wanted(model: &Model) -> String {
    model.sessions.filter.text().trim().to_owned()
}

/// The query was changed.
pub(super) fn changed(model: &mut Model) -> Vec<Effect> {
    let query = wanted(model);
    if query.is_empty() {
        let running = model.sessions.search.running.take();
        model.sessions.search = Search { running, ..Search::default() };
        model.sessions.arrange();
        super::sessions::reselect(model);
        return Vec::new();
    }
    if model.sessions.search.running.is_some() {
        // Its answer asks for what is wanted by then.
        return Vec::new();
    }
    ask(model, query)
}

/// Looks again for what stands there: the list has changed.
pub(super) fn again(model: &mut Model) -> Vec<Effect> {
    let query = wanted(model);
    if query.is_empty() || model.sessions.search.running.is_some() { Vec::new() } else { ask(model, query) }
}

fn ask(model: &mut Model, query: String) -> Vec<Effect> {
    model.sessions.search.running = Some(query.clone());
    vec![Effect::Ask(Ask::Search(query))]
}

/// A query was answered.
pub(super) fn found(model: &mut Model, query: &str, result: Result<Vec<Hit>, QueryProblem>) -> Vec<Effect> {
    model.sessions.search.running = None;
    let now = wanted(model);
    if now != query {
        return if now.is_empty() { Vec::new() } else { ask(model, now) };
    }
    match result {
        Ok(hits) => {
            let hits = hits.into_iter().map(|hit| (hit.key.clone(), hit)).collect();
            model.sessions.search.found = Some(hits);
            model.sessions.search.problem = None;
            model.sessions.arrange();
            super::sessions::reselect(model);
        }
        Err(problem) => model.sessions.search.problem = Some(problem),
    }
    Vec::new()
}
