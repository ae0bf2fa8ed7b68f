//! Change callbacks: no change is lost, no call follows unregistering, and no callback can stop the
//! others.

use crate::pair::{pass, simulation};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;
use wirestamp::interface::{ChangeEvent, ChangeKind};
use wirestamp::sim::NicName;
use wirestamp::{ErrorKind, Simulation, Watch};

/// A watch, and the number of its calls.
fn counting(simulation: &Simulation) -> (Watch, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let watch = simulation.watch(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    (watch.expect("registered"), calls)
}

#[test]
fn changes_are_told_with_interface_and_kind() {
    let simulation = simulation("i225");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let _watch = simulation
        .watch(move |event| sink.lock().expect("no panic").push(*event))
        .expect("registered");
    let nic = simulation.interface("sim0").expect("a NIC");
    simulation.world().reset_nic(NicName::Sim0, 1);
    simulation.world().remove_nic(NicName::Sim0);
    let event = |kind| ChangeEvent {
        interface: Some(nic.index()),
        kind,
    };
    let expected = [event(ChangeKind::HardwareClock), event(ChangeKind::Removed)];
    assert_eq!(*seen.lock().expect("no panic"), expected);
}

#[test]
fn an_interfaces_watch_hears_of_that_interface_and_follows_it_to_a_new_number() {
    let simulation = simulation("i225");
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let nic = simulation.interface("sim0").expect("a NIC");
    let _watch = nic
        .watch(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
        })
        .expect("registered");
    let world = simulation.world();
    world.reset_nic(NicName::Sim1, 1);
    assert_eq!(calls.load(Ordering::SeqCst), 0, "another NIC's");
    world.remove_nic(NicName::Sim0);
    world.add_nic(NicName::Sim0);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    world.reset_nic(NicName::Sim0, 1);
    assert_eq!(calls.load(Ordering::SeqCst), 3, "under its new number");
}

#[test]
fn a_storm_loses_nothing_and_lost_reports_are_reported() {
    let simulation = simulation("i225");
    let (_watch, calls) = counting(&simulation);
    simulation.world().storm(100_000);
    assert!(calls.load(Ordering::SeqCst) > 0);
    let before = calls.load(Ordering::SeqCst);
    simulation.world().lose_notifications(1);
    simulation.world().reset_nic(NicName::Sim0, 1);
    pass(simulation.world(), Duration::from_secs(5));
    assert!(
        calls.load(Ordering::SeqCst) > before,
        "that something was lost is told"
    );
}

#[test]
fn after_unregistering_nothing_is_called_and_the_context_is_free() {
    let simulation = simulation("i225");
    let (watch, calls) = counting(&simulation);
    simulation.world().reset_nic(NicName::Sim0, 1);
    watch.unregister().expect("not inside the callback");
    assert_eq!(
        Arc::strong_count(&calls),
        1,
        "the callback is gone with what it held"
    );
    simulation.world().reset_nic(NicName::Sim0, 1);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    watch.unregister().expect("twice does no harm");
}

#[test]
fn unregistering_waits_for_a_running_callback() {
    let simulation = simulation("i225");
    let (entered, has_entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let finished = Arc::new(AtomicBool::new(false));
    let mark = Arc::clone(&finished);
    let watch = simulation
        .watch(move |_| {
            entered.send(()).expect("the test listens");
            let _ = released.recv();
            mark.store(true, Ordering::SeqCst);
        })
        .expect("registered");
    thread::scope(|scope| {
        scope.spawn(|| simulation.world().reset_nic(NicName::Sim0, 1));
        has_entered.recv().expect("it is called");
        let unregistering = scope.spawn(|| {
            watch.unregister().expect("not inside the callback");
            finished.load(Ordering::SeqCst)
        });
        thread::sleep(Duration::from_millis(30)); // long enough for a wrong one to be through
        release.send(()).expect("it waits");
        assert!(
            unregistering.join().expect("no panic"),
            "it returned before the callback did"
        );
    });
}

#[test]
fn unregistering_inside_the_callback_is_refused_and_it_stays_registered() {
    let simulation = simulation("i225");
    let slot: Arc<OnceLock<Watch>> = Arc::default();
    let (inside, answers) = (Arc::clone(&slot), Arc::new(Mutex::new(Vec::new())));
    let kept = Arc::clone(&answers);
    let watch = simulation.watch(move |_| {
        let watch = inside.get().expect("registered before anything changes");
        kept.lock()
            .expect("no panic")
            .push(watch.unregister().map_err(|error| error.kind()));
    });
    slot.set(watch.expect("registered")).expect("empty");
    simulation.world().reset_nic(NicName::Sim0, 1);
    simulation.world().reset_nic(NicName::Sim0, 1);
    assert_eq!(
        *answers.lock().expect("no panic"),
        [Err(ErrorKind::InvalidInput); 2]
    );
    slot.get()
        .expect("there")
        .unregister()
        .expect("outside it works");
}

#[test]
fn dropping_inside_the_callback_ends_it_without_a_deadlock() {
    let simulation = simulation("i225");
    let slot: Arc<Mutex<Option<Watch>>> = Arc::default();
    let (inside, calls) = (Arc::clone(&slot), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&calls);
    let watch = simulation.watch(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        drop(inside.lock().expect("no panic").take());
    });
    *slot.lock().expect("no panic") = Some(watch.expect("registered"));
    simulation.world().reset_nic(NicName::Sim0, 1);
    simulation.world().reset_nic(NicName::Sim0, 1);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(
        Arc::strong_count(&calls),
        1,
        "the callback is gone with what it held"
    );
}

#[test]
fn a_panicking_callback_is_counted_and_called_again() {
    let simulation = simulation("i225");
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let watch = simulation
        .watch(move |_| {
            let call = counter.fetch_add(1, Ordering::SeqCst);
            assert!(call != 0, "the first call panics, as this test wants it");
        })
        .expect("registered");
    simulation.world().reset_nic(NicName::Sim0, 1);
    simulation.world().reset_nic(NicName::Sim0, 1);
    assert_eq!((calls.load(Ordering::SeqCst), watch.panics()), (2, 1));
}
