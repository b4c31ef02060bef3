//! The world of a play: a model, tools and people that answer after any time, and a stop at any event.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use ptc_core::value::Value;
use ptc_workbench::event::{Address, Envelope, Event, ModelRecord, PartKind, Price, ReplyEnd, ReplyStatus, RetryWait};
use ptc_workbench::model::{Call, ErrorClass, Finish, Model, ModelError, ModelEvent, Reply, Request};
use ptc_workbench::port::{Human, Question, Sink, SinkError, Stop};
use ptc_workbench::tool::{Failure, Invocation, LiveTools, Tools};
use tokio_util::sync::CancellationToken;

use super::cast::{Act, Play, replies};

/// Numbers that look like chance.
pub(super) struct Chance(AtomicU64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    pub(super) fn countdown(after: Option<u32>) -> AtomicI64 {
        AtomicI64::new(after.map_or(i64::MAX, i64::from))
    }

    fn next(&self, below: u64) -> u64 {
        let mut x = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x ^ (x >> 31)) % below.max(1)
    }

    async fn a_while(&self) {
        match self.next(4) {
            0 => {}
            1 => tokio::task::yield_now().await,
            ms => tokio::time::sleep(Duration::from_micros(ms * 400)).await,
        }
    }
}

/// A sink that stops the run after so many events.
pub(super) struct Watched {
    pub(super) sink: Box<dyn Sink>,
    pub(super) stop: Stop,
    pub(super) left: AtomicI64,
}

impl Sink for Watched {
    fn emit(&self, address: Address, event: Event) -> BoxFuture<'_, Result<Envelope, SinkError>> {
        Box::pin(async move {
            if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
                self.stop.by_user();
            }
            self.sink.emit(address, event).await
        })
    }
}

/// A model that plays its part.
pub(super) struct Player {
    acts: Vec<Act>,
    chance: Chance,
    stop: Stop,
    asked: Mutex<Vec<Request>>,
}

impl Player {
    pub(super) fn new(play: &Play, stop: Stop) -> Self {
        Self { acts: play.acts.clone(), chance: Chance::new(play.seed), stop, asked: Mutex::default() }
    }

    /// The requests that it got.
    pub(super) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Player {
    fn info(&self) -> ModelRecord {
        let price = Some(Price { input: 1.0, output: 2.0, ..Price::default() });
        ModelRecord { alias: "player".into(), price, ..ModelRecord::default() }
    }

    fn answer<'a>(&'a self, request: &'a Request, call: &'a Call) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let place = {
                let mut asked = self.asked.lock().unwrap();
                asked.push(request.clone());
                asked.len() - 1
            };
            self.chance.a_while().await;
            let act = &self.acts[place % self.acts.len()];
            let pool = replies(request);
            let reply = pool[act.reply as usize % pool.len()].clone();
            match act.fault {
                0 => return Err(ModelError { requests: 2, ..ModelError::new(ErrorClass::Server, "as planned") }),
                1 => {
                    call.text(1, "half a repl".to_owned()).await;
                    call.emit(ModelEvent::Discarded(Box::new(ReplyEnd::new(1, ReplyStatus::Discarded)))).await;
                    call.emit(ModelEvent::RetryWait(RetryWait { attempt: 1, ..RetryWait::default() })).await;
                    if !reply.text.is_empty() {
                        call.text(2, reply.text.clone()).await;
                    }
                    return Ok(Reply { attempt: 2, requests: 2, ..reply });
                }
                2 => {
                    call.text(1, reply.text.clone()).await;
                    self.stop.by_user();
                    call.cancel.cancelled().await;
                    return Err(ModelError::cancelled());
                }
                5 => return Err(ModelError::waiting()),
                _ => {}
            }
            let finish = match act.fault {
                3 => Finish::Length,
                4 => Finish::ContentFilter,
                _ => Finish::Stop,
            };
            for piece in reply.text.split_inclusive(' ') {
                call.emit(ModelEvent::Delta { attempt: 1, kind: PartKind::Text, text: piece.to_owned() }).await;
            }
            let usage = act.usage.map(|(input, output)| ptc_workbench::event::Tokens {
                input,
                output,
                ..ptc_workbench::event::Tokens::default()
            });
            Ok(Reply { usage, finish: Some(finish), ..reply })
        })
    }
}

/// The live tools, after any time.
pub(super) struct Later {
    chance: Chance,
    called: Mutex<Vec<Address>>,
}

impl Later {
    pub(super) fn new(play: &Play) -> Self {
        Self { chance: Chance::new(play.seed ^ 0x55), called: Mutex::default() }
    }

    /// The calls that it answered.
    pub(super) fn called(&self) -> Vec<Address> {
        self.called.lock().unwrap().clone()
    }
}

impl Tools for Later {
    fn call<'a>(&'a self, call: &'a Invocation<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            self.called.lock().unwrap().push(call.address.clone());
            tokio::select! {
                () = self.chance.a_while() => {}
                () = call.cancel.cancelled() => return Err(Failure::Cancelled),
            }
            LiveTools.call(call).await
        })
    }
}

/// A user who answers some questions; the others have no answer.
pub(super) struct Crowd {
    answers: Arc<AtomicI64>,
    chance: Chance,
}

impl Crowd {
    pub(super) fn new(play: &Play) -> Self {
        Self { answers: Arc::new(AtomicI64::new(play.answers)), chance: Chance::new(play.seed ^ 0xAA) }
    }

    pub(super) fn silent() -> Self {
        Self { answers: Arc::default(), chance: Chance::new(0) }
    }
}

impl Human for Crowd {
    fn ask<'a>(&'a self, _: &'a Question, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            tokio::select! {
                () = self.chance.a_while() => {}
                () = cancel.cancelled() => return None,
            }
            (self.answers.fetch_sub(1, Ordering::Relaxed) > 0).then(|| "red".to_owned())
        })
    }
}
