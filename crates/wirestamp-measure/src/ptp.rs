//! A PTP clock that measures. The protocol and the estimates are `wirestamp-ptp`'s affair.

use crate::bounded::Bounded;
use crate::moment::Moment;
use crate::options::Ptp;
use crate::place::Place;
use crate::sample::{self, Departure, Kind, Segment, Subject};
use crate::sink::Known;
use crate::state::{PtpState, Reasons, State};
use crate::task::{Task, Turn};
use self_cell::self_cell;
use std::collections::BTreeMap;
use std::time::Duration;
use wirestamp::{MonotonicTime, Result, Span, UdpSocket, UtcTime};
use wirestamp_ptp::{Engine, Node, Sample, Unmeasured, Warning, identity_of};

self_cell! {
    struct Running {
        owner: Engine,
        #[not_covariant]
        dependent: Node,
    }
}

/// A clock with one port.
pub(crate) struct PtpTask {
    interface: String,
    running: Running,
    samples: u64,
    last: Option<Sample>,
    /// The last that was recorded.
    recorded: Option<UtcTime>,
    state: Option<&'static str>,
    /// When its state is looked at again.
    look_at: MonotonicTime,
    /// How long it may measure nothing, from when it was opened on.
    patience: Span,
    opened: Option<MonotonicTime>,
    /// Why it has measured nothing, though it had time to.
    unmeasured: Option<Unmeasured>,
    warnings: Vec<Warning>,
}

/// How often the port's state is looked at.
const LOOK: Span = Span::from_seconds(1);
/// A timeTransmitter that is there was measured by then, unless it announces itself seldom: it is followed after the second Announce.
const PATIENCE: Span = Span::from_seconds(30);
/// So many intervals of its Announce messages are waited for at least.
const ANNOUNCES: u32 = 8;
/// Of timers in a simulation.
const SEED: u64 = 1;
/// Why there is no offset to the timeTransmitter: no new Sync told one, or the clock that timestamps can't be related to the real-time clock.
const NO_SAMPLE: &str = "no_sample";
const NOT_RELATED: &str = "not_related";

/// What the real-time clock as a timeTransmitter sees it is called where clocks are estimated.
pub(crate) fn recorded_as(interface: &str) -> String {
    format!("ptp:{interface}")
}

impl PtpTask {
    pub(crate) fn open(configuration: &Ptp, place: &Place) -> Result<Self> {
        let interface = place.interface(&configuration.interface)?;
        let mut options = configuration.options.clone();
        options.interfaces = vec![interface.name().to_owned()];
        wirestamp_ptp::check_free(&options, std::slice::from_ref(&interface))?;
        let engine = Engine::new(options, identity_of(&interface))?;
        let simulated = place.is_simulated();
        let running = Running::try_new(engine, |engine| match simulated {
            // the same in every run
            true => Node::start_seeded(engine, &[interface], SEED),
            false => Node::start(engine, &[interface]),
        })?;
        Ok(Self {
            interface: configuration.interface.clone(),
            running,
            samples: 0,
            last: None,
            recorded: None,
            state: None,
            look_at: MonotonicTime::MIN,
            patience: patience(&configuration.options),
            opened: None,
            unmeasured: None,
            warnings: Vec::new(),
        })
    }
}

impl PtpTask {
    /// Says why nothing is measured, and what its user may not want: each once, and again if it comes back.
    fn diagnose(&mut self, turn: &mut Turn<'_>) {
        let opened = *self.opened.get_or_insert(turn.now);
        let is_late = self.samples == 0 && turn.now - opened >= self.patience;
        let (unmeasured, warnings) = self.running.with_dependent(|_, node| {
            let unmeasured = is_late.then(|| node.unmeasured());
            (unmeasured, node.warnings())
        });
        let name = self.interface.as_str();
        if let Some(why) = unmeasured.filter(|_| self.unmeasured.map(kind) != unmeasured.map(kind))
        {
            turn.sink.event("ptp_silence", name, why.to_string());
        }
        for warning in warnings.iter().filter(|one| !self.warnings.contains(one)) {
            turn.sink.event("ptp_warning", name, warning.to_string());
        }
        (self.unmeasured, self.warnings) = (unmeasured, warnings);
    }
}

fn patience(options: &wirestamp_ptp::Configuration) -> Span {
    let announce = 2_f64.powi(options.log_announce_interval.into());
    let announces = Duration::try_from_secs_f64(announce * f64::from(ANNOUNCES));
    announces.map_or(PATIENCE, |all| PATIENCE.max(all.into()))
}

