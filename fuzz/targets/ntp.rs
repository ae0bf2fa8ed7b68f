//! Packets that come to an NTP client, and to a server, responses and anything else: it does not panic, tells no bound that is none, and takes
//! nothing for a response that does not bear its random origin.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::net::SocketAddr;
use wirestamp_core::time::{Bounded, MonotonicTime, Span, UtcTime};
use wirestamp_ntp::{
    Client, ClientOptions, LocalTime, NtpTimestamp, Outcome, Response, ServerState, answer,
};

const STEPS: usize = 32;

#[derive(Arbitrary, Debug)]
struct Step {
    random: [u64; 2],
    /// How the origin is filled in: from the request's transmit or receive timestamp, or not.
    origin: Option<bool>,
    packet: Vec<u8>,
    sent: Option<(u32, i16)>,
    received: Option<(u32, i16)>,
}

/// A time some microseconds on, with a step of the real-time clock in it.
fn time(monotonic: &mut i64, step: &mut i64, told: Option<(u32, i16)>) -> Option<LocalTime> {
    let (later, stepped) = told?;
    *monotonic += i64::from(later);
    *step += i64::from(stepped) * 1_000_000;
    Some(LocalTime {
        utc: Bounded::exact(UtcTime::from_nanoseconds(
            1_795_000_000_000_000_000 + *monotonic + *step,
        )),
        monotonic: Bounded::new(
            MonotonicTime::from_nanoseconds(*monotonic),
            Span::from_nanoseconds(100),
        ),
        adjusted: Some(Bounded::new(
            Span::from_nanoseconds(i128::from(later) % 50),
            Span::from_nanoseconds(50),
        )),
    })
}

fuzz_target!(|steps: Vec<Step>| {
    let server: SocketAddr = ([192, 0, 2, 7], 123).into();
    let mut client = Client::new(server, ClientOptions::default());
    let (mut monotonic, mut stepped) = (0, 0);
    for step in steps.into_iter().take(STEPS) {
        let Ok(request) = client.request(step.random) else {
            return;
        };
        if let Some(at) = time(&mut monotonic, &mut stepped, step.sent) {
            client.sent(at);
        }
        let mut packet = step.packet;
        if let (Some(interleaved), true) = (step.origin, packet.len() >= 48) {
            let from = if interleaved { 32 } else { 40 };
            packet[24..32].copy_from_slice(&request[from..from + 8]);
        }
        let at = time(&mut monotonic, &mut stepped, step.received);
        let before = client.measurement();
        let outcome = client.received(server, &packet, at);
        // no answer to an answer: two servers would never end
        let server = ServerState::primary(*b"XSIM", -25);
        if let Some(answered) = answer(&packet, &server, [NtpTimestamp(1); 2]) {
            assert_eq!(answer(&answered, &server, [NtpTimestamp(1); 2]), None);
        }
        if let Ok(response) = Response::parse(&packet) {
            assert!(response.server.root_bound() > Span::ZERO);
            let bears = [32, 40]
                .iter()
                .any(|place| packet[24..32] == request[*place..place + 8]);
            assert!(
                bears || matches!(outcome, Outcome::Ignored(_)),
                "{outcome:?}"
            );
        }
        if matches!(outcome, Outcome::Ignored(_)) {
            assert_eq!(client.measurement(), before);
        }
        if let Outcome::Sample(sample) = outcome {
            assert!(sample.offset.bound >= Span::ZERO, "{sample:?}");
        }
        if let Some(measured) = client.measurement() {
            assert!(measured.offset.bound >= Span::ZERO, "{measured:?}");
        }
    }
});
