//! Hours of faults: no error bound violated against the simulator's truth, no memory lost, counters that add up.

use crate::faults::{Asked, Faults, SCENARIO};
use crate::servers::{NtpServer, address, node, transmitter};
use crate::{adds_up, alone, held_by, number_from};
use std::collections::BTreeMap;
use std::net::IpAddr;
use wirestamp::{MonotonicTime, Simulation, Span};
use wirestamp_monitor::snapshot::{ClockState, NtpServerState, Snapshot};
use wirestamp_monitor::{Configuration, Monitor, Place};
use wirestamp_ptp::Node;

/// Between two faults.
const APART: Span = Span::from_seconds(20);
/// A packet of the monitor's has arrived by then.
const ARRIVED: Span = Span::from_nanoseconds(20_000);
/// The servers look at their queues at least so often.
const LOOK: Span = Span::from_milliseconds(50);
/// Between what is shown and the look at the truth, clocks drift apart by so much at most.
const SLACK: i128 = 10;

/// The server whose clock is stepped.
const LIAR: usize = 2;
/// The longest way there and back.
const MOST_PATH: Span = Span::from_milliseconds(11);

/// A step of a server's clock.
#[derive(Debug)]
struct Step {
    at: MonotonicTime,
    size: i128,
    /// The bound that was known before the step.
    bound: Option<i128>,
    resets: u64,
    samples: u64,
}

/// How often the samples were forgotten: a task that failed begins without any.
fn resets(server: &NtpServerState, snapshot: &Snapshot) -> u64 {
    let tasks = snapshot.tasks.iter();
    let its = tasks.filter(|task| task.kind == "ntp" && task.name == server.name);
    let failures: u64 = its.map(|task| task.failures).sum();
    failures + server.steps.values().sum::<u64>()
}

struct Day<'e> {
    simulation: Simulation,
    /// The address of sim1, also while it is gone.
    peer: IpAddr,
    monitor: Monitor,
    servers: Vec<NtpServer>,
    /// Of the last server's clock, which nobody knows of before it has answered.
    step: Option<Step>,
    transmitter: Node<'e>,
    faults: Faults,
    checks: BTreeMap<&'static str, u64>,
}

fn configuration(peer: IpAddr, servers: &[NtpServer], peers: usize) -> Configuration {
    let mut text =
        format!("[reflector]\nlisten = [\"{peer}:862\"]\n[[path]]\ninterface = \"sim0\"\n");
    for number in 0..peers {
        text += &format!(
            "[[stamp]]\nname = \"peer{number}\"\npeer = \"{peer}\"\ninterface = \"sim0\"\nclocks = \"same\"\ninterval = \"500ms\"\n"
        );
    }
    for server in servers {
        text += &format!(
            "[[ntp]]\nserver = \"{}\"\ninterval = \"8s\"\n",
            server.address()
        );
    }
    text += "[[ptp]]\ninterface = \"sim0\"\noptions = { source = \"software\", role = \"time_receiver\" }\n";
    Configuration::from_toml(&text).expect("it is right")
}

impl<'e> Day<'e> {
    fn new(engine: &'e wirestamp_ptp::Engine, seed: u64) -> Self {
        let simulation = Simulation::from_toml(SCENARIO, seed).expect("a scenario");
        let servers: Vec<_> = [(123, 0), (124, 180), (125, -90)]
            .map(|(port, drift)| NtpServer::on(&simulation, port, drift))
            .into();
        let peer = address(&simulation, "sim1");
        let configuration = configuration(peer, &servers, 3);
        let monitor =
            Monitor::new(configuration, Place::Simulation(simulation.clone())).expect("it starts");
        Self {
            transmitter: node(engine, &simulation),
            faults: Faults::new(simulation.clone(), seed),
            simulation,
            peer,
            monitor,
            servers,
            step: None,
            checks: BTreeMap::new(),
        }
    }

