//! Gives a packet that passes a NIC to the captures that see it, with the kernel's header. The buffers are in `ring`.

use super::frame;
use super::ring::{Held, Passing, Ring};
use crate::agenda::Happening;
use crate::codes::Refusal;
use crate::packet::PacketKey;
use crate::scenario::Platform;
use crate::state::State;
use crate::truth::Ends;
use std::collections::BTreeMap;
use wirestamp_core::capture::{
    self, Blocks, CaptureOptions, CaptureStatistics, CapturedDirection, CapturedTime, Fanout,
};
use wirestamp_core::configuration::Source;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::time::UtcTime;
use wirestamp_core::timestamp::Placement;
use wirestamp_core::{Error, ErrorKind, Result};

const OPERATION: &str = "capture";

/// Names a capture; never used twice.
pub(crate) type CaptureId = u64;

/// The captures of a system.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    open: BTreeMap<CaptureId, Open>,
    /// Those that share packets, by the first of them.
    groups: BTreeMap<CaptureId, Group>,
    next: CaptureId,
    /// Memory for one packet.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    interface: InterfaceIndex,
    ring: Ring,
    hold: i64,
    hardware: bool,
    promiscuous: bool,
    group: Option<CaptureId>,
    /// The interface went away, and no call has reported it yet.
    down: bool,
}

#[derive(Debug)]
struct Group {
    mode: Fanout,
    members: Vec<CaptureId>,
    /// Packets that were divided.
    divided: u64,
}

/// The end of a wait at a capture: a block, or the loss of the interface.
#[derive(Debug)]
pub(crate) enum News {
    Block(Held),
    Down,
}

impl Captures {
    pub(crate) fn news(&mut self, id: CaptureId) -> Option<News> {
        if let Some(held) = self.lend(id) {
            return Some(News::Block(held));
        }
        let open = self.open.get_mut(&id)?;
        std::mem::take(&mut open.down).then_some(News::Down)
    }

    /// The next block, if one is ready.
    pub(crate) fn lend(&mut self, id: CaptureId) -> Option<Held> {
        self.open.get_mut(&id)?.ring.lend()
    }

    pub(crate) fn give_back(&mut self, id: CaptureId, held: Held) {
        if let Some(open) = self.open.get_mut(&id) {
            open.ring.give_back(held);
        }
    }

    pub(crate) fn count(&mut self, id: CaptureId) -> CaptureStatistics {
        let open = self.open.get_mut(&id);
        open.map_or(CaptureStatistics::default(), |open| open.ring.count())
    }

    pub(crate) fn close(&mut self, id: CaptureId) {
        let group = self.open.remove(&id).and_then(|open| open.group);
        let Some((name, group)) = group.and_then(|name| Some((name, self.groups.get_mut(&name)?)))
        else {
            return;
        };
        // the last one takes its place, as in Linux
        if let Some(place) = group.members.iter().position(|member| *member == id) {
            group.members.swap_remove(place);
        }
        if group.members.is_empty() {
            self.groups.remove(&name);
        }
    }

    /// A block was held back long enough.
    pub(crate) fn expire(&mut self, id: CaptureId, block: u64) {
        if let Some(open) = self.open.get_mut(&id) {
            open.ring.expire(block);
        }
    }

    /// An interface is gone.
    pub(crate) fn remove(&mut self, interface: InterfaceIndex) {
        let of_it = self.open.values_mut();
        of_it
            .filter(|open| open.interface == interface)
            .for_each(|open| open.down = true);
    }

    /// Whether the NIC lets everything through.
    pub(crate) fn is_promiscuous(&self, interface: InterfaceIndex) -> bool {
        let mut all = self.open.values();
        all.any(|open| open.interface == interface && open.promiscuous)
    }

    /// Those of an interface that get a packet: one of each group.
    fn that_get(&mut self, interface: InterfaceIndex, ends: &Ends) -> Vec<CaptureId> {
        let mut chosen = Vec::new();
        for (id, open) in &self.open {
            if open.interface != interface {
                continue;
            }
            match open.group {
                None => chosen.push(*id),
                Some(name) if !chosen.contains(&name) => chosen.push(name),
                Some(_) => {}
            }
        }
        for id in &mut chosen {
            let Some(group) = self.groups.get_mut(id) else {
                continue;
            };
            let count = group.members.len() as u64;
            let place = match group.mode {
                Fanout::Flow => (flow(ends) * count) >> 32,
                Fanout::Turn => group.divided % count,
                _ => 0, // the simulated host has one processor
            };
            group.divided += 1;
            *id = group.members[place as usize];
        }
        chosen
    }
}

