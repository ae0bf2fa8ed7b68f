//! The bytes that `GetAdaptersAddresses` gives: records, lists and texts in one buffer,
//! with pointers into it. Pure: the buffer's address is a number here.

use crate::abi::WideCharacter;
use crate::abi::adapters::{
    FLAG_IPV4, FLAG_IPV6, INCLUDE_PREFIX, SKIP_FRIENDLY_NAME, SKIP_UNICAST, adapter, prefix,
    unicast,
};
use crate::abi::address::AddressBytes;
use crate::iphlp::adapters::Listed;
use crate::iphlp::guid;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirestamp_core::interface::InterfaceAddress;

/// Records start at multiples of this, as the buffer must.
pub(super) const ALIGNMENT: usize = 8;
/// `IpPrefixOriginOther`, `IpSuffixOriginOther`: the system does not report the origin.
const ORIGIN_OTHER: u32 = 0;
/// `IpDadStatePreferred`.
const STATE_PREFERRED: u32 = 4;
/// `NET_IF_CONNECTION_DEDICATED`.
const CONNECTION_DEDICATED: u32 = 1;

/// A text as wide characters, with the 0 that ends it.
#[cfg(not(windows))]
pub(crate) fn wide(text: &str) -> Vec<WideCharacter> {
    text.chars().map(u32::from).chain([0]).collect()
}

/// A text as wide characters, with the 0 that ends it.
#[cfg(windows)]
pub(crate) fn wide(text: &str) -> Vec<WideCharacter> {
    text.encode_utf16().chain([0]).collect()
}

/// The text of wide characters; `None` if they are none.
#[cfg(not(windows))]
pub(crate) fn narrow(wide: &[WideCharacter]) -> Option<String> {
    wide.iter()
        .map(|character| char::from_u32(*character))
        .collect()
}

/// The text of wide characters; `None` if they are none.
#[cfg(windows)]
pub(crate) fn narrow(wide: &[WideCharacter]) -> Option<String> {
    String::from_utf16(wide).ok()
}

/// A buffer that grows, whose first byte will lie at `base`.
struct Buffer {
    base: usize,
    bytes: Vec<u8>,
}

impl Buffer {
    /// Room for `length` zeros, aligned; returns where.
    fn room(&mut self, length: usize) -> usize {
        let at = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(at + length, 0);
        at
    }

