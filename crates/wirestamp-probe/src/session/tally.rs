//! The statistics of a session's packets.

use super::direction::{Delays, Variation};
use super::flight::{Flight, Replied};
use super::losses::Losses;
use super::report::{OffsetInterval, Sample, SessionReport};
use super::slews::Readings;
use super::{Clocks, Rejected, SessionConfiguration};
use crate::stamp::HostTimestamp;
use crate::timestamp::TimestampFormat;
use crate::tlv::{ClassOfService, Method, TimestampInformation};
use wirestamp_core::time::{Bounded, MonotonicTime, RealTimeClock, Span, UtcTime};

/// The rounding error of a peer's timestamp, in case it truncates.
pub(super) const ROUNDING: Span = Span::from_nanoseconds(1);
/// The largest drift between two real-time clocks, each slewed by 500 ppm and with an error of 100
/// ppm.
const DRIFT_PARTS_PER_MILLION: i128 = 1_200;

/// The largest drift between two clocks in `time`.
pub(super) fn drift(time: Span) -> Span {
    Span::from_nanoseconds(
        (time.nanoseconds() * DRIFT_PARTS_PER_MILLION)
            .max(0)
            .div_euclid(1_000_000)
            + 1,
    )
}

/// Limits the interval of a delay to `least` and `most`. The middle is rounded up, so that the
/// interval never begins below `least`. `None` if the result is empty.
fn within(delay: Bounded<Span>, least: Span, most: Span) -> Option<Bounded<Span>> {
    let (low, high) = (delay.least().max(least), delay.most().min(most));
    let half = Span::from_nanoseconds(((high - low).nanoseconds() + 1).div_euclid(2));
    (low <= high).then(|| Bounded::new(low + half, half))
}

/// The headers of a reply.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) format: TimestampFormat,
    pub(super) sender_ttl: u8,
    pub(super) hop_limit: Option<u8>,
    pub(super) traffic_class: Option<u8>,
    pub(super) class: Option<ClassOfService>,
    pub(super) information: Option<TimestampInformation>,
    pub(super) ssid: u16,
}

/// The times of one packet whose T1 and T4 are known.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    t1: HostTimestamp,
    t2: UtcTime,
    t3: Option<UtcTime>,
    /// T3, or an earlier time.
    t3_at_least: UtcTime,
    t4: HostTimestamp,
    /// The error bound of the reflector.
    error: Span,
    is_synchronized: bool,
    /// The fast slews of this host's clock during the exchange.
    slewed_in_flight: Span,
    readings: Readings,
}

/// The interval of the reflector's clock offset that is consistent with all packets since the last
/// detected step. It is relative to this host's clock without its adjustments: these move the
/// offset, and are no step.
#[derive(Debug, Clone, Copy)]
struct Offset {
    low: Span,
    high: Span,
    at: MonotonicTime,
}

#[derive(Debug)]
pub(super) struct Tally {
    clocks: Clocks,
    least_delay: Span,
    keeps_distributions: bool,
    real_time_clock: RealTimeClock,
    report: SessionReport,
    forward: Variation,
    backward: Variation,
    round_trip: Variation,
    offset: Option<Offset>,
    /// The interval of the offset by the newest packet alone.
    newest: Option<OffsetInterval>,
}

impl Tally {
    pub(super) fn new(configuration: &SessionConfiguration) -> Self {
        Self {
            clocks: configuration.clocks,
            least_delay: configuration.least_delay,
            keeps_distributions: configuration.keeps_distributions,
            real_time_clock: configuration.real_time_clock,
            report: SessionReport::default(),
            forward: Variation::default(),
            backward: Variation::default(),
            round_trip: Variation::default(),
            offset: None,
            newest: None,
        }
    }

    pub(super) fn set_clocks(&mut self, clocks: Clocks) {
        self.clocks = clocks;
    }

    pub(super) fn header(&mut self, header: &Header, configuration: &SessionConfiguration) {
        let report = &mut self.report;
        report.reflector_format = Some(header.format);
        report.knows_extensions |=
            header.ssid != 0 && (header.class.is_some() || header.information.is_some());
        report.information = header.information.or(report.information);
        // requests are sent with a hop limit of 255
        let hops = |limit: u8| Some(255 - limit).filter(|_| limit > 0);
        report.forward_hops = report.forward_hops.max(hops(header.sender_ttl));
        report.backward_hops = report.backward_hops.max(header.hop_limit.and_then(hops));
        let Some(class) = header.class else {
            return;
        };
        let (dscp, ecn) = (
            configuration.traffic_class >> 2,
            configuration.traffic_class & 3,
        );
        report.forward_dscp_changed += u64::from(class.received_dscp != dscp);
        report.forward_ecn_changed += u64::from(class.received_ecn != ecn);
        if let Some(arrived) = header.traffic_class {
            let expected = if class.refused {
                class.received_dscp
            } else {
                configuration.reply_dscp
            };
            report.backward_dscp_changed += u64::from(arrived >> 2 != expected);
        }
    }

