//! Runs a session between two simulated hosts, and records the true times of each packet.

use super::attack::Attacker;
use super::chance::Chance;
use super::clock::{BOUND, Clock};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::MissingReason;
use wirestamp_core::timestamp::TransmitId;
use wirestamp_probe::reflector::{Arrival, Decision, Reflector, ReflectorConfiguration};
use wirestamp_probe::session::{
    Clocks, ReplyArrival, Sample, Session, SessionConfiguration, SessionReport,
};
use wirestamp_probe::tlv::Method;
use wirestamp_probe::{Key, Missing, TimestampFormat};

/// The interval of the requests.
const PACE: i64 = 1_000_000;

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) packets: u32,
    pub(crate) seed: u64,
    pub(crate) clocks: Clocks,
    pub(crate) key: Option<Key>,
    pub(crate) stateful: bool,
    pub(crate) formats: (TimestampFormat, TimestampFormat),
    /// The permanent error of the reflector's clock.
    pub(crate) away: i64,
    pub(crate) attacked: bool,
    /// The minimum delay in the session's configuration.
    pub(crate) least_delay: Span,
    /// The clock error that is set before this packet is sent.
    pub(crate) later: Option<(u32, Option<Span>)>,
}

/// The true times of an answered packet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Truth {
    pub(crate) times: [i64; 4],
}

/// The network's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fates {
    pub(crate) lost_forward: u64,
    pub(crate) lost_backward: u64,
    pub(crate) duplicated_forward: u64,
    pub(crate) duplicated_backward: u64,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) report: SessionReport,
    pub(crate) samples: Vec<Sample>,
    pub(crate) truth: HashMap<u32, Truth>,
    pub(crate) fates: Fates,
    pub(crate) local: Clock,
    pub(crate) remote: Clock,
    pub(crate) injected: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Send,
    Sent { sequence: u32, at: i64 },
    AtReflector { octets: Vec<u8>, left: i64, at: i64 },
    ReplySent { id: u32, at: i64 },
    Back { octets: Vec<u8>, times: [i64; 4] },
    Forged { octets: Vec<u8> },
}

struct World {
    plan: Plan,
    chance: Chance,
    local: Clock,
    remote: Clock,
    events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    scheduled: u64,
    session: Session,
    reflector: Reflector,
    sent: u32,
    fates: Fates,
    truth: HashMap<u32, Truth>,
    samples: Vec<Sample>,
    attacker: Attacker,
}

pub(crate) fn run(plan: &Plan) -> Outcome {
    let length = i64::from(plan.packets) * PACE;
    let local = Clock::new(plan.seed, 0, length);
    let remote = match plan.clocks {
        Clocks::Same => local.clone(),
        _ => Clock::new(plan.seed ^ 0xabcd, plan.away, length),
    };
    let session = Session::new(SessionConfiguration {
        key: plan.key.clone(),
        ssid: 77,
        format: plan.formats.0,
        traffic_class: 0b1011_1000,
        clocks: plan.clocks,
        least_delay: plan.least_delay,
        ..SessionConfiguration::default()
    });
    let mut reflector = Reflector::new(ReflectorConfiguration {
        key: plan.key.clone(),
        stateful: plan.stateful,
        format: plan.formats.1,
        ..ReflectorConfiguration::default()
    });
    if matches!(plan.clocks, Clocks::Synchronized(_)) {
        reflector.set_clock_bound(Some(BOUND));
    }
    let mut world = World {
        chance: Chance::new(plan.seed),
        local,
        remote,
        events: BinaryHeap::new(),
        scheduled: 0,
        session,
        reflector,
        sent: 0,
        fates: Fates::default(),
        truth: HashMap::new(),
        samples: Vec::new(),
        attacker: Attacker::new(plan),
        plan: plan.clone(),
    };
    world.at(0, Event::Send);
    world.play();
    let samples = &mut world.samples;
    let report = world.session.finish(|sample| samples.push(*sample));
    Outcome {
        report,
        samples: world.samples,
        truth: world.truth,
        fates: world.fates,
        local: world.local,
        remote: world.remote,
        injected: world.attacker.injected,
    }
}

impl World {
    fn at(&mut self, time: i64, event: Event) {
        self.scheduled += 1;
        self.events.push(Reverse((time, self.scheduled, event)));
    }

