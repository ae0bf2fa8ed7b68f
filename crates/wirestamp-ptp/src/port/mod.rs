//! A port of a clock: it passes messages, timestamps and timers between its sockets and the engine,
//! and the engine's measurements to the estimator.

mod adjustments;
mod changes;
mod flood;
mod ledger;
mod measure;
mod observe;
mod outlet;
mod receive;
mod shown;
mod taken;
#[cfg(test)]
mod tests;
mod timers;
mod vigil;

use crate::configuration::{Configuration, DelayMechanism, Transport};
use crate::engine::{self, Engine, PausedPort, PortState, Records, RunningPort};
use crate::lost::{Counts, Lost};
use crate::message::{self, Fault, PortIdentity};
use crate::sockets::{BATCH, PortSocket, ROOM, Sockets};
use crate::timeline::{SharedClock, Timeline};
use crate::timestamping::{Anchor, Made, TimestampClock};
use crate::trust::Gate;
use adjustments::Adjustments;
use changes::Changes;
use flood::FloodGuard;
use ledger::Ledger;
pub(crate) use observe::Heard;
use observe::Observers;
use outlet::Outlet;
use shown::Shown;
use statime::port::NoForwardedTLVs;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
pub(crate) use taken::Taken;
use timers::Timer;
use wirestamp::socket::AnySocket;
use wirestamp::{
    Bounded, Error, ErrorKind, Interface, MissingReason, MonotonicTime, Result, Span, Watch,
};
use wirestamp_offset::{Assumptions, Estimate, Estimator, Settings, SharedCommands};

/// The number of batches from one socket before the other gets its turn, so that a flood does not
/// starve it.
const TURNS: usize = 8;
/// The most estimates that wait to be fetched; older ones are dropped.
const KEPT: usize = 1_024;
/// How long after a failure to open the sockets again.
const RETRY: Span = Span::from_seconds(1);
/// The interval between checks of the deadline of an awaited transmit timestamp.
const DEADLINE_STEP: Span = Span::from_milliseconds(5);

/// One port.
pub(crate) struct Port<'e> {
    engine: &'e Engine,
    running: Option<RunningPort<'e>>,
    records: Records,
    interface: Interface,
    _watch: Option<Watch>,
    changes: Arc<Changes>,
    clock: SharedClock,
    /// Why the NIC does not timestamp although hardware timestamps are requested.
    not_by_nic: Option<Error>,
    /// Why no message reaches the port, if that is known.
    diverted: Option<String>,
    outlet: Outlet,
    identity: PortIdentity,
    ledger: Ledger,
    /// The adjustments of the timestamping clock by others, if they are not removed otherwise.
    adjustments: Option<Adjustments>,
    /// Whether the neighbour that answers peer delay requests is not the timeTransmitter.
    is_behind_another: bool,
    estimator: Estimator,
    estimates: VecDeque<Measured>,
    /// The arrival of the Sync of the last estimate,
    estimated_at: MonotonicTime,
    /// and the clock's time then.
    estimated_from: Option<Anchor>,
    shown: Shown,
    /// The estimate of the last timeTransmitter, which is no longer followed.
    holdover: Option<Estimator>,
    /// The timeTransmitter that the engine follows on this port,
    followed: Option<PortIdentity>,
    /// and the time of its last Announce.
    announced_at: MonotonicTime,
    reopen_at: Option<MonotonicTime>,
    /// Decides which messages are accepted, and how many.
    gate: Gate,
    taken: Taken,
    flood: FloodGuard,
    /// The measurement of the sources that are compared.
    observers: Option<Observers>,
    room: Vec<u8>,
}

/// An estimate at a Sync.
pub(crate) struct Measured {
    pub(crate) estimate: Estimate,
    /// The arrival of the Sync.
    pub(crate) came: MonotonicTime,
    pub(crate) on_monotonic: Option<Bounded<MonotonicTime>>,
    pub(crate) made: Option<Made>,
}

/// Whether an error means that the interface or its socket is no longer usable.
fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NoSuchDevice | ErrorKind::Closed)
}

/// Why no message reaches a port on this interface, if that is known. Packet sockets see a frame before a
/// bridge takes it.
fn diverted(interface: &Interface, configuration: &Configuration) -> Option<String> {
    match configuration.transport_of(interface.name()) {
        Transport::Udp4 | Transport::Udp6 => interface.diverted(),
        Transport::Ethernet => None,
    }
}

