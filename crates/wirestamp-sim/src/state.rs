//! Everything inside the simulated system, and lets its time pass. Runs no foreign code:
//! jobs and change sinks are [`crate::work`]'s.

use crate::agenda::{Agenda, Happening};
use crate::capture::Captures;
use crate::chance::Chance;
use crate::codes::{Refusal, numbered};
use crate::host::Clocks;
use crate::nic::{self, Nic};
use crate::packet::Packets;
use crate::scenario::{Cost, Event, Host, Link, Platform, Positive, Scenario};
use crate::sockets::Sockets;
use crate::traffic::Sender;
use crate::truth::Record;
use crate::work::Work;
use wirestamp_core::backend::{Change, ChangeKind};
use wirestamp_core::capability::Capabilities;
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::{MonotonicTime, UtcModel};
use wirestamp_core::{Error, Result};

/// How long after lost notifications the system says that some were lost.
const LOSS_NOTICED_AFTER: i64 = 1_000_000_000;

/// The interval at which changes that nobody announces are looked for.
const POLLED_AFTER: i64 = 1_000_000_000;

/// The simulated system.
#[derive(Debug)]
pub(crate) struct State {
    /// True time, in nanoseconds of the system clock.
    pub(crate) now: i64,
    pub(crate) platform: Platform,
    pub(crate) host: Host,
    pub(crate) cost: Cost,
    pub(crate) clocks: Clocks,
    /// Where cross timestamps in UTC lie, if there are any.
    pub(crate) utc_readings: Option<UtcModel>,
    pub(crate) nics: [Nic; 2],
    /// The bridge that they are ports of.
    pub(crate) bridge: Option<InterfaceIndex>,
    pub(crate) link: Link,
    pub(crate) link_chance: Chance,
    /// The delay of each direction beyond the scenario's.
    pub(crate) extra_delay: [i64; 2],
    /// Nothing overtakes on the wire, in either direction.
    pub(crate) last_on_wire: [i64; 2],
    pub(crate) agenda: Agenda,
    pub(crate) packets: Packets,
    pub(crate) sockets: Sockets,
    pub(crate) captures: Captures,
    /// Other programs.
    pub(crate) senders: Vec<Sender>,
    pub(crate) seed: u64,
    pub(crate) next_socket: u64,
    pub(crate) next_port: u16,
    /// Since when at least one socket has receive timestamps enabled.
    pub(crate) timestamping_since: Option<i64>,
    pub(crate) record: Record,
    pub(crate) invalid_readings: u64,
    pub(crate) work: Work,
    /// How many threads are blocked until another one does something.
    pub(crate) waiting: usize,
    /// Scripted events, the next one last.
    script: Vec<Event>,
    started: i64,
    next_index: u32,
    losing_notifications: u32,
}

impl State {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Self {
        let now = scenario.host.start.nanoseconds();
        let nic = |place: usize| Nic::new(place, &scenario.nics[place], now, seed);
        let mut script = scenario.events.clone();
        script.reverse();
        let mut state = Self {
            now,
            platform: scenario.platform,
            host: scenario.host.clone(),
            cost: scenario.cost.clone(),
            clocks: Clocks::new(scenario.platform, &scenario.host, Chance::new(seed, 2)),
            utc_readings: None,
            nics: [nic(0), nic(1)],
            bridge: None,
            link: scenario.link.clone(),
            link_chance: Chance::new(seed, 1),
            extra_delay: [0; 2],
            last_on_wire: [i64::MIN; 2],
            agenda: Agenda::default(),
            packets: Packets::default(),
            sockets: Sockets::default(),
            captures: Captures::default(),
            senders: Vec::new(),
            seed,
            next_socket: 0,
            next_port: 49_152,
            timestamping_since: None,
            record: Record::default(),
            invalid_readings: 0,
            work: Work::default(),
            waiting: 0,
            script,
            started: now,
            next_index: nic::FIRST_INDEX + 2,
            losing_notifications: 0,
        };
        if scenario.bridge {
            state.build_bridge();
        }
        state.enter_next_scripted();
        (0..state.nics.len()).for_each(|nic| state.enter_discipline(nic));
        for traffic in &scenario.traffic {
            state.start_traffic(traffic);
        }
        state
    }

    /// Lets a cost pass.
    pub(crate) fn pass(&mut self, cost: Positive) {
        self.advance_to(self.now.saturating_add(cost.nanoseconds()));
    }

