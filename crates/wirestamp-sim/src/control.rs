//! Events from outside: the scenario's, and the same ones made by tests.

use crate::clock::PER_PPB;
use crate::scenario::{Event, Filter, Length, Platform, Which};
use crate::state::State;
use crate::world::World;
use wirestamp_core::backend::ChangeKind;
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::time::Span;

/// One of the two NICs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NicName {
    /// `sim0`.
    Sim0,
    /// `sim1`.
    Sim1,
}

impl NicName {
    pub(crate) const fn which(self) -> Which {
        match self {
            Self::Sim0 => Which::Sim0,
            Self::Sim1 => Which::Sim1,
        }
    }
}

impl State {
    /// Makes an event happen now.
    pub(crate) fn perform(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::StepUtc { by, .. } => self.clocks.step_utc(by.nanoseconds()),
            Event::SlewSystem { ppb, .. } => self.slew_system(i64::from(ppb) * PER_PPB),
            Event::AdjustHardware { nic, ppb, .. } => {
                let nic = &mut self.nics[nic.place()];
                if nic.virtual_clocks == 0 {
                    nic.counter.adjust(now, i64::from(ppb) * PER_PPB);
                }
            }
            Event::StepHardware { nic, ticks, .. } => {
                let nic = &mut self.nics[nic.place()];
                // beside virtual clocks it runs free: the kernel returns EBUSY
                if nic.virtual_clocks == 0 {
                    nic.counter.step_by(now, ticks);
                }
            }
            Event::ResetHardware { nic, to, .. } => {
                self.nics[nic.place()].reset(now, to);
                self.tell(nic, ChangeKind::HardwareClock);
            }
            Event::ChangeRate { nic, ppb, .. } => {
                self.nics[nic.place()].counter.change_rate(now, ppb);
            }
            Event::ChangeClock {
                nic,
                clock,
                ahead,
                ppb,
                announced,
                ..
            } => self.change_clock(nic, (clock, ahead, ppb), announced),
            Event::VirtualClocks { nic, count, .. } => self.set_virtual_clocks(nic, count),
            Event::Reconfigure {
                nic,
                transmit,
                receive,
                ..
            } => {
                let wanted = HardwareConfiguration {
                    transmit,
                    receive: receive.filter(),
                };
                // another program's mistake is its own
                let _refused = self.switch(nic.place(), wanted);
            }
            Event::LinkDown { .. } => self.set_carrier(false),
            Event::LinkUp { .. } => self.set_carrier(true),
            Event::Remove { nic, .. } => {
                if self.nics[nic.place()].present {
                    self.set_virtual_clocks(nic, 0);
                    self.tell(nic, ChangeKind::Removed);
                    self.nics[nic.place()].present = false;
                    self.captures.remove(self.nics[nic.place()].index);
                }
            }
            Event::Add { nic, .. } => {
                if !self.nics[nic.place()].present {
                    let fresh = self.fresh_index();
                    self.nics[nic.place()].come_back(now, fresh);
                    self.tell(nic, ChangeKind::Added);
                }
            }
            Event::Storm { count, .. } => {
                for number in 0..count {
                    let nic = if number % 2 == 0 {
                        Which::Sim0
                    } else {
                        Which::Sim1
                    };
                    self.tell(nic, ChangeKind::Link);
                }
            }
            Event::LoseNotifications { count, .. } => self.lose_notifications(count),
        }
    }

    /// The system clock is slewed: seen from it, all NICs' counters change their pace.
    pub(crate) fn slew_system(&mut self, by: i64) {
        self.clocks.slew_system(self.now, by);
        for nic in &mut self.nics {
            nic.counter.slew_system(self.now, by);
            let beside = nic.clocks_beside.values_mut();
            beside.for_each(|counter| counter.slew_system(self.now, by));
        }
    }

    /// Another hardware clock is behind a NIC's interface. Who polls sees a change that is not announced within a second.
    fn change_clock(&mut self, which: Which, (number, ahead, ppb): (u32, Length, i32), told: bool) {
        let (now, seed) = (self.now, self.seed);
        let nic = &mut self.nics[which.place()];
        let before = nic.clock_number().filter(|_| nic.present);
        if before.is_none() || before == Some(number) {
            return;
        }
        nic.change_clock(now, number, |nic| {
            nic.another_counter(now, seed, number, ahead, ppb)
        });
        let index = nic.index;
        if told {
            self.changed(Some(index), ChangeKind::HardwareClock);
        } else if self.platform == Platform::Linux {
            self.notice_clock_later(index);
        }
    }

    fn tell(&mut self, nic: Which, kind: ChangeKind) {
        let index = self.nics[nic.place()].index;
        self.changed(Some(index), kind);
    }

    fn set_carrier(&mut self, carrier: bool) {
        for which in [Which::Sim0, Which::Sim1] {
            let nic = &mut self.nics[which.place()];
            if nic.carrier != carrier {
                nic.carrier = carrier;
                self.tell(which, ChangeKind::Link);
            }
        }
    }
}

/// Changes that a test makes to the world. Change sinks run before each of these returns.
impl World {
    /// Somebody sets the real-time clock.
    pub fn step_real_time_clock(&self, by: Span) {
        let by = Length::from_nanoseconds(by.saturating_nanoseconds());
        self.perform(Event::StepUtc {
            at: Default::default(),
            by,
        });
    }

