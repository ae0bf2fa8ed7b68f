//! Forged, replayed, truncated and reflected packets change no result and do not displace the true
//! response.

use crate::world::{Answered, PLAIN, World, field, response, server};
use proptest::prelude::*;
use wirestamp_ntp::{ClientOptions, Ignored, Measurement, NtpTimestamp, Outcome};

/// A world with some successful exchanges.
fn measured(seed: u64, exchanges: usize) -> World {
    let mut world = World::new(ClientOptions::default(), seed);
    for _ in 0..exchanges {
        assert!(matches!(world.exchange(&PLAIN), Some(Outcome::Sample(_))));
    }
    world
}

/// Passes packets to the client while it waits for a response, then the response: the result must
/// be as without them.
fn undisturbed(exchanges: usize, packets: impl Fn(&Answered, &mut World) -> Vec<Vec<u8>>) {
    let end = |world: &mut World, answered: &Answered| -> Option<Measurement> {
        let outcome = world
            .client
            .received(server(), &answered.response, Some(answered.arrived));
        assert!(matches!(outcome, Outcome::Sample(_)), "{outcome:?}");
        world.client.measurement()
    };
    let mut quiet = measured(5, exchanges);
    let answered = quiet.ask(&PLAIN).expect("not lost");
    let wanted = end(&mut quiet, &answered);

    let mut world = measured(5, exchanges);
    let answered = world.ask(&PLAIN).expect("not lost");
    let before = world.client.measurement();
    for packet in packets(&answered, &mut world) {
        let outcome = world
            .client
            .received(server(), &packet, Some(answered.arrived));
        assert!(matches!(outcome, Outcome::Ignored(_)), "{outcome:?}");
        assert_eq!(world.client.measurement(), before);
    }
    assert_eq!(end(&mut world, &answered), wanted);
}

/// A response that would move the offset by an hour.
fn lie(origin: NtpTimestamp, like: &[u8]) -> Vec<u8> {
    let hour = 3_600 << 32;
    let shifted = |place| NtpTimestamp(field(like, place).0.wrapping_add(hour));
    response(origin, shifted(32), shifted(40))
}

#[test]
fn forged_packets_change_nothing() {
    for exchanges in [0, 1, 4] {
        undisturbed(exchanges, |answered, world| {
            let mut origins: Vec<_> = (0..100).map(|_| NtpTimestamp(world.random())).collect();
            // the knowledge of an attacker that has seen earlier packets, or none
            origins.extend([NtpTimestamp::UNKNOWN, field(&answered.request, 24)]);
            origins.extend([field(&answered.response, 32), field(&answered.response, 40)]);
            origins
                .iter()
                .map(|origin| lie(*origin, &answered.response))
                .collect()
        });
    }
}

#[test]
fn forged_kisses_do_not_stop_it() {
    undisturbed(2, |answered, world| {
        let codes = [b"DENY", b"RSTR", b"RATE"];
        let kiss = |code: &[u8; 4]| {
            let mut packet = lie(NtpTimestamp(world.random()), &answered.response);
            packet[1] = 0;
            packet[12..16].copy_from_slice(code);
            packet
        };
        codes.map(kiss).into()
    });
}

#[test]
fn reflected_requests_change_nothing() {
    for exchanges in [0, 3] {
        undisturbed(exchanges, |answered, _| {
            let as_server = |from: usize| {
                // the request's own timestamps, swapped as a server does
                let mut packet = answered.request.to_vec();
                packet[0] = 0x23;
                packet.copy_within(from..from + 8, 24);
                packet
            };
            vec![answered.request.to_vec(), as_server(40), as_server(32)]
        });
    }
}

