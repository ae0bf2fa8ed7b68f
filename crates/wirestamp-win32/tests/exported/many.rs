//! Many sockets and many threads.

use crate::calls::{Room, bound, code, configure, counter, fetch_soon, send, start};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use wirestamp_win32::winsock::exports::{closesocket, setsockopt, socket};
use wirestamp_win32::winsock::transfer::recv;

#[test]
fn four_threads_share_a_socket_and_each_gets_its_own_timestamps() {
    start();
    let (shared, name) = bound([127, 0, 0, 1]);
    assert_eq!(configure(shared, 3, 1_000), 0);
    let minute = 60_000u32.to_ne_bytes(); // a failure of the senders shall not hang the receiver
    assert_eq!(
        // SAFETY: four bytes.
        code(unsafe { setsockopt(shared, 0xFFFF, 0x1006, minute.as_ptr(), 4) }),
        0
    );
    let send_and_fetch = |first: u32| {
        for id in first..first + 200 {
            let before = counter();
            assert_eq!(send(shared, &name, &id.to_ne_bytes(), Some(id)), 0);
            let timestamp = fetch_soon(shared, id);
            assert!(
                before <= timestamp + 1 && timestamp <= counter() + 1,
                "another datagram's timestamp"
            );
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
                assert!(room.timestamp().is_some());
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

#[test]
fn who_looks_at_datagrams_does_not_change_their_order() {
    const COUNT: u32 = 20_000;
    const PEEK: i32 = 2;
    start();
    let ((sender, _), (shared, name)) = (bound([127, 0, 0, 1]), bound([127, 0, 0, 1]));
    let second = 1_000u32.to_ne_bytes();
    assert_eq!(
        // SAFETY: four bytes.
        code(unsafe { setsockopt(shared, 0xFFFF, 0x1006, second.as_ptr(), 4) }),
        0
    );
    let over = AtomicBool::new(false);
    let read = |flags: i32| {
        let mut number = [0; 4];
        // SAFETY: room for four bytes.
        (unsafe { recv(shared, number.as_mut_ptr(), 4, flags) } == 4)
            .then(|| u32::from_ne_bytes(number))
    };
    // How many came, and the first that came after a later one.
    let receive = || {
        let (mut last, mut received, mut out_of_order) = (None, 0, None);
        while let Some(number) = read(0) {
            if last > Some(number) {
                out_of_order = out_of_order.or(Some((last, number)));
            }
            (last, received) = (Some(number), received + 1);
        }
        (received, out_of_order)
    };
    let (one, other) = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for turn in (0..200)
                    .cycle()
                    .take_while(|_| !over.load(Ordering::Relaxed))
                {
                    read(PEEK);
                    (0..turn).for_each(|_| std::hint::spin_loop()); // at every moment of the others' calls
                }
            });
        }
        scope.spawn(|| {
            // A few at a time: what finds no room is dropped, and says nothing about order.
            for number in 0..COUNT {
                assert_eq!(send(sender, &name, &number.to_ne_bytes(), None), 0);
                if number % 32 == 31 {
                    thread::yield_now();
                }
            }
        });
        let other = scope.spawn(receive);
        let one = receive();
        over.store(true, Ordering::Relaxed);
        (one, other.join().expect("no panic"))
    });
    assert_eq!(
        (one.1, other.1),
        (None, None),
        "received in another order than sent"
    );
    assert!(
        one.0 + other.0 > COUNT / 100,
        "only {} came",
        one.0 + other.0
    );
    for socket in [sender, shared] {
        // SAFETY: takes a number.
        assert_eq!(unsafe { closesocket(socket) }, 0);
    }
}
