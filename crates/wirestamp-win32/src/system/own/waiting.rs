//! Waits for objects: one lock for the signals of all, so that a wait for several sees
//! them at one instant.

use super::object::Object;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

static SIGNALS: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

/// Sets or takes back the signal of an object.
pub(crate) fn change(object: &Object, signalled: bool) {
    let guard = SIGNALS.lock().unwrap_or_else(PoisonError::into_inner);
    object.store(signalled);
    drop(guard);
    if signalled {
        CHANGED.notify_all();
    }
}

/// Waits for the first of `objects` that is signalled, or for all of them at once. Returns which
/// (0 for all); `None` if it was not in `timeout` (`None`: as long as it takes).
pub(crate) fn wait(objects: &[Arc<Object>], all: bool, timeout: Option<Duration>) -> Option<usize> {
    // What no clock can say is for ever.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut guard = SIGNALS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(found) = satisfied(objects, all) {
            return Some(found);
        }
        guard = match deadline {
            None => CHANGED.wait(guard).unwrap_or_else(PoisonError::into_inner),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                CHANGED
                    .wait_timeout(guard, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
    }
}

/// Takes the signals of a wait that is satisfied. Under the lock.
fn satisfied(objects: &[Arc<Object>], all: bool) -> Option<usize> {
    if all {
        let ready = objects.iter().all(|object| object.is_signalled());
        ready.then(|| objects.iter().for_each(|object| object.take()))?;
        return Some(0);
    }
    let found = objects.iter().position(|object| object.is_signalled())?;
    objects[found].take();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    const LONG: Option<Duration> = Some(Duration::from_secs(60));

    #[test]
    fn an_automatic_event_releases_one_wait_and_a_manual_one_all() {
        let automatic = Object::event(false, true);
        assert_eq!(wait(&[Arc::clone(&automatic)], false, LONG), Some(0));
        assert_eq!(wait(&[automatic], false, Some(Duration::ZERO)), None);
        let manual = Object::event(true, true);
        for _ in 0..3 {
            assert_eq!(wait(&[Arc::clone(&manual)], false, LONG), Some(0));
        }
        change(&manual, false);
        assert_eq!(wait(&[manual], false, Some(Duration::ZERO)), None);
    }

    #[test]
    fn a_wait_for_all_takes_no_signal_before_all_are_there() {
        let (first, second) = (Object::event(false, true), Object::event(false, false));
        let both = [Arc::clone(&first), Arc::clone(&second)];
        assert_eq!(wait(&both, true, Some(Duration::from_millis(1))), None);
        assert!(first.is_signalled(), "left alone");
        change(&second, true);
        assert_eq!(wait(&both, true, LONG), Some(0));
        assert!(!first.is_signalled() && !second.is_signalled());
    }

    #[test]
    fn each_signal_releases_exactly_one_of_many_waiting_threads() {
        let event = Object::event(false, false);
        let (released, inside) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    wait(&[Arc::clone(&event)], false, LONG).expect("a signal");
                    assert_eq!(
                        inside.fetch_add(1, Ordering::SeqCst),
                        0,
                        "one signal released two"
                    );
                    thread::sleep(Duration::from_millis(5)); // time for another one to come in
                    inside.fetch_sub(1, Ordering::SeqCst);
                    released.fetch_add(1, Ordering::SeqCst);
                    change(&event, true); // hands it on
                });
            }
            change(&event, true);
        });
        assert_eq!(released.load(Ordering::SeqCst), 4);
        assert!(event.is_signalled());
    }
}
