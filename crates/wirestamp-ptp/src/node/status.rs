//! The reports of a running PTP clock: samples, status and counts.

use super::Node;
use super::unsettled::Unsettled;
use crate::engine::PortState;
use crate::lost::{Counts, Lost};
use crate::message::PortIdentity;
use crate::port::{Measured, Port};
use crate::report::{PortStatus, Sample, SourceStatus, Status};
use crate::timestamping::TimestampClock;
use wirestamp::time::{RealTimeClock, UtcCrossTimestamp};
use wirestamp::{Bounded, MonotonicTime, Span, TimestampSource, UtcTime};
use wirestamp_offset::Estimate;

/// A function that takes the settled samples of a port.
type Settled = fn(&mut Unsettled, &TimestampClock, MonotonicTime) -> Vec<Result<Sample, Lost>>;

impl<'e> Node<'e> {
    /// Takes the samples that have become final since the last call, the oldest of each port first.
    /// With the NIC's timestamps this takes some seconds: three batches of cross timestamps after
    /// the Sync show whether the NIC's clock was changed. A sample that they do not confirm is
    /// lost, and counted as [`Lost::ClockGeneration`].
    ///
    /// [`finish`](Self::finish) returns those that are not final yet.
    pub fn samples(&mut self) -> Vec<Sample> {
        for sample in self.provisional_samples() {
            let place = usize::from(sample.port) - 1;
            if let Some(lost) = self.unsettled[place].add(sample) {
                self.ports[place].lost(lost);
            }
        }
        self.settle(Unsettled::settled)
    }

    /// Takes the remaining samples at the end, after reading the NIC's clock to make them final,
    /// which takes some tenths of a second. Samples that are not confirmed are lost, and counted as
    /// [`Lost::ClockGeneration`], or as [`Lost::Unconfirmed`] if the clock cannot be read.
    pub fn finish(&mut self) -> Vec<Sample> {
        let mut samples = self.samples();
        samples.extend(self.settle(Unsettled::finish));
        samples
    }

    fn settle(&mut self, settled: Settled) -> Vec<Sample> {
        let mut samples = Vec::new();
        if self.unsettled.iter().all(Unsettled::is_empty) {
            return samples;
        }
        let now = self.now();
        for (held, port) in self.unsettled.iter_mut().zip(&mut self.ports) {
            let words = settled(held, &port.clock().borrow(), now);
            for word in words {
                match word {
                    Ok(sample) => {
                        port.settled(&sample);
                        samples.push(sample);
                    }
                    Err(lost) => port.lost(lost),
                }
            }
        }
        samples
    }

    /// Takes the provisional samples of the Syncs since the last call, the oldest of each port
    /// first. They may turn out to be wrong.
    pub(crate) fn provisional_samples(&mut self) -> Vec<Sample> {
        let transmitter = self.engine.parent();
        let counts = self.counts();
        let socket = self.ports[0].socket_for_time();
        let (reading, real_time_clock) = (socket.utc_cross_timestamp(), socket.real_time_clock());
        let utc_shift = self.timeline().utc_shift;
        let mut samples = Vec::new();
        for (number, port) in (1..).zip(&mut self.ports) {
            while let Some(measured) = port.next_estimate() {
                let Measured {
                    estimate,
                    came,
                    on_monotonic,
                    made,
                } = measured;
                let system = match port.clock().borrow().source() {
                    TimestampSource::Software => Some(bounded(&estimate)),
                    TimestampSource::Hardware => {
                        let both = (&reading, real_time_clock);
                        on_monotonic.map(|at| system_offset(&estimate, at, both, utc_shift))
                    }
                };
                samples.push(Sample {
                    time: reading.utc,
                    at: reading.before + half(&reading),
                    reading,
                    came,
                    interface: port.interface().name().to_owned(),
                    port: number,
                    state: port.state(),
                    local_ns: estimate.at,
                    offset: bounded(&estimate),
                    system_offset: system,
                    mean_path_delay_ns: estimate.mean_path_delay,
                    frequency_ppb: estimate.rate.map(|rate| rate * 1e9),
                    source: port.clock().borrow().source(),
                    time_transmitter: transmitter,
                    counts: counts.clone(),
                    made,
                });
            }
        }
        samples
    }