impl<'e> Port<'e> {
    /// Opens a port on an interface.
    pub(crate) fn open(
        engine: &'e Engine,
        interface: &Interface,
        number: u16,
        seed: u64,
        commands: &SharedCommands,
    ) -> Result<Self> {
        let configuration = &engine.configuration;
        let (clock, not_by_nic) = TimestampClock::choose(interface, configuration)?;
        let sockets = Sockets::open(interface, configuration, clock.timestamps())?;
        let records = Records::default();
        let paused = engine.add_port(Rc::clone(&records), seed);
        let now = sockets.event.now();
        let mut outlet = Outlet::new(sockets, configuration);
        if configuration.delay_mechanism == DelayMechanism::P2p {
            outlet.timers.set(Timer::DelayRequest, now); // to the neighbour, which is unknown
        }
        let (running, actions) = engine::start(paused);
        outlet.perform(actions, now);
        let changes = Arc::new(Changes::default());
        let reported = Arc::clone(&changes);
        let watch = interface
            .watch(move |change| reported.note(change.kind))
            .ok();
        let most_drift = f64::from(configuration.max_drift_ppm) * 1e-6;
        let settings = Settings {
            assumptions: Assumptions {
                drift: (-most_drift, most_drift),
                wander: f64::from(configuration.wander_ppb) * 1e-9,
                jump: 0.0,
            },
            least_delay: configuration.least_delay_ns.into(),
            resolution: clock.resolution() + i64::from(configuration.transmitter_resolution_ns),
        };
        let identity = PortIdentity {
            clock: engine.identity,
            port: number,
        };
        let adjustments = Adjustments::of(&clock, configuration);
        let commands = adjustments.as_ref().map_or(commands, Adjustments::commands);
        let estimator = Estimator::new(settings, SharedCommands::clone(commands));
        Ok(Self {
            engine,
            running: Some(running),
            records,
            interface: interface.clone(),
            _watch: watch,
            changes,
            clock: Rc::new(RefCell::new(clock)),
            not_by_nic: not_by_nic.filter(|_| configuration.enable_hardware),
            diverted: diverted(interface, configuration),
            outlet,
            identity,
            observers: Observers::new(configuration, identity, &estimator, seed)?,
            ledger: Ledger::default(),
            adjustments,
            is_behind_another: false,
            estimator,
            estimates: VecDeque::new(),
            estimated_at: now,
            estimated_from: None,
            shown: Shown::new(configuration),
            holdover: None,
            followed: None,
            announced_at: now,
            reopen_at: None,
            gate: Gate::new(configuration, seed)?,
            taken: Taken::default(),
            flood: FloodGuard::new(configuration, now)?,
            room: vec![0; ROOM * BATCH],
        })
    }

    /// Processes all messages and timers that are due, without waiting.
    pub(crate) fn serve(&mut self, timeline: &Timeline, now: MonotonicTime) {
        if let Some(went) = self.changes.take() {
            self.look_again(went, now);
        }
        if self.reopen_at.is_some_and(|at| at <= now) {
            self.reopen(now);
        }
        if self.reopen_at.is_none() {
            self.receive(timeline);
            self.hold_back_floods(now);
            self.take_transmit_timestamps(timeline);
            self.ask_for_comparison(now);
            self.attempt_a_timestamp(now);
        }
        while let Some(timer) = self.outlet.timers.take(now) {
            self.goes_off(timer, now);
        }
        if std::mem::take(&mut self.outlet.broken) && self.reopen_at.is_none() {
            self.reopen_at = Some(now + RETRY);
        }
    }

    /// Sends a message without a time to check whether timestamps come again. With the peer delay
    /// mechanism its own requests show it.
    fn attempt_a_timestamp(&mut self, now: MonotonicTime) {
        let Some(sequence) = self.outlet.vigil.due(now) else {
            return;
        };
        let chosen = &self.engine.configuration;
        if chosen.delay_mechanism == DelayMechanism::E2e {
            let (domain, version) = (chosen.domain, chosen.minor_version);
            let request = message::delay_request(self.identity, sequence, domain, version);
            let id = self.outlet.send_beside(&request);
            self.outlet.vigil.attempted(id);
        }
    }

