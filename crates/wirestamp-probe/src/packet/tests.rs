use super::*;

const T1: WireTimestamp = WireTimestamp([0xee, 0xad, 0x20, 0xb2, 0x89, 0x93, 0x48, 0xcc]);

fn key() -> Key {
    Key::from_octets(&(0..32).collect::<Vec<u8>>()).expect("a key")
}

fn request() -> Request {
    Request {
        sequence: 7,
        timestamp: T1,
        error_bits: 0x8ad2,
        ssid: 42,
    }
}

fn reply() -> Reply {
    Reply {
        sequence: 0x0102_0304,
        timestamp: WireTimestamp([0x11; 8]),
        error: ErrorEstimate::from_bits(0x4587).expect("valid"),
        ssid: 0x2a2b,
        received: WireTimestamp([0x22; 8]),
        sender_sequence: 0x0506_0708,
        sender_timestamp: T1,
        sender_error_bits: 0x8ad2,
        sender_ttl: 250,
    }
}

fn octets(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

/// The octets of both were computed by another program.
#[test]
fn requests_are_laid_out_as_in_the_rfc() {
    let mut open = [0xff; 44];
    request().write(None, &mut open);
    let expected = octets("00000007 eead20b2899348cc 8ad2 002a");
    assert_eq!(open[..16], expected);
    assert_eq!(open[16..], [0; 28]);
    assert_eq!(Request::read(&open, None), Ok(request()));

    let mut signed = [0xff; 112];
    request().write(Some(&key()), &mut signed);
    let tag = octets("278fa598 ebffd0b9 be92bdfc 2d6ef110");
    assert_eq!(signed[..4], [0, 0, 0, 7]);
    assert_eq!(signed[4..16], [0; 12]);
    assert_eq!(signed[16..28], octets("eead20b2899348cc 8ad2 002a"));
    assert_eq!(signed[28..96], [0; 68]);
    assert_eq!(signed[96..], tag);
    assert_eq!(Request::read(&signed, Some(&key())), Ok(request()));
}

#[test]
fn replies_are_laid_out_as_in_the_rfc() {
    let mut open = [0xff; 44];
    reply().write(None, &mut open);
    let expected = octets(
        "01020304 1111111111111111 4587 2a2b 2222222222222222 05060708 eead20b2899348cc 8ad2 0000 fa 000000",
    );
    assert_eq!(open.to_vec(), expected);
    assert_eq!(Reply::read(&open, None), Ok(reply()));

    let mut signed = [0xff; 112];
    reply().write(Some(&key()), &mut signed);
    let zeros = |count: usize| "00".repeat(count);
    let expected = octets(&format!(
        "01020304 {} 1111111111111111 4587 2a2b {} 2222222222222222 {} 05060708 {} eead20b2899348cc 8ad2 {} fa {}",
        zeros(12),
        zeros(4),
        zeros(8),
        zeros(12),
        zeros(6),
        zeros(15)
    ));
    assert_eq!(signed[..96].to_vec(), expected);
    assert_eq!(Reply::read(&signed, Some(&key())), Ok(reply()));
}

#[test]
fn must_be_zero_octets_are_ignored_but_signed() {
    let mut open = [0; 44];
    request().write(None, &mut open);
    open[16..].fill(0xaa);
    assert_eq!(Request::read(&open, None), Ok(request()));
    let mut signed = [0; 112];
    request().write(Some(&key()), &mut signed);
    signed[40] = 1;
    assert_eq!(
        Request::read(&signed, Some(&key())),
        Err(Invalid::WrongHmac)
    );
}

#[test]
fn every_octet_that_is_changed_shows() {
    let (mut request_octets, mut reply_octets) = ([0; 112], [0; 112]);
    request().write(Some(&key()), &mut request_octets);
    reply().write(Some(&key()), &mut reply_octets);
    for place in 0..112 {
        for bit in 0..8 {
            request_octets[place] ^= 1 << bit;
            reply_octets[place] ^= 1 << bit;
            assert_eq!(
                Request::read(&request_octets, Some(&key())),
                Err(Invalid::WrongHmac)
            );
            assert_eq!(
                Reply::read(&reply_octets, Some(&key())),
                Err(Invalid::WrongHmac)
            );
            request_octets[place] ^= 1 << bit;
            reply_octets[place] ^= 1 << bit;
        }
    }
    assert!(Reply::read(&reply_octets, Some(&key())).is_ok());
    let other = Key::from_octets(&[9; 32]).expect("a key");
    assert_eq!(
        Reply::read(&reply_octets, Some(&other)),
        Err(Invalid::WrongHmac)
    );
}

#[test]
fn short_packets_and_an_invalid_error_estimate_are_refused() {
    let mut open = [0; 44];
    reply().write(None, &mut open);
    for length in 0..44 {
        assert_eq!(Reply::read(&open[..length], None), Err(Invalid::Truncated));
        assert_eq!(
            Request::read(&open[..length], None),
            Err(Invalid::Truncated)
        );
    }
    assert_eq!(Reply::read(&open, Some(&key())), Err(Invalid::Truncated));
    open[13] = 0;
    assert_eq!(Reply::read(&open, None), Err(Invalid::ErrorEstimate));
    assert_eq!(Request::read(&open, None), Err(Invalid::ErrorEstimate));
}