    /// Returns whether a sample is confirmed, once that is known, or the reason why it is not.
    #[cfg(feature = "sim")]
    pub(crate) fn last_word(&self, sample: &Sample) -> Option<Result<(), Lost>> {
        let Some(made) = &sample.made else {
            return Some(Ok(()));
        };
        let port = self.ports.get(usize::from(sample.port) - 1)?;
        port.clock().borrow().last_word(made)
    }

    /// The offset of the first port, extrapolated to now.
    #[cfg(feature = "sim")]
    pub(crate) fn carried(&self) -> Option<crate::report::Held> {
        self.ports[0].carried(self.now())
    }

    /// Reads the clock, if possible, to make the sample final.
    #[cfg(feature = "sim")]
    pub(crate) fn confirm(&self, sample: &Sample) {
        let port = self.ports.get(usize::from(sample.port) - 1);
        if let (Some(port), Some(made)) = (port, &sample.made) {
            port.clock().borrow().confirm(made);
        }
    }

    /// Returns the state of each port.
    pub fn port_states(&self) -> impl Iterator<Item = PortState> {
        self.ports.iter().map(Port::state)
    }

    /// Returns the followed timeTransmitter; `None` if it follows none.
    pub fn time_transmitter(&self) -> Option<PortIdentity> {
        self.followed().map(|_| self.engine.parent())
    }

    /// Returns the status. Its offsets are those of the samples that [`samples`](Self::samples) has
    /// returned.
    pub fn status(&self) -> Status {
        let now = self.now();
        let port = |(number, port): (u16, &Port<'_>)| PortStatus {
            interface: port.interface().name().to_owned(),
            port: number,
            state: port.state(),
            source: port.clock().borrow().source(),
            estimate: port.held(now),
            counts: port.counts().clone(),
        };
        Status {
            time: self.utc(),
            identity: PortIdentity {
                clock: self.engine.identity,
                port: 0,
            },
            time_transmitter: self.time_transmitter(),
            grandmaster: PortIdentity {
                clock: self.engine.grandmaster(),
                port: 0,
            },
            steps_removed: self.engine.steps_removed(),
            ports: (1..).zip(&self.ports).map(port).collect(),
            agreement: self.agreement(),
            sources: self.sources(),
        }
    }

    /// The offset of each source that is compared.
    fn sources(&self) -> Vec<SourceStatus> {
        let now = self.now();
        let of_port = |(number, port): (u16, &'_ Port<'e>)| {
            let told = port
                .sources(now)
                .filter_map(|source| source.estimator.latest().map(|latest| (source, latest)));
            let told = told.map(|(source, latest)| SourceStatus {
                identity: source.identity,
                domain: source.domain,
                port: number,
                offset: bounded(&latest),
            });
            told.collect::<Vec<_>>()
        };
        (1..).zip(&self.ports).flat_map(of_port).collect()
    }

    /// Returns the counts of all ports together.
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for port in &self.ports {
            all.add(port.counts());
        }
        all
    }

    fn utc(&self) -> UtcTime {
        self.ports[0].socket_for_time().utc_cross_timestamp().utc
    }
}

/// The offset of an estimate.
fn bounded(estimate: &Estimate) -> Bounded<Span> {
    let [offset, bound] =
        [estimate.offset, estimate.bound].map(|value| Span::from_nanoseconds(value.into()));
    Bounded::new(offset, bound)
}

fn half(reading: &UtcCrossTimestamp) -> Span {
    Span::from_nanoseconds((reading.after - reading.before).nanoseconds() / 2)
}

/// The system's real-time clock minus the timeTransmitter's UTC, with its error bound: the
/// estimate, converted from the monotonic clock by a reading of the real-time clock.
fn system_offset(
    estimate: &Estimate,
    at: Bounded<MonotonicTime>,
    (reading, clock): (&UtcCrossTimestamp, RealTimeClock),
    utc_shift: i64,
) -> Bounded<Span> {
    let utc = clock.utc_at(at, reading);
    let transmitter = estimate
        .at
        .saturating_sub(estimate.offset)
        .saturating_sub(utc_shift);
    Bounded::new(
        utc.value - UtcTime::from_nanoseconds(transmitter),
        utc.bound + Span::from_nanoseconds(estimate.bound.into()),
    )
}
