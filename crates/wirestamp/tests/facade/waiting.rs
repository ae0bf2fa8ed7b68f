//! Waiting: in several threads, up to a deadline, until the socket is closed.

use crate::pair::{Pair, ideal_but, is_timestamped, pass, processor_time, simulation};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;
use wirestamp::ethernet::{Ethertype, MacAddress};
use wirestamp::socket::AnySocket;
use wirestamp::{
    ErrorKind, Interface, MissingReason, Span, Timestamping, TransmitAnswer, TransmitId,
    TransmitOutcome, TransmitRecord, UdpSocket,
};

fn timestamping(pair: Pair) -> Arc<Pair> {
    pair.sender
        .configure(Timestamping::OFF.transmit(4096))
        .expect("granted");
    pair.receiver
        .configure(Timestamping::OFF.receive())
        .expect("granted");
    Arc::new(pair)
}

/// Eight threads send on one socket, and each waits for its own IDs.
fn everybody_gets_their_own(pair: Pair) -> u32 {
    const THREADS: u32 = 8;
    const EACH: u32 = 200;
    let pair = timestamping(pair);
    let timestamped = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (pair, timestamped) = (&pair, &timestamped);
            scope.spawn(move || {
                for id in number * EACH..(number + 1) * EACH {
                    pair.send(id);
                    timestamped.fetch_add(
                        u32::from(is_timestamped(pair.wait_for(id))),
                        Ordering::Relaxed,
                    );
                }
            });
        }
    });
    let counters = pair.sender.counters();
    let timestamped = timestamped.into_inner();
    assert_eq!(
        (counters.sent, counters.pending),
        (u64::from(THREADS * EACH), 0)
    );
    assert_eq!(
        counters.timestamped,
        u64::from(timestamped),
        "what was counted is what was handed out"
    );
    THREADS * EACH - timestamped
}

#[test]
fn threads_get_their_own_outcomes_on_a_simulated_nic() {
    assert_eq!(
        everybody_gets_their_own(Pair::over_the_cable(&simulation("i225"))),
        0
    );
}

#[test]
fn threads_get_their_own_outcomes_even_where_timestamps_are_late_or_lost() {
    assert!(everybody_gets_their_own(Pair::over_the_cable(&simulation("tx-late"))) > 0);
}

#[test]
fn threads_get_their_own_outcomes_on_loopback() {
    if let Some(pair) = Pair::on_loopback() {
        assert_eq!(everybody_gets_their_own(pair), 0);
    }
}

#[test]
fn a_wait_for_an_id_gives_up_after_its_timeout_and_the_id_stays_awaited() {
    let pair = Pair::over_the_cable(&simulation("tx-never"));
    let deadline = Span::from_seconds(2);
    pair.sender
        .configure(Timestamping::OFF.transmit(8).transmit_deadline(deadline))
        .expect("granted");
    pair.send(1);
    let before = pair.sender.now();
    let answer = pair
        .sender
        .wait_transmit_timestamp(TransmitId(1), Duration::from_millis(30))
        .expect("an answer");
    let waited = pair.sender.now() - before;
    assert_eq!(answer, TransmitAnswer::Pending);
    assert!(
        waited >= Span::from_milliseconds(30) && waited < Span::from_milliseconds(31),
        "{waited}"
    );
    assert!(!is_timestamped(pair.wait_for(1)));
    let waited = pair.sender.now() - before;
    assert!(
        waited > Span::from_milliseconds(1_999) && waited < Span::from_milliseconds(2_001),
        "{waited}"
    );
}

#[test]
fn a_wait_for_any_outcome_ends_when_time_ends_an_id() {
    let pair = Pair::over_the_cable(&simulation("tx-never"));
    pair.sender
        .configure(Timestamping::OFF.transmit(8))
        .expect("granted");
    let mut records = [TransmitRecord::EMPTY; 8];
    assert_eq!(
        pair.sender
            .wait_transmit_timestamps(&mut records, Duration::from_millis(1))
            .expect("none"),
        0
    );
    pair.send(4);
    assert_eq!(
        pair.sender
            .wait_transmit_timestamps(&mut records, Duration::MAX)
            .expect("fetched"),
        1
    );
    assert_eq!(records[0].id, TransmitId(4));
    assert_eq!(
        records[0].outcome,
        TransmitOutcome::Missing(MissingReason::NeverGenerated)
    );
}