    fn run_until(&mut self, until: MonotonicTime) {
        let mut turns = 0;
        while self.monitor.now() < until {
            turns += 1;
            assert!(
                turns < 20_000,
                "the loop turns without waiting: {:?}",
                self.monitor.snapshot().tasks
            );
            let next = self.monitor.serve();
            let now = self.monitor.now();
            self.monitor.wait(now + ARRIVED).expect("it waits");
            self.servers.iter_mut().for_each(NtpServer::serve);
            self.transmitter.serve();
            let next = next
                .min(until)
                .min(now + LOOK)
                .min(self.transmitter.next_at());
            self.monitor.wait(next).expect("it waits");
        }
    }

    fn run(&mut self, time: Span, with_faults: bool) {
        let until = self.monitor.now() + time;
        let mut due = self.monitor.now() + APART;
        while self.monitor.now() < until {
            self.run_until(self.monitor.now() + Span::from_seconds(1));
            let now = self.monitor.now();
            self.faults.undo(now);
            if with_faults && now >= due {
                due = now + APART;
                match self.faults.next(now) {
                    Asked::Nothing => {}
                    Asked::Lie(lie) => self.lie(lie),
                    Asked::Reload => {
                        let peers = 2 + (self.faults.count % 2) as usize;
                        let new = configuration(self.peer, &self.servers, peers);
                        self.monitor.reload(new).expect("it is right");
                    }
                }
            }
            let snapshot = self.monitor.snapshot();
            self.check(&snapshot);
        }
    }

    /// The offset lies within its bound of the truth.
    fn holds(
        &mut self,
        what: &'static str,
        offset: i64,
        bound: i64,
        truth: i128,
        shown: &dyn std::fmt::Debug,
    ) {
        let error = (i128::from(offset) - truth).abs();
        assert!(
            error <= i128::from(bound) + SLACK,
            "{what}: off by {error} ns, the bound is {bound} ns, {:?} after {} faults, the last {}: {shown:?}",
            self.monitor.now(),
            self.faults.count,
            self.faults.last,
        );
        *self.checks.entry(what).or_default() += 1;
    }

    /// Steps the clock of the last server.
    fn lie(&mut self, lie: Span) {
        let snapshot = self.monitor.snapshot();
        let shown = &snapshot.ntp.as_ref().expect("there are some").servers[LIAR];
        let (was, before) = (self.servers[LIAR].lie, self.step.take());
        self.servers[LIAR].lie = lie;
        self.step = Some(Step {
            at: self.monitor.now(),
            // after one that was too small to be found out, nobody can say how large this one seems
            size: (lie - was).nanoseconds().abs() * i128::from(before.is_none()),
            bound: shown.bound_ns.map(i128::from),
            resets: resets(shown, &snapshot),
            samples: shown.samples,
        });
    }

    /// Whether the samples of before the step are forgotten; a step that contradicts them must be found out by the next one that was asked for after it.
    fn is_found_out(
        &mut self,
        shown: &NtpServerState,
        snapshot: &Snapshot,
        now: MonotonicTime,
    ) -> bool {
        let Some(step) = &self.step else { return true };
        if resets(shown, snapshot) > step.resets {
            self.step = None;
            return true;
        }
        let drift = (now - step.at).nanoseconds() / 1_000;
        if let Some(bound) = step.bound
            // one answer may have been on its way
            && shown.samples > step.samples + 1
        {
            let seen = bound + drift + MOST_PATH.nanoseconds();
            assert!(step.size <= seen, "nobody noticed {step:?}: {shown:?}");
        }
        false
    }

    fn check(&mut self, snapshot: &Snapshot) {
        adds_up::check(snapshot);
        let truth = self.simulation.world().truth();
        let (now, utc) = (truth.now(), i128::from(truth.utc().nanoseconds()));
        for clock in snapshot.clocks.iter().filter(|clock| clock.kind == "phc") {
            self.check_clock(clock, now, utc);
        }
        let Some(ntp) = &snapshot.ntp else {
            return;
        };
        for (place, shown) in ntp.servers.iter().enumerate() {
            if place == LIAR && !self.is_found_out(shown, snapshot, now) {
                continue;
            }
            let offset = utc - self.servers[place].clock(now);
            if let (Some(shown_offset), Some(bound)) = (shown.offset_ns, shown.bound_ns) {
                self.holds("server", shown_offset, bound, offset, shown);
            }
        }
        for port in &snapshot.ptp {
            // both ends read the same clock
            if let (Some(offset), Some(bound)) = (port.offset_ns, port.bound_ns) {
                self.holds("ptp", offset, bound, 0, port);
            }
        }
    }

