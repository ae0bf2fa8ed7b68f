//! Socket options: what their bytes mean (`bytes`), what was set, and what asking answers. What they
//! do is the adapter layer's affair.

mod bytes;

pub(super) use bytes::number;

use crate::abi::codes::WSAENOPROTOOPT;
use crate::abi::numbers as n;
use std::mem::discriminant;
use std::net::{IpAddr, Ipv4Addr};
use wirestamp_core::backend::InternetSocket;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::{Error, ErrorKind, Result as SystemResult};

/// An interface, as options name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Any,
    Index(u32),
    Address(Ipv4Addr),
}

/// An option with its value, of the IPv4 or the IPv6 level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) ipv6: bool,
    pub(crate) value: Value,
}

/// What an option says. Times in milliseconds, indexes in host order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    ReceiveTimeout(u32),
    SendTimeout(u32),
    Broadcast(bool),
    ReuseAddress(bool),
    ExclusiveAddress(bool),
    ReceiveBuffer(u32),
    SendBuffer(u32),
    PacketInformation(bool),
    /// Received datagrams report their TTL or hop limit.
    HopLimitReported(bool),
    /// Received datagrams report their type of service or traffic class.
    TrafficClassReported(bool),
    /// Received datagrams report their ECN bits.
    EcnReported(bool),
    OnlyIpv6(bool),
    HopLimit(u8),
    TypeOfService(u8),
    DontFragment(bool),
    /// `PMTUD_STATE`.
    PathMtuDiscovery(u8),
    MulticastInterface(Place),
    MulticastHops(u8),
    MulticastLoop(bool),
    UnicastInterface(u32),
    Membership {
        join: bool,
        group: IpAddr,
        place: Place,
    },
    /// A group's datagrams of one source.
    Source {
        change: Change,
        group: IpAddr,
        source: IpAddr,
        place: Place,
    },
}

/// A change of a source of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Join,
    Leave,
    Block,
    Unblock,
}

impl Change {
    /// The change that this one takes back.
    fn undone(self) -> Option<Self> {
        match self {
            Self::Leave => Some(Self::Join),
            Self::Unblock => Some(Self::Block),
            Self::Join | Self::Block => None,
        }
    }
}

impl Place {
    /// The index; 0 where it is not known.
    pub(crate) fn index(self) -> u32 {
        match self {
            Self::Index(index) => index,
            Self::Any | Self::Address(_) => 0,
        }
    }

    /// An IPv4 address, or an index in network order if it begins with 0.
    pub(super) fn of_ipv4(octets: [u8; 4]) -> Self {
        match u32::from_be_bytes(octets) {
            0 => Self::Any,
            index @ 1..=0x00FF_FFFF => Self::Index(index),
            _ => Self::Address(Ipv4Addr::from(octets)),
        }
    }

    pub(super) fn of_index(index: u32) -> Self {
        if index == 0 {
            Self::Any
        } else {
            Self::Index(index)
        }
    }
}

impl Setting {
    /// Whether `other` replaces this one.
    fn is_replaced_by(&self, other: &Self) -> bool {
        match (self.value, other.value) {
            (Value::Membership { .. } | Value::Source { .. }, _) => false,
            _ => self.ipv6 == other.ipv6 && discriminant(&self.value) == discriminant(&other.value),
        }
    }
}

/// The fields of the IP header that a received datagram reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) hop_limit: bool,
    pub(crate) traffic_class: bool,
    pub(crate) ecn: bool,
}

/// What setting this undoes.
fn taken_back(value: Value) -> Option<Value> {
    match value {
        Value::Membership {
            join: false,
            group,
            place,
        } => Some(Value::Membership {
            join: true,
            group,
            place,
        }),
        Value::Source {
            change,
            group,
            source,
            place,
        } => change.undone().map(|change| Value::Source {
            change,
            group,
            source,
            place,
        }),
        _ => None,
    }
}

/// The settings, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings(Vec<Setting>);

impl Settings {
    /// Those that a new socket has where this system's defaults differ from Windows'.
    pub(crate) fn new(ipv6: bool) -> Self {
        Self(if ipv6 {
            vec![Setting {
                ipv6,
                value: Value::OnlyIpv6(true),
            }]
        } else {
            Vec::new()
        })
    }

