//! What really happened: to packets, and to the real-time clock.

use std::net::SocketAddr;
use wirestamp::sim::{Datagram, Ends, Truth};
use wirestamp::{MonotonicTime, Simulation, Span, UtcTime};

/// The datagrams to a port and from it, each in the order in which they were sent.
pub(crate) fn between(truth: &Truth, port: u16) -> [Vec<Datagram>; 2] {
    let all = (0..truth.datagrams()).map(|number| truth.datagram(number).expect("remembered"));
    let mut found = [Vec::new(), Vec::new()];
    for datagram in all {
        let Ends::Internet {
            source,
            destination,
        } = datagram.ends
        else {
            continue;
        };
        match [destination, source].map(|end: SocketAddr| end.port() == port) {
            [true, _] => found[0].push(datagram),
            [_, true] => found[1].push(datagram),
            _ => {}
        }
    }
    found
}

/// The real-time clock, which somebody steps once at most.
pub(crate) struct Utc {
    start: (MonotonicTime, UtcTime),
    step: Option<(MonotonicTime, Span)>,
}

impl Utc {
    /// That of a world that begins now; `step`: how long after that it is stepped, and by how much, in nanoseconds.
    pub(crate) fn of(simulation: &Simulation, step: Option<(i64, i64)>) -> Self {
        let truth = simulation.world().truth();
        let start = (truth.now(), truth.utc());
        let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
        Self {
            start,
            step: step.map(|(at, by)| (start.0 + span(at), span(by))),
        }
    }

    /// What it showed then.
    pub(crate) fn at(&self, then: MonotonicTime) -> UtcTime {
        let stepped = self.step.filter(|(at, _)| then >= *at);
        let passed = then - self.start.0;
        self.start.1 + passed + stepped.map_or(Span::ZERO, |(_, by)| by)
    }
}

/// The clock that nobody adjusts, in nanoseconds since a world began in which the system clock is slewed once at most.
pub(crate) struct Free {
    start: MonotonicTime,
    slew: Option<(MonotonicTime, i64)>,
}

impl Free {
    /// That of a world that begins now; `slew`: how long after that it begins, and by how many parts per billion.
    pub(crate) fn of(simulation: &Simulation, slew: Option<(i64, i64)>) -> Self {
        let start = simulation.world().truth().now();
        let after = |at: i64| start + Span::from_nanoseconds(at.into());
        Self {
            start,
            slew: slew.map(|(at, ppb)| (after(at), ppb)),
        }
    }

    /// What it shows when the monotonic clock shows this.
    pub(crate) fn at(&self, then: MonotonicTime) -> i128 {
        let slewed = self.slew.filter(|(begun, _)| then > *begun);
        let added = slewed.map_or(0, |(begun, ppb)| {
            (then - begun).nanoseconds() * i128::from(ppb) / (1_000_000_000 + i128::from(ppb))
        });
        (then - self.start).nanoseconds() - added
    }
}