    fn check_clock(&mut self, clock: &ClockState, now: MonotonicTime, utc: i128) {
        let (Some(offset), Some(bound)) = (clock.utc_offset_ns, clock.utc_bound_ns) else {
            return;
        };
        let Ok(interface) = self.simulation.interface(&clock.name) else {
            return;
        };
        let ticks = self
            .simulation
            .world()
            .truth()
            .hardware_ticks_at(interface.index(), now)
            .expect("it has a clock");
        self.holds("clock", offset, bound, i128::from(ticks.raw()) - utc, clock);
    }
}

/// Runs so many hours, and a quiet end; returns what the monitor held then.
fn endure(hours: f64, seed: u64) -> i64 {
    let engine = transmitter();
    let mut day = Day::new(&engine, seed);
    day.run(Span::from_seconds(30), false);
    day.run(Span::from_seconds((hours * 3_600.0) as i64), true);
    // everything comes back, and nobody lies
    day.lie(Span::ZERO);
    day.run(Span::from_seconds(120), false);
    let before = day.monitor.snapshot();
    day.run(Span::from_seconds(30), false);
    let after = day.monitor.snapshot();
    assert!(
        after.tasks.iter().all(|task| task.state == "running"),
        "{:?}",
        after.tasks
    );
    for (before, after) in before.peers.iter().zip(&after.peers) {
        assert!(after.answered >= before.answered + 50, "{after:?}");
    }
    assert!(after.ptp[0].offset_ns.is_some(), "{:?}", after.ptp);
    let ntp = after.ntp.as_ref().expect("there are some");
    assert!(
        ntp.servers.iter().all(|server| server.offset_ns.is_some()),
        "{ntp:?}"
    );
    let clocks = after.clocks.iter().filter(|clock| clock.kind == "phc");
    assert_eq!(
        clocks.filter(|clock| clock.utc_offset_ns.is_some()).count(),
        2
    );
    let mut missing = BTreeMap::new();
    for peer in &after.peers {
        for (reason, count) in &peer.timestamps.missing {
            *missing.entry(reason.clone()).or_insert(0) += count;
        }
    }
    assert!(
        missing["deadline"] > 0 && missing["never_generated"] > 0,
        "{missing:?}"
    );
    let Day {
        checks,
        faults,
        monitor,
        ..
    } = day;
    for what in ["clock", "server", "ptp"] {
        assert!(
            checks
                .get(what)
                .is_some_and(|count| *count as f64 > hours * 500.0),
            "{checks:?}"
        );
    }
    let held = held_by(monitor);
    crate::say(&format!(
        "{hours} h, {} faults, {held} bytes, {checks:?}, missing {missing:?}",
        faults.count
    ));
    held
}

#[test]
fn hours_of_faults_violate_no_bound_and_cost_no_memory() {
    let _alone = alone();
    let hours = number_from("WIRESTAMP_DAY_HOURS", 0.2);
    let seed = number_from("WIRESTAMP_DAY_SEED", 1.0) as u64;
    let (short, long) = (endure(hours / 8.0, seed), endure(hours, seed));
    // events that are kept, delays of a rare length
    assert!(
        long < short + short / 2 + 200_000,
        "{short} bytes, then {long}"
    );
}

#[test]
fn the_same_seed_makes_the_same_day() {
    let _alone = alone();
    let told = || {
        let engine = transmitter();
        let mut day = Day::new(&engine, 5);
        day.run(Span::from_seconds(60), true);
        let mut snapshot = day.monitor.snapshot();
        // what the real system's clock and memory have to do with it
        snapshot.own = Default::default();
        serde_json::to_string(&snapshot).expect("JSON")
    };
    assert_eq!(told(), told());
}