/// Symmetric, broadcast, control (ntpq) and private (ntpdc) packets, and versions with another
/// meaning, with the origin that only the server knows.
#[test]
fn other_modes_and_versions_are_no_answer() {
    for exchanges in [0, 3] {
        undisturbed(exchanges, |answered, _| {
            let firsts = (0..=255u8).filter(|first| {
                let (version, mode) = (first >> 3 & 7, first & 7);
                mode != 4 || !(3..=4).contains(&version)
            });
            let with = |first| {
                let mut packet = answered.response.clone();
                packet[0] = first;
                packet
            };
            firsts.map(with).collect()
        });
    }
}

#[test]
fn truncated_responses_change_nothing() {
    undisturbed(3, |answered, _| {
        (0..48)
            .map(|length| answered.response[..length].to_vec())
            .collect()
    });
}

#[test]
fn responses_from_elsewhere_change_nothing() {
    let mut world = measured(5, 2);
    let answered = world.ask(&PLAIN).expect("not lost");
    let before = world.client.measurement();
    for source in ["192.0.2.7:124", "192.0.2.8:123", "[::ffff:192.0.2.7]:123"] {
        let source = source.parse().expect("an address");
        let outcome = world
            .client
            .received(source, &answered.response, Some(answered.arrived));
        assert_eq!(outcome, Outcome::Ignored(Ignored::OtherSource));
    }
    assert_eq!(world.client.measurement(), before);
    assert_eq!(world.client.counts().other_source, 3);
}

#[test]
fn replayed_responses_change_nothing() {
    let mut world = World::new(ClientOptions::default(), 5);
    let mut recorded: Vec<Vec<u8>> = Vec::new();
    for _ in 0..6 {
        let answered = world.ask(&PLAIN).expect("not lost");
        for old in &recorded {
            let outcome = world.client.received(server(), old, Some(answered.arrived));
            assert!(
                matches!(
                    outcome,
                    Outcome::Ignored(Ignored::Duplicate | Ignored::Unasked)
                ),
                "{outcome:?}"
            );
        }
        let outcome = world
            .client
            .received(server(), &answered.response, Some(answered.arrived));
        assert!(matches!(outcome, Outcome::Sample(_)));
        let after = world.client.measurement();
        // the network duplicates it immediately
        let outcome = world
            .client
            .received(server(), &answered.response, Some(answered.arrived));
        assert_eq!(outcome, Outcome::Ignored(Ignored::Duplicate));
        assert_eq!(world.client.measurement(), after);
        recorded.push(answered.response);
    }
    let counts = world.client.counts();
    assert_eq!((counts.duplicates, counts.unasked), (5 + 6, 4 + 3 + 2 + 1));
}

#[test]
fn each_request_has_one_response() {
    let mut world = measured(5, 2);
    let answered = world.ask(&PLAIN).expect("not lost");
    let first = |world: &mut World, packet: &[u8]| {
        world
            .client
            .received(server(), packet, Some(answered.arrived))
    };
    assert!(matches!(
        first(&mut world, &answered.response),
        Outcome::Sample(_)
    ));
    let before = world.client.measurement();
    // an attacker that has seen the true one is too late with another
    let lie = lie(field(&answered.response, 24), &answered.response);
    assert_eq!(first(&mut world, &lie), Outcome::Ignored(Ignored::Unasked));
    assert_eq!(world.client.measurement(), before);
}

proptest! {
    /// A response with any bits changed, or arbitrary bytes: no panic, and a packet that is
    /// accepted as a response has the origin that only the server knows.
    #[test]
    fn changed_responses_are_read_or_ignored(place in 0usize..48, bits: u8, rest in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut world = measured(5, 3);
        let mut answered = world.ask(&PLAIN).expect("not lost");
        answered.response[place] ^= bits;
        answered.response.extend(rest);
        let origin_kept = !(24..32).contains(&place) || bits == 0;
        let outcome = world.client.received(server(), &answered.response, Some(answered.arrived));
        prop_assert!(origin_kept || matches!(outcome, Outcome::Ignored(_)), "{:?}", outcome);
    }
}