    /// Lets time pass, with all that happens inside the system until then.
    pub(crate) fn advance_to(&mut self, until: i64) {
        while let Some((at, happening)) = self.agenda.take(until) {
            self.now = self.now.max(at);
            self.happen(happening);
        }
        self.now = self.now.max(until);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Departs(packet) => self.depart(packet),
            Happening::Arrives(packet) => self.arrive(packet),
            Happening::Enters(packet) => self.enter(packet),
            Happening::Delivered(packet) => self.deliver(packet),
            Happening::Queued(socket, waiting) => self.queue(socket, waiting),
            Happening::SlotFree { nic, run } => self.nics[nic].free_slot(run),
            Happening::Disciplined { nic } => self.discipline(nic),
            Happening::Refused(socket) => self.refuse(socket),
            Happening::HeldBack(capture, block) => self.captures.expire(capture, block),
            Happening::Asks(sender) => self.ask(sender),
            Happening::Answers(packet) => self.put_out(packet),
            Happening::ClockNoticed(index) => self.changed(Some(index), ChangeKind::HardwareClock),
            Happening::LossNoticed => self.work.report(Change {
                interface: None,
                kind: ChangeKind::Unspecified,
            }),
            Happening::Scripted => {
                if let Some(event) = self.script.pop() {
                    self.perform(event);
                }
                self.enter_next_scripted();
            }
        }
    }

    fn enter_next_scripted(&mut self) {
        if let Some(event) = self.script.last() {
            self.agenda.enter(
                self.started.saturating_add(event.at().nanoseconds()),
                Happening::Scripted,
            );
        }
    }

    /// Returns the monotonic clock's time.
    pub(crate) fn monotonic_now(&self) -> MonotonicTime {
        self.clocks.system(self.now)
    }

    /// Reports a change to everybody, as far as this system reports changes.
    pub(crate) fn changed(&mut self, interface: Option<InterfaceIndex>, kind: ChangeKind) {
        self.sockets.touch();
        if self.losing_notifications > 0 {
            self.losing_notifications -= 1;
            self.agenda.enter(
                self.now.saturating_add(LOSS_NOTICED_AFTER),
                Happening::LossNoticed,
            );
            return;
        }
        self.work.report(match self.platform {
            Platform::Linux => Change { interface, kind },
            // the callback carries neither the NIC nor the reason
            Platform::Windows => Change {
                interface: None,
                kind: ChangeKind::Unspecified,
            },
        });
    }

    /// Who polls sees that another clock is behind an interface.
    pub(crate) fn notice_clock_later(&mut self, interface: InterfaceIndex) {
        let at = self.now.saturating_add(POLLED_AFTER);
        self.agenda.enter(at, Happening::ClockNoticed(interface));
    }

    pub(crate) fn lose_notifications(&mut self, count: u32) {
        self.losing_notifications = count;
    }

    /// An index that no interface ever had.
    pub(crate) fn fresh_index(&mut self) -> InterfaceIndex {
        self.next_index += 1;
        nic::index(self.next_index - 1)
    }

    pub(crate) fn nic_mut(&mut self, index: InterfaceIndex) -> Option<&mut Nic> {
        self.nics
            .iter_mut()
            .find(|nic| nic.present && nic.index == index)
    }

    pub(crate) fn place_of(&self, index: InterfaceIndex) -> Option<usize> {
        self.nics
            .iter()
            .position(|nic| nic.present && nic.index == index)
    }

    /// The NIC that an interface means, or an error about `operation`.
    pub(crate) fn place(
        &self,
        interface: &InterfaceDescription,
        operation: &'static str,
    ) -> Result<usize> {
        self.check_is_nic(interface, operation)?;
        self.place_of(interface.index)
            .ok_or_else(|| Refusal::NoDevice.error(self.platform, operation, &interface.name))
    }

    pub(crate) fn refusal(&self, refusal: Refusal, operation: &'static str, place: usize) -> Error {
        refusal.error(self.platform, operation, self.nics[place].name())
    }

    pub(crate) fn interfaces(&mut self) -> Vec<InterfaceDescription> {
        self.pass(self.cost.query);
        self.nics
            .iter()
            .filter(|nic| nic.present)
            .map(|nic| nic.describe(self.platform))
            .chain(self.describe_bridge())
            .collect()
    }

    pub(crate) fn supported(&mut self, interface: &InterfaceDescription) -> Result<Capabilities> {
        const OPERATION: &str = "query the supported timestamp capabilities";
        self.pass(self.cost.query);
        if let Some(promised) = self.promises_of_bridge(interface) {
            return Ok(promised);
        }
        let nic = &self.nics[self.place(interface, OPERATION)?];
        match nic.settings.supported_code {
            0 => Ok(nic.supported(self.platform)),
            code => Err(numbered(code, OPERATION, nic.name())),
        }
    }

    pub(crate) fn active(&mut self, interface: &InterfaceDescription) -> Result<Capabilities> {
        const OPERATION: &str = "query the active timestamp capabilities";
        self.pass(self.cost.query);
        if let Some(promised) = self.promises_of_bridge(interface) {
            return Ok(promised);
        }
        let nic = &self.nics[self.place(interface, OPERATION)?];
        match nic.settings.active_code {
            0 => Ok(nic.active(self.platform)),
            code => Err(numbered(code, OPERATION, nic.name())),
        }
    }

    pub(crate) fn configuration(
        &mut self,
        interface: &InterfaceDescription,
    ) -> Result<HardwareConfiguration> {
        const OPERATION: &str = "read the hardware timestamping";
        self.pass(self.cost.query);
        let place = self.place(interface, OPERATION)?;
        let nic = &self.nics[place];
        if nic.has_hardware_timestamps() && nic.settings.active_code == 0 {
            return Ok(nic.configuration);
        }
        Err(self.refusal(Refusal::NotSupported, OPERATION, place))
    }

    pub(crate) fn configure(
        &mut self,
        interface: &InterfaceDescription,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration> {
        const OPERATION: &str = "switch the hardware timestamping";
        self.pass(self.cost.query);
        let place = self.place(interface, OPERATION)?;
        if !self.nics[place].has_hardware_timestamps() {
            return Err(self.refusal(Refusal::NotSupported, OPERATION, place));
        }
        if !self.nics[place].settings.configurable {
            return Err(self.refusal(Refusal::NotConfigurable, OPERATION, place));
        }
        if !self.host.privileged {
            return Err(self.refusal(Refusal::NotPermitted, OPERATION, place));
        }
        self.switch(place, wanted)
            .map_err(|refusal| self.refusal(refusal, OPERATION, place))
    }

    /// Switches hardware timestamping, whoever asks.
    pub(crate) fn switch(
        &mut self,
        place: usize,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration, Refusal> {
        let before = self.nics[place].configuration;
        let granted = self.nics[place].switch(wanted)?;
        if granted != before {
            if self.nics[place].settings.restarts_when_configured {
                self.nics[place].reset(self.now, 1);
            }
            let index = self.nics[place].index;
            self.changed(Some(index), ChangeKind::Configuration);
        }
        Ok(granted)
    }
}
