//! The loop that serves all measurements: one thread, one wait.

mod exchange;

pub use exchange::Exchanged;

use crate::host::Host;
use crate::interfaces::Interfaces;
use crate::moment::Moment;
use crate::options::{Measurements, TAI_OFFSET};
use crate::place::Place;
use crate::realtime::Realtime;
use crate::report::{PtpReport, Report, StampReport};
use crate::sample::Sample;
use crate::sink::Sink;
use crate::slot::Slot;
use crate::state::{ClockState, InterfaceState, NtpState, State, TaskState};
use crate::task::Turn;
use crate::wanted::Wanted;
use exchange::exchange;
use std::net::{Ipv4Addr, SocketAddr};
use wirestamp::latency::LatencyReport;
use wirestamp::socket::AnySocket;
use wirestamp::{Error, MonotonicTime, Result, Span, UdpSocket};
use wirestamp_ptp::Node;

/// The most wake-ups that are taken in one turn.
const WAKES: usize = 64;
/// The longest wait: the interval at which names that are being resolved and requests of a simulation's readers are
/// checked.
const LONGEST_WAIT: Span = Span::from_seconds(1);
/// The size of the receive buffer: more than any packet that a task takes.
const BUFFER: usize = 65_536;
/// With more sockets than this, packets are gathered for [`GATHER`] before they are served.
const FEW: usize = 128;
const GATHER: Span = Span::from_milliseconds(1);

