//! Executes requests of the traffic screen: starts and ends the proxy, reads sessions that are followed, passes decisions on.

use std::sync::Arc;

use ptc_core::reasons::Reason;

use super::{EffectResult, work};
use crate::event::{Envelope, ErrorRecord};
use crate::port::Gate;
use crate::proxy::{Audience, HeldSide, LiveTraffic, ProxySpec, RunningProxy};
use crate::session::Session;
use crate::tui::drive::Driver;
use crate::tui::message::Msg;
use crate::tui::services::{Services, wait};
use crate::tui::traffic::{ProxyFacts, TrafficRequest, TrafficResponse};
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
    /// What the screen shows of it.
    pub fn facts(&self) -> ProxyFacts {
        ProxyFacts {
            address: self.proxy.address(),
            upstreams: self.proxy.upstreams().to_vec(),
            variables: self.proxy.variables().to_vec(),
        }
    }

    /// Ends it; returns how many requests were not recorded.
    pub async fn end(mut self) -> usize {
        self.proxy.drain().await;
        self.proxy.close().await.len()
    }
}

pub(super) fn execute(driver: &mut Driver, request: TrafficRequest) {
    match request {
        TrafficRequest::Start(spec) => work(driver, move |services| match start(services, &spec) {
            Ok(proxy) => {
                let facts = proxy.facts();
                EffectResult::Proxy(Box::new(proxy), Msg::Traffic(TrafficResponse::Started(Ok(facts))))
            }
            Err(error) => EffectResult::Msg(Msg::Traffic(TrafficResponse::Started(Err(error)))),
        }),
        TrafficRequest::End => {
            let Some(proxy) = driver.proxy.take() else { return };
            work(driver, move |_| EffectResult::Msg(Msg::Traffic(TrafficResponse::Ended(wait(proxy.end())))));
        }
        TrafficRequest::Follow(session) => {
            if let Some(proxy) = &driver.proxy {
                // From now on its events come; those before are in its file.
                proxy.live.show([session.clone()]);
            }
            work(driver, move |services| {
                let read = read(services, &session);
                EffectResult::Msg(Msg::Traffic(TrafficResponse::Read(session, read)))
            });
        }
        TrafficRequest::Decide(id, verdict) => {
            if let Some(proxy) = &driver.proxy {
                // An exchange whose client has left is not in the list any more.
                _ = proxy.live.holds().decide(id, verdict);
            }
        }
    }
}

/// Closes or opens the gates of a proxy.
pub(in crate::tui) fn set_gates(proxy: &FollowedProxy, gates: &[Gate]) {
    for (gate, side) in [(Gate::Send, HeldSide::Request), (Gate::Apply, HeldSide::Reply)] {
        proxy.live.holds().set(side, gates.contains(&gate));
    }
}

fn start(services: &Services, spec: &ProxySpec) -> Result<FollowedProxy, String> {
    let live = LiveTraffic::new();
    let proxy = wait(spec.start(&services.workbench, Audience::Screen(live.clone())))?;
    Ok(FollowedProxy { proxy, live })
}

fn read(services: &Services, session: &str) -> Result<(SessionKey, Arc<[Envelope]>), ErrorRecord> {
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
