//! Several threads in one world: nothing hangs, nothing is lost.

use crate::station::{Station, address, interface, receive_now, world};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use wirestamp_core::backend::{Backend, DatagramSocket, HardwareClock, Interest, Outgoing};
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_sim::Task;

#[test]
fn who_waits_for_ever_leaves_time_to_the_others() {
    let station = Station::new("ideal");
    let (world, receiver) = (station.world.clone(), Arc::new(station.receiver));
    let waiting = Arc::clone(&receiver);
    let handle = thread::spawn(move || {
        waiting
            .wait(Interest::Receive, MonotonicTime::MAX)
            .expect("waits")
    });
    let started = world.truth().now();
    station
        .sender
        .send(&[Outgoing::new(b"x").to(station.to)])
        .expect("sent");
    assert!(handle.join().expect("no panic").receive);
    assert!(
        world.truth().now() - started < Span::from_milliseconds(1),
        "no time was made up"
    );
    assert!(receive_now(&receiver).expect("open").is_some());
}

#[test]
fn closing_and_waking_end_waits_of_other_threads() {
    let station = Station::new("ideal");
    let (receiver, sender) = (Arc::new(station.receiver), Arc::new(station.sender));
    let (receiving, timestamping) = (Arc::clone(&receiver), Arc::clone(&sender));
    let one = thread::spawn(move || {
        receiving
            .wait(Interest::Receive, MonotonicTime::MAX)
            .expect("waits")
    });
    let other = thread::spawn(move || {
        timestamping
            .wait(Interest::Timestamps, MonotonicTime::MAX)
            .expect("waits")
    });
    receiver.close();
    sender.wake();
    assert!(one.join().expect("no panic").closed);
    assert!(other.join().expect("no panic").woken);
}

#[test]
fn dropping_a_task_waits_for_its_running_call() {
    let world = world("ideal");
    let (running, finished) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let (entered, done) = (Arc::clone(&running), Arc::clone(&finished));
    let (release, released) = channel::<()>();
    let task = world.run(
        Span::ZERO,
        Box::new(move || {
            entered.wait();
            released.recv().expect("released");
            thread::yield_now();
            done.store(true, Ordering::Release);
            Some(Span::from_seconds(1))
        }),
    );
    let clock = world.clone();
    let runner = thread::spawn(move || clock.advance(Span::from_milliseconds(1)));
    running.wait();
    release.send(()).expect("it listens");
    drop(task);
    assert!(
        finished.load(Ordering::Acquire),
        "the running call was waited for"
    );
    runner.join().expect("no panic");
}

#[test]
fn a_panicking_job_does_not_stop_the_world() {
    let world = world("ideal");
    let _task = world.run(Span::ZERO, Box::new(|| panic!("a job of the user's")));
    let clock = world.clone();
    assert!(
        thread::spawn(move || clock.advance(Span::from_seconds(1)))
            .join()
            .is_err()
    );
    let started = world.truth().now();
    world.advance(Span::from_seconds(1));
    assert_eq!(world.truth().now() - started, Span::from_seconds(1));
}

#[test]
fn a_crowd_of_threads_gets_through() {
    const EACH: usize = 300;
    let world = world("i225");
    let target = world.bind(address("192.0.2.2:7000"), None).expect("bind");
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let _subscription = world.subscribe(Box::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    let clock = world.clone();
    let _task: wirestamp_core::Result<Task> = world.run(
        Span::ZERO,
        Box::new(move || {
            let mut readings = Vec::new();
            let read = clock
                .open_clock(&interface(&clock, "sim0"))
                .and_then(|mut own| own.cross_timestamps(1, &mut readings));
            read.is_ok().then_some(Span::from_milliseconds(1))
        }),
    );
    let senders = (0..4).map(|_| {
        let world = world.clone();
        thread::spawn(move || {
            let socket = world.bind(address("192.0.2.1:0"), None).expect("bind");
            for _ in 0..EACH {
                let to = Some(address("192.0.2.2:7000"));
                socket.send(&[Outgoing::new(b"x").to(to)]).expect("sent");
                world.now();
            }
        })
    });
    let changing = world.clone();
    let changer = thread::spawn(move || {
        let sim0 = interface(&changing, "sim0");
        for number in 0..100 {
            let wanted = HardwareConfiguration {
                transmit: number % 2 == 0,
                ..HardwareConfiguration::OFF
            };
            changing.configure(&sim0, wanted).expect("granted");
        }
    });
    let senders: Vec<_> = senders.collect();
    let mut received = 0;
    while received + target.dropped() < 4 * EACH as u64 {
        assert!(
            target
                .wait(Interest::Receive, MonotonicTime::MAX)
                .expect("waits")
                .receive
        );
        while receive_now(&target).expect("open").is_some() {
            received += 1;
        }
    }
    senders
        .into_iter()
        .for_each(|sender| sender.join().expect("no panic"));
    changer.join().expect("no panic");
    world.advance(Span::from_milliseconds(1));
    assert_eq!(told.load(Ordering::Relaxed), 100, "every change was told");
}