/// Runs measurements, on one thread.
///
/// ```
/// use wirestamp::{Simulation, Span};
/// use wirestamp_measure::{Engine, Measurements, Path, Place, Sample};
///
/// # fn main() -> wirestamp::Result<()> {
/// # let place = Place::Simulation(Simulation::preset("igc", 1)?);
/// let mut engine = Engine::new(Measurements::default().path(Path::of("sim0")), place)?;
/// let until = engine.now() + Span::from_seconds(10);
/// engine.run_until(until, &mut |sample: &Sample<'_>| println!("{sample:?}"))?;
/// # assert!(engine.state().paths[0].received > 5);
/// # Ok(())
/// # }
/// ```
pub struct Engine {
    asked: Measurements,
    host: Host,
    /// Reads the clocks; readers wake the loop through it.
    clock: UdpSocket,
    slots: Vec<Slot>,
    /// The peers that answer in a simulation.
    peers: Option<Box<Self>>,
    realtime: Realtime,
    /// If NICs' clocks are measured: watches which interfaces have one.
    interfaces: Option<Interfaces>,
    buffer: Vec<u8>,
    /// Tasks that ran at the last turn.
    running: usize,
    /// For which sockets the last wait ended.
    ready: Vec<usize>,
    /// Whether a reader woke the loop.
    is_woken: bool,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Prepares the measurements. One that cannot be opened is tried again while the engine runs.
    ///
    /// # Errors
    /// `Io` if the system cannot open a socket.
    pub fn new(asked: Measurements, place: Place) -> Result<Self> {
        let loopback: SocketAddr = match place {
            Place::System => (Ipv4Addr::LOCALHOST, 0).into(),
            Place::Simulation(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        };
        // a network namespace whose loopback interface is down has no such address
        let any: SocketAddr = (Ipv4Addr::UNSPECIFIED, 0).into();
        let bound = place.bind(None, loopback);
        let clock = bound.or_else(|_| place.bind(None, any))?;
        let watched = asked.clocks.as_ref().map(|_| Interfaces::new(&place));
        let interfaces = watched.transpose()?;
        let mut slots = Vec::new();
        exchange(
            &mut slots,
            Wanted::of(&asked, &with_clocks(interfaces.as_ref())),
        );
        let peers = peers(&asked, &place).map(|peers| Self::new(peers, place.clone()));
        Ok(Self {
            peers: peers.transpose()?.map(Box::new),
            realtime: Realtime::new(tai_offset(&asked), place.is_simulated()),
            asked,
            host: Host::new(place),
            clock,
            slots,
            interfaces,
            buffer: vec![0; BUFFER],
            running: 0,
            ready: Vec::new(),
            is_woken: false,
        })
    }

    /// Returns the measurements that were asked for.
    pub fn asked(&self) -> &Measurements {
        &self.asked
    }

    /// Returns whether the engine measures in a simulation.
    pub fn is_simulated(&self) -> bool {
        self.host.place.is_simulated()
    }

    /// Returns the socket that reads the clocks. A packet to it ends a wait on this system; it has no other use.
    pub fn clock(&self) -> &UdpSocket {
        &self.clock
    }

    /// Returns the monotonic clock, of the system or of the simulation.
    pub fn now(&self) -> MonotonicTime {
        self.clock.now()
    }

    /// Reads both clocks, of the system or of the simulation.
    pub fn moment(&self) -> Moment {
        Moment::by(&self.clock)
    }

    /// Does all work that is due, without waiting. Returns the time of the next work that needs no packet.
    pub fn serve(&mut self, moment: &Moment, sink: &mut dyn Sink) -> MonotonicTime {
        let mut next = self.realtime.look(moment, sink);
        if let Some(interfaces) = &mut self.interfaces
            && interfaces.serve(&self.host.place, moment.now, sink)
        {
            let wanted = Wanted::of(&self.asked, &interfaces.with_clocks());
            exchange(&mut self.slots, wanted);
        }
        let mut turn = Turn::new(*moment, sink, &mut self.buffer);
        let mut running = 0;
        for slot in &mut self.slots {
            next = next.min(slot.serve(&self.host, &mut turn));
            running += usize::from(slot.task().is_some());
        }
        self.running = running;
        if let Some(peers) = &mut self.peers {
            next = next.min(peers.serve(moment, &mut |_: &Sample<'_>| {}));
        }
        if std::mem::take(&mut self.is_woken) {
            // anybody on this host may send to it
            let mut wake = [0; 16];
            let receive = |_| self.clock.receive(&mut wake, std::time::Duration::ZERO);
            (0..WAKES)
                .map(receive)
                .find(|came| !matches!(came, Ok(Some(_))));
        }
        next
    }

    /// Waits for packets, until `until` and at most a second.
    ///
    /// # Errors
    /// `Io` if the system refuses to wait.
    pub fn wait(&mut self, until: MonotonicTime) -> Result<()> {
        self.wait_beside(until, &[])
    }

    /// Waits for packets to one of these sockets or to a measurement, until `until` and at most a second.
    ///
    /// # Errors
    /// `Io` if the system refuses to wait.
    pub fn wait_beside(&mut self, until: MonotonicTime, others: &[&UdpSocket]) -> Result<()> {
        let now = self.now();
        let until = until.min(now + LONGEST_WAIT);
        let (mut sockets, mut owners) = (Vec::new(), Vec::new());
        let peers = self.peers.iter().flat_map(|peers| &peers.slots);
        for (owner, slot) in self.slots.iter().chain(peers).enumerate() {
            if let Some(task) = slot.task() {
                task.sockets(&mut sockets);
                owners.resize(sockets.len(), owner);
            }
        }
        sockets.extend(others.iter().copied().map(AnySocket::from));
        owners.resize(sockets.len(), usize::MAX);
        let gathers = sockets.len() > FEW;
        if self.host.place.is_simulated() {
            // nobody wakes this loop, and its own socket may belong to a NIC that is gone
            if gathers {
                self.clock.sleep_until(until.min(now + GATHER));
            }
            if sockets.is_empty() {
                self.clock.sleep_until(until);
                return Ok(());
            }
        } else {
            if gathers {
                UdpSocket::wait_any(&[&self.clock], until.min(now + GATHER))?;
            }
            sockets.push((&self.clock).into());
        }
        AnySocket::wait_ready(&sockets, until, &mut self.ready)?;
        let ready = std::mem::take(&mut self.ready);
        for place in &ready {
            match owners.get(*place) {
                Some(owner) => self.mark(*owner),
                None => self.is_woken = true,
            }
        }
        self.ready = ready;
        Ok(())
    }

    /// One of its sockets has something.
    fn mark(&mut self, owner: usize) {
        let own = self.slots.len();
        let peers = self.peers.as_mut().map(|peers| &mut peers.slots);
        let of_peers = peers.and_then(|slots| slots.get_mut(owner.checked_sub(own)?));
        if let Some(slot) = self.slots.get_mut(owner).or(of_peers) {
            slot.is_ready = true;
        }
    }

    /// Serves and waits, until `until`.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn run_until(&mut self, until: MonotonicTime, sink: &mut dyn Sink) -> Result<()> {
        while self.now() < until {
            let next = self.serve(&self.moment(), sink);
            self.wait(next.min(until))?;
        }
        Ok(())
    }

    /// Exchanges the measurements. Those in both sets run on with their counts; one with a key restarts if the key in
    /// its file changed.
    pub fn exchange(&mut self, asked: Measurements) -> Exchanged {
        let before = self.slots.len();
        self.slots.retain(|slot| !slot.has_old_key());
        let rekeyed = before - self.slots.len();
        if self.interfaces.is_none() && asked.clocks.is_some() {
            self.interfaces = Interfaces::new(&self.host.place).ok();
        }
        let wanted = Wanted::of(&asked, &with_clocks(self.interfaces.as_ref()));
        let exchanged = exchange(&mut self.slots, wanted);
        if let (Some(own), Some(wanted)) = (&mut self.peers, peers(&asked, &self.host.place)) {
            own.exchange(wanted);
        }
        self.realtime.set_tai_offset(tai_offset(&asked));
        self.asked = asked;
        Exchanged {
            ended: exchanged.ended + rekeyed,
            ..exchanged
        }
    }

    /// Yields the estimates of the clocks at this moment.
    pub fn estimate(&mut self, moment: &Moment, sink: &mut dyn Sink) {
        for slot in &mut self.slots {
            slot.estimate(moment, sink);
        }
    }

    /// Returns the state of all measurements now: estimates, error bounds and ages are of this instant.
    pub fn state(&self) -> State {
        self.state_at(&self.moment())
    }

    /// Returns the state of all measurements at this moment.
    pub fn state_at(&self, moment: &Moment) -> State {
        self.shown(moment, |_| true)
    }

    /// Returns the estimates of the clocks at this moment: NICs' clocks first, the real-time clock last.
    pub fn clocks_at(&self, moment: &Moment) -> Vec<ClockState> {
        self.shown(moment, Slot::is_of_clocks).clocks
    }

    /// Returns the estimates from NTP servers at this moment; `None` before the first.
    pub fn ntp_at(&self, moment: &Moment) -> Option<NtpState> {
        self.shown(moment, Slot::is_ntp).ntp
    }

    fn shown(&self, moment: &Moment, which: impl Fn(&Slot) -> bool) -> State {
        let mut state = State::default();
        let slots = self.slots.iter().filter(|slot| which(slot));
        slots.for_each(|slot| slot.show(moment, &mut state));
        if let Some(ntp) = &mut state.ntp {
            ntp.compare();
        }
        let realtime = self.realtime.show(moment, state.reference());
        state.clocks.push(realtime);
        state
    }

    /// Returns whether all measurements are over: each has taken its samples, or cannot be measured.
    pub fn is_over(&self) -> bool {
        self.slots.iter().all(Slot::is_over)
    }

    /// Ends recordings, and PTP clocks that are alone, once their samples are confirmed. Serve the engine until it [is
    /// over](Self::is_over): it takes the readings that confirm them.
    pub fn finish(&mut self) {
        self.slots.iter_mut().for_each(Slot::finish);
    }

    /// Returns when the newest sample was made that can be evaluated later (NTP's alone can).
    pub fn newest(&self) -> Option<Moment> {
        let newest = self.slots.iter().filter_map(Slot::newest);
        newest.max_by_key(|moment| moment.now)
    }

    /// Returns the state of each measurement as of its own newest sample, in the order in which they are asked for:
    /// NICs' clocks, readings, recordings, the reflector, PTP, NTP, paths, STAMP.
    pub fn outcomes(&self) -> Vec<Outcome<'_>> {
        let now = self.moment();
        let outcome = |slot| {
            let slot: &Slot = slot;
            let mut state = State::default();
            slot.show(&slot.newest().unwrap_or(now), &mut state);
            Outcome {
                task: slot.state(),
                error: slot.error(),
                state,
            }
        };
        self.slots.iter().map(outcome).collect()
    }

    /// Ends all measurements and returns the reports of the STAMP sessions in the order in which they are asked for, or
    /// why there is none. Packets in flight are judged now.
    pub fn into_reports(self, sink: &mut dyn Sink) -> Vec<Result<StampReport>> {
        let stamp = |report| match report {
            Report::Stamp(report) => Some(*report),
            Report::Path(_) | Report::Ptp(_) => None,
        };
        self.reports(Wanted::is_session, stamp, sink)
    }

    /// Ends all measurements and returns the reports of the paths that are measured once, in the order in which they
    /// are asked for, or why there is none. Packets in flight count as unresolved.
    pub fn into_latency(self, sink: &mut dyn Sink) -> Vec<Result<LatencyReport>> {
        let path = |report| match report {
            Report::Path(report) => Some(*report),
            Report::Stamp(_) | Report::Ptp(_) => None,
        };
        self.reports(Wanted::is_path_once, path, sink)
    }

    /// Ends all measurements and returns the reports of the PTP clocks that are [alone](crate::Ptp::alone), in the
    /// order in which they are asked for, or why there is none. Steering ends. Samples that are not confirmed yet are
    /// left out: [`finish`](Self::finish) has them confirmed.
    pub fn into_ptp(self, sink: &mut dyn Sink) -> Vec<Result<PtpReport>> {
        let ptp = |report| match report {
            Report::Ptp(report) => Some(*report),
            Report::Stamp(_) | Report::Path(_) => None,
        };
        self.reports(Wanted::is_ptp_alone, ptp, sink)
    }

    fn reports<T>(
        self,
        which: fn(&Wanted) -> bool,
        pick: fn(Report) -> Option<T>,
        sink: &mut dyn Sink,
    ) -> Vec<Result<T>> {
        let asked = self.slots.into_iter().filter(|slot| which(&slot.wanted));
        asked
            .filter_map(|slot| slot.report(sink).map(pick).transpose())
            .collect()
    }

    /// Asks each PTP clock that runs.
    pub fn ptp<R>(&self, mut ask: impl FnMut(&Node<'_>) -> R) -> Vec<R> {
        let mut answers = Vec::new();
        for task in self.slots.iter().filter_map(Slot::task) {
            task.ask_ptp(&mut |node| answers.push(ask(node)));
        }
        answers
    }

    /// Returns all measurements, and whether each runs.
    pub fn tasks(&self) -> Vec<TaskState> {
        self.slots.iter().map(Slot::state).collect()
    }

    /// Returns the interfaces of this host; none if no NICs' clocks are asked for.
    pub fn interfaces(&self) -> Vec<InterfaceState> {
        let shown = self.interfaces.as_ref().map(Interfaces::show);
        shown.unwrap_or_default()
    }

    /// Returns how many measurements ran at the last turn, and how many there are.
    pub fn running(&self) -> (usize, usize) {
        (self.running, self.slots.len())
    }
}

/// Returns the peers that answer, in a simulation that has them.
fn peers(asked: &Measurements, place: &Place) -> Option<Measurements> {
    match place {
        Place::Simulation(simulation) if asked.answered => Some(asked.peers(simulation)),
        Place::Simulation(_) | Place::System => None,
    }
}

fn with_clocks(interfaces: Option<&Interfaces>) -> Vec<String> {
    interfaces.map_or_else(Vec::new, Interfaces::with_clocks)
}

/// The outcome of a measurement.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome<'e> {
    /// The measurement.
    pub task: TaskState,
    /// Why it failed, if it did.
    pub error: Option<&'e Error>,
    /// Its state.
    pub state: State,
}

fn tai_offset(asked: &Measurements) -> i32 {
    let clocks = asked.clocks.as_ref();
    clocks.map_or(TAI_OFFSET, |clocks| clocks.tai_offset)
}