    fn play(&mut self) {
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            match event {
                Event::Send => self.send(now),
                Event::Sent { sequence, at } => {
                    let missing = self.chance.happens(10);
                    let sent = self.local.timestamp(at, &mut self.chance);
                    self.session.transmitted(
                        sequence,
                        if missing {
                            Err(Missing::System(MissingReason::Deadline))
                        } else {
                            Ok(sent)
                        },
                    );
                }
                Event::AtReflector { octets, left, at } => self.reflect(now, &octets, left, at),
                Event::ReplySent { id, at } => {
                    if !self.chance.happens(10) {
                        let sent = self.remote.timestamp(at, &mut self.chance);
                        self.reflector
                            .sent(TransmitId(id), sent.at, Method::Software);
                    }
                }
                Event::Back { octets, times } => self.back(now, &octets, times),
                Event::Forged { octets } => {
                    // without the world's random numbers: an attack changes nothing else
                    let arrival = ReplyArrival {
                        payload: &octets,
                        received: Some(self.local.timestamp(now, &mut Chance::new(1))),
                        read: self.local.monotonic(now),
                        hop_limit: Some(255),
                        traffic_class: Some(0),
                    };
                    assert!(
                        self.session.received(&arrival).is_err(),
                        "accepted a forged packet"
                    );
                }
            }
            let local = self.local.monotonic(now);
            let samples = &mut self.samples;
            self.session.expire(local, |sample| samples.push(*sample));
        }
    }

    fn send(&mut self, now: i64) {
        if let Some((before, bound)) = self.plan.later
            && before == self.sent
        {
            self.session.set_clock_bound(bound);
        }
        if self.sent == self.plan.packets {
            self.session.close();
        }
        let mut octets = Vec::new();
        let bound = Span::from_microseconds(100);
        let (monotonic, utc) = (self.local.monotonic(now), self.local.utc(now));
        let sequence = self.session.request(monotonic, utc, bound, &mut octets);
        self.sent += 1;
        let left = now + 2_000 + self.chance.below(60_000);
        self.at(
            left + 1_000 + self.chance.clone().below(40_000),
            Event::Sent { sequence, at: left },
        );
        let is_closing = sequence >= self.plan.packets;
        if self.chance.happens(20) && !is_closing {
            self.fates.lost_forward += 1;
        } else {
            let mut copies = 1;
            if self.chance.happens(5) && !is_closing {
                copies = 2;
                self.fates.duplicated_forward += 1;
            }
            for _ in 0..copies {
                let at = left + self.way(3_000_000);
                let read = at + 3_000 + self.chance.below(50_000);
                self.at(
                    read,
                    Event::AtReflector {
                        octets: octets.clone(),
                        left,
                        at,
                    },
                );
            }
        }
        for (time, octets) in self.attacker.on_request(now, &octets) {
            self.at(time, Event::Forged { octets });
        }
        if self.sent < self.plan.packets + 3 {
            let pause = if self.sent >= self.plan.packets {
                50 * PACE
            } else {
                PACE
            };
            self.at(now + pause, Event::Send);
        }
    }

    /// The delay of a packet in the network: some are overtaken.
    fn way(&mut self, least: i64) -> i64 {
        let late = if self.chance.happens(30) {
            self.chance.below(4_000_000)
        } else {
            0
        };
        least + self.chance.below(300_000) + late
    }

    fn reflect(&mut self, now: i64, octets: &[u8], left: i64, at: i64) {
        let arrival = Arrival {
            payload: octets,
            source: SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1), 40_000)),
            destination: None,
            port: 862,
            now: self.remote.monotonic(now),
            received: Some(self.remote.timestamp(at, &mut self.chance)),
            hop_limit: Some(250),
            traffic_class: Some(0b1011_1000),
        };
        let mut reply = Vec::new();
        let Decision::Reply(prepared) = self.reflector.prepare(&arrival, &mut reply) else {
            assert!(
                self.plan.key.is_some(),
                "only a replay window drops duplicates"
            );
            self.fates.duplicated_forward -= 1;
            return;
        };
        let written = self.remote.monotonic(now);
        prepared.complete(written, self.plan.key.as_ref(), &mut reply);
        self.reflector
            .batch_sent([prepared.id].into_iter(), written);
        let sent = now + 1_000 + self.chance.below(80_000);
        let told = sent + 500 + self.chance.below(100_000);
        self.at(
            told,
            Event::ReplySent {
                id: prepared.id.0,
                at: sent,
            },
        );
        let sequence = u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]);
        if self.chance.happens(10) && sequence < self.plan.packets {
            self.fates.lost_backward += 1;
            return;
        }
        let copies = if self.chance.happens(5) { 2 } else { 1 };
        self.fates.duplicated_backward += copies - 1;
        for _ in 0..copies {
            let back = sent + self.way(7_000_000);
            let read = back + 2_000 + self.chance.below(40_000);
            self.at(
                read,
                Event::Back {
                    octets: reply.clone(),
                    times: [left, at, sent, back],
                },
            );
        }
        for (time, octets) in self.attacker.on_reply(now, &reply) {
            self.at(time, Event::Forged { octets });
        }
    }

    fn back(&mut self, now: i64, octets: &[u8], times: [i64; 4]) {
        let missing = self.chance.happens(10);
        let received = self.local.timestamp(times[3], &mut self.chance);
        let arrival = ReplyArrival {
            payload: octets,
            received: (!missing).then_some(received),
            read: self.local.monotonic(now),
            hop_limit: Some(251),
            traffic_class: Some(0),
        };
        if let Ok(sequence) = self.session.received(&arrival) {
            self.truth.insert(sequence, Truth { times });
        }
    }
}
