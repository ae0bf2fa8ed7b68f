//! What a datagram costs in memory: nothing.

use crate::calls::{Room, bound, configure, fetch_soon, send, start};
use allocation_counter::measure;

#[test]
fn sending_receiving_and_fetching_allocate_nothing() {
    start();
    let (socket, name) = bound([127, 0, 0, 1]);
    assert_eq!(configure(socket, 3, 16), 0);
    let mut room = Room::new(8);
    let mut round = |id: u32| {
        assert_eq!(send(socket, &name, b"hello", Some(id)), 0);
        room.prepare();
        assert_eq!(room.receive(socket), Ok(5));
        assert!(room.timestamp().is_some());
        fetch_soon(socket, id);
    };
    (0..50).for_each(&mut round); // what is kept is made now
    let made = measure(|| (50..100).for_each(&mut round));
    assert_eq!(made.count_total, 0, "{made:?}");
}