    /// Evaluates a packet.
    pub(super) fn judge(&mut self, sequence: u32, flight: &Flight) -> Sample {
        let mut sample = Sample::of(sequence, flight);
        let t1 = match sample.sent {
            Ok(t1) => Some(t1),
            Err(reason) => {
                self.report.missing_transmit_timestamps.count(reason);
                None
            }
        };
        if let Some(t1) = t1 {
            sample.send_path = Some(Bounded::new(t1.at.value - flight.before, t1.at.bound));
        }
        if let Some(replied) = &flight.replied {
            self.answered(&mut sample, replied, t1);
        }
        self.record(&sample);
        sample
    }

    /// Evaluates a reply.
    fn answered(&mut self, sample: &mut Sample, replied: &Replied, t1: Option<HostTimestamp>) {
        let t4 = replied.arrived;
        self.report.missing_receive_timestamps += u64::from(t4.is_none());
        let (t2, error) = (replied.received, replied.error);
        let t3 = replied.followed_up;
        match t3 {
            Some((_, Method::Hardware)) => self.report.followed_up_hardware += 1,
            Some(_) => self.report.followed_up_software += 1,
            None => self.report.not_followed_up += 1,
        }
        self.report.largest_error_estimate = self.report.largest_error_estimate.max(Some(error));
        self.report.synchronized += u64::from(replied.is_synchronized);

        if let Some(t4) = t4 {
            sample.receive_path = Some(Bounded::new(replied.read - t4.at.value, t4.at.bound));
        }
        if let Some((t3, _)) = t3 {
            sample.residence = Some(Bounded::new(t3 - t2, error + error));
            let sending = t3 - replied.sent_as_written;
            sample.reflector_send_path = Some(Bounded::new(sending, error + error));
        }
        let answering = replied.sent_as_written - t2;
        sample.residence_as_written = Some(Bounded::new(answering, error + error));
        if let (Some(t1), Some(t4)) = (t1, t4) {
            sample.round_trip = Some(Bounded::new(
                t4.at.value - t1.at.value,
                t1.at.bound + t4.at.bound,
            ));
            if let (Some(round_trip), Some(residence)) = (sample.round_trip, sample.residence) {
                // the difference of two clocks' seconds, unless it is the same clock
                let drift = match self.clocks {
                    Clocks::Same => Span::ZERO,
                    Clocks::Synchronized(_) | Clocks::Unrelated => {
                        drift(residence.value.abs()) + replied.slewed_in_flight
                    }
                };
                let value = round_trip.value - residence.value;
                let bound = round_trip.bound + residence.bound + drift;
                sample.path_delay = Some(Bounded::new(value, bound));
            }
            // one error bound is of both clocks of a timestamp
            let (passed, elapsed) = (Bounded::exact(t4.utc - t1.utc), t4.at - t1.at);
            if self.real_time_clock.slewed_in(passed, elapsed).is_none() {
                // it is unknown which local times are comparable with the reflector's
                self.report.stepped_in_flight += 1;
            } else {
                let exchange = Exchange {
                    t1,
                    t2,
                    t3: t3.map(|(t3, _)| t3),
                    t3_at_least: t3.map_or(replied.sent_as_written, |(t3, _)| t3),
                    t4,
                    error,
                    is_synchronized: replied.is_synchronized,
                    slewed_in_flight: replied.slewed_in_flight,
                    readings: replied.readings,
                };
                let forward = Bounded::new(t2 - t1.utc, t1.at.bound + error);
                let backward = Bounded::new(t4.utc - exchange.t3_at_least, t4.at.bound + error);
                sample.forward_difference = Some(forward);
                sample.backward_difference = Some(backward);
                self.narrow_offset(&exchange);
                self.one_way(sample, &exchange);
            }
        }
    }

