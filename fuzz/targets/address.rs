//! Socket addresses: what is read can be written, and comes back the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, SocketAddr};
use wirestamp_sys::wire::address::{AddressBytes, read};

fuzz_target!(|input: (SocketAddr, &[u8])| {
    check(input.0);
    if let Some(address) = read(input.1) {
        let family = u16::from_ne_bytes([input.1[0], input.1[1]]);
        assert!([libc::AF_INET, libc::AF_INET6].contains(&i32::from(family)));
        assert_eq!(address.port(), u16::from_be_bytes([input.1[2], input.1[3]]));
        let canonical = address.ip().to_canonical();
        assert_eq!(address.ip(), canonical, "a mapped address got through");
        check(address);
    }
});

fn check(address: SocketAddr) {
    for mapped in [false, true] {
        let encoded = AddressBytes::new(address, mapped);
        let back = read(encoded.bytes()).expect("what was written can be read");
        assert_eq!(back.ip(), address.ip().to_canonical());
        assert_eq!(back.port(), address.port());
        if let (SocketAddr::V6(back), SocketAddr::V6(address)) = (back, address) {
            assert_eq!(back.scope_id(), address.scope_id());
        }
        let short = &encoded.bytes()[..encoded.bytes().len() - 1];
        let complete_anyway = matches!(back.ip(), IpAddr::V4(_)) && !mapped; // zeros at the end
        assert!(
            complete_anyway || read(short).is_none(),
            "read from too few bytes"
        );
    }
}