    /// Returns the settings to apply if `setting` is added: multicast goes together.
    pub(crate) fn changed_by(&self, setting: Setting) -> Self {
        let multicast = |it: &Setting| {
            matches!(
                it.value,
                Value::MulticastInterface(_) | Value::MulticastHops(_) | Value::MulticastLoop(_)
            )
        };
        let mut changed = Self::default();
        if multicast(&setting) {
            changed.0.extend(self.0.iter().copied().filter(multicast));
        }
        changed.0.retain(|known| !known.is_replaced_by(&setting));
        changed.0.push(setting);
        changed
    }

    pub(crate) fn record(&mut self, setting: Setting) {
        if let Some(joined) = taken_back(setting.value) {
            self.0.retain(|known| known.value != joined);
            return;
        }
        self.0.retain(|known| !known.is_replaced_by(&setting));
        self.0.push(setting);
    }

    pub(crate) fn all(&self) -> &[Setting] {
        &self.0
    }

    fn find<T>(&self, wanted: impl Fn(&Setting) -> Option<T>) -> Option<T> {
        self.0.iter().rev().find_map(wanted)
    }

    /// `SO_RCVTIMEO`; 0: for ever.
    pub(crate) fn receive_timeout(&self) -> u32 {
        self.find(|it| {
            if let Value::ReceiveTimeout(value) = it.value {
                Some(value)
            } else {
                None
            }
        })
        .unwrap_or(0)
    }

    /// `SO_SNDTIMEO`; 0: for ever.
    pub(crate) fn send_timeout(&self) -> u32 {
        self.find(|it| {
            if let Value::SendTimeout(value) = it.value {
                Some(value)
            } else {
                None
            }
        })
        .unwrap_or(0)
    }

    /// Whether received datagrams say where they came in, to a socket of this family.
    pub(crate) fn packet_information(&self, ipv6: bool) -> bool {
        let of = |it: &Setting| match it.value {
            Value::PacketInformation(on) if it.ipv6 == ipv6 => Some(on),
            _ => None,
        };
        self.find(of).unwrap_or(false)
    }

    /// Which fields of the IP header received datagrams report to a socket of this family.
    pub(crate) fn reported(&self, ipv6: bool) -> Reported {
        let is_on = |wanted: fn(&Value) -> Option<bool>| {
            let of = |it: &Setting| wanted(&it.value).filter(|_| it.ipv6 == ipv6);
            self.find(of).unwrap_or(false)
        };
        Reported {
            hop_limit: is_on(|value| match value {
                Value::HopLimitReported(on) => Some(*on),
                _ => None,
            }),
            traffic_class: is_on(|value| match value {
                Value::TrafficClassReported(on) => Some(*on),
                _ => None,
            }),
            ecn: is_on(|value| match value {
                Value::EcnReported(on) => Some(*on),
                _ => None,
            }),
        }
    }

    /// Where multicast leaves.
    pub(crate) fn multicast_interface(&self) -> Place {
        self.find(|it| {
            if let Value::MulticastInterface(place) = it.value {
                Some(place)
            } else {
                None
            }
        })
        .unwrap_or(Place::Any)
    }

