//! The loop itself.
#![cfg(not(windows))]

use std::net::UdpSocket;
use std::time::Duration;
use wirestamp::Span;
use wirestamp_measure::{Engine, Measurements, Place, Sample};

/// Anybody on this host may send to the socket that wakes it: measurements go on meanwhile.
#[test]
fn a_flood_of_wakes_does_not_hold_it_up() {
    const SENT: usize = 120;
    let mut engine = Engine::new(Measurements::default(), Place::System).expect("it starts");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let wakes = engine.clock().local_address().expect("bound");
    for _ in 0..SENT {
        socket.send_to(b"wake", wakes).expect("sent");
    }
    engine
        .wait(engine.now() + Span::from_seconds(1))
        .expect("it waits");
    engine.serve(&engine.moment(), &mut |_: &Sample<'_>| {});
    let mut wake = [0; 16];
    let receive = || engine.clock().receive(&mut wake, Duration::ZERO);
    let left = std::iter::repeat_with(receive)
        .take_while(|came| matches!(came, Ok(Some(_))))
        .count();
    assert!((1..SENT).contains(&left), "{left}");
}