    fn hold_back_floods(&mut self, now: MonotonicTime) {
        let followed = (self.state() == PortState::TimeReceiver).then(|| self.engine.parent());
        let not_read = self.flood.turn(&self.outlet.sockets, followed, now);
        self.outlet.counts.ignored_many(Fault::NotRead, not_read);
    }

    fn goes_off(&mut self, timer: Timer, now: MonotonicTime) {
        let Some(running) = &mut self.running else {
            return;
        };
        let actions = match timer {
            Timer::Announce => running.handle_announce_timer(&mut NoForwardedTLVs),
            Timer::Sync => running.handle_sync_timer(),
            Timer::DelayRequest => running.handle_delay_request_timer(),
            Timer::AnnounceReceipt => running.handle_announce_receipt_timer(),
        };
        self.outlet.perform(actions, now);
        self.take_records();
    }

    /// Looks the interface up again after a change: it may have another index now. One that `went` has lost the
    /// sockets' places even if it came back at once, with the same index.
    fn look_again(&mut self, went: bool, now: MonotonicTime) {
        let (before, clock) = (self.interface.index(), self.hardware_clock());
        let is_same = self.interface.refresh().is_ok() && self.interface.index() == before;
        if is_same {
            self.note_clock(clock);
        }
        if went || !is_same {
            self.reopen_at = Some(self.reopen_at.unwrap_or(now));
        }
        self.clock.borrow_mut().restarted();
    }

    fn hardware_clock(&self) -> Option<u32> {
        self.interface.description().hardware_clock
    }

    /// Notes whether the interface has another hardware clock than before.
    fn note_clock(&mut self, before: Option<u32>) {
        let mut clock = self.clock.borrow_mut();
        if self.hardware_clock() != before && clock.replaced(&self.interface) {
            self.outlet.counts.lost(Lost::ClockReplaced);
            clock.restarted();
        }
    }

    fn reopen(&mut self, now: MonotonicTime) {
        let timestamps = self.clock.borrow().timestamps();
        self.reopen_at = Some(now + RETRY);
        let clock = self.hardware_clock();
        if self.interface.refresh().is_err() {
            return;
        }
        let is_same = self.outlet.sockets.interface() == self.interface.index();
        if is_same {
            self.note_clock(clock);
        }
        if is_same && self.outlet.sockets.go_on() {
            self.reopen_at = None;
        } else if let Ok(sockets) = self.outlet.sockets.open_again(&self.interface, timestamps) {
            if !is_same {
                self.clock.borrow_mut().came_back(&self.interface);
            }
            self.outlet.sockets = sockets;
            self.flood.reopened();
            let reason = MissingReason::SocketClosed;
            self.give_up_awaited(Lost::TransmitTimestamp(reason));
            self.reopen_at = None;
        }
    }

    /// Counts the awaited transmit timestamps as lost, and forgets them: none of them comes, or is used.
    fn give_up_awaited(&mut self, reason: Lost) {
        let (outlet, observers) = (&mut self.outlet, self.observers.as_mut());
        let awaited = outlet.awaited.drain(..).count();
        let attempted = usize::from(outlet.vigil.give_up_attempt());
        let asked = observers.map_or(0, Observers::give_up_requests);
        (0..awaited + attempted + asked).for_each(|_| outlet.counts.lost(reason));
    }

