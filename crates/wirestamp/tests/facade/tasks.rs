//! Futures: several tasks on one socket, on a simulated NIC and on loopback.

use crate::pair::{Pair, ideal_but, simulation};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tokio::task::JoinSet;
use wirestamp::tokio::AsyncUdpSocket;
use wirestamp::{
    ErrorKind, MissingReason, Timestamping, TransmitAnswer, TransmitId, TransmitOutcome,
    TransmitRecord,
};

fn on_each_runtime(test: impl AsyncFn()) {
    let mut single = tokio::runtime::Builder::new_current_thread();
    let mut multi = tokio::runtime::Builder::new_multi_thread();
    for builder in [&mut single, multi.worker_threads(2)] {
        builder
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(test());
    }
}

fn socket(socket: wirestamp::UdpSocket) -> Arc<AsyncUdpSocket> {
    socket
        .configure(Timestamping::OFF.receive().transmit(4096))
        .expect("granted");
    Arc::new(AsyncUdpSocket::new(socket).expect("registered"))
}

fn is_timestamped(answer: TransmitAnswer) -> bool {
    matches!(
        answer,
        TransmitAnswer::Resolved(TransmitOutcome::Timestamped(_))
    )
}

/// Fifty tasks send on one socket and await their own IDs, while another one receives.
async fn every_task_gets_its_own(
    Pair {
        sender,
        receiver,
        to,
    }: Pair,
) {
    const TASKS: u32 = 50;
    let (sender, receiver) = (socket(sender), socket(receiver));
    let mut tasks = JoinSet::new();
    for id in (0..TASKS).map(TransmitId) {
        let sender = Arc::clone(&sender);
        tasks.spawn(async move {
            sender
                .send_to(&id.0.to_be_bytes(), to, Some(id))
                .await
                .expect("sent");
            let answer = sender.transmit_timestamp(id).await.expect("an answer");
            assert!(is_timestamped(answer), "id {id}: {answer:?}");
        });
    }
    let mut seen = [false; TASKS as usize];
    let mut buffer = [0; 64];
    for _ in 0..TASKS {
        let received = receiver.receive(&mut buffer).await.expect("received");
        let id = u32::from_be_bytes(buffer[..received.length].try_into().expect("four bytes"));
        assert!(
            !std::mem::replace(&mut seen[id as usize], true),
            "id {id} came twice"
        );
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("no panic");
    }
}

#[test]
fn every_task_gets_its_own_on_a_simulated_nic() {
    on_each_runtime(async || {
        every_task_gets_its_own(Pair::over_the_cable(&simulation("i225"))).await;
    });
    let slow = "[nic.faults]\nlate = 1.0\nlate_from = \"1ms\"\nlate_to = \"90ms\"";
    on_each_runtime(async || every_task_gets_its_own(Pair::over_the_cable(&ideal_but(slow))).await);
}

#[test]
fn every_task_gets_its_own_on_loopback() {
    on_each_runtime(async || {
        if let Some(pair) = Pair::on_loopback() {
            every_task_gets_its_own(pair).await;
        }
    });
}

#[test]
fn an_id_ends_by_its_deadline() {
    on_each_runtime(async || {
        let pair = Pair::over_the_cable(&simulation("tx-never"));
        let sender = socket(pair.sender);
        sender
            .send_to(b"x", pair.to, Some(TransmitId(1)))
            .await
            .expect("sent");
        let answer = sender
            .transmit_timestamp(TransmitId(1))
            .await
            .expect("an answer");
        assert_eq!(
            answer,
            TransmitAnswer::Resolved(TransmitOutcome::Missing(MissingReason::NeverGenerated))
        );
        assert_eq!(
            sender
                .transmit_timestamp(TransmitId(1))
                .await
                .expect("an answer"),
            TransmitAnswer::Unknown
        );
    });
}

