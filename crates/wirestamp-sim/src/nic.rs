//! A simulated NIC: its identity, its timestamping and how that is switched, its counter and its transmit slots.

use crate::chance::Chance;
use crate::clock::Counter;
use crate::codes::Refusal;
use crate::discipline::Servo;
use crate::frames::covers_frame;
use crate::scenario::{self, Filter, Length, Platform, TransmitTimestamps};
use crate::truth::Ends;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wirestamp_core::capability::{
    Capabilities, HardwareCapabilities, KernelMasks, SoftwareCapabilities,
};
use wirestamp_core::configuration::{HardwareConfiguration, ReceiveFilter};
use wirestamp_core::interface::{
    InterfaceAddress, InterfaceDescription, InterfaceIndex, InterfaceState,
};
use wirestamp_core::time::HardwareTicks;

/// The first index; each further NIC, and each that comes back, takes the next.
pub(crate) const FIRST_INDEX: u32 = 1_000;

/// `SOF_TIMESTAMPING_*`, `linux/net_tstamp.h`.
const TX_HARDWARE: u32 = 1;
const TX_SOFTWARE: u32 = 1 << 1;
const RX_HARDWARE: u32 = 1 << 2;
const RX_SOFTWARE: u32 = 1 << 3;
const SOFTWARE: u32 = 1 << 4;
const RAW_HARDWARE: u32 = 1 << 6;

/// One NIC.
#[derive(Debug)]
pub(crate) struct Nic {
    pub(crate) place: usize,
    pub(crate) index: InterfaceIndex,
    /// The bridge that takes what arrives here.
    pub(crate) port_of: Option<InterfaceIndex>,
    pub(crate) present: bool,
    pub(crate) carrier: bool,
    pub(crate) settings: scenario::Nic,
    pub(crate) configuration: HardwareConfiguration,
    pub(crate) counter: Counter,
    /// Which clock that counter is of, where it is not the NIC's first.
    other_clock: Option<u32>,
    /// The clocks that were behind it before, by number: they run on.
    pub(crate) clocks_beside: BTreeMap<u32, Counter>,
    /// Until when which clock was behind it, in order.
    pub(crate) former_clocks: Vec<(i64, u32)>,
    pub(crate) chance: Chance,
    /// How many virtual clocks are beside its own.
    pub(crate) virtual_clocks: u32,
    slots_taken: u16,
    /// Counts resets: slots of an earlier run are free.
    pub(crate) run: u32,
    /// Nothing overtakes: when the last packet left, when its timestamp was collected, and when
    /// the last one came in.
    pub(crate) last_departure: i64,
    pub(crate) last_collection: i64,
    pub(crate) last_entry: i64,
    pub(crate) last_delivery: i64,
    pub(crate) last_cross: Option<i64>,
    /// Of the program that disciplines a clock.
    pub(crate) servo: Servo,
}

