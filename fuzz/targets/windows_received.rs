//! What the control messages of a datagram received on Windows say, against a plain reading;
//! and Windows' socket addresses, which must come back as they were written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use wirestamp_fuzz::control::walk;
use wirestamp_sys::abi::address::AddressBytes;
use wirestamp_sys::windows_wire::control::received;
use wirestamp_sys::windows_wire::socket_address::read;

/// Levels and types, written out: a wrong constant in the parser is found here.
const KNOWN: [(i32, i32); 4] = [(0xffff, 0x300a), (0, 19), (41, 19), (0xffff, 0x300b)];

fuzz_target!(|input: (Vec<(u8, &[u8])>, &[u8], SocketAddr)| {
    let (messages, bytes, address) = input;
    check(bytes);
    let mut built = Vec::new();
    for (which, data) in messages {
        append(&mut built, KNOWN[usize::from(which) % KNOWN.len()], data);
    }
    check(&built);
    let _ = read(bytes);
    let back =
        read(AddressBytes::new(address, true).bytes()).expect("what was written can be read");
    assert_eq!(
        (back.ip(), back.port()),
        (address.ip().to_canonical(), address.port())
    );
});

fn append(bytes: &mut Vec<u8>, (level, kind): (i32, i32), data: &[u8]) {
    bytes.extend((size_of::<usize>() + 8 + data.len()).to_ne_bytes());
    bytes.extend(level.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
}

fn check(bytes: &[u8]) {
    let (mut timestamp, mut packet) = (None, (None, None));
    for found in walk(bytes) {
        let data = &bytes[found.begin..found.end];
        match found.what {
            (0xffff, 0x300a) => {
                timestamp = data
                    .get(..8)
                    .map(|eight| u64::from_ne_bytes(eight.try_into().expect("eight")));
            }
            (0, 19) if data.len() >= 8 => {
                let octets: [u8; 4] = data[..4].try_into().expect("four");
                packet = (Some(IpAddr::from(octets)), Some(index(&data[4..8])));
            }
            (41, 19) if data.len() >= 20 => {
                let octets: [u8; 16] = data[..16].try_into().expect("sixteen");
                packet = (
                    Some(Ipv6Addr::from(octets).to_canonical()),
                    Some(index(&data[16..20])),
                );
            }
            _ => {}
        }
    }
    let said = received(bytes);
    assert_eq!(
        said.timestamp.map_or(0, std::num::NonZeroU64::get),
        timestamp.unwrap_or(0),
        "zero is no timestamp"
    );
    assert_eq!(said.destination, packet.0);
    assert_eq!(
        said.interface.map_or(0, |interface| interface.get()),
        packet.1.unwrap_or(0)
    );
}

fn index(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes.try_into().expect("four"))
}