/// Dropping a future loses nothing.
async fn dropping_loses_nothing(pair: Pair) {
    let (sender, receiver) = (socket(pair.sender), socket(pair.receiver));
    let mut buffer = [0; 64];
    let waited =
        tokio::time::timeout(Duration::from_millis(5), receiver.receive(&mut buffer)).await;
    assert!(waited.is_err(), "nothing was sent");
    sender
        .send_to(b"kept", pair.to, Some(TransmitId(1)))
        .await
        .expect("sent");
    let received = receiver.receive(&mut buffer).await.expect("received");
    assert_eq!(&buffer[..received.length], b"kept");
    let mut records = [TransmitRecord::EMPTY; 4];
    assert_eq!(
        sender
            .transmit_timestamps(&mut records)
            .await
            .expect("fetched"),
        1
    );
    let waited = tokio::time::timeout(
        Duration::from_millis(5),
        sender.transmit_timestamps(&mut records),
    )
    .await;
    assert!(waited.is_err(), "nothing else was sent");
    sender
        .send_to(b"kept", pair.to, Some(TransmitId(2)))
        .await
        .expect("sent");
    assert!(is_timestamped(
        sender
            .transmit_timestamp(TransmitId(2))
            .await
            .expect("an answer")
    ));
}

#[test]
fn dropping_a_future_loses_nothing() {
    on_each_runtime(async || {
        dropping_loses_nothing(Pair::over_the_cable(&simulation("i225"))).await;
    });
    on_each_runtime(async || {
        if let Some(pair) = Pair::on_loopback() {
            dropping_loses_nothing(pair).await;
        }
    });
}

/// Tasks that wait forever, until the socket is closed.
async fn closing_ends_every_wait(pair: Pair) {
    let sender = socket(pair.sender);
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let receiving = Arc::clone(&sender);
        tasks.spawn(async move { receiving.receive(&mut [0; 64]).await.map(|_| ()) });
        let fetching = Arc::clone(&sender);
        tasks.spawn(async move {
            fetching
                .transmit_timestamps(&mut [TransmitRecord::EMPTY])
                .await
                .map(|_| ())
        });
    }
    tokio::time::sleep(Duration::from_millis(20)).await; // so that they do wait
    sender.socket().close();
    while let Some(ended) = tasks.join_next().await {
        assert_eq!(
            ended.expect("no panic").expect_err("closed").kind(),
            ErrorKind::Closed
        );
    }
}

#[test]
fn closing_the_socket_ends_every_future() {
    on_each_runtime(async || {
        closing_ends_every_wait(Pair::over_the_cable(&simulation("i225"))).await;
    });
    on_each_runtime(async || {
        if let Some(pair) = Pair::on_loopback() {
            closing_ends_every_wait(pair).await;
        }
    });
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    let pair = Pair::over_the_cable(&simulation("i225"));
    let error = AsyncUdpSocket::new(pair.sender).expect_err("no runtime");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// Counts its notifications; its reference count shows who holds it.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_task_that_no_longer_waits_is_neither_kept_nor_woken() {
    let Some(pair) = Pair::on_loopback() else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let socket = socket(pair.receiver);
        let tasks: Vec<_> = (0..100).map(|_| Arc::new(Counting::default())).collect();
        for task in &tasks {
            let mut buffer = [0; 64];
            let mut receiving = pin!(socket.receive(&mut buffer));
            let waker = Waker::from(Arc::clone(task));
            assert!(
                receiving
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        }
        let kept = tasks
            .iter()
            .filter(|task| Arc::strong_count(task) > 1)
            .count();
        assert_eq!(kept, 0, "of {} tasks", tasks.len());
        let to = socket.socket().local_address().expect("bound");
        socket
            .send_to(b"timestamped", to, Some(TransmitId(1)))
            .await
            .expect("sent");
        assert!(is_timestamped(
            socket
                .transmit_timestamp(TransmitId(1))
                .await
                .expect("an answer")
        ));
        assert_eq!(
            tasks
                .iter()
                .map(|task| task.0.load(Ordering::SeqCst))
                .sum::<usize>(),
            0
        );
    });
}
