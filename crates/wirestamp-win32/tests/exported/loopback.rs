//! Timestamps of datagrams over the loopback interface of this machine.

use crate::calls::{Room, bound, configure, counter, fetch, fetch_soon, send, start};
use wirestamp_win32::winsock::exports::closesocket;

const RX: u32 = 1;
const TX: u32 = 2;
const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

#[test]
fn both_timestamps_lie_between_the_counter_before_and_after() {
    start();
    let ((sender, _), (receiver, to)) = (bound(LOOPBACK), bound(LOOPBACK));
    assert_eq!(
        (configure(sender, TX, 8), configure(receiver, RX, 0)),
        (0, 0)
    );
    for id in 1..=50 {
        let before = counter();
        assert_eq!(send(sender, &to, b"hello", Some(id)), 0);
        let mut room = Room::new(8);
        assert_eq!(room.receive(receiver), Ok(5));
        let after = counter();
        let (sent, received) = (
            fetch_soon(sender, id),
            room.timestamp().expect("a timestamp"),
        );
        // The counter is read to the tick; the way from UTC to monotonic time costs less than one.
        assert!(
            before <= sent + 1 && sent <= received + 1,
            "{before} {sent} {received}"
        );
        assert!(received <= after + 1, "{received} {after}");
        assert_eq!(fetch(sender, id), Err(10_035), "fetched is gone");
    }
    for socket in [sender, receiver] {
        // SAFETY: takes a number.
        assert_eq!(unsafe { closesocket(socket) }, 0);
    }
}

#[test]
fn without_receive_timestamps_there_is_no_control_message() {
    start();
    let (socket, name) = bound(LOOPBACK);
    assert_eq!(configure(socket, RX | TX, 4), 0);
    assert_eq!(configure(socket, TX, 4), 0); // replaces: RX is off
    assert_eq!(send(socket, &name, b"x", Some(9)), 0);
    let mut room = Room::new(8);
    assert_eq!(room.receive(socket), Ok(1));
    assert_eq!((room.message.control.length, room.message.flags), (0, 0));
    fetch_soon(socket, 9);
}
