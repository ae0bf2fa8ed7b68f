use super::*;
use crate::abi::codes::{WSAEINTR, WSAETIMEDOUT};
use crate::abi::numbers::{SO_RCVTIMEO, SOL_SOCKET};
use crate::abi::winsock::TimestampingConfig;
use crate::winsock::receive::Manner;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use wirestamp_core::backend::Outgoing;
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::timestamp::TransmitId;

/// What hangs is a failure.
const LONG: Duration = Duration::from_secs(60);
/// Nothing comes meanwhile.
const SHORT: Duration = Duration::from_millis(50);
const MANY: u16 = 64;

fn bound() -> Arc<Socket> {
    let socket = Socket::datagram(false).expect("a socket");
    socket
        .bind("127.0.0.1:0".parse().expect("an address"))
        .expect("bound");
    Arc::new(socket)
}

fn configure(socket: &Socket, flags: u32) {
    let config = TimestampingConfig::new(flags, MANY);
    socket.configure_timestamping(config).expect("configured");
}

/// A timestamp waits in the kernel's queue, and nobody has asked for it.
fn send_timestamped(socket: &Arc<Socket>, to: &Socket) {
    let to = to.local().expect("an address");
    assert_eq!(socket.send(b"x", Some(to), Some(1)), Ok(1));
}

/// A datagram left after transmit timestamps were switched off, as a queueing discipline makes it: its timestamp comes
/// late.
fn send_timestamped_late(socket: &Socket, to: &Socket) {
    let wire = socket.wire().expect("a wire");
    let on = Timestamping::new()
        .source(Source::HardwareElseSoftware)
        .transmit(MANY);
    wire.configure(&on).expect("configured");
    let to = to.local().expect("an address");
    let late = Outgoing::new(b"x").to(Some(to)).id(Some(TransmitId(1)));
    assert!(wire.send(late).expect("sent"));
}

/// The result of a call of another thread.
fn started<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> mpsc::Receiver<T> {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(call()));
    result
}

#[test]
fn a_late_timestamp_ends_no_receive_and_keeps_none_from_timing_out() {
    let (socket, other) = (bound(), bound());
    configure(&socket, 2);
    configure(&socket, 0);
    send_timestamped_late(&socket, &other);
    assert_eq!(socket.receive_would_end(), Ok(false));
    send_timestamped_late(&socket, &other);
    let milliseconds = 20u32.to_ne_bytes();
    socket
        .set(SOL_SOCKET, SO_RCVTIMEO, &milliseconds)
        .expect("set");
    let received = started(move || socket.receive(&mut [0; 8], Manner::default()));
    let received = received.recv_timeout(LONG).expect("it times out");
    assert_eq!(received.map(|received| received.length), Err(WSAETIMEDOUT));
}

#[test]
fn a_timestamp_that_waits_is_no_datagram() {
    let (socket, other) = (bound(), bound());
    configure(&socket, 2);
    send_timestamped(&socket, &other);
    assert_eq!(socket.receive_would_end(), Ok(false));
    send_timestamped(&socket, &other);
    let waiting = Arc::clone(&socket);
    let waited = started(move || waiting.wait_for_datagram());
    assert!(waited.recv_timeout(SHORT).is_err(), "no datagram has come");
    send_timestamped(&socket, &other); // while it waits
    assert!(waited.recv_timeout(SHORT).is_err(), "no datagram has come");
    send_timestamped(&other, &socket);
    assert_eq!(waited.recv_timeout(LONG), Ok(Ok(())));
    let waiting = Arc::clone(&other);
    let waited = started(move || waiting.wait_for_datagram());
    assert_eq!(waited.recv_timeout(LONG), Ok(Ok(())), "three have come");
    assert_eq!(socket.fetch(1).map(|at| at > 0), Ok(true), "none is lost");
}

#[test]
fn closing_ends_a_wait_that_timestamps_have_woken() {
    let (socket, other) = (bound(), bound());
    configure(&socket, 2);
    send_timestamped(&socket, &other);
    let waiting = Arc::clone(&socket);
    let waited = started(move || waiting.wait_for_datagram());
    socket.close();
    assert_eq!(waited.recv_timeout(LONG), Ok(Err(WSAEINTR)));
}

/// The error shows as timestamps do, and whoever takes them meets it.
#[test]
fn an_error_outlives_the_collection_of_timestamps_and_ends_one_call() {
    for flags in [0, 2] {
        let (socket, gone) = (bound(), bound());
        configure(&socket, flags);
        socket
            .connect(gone.local().expect("an address"))
            .expect("connected");
        drop(gone);
        assert_eq!(socket.send(b"x", None, Some(1)), Ok(1));
        let looks = [socket.receive_would_end(), socket.receive_would_end()];
        assert_eq!(looks, [Ok(true), Ok(true)]);
        let receive = |socket: &Socket| {
            let at_once = Manner {
                at_once: true,
                ..Manner::default()
            };
            socket.receive(&mut [0; 8], at_once).map(|it| it.length)
        };
        assert_eq!(receive(&socket), Err(WSAECONNRESET), "flags {flags}");
        assert_eq!(socket.receive_would_end(), Ok(false));
        // Unless it is not wanted.
        socket.silent_resets.store(true, Ordering::Release);
        assert_eq!(socket.send(b"x", None, Some(2)), Ok(1));
        assert_eq!(socket.receive_would_end(), Ok(false), "flags {flags}");
    }
}