impl Nic {
    pub(crate) fn new(place: usize, settings: &scenario::Nic, now: i64, seed: u64) -> Self {
        let receive = settings.receive_at_start.filter();
        Self {
            place,
            index: index(FIRST_INDEX + place as u32),
            port_of: None,
            present: true,
            carrier: true,
            configuration: HardwareConfiguration {
                transmit: settings.transmit_at_start,
                receive,
            },
            counter: Counter::new(&settings.clock, now, Chance::new(seed, 10 + place as u64)),
            other_clock: None,
            clocks_beside: BTreeMap::new(),
            former_clocks: Vec::new(),
            chance: Chance::new(seed, 20 + place as u64),
            settings: settings.clone(),
            virtual_clocks: 0,
            slots_taken: 0,
            run: 0,
            last_departure: i64::MIN,
            last_collection: i64::MIN,
            last_entry: i64::MIN,
            last_delivery: i64::MIN,
            last_cross: None,
            servo: Servo::default(),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        ["sim0", "sim1"][self.place]
    }

    /// The number of its clock, if it has one.
    pub(crate) fn clock_number(&self) -> Option<u32> {
        self.settings
            .clock
            .present
            .then(|| self.other_clock.unwrap_or(self.index.get() - FIRST_INDEX))
    }

    pub(crate) fn address(&self, ipv6: bool) -> IpAddr {
        let host = self.place as u8 + 1;
        match ipv6 {
            false => IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)),
            true => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into())),
        }
    }

    pub(crate) fn addresses(&self) -> [InterfaceAddress; 2] {
        [(false, 24), (true, 64)].map(|(ipv6, prefix_length)| InterfaceAddress {
            address: self.address(ipv6),
            prefix_length,
        })
    }

    pub(crate) fn has(&self, address: IpAddr) -> bool {
        self.present && self.address(address.is_ipv6()) == address
    }

    pub(crate) fn describe(&self, platform: Platform) -> InterfaceDescription {
        let mut description = InterfaceDescription::new(self.name(), self.index);
        description.alternative_names =
            vec![["simulated", "simulated-peer"][self.place].to_owned()];
        description.luid =
            (platform == Platform::Windows).then(|| u64::from(self.index.get()) << 24 | 6 << 48);
        description.port_of = self.port_of;
        if self.port_of.is_none() {
            description.addresses = Vec::from(self.addresses());
        }
        description.mac_address = Some(self.mac());
        description.mtu = self.settings.mtu;
        description.state = if self.carrier {
            InterfaceState::Up
        } else {
            InterfaceState::NoCarrier
        };
        description.hardware_clock = self.clock_number();
        description.simulated = true;
        description
    }

    pub(crate) fn supported(&self, platform: Platform) -> Capabilities {
        let advertised = |filter: ReceiveFilter| {
            Filter::new(filter)
                .is_some_and(|filter| self.settings.receive_filters.contains(&filter))
        };
        let events = advertised(ReceiveFilter::PtpV2Udp) || advertised(ReceiveFilter::PtpV2);
        let transmit = self.settings.hardware_transmit;
        self.capabilities(platform, advertised(ReceiveFilter::All), events, transmit)
    }

    pub(crate) fn active(&self, platform: Platform) -> Capabilities {
        if !self.settings.active {
            return Capabilities {
                kernel_masks: None,
                ..Capabilities::default()
            };
        }
        let receive = self.configuration.receive;
        let transmit = if self.configuration.transmit {
            self.settings.hardware_transmit
        } else {
            TransmitTimestamps::None
        };
        let events = receive != ReceiveFilter::All && receive.timestamps_ptp_v2_udp_events();
        self.capabilities(platform, receive == ReceiveFilter::All, events, transmit)
    }

    fn capabilities(
        &self,
        platform: Platform,
        all: bool,
        events: bool,
        transmit: TransmitTimestamps,
    ) -> Capabilities {
        let settings = &self.settings;
        let hardware = HardwareCapabilities {
            ptp_v2_over_udp_ipv4_event_message_receive: events,
            ptp_v2_over_udp_ipv6_event_message_receive: events && settings.ptp_over_ipv6,
            all_receive: all,
            all_transmit: transmit == TransmitTimestamps::All,
            tagged_transmit: transmit == TransmitTimestamps::Tagged,
            ..HardwareCapabilities::default()
        };
        Capabilities {
            nominal_frequency: (settings.clock.present && settings.clock.report_frequency)
                .then(|| self.counter.nominal())
                .flatten(),
            cross_timestamp: settings.clock.present
                && settings.cross.method != scenario::CrossKind::None
                && settings.cross.code == 0,
            hardware,
            software: SoftwareCapabilities {
                all_receive: settings.software_receive,
                all_transmit: false,
                tagged_transmit: settings.software_transmit,
            },
            kernel_masks: (platform == Platform::Linux).then(|| self.masks()),
        }
    }

    /// Returns the capabilities as the kernel reports them, whatever is active.
    fn masks(&self) -> KernelMasks {
        let settings = &self.settings;
        let bits = [
            (
                settings.hardware_transmit != TransmitTimestamps::None,
                TX_HARDWARE | RAW_HARDWARE,
            ),
            (
                settings
                    .receive_filters
                    .iter()
                    .any(|filter| *filter != Filter::NONE),
                RX_HARDWARE | RAW_HARDWARE,
            ),
            (settings.software_transmit, TX_SOFTWARE | SOFTWARE),
            (settings.software_receive, RX_SOFTWARE | SOFTWARE),
        ];
        let on = u32::from(settings.hardware_transmit != TransmitTimestamps::None);
        KernelMasks {
            so_timestamping: bits
                .iter()
                .filter(|(has, _)| *has)
                .fold(0, |mask, (_, bits)| mask | bits),
            transmit_types: if settings.clock.present {
                1 | on << 1
            } else {
                0
            },
            receive_filters: settings
                .receive_filters
                .iter()
                .fold(0, |mask, filter| mask | filter.mask()),
        }
    }

    /// Switches hardware timestamping as the driver does. Returns the granted configuration, or why there is none.
    pub(crate) fn switch(
        &mut self,
        wanted: HardwareConfiguration,
    ) -> Result<HardwareConfiguration, Refusal> {
        if wanted.transmit && self.settings.hardware_transmit == TransmitTimestamps::None {
            return Err(Refusal::OutOfRange);
        }
        let asked = Filter::new(wanted.receive).ok_or(Refusal::OutOfRange)?;
        let granted = match self.settings.grants.get(&asked) {
            Some(granted) => *granted,
            None if asked == Filter::NONE || self.settings.receive_filters.contains(&asked) => {
                asked
            }
            None => return Err(Refusal::OutOfRange),
        };
        let granted = HardwareConfiguration {
            transmit: wanted.transmit,
            receive: granted.filter(),
        };
        // Measured: asked afterwards, the driver that granted "some" reports the wanted configuration.
        self.configuration = if granted.receive == ReceiveFilter::Some {
            wanted
        } else {
            granted
        };
        Ok(granted)
    }

    /// Whether hardware timestamping can be switched or asked for at all.
    pub(crate) fn has_hardware_timestamps(&self) -> bool {
        self.settings.hardware_transmit != TransmitTimestamps::None
            || !self.settings.receive_filters.is_empty()
    }

    /// Whether the driver hands a sent packet to the unit that timestamps.
    pub(crate) fn reserves(&self) -> bool {
        self.settings.active && (self.configuration.transmit || self.settings.reserves_when_off)
    }

    /// Returns whether that unit never timestamps a packet that it was handed: the packet waits for ever.
    pub(crate) fn is_silent(&self) -> bool {
        self.settings.hardware_silent
            || (self.settings.reserves_when_off && !self.configuration.transmit)
    }

    /// Whether a received datagram gets a hardware timestamp.
    pub(crate) fn timestamps_received(&self, ends: &Ends, payload: &[u8]) -> bool {
        let filter = self.configuration.receive;
        let covered = match ends {
            Ends::Internet { destination, .. } => {
                (destination.is_ipv4()
                    || self.settings.ptp_over_ipv6
                    || filter == ReceiveFilter::All)
                    && covers(filter, destination.port(), payload)
            }
            Ends::Ethernet { ethertype, .. } => covers_frame(filter, *ethertype, payload),
        };
        self.settings.active && !self.settings.hardware_silent && covered
    }

    /// Takes a transmit slot.
    pub(crate) fn take_slot(&mut self) -> bool {
        let free = self.slots_taken < self.settings.transmit.slots;
        self.slots_taken += u16::from(free);
        free
    }

    /// Frees a slot that was taken in `run`.
    pub(crate) fn free_slot(&mut self, run: u32) {
        if run == self.run {
            self.slots_taken = self.slots_taken.saturating_sub(1);
        }
    }

    /// The delays of a reading, if the caller is held up in the middle of it.
    pub(crate) fn held_up(&mut self, forward: i64, back: i64) -> (i64, i64) {
        let (often, most) = (
            self.settings.cross.held_up,
            self.settings.cross.held_up_by.length(),
        );
        if !self.chance.happens(often) {
            return (forward, back);
        }
        let by = self.chance.between(Length::default(), most);
        match self.chance.below(2) {
            0 => (forward.saturating_add(by), back),
            _ => (forward, back.saturating_add(by)),
        }
    }

    /// Another clock is behind the interface from `now` on: one that was before, or `fresh`.
    pub(crate) fn change_clock(
        &mut self,
        now: i64,
        number: u32,
        fresh: impl FnOnce(&mut Self) -> Counter,
    ) {
        let Some(current) = self.clock_number().filter(|current| *current != number) else {
            return;
        };
        let next = self.clocks_beside.remove(&number);
        let next = next.unwrap_or_else(|| fresh(self));
        let former = std::mem::replace(&mut self.counter, next);
        self.clocks_beside.insert(current, former);
        self.former_clocks.push((now, current));
        self.other_clock = Some(number);
    }

    /// The counter of a clock that is beside the present one, of the same make.
    pub(crate) fn another_counter(
        &mut self,
        now: i64,
        seed: u64,
        number: u32,
        ahead: scenario::Length,
        ppb: i32,
    ) -> Counter {
        let shown = self.counter.read(now).map_or(0, HardwareTicks::raw);
        let hertz = i128::from(self.settings.clock.hertz);
        let more = i128::from(ahead.nanoseconds()) * hertz / 1_000_000_000;
        let mut clock = self.settings.clock.clone();
        clock.start = (i128::from(shown) + more) as i64;
        clock.frequency_error_ppb = clock.frequency_error_ppb.saturating_add(ppb);
        let stream = 1_000 * (1 + self.place as u64) + u64::from(number);
        Counter::new(&clock, now, Chance::new(seed, stream))
    }

    /// Returns the counter's value of a clock that is behind the interface, or was.
    pub(crate) fn ticks_of(&mut self, number: u32, now: i64) -> Option<HardwareTicks> {
        match self.clocks_beside.get_mut(&number) {
            Some(counter) => counter.read(now),
            None => self.ticks(now),
        }
    }

    /// Returns the counter's value. `None` without a counter.
    pub(crate) fn ticks(&mut self, now: i64) -> Option<HardwareTicks> {
        self.settings
            .clock
            .present
            .then(|| self.counter.read(now))
            .flatten()
    }

    /// The NIC is reset: counter from `to`, all slots free.
    pub(crate) fn reset(&mut self, now: i64, to: u64) {
        self.counter.restart(now, to);
        self.run += 1;
        self.slots_taken = 0;
    }

    /// The NIC comes back: a new index, everything off.
    pub(crate) fn come_back(&mut self, now: i64, fresh: InterfaceIndex) {
        self.reset(now, 0);
        self.index = fresh;
        self.port_of = None;
        (self.other_clock, self.clocks_beside) = (None, BTreeMap::new());
        self.former_clocks.clear();
        self.present = true;
        self.configuration = HardwareConfiguration::OFF;
    }
}

