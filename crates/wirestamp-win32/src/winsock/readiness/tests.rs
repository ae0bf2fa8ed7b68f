use super::*;
use crate::abi::codes::{WSAEINTR, WSAEMSGSIZE, WSAETIMEDOUT, WSAEWOULDBLOCK};
use crate::abi::numbers::{SIO_UDP_CONNRESET, SO_RCVTIMEO, SOL_SOCKET};
use crate::abi::winsock::TimestampingConfig;
use crate::winsock::ioctl::{self, Input, Output};
use crate::winsock::receive::Manner;
use crate::winsock::waiting::readable;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use wirestamp_core::backend::Outgoing;
use wirestamp_core::configuration::{Source, Timestamping};
use wirestamp_core::time::Span;
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

/// What it sends is refused.
fn connected_to_nobody() -> Arc<Socket> {
    let (socket, gone) = (bound(), bound());
    let peer = gone.local().expect("an address");
    socket.connect(peer).expect("connected");
    drop(gone);
    socket
}

fn receive_at_once(socket: &Socket) -> Result<usize, i32> {
    let at_once = Manner {
        at_once: true,
        ..Manner::default()
    };
    socket.receive(&mut [0; 8], at_once).map(|it| it.length)
}

fn switch_resets(socket: &Socket, on: bool) {
    let mut bytes = [0; 16];
    bytes[0] = on.into();
    let input = Input {
        bytes: Some(bytes),
        length: 4,
    };
    let done = ioctl::perform(socket, SIO_UDP_CONNRESET, &input, 0);
    assert_eq!(done, Ok(Output::Nothing));
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
        let socket = connected_to_nobody();
        configure(&socket, flags);
        assert_eq!(socket.send(b"x", None, Some(1)), Ok(1));
        let looks = [socket.receive_would_end(), socket.receive_would_end()];
        assert_eq!(looks, [Ok(true), Ok(true)]);
        assert_eq!(
            receive_at_once(&socket),
            Err(WSAECONNRESET),
            "flags {flags}"
        );
        assert_eq!(socket.receive_would_end(), Ok(false));
        // Unless it is not wanted.
        switch_resets(&socket, false);
        assert_eq!(socket.send(b"x", None, Some(2)), Ok(1));
        assert_eq!(socket.receive_would_end(), Ok(false), "flags {flags}");
    }
}

/// The kernel reports an error once. The thread that takes it is not always the one that waits for it.
#[test]
fn an_error_that_another_thread_has_taken_ends_every_wait() {
    let socket = connected_to_nobody();
    configure(&socket, 2);
    for _ in 0..10 {
        let [a, b, c] = [(); 3].map(|()| Arc::clone(&socket));
        let datagram = started(move || a.wait_for_datagram());
        let receives = started(move || b.wait_for(Interest::Receive, MonotonicTime::MAX));
        let selects = started(move || readable(&[c], MonotonicTime::MAX));
        assert!(datagram.recv_timeout(SHORT).is_err(), "nothing has come");
        assert_eq!(socket.send(b"x", None, None), Ok(1));
        // The error is there: this thread is awake, and those three are not yet.
        assert_eq!(socket.receive_would_end(), Ok(true));
        assert_eq!(datagram.recv_timeout(LONG), Ok(Ok(())));
        let received = receives.recv_timeout(LONG).expect("it ends");
        assert_eq!(received.map(|ready| ready.receive), Ok(true));
        assert_eq!(selects.recv_timeout(LONG), Ok(Ok(vec![true])));
        assert_eq!(receive_at_once(&socket), Err(WSAECONNRESET));
        assert_eq!(socket.receive_would_end(), Ok(false));
    }
}

/// Taken, it no longer keeps waits from blocking.
#[test]
fn waits_block_again_once_the_error_is_taken() {
    let socket = connected_to_nobody();
    assert_eq!(socket.send(b"x", None, None), Ok(1));
    assert_eq!(socket.receive_would_end(), Ok(true));
    assert_eq!(receive_at_once(&socket), Err(WSAECONNRESET));
    let wire = socket.wire().expect("a wire");
    let until = clock::now() + Span::from_milliseconds(20);
    let ready = wire.wait(Interest::Receive, until).expect("no error");
    assert!(ready.timed_out() && clock::now() >= until, "{ready:?}");
}

#[test]
fn no_reset_is_reported_once_they_are_silent_whoever_has_looked() {
    for looks in [false, true] {
        let socket = connected_to_nobody();
        assert_eq!(socket.send(b"x", None, None), Ok(1));
        if looks {
            assert_eq!(socket.receive_would_end(), Ok(true));
        }
        switch_resets(&socket, false);
        assert_eq!(socket.receive_would_end(), Ok(false), "looks: {looks}");
        assert_eq!(receive_at_once(&socket), Err(WSAEWOULDBLOCK));
    }
}

#[test]
fn a_reset_that_came_while_they_were_silent_stays_silent() {
    for looks in [false, true] {
        let socket = connected_to_nobody();
        switch_resets(&socket, false);
        assert_eq!(socket.send(b"x", None, None), Ok(1));
        if looks {
            assert_eq!(socket.receive_would_end(), Ok(false));
        }
        switch_resets(&socket, true);
        assert_eq!(
            receive_at_once(&socket),
            Err(WSAEWOULDBLOCK),
            "looks: {looks}"
        );
        assert_eq!(socket.send(b"x", None, None), Ok(1));
        assert_eq!(receive_at_once(&socket), Err(WSAECONNRESET));
    }
}

/// Also if another error is held, which the next call returns.
#[test]
fn a_reset_behind_another_error_came_while_they_were_silent() {
    for flags in [0, 2] {
        let socket = connected_to_nobody();
        configure(&socket, flags);
        switch_resets(&socket, false);
        assert_eq!(socket.send(b"x", None, Some(1)), Ok(1));
        let held = &socket.earlier_error;
        held.code.store(WSAEMSGSIZE, Ordering::Release);
        switch_resets(&socket, true);
        assert_eq!(receive_at_once(&socket), Err(WSAEMSGSIZE));
        assert_eq!(
            receive_at_once(&socket),
            Err(WSAEWOULDBLOCK),
            "flags {flags}"
        );
    }
}