#[test]
fn a_timestamp_that_another_thread_collects_ends_the_wait_all_the_same() {
    let pair = Pair::over_the_cable(&ideal_but(
        "[nic.faults]\nlate = 1.0\nlate_from = \"50ms\"\nlate_to = \"50ms\"",
    ));
    // a wait without an event lasts until the deadline, in virtual time
    let deadline = Span::from_seconds(3_600);
    pair.sender
        .configure(Timestamping::OFF.transmit(64).transmit_deadline(deadline))
        .expect("granted");
    let start = pair.sender.now();
    for id in 0..200 {
        pair.send(id);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| pair.wait_for(id));
            while pair.sender.counters().pending > 0 {} // collects, and lets virtual time pass
            assert!(is_timestamped(waiting.join().expect("no panic")));
        });
    }
    assert!(
        pair.sender.now() - start < deadline,
        "{}",
        pair.sender.now() - start
    );
}

#[test]
fn those_who_wait_longer_take_over_from_those_who_give_up() {
    let pair = Pair::over_the_cable(&simulation("tx-never"));
    let deadline = Span::from_seconds(3_600);
    pair.sender
        .configure(Timestamping::OFF.transmit(64).transmit_deadline(deadline))
        .expect("granted");
    pair.send(1);
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for milliseconds in [1, 2, 3, 50] {
            let (pair, start) = (&pair, &start);
            scope.spawn(move || {
                for _ in 0..200 {
                    start.wait();
                    let timeout = Duration::from_millis(milliseconds);
                    let answer = pair
                        .sender
                        .wait_transmit_timestamp(TransmitId(1), timeout)
                        .expect("an answer");
                    assert_eq!(answer, TransmitAnswer::Pending);
                }
            });
        }
    });
}

#[test]
fn who_waits_for_any_outcome_is_told_of_an_id_that_was_sent_meanwhile() {
    let pair = Pair::over_the_cable(&simulation("tx-never"));
    pair.sender
        .configure(Timestamping::OFF.transmit(64))
        .expect("granted");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut records = [TransmitRecord::EMPTY];
            pair.sender
                .wait_transmit_timestamps(&mut records, Duration::MAX)
                .map(|_| records[0].id)
        });
        thread::sleep(Duration::from_millis(50)); // so that it does wait; if not, the answer is the same
        pair.send(7);
        assert_eq!(
            waiting.join().expect("no panic").expect("fetched"),
            TransmitId(7)
        );
    });
}

#[test]
fn a_reset_ends_the_waits_of_other_threads() {
    let pair = Pair::over_the_cable(&simulation("tx-never"));
    let never = Span::from_seconds(1 << 33);
    pair.sender
        .configure(Timestamping::OFF.transmit(64).transmit_deadline(never))
        .expect("granted");
    for id in 0..3 {
        pair.send(id);
    }
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..3)
            .map(|id| {
                scope.spawn({
                    let pair = &pair;
                    move || pair.wait_for_ever(id)
                })
            })
            .collect();
        thread::sleep(Duration::from_millis(50)); // so that they do wait; if not, the answer is the same
        pair.sender.reset_timestamps();
        for thread in waiting {
            assert_eq!(
                thread.join().expect("no panic"),
                TransmitOutcome::Missing(MissingReason::Reset)
            );
        }
    });
}

#[test]
fn threads_that_wait_together_cost_no_busy_loop() {
    let Some(pair) = Pair::on_loopback().map(timestamping) else {
        return;
    };
    thread::scope(|scope| {
        for milliseconds in [200, 150, 100] {
            let pair = &pair;
            scope.spawn(move || {
                let Some(before) = processor_time() else {
                    return;
                };
                let (mut records, timeout) =
                    ([TransmitRecord::EMPTY], Duration::from_millis(milliseconds));
                assert_eq!(
                    pair.sender
                        .wait_transmit_timestamps(&mut records, timeout)
                        .expect("none"),
                    0
                );
                let spent = processor_time().expect("as before") - before;
                assert!(
                    spent < milliseconds * 250_000,
                    "{spent} ns of {milliseconds} ms"
                );
            });
        }
    });
}