/// A number of 32 bits that both directions of a connection have in common, as Linux' is.
fn flow(ends: &Ends) -> u64 {
    let [one, other] = match ends {
        Ends::Internet {
            source,
            destination,
        } => [source, destination].map(|end| match end.ip() {
            std::net::IpAddr::V4(ip) => (u128::from(ip.to_bits()), end.port()),
            std::net::IpAddr::V6(ip) => (ip.to_bits(), end.port()),
        }),
        Ends::Ethernet {
            source,
            destination,
            ethertype,
        } => [source, destination].map(|station| {
            let octets = station.octets();
            let number = octets
                .iter()
                .fold(0, |all, octet| all << 8 | u128::from(*octet));
            (number, ethertype.get())
        }),
    };
    let mixed = |(address, port): (u128, u16)| {
        let folded = address as u64 ^ (address >> 64) as u64 ^ u64::from(port) << 40;
        let mixed = (folded ^ folded >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let both = mixed(one).wrapping_add(mixed(other));
    (both ^ both >> 32) & 0xffff_ffff
}

impl State {
    /// Opens `count` captures; several share the packets.
    pub(super) fn open_captures(
        &mut self,
        interface: &InterfaceDescription,
        options: &CaptureOptions,
        count: usize,
        fanout: Option<Fanout>,
    ) -> Result<(Vec<CaptureId>, Vec<Placement>)> {
        self.pass(self.cost.query);
        let blocks = self.check_capture(interface, options)?;
        let first = self.captures.next;
        let ids: Vec<_> = (first..first + count as u64).collect();
        self.captures.next += count as u64;
        for id in &ids {
            let open = Open {
                interface: interface.index,
                ring: Ring::new(blocks, options.snap_length),
                hold: i64::try_from(options.hold.as_nanos())
                    .unwrap_or(i64::MAX)
                    .max(1_000_000),
                hardware: options.source != Source::Software,
                promiscuous: options.promiscuous,
                group: fanout.map(|_| first),
                down: false,
            };
            self.captures.open.insert(*id, open);
        }
        if let Some(mode) = fanout {
            let group = Group {
                mode,
                members: ids.clone(),
                divided: 0,
            };
            self.captures.groups.insert(first, group);
        }
        let placements = ids.iter().map(|_| self.clocks.placement(self.now));
        let placements = placements.collect();
        Ok((ids, placements))
    }

    fn check_capture(
        &self,
        interface: &InterfaceDescription,
        options: &CaptureOptions,
    ) -> Result<Blocks> {
        if self.platform == Platform::Windows {
            let remedy = "capture on a simulated Linux: a preset that is not Windows'";
            return Err(capture::refused(interface).with_remedy(remedy));
        }
        let blocks = options.blocks(interface)?;
        if let Some(expression) = options.expression() {
            let cause = "simulated interfaces have no filters";
            let target = format!("'{expression}'");
            let operation = "compile the capture filter";
            let remedy = "capture without a filter, and filter the file that is written, with tcpdump or tshark";
            let error = Error::new(ErrorKind::NotSupported, operation, target, cause);
            return Err(error.with_remedy(remedy));
        }
        let place = self.place(interface, OPERATION)?;
        if !self.host.privileged {
            return Err(self.refusal(Refusal::NotPermitted, OPERATION, place));
        }
        Ok(blocks)
    }

    /// Shows a packet to the captures of a NIC that it passes now.
    pub(crate) fn tap(&mut self, key: PacketKey, place: usize, direction: CapturedDirection) {
        if self.captures.open.is_empty() {
            return;
        }
        let (now, utc) = (self.now, self.clocks.utc(self.now));
        let Some(packet) = self.packets.find(key) else {
            return;
        };
        let for_whom = packet.ingress.unwrap_or(packet.egress);
        let stations = [packet.egress, for_whom].map(|place| self.nics[place].mac());
        let captures = &mut self.captures;
        let mut bytes = std::mem::take(&mut captures.bytes);
        let number = packet.sequence;
        if frame::write(&mut bytes, &packet.ends, stations, number, &packet.payload) {
            let by_the_nic = packet
                .hardware
                .filter(|(ticks, _)| direction != CapturedDirection::Sent && ticks.raw() != 0);
            for id in captures.that_get(self.nics[place].index, &packet.ends) {
                let Some(open) = captures.open.get_mut(&id) else {
                    continue;
                };
                let by_the_nic = by_the_nic.filter(|_| open.hardware);
                let ticks =
                    by_the_nic.map(|(ticks, _)| UtcTime::from_nanoseconds(ticks.raw() as i64));
                let passing = Passing {
                    bytes: &bytes,
                    vlan: packet.vlan,
                    direction,
                    time: CapturedTime {
                        at: Some(ticks.unwrap_or(utc)),
                        is_hardware: ticks.is_some(),
                        is_sent: direction == CapturedDirection::Sent,
                    },
                };
                if let Some(block) = open.ring.put(&passing) {
                    let until = now.saturating_add(open.hold);
                    self.agenda.enter(until, Happening::HeldBack(id, block));
                }
            }
        }
        self.captures.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(source: u16, destination: u16, ipv6: bool) -> Ends {
        let address = |host: u8, port: u16| {
            let text = if ipv6 {
                format!("[2001:db8::{host}]:{port}")
            } else {
                format!("192.0.2.{host}:{port}")
            };
            text.parse().expect("an address")
        };
        Ends::Internet {
            source: address(1, source),
            destination: address(2, destination),
        }
    }

    fn reversed(ends: Ends) -> Ends {
        match ends {
            Ends::Internet {
                source,
                destination,
            } => Ends::Internet {
                source: destination,
                destination: source,
            },
            other => other,
        }
    }

    #[test]
    fn flows_spread_evenly_and_both_directions_are_one() {
        for ipv6 in [false, true] {
            let mut counts = [0; 4];
            for port in 0..4_000 {
                let one = ends(40_000 + port, 4_000, ipv6);
                assert_eq!(flow(&one), flow(&reversed(one)));
                counts[((flow(&one) * 4) >> 32) as usize] += 1;
            }
            assert!(
                counts.iter().all(|count| (800..1_200).contains(count)),
                "{counts:?}"
            );
        }
    }
}