    /// Somebody slews the real-time clock against the monotonic clock: it runs faster by
    /// `parts_per_billion` from now on. At most by 1,000,000 (`SetSystemTimeAdjustmentPrecise`), and only on a simulated
    /// Windows: Linux slews both clocks alike.
    pub fn slew_real_time_clock(&self, parts_per_billion: i32) {
        self.with(|state| {
            let clock = state.clocks.real_time_clock();
            let most = i64::from(clock.slew_parts_per_million) * 1_000;
            let slew = i64::from(parts_per_billion).clamp(-most, most);
            state.clocks.slew_utc(state.now, slew);
        });
    }

    /// Somebody slews the system clock: it runs faster than by itself by `parts_per_billion` from now on (0:
    /// as by itself), as adjtime (500 ppm) and chronyd (83,333 ppm) make it.
    pub fn slew_system_clock(&self, parts_per_billion: i32) {
        let ppb = parts_per_billion.clamp(-100_000_000, 100_000_000);
        self.perform(Event::SlewSystem {
            at: Default::default(),
            ppb,
        });
    }

    /// Another program adds to a hardware clock, without a notification. Beside
    /// [virtual clocks](Self::set_virtual_clocks) it fails.
    pub fn step_hardware_clock(&self, nic: NicName, ticks: i64) {
        self.perform(Event::StepHardware {
            at: Default::default(),
            nic: nic.which(),
            ticks,
        });
    }

    /// Resets a NIC: its counter starts from `to`, with a notification.
    pub fn reset_nic(&self, nic: NicName, to: u64) {
        self.perform(Event::ResetHardware {
            at: Default::default(),
            nic: nic.which(),
            to,
        });
    }

    /// A hardware clock's constant frequency error becomes `parts_per_billion`, without a notification.
    pub fn change_hardware_rate(&self, nic: NicName, parts_per_billion: i32) {
        let ppb = parts_per_billion.clamp(-100_000_000, 100_000_000);
        self.perform(Event::ChangeRate {
            at: Default::default(),
            nic: nic.which(),
            ppb,
        });
    }

    /// Another hardware clock is behind a NIC's interface, announced as a failover of a bond is: that number `clock`, which at
    /// its first use is `ahead` of the former one.
    pub fn change_clock(&self, nic: NicName, clock: u32, ahead: Span) {
        self.change_clock_to(nic, clock, ahead, true);
    }

    /// The same without an announcement, as another timestamp provider is chosen (Linux 6.14): who polls every second
    /// reports it.
    pub fn change_clock_silently(&self, nic: NicName, clock: u32, ahead: Span) {
        self.change_clock_to(nic, clock, ahead, false);
    }

    fn change_clock_to(&self, nic: NicName, clock: u32, ahead: Span, announced: bool) {
        self.perform(Event::ChangeClock {
            at: Default::default(),
            nic: nic.which(),
            clock,
            ahead: Length::from_nanoseconds(ahead.saturating_nanoseconds()),
            ppb: 0,
            announced,
        });
    }

    /// Another program puts so many virtual clocks beside a NIC's own (0: takes them away), as
    /// on Linux; stepping the NIC's fails meanwhile.
    pub fn set_virtual_clocks(&self, nic: NicName, count: u32) {
        self.perform(Event::VirtualClocks {
            at: Default::default(),
            nic: nic.which(),
            count,
        });
    }

    /// Another program switches hardware timestamping; a configuration that the driver rejects changes nothing.
    pub fn reconfigure_by_another(&self, nic: NicName, configuration: HardwareConfiguration) {
        if let Some(receive) = Filter::new(configuration.receive) {
            let (at, nic, transmit) = (Default::default(), nic.which(), configuration.transmit);
            self.perform(Event::Reconfigure {
                at,
                nic,
                transmit,
                receive,
            });
        }
    }

    /// The cable is pulled, or put back.
    pub fn set_link(&self, up: bool) {
        let at = Default::default();
        self.perform(if up {
            Event::LinkUp { at }
        } else {
            Event::LinkDown { at }
        });
    }

    /// Delays packets of `sender` by so much more than the scenario says, from now on; the routes changed. No packet
    /// overtakes those on the wire.
    pub fn set_extra_delay(&self, sender: NicName, extra: Span) {
        let extra = extra.saturating_nanoseconds().max(0);
        self.with(|state| state.extra_delay[sender.which().place()] = extra);
    }

    /// A NIC goes away.
    pub fn remove_nic(&self, nic: NicName) {
        self.perform(Event::Remove {
            at: Default::default(),
            nic: nic.which(),
        });
    }

    /// A NIC comes back: under another index, switched off, its counter started anew.
    pub fn add_nic(&self, nic: NicName) {
        self.perform(Event::Add {
            at: Default::default(),
            nic: nic.which(),
        });
    }

    /// So many link notifications at once.
    pub fn storm(&self, count: u32) {
        self.perform(Event::Storm {
            at: Default::default(),
            count,
        });
    }

    /// The next `count` notifications are lost; that one was is reported a second after it.
    pub fn lose_notifications(&self, count: u32) {
        self.perform(Event::LoseNotifications {
            at: Default::default(),
            count,
        });
    }

    fn perform(&self, event: Event) {
        self.with(|state| state.perform(event));
        self.tell_sinks();
    }
}
