//! Any bytes as a capture file, as a packet, and as a block of the kernel's ring: read to an end or an error, compared with itself in
//! bounded memory, where nothing is lost, and nothing read beyond the bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirestamp_capture::answers::answers;
use wirestamp_capture::compare::{Options, compare};
use wirestamp_capture::frames;
use wirestamp_capture::link::Link;
use wirestamp_capture::packet::{describe, ip, read};
use wirestamp_capture::read::Reader;
use wirestamp_core::capture::LinkType;
use wirestamp_sys::wire::packet_ring::Packets;

fuzz_target!(|bytes: &[u8]| {
    for link in [0, 1, 9, 50, 51, 101, 108, 113, 197, 204, 276]
        .into_iter()
        .filter_map(Link::numbered)
    {
        if let Ok(found) = read(link, bytes, u32::MAX) {
            assert!(found.payload.len() <= bytes.len());
        }
    }
    if let Some(frame) = frames::read(Link::Ethernet, bytes, u32::MAX) {
        assert!(frame.payload.len() <= bytes.len().min(frame.length));
        let _ = frame.frames.to_string();
    }
    for link_type in [LinkType::Ethernet, LinkType::Ip] {
        if let Some(found) = ip(link_type, bytes) {
            assert!(found.payload.len() <= bytes.len());
        }
        describe(link_type, bytes);
    }
    let mut captured = 0;
    for packet in Packets::of(bytes) {
        captured += 1;
        let _ = (packet.timestamp(), packet.vlan(), packet.direction());
        assert!(packet.data().len() <= bytes.len());
    }
    assert!(captured <= bytes.len() / 48 + 1);
    let mut packets = [0; 2];
    for count in &mut packets {
        let Ok(mut reader) = Reader::new("fuzz", bytes) else {
            return;
        };
        while let Ok(Some(_)) = reader.next_packet() {
            *count += 1;
        }
    }
    assert_eq!(packets[0], packets[1]);
    if let (Ok(mut a), Ok(mut b)) = (Reader::new("a", bytes), Reader::new("b", bytes)) {
        let mut options = Options::default();
        options.most_waiting = 100;
        options.order_window = 64;
        options.mirrored_once = bytes.len() % 3 == 1;
        options.nat = bytes.len() % 2 == 1;
        if let Ok(report) = compare(&mut a, &mut b, options) {
            assert_eq!(report.files.map(|file| file.packets), [packets[0]; 2]);
            for flow in &report.flows {
                assert!(flow.matched <= packets[0]);
                assert_eq!((flow.lost, flow.extra, flow.duplicated), (0, 0, 0));
            }
        }
    }
    if let Ok(mut reader) = Reader::new("fuzz", bytes) {
        let _ = answers(&mut reader, 1_000_000);
    }
});