/// The cause without what was counted meanwhile.
fn kind(unmeasured: Unmeasured) -> std::mem::Discriminant<Unmeasured> {
    std::mem::discriminant(&unmeasured)
}

impl Task for PtpTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        let looks = turn.now >= self.look_at;
        let (samples, status, next) = self.running.with_dependent_mut(|_, node| {
            node.serve();
            let status = looks.then(|| node.status());
            (node.samples(), status, node.next_at())
        });
        self.samples += samples.len() as u64;
        for sample in &samples {
            turn.sink.sample(&sample::Sample {
                subject: Subject {
                    kind: Kind::Ptp,
                    name: &sample.interface,
                },
                sequence: 0,
                at: turn.now,
                utc: turn.utc,
                left: Departure::Unknown,
                has_arrived: true,
                values: &segments(sample),
            });
        }
        self.last = samples.into_iter().next_back().or_else(|| self.last.take());
        if looks {
            self.look_at = turn.now + LOOK;
            self.diagnose(turn);
        }
        if let Some(port) = status.as_ref().and_then(|status| status.ports.first()) {
            let state = port.state.name();
            if self
                .state
                .replace(state)
                .is_some_and(|before| before != state)
            {
                turn.sink.event(
                    "ptp_state",
                    &port.interface,
                    format!("the PTP port is now {state}"),
                );
            }
        }
        Ok(next.min(self.look_at))
    }

    fn sockets<'a>(&'a self, into: &mut Vec<&'a UdpSocket>) {
        self.running
            .with_dependent(|_, node| into.extend(node.sockets()));
    }

    fn show(&self, _moment: &Moment, into: &mut State) {
        let status = self.running.with_dependent(|_, node| node.status());
        let reasons = |counts: &BTreeMap<&'static str, u64>| -> Reasons {
            counts
                .iter()
                .map(|(reason, count)| ((*reason).to_owned(), *count))
                .collect()
        };
        for port in &status.ports {
            let held = port.estimate;
            into.ptp.push(PtpState {
                interface: port.interface.clone(),
                state: port.state.name().to_owned(),
                time_transmitter: status.time_transmitter.map(|identity| identity.to_string()),
                grandmaster: status.grandmaster.to_string(),
                steps_removed: status.steps_removed,
                source: port.source.name().to_owned(),
                offset_ns: held.map(|held| held.offset_ns),
                bound_ns: held.map(|held| held.error_bound_ns),
                system_offset_ns: self.last.as_ref().and_then(|last| last.system_offset_ns),
                system_bound_ns: self
                    .last
                    .as_ref()
                    .and_then(|last| last.system_error_bound_ns),
                path_delay_ns: held.map(|held| held.mean_path_delay_ns),
                frequency_ppb: held.and_then(|held| held.frequency_ppb),
                age_ns: held.map(|held| held.age_ns),
                holdover: held.is_some_and(|held| held.holdover),
                agreement: status.agreement.name().to_owned(),
                error: self.unmeasured.map(|why| why.to_string()),
                warnings: self.warnings.iter().map(Warning::to_string).collect(),
                samples: self.samples,
                lost: reasons(&port.counts.lost),
                ignored: reasons(&port.counts.ignored),
            });
        }
    }

    fn estimate(&mut self, moment: &Moment) -> Option<Known> {
        let fresh = self.last.as_ref();
        let fresh = fresh.filter(|sample| self.recorded != Some(sample.time));
        let known = match fresh {
            None => Known::nothing(moment.reading.utc, NO_SAMPLE),
            Some(sample) => Known {
                offset: sample
                    .system_offset_ns
                    .zip(sample.system_error_bound_ns)
                    .ok_or(NOT_RELATED),
                ..Known::nothing(sample.time, NO_SAMPLE)
            },
        };
        self.recorded = self.last.as_ref().map(|sample| sample.time);
        Some(known)
    }
}

/// Its offset and its path delay. The interval of possible offsets is as wide as the path delay and all errors together: twice its error bound is one of
/// the path delay.
fn segments(sample: &Sample) -> [(Segment, Bounded<Span>); 2] {
    let span = |nanoseconds: i64| Span::from_nanoseconds(nanoseconds.into());
    let bound = span(sample.error_bound_ns);
    let path = span(sample.mean_path_delay_ns);
    [
        (Segment::Offset, Bounded::new(span(sample.offset_ns), bound)),
        (Segment::Path, Bounded::new(path, bound + bound)),
    ]
}
