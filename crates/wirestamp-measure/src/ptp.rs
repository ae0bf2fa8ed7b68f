//! Runs a PTP clock. `wirestamp-ptp` has the protocol, the estimates and steering.

mod shown;

use crate::moment::Moment;
use crate::options::Ptp;
use crate::place::Place;
use crate::ptp_change::Seen;
use crate::report::{PtpReport, Report};
use crate::sample::{self, Departure, Kind, Segment, Subject};
use crate::sink::{Known, Sink};
use crate::state::State;
use crate::task::{Task, Turn};
use self_cell::self_cell;
use std::collections::BTreeMap;
use std::time::Duration;
use wirestamp::socket::AnySocket;
use wirestamp::{Bounded, Error, ErrorKind, Interface, MonotonicTime, Result, Span, UtcTime};
use wirestamp_ptp::{Engine, Node, Sample, identity_of};

self_cell! {
    struct Running {
        owner: Engine,
        #[not_covariant]
        dependent: Node,
    }
}

/// A clock with one port, or that of a whole program.
pub(crate) struct PtpTask {
    running: Running,
    /// Of each interface.
    samples: BTreeMap<String, u64>,
    last: Option<Sample>,
    /// The last that was recorded.
    recorded: Option<UtcTime>,
    seen: Seen,
    /// When its state is looked at again.
    look_at: MonotonicTime,
    /// How long it may measure nothing, from when it was opened on.
    patience: Span,
    opened: Option<MonotonicTime>,
    /// Whether it is the clock of a whole program, and what that wants.
    alone: Option<Alone>,
}

/// What the clock of a whole program is to do.
struct Alone {
    /// Go on when an offset beyond the limit has lasted.
    keeps_measuring: bool,
    /// End once all samples are confirmed.
    is_finishing: bool,
    is_over: bool,
}

/// The clock of a whole program is looked at so often, whatever comes.
const NAP: Span = Span::from_milliseconds(200);
/// How often the port's state is looked at.
const LOOK: Span = Span::from_seconds(1);
/// A timeTransmitter that is there was measured by then, unless it announces itself seldom: it is followed after the second Announce.
const PATIENCE: Span = Span::from_seconds(30);
/// So many intervals of its Announce messages are waited for at least.
const ANNOUNCES: u32 = 8;
/// The reasons for a missing offset to the timeTransmitter: no new Sync gave one, or the clock that timestamps cannot
/// be related to the real-time clock.
const NO_SAMPLE: &str = "no_sample";
const NOT_RELATED: &str = "not_related";

/// What the real-time clock as a timeTransmitter sees it is called where clocks are estimated.
pub(crate) fn recorded_as(interface: &str) -> String {
    format!("ptp:{interface}")
}

impl PtpTask {
    pub(crate) fn open(configuration: &Ptp, place: &Place) -> Result<Self> {
        let interfaces = configuration.interfaces().iter();
        let interfaces: Vec<_> = interfaces
            .map(|name| place.interface(name))
            .collect::<Result<_>>()?;
        let first = interfaces.first().ok_or_else(no_port)?;
        let mut options = configuration.options.clone();
        let named = interfaces.iter().map(Interface::name);
        options.interfaces = named.map(str::to_owned).collect();
        wirestamp_ptp::check_free(&options, &interfaces)?;
        let alone = configuration.alone.then_some(Alone {
            keeps_measuring: options.steering.keep_measuring,
            is_finishing: false,
            is_over: false,
        });
        let engine = Engine::new(options, identity_of(first))?;
        let seed = place.is_simulated().then_some(configuration.seed);
        let running = Running::try_new(engine, |engine| {
            let mut node = match seed {
                Some(seed) => Node::start_seeded(engine, &interfaces, seed)?,
                None => Node::start(engine, &interfaces)?,
            };
            if configuration.alone {
                node.steer()?;
            }
            Ok(node)
        })?;
        Ok(Self {
            running,
            samples: BTreeMap::new(),
            last: None,
            recorded: None,
            seen: Seen::default(),
            look_at: MonotonicTime::MIN,
            patience: patience(&configuration.options),
            opened: None,
            alone,
        })
    }

    /// Serves it, and takes the samples that have become final: all, where nothing comes after that.
    fn taken(&mut self) -> Vec<Sample> {
        let is_finishing = self.alone.as_ref().is_some_and(|alone| alone.is_finishing);
        let (samples, refused) = self.running.with_dependent_mut(|_, node| {
            node.serve();
            let samples = match is_finishing {
                true => node.finish(),
                false => node.samples(),
            };
            (samples, node.refused_offset())
        });
        if let Some(alone) = &mut self.alone {
            let is_refused = refused.is_some_and(|refused| refused.is_final);
            alone.is_over = is_finishing || is_refused && !alone.keeps_measuring;
        }
        samples
    }

