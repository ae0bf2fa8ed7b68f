//! STAMP packets and extensions: what is read is written back as it was, no octets but a key's own pass for signed, and a reply keeps
//! its request's length and the octets that a reflector must not touch.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wirestamp_probe::Key;
use wirestamp_probe::packet::{Mode, Reply, Request};
use wirestamp_probe::tlv::{self, Step, accept, kind, reflect, walk};

fuzz_target!(|input: (bool, bool, u32, Vec<u8>)| {
    let (authenticated, sign, sequence, mut bytes) = input;
    let key = Key::from_octets(&[7; 16]).expect("a key");
    let key = authenticated.then_some(&key);
    packets(&bytes, key);
    if sign && bytes.len() >= Mode::of(key).base_length() {
        signed(&mut bytes, sequence, key);
    }
    extensions(bytes, sequence, key);
});

fn packets(bytes: &[u8], key: Option<&Key>) {
    let length = Mode::of(key).base_length();
    if key.is_some() {
        // nobody guesses 128 bits
        assert!(Request::read(bytes, key).is_err() && Reply::read(bytes, key).is_err());
        return;
    }
    let mut again = vec![0; length];
    if let Ok(request) = Request::read(bytes, key) {
        request.write(key, &mut again);
        assert_eq!(Request::read(&again, key), Ok(request));
        assert_eq!(again[..16], bytes[..16]);
    }
    if let Ok(reply) = Reply::read(bytes, key) {
        reply.write(key, &mut again);
        assert_eq!(Reply::read(&again, key), Ok(reply));
        assert_eq!(again[..38], bytes[..38]);
        assert_eq!(again[40], bytes[40]);
    }
}

/// A packet of the sender's own, whatever the octets are.
fn signed(bytes: &mut [u8], sequence: u32, key: Option<&Key>) {
    let request = Request {
        sequence,
        timestamp: Default::default(),
        error_bits: 1,
        ssid: 1,
    };
    request.write(key, bytes);
    assert_eq!(Request::read(bytes, key), Ok(request));
}

fn extensions(before: Vec<u8>, sequence: u32, key: Option<&Key>) {
    let mut after = before.clone();
    let filled = reflect(&mut after, sequence, key, |kind, value| {
        assert!(value.len() >= 4, "type {kind}");
        value.fill(0xee);
    });
    filled.sign(&mut after, sequence, key);
    assert_eq!(after.len(), before.len());
    for step in walk(&before) {
        let Step::Tlv(found) = step else { break };
        let touched = matches!(found.kind, 3..=5 | 7 | kind::HMAC);
        let untouched = if touched {
            tlv::HEADER
        } else {
            tlv::HEADER + found.length
        };
        assert_eq!(
            after[found.at + 1..found.at + untouched],
            before[found.at + 1..found.at + untouched]
        );
    }
    let taken = accept(&after, sequence, key, |_, _| {});
    assert!(
        taken.is_ok()
            || key.is_some()
            || walk(&before)
                .any(|step| matches!(step, Step::Tlv(found) if found.flags & 0x20 != 0))
            || filled.integrity_failed
    );
}
