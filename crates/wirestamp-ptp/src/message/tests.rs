use super::*;

fn message(nibble: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    bytes[0] = nibble;
    bytes[1] = 2;
    bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    bytes[39] = 100; // seconds
    bytes
}

fn fault(bytes: &[u8], event: bool) -> Option<Fault> {
    Message::read(bytes, event, 0).err()
}

#[test]
fn reads_the_fields() {
    let mut bytes = message(0x9, 54);
    bytes[8..16].copy_from_slice(&(1_500i64 << 16).to_be_bytes());
    bytes[20..30].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 0, 9]);
    bytes[30..32].copy_from_slice(&[1, 0]);
    bytes[33] = 0xfd;
    bytes[40..44].copy_from_slice(&7u32.to_be_bytes());
    bytes.extend([0, 0]); // what follows over IPv6
    let read = Message::read(&bytes, false, 0).expect("well-formed");
    assert_eq!((read.kind, read.bytes.len()), (Kind::DelayResponse, 54));
    assert_eq!(read.source().to_string(), "010203.0405.060708-9");
    assert_eq!((read.sequence(), read.log_interval()), (256, -3));
    assert_eq!(read.correction(), Span::from_nanoseconds(1_500));
    assert_eq!(read.timestamp(), Some(100_000_000_007));
    assert_eq!(read.requester(), Some(PortIdentity::default()));
}

#[test]
fn each_fault_is_named() {
    assert_eq!(fault(&[], true), Some(Fault::Truncated));
    assert_eq!(fault(&message(0, 44), true), None);
    assert_eq!(fault(&message(0, 44)[..43], true), Some(Fault::Truncated));
    assert_eq!(fault(&message(0, 44)[..6], true), Some(Fault::Truncated));
    assert_eq!(fault(&message(0, 40), true), Some(Fault::Truncated));
    assert_eq!(fault(&message(0, 44), false), Some(Fault::Port));
    assert_eq!(fault(&message(0xb, 64), true), Some(Fault::Port));
    assert_eq!(fault(&message(0xd, 64), false), Some(Fault::Kind));
    assert_eq!(fault(&message(0xb, 1025), false), Some(Fault::Oversized));
    let with = |nibble, length, place: usize, value: &[u8]| {
        let mut bytes = message(nibble, length);
        bytes[place..place + value.len()].copy_from_slice(value);
        bytes
    };
    assert_eq!(fault(&with(0, 44, 1, &[1]), true), Some(Fault::Version));
    assert_eq!(fault(&with(0, 44, 4, &[3]), true), Some(Fault::Domain));
    assert_eq!(fault(&with(0x10, 44, 4, &[0]), true), Some(Fault::Domain));
    assert_eq!(
        fault(&with(8, 44, 40, &[0x3b, 0x9a, 0xca, 0]), false),
        Some(Fault::Timestamp)
    );
    assert_eq!(
        fault(&with(8, 44, 34, &[0xff; 6]), false),
        Some(Fault::Timestamp)
    );
    assert_eq!(
        fault(&with(0, 44, 8, &[0x7f; 8]), true),
        Some(Fault::Correction)
    );
    assert_eq!(
        fault(&with(0, 44, 8, &[0x80, 0, 0, 0, 0, 0, 0, 0]), true),
        Some(Fault::Correction)
    );
    let early = with(8, 44, 34, &[0; 10]);
    let mut corrected = early.clone();
    corrected[13] = 1;
    assert_eq!(
        (fault(&early, false), fault(&corrected, false)),
        (None, Some(Fault::Timestamp))
    );
    assert_eq!(
        fault(&with(0xb, 64, 61, &[0, 255]), false),
        Some(Fault::StepsRemoved)
    );
}

#[test]
fn our_own_delay_request_is_well_formed() {
    let source = PortIdentity {
        clock: [1, 2, 3, 4, 5, 6, 7, 8],
        port: 0x8001,
    };
    let bytes = delay_request(source, 258, 24, 1);
    let read = Message::read(&bytes, true, 24).expect("well-formed");
    assert_eq!(
        (read.kind, read.source(), read.sequence()),
        (Kind::DelayRequest, source, 258)
    );
    assert_eq!(
        (bytes[1], read.domain(), read.is_two_step()),
        (0x12, 24, false)
    );
}

#[test]
fn a_responder_that_leaves_the_time_of_receipt_zero_has_not_told_it() {
    let mut bytes = message(0x3, 54);
    let told = |bytes: &[u8]| {
        Message::read(bytes, true, 0)
            .expect("well-formed")
            .request_received()
    };
    bytes[34..44].fill(0);
    assert_eq!(told(&bytes), None);
    bytes[39] = 2;
    assert_eq!(told(&bytes), Some(2_000_000_000));
}

#[test]
fn announces_what_is_asked_for_and_keeps_the_leap_flags() {
    let mut bytes = message(0xb, 64);
    bytes[7] = 0x01 | 0x08;
    let time = AnnouncedTime {
        ptp_timescale: false,
        utc_offset: 37,
        utc_valid: true,
        time_traceable: true,
        frequency_traceable: false,
        clock_class: 6,
        clock_accuracy: 0x21,
        time_source: 0x20,
    };
    set_announced_time(&mut bytes, time);
    set_log_interval(&mut bytes, Kind::Announce, 0, -2);
    assert_eq!(bytes[7], 0x01 | 0x04 | 0x10);
    assert_eq!(
        (&bytes[44..46], bytes[48], bytes[49], bytes[63]),
        (&[0, 37][..], 6, 0x21, 0x20)
    );
    assert_eq!(bytes[33] as i8, -2);
}
