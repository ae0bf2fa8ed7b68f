//! Jobs and change sinks: when they run, in which time, and how they end.

use crate::station::{EVERYTHING, custom, interface, world};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use wirestamp_core::backend::{Backend, Change, ChangeKind, DatagramSocket, Interest};
use wirestamp_core::configuration::HardwareConfiguration;
use wirestamp_core::time::{MonotonicTime, Span};
use wirestamp_sim::{NicName, Subscription, Task, World};

fn recording(world: &World) -> (Arc<Mutex<Vec<Change>>>, Subscription) {
    let told: Arc<Mutex<Vec<Change>>> = Arc::default();
    let sink = Arc::clone(&told);
    let subscription = world.subscribe(Box::new(move |change| {
        sink.lock().expect("free").push(change);
    }));
    (told, subscription.expect("subscribed"))
}

fn kinds(told: &Mutex<Vec<Change>>) -> Vec<ChangeKind> {
    told.lock()
        .expect("free")
        .iter()
        .map(|change| change.kind)
        .collect()
}

#[test]
fn a_job_runs_at_its_virtual_times() {
    let world = world("ideal");
    let started = world.truth().now();
    let ran: Arc<Mutex<Vec<MonotonicTime>>> = Arc::default();
    let (note, clock) = (Arc::clone(&ran), world.clone());
    let task = world.run(
        Span::from_seconds(1),
        Box::new(move || {
            let mut ran = note.lock().expect("free");
            ran.push(clock.truth().now());
            (ran.len() < 4).then_some(Span::from_seconds(5))
        }),
    );
    world.advance(Span::from_seconds(60));
    let at: Vec<i128> = ran
        .lock()
        .expect("free")
        .iter()
        .map(|at| (*at - started).nanoseconds() / 1_000_000_000)
        .collect();
    assert_eq!(
        at,
        [1, 6, 11, 16],
        "and not again after it returned nothing"
    );
    assert_eq!(world.truth().now() - started, Span::from_seconds(60));
    drop(task);
}

#[test]
fn jobs_run_while_somebody_waits_and_may_use_the_world() {
    let world = world("i225");
    let socket = world
        .bind("192.0.2.1:0".parse().expect("an address"), None)
        .expect("bind");
    let inner = Arc::new(
        world
            .bind("192.0.2.1:0".parse().expect("an address"), None)
            .expect("bind"),
    );
    let ran = Arc::new(AtomicUsize::new(0));
    let (count, clock) = (Arc::clone(&ran), world.clone());
    let _task = world.run(
        Span::ZERO,
        Box::new(move || {
            // time passes inside too, and no job runs inside another
            let until = clock.now() + Span::from_seconds(3);
            assert!(
                inner
                    .wait(Interest::Receive, until)
                    .expect("waits")
                    .timed_out()
            );
            count.fetch_add(1, Ordering::Relaxed);
            Some(Span::from_seconds(1))
        }),
    );
    let until = world.now() + Span::from_seconds(20);
    assert!(
        socket
            .wait(Interest::Receive, until)
            .expect("waits")
            .timed_out()
    );
    assert_eq!(ran.load(Ordering::Relaxed), 5);
}

#[test]
fn nothing_foreign_runs_inside_calls_that_do_not_wait() {
    let world = world("i225");
    let held = Arc::new(Mutex::new(0));
    let wanted = Arc::clone(&held);
    let _task = world.run(
        Span::ZERO,
        Box::new(move || {
            *wanted
                .try_lock()
                .expect("nobody calls a job with a lock held") += 1;
            Some(Span::from_microseconds(1))
        }),
    );
    {
        let _held = held.lock().expect("free");
        for _ in 0..1_000 {
            world.now();
        }
        world.interfaces().expect("interfaces");
    }
    world.advance(Span::from_microseconds(10));
    assert!(*held.lock().expect("free") > 0);
}

#[test]
fn a_job_that_always_wants_to_run_starves_nobody() {
    let world = world("ideal");
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let _task = world.run(
        Span::ZERO,
        Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
            assert!(count.load(Ordering::Relaxed) < 10_000, "time does not pass");
            Some(Span::ZERO)
        }),
    );
    let started = world.truth().now();
    world.advance(Span::from_milliseconds(1));
    assert_eq!(world.truth().now() - started, Span::from_milliseconds(1));
    assert_eq!(
        ran.load(Ordering::Relaxed),
        1_001,
        "every microsecond, both ends included"
    );
}