/// An index that is surely not zero.
pub(crate) fn index(number: u32) -> InterfaceIndex {
    InterfaceIndex::new(number.max(1)).unwrap_or(index_of_the_first())
}

const fn index_of_the_first() -> InterfaceIndex {
    match InterfaceIndex::new(FIRST_INDEX) {
        Some(index) => index,
        None => panic!("not zero"),
    }
}

/// Whether a filter timestamps a UDP datagram to `port` (PTP event port 319, NTP port 123).
pub(crate) const SYNC: u8 = 0;
pub(crate) const DELAY_REQUEST: u8 = 1;

fn covers(filter: ReceiveFilter, port: u16, payload: &[u8]) -> bool {
    use ReceiveFilter as F;
    let message = |version: u8| {
        let first = payload.first().filter(|_| port == 319)?;
        (payload.get(1)? & 0xf == version).then_some(first & 0xf)
    };
    // version 1 has its message type in the control field, byte 32
    let old = || message(1).and(payload.get(32).copied());
    match filter {
        F::All => true,
        F::PtpV2 | F::PtpV2Udp => message(2).is_some_and(|kind| kind < 4),
        F::PtpV2Sync | F::PtpV2UdpSync => message(2) == Some(SYNC),
        F::PtpV2DelayRequest | F::PtpV2UdpDelayRequest => message(2) == Some(DELAY_REQUEST),
        F::PtpV1Udp => old().is_some_and(|kind| kind < 2),
        F::PtpV1UdpSync => old() == Some(SYNC),
        F::PtpV1UdpDelayRequest => old() == Some(DELAY_REQUEST),
        F::Ntp => port == 123,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_timestamp_their_messages_and_no_others() {
        let sync = [0x00, 0x02];
        let delay_request = [0x01, 0x02];
        let announce = [0x0b, 0x02];
        assert!(covers(ReceiveFilter::PtpV2, 319, &sync));
        assert!(!covers(ReceiveFilter::PtpV2, 320, &sync));
        assert!(!covers(ReceiveFilter::PtpV2, 319, &announce));
        assert!(!covers(ReceiveFilter::PtpV2UdpSync, 319, &delay_request));
        assert!(covers(
            ReceiveFilter::PtpV2DelayRequest,
            319,
            &delay_request
        ));
        assert!(!covers(ReceiveFilter::PtpV2, 319, &[]));
        assert!(covers(ReceiveFilter::Ntp, 123, &[]));
        assert!(
            !covers(ReceiveFilter::PtpV2Ethernet, 319, &sync),
            "another layer"
        );
        let mut old_sync = [0; 33];
        old_sync[1] = 1;
        assert!(covers(ReceiveFilter::PtpV1UdpSync, 319, &old_sync));
        assert!(!covers(ReceiveFilter::PtpV1UdpDelayRequest, 319, &old_sync));
    }
}
