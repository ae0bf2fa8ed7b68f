//! Other tasks of a thread run even if there is always something to receive, send or fetch: on the
//! loopback interface, no call has to wait.

use std::cell::Cell;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::task::{LocalSet, yield_now};
use wirestamp::tokio::AsyncUdpSocket;
use wirestamp::{
    Incoming, Outgoing, Received, Timestamping, TransmitId, TransmitRecord, UdpSocket,
};

/// More operations than a task may do in one turn: tokio's budget is 128.
const CALLS: u32 = 600;
/// The most calls between two turns of another task. A call may be two operations.
const MOST_IN_A_ROW: u32 = 200;

/// One socket that sends to itself.
struct Own {
    socket: AsyncUdpSocket,
    to: SocketAddr,
}

impl Own {
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0");
        let socket = AsyncUdpSocket::new(socket.expect("a free port")).expect("registered");
        socket
            .socket()
            .configure(Timestamping::OFF.transmit(64))
            .expect("granted");
        let to = socket.socket().local_address().expect("bound");
        Self { socket, to }
    }

    /// Sends without a tokio wait.
    fn send(&self, id: Option<TransmitId>) {
        let sent = self.socket.socket().send_to(b"x", self.to, id);
        sent.expect("sent");
    }

    fn outgoing(&self) -> Outgoing<'static> {
        Outgoing::new(b"x").to(self.to)
    }
}

/// The largest number of calls between two turns of another task on the same thread.
fn most_in_a_row(call: &impl AsyncFn(&Own, u32)) -> u32 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let in_a_row = Rc::new(Cell::new(0));
    let other = Rc::clone(&in_a_row);
    let calls = async {
        tokio::task::spawn_local(async move {
            loop {
                other.set(0);
                yield_now().await;
            }
        });
        let own = Own::new();
        let mut most = 0;
        for number in 0..CALLS {
            call(&own, number).await;
            in_a_row.set(in_a_row.get() + 1);
            most = most.max(in_a_row.get());
        }
        most
    };
    runtime.block_on(LocalSet::new().run_until(calls))
}

fn assert_leaves_turns(call: &impl AsyncFn(&Own, u32)) {
    let most = most_in_a_row(call);
    assert!(most <= MOST_IN_A_ROW, "{most} calls in a row");
}

#[test]
fn receives_leave_turns_to_others() {
    assert_leaves_turns(&async |own, _| {
        own.send(None);
        let received: Received = own.socket.receive(&mut [0; 8]).await.expect("received");
        assert_eq!(received.length, 1);
    });
    assert_leaves_turns(&async |own, _| {
        own.send(None);
        let mut buffer = [0; 8];
        let mut batch = [Incoming::new(&mut buffer)];
        let count = own.socket.receive_batch(&mut batch).await;
        assert_eq!(count.expect("received"), 1);
    });
}

#[test]
fn sends_leave_turns_to_others() {
    assert_leaves_turns(&async |own, _| {
        own.socket.send_to(b"x", own.to, None).await.expect("sent");
    });
    assert_leaves_turns(&async |own, _| {
        let until = std::time::Duration::from_secs(30);
        let outcome = own.socket.send_to_timestamped(b"x", own.to, until).await;
        outcome.expect("an outcome");
    });
}

#[test]
fn fetching_timestamps_leaves_turns_to_others() {
    assert_leaves_turns(&async |own, number| {
        own.send(Some(TransmitId(number)));
        let answer = own.socket.transmit_timestamp(TransmitId(number)).await;
        answer.expect("an answer");
    });
    assert_leaves_turns(&async |own, number| {
        own.send(Some(TransmitId(number)));
        let mut records = [TransmitRecord::EMPTY];
        let count = own.socket.transmit_timestamps(&mut records).await;
        assert_eq!(count.expect("fetched"), 1);
    });
}

#[test]
fn polls_leave_turns_to_others() {
    assert_leaves_turns(&async |own, _| {
        let outgoing = own.outgoing();
        let sent = poll_fn(|context| own.socket.poll_send(context, &outgoing)).await;
        sent.expect("sent");
    });
    assert_leaves_turns(&async |own, _| {
        own.send(None);
        let mut buffer = [0; 8];
        let received = poll_fn(|context| own.socket.poll_receive(context, &mut buffer)).await;
        received.expect("received");
    });
    assert_leaves_turns(&async |own, number| {
        own.send(Some(TransmitId(number)));
        let mut records = [TransmitRecord::EMPTY];
        let poll = poll_fn(|context| own.socket.poll_transmit_timestamps(context, &mut records));
        assert_eq!(poll.await.expect("fetched"), 1);
    });
}
