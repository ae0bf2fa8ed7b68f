//! Many sockets and many threads.

use crate::calls::{Room, bound, code, configure, counter, fetch_soon, send, start};
use std::thread;
use wirestamp_win32::winsock::exports::{closesocket, setsockopt, socket};
use wirestamp_win32::winsock::transfer::recv;

#[test]
fn four_threads_share_a_socket_and_each_gets_its_own_stamps() {
    start();
    let (shared, name) = bound([127, 0, 0, 1]);
    assert_eq!(configure(shared, 3, 1_000), 0);
    let minute = 60_000u32.to_ne_bytes(); // a failure of the senders shall not hang the receiver
    // SAFETY: four bytes.
    assert_eq!(code(unsafe { setsockopt(shared, 0xFFFF, 0x1006, minute.as_ptr(), 4) }), 0);
    let send_and_fetch = |first: u32| {
        for id in first..first + 200 {
            let before = counter();
            assert_eq!(send(shared, &name, &id.to_ne_bytes(), Some(id)), 0);
            let stamp = fetch_soon(shared, id);
            assert!(before <= stamp + 1 && stamp <= counter() + 1, "another datagram's stamp");
        }
    };
    thread::scope(|scope| {
        for first in [0, 1_000, 2_000, 3_000] {
            scope.spawn(move || send_and_fetch(first));
        }
        scope.spawn(|| {
            for _ in 0..800 {
                let mut room = Room::new(8);
                assert_eq!(room.receive(shared), Ok(4));
                assert!(room.stamp().is_some());
            }
        });
    });
    // SAFETY: takes a number.
    assert_eq!(unsafe { closesocket(shared) }, 0);
}

#[test]
fn ten_thousand_sockets_leave_no_number_that_works() {
    start();
    let mut numbers = Vec::new();
    for _ in 0..10_000 {
        // SAFETY: takes numbers.
        let made = unsafe { socket(2, 2, 17) };
        assert_ne!(made, usize::MAX);
        // SAFETY: takes a number.
        assert_eq!(code(unsafe { closesocket(made) }), 0);
        numbers.push(made);
    }
    // SAFETY: takes a number.
    let closed = |number: usize| code(unsafe { closesocket(number) }) == 10_038;
    assert!(numbers.into_iter().all(closed));
}

#[test]
fn closing_ends_a_receive_that_waits() {
    start();
    let (waiting, _) = bound([127, 0, 0, 1]);
    let receiver = thread::spawn(move || {
        let mut byte = 0u8;
        // SAFETY: room for one byte.
        code(unsafe { recv(waiting, &raw mut byte, 1, 0) })
    });
    thread::sleep(std::time::Duration::from_millis(20)); // either way round is right
    // SAFETY: takes a number.
    assert_eq!(unsafe { closesocket(waiting) }, 0);
    let ended = receiver.join().expect("no panic");
    assert!(ended == 10_004 || ended == 10_038, "{ended}");
}