    /// Narrows the offset by a packet. Detects a step if no offset is consistent with all packets
    /// of the generation.
    fn narrow_offset(&mut self, exchange: &Exchange) {
        let Exchange { t1, t2, t4, .. } = *exchange;
        let at = t4.at.value;
        let (forth, back) = (t1.at.bound + exchange.error, t4.at.bound + exchange.error);
        let low = exchange.t3_at_least - t4.utc + self.least_delay - back;
        let high = t2 - t1.utc - self.least_delay + forth;
        // a step smaller than the path delay is not detected, so other packets do not narrow the
        // reported interval; its limits are of two instants
        self.newest = Some(OffsetInterval {
            low,
            high: high + exchange.slewed_in_flight,
        });
        let low = low + exchange.readings.moved(at).least();
        let high = high + exchange.readings.moved(t1.at.value).most();
        let known = self.offset.map(|known| {
            let aged = drift((at - known.at).abs());
            (known.low - aged, known.high + aged)
        });
        let (low, high) = match known {
            Some((known_low, known_high)) if known_low.max(low) <= known_high.min(high) => {
                (known_low.max(low), known_high.min(high))
            }
            Some(_) => {
                self.report.clock_steps += 1;
                self.forward.restart();
                self.backward.restart();
                (low, high)
            }
            None => (low, high),
        };
        self.offset = Some(Offset { low, high, at });
    }

    fn one_way(&mut self, sample: &mut Sample, exchange: &Exchange) {
        let Exchange { t1, t2, t3, t4, .. } = *exchange;
        if self.keeps_distributions {
            self.forward.add(t2 - t1.utc);
            if let Some(t3) = t3 {
                self.backward.add(t4.utc - t3);
            }
        }
        let clocks = match self.clocks {
            Clocks::Same => Span::ZERO,
            Clocks::Synchronized(bound) if exchange.is_synchronized => bound,
            Clocks::Synchronized(_) | Clocks::Unrelated => return,
        };
        let bound = exchange.error + clocks;
        let (least, most) = (self.least_delay, self.largest_delay(exchange));
        let forward = Bounded::new(t2 - t1.utc, t1.at.bound + bound);
        // without a follow-up the reply left after the T3 that was written
        let backward = Bounded::new(t4.utc - exchange.t3_at_least, t4.at.bound + bound);
        let [forward, backward] = [forward, backward].map(|delay| within(delay, least, most));
        let (Some(forward), Some(backward)) = (forward, backward) else {
            self.report.contradictions += 1;
            return;
        };
        sample.forward = Some(forward);
        sample.backward = t3.map(|_| backward);
    }

    /// The largest possible one-way delay, whatever the clocks' offset: the round trip without the
    /// residence time and the least delay of the other direction.
    fn largest_delay(&self, exchange: &Exchange) -> Span {
        let round_trip = (exchange.t4.at - exchange.t1.at).most();
        // a large Error Estimate leaves the residence time uncertain, but it is not negative
        let residence = exchange.t3_at_least - exchange.t2 - exchange.error - exchange.error;
        // the round trip is on the monotonic clock, the rest on real-time clocks, which may be
        // slewed relative to it
        let drift = drift(round_trip) + exchange.slewed_in_flight;
        round_trip + drift - residence.max(Span::ZERO) - self.least_delay
    }

    fn record(&mut self, sample: &Sample) {
        if !self.keeps_distributions {
            return;
        }
        let report = &mut self.report;
        let pairs = [
            (&mut report.round_trip, sample.round_trip),
            (&mut report.path_delay, sample.path_delay),
            (&mut report.forward, sample.forward),
            (&mut report.backward, sample.backward),
            (&mut report.residence, sample.residence),
            (
                &mut report.residence_as_written,
                sample.residence_as_written,
            ),
            (&mut report.reflector_send_path, sample.reflector_send_path),
            (&mut report.send_path, sample.send_path),
            (&mut report.receive_path, sample.receive_path),
        ];
        for (delays, measured) in pairs {
            if let Some(measured) = measured {
                delays.record(measured.value, measured.bound);
            }
        }
        if let Some(round_trip) = sample.round_trip {
            self.round_trip.add(round_trip.value);
        }
    }

    pub(super) fn report(
        mut self,
        losses: Losses,
        rejected: [u64; Rejected::ALL.len()],
        configuration: &SessionConfiguration,
    ) -> SessionReport {
        let offset = self.newest;
        let tai = Span::from_seconds(configuration.tai_offset.into());
        let looks_like_utc = offset.is_some_and(|offset| {
            let second = Span::from_seconds(1);
            (offset.low + tai).abs() < second && (offset.high + tai).abs() < second
        });
        if self.report.contradictions > 0 {
            // then those of other packets are not reliable either
            self.report.forward = Delays::default();
            self.report.backward = Delays::default();
        }
        let in_ptp_format = self.report.reflector_format == Some(TimestampFormat::Ptp);
        SessionReport {
            losses,
            rejected,
            offset,
            sends_utc_in_ptp_format: in_ptp_format && looks_like_utc,
            forward_variation: self.forward.finish(),
            backward_variation: self.backward.finish(),
            round_trip_variation: self.round_trip.finish(),
            ..self.report
        }
    }
}