    fn put(&mut self, at: usize, value: &[u8]) {
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    fn number(&mut self, at: usize, value: u32) {
        self.put(at, &value.to_ne_bytes());
    }

    fn long(&mut self, at: usize, value: u64) {
        self.put(at, &value.to_ne_bytes());
    }

    /// Writes a pointer to `target`, which lies in the buffer. Counting only, `base` is 0.
    fn pointer(&mut self, at: usize, target: usize) {
        let address = self.base.wrapping_add(target);
        self.put(at, &address.to_ne_bytes());
    }

    /// Adds bytes; returns where.
    fn add(&mut self, value: &[u8]) -> usize {
        let at = self.room(value.len());
        self.put(at, value);
        at
    }

    fn text(&mut self, at: usize, text: &str) {
        let wide: Vec<u8> = wide(text)
            .iter()
            .flat_map(|character| character.to_ne_bytes())
            .collect();
        let place = self.add(&wide);
        self.pointer(at, place);
    }

    /// A record of a list of addresses, linked to by `link`; returns where.
    fn address(&mut self, link: usize, length: usize, address: IpAddr) -> usize {
        let at = self.room(length);
        self.pointer(link, at);
        self.number(at + unicast::LENGTH_FIELD, length as u32);
        let written = AddressBytes::new(SocketAddr::new(address, 0), address.is_ipv6());
        let place = self.add(written.bytes());
        self.pointer(at + unicast::ADDRESS, place);
        self.number(at + unicast::ADDRESS_LENGTH, written.bytes().len() as u32);
        at
    }
}

/// The buffer's bytes, for a buffer at `base`.
pub(super) fn of(adapters: &[Listed], flags: u32, base: usize) -> Vec<u8> {
    let mut buffer = Buffer {
        base,
        bytes: Vec::new(),
    };
    let mut link = None;
    for listed in adapters {
        let at = buffer.room(adapter::LENGTH);
        if let Some(link) = link {
            buffer.pointer(link, at);
        }
        link = Some(at + adapter::NEXT);
        write(&mut buffer, at, listed, flags);
    }
    buffer.bytes
}

fn write(buffer: &mut Buffer, at: usize, listed: &Listed, flags: u32) {
    let when = |condition: bool, value: u32| if condition { value } else { 0 };
    buffer.number(at + adapter::LENGTH_FIELD, adapter::LENGTH as u32);
    // The samples look adapters up by the IPv4 index: every one of Linux has it.
    buffer.number(at + adapter::INDEX, listed.index);
    buffer.number(
        at + adapter::INDEX_IPV6,
        when(listed.has_ipv6, listed.index),
    );
    let name = guid::text(&guid::of(listed.luid)) + "\0";
    let place = buffer.add(name.as_bytes());
    buffer.pointer(at + adapter::ADAPTER_NAME, place);
    buffer.text(at + adapter::DNS_SUFFIX, "");
    buffer.text(at + adapter::DESCRIPTION, &listed.description);
    if flags & SKIP_FRIENDLY_NAME == 0 {
        buffer.text(at + adapter::FRIENDLY_NAME, &listed.name);
    }
    let physical = &listed.hardware_address[..listed.hardware_address.len().min(8)];
    buffer.put(at + adapter::PHYSICAL_ADDRESS, physical);
    buffer.number(at + adapter::PHYSICAL_ADDRESS_LENGTH, physical.len() as u32);
    buffer.number(
        at + adapter::FLAGS,
        when(listed.has_ipv4, FLAG_IPV4) | when(listed.has_ipv6, FLAG_IPV6),
    );
    buffer.number(
        at + adapter::MTU,
        if listed.loopback {
            u32::MAX
        } else {
            listed.mtu
        },
    );
    buffer.number(at + adapter::TYPE, listed.interface_type);
    buffer.number(at + adapter::STATE, listed.state);
    for scope in 0..16 {
        buffer.number(at + adapter::ZONE_INDICES + 4 * scope, listed.index);
    }
    buffer.long(at + adapter::TRANSMIT_SPEED, listed.bits_per_second);
    buffer.long(at + adapter::RECEIVE_SPEED, listed.bits_per_second);
    buffer.long(at + adapter::LUID, listed.luid);
    buffer.number(at + adapter::COMPARTMENT, 1);
    buffer.number(at + adapter::CONNECTION_TYPE, CONNECTION_DEDICATED);
    if flags & SKIP_UNICAST == 0 {
        write_unicast(buffer, at + adapter::FIRST_UNICAST, &listed.addresses);
    }
    if flags & INCLUDE_PREFIX != 0 {
        write_prefixes(buffer, at + adapter::FIRST_PREFIX, &listed.addresses);
    }
}

fn write_unicast(buffer: &mut Buffer, mut link: usize, addresses: &[InterfaceAddress]) {
    for known in addresses {
        let at = buffer.address(link, unicast::LENGTH, known.address);
        buffer.number(at + unicast::PREFIX_ORIGIN, ORIGIN_OTHER);
        buffer.number(at + unicast::SUFFIX_ORIGIN, ORIGIN_OTHER);
        buffer.number(at + unicast::STATE, STATE_PREFERRED);
        buffer.put(at + unicast::LIFETIMES, &[0xFF; 12]); // for ever
        buffer.put(at + unicast::PREFIX_LENGTH, &[known.prefix_length]);
        link = at + unicast::NEXT;
    }
}

fn write_prefixes(buffer: &mut Buffer, mut link: usize, addresses: &[InterfaceAddress]) {
    for known in addresses {
        let at = buffer.address(link, prefix::LENGTH, network(known));
        buffer.number(at + prefix::PREFIX_LENGTH, known.prefix_length.into());
        link = at + unicast::NEXT;
    }
}

/// The address with its host part taken away.
fn network(known: &InterfaceAddress) -> IpAddr {
    match known.address {
        IpAddr::V4(address) => {
            let mask = u32::MAX
                .checked_shl(32 - u32::from(known.prefix_length.min(32)))
                .unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX
                .checked_shl(128 - u32::from(known.prefix_length.min(128)))
                .unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests;