#[test]
fn a_job_may_drop_its_own_task() {
    let world = world("ideal");
    let slot: Arc<Mutex<Option<Task>>> = Arc::default();
    let (own, ran) = (Arc::clone(&slot), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&ran);
    let task = world.run(
        Span::ZERO,
        Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
            drop(own.lock().expect("free").take());
            Some(Span::from_seconds(1))
        }),
    );
    *slot.lock().expect("free") = task.ok();
    world.advance(Span::from_seconds(10));
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[test]
fn sinks_are_told_before_the_call_that_changed_something_returns() {
    let world = world("i225");
    let (told, subscription) = recording(&world);
    let sim0 = interface(&world, "sim0");
    world.configure(&sim0, EVERYTHING).expect("granted");
    assert_eq!(
        *told.lock().expect("free"),
        [Change {
            interface: Some(sim0.index),
            kind: ChangeKind::Configuration
        }]
    );
    world.configure(&sim0, EVERYTHING).expect("granted");
    assert_eq!(kinds(&told).len(), 1, "nothing changed");
    world.reconfigure_by_another(NicName::Sim0, HardwareConfiguration::OFF);
    world.set_link(false);
    world.set_link(false);
    world.remove_nic(NicName::Sim1);
    world.add_nic(NicName::Sim1);
    world.reset_nic(NicName::Sim0, 0);
    use ChangeKind::{Added, Configuration, HardwareClock, Link, Removed};
    assert_eq!(
        kinds(&told),
        [
            Configuration,
            Configuration,
            Link,
            Link,
            Removed,
            Added,
            HardwareClock
        ]
    );
    drop(subscription);
    world.set_link(true);
    assert_eq!(kinds(&told).len(), 7, "not told any more");
}

#[test]
fn a_sink_may_change_things_and_is_never_inside_itself() {
    let world = world("i225");
    let (inside, deepest, told) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (own, seen, count, other) = (
        Arc::clone(&inside),
        Arc::clone(&deepest),
        Arc::clone(&told),
        world.clone(),
    );
    let _subscription = world.subscribe(Box::new(move |_| {
        seen.fetch_max(own.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        if count.fetch_add(1, Ordering::Relaxed) == 0 {
            other.set_link(false);
        }
        own.fetch_sub(1, Ordering::Relaxed);
    }));
    world.reset_nic(NicName::Sim0, 0);
    assert_eq!(
        (
            deepest.load(Ordering::Relaxed),
            told.load(Ordering::Relaxed)
        ),
        (1, 3)
    );
}

#[test]
fn a_sink_may_drop_its_own_subscription() {
    let world = world("i225");
    let slot: Arc<OnceLock<Mutex<Option<Subscription>>>> = Arc::default();
    let own = Arc::clone(&slot);
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let subscription = world.subscribe(Box::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        drop(own.get().and_then(|slot| slot.lock().expect("free").take()));
    }));
    slot.get_or_init(|| Mutex::new(subscription.ok()));
    world.set_link(false);
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

#[test]
fn storms_are_told_and_lost_notifications_are_made_good() {
    let world = world("i225");
    let (told, _subscription) = recording(&world);
    world.storm(1_000);
    assert!(
        (2..=1_000).contains(&kinds(&told).len()),
        "coalescing is allowed, losing is not"
    );
    told.lock().expect("free").clear();
    world.storm(100_000);
    assert!((2..=100_000).contains(&kinds(&told).len()));
    told.lock().expect("free").clear();
    world.lose_notifications(2);
    world.advance(Span::from_seconds(10));
    world.set_link(false);
    assert!(kinds(&told).is_empty(), "both were lost");
    world.set_link(true);
    assert_eq!(kinds(&told), [ChangeKind::Link, ChangeKind::Link]);
    world.advance(Span::from_seconds(1));
    assert_eq!(
        kinds(&told).last(),
        Some(&ChangeKind::Unspecified),
        "that some were lost is told"
    );
}

/// Linux broadcasts them, and who listens knows that they are no news.
#[test]
fn virtual_clocks_are_no_change_and_keep_the_nics_clock_from_being_stepped() {
    let world = custom(
        "preset = 'ideal'
        [[event]]
        at = '1s'
        action = 'virtual_clocks'
        count = 3
        [[event]]
        at = '3s'
        action = 'virtual_clocks'
        count = 0",
    );
    let (told, _subscription) = recording(&world);
    let sim0 = world.interfaces().expect("interfaces").remove(0);
    let ahead = || {
        let now = world.truth().now();
        let ticks = world
            .truth()
            .hardware_ticks_at(sim0.index, now)
            .expect("a clock")
            .raw() as i64;
        ticks - now.nanoseconds()
    };
    let before = ahead();
    world.advance(Span::from_seconds(2));
    world.step_hardware_clock(NicName::Sim0, 1_000);
    assert_eq!(ahead(), before, "refused");
    world.advance(Span::from_seconds(2));
    world.step_hardware_clock(NicName::Sim0, 1_000);
    assert_eq!(ahead(), before + 1_000);
    assert!(kinds(&told).is_empty());
    assert_eq!(
        world.interfaces().expect("interfaces").remove(0),
        sim0,
        "its clock is its own"
    );
}

#[test]
fn scripted_changes_are_told_at_their_time() {
    let world = custom("[[event]]\nat = '3s'\naction = 'link_down'");
    let times: Arc<Mutex<Vec<MonotonicTime>>> = Arc::default();
    let (note, clock, started) = (Arc::clone(&times), world.clone(), world.truth().now());
    let _subscription = world.subscribe(Box::new(move |_| {
        note.lock().expect("free").push(clock.truth().now());
    }));
    world.advance(Span::from_seconds(10));
    assert!(
        times
            .lock()
            .expect("free")
            .iter()
            .all(|at| *at - started == Span::from_seconds(3))
    );
    assert_eq!(times.lock().expect("free").len(), 2);
}
