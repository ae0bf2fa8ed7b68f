//! What the control messages of a received datagram say, against a plain reading.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::UtcTime;
use wirestamp_fuzz::control::{
    Buffer, DROPPED, IPV4_PACKET, IPV6_PACKET, TIMESTAMPING_INTERFACE, last_timestamps, walk, word,
};
use wirestamp_sys::wire::control::received;

fuzz_target!(|input: (Buffer<'_>, &[u8])| {
    check(&input.0.bytes());
    check(input.1);
});

fn check(bytes: &[u8]) {
    let found = walk(bytes);
    let datas = |what| {
        found
            .iter()
            .filter(move |found| found.what == what)
            .map(|found| &bytes[found.begin..found.end])
    };
    let said = received(bytes);

    let (software, hardware) = last_timestamps(bytes, &found);
    assert_eq!(said.timestamps.software.map(UtcTime::nanoseconds), software);
    assert_eq!(
        said.timestamps
            .hardware
            .map(|ticks| ticks.raw().cast_signed()),
        hardware
    );
    assert_eq!(
        said.dropped,
        datas(DROPPED).next_back().and_then(|data| word(data, 0))
    );

    let packets = found
        .iter()
        .rev()
        .filter_map(|found| packet(found.what, &bytes[found.begin..found.end]));
    let (delivered_by, destination) = packets.into_iter().next().unzip();
    assert_eq!(said.destination, destination);
    assert_eq!(said.interface, delivered_by.flatten());
    let timestamped_by = datas(TIMESTAMPING_INTERFACE)
        .next_back()
        .and_then(|data| word(data, 0))
        .and_then(InterfaceIndex::new);
    assert_eq!(said.device, timestamped_by);
}

/// Interface and destination.
fn packet(what: (i32, i32), data: &[u8]) -> Option<(Option<InterfaceIndex>, IpAddr)> {
    let interface = |at| word(data, at).and_then(InterfaceIndex::new);
    match what {
        IPV4_PACKET => {
            let octets: [u8; 4] = data.get(8..12)?.try_into().ok()?;
            Some((interface(0), Ipv4Addr::from(octets).into()))
        }
        IPV6_PACKET => {
            let octets: [u8; 16] = data.get(..16)?.try_into().ok()?;
            let address = Ipv6Addr::from(octets);
            Some((
                interface(16),
                address
                    .to_ipv4_mapped()
                    .map_or(address.into(), IpAddr::from),
            ))
        }
        _ => None,
    }
}
