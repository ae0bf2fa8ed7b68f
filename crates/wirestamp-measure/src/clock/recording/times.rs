//! The times of what a recording takes, once they are final.

use crate::clock::offset::{OTHER_UNIT, Offset, counts_nanoseconds, parts_per_trillion};
use crate::nic::{Pace, correlated};
use crate::recorded::{FinalTime, Recorded};
use crate::sample::Subject;
use crate::sink::{Known, Sink};
use std::collections::VecDeque;
use std::sync::Arc;
use wirestamp::{
    Bounded, ConversionError, CrossTimestamp, HardwareTimestamp, HostClock, Interface, Result,
    TimestampPolicy, Timestamps, UtcTime,
};

/// So much waits at most: the oldest of more has no time.
const MOST: usize = 1 << 16;

/// A timestamp whose time may still turn out to be wrong.
struct Waiting {
    timestamp: HardwareTimestamp,
    /// The number of the timestamp; `None`: it is a reading of the clock.
    number: Option<u64>,
}

/// The clock that places them, and what waits for it.
pub(super) struct Times {
    interface: Interface,
    clock: HostClock,
    counts_nanoseconds: bool,
    /// The oldest first.
    waiting: VecDeque<Waiting>,
    timestamps: u64,
}

impl Times {
    pub(super) fn start(interface: &Interface) -> Result<Self> {
        let correlator = correlated(interface, Pace::FinalSoon)?;
        Ok(Self {
            interface: interface.clone(),
            clock: HostClock::hardware(Arc::new(correlator)),
            counts_nanoseconds: counts_nanoseconds(interface)?,
            waiting: VecDeque::new(),
            timestamps: 0,
        })
    }

    /// Takes the last reading of a batch.
    pub(super) fn reading(&mut self, last: &CrossTimestamp) {
        let timestamp = HardwareTimestamp {
            ticks: last.hardware(),
            interface: Some(self.interface.index()),
            read_at: last.monotonic_after(),
        };
        self.waiting.push_back(Waiting {
            timestamp,
            number: None,
        });
    }

    /// Takes a timestamp.
    pub(super) fn timestamp(&mut self, timestamp: HardwareTimestamp) {
        let number = Some(self.timestamps);
        self.timestamps += 1;
        self.waiting.push_back(Waiting { timestamp, number });
    }

    /// Yields what is final now.
    pub(super) fn settle(&mut self, now: UtcTime, sink: &mut dyn Sink) {
        while let Some(first) = self.waiting.front() {
            let is_final = self.clock.is_confirmed(&only(first.timestamp));
            if !is_final && self.waiting.len() <= MOST {
                break;
            }
            self.yield_first(now, sink);
        }
    }

    /// Takes the readings that make the rest final, and yields it. A clock that cannot be read any more confirms nothing: then there is no time.
    pub(super) fn finish(&mut self, now: UtcTime, sink: &mut dyn Sink) {
        let mut answers = true;
        while let Some(first) = self.waiting.front() {
            answers = answers && self.clock.confirm(&only(first.timestamp)).is_ok();
            self.yield_first(now, sink);
        }
    }

    fn yield_first(&mut self, now: UtcTime, sink: &mut dyn Sink) {
        let Some(Waiting { timestamp, number }) = self.waiting.pop_front() else {
            return;
        };
        let (utc, generation) = self.utc(timestamp);
        let name = self.interface.name();
        match number {
            Some(number) => {
                let time = FinalTime {
                    number,
                    timestamp,
                    utc,
                    generation,
                };
                sink.recorded(Subject::clock(name), &Recorded::Time(time));
            }
            None => sink.estimate(name, &self.known(timestamp, utc, generation, now)),
        }
    }

    /// UTC, if that is final, and the clock's generation.
    fn utc(
        &self,
        timestamp: HardwareTimestamp,
    ) -> (Result<Bounded<UtcTime>, ConversionError>, Option<u32>) {
        let placed = self
            .clock
            .place(&only(timestamp), TimestampPolicy::OnlyHardware)
            .and_then(|time| time.is_final.then_some(time).ok_or(ConversionError::Stale));
        let generation = placed.map(|time| time.monotonic.generation.0).ok();
        let both = || self.interface.utc_cross_timestamp();
        let utc = placed.and_then(|time| self.clock.utc(&time, both));
        (utc.map(|utc| utc.at), generation)
    }

    fn known(
        &self,
        timestamp: HardwareTimestamp,
        utc: Result<Bounded<UtcTime>, ConversionError>,
        generation: Option<u32>,
        now: UtcTime,
    ) -> Known {
        let at = utc.map_or(now, |utc| utc.value);
        let offset = match utc {
            Err(reason) => Err(reason.name()),
            Ok(_) if !self.counts_nanoseconds => Err(OTHER_UNIT),
            Ok(utc) => {
                let ticks = i128::from(timestamp.ticks.raw());
                let utc_ns = i128::from(utc.value.nanoseconds());
                Offset::of(at, ticks - utc_ns, utc.bound.nanoseconds())
            }
        };
        Known {
            from: at,
            until: at,
            generation,
            offset: offset.map(|known| known.offset),
            right_servers: None,
            frequency_ppt: self.frequency_ppt(generation),
        }
    }

    /// That of this generation, if it is still the current one.
    fn frequency_ppt(&self, generation: Option<u32>) -> Option<i64> {
        let frequency = self.clock.correlator()?.frequency()?;
        (self.counts_nanoseconds && generation == Some(frequency.generation.0))
            .then(|| parts_per_trillion(&frequency))
    }
}

fn only(timestamp: HardwareTimestamp) -> Timestamps {
    Timestamps::new(None, Some(timestamp))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use wirestamp::sim::NicName;
    use wirestamp::{Simulation, Span};

    /// At the end many timestamps wait. A clock that cannot be read is asked once, not for each.
    #[test]
    fn a_clock_that_does_not_answer_is_asked_once_for_all_that_wait() {
        let simulation = Simulation::preset("i225", 1).expect("a preset");
        let interface = simulation.interface("sim0").expect("a NIC");
        let mut times = Times::start(&interface).expect("it has a clock");
        let world = simulation.world();
        world.advance(Span::from_seconds(2));
        for _ in 0..100 {
            let truth = world.truth();
            let ticks = truth.hardware_ticks_at(interface.index(), truth.now());
            times.timestamp(HardwareTimestamp {
                ticks: ticks.expect("it has a clock"),
                interface: Some(interface.index()),
                read_at: truth.now(),
            });
        }
        let clock = times.clock.clone();
        let failures = || clock.correlator().expect("it has one").status().failures;
        world.remove_nic(NicName::Sim0);
        let before = failures();
        times.finish(UtcTime::from_nanoseconds(0), &mut |_: &Sample<'_>| {});
        assert!(times.waiting.is_empty());
        assert!(failures() - before <= 1, "{before}, then {}", failures());
    }
}