    /// Pauses the port for a selection.
    pub(crate) fn pause(&mut self) -> Option<PausedPort<'e>> {
        self.running.take().map(RunningPort::start_bmca)
    }

    /// Resumes the port after a selection.
    pub(crate) fn go_on(&mut self, paused: PausedPort<'e>, now: MonotonicTime) {
        let (running, actions) = engine::start(paused);
        self.outlet.perform(actions, now);
        self.running = Some(running);
        self.take_records();
        let followed = (self.state() == PortState::TimeReceiver).then(|| self.engine.parent());
        if self.followed != followed {
            (self.followed, self.announced_at) = (followed, now);
        }
    }

    /// Returns when the port has to be served again even if no message comes.
    pub(crate) fn next_at(&self, now: MonotonicTime) -> MonotonicTime {
        let awaits = (!self.outlet.awaited.is_empty()).then(|| now + DEADLINE_STEP);
        let observers = self.observers.as_ref();
        let compared = observers.and_then(|observers| observers.next_at(now));
        // without an interface none of this applies
        let is_open = |_: &MonotonicTime| self.reopen_at.is_none();
        let candidates = [
            self.outlet.timers.next(),
            self.outlet.vigil.next().filter(is_open),
            self.reopen_at,
            awaits,
            compared.filter(is_open),
        ];
        candidates
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(MonotonicTime::MAX)
    }

    /// Returns the sockets to wait for.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = AnySocket<'_>> {
        let sockets = &self.outlet.sockets;
        let open = self.reopen_at.is_none();
        [sockets.event.any(), sockets.general.any()]
            .into_iter()
            .filter(move |_| open)
    }

    pub(crate) fn state(&self) -> PortState {
        let role = self.engine.configuration.role;
        let running = self.running.as_ref();
        let state = running.map_or(PortState::Listening, |running| {
            PortState::of(running.port_ds().port_state, role)
        });
        match state {
            PortState::TimeTransmitter if self.outlet.vigil.is_silent() => PortState::Faulty,
            state => state,
        }
    }

    pub(crate) fn now(&self) -> MonotonicTime {
        self.outlet.sockets.event.now()
    }

    pub(crate) fn socket_for_time(&self) -> &PortSocket {
        &self.outlet.sockets.event
    }

    /// Returns the counts of accepted messages and sent requests.
    pub(crate) fn taken(&self) -> Taken {
        Taken {
            requests: self.outlet.requests,
            ..self.taken
        }
    }

    /// Returns why the system timestamps although hardware timestamps are requested.
    pub(crate) fn not_by_nic(&self) -> Option<&Error> {
        self.not_by_nic.as_ref()
    }

    /// Returns why no message reaches the port, if that is known.
    pub(crate) fn diverted(&self) -> Option<&str> {
        self.diverted.as_deref()
    }

    pub(crate) fn clock(&self) -> &SharedClock {
        &self.clock
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.outlet.counts
    }

    pub(crate) fn silent_for(&self, now: MonotonicTime) -> Span {
        now - self.announced_at
    }

    pub(crate) fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// Sets the limits of the free-running drift of the timestamping clock, which is steered from
    /// now on.
    pub(crate) fn assume_drift(&mut self, drift: (f64, f64)) {
        self.estimators()
            .for_each(|estimator| estimator.assume_drift(drift));
    }

    /// Notes that this program stepped the timestamping clock. No timestamp that is still to come
    /// from either side of the step is used.
    pub(crate) fn restarted(&mut self) {
        self.give_up_awaited(Lost::ClockGeneration);
        self.discard();
        self.clock.borrow_mut().restarted();
        self.forget();
        self.holdover = None;
        if let Some(observers) = &mut self.observers {
            let _ = observers.restarted(); // its requests are given up and counted above
        }
    }

    /// The estimators of the followed and of the compared sources.
    fn estimators(&mut self) -> impl Iterator<Item = &mut Estimator> {
        let observed = self.observers.iter_mut().flat_map(Observers::estimators);
        std::iter::once(&mut self.estimator).chain(observed)
    }

    /// Returns every recently heard source, the followed one first.
    pub(crate) fn sources(&self, now: MonotonicTime) -> impl Iterator<Item = Heard<'_>> {
        let fresh = |observers: &Observers| now - self.estimated_at <= observers.silent_after();
        let followed = self.followed.filter(|_| self.estimator.latest().is_some());
        let own = followed
            .filter(|_| self.observers.as_ref().is_some_and(fresh))
            .map(|identity| Heard {
                domain: self.engine.configuration.domain,
                identity,
                estimator: &self.estimator,
            });
        let observed = self
            .observers
            .iter()
            .flat_map(move |observers| observers.heard(followed, now));
        own.into_iter().chain(observed)
    }

    /// Counts a sample that was lost after it was measured.
    pub(crate) fn lost(&mut self, reason: Lost) {
        self.outlet.counts.lost(reason);
    }

    pub(crate) fn next_estimate(&mut self) -> Option<Measured> {
        self.estimates.pop_front()
    }

    pub(crate) fn announce_own_time(&mut self, time: Option<crate::message::AnnouncedTime>) {
        self.outlet.announced = time;
    }
}