    /// What getsockopt answers, as its bytes.
    ///
    /// # Errors
    /// `WSAENOPROTOOPT` for an option that can't be asked for; `WSAEINVAL` for an unknown level.
    pub(crate) fn answer(&self, level: i32, name: i32) -> Result<[u8; 4], i32> {
        // Reads a zero as this option: its kind tells which recorded one is meant.
        let is_group = matches!(
            name,
            n::IP_ADD_MEMBERSHIP
                | n::IP_DROP_MEMBERSHIP
                | n::IP_ADD_SOURCE_MEMBERSHIP..=n::IP_UNBLOCK_SOURCE
                | n::MCAST_JOIN_GROUP..=n::MCAST_LEAVE_SOURCE_GROUP
        );
        if is_group && matches!(level, n::IPPROTO_IP | n::IPPROTO_IPV6) {
            return Err(WSAENOPROTOOPT);
        }
        let asked = Setting::read(level, name, &[0; 20])?;
        let known = self.find(|it| it.is_replaced_by(&asked).then_some(it.value));
        Ok(match known.unwrap_or_else(|| default(asked.value)) {
            Value::ReceiveTimeout(value)
            | Value::SendTimeout(value)
            | Value::ReceiveBuffer(value)
            | Value::SendBuffer(value) => value.to_ne_bytes(),
            Value::UnicastInterface(value) if asked.ipv6 => value.to_ne_bytes(),
            Value::UnicastInterface(value) => value.to_be_bytes(),
            Value::Broadcast(on)
            | Value::ReuseAddress(on)
            | Value::ExclusiveAddress(on)
            | Value::PacketInformation(on)
            | Value::HopLimitReported(on)
            | Value::TrafficClassReported(on)
            | Value::EcnReported(on)
            | Value::OnlyIpv6(on)
            | Value::DontFragment(on)
            | Value::MulticastLoop(on) => u32::from(on).to_ne_bytes(),
            Value::HopLimit(value)
            | Value::TypeOfService(value)
            | Value::PathMtuDiscovery(value)
            | Value::MulticastHops(value) => u32::from(value).to_ne_bytes(),
            Value::MulticastInterface(Place::Address(address)) => address.octets(),
            Value::MulticastInterface(place) if asked.ipv6 => place.index().to_ne_bytes(),
            Value::MulticastInterface(place) => place.index().to_be_bytes(),
            Value::Membership { .. } | Value::Source { .. } => return Err(WSAENOPROTOOPT),
        })
    }

    /// Puts groups and multicast in force on a simulated socket.
    pub(crate) fn apply_simulated(
        &self,
        socket: &dyn InternetSocket,
        adapters: &[InterfaceDescription],
    ) -> SystemResult<()> {
        let found =
            |place: Place| find(place, adapters).or_else(|| InterfaceIndex::new(place.index()));
        for setting in &self.0 {
            if let Value::Source { .. } = setting.value {
                return Err(no_sources());
            }
            let Value::Membership { join, group, place } = setting.value else {
                continue;
            };
            let Some(index) = found(place) else { continue };
            match join {
                true => socket.join_multicast(group, index)?,
                false => socket.leave_multicast(group, index)?,
            }
        }
        let place = self.multicast_interface();
        let hops = self.find(|it| {
            if let Value::MulticastHops(hops) = it.value {
                Some(hops)
            } else {
                None
            }
        });
        let looped = self.find(|it| {
            if let Value::MulticastLoop(on) = it.value {
                Some(on)
            } else {
                None
            }
        });
        match found(place) {
            Some(index) if place != Place::Any || hops.is_some() || looped.is_some() => {
                socket.set_multicast(index, hops.unwrap_or(1).into(), looped.unwrap_or(true))
            }
            _ => Ok(()),
        }
    }
}

/// The simulated network chooses no sources.
fn no_sources() -> Error {
    let cause = "the simulated network delivers a group's datagrams of every source";
    Error::new(
        ErrorKind::NotSupported,
        "choose the sources of a group",
        "a simulated socket",
        cause,
    )
    .with_code(WSAENOPROTOOPT)
}

/// What an option is before it is set.
fn default(value: Value) -> Value {
    match value {
        Value::HopLimit(_) => Value::HopLimit(64),
        Value::MulticastHops(_) => Value::MulticastHops(1),
        Value::MulticastLoop(_) => Value::MulticastLoop(true),
        other => other, // read from zeros
    }
}

fn find(place: Place, adapters: &[InterfaceDescription]) -> Option<InterfaceIndex> {
    let found = match place {
        Place::Any => adapters.first(),
        Place::Index(index) => adapters.iter().find(|adapter| adapter.index.get() == index),
        Place::Address(wanted) => {
            let has = |adapter: &&InterfaceDescription| {
                adapter
                    .addresses
                    .iter()
                    .any(|known| known.address == wanted)
            };
            adapters.iter().find(has)
        }
    };
    found.map(|adapter| adapter.index)
}

#[cfg(test)]
mod tests;
