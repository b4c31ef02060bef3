//! Executes requests of the traffic screen: starts and ends the proxy, reads sessions that are followed, passes decisions on.

use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::EffectResult;
use crate::event::{Envelope, ErrorRecord};
use crate::port::Gate;
use crate::proxy::{Audience, HeldSide, LiveTraffic, ProxySpec, RunningProxy, TrafficUpdate};
use crate::session::Session;
use crate::tui::message::Msg;
use crate::tui::services::{Services, wait};
use crate::tui::traffic::{ProxyFacts, TrafficResponse};
use crate::workbench::SessionKey;

/// Larger sessions are not held in memory to be followed.
const FOLLOWED_BYTES: u64 = 64 << 20;

/// A proxy with the link that a screen follows it by.
pub struct FollowedProxy {
    /// The proxy.
    pub proxy: RunningProxy,
    /// Its link.
    pub live: LiveTraffic,
}

impl FollowedProxy {
    /// Returns the facts that the screen shows.
    pub fn facts(&self) -> ProxyFacts {
        ProxyFacts {
            address: self.proxy.address(),
            upstreams: self.proxy.upstreams().to_vec(),
            variables: self.proxy.variables().to_vec(),
        }
    }

    /// Ends it; returns what happened to the traffic until the end, and how many requests were not recorded.
    pub async fn end(mut self) -> (Vec<TrafficUpdate>, usize) {
        self.proxy.drain().await;
        let misses = self.proxy.close().await.len();
        (self.live.drain(), misses)
    }
}

/// Starts a proxy.
pub(super) fn start(services: &Services, spec: &ProxySpec) -> EffectResult {
    match started(services, spec) {
        Ok(proxy) => {
            let facts = proxy.facts();
            EffectResult::Proxy(Box::new(proxy), Msg::Traffic(TrafficResponse::Started(Ok(facts))))
        }
        Err(error) => EffectResult::Msg(Msg::Traffic(TrafficResponse::Started(Err(error)))),
    }
}

/// Ends a proxy. Blocks until its sessions are written.
pub(super) fn end(proxy: FollowedProxy) -> EffectResult {
    let (updates, misses) = wait(proxy.end());
    EffectResult::Msg(Msg::Traffic(TrafficResponse::Ended(updates, misses)))
}

/// Reads the events that a session has so far.
pub(super) fn read(services: &Services, session: String) -> EffectResult {
    let read = events_of(services, &session);
    EffectResult::Msg(Msg::Traffic(TrafficResponse::Read(session, read)))
}

/// Closes or opens the gates of a proxy.
pub(in crate::tui) fn set_gates(proxy: &FollowedProxy, gates: &[Gate]) {
    for (gate, side) in [(Gate::Send, HeldSide::Request), (Gate::Apply, HeldSide::Reply)] {
        proxy.live.holds().set(side, gates.contains(&gate));
    }
}

fn started(services: &Services, spec: &ProxySpec) -> Result<FollowedProxy, String> {
    let live = LiveTraffic::new();
    let proxy = spec.start(&services.workbench, Audience::Screen(live.clone()))?;
    Ok(FollowedProxy { proxy, live })
}

fn events_of(services: &Services, session: &str) -> Result<(SessionKey, Arc<[Envelope]>), ErrorRecord> {
    let key = services.workbench.find_session(session)?;
    let session = services.workbench.open_found(&key)?;
    Ok((key, events(&session)?))
}

fn events(session: &Session) -> Result<Arc<[Envelope]>, ErrorRecord> {
    let bytes = std::fs::metadata(&session.path).map_or(0, |about| about.len());
    if bytes > FOLLOWED_BYTES {
        let message = format!("the session has {} MB: open it among the saved sessions", bytes >> 20);
        return Err(ErrorRecord::new(Reason::SessionUnreadable, message));
    }
    Ok(session.events().collect())
}