/// Threads that wait forever, until the socket is closed.
fn closing_ends_every_wait(pair: Pair) {
    let pair = timestamping(pair);
    let waits: [fn(&Pair) -> wirestamp::Result<bool>; 2] = [
        |pair| {
            pair.sender
                .receive(&mut [0; 64], Duration::MAX)
                .map(|received| received.is_some())
        },
        |pair| {
            let mut records = [TransmitRecord::EMPTY];
            pair.sender
                .wait_transmit_timestamps(&mut records, Duration::MAX)
                .map(|count| count > 0)
        },
    ];
    thread::scope(|scope| {
        let twice = waits.iter().chain(&waits);
        let threads: Vec<_> = twice.map(|wait| scope.spawn(|| wait(&pair))).collect();
        thread::sleep(Duration::from_millis(50)); // so that they do wait; if not, the answer is the same
        pair.sender.close();
        for thread in threads {
            let error = thread.join().expect("no panic").expect_err("closed");
            assert_eq!(error.kind(), ErrorKind::Closed);
        }
    });
}

#[test]
fn closing_ends_every_wait_on_a_simulated_nic() {
    closing_ends_every_wait(Pair::over_the_cable(&simulation("i225")));
}

#[test]
fn closing_ends_every_wait_on_loopback() {
    if let Some(pair) = Pair::on_loopback() {
        closing_ends_every_wait(pair);
    }
}

/// A datagram to either socket, and a timestamp of either, ends a wait for both.
fn any_of_several_wakes(pair: &Pair) {
    let sockets = [&pair.sender, &pair.receiver];
    pair.sender
        .configure(Timestamping::OFF.transmit(64))
        .expect("granted");
    let soon = || pair.sender.now() + Span::from_milliseconds(20);
    let until = soon();
    UdpSocket::wait_any(&sockets, until).expect("waited");
    assert!(pair.sender.now() >= until, "nothing had come");
    pair.send(1);
    let late = pair.sender.now() + Span::from_seconds(30);
    let (mut timestamped, mut received) = (false, false);
    while !(timestamped && received) && pair.sender.now() < late {
        UdpSocket::wait_any(&sockets, late).expect("waited");
        let mut records = [TransmitRecord::EMPTY; 4];
        timestamped |= pair
            .sender
            .transmit_timestamps(&mut records)
            .expect("collected")
            > 0;
        received |= pair
            .receiver
            .receive(&mut [0; 64], Duration::ZERO)
            .expect("received")
            .is_some();
    }
    assert!(
        timestamped && received,
        "a timestamp {timestamped}, a datagram {received}"
    );
}

#[test]
fn one_thread_waits_for_several_sockets() {
    any_of_several_wakes(&Pair::over_the_cable(&simulation("i225")));
    any_of_several_wakes(&Pair::over_the_cable(&simulation("windows-modern")));
    if let Some(pair) = Pair::on_loopback() {
        any_of_several_wakes(&pair);
    }
}

#[test]
fn one_thread_waits_for_datagrams_and_frames() {
    let simulation = simulation("ideal");
    let [near, far] = ["sim0", "sim1"].map(|name| simulation.interface(name).expect("a NIC"));
    let open = |nic: &Interface| {
        nic.open_ethernet(Ethertype::EXPERIMENTAL)
            .expect("a socket")
    };
    let (sender, frames) = (open(&near), open(&far));
    let pair = Pair::over_the_cable(&simulation);
    let sockets = [(&frames).into(), (&pair.receiver).into(), (&sender).into()];
    let mut ready = Vec::new();
    let mut wait = || {
        let late = pair.sender.now() + Span::from_seconds(30);
        AnySocket::wait_ready(&sockets, late, &mut ready).expect("waited");
        assert!(pair.sender.now() < late);
        ready.clone()
    };
    let to = frames.local_address().expect("open");
    sender.send_to(&[1; 50], to, None).expect("sent");
    assert_eq!(wait(), [0]);
    let mut room = [0; 64];
    let frame = frames.receive(&mut room, Duration::ZERO).expect("open");
    assert!(frame.is_some());
    pair.send(1);
    assert_eq!(wait(), [1]);
    let datagram = pair.receiver.receive(&mut room, Duration::ZERO);
    assert!(datagram.expect("open").is_some());
    let wanted = Timestamping::OFF.transmit(1);
    sender.configure(wanted).expect("granted");
    sender
        .send_to(&[1; 50], MacAddress::BROADCAST, Some(TransmitId(1)))
        .expect("sent");
    assert!(wait().contains(&2), "its transmit timestamp");
}