    /// Reports what has changed, and what is not as it should be: that is looked at each second only.
    fn watch(&mut self, looks: bool, turn: &mut Turn<'_>) {
        let opened = *self.opened.get_or_insert(turn.now);
        let is_late = self.samples.is_empty() && turn.now - opened >= self.patience;
        let seen = &mut self.seen;
        let (changes, status) = self.running.with_dependent(|_, node| {
            // who transmits time to others hears none
            let is_late = is_late && node.port_states().any(shown::measures);
            let mut changes = match looks {
                true => seen.diagnose(node, is_late),
                false => Vec::new(),
            };
            changes.extend(seen.look(node));
            let status = (!changes.is_empty()).then(|| node.status());
            (changes, status)
        });
        let Some(status) = status else { return };
        for change in &changes {
            turn.sink.changed(&status, change);
            if let Some((kind, interface, message)) = change.event(&status) {
                turn.sink.event(kind, &interface, message);
            }
        }
    }
}

fn no_port() -> Error {
    let error = Error::new(
        ErrorKind::InvalidInput,
        "start a PTP clock",
        "no interface",
        "it has no port",
    );
    error.with_remedy("name at least one interface")
}

fn patience(options: &wirestamp_ptp::Configuration) -> Span {
    let announce = 2_f64.powi(options.log_announce_interval.into());
    let announces = Duration::try_from_secs_f64(announce * f64::from(ANNOUNCES));
    announces.map_or(PATIENCE, |all| PATIENCE.max(all.into()))
}

impl Task for PtpTask {
    fn serve(&mut self, turn: &mut Turn<'_>) -> Result<MonotonicTime> {
        let looks = turn.now >= self.look_at;
        if self.is_over() {
            return Ok(MonotonicTime::MAX);
        }
        let samples = self.taken();
        let next = self.running.with_dependent(|_, node| node.next_at());
        for sample in &samples {
            *self.samples.entry(sample.interface.clone()).or_default() += 1;
            let subject = Subject {
                kind: Kind::Ptp,
                name: &sample.interface,
            };
            turn.sink.followed(subject, sample);
            turn.sink.sample(&sample::Sample {
                subject,
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
        }
        if looks || self.alone.is_some() {
            self.watch(looks, turn);
        }
        Ok(match &self.alone {
            None => next.min(self.look_at),
            Some(alone) if alone.is_over => MonotonicTime::MAX,
            Some(_) => next.min(turn.now + NAP),
        })
    }

    fn sockets<'a>(&'a self, into: &mut Vec<AnySocket<'a>>) {
        if self.is_over() {
            return;
        }
        self.running
            .with_dependent(|_, node| into.extend(node.sockets()));
    }

    fn show(&self, moment: &Moment, into: &mut State) {
        let status = self.running.with_dependent(|_, node| node.status());
        into.ptp.extend(self.shown(&status, moment));
    }

    fn ask_ptp(&self, ask: &mut dyn FnMut(&Node<'_>)) {
        self.running.with_dependent(|_, node| ask(node));
    }

    fn is_over(&self) -> bool {
        self.alone.as_ref().is_some_and(|alone| alone.is_over)
    }

    fn finish(&mut self) {
        if let Some(alone) = &mut self.alone {
            alone.is_finishing = true;
        }
    }

    fn report(&mut self, _sink: &mut dyn Sink) -> Option<Result<Report>> {
        let report = self.running.with_dependent_mut(|_, node| {
            let refused_offset = node.refused_offset();
            let ended = node.end_steering();
            PtpReport {
                counts: node.counts(),
                agreement: node.agreement(),
                unmeasured: node.unmeasured(),
                refused_offset,
                steering_error: node.steering_error().cloned(),
                ended,
            }
        });
        Some(Ok(Report::Ptp(Box::new(report))))
    }

    fn estimate(&mut self, moment: &Moment) -> Option<Known> {
        let fresh = self.last.as_ref();
        let fresh = fresh.filter(|sample| self.recorded != Some(sample.time));
        let known = match fresh {
            None => Known::nothing(moment.reading.utc, NO_SAMPLE),
            Some(sample) => Known {
                offset: sample.system_offset.ok_or(NOT_RELATED),
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
    let bound = sample.offset.bound;
    let path = span(sample.mean_path_delay_ns);
    [
        (Segment::Offset, sample.offset),
        (Segment::Path, Bounded::new(path, bound + bound)),
    ]
}
