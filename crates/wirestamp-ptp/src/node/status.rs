//! What a running PTP clock says of itself: samples, its state, counts.

use super::Node;
use crate::lost::Counts;
use crate::message::PortIdentity;
use crate::port::{OnSystem, Port};
use crate::report::{Held, PortStatus, Sample, SourceStatus, Status};
use crate::timestamping::SLEW;
use wirestamp::{TimestampSource, UtcCrossTimestamp, UtcTime};
use wirestamp_offset::Estimate;

impl<'e> Node<'e> {
    /// Takes the samples of the Syncs since the last call, oldest first.
    pub fn samples(&mut self) -> Vec<Sample> {
        let transmitter = self.engine.parent();
        let counts = self.counts();
        let reading = self.ports[0].socket_for_time().utc_cross_timestamp();
        let utc_shift = self.timeline().utc_shift;
        let mut samples = Vec::new();
        for (number, port) in (1..).zip(&mut self.ports) {
            while let Some((estimate, on_monotonic, made)) = port.next_estimate() {
                let system = match port.clock().borrow().source() {
                    TimestampSource::Software => Some((estimate.offset, estimate.bound)),
                    TimestampSource::Hardware => {
                        on_monotonic.map(|at| system_offset(&estimate, at, &reading, utc_shift))
                    }
                };
                samples.push(Sample {
                    time: reading.utc,
                    interface: port.interface().name().to_owned(),
                    port: number,
                    state: port.state(),
                    local_ns: estimate.at,
                    offset_ns: estimate.offset,
                    error_bound_ns: estimate.bound,
                    system_offset_ns: system.map(|(offset, _)| offset),
                    system_error_bound_ns: system.map(|(_, bound)| bound),
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

    /// Whether the clock of a sample is the one that it seemed to be, once that is final; the error says why it is not.
    #[cfg(feature = "sim")]
    pub(crate) fn last_word(&self, sample: &Sample) -> Option<Result<(), &'static str>> {
        let Some(made) = &sample.made else {
            return Some(Ok(()));
        };
        let port = self.ports.get(usize::from(sample.port) - 1)?;
        port.clock().borrow().last_word(made)
    }

    /// Makes that final, if the clock can be read.
    #[cfg(feature = "sim")]
    pub(crate) fn confirm(&self, sample: &Sample) {
        let port = self.ports.get(usize::from(sample.port) - 1);
        if let (Some(port), Some(made)) = (port, &sample.made) {
            port.clock().borrow().confirm(made);
        }
    }

    /// Returns the present state.
    pub fn status(&self) -> Status {
        let following = self.followed().is_some();
        let port = |(number, port): (u16, &Port<'_>)| PortStatus {
            interface: port.interface().name().to_owned(),
            port: number,
            state: port.state(),
            source: port.clock().borrow().source(),
            estimate: self.held(port),
            counts: port.counts().clone(),
        };
        Status {
            time: self.utc(),
            identity: PortIdentity {
                clock: self.engine.identity,
                port: 0,
            },
            time_transmitter: following.then(|| self.engine.parent()),
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
                offset_ns: latest.offset,
                error_bound_ns: latest.bound,
            });
            told.collect::<Vec<_>>()
        };
        (1..).zip(&self.ports).flat_map(of_port).collect()
    }

    /// Returns counts of what was lost and ignored, on all ports.
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

    fn held(&self, port: &Port<'_>) -> Option<Held> {
        let (estimate, age_ns, holdover) = port.held(self.now())?;
        Some(Held {
            offset_ns: estimate.offset,
            error_bound_ns: estimate.bound,
            mean_path_delay_ns: estimate.mean_path_delay,
            frequency_ppb: estimate.rate.map(|rate| rate * 1e9),
            age_ns,
            holdover,
        })
    }
}

/// The system's real-time clock minus the timeTransmitter's UTC, and its bound: the estimate carried over
/// by where its instant lies on the monotonic clock, and that by a reading of the real-time clock.
fn system_offset(
    estimate: &Estimate,
    at: OnSystem,
    reading: &UtcCrossTimestamp,
    utc_shift: i64,
) -> (i64, i64) {
    let (instant, placed) = at;
    let half = (reading.after - reading.before).saturating_nanoseconds() / 2 + 1;
    let since = (reading.before - instant)
        .saturating_nanoseconds()
        .saturating_add(half);
    let slewed = (since.saturating_abs() as f64 * SLEW).ceil() as i64;
    let utc = reading.utc.nanoseconds().saturating_sub(since);
    let transmitter = estimate
        .at
        .saturating_sub(estimate.offset)
        .saturating_sub(utc_shift);
    (
        utc.saturating_sub(transmitter),
        estimate
            .bound
            .saturating_add(placed)
            .saturating_add(half)
            .saturating_add(slewed),
    )
}