#[test]
fn sockets_of_different_systems_are_not_waited_for_together() {
    let pairs = [1, 2].map(|_| Pair::over_the_cable(&simulation("ideal")));
    let answer = UdpSocket::wait_any(&[&pairs[0].sender, &pairs[1].sender], pairs[0].sender.now());
    assert_eq!(
        answer.map_err(|error| error.kind()),
        Err(ErrorKind::InvalidInput)
    );
}

/// Of three sockets the second has a datagram.
fn the_ready_ones_are_named(pair: &Pair, idle: &UdpSocket) {
    let sockets = [idle, &pair.receiver, &pair.sender];
    let mut ready = vec![7];
    UdpSocket::wait_ready(&sockets, pair.sender.now(), &mut ready).expect("waited");
    assert!(ready.is_empty(), "nothing had come");
    pair.send(1);
    let late = pair.sender.now() + Span::from_seconds(30);
    UdpSocket::wait_ready(&sockets, late, &mut ready).expect("waited");
    assert_eq!(ready, [1]);
    let mut buffer = [0; 64];
    let taken = pair.receiver.receive(&mut buffer, Duration::ZERO);
    assert!(taken.expect("received").is_some());
    UdpSocket::wait_ready(&sockets, pair.sender.now(), &mut ready).expect("waited");
    assert!(ready.is_empty(), "it was taken");
}

#[test]
fn a_wait_for_several_sockets_names_those_that_have_something() {
    for preset in ["i225", "windows-modern"] {
        let simulation = simulation(preset);
        let interface = simulation.interface("sim0").expect("a NIC");
        let local = interface.description().addresses[0].address;
        let idle = interface.bind((local, 0).into()).expect("a free port");
        the_ready_ones_are_named(&Pair::over_the_cable(&simulation), &idle);
    }
    if let Some(pair) = Pair::on_loopback() {
        let idle = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        the_ready_ones_are_named(&pair, &idle);
    }
}

#[test]
fn time_passes_for_who_sleeps_also_in_a_simulation() {
    let simulation = simulation("ideal");
    let pair = Pair::over_the_cable(&simulation);
    pair.send(1);
    let hour = pair.sender.now() + Span::from_seconds(3_600);
    pair.sender.sleep_until(hour);
    let now = pair.sender.now();
    assert!(now >= hour && now < hour + Span::from_seconds(1), "{now:?}");
    let real = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let soon = real.now() + Span::from_milliseconds(2);
    real.sleep_until(soon);
    assert!(real.now() >= soon);
}

/// The first read of the queue uses no clock, so it does not know yet that the ID is overdue.
#[test]
fn a_wait_of_zero_tells_what_became_overdue() {
    let simulation = simulation("tx-never");
    let pair = Pair::over_the_cable(&simulation);
    pair.sender
        .configure(Timestamping::OFF.transmit(8))
        .expect("granted");
    for id in [1, 2] {
        pair.send(id);
    }
    pass(simulation.world(), Duration::from_secs(5));
    let lost = TransmitOutcome::Missing(MissingReason::NeverGenerated);
    let answer = pair
        .sender
        .wait_transmit_timestamp(TransmitId(2), Duration::ZERO);
    assert_eq!(answer, Ok(TransmitAnswer::Resolved(lost)));
    pair.send(3);
    pass(simulation.world(), Duration::from_secs(5));
    let mut records = [TransmitRecord::EMPTY; 4];
    let taken = pair
        .sender
        .wait_transmit_timestamps(&mut records, Duration::ZERO)
        .expect("taken");
    assert_eq!(taken, 2);
    assert_eq!(records[1].outcome, lost);
}
